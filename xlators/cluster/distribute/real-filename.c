/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The virtual attribute glusterfs.get_real_filename:NAME of a directory, which Samba reads. Its
 * value is the name in the directory that equals NAME apart from upper and lower case. The file may
 * be on any subvolume, so the getxattr goes to all, and the first value found is the answer. If one
 * subvolume doesn't support the attribute (EOPNOTSUPP), the operation fails with that errno, and
 * the caller has to list the directory.
 */
#include "distribute.h"

#define PREFIX "glusterfs.get_real_filename:"

bool
name_is_real_filename (const char *name)
{
    return name && g_str_has_prefix (name, PREFIX);
}

/* Fails the operation after every subvolume has failed. A subvolume returns ENODATA if it has no
 * such name. The operation returns ENODATA if all subvolumes did, or else the errno of one that
 * returned another errno. */
static void
real_filename_fail (struct op *op)
{
    int error = ENODATA;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->fan.answers[i].op_errno != ENODATA)
            error = op->fan.answers[i].op_errno;
    op_fail (op, error);
}

static void
real_filename_answered (call_frame_t *frame)
{
    struct op *op = OP_OF (frame);
    const struct getxattr_reply *found = NULL;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->fan.answers[i];

        if (answer->op_ret < 0 && answer->op_errno == EOPNOTSUPP) {
            op_fail (op, EOPNOTSUPP);
            return;
        }
        if (answer->op_ret >= 0 && !found)
            found = &answer->getxattr;
    }
    if (found)
        STACK_UNWIND (getxattr, frame, found->op_ret, 0, found->dict, found->xdata);
    else
        real_filename_fail (op);
}

void
real_filename_ask (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    struct op *op = op_new (frame, this, sizeof *op, loc, NULL, xdata);

    step_begin (op, real_filename_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        ASK (op, i, getxattr, &op->loc, name, xdata);
    step_end (op);
}

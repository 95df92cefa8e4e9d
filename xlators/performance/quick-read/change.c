/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes of a file, or of the permission to read it. Its content is dropped before the change goes
 * down. Until the change is answered, no content is served or kept. If two callers found the file
 * at the same time, the inode of the second is not linked in the table, which holds another inode
 * for the file. Then all content is dropped.
 */
#include "quick-read.h"

static create_cbk qr_create_cbk;

/* If a name is removed, only an inode with content matters. An inode that is not a regular file has
 * none. */
static struct qr_inode *
concerned (const struct call *call, inode_t *inode)
{
    if (!inode || (inode->ia_type != IA_IFREG && inode->ia_type != IA_INVAL))
        return NULL;
    if (call->op != FOP_unlink)
        return qr_inode_make (call->this, inode);
    return qr_has_content (qr_inode_get (call->this, inode)) ? qr_inode_get (call->this, inode)
                                                             : NULL;
}

static void
qr_bracket_begin (const struct call *call, struct change *change)
{
    struct qr_inode *qri = concerned (call, change->inode);

    if (!qri)
        return;
    change->own[0] = (uintptr_t) qri;
    change->own[1] = gfid_is_null (&change->inode->gfid);
    qr_change_begin (call->this, qri);
    if (change->own[1])
        qr_change_begin (call->this, NULL);
}

static void
qr_bracket_end (const struct answer *answer, struct change *change)
{
    struct qr_inode *qri = (struct qr_inode *) (uintptr_t) change->own[0];

    if (!qri)
        return;
    qr_change_end (answer->this, qri);
    if (change->own[1])
        qr_change_end (answer->this, NULL);
}

static const struct change_bracket qr_bracket = {
    CHANGES_DATA | CHANGES_ATTRIBUTES | CHANGES_XATTRS, qr_bracket_begin, qr_bracket_end
};

void
qr_any_fop (const struct call *call)
{
    change_bracket_call (&qr_bracket, call);
}

void
qr_any_fop_cbk (const struct answer *answer)
{
    change_bracket_answer (&qr_bracket, answer);
}

/* A create may open an existing file and truncate it, also one that fails: which file that is, only
 * the answer tells. */
void
qr_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
           mode_t umask, fd_t *fd, dict_t *xdata)
{
    if (flags & O_EXCL || !(flags & O_TRUNC))
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
    else
        STACK_WIND (frame, qr_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask, fd,
                    xdata);
}

static void
qr_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               fd_t *fd, inode_t *inode, struct iatt *buf, struct iatt *preparent,
               struct iatt *postparent, dict_t *xdata)
{
    if (op_ret >= 0)
        qr_drop (this, qr_inode_of_answer (this, inode, buf, true));
    else
        qr_drop_all (this);
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

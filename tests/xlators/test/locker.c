/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes locks of the file system's own parts, and logs which of them other clients wait for.
 * Setting user.inodelk to a domain, or user.entrylk to a name (empty: all names), takes the lock,
 * and answers when it is there. The server drops the locks with the connection.
 */
#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static inodelk_cbk locker_inodelk_cbk;
static entrylk_cbk locker_entrylk_cbk;

static void
locker_inodelk_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, dict_t *xdata)
{
    STACK_UNWIND (setxattr, frame, op_ret, op_errno, NULL);
}

static void
locker_entrylk_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, dict_t *xdata)
{
    STACK_UNWIND (setxattr, frame, op_ret, op_errno, NULL);
}

/* Returns the attribute's value as a text; NULL: the dict lacks it. */
static char *
value_of (dict_t *dict, const char *key)
{
    size_t size;
    const void *value = dict_get (dict, key, &size);

    return value ? g_strndup (value, size) : NULL;
}

static void
locker_setxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict, uint32_t flags,
                 dict_t *xdata)
{
    g_autofree char *domain = value_of (dict, "user.inodelk"),
                    *name = value_of (dict, "user.entrylk");
    struct gf_flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (domain)
        STACK_WIND (frame, locker_inodelk_cbk, FIRST_CHILD (this), inodelk, domain, loc, F_SETLKW,
                    &all, NULL);
    else if (name)
        STACK_WIND (frame, locker_entrylk_cbk, FIRST_CHILD (this), entrylk, "names", loc,
                    *name ? name : NULL, ENTRYLK_LOCK, ENTRYLK_WRLCK, NULL);
    else
        STACK_UNWIND (setxattr, frame, -1, EOPNOTSUPP, NULL);
}

static void
locker_notify (xlator_t *this, enum xlator_event event, void *data)
{
    const struct lock_contention *wanted = data;
    char gfid[GFID_TEXT_SIZE];

    if (event == XLATOR_LOCK_CONTENDED)
        gf_log (this, GF_LOG_INFO, "contended: %s of %s, domain '%s', name %s",
                wanted->of_entry ? "entrylk" : "inodelk", gfid_text (&wanted->gfid, gfid),
                wanted->volume, wanted->name ? wanted->name : "(none)");
    xlator_pass_on (this, event, data);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/locker",
    .about = "takes inodelks and entrylks",
    .children = { .min = 1, .max = 1 },
    .fops = { .setxattr = locker_setxattr },
    .notify = locker_notify,
};

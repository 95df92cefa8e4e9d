/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes EIO of an open to EREMOTEIO, turns each failure of removexattr into success, answers
 * getxattr of "user.odd.NUMBER" with the errno NUMBER, and fails a create of "late" with EIO after
 * it was done. */
#include "xlator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static open_cbk errno_open_cbk;

static void
errno_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
            dict_t *xdata)
{
    STACK_WIND (frame, errno_open_cbk, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
errno_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                fd_t *fd, dict_t *xdata)
{
    STACK_UNWIND (open, frame, op_ret, op_errno == EIO ? EREMOTEIO : op_errno, fd, xdata);
}

static removexattr_cbk errno_removexattr_cbk;

static void
errno_removexattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    STACK_WIND (frame, errno_removexattr_cbk, FIRST_CHILD (this), removexattr, loc, name, xdata);
}

static void
errno_removexattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                       int32_t op_errno, dict_t *xdata)
{
    STACK_UNWIND (removexattr, frame, 0, 0, xdata);
}

static void
errno_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    if (name && g_str_has_prefix (name, "user.odd."))
        STACK_UNWIND (getxattr, frame, -1, atoi (name + strlen ("user.odd.")), NULL, NULL);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), getxattr, loc, name, xdata);
}

static create_cbk errno_create_cbk;

static void
errno_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
              mode_t umask, fd_t *fd, dict_t *xdata)
{
    if (strcmp (loc->name, "late") == 0)
        STACK_WIND (frame, errno_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask,
                    fd, xdata);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

static void
errno_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf,
                  struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    STACK_UNWIND (create, frame, -1, EIO, NULL, NULL, NULL, NULL, NULL, NULL);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/errno",
    .about = "changes errors",
    .children = { .min = 1, .max = 1 },
    .fops = { .open = errno_open, .removexattr = errno_removexattr, .getxattr = errno_getxattr,
              .create = errno_create },
};

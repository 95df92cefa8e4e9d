/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Has two mistakes that the conformance kit must find: a rename onto an existing file fails with
 * EIO, and times are truncated to seconds. */
#include "xlator.h"

static setattr_cbk wrong_setattr_cbk;

static void
wrong_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
              dict_t *xdata)
{
    if (newloc->inode) {
        frame_fail (frame, EIO);
        return;
    }
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), rename, oldloc, newloc, flags, xdata);
}

static void
wrong_setattr (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf, uint32_t valid,
               dict_t *xdata)
{
    struct iatt cut = *stbuf;

    cut.ia_atime_nsec = cut.ia_mtime_nsec = 0;
    STACK_WIND (frame, wrong_setattr_cbk, FIRST_CHILD (this), setattr, loc, &cut, valid, xdata);
}

static void
wrong_setattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, struct iatt *statpre, struct iatt *statpost, dict_t *xdata)
{
    STACK_UNWIND (setattr, frame, op_ret, op_errno, statpre, statpost, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/wrong",
    .about = "fails renames onto what is there, and cuts times",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_NAMES | TOUCHES_METADATA | TOUCHES_ERRORS,
    .fops = { .rename = wrong_rename, .setattr = wrong_setattr },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Crashes at a mkdir with the name "oops". */
#include "xlator.h"

#include <string.h>

static mkdir_cbk oops_mkdir_cbk;

static void
oops_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
            dict_t *xdata)
{
    volatile int *nowhere = NULL;

    if (strcmp (loc->name, "oops") == 0)
        *nowhere = 1;
    STACK_WIND (frame, oops_mkdir_cbk, FIRST_CHILD (this), mkdir, loc, mode, umask, xdata);
}

static void
oops_mkdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, struct iatt *preparent, struct iatt *postparent,
                dict_t *xdata)
{
    STACK_UNWIND (mkdir, frame, op_ret, op_errno, inode, buf, preparent, postparent, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/oops",
    .about = "crashes on mkdir of oops",
    .children = { .min = 1, .max = 1 },
    .fops = { .mkdir = oops_mkdir },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Returns one entry per listing call. */
#include "xlator.h"

static void
trickle_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                 dict_t *xdata)
{
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), readdir, fd, 1, offset, xdata);
}

static void
trickle_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                  dict_t *xdata)
{
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), readdirp, fd, 1, offset, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/trickle",
    .about = "lists one entry at a time",
    .children = { .min = 1, .max = 1 },
    .fops = { .readdir = trickle_readdir, .readdirp = trickle_readdirp },
};

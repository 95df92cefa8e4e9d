/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes O_APPEND on the way down. */
#include "xlator.h"

#include <fcntl.h>

static void
noappend_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
               dict_t *xdata)
{
    fd->flags &= ~O_APPEND;
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags & ~O_APPEND, fd, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/noappend",
    .about = "loses O_APPEND",
    .children = { .min = 1, .max = 1 },
    .fops = { .open = noappend_open },
};

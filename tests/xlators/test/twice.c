/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers every readlink twice. */
#include "xlator.h"

static void
twice_readlink (call_frame_t *frame, xlator_t *this, loc_t *loc, size_t size, dict_t *xdata)
{
    STACK_UNWIND (readlink, frame, -1, EIO, NULL, NULL, NULL);
    STACK_UNWIND (readlink, frame, -1, EPERM, NULL, NULL, NULL);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/twice",
    .about = "answers readlink twice",
    .children = { .min = 1, .max = 1 },
    .fops = { .readlink = twice_readlink },
};

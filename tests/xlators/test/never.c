/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Never answers statfs: df hangs. All other operations pass. It cannot be below a translator that
 * waits for answers. */
#include "xlator.h"

static const struct xlator_misfit never_misfits[] = { { "test/slow", "waits for an answer" }, {} };

static void
never_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/never",
    .about = "never answers statfs",
    .children = { .min = 1, .max = 1 },
    .not_below = never_misfits,
    .fops = { .statfs = never_statfs },
};

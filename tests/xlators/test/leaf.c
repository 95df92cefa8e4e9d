/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The smallest storage: it has a root, and answers every lookup with the root. */
#include "xlator.h"

static void
leaf_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt root = {
        .ia_gfid = gfid_root, .ia_ino = 1, .ia_nlink = 2, .ia_type = IA_IFDIR, .ia_prot = 0755
    };

    STACK_UNWIND (lookup, frame, 0, 0, loc->inode, &root, NULL, NULL);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/leaf",
    .about = "answers lookup, and nothing else",
    .fops = { .lookup = leaf_lookup },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Must be the top, once, with test/leaf below it. */
#include "xlator.h"

static const char *const needs_below[] = { "test/leaf", NULL };

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/needs",
    .about = "is particular about where it stands",
    .children = { .min = 1, .max = 2 },
    .top_only = true,
    .once = true,
    .below = needs_below,
    .touches = TOUCHES_DATA,
    .wants = WANTS_INODE | WANTS_DATA_ATTRIBUTES,
};

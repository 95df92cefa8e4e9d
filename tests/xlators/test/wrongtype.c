/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A translator whose module was copied to a wrong place. */
#include "xlator.h"

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/other",
    .about = "is of another type than its module's place says",
};

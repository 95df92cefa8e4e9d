/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A translator of another time. */
#include "xlator.h"

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI + 41,
    .type = "test/badabi",
    .about = "was built for another ABI",
};

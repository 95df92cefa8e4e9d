/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A translator of another version. */
#include "xlator.h"

const struct xlator_api xlator_api = {
    .abi = 4711,
    .type = "test/badabi",
    .about = "was built for another ABI",
};

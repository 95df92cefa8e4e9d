/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A module without a translator: its exported object has another name. */
#include "xlator.h"

const struct xlator_api xlator_apy = {
    .abi = XLATOR_ABI,
    .type = "test/noobject",
    .about = "has its object under a wrong name",
};

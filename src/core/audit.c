/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/audit.h"

const struct audit *audit;

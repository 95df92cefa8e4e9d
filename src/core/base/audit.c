/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/audit.h"

const struct audit *audit;
__thread const void *audit_for;

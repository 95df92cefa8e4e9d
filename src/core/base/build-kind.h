/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the running program was compiled. */
#ifndef WINDLASS_CORE_BASE_BUILD_KIND_H
#define WINDLASS_CORE_BASE_BUILD_KIND_H

/* Returns what decides the speed of this build: "optimized, without sanitizers". A build that is
 * slower says how much. It is a part of a sentence and lives forever. */
const char *build_kind (void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Says once of each request that got no answer for long, where it is. */
#ifndef WINDLASS_CORE_REPORT_WATCHDOG_H
#define WINDLASS_CORE_REPORT_WATCHDOG_H

#include <stdint.h>

/* From now on a request that is older than so many nanoseconds is logged, once, as a warning, with
 * the translators it waits at; lk and flock, which may wait for another process, are not. 0:
 * nothing is watched any more. Any time. */
void watchdog_set (int64_t patience);

#endif

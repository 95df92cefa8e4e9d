/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time. All code takes the time from here, so that a graph can run under another clock:
 * core/time/scheduler.h. */
#ifndef WINDLASS_CORE_TIME_CLOCK_H
#define WINDLASS_CORE_TIME_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time of day with the precision of the kernel's file times (CLOCK_REALTIME_COARSE). */
struct timespec clock_today (void);

/* Returns nanoseconds since an arbitrary start, never going back (CLOCK_MONOTONIC). */
int64_t clock_now (void);

/* Returns the same as of the last tick: some milliseconds late, but cheap
 * (CLOCK_MONOTONIC_COARSE). */
int64_t clock_roughly (void);

#endif

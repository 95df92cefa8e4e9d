/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time. It comes from here so that a graph can be run under another clock:
 * core/time/scheduler.h. */
#ifndef WINDLASS_CORE_TIME_CLOCK_H
#define WINDLASS_CORE_TIME_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The time of day, as precise as the kernel's own file times (CLOCK_REALTIME_COARSE). */
struct timespec clock_today (void);

/* Nanoseconds since some start, never going back (CLOCK_MONOTONIC). */
int64_t clock_now (void);

/* The same, as of the last tick: some milliseconds behind, and cheap (CLOCK_MONOTONIC_COARSE). */
int64_t clock_roughly (void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/clock.h"
#include "core/time/scheduler.h"

#include <glib.h>

struct timespec
clock_today (void)
{
    struct timespec now;

    if (G_UNLIKELY (scheduler_on))
        return scheduler_today ();
    clock_gettime (CLOCK_REALTIME_COARSE, &now);
    return now;
}

static int64_t
nanoseconds_of (clockid_t clock)
{
    struct timespec now;

    if (G_UNLIKELY (scheduler_on))
        return scheduler_now ();
    clock_gettime (clock, &now);
    return now.tv_sec * INT64_C (1000000000) + now.tv_nsec;
}

int64_t
clock_now (void)
{
    return nanoseconds_of (CLOCK_MONOTONIC);
}

int64_t
clock_roughly (void)
{
    return nanoseconds_of (CLOCK_MONOTONIC_COARSE);
}

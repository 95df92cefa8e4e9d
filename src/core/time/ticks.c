/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/ticks.h"
#include "core/time/scheduler.h"

#include <glib.h>
#include <pthread.h>
#include <string.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
/* nanoseconds for the first measurement of a tick, to about a ten-thousandth */
#define FIRST_LOOK 5000000
#define LONG_ENOUGH 1000000000  /* nanoseconds for the final one */
#define TRIES 5                 /* readings of both clocks */

bool ticks_are_cycles;
uint64_t ticks_scale = (uint64_t) 1 << 32;

/* The same moment on both clocks, and the measured length of a tick. */
static struct {
    pthread_mutex_t lock; /* a leaf */
    uint64_t ticks;       /* lock until ready is set, then constant */
    int64_t clock;        /* the same */
    double per_tick;      /* nanoseconds. Atomic */
    bool ready, final;    /* lock; ready is atomic */
} scale = { .lock = PTHREAD_MUTEX_INITIALIZER, .per_tick = 1 };

/* Asks the kernel, which has checked whether the counter is the same on all processors and never
 * stops. */
static bool
counter_is_good (void)
{
    g_autofree char *source = NULL;

    if (scheduler_on || !g_file_get_contents (CLOCKSOURCE, &source, NULL, NULL))
        return false;
    g_strchomp (source);
    return strcmp (source, "tsc") == 0 || strcmp (source, "kvm-clock") == 0
        || strcmp (source, "arch_sys_counter") == 0;
}

/* Reads the same moment on both clocks. The thread may be preempted between two readings, so the
 * fastest of several tries counts. */
static int64_t
read_both (uint64_t *ret_ticks)
{
    uint64_t least = UINT64_MAX;
    int64_t clock = 0;

    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = ticks_now ();
        const int64_t now = clock_now ();
        const uint64_t took = ticks_between (before, ticks_now ());

        if (took >= least)
            continue;
        least = took;
        *ret_ticks = before + took / 2;
        clock = now;
    }
    return clock;
}

static void
measure_locked (int64_t least)
{
    uint64_t ticks;
    int64_t now;

    while (clock_now () - scale.clock < least)
        continue;
    now = read_both (&ticks);
    double per_tick = (double) (now - scale.clock) / (double) (ticks - scale.ticks);
    __atomic_store (&scale.per_tick, &per_tick, __ATOMIC_RELAXED);
    __atomic_store_n (&ticks_scale, (uint64_t) (per_tick * 4294967296.0), __ATOMIC_RELAXED);
    scale.final = now - scale.clock >= LONG_ENOUGH;
}

void
ticks_init (void)
{
    pthread_mutex_lock (&scale.lock);
    if (!scale.ready) {
        ticks_are_cycles = counter_is_good ();
        scale.clock = read_both (&scale.ticks);
        if (ticks_are_cycles)
            measure_locked (FIRST_LOOK);
        else
            scale.final = true;
        __atomic_store_n (&scale.ready, true, __ATOMIC_RELEASE);
    } else if (!scale.final) {
        measure_locked (0);
    }
    pthread_mutex_unlock (&scale.lock);
}

static double
per_tick (void)
{
    double value;

    __atomic_load (&scale.per_tick, &value, __ATOMIC_RELAXED);
    return value;
}

uint64_t
ticks_of_ns (uint64_t nanoseconds)
{
    return (uint64_t) ((double) nanoseconds / per_tick ());
}

int64_t
ticks_to_clock (uint64_t ticks)
{
    return scale.clock + (int64_t) ((double) (int64_t) (ticks - scale.ticks) * per_tick ());
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clock for measurements, several times cheaper than clock_now: the processor's counter if it
 * runs evenly on all processors, else clock_now. The length of a tick is arbitrary; only
 * differences of ticks_now are meaningful.
 */
#ifndef WINDLASS_CORE_TIME_TICKS_H
#define WINDLASS_CORE_TIME_TICKS_H

#include "core/time/clock.h"

#include <stdbool.h>

/* The counter may be used: the kernel takes its time from it, and no scheduler is installed. Set by
 * ticks_init, before the first measurement. */
extern bool ticks_are_cycles;

/* Only if ticks_are_cycles. */
static inline uint64_t
ticks_of_counter (void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc (); /* __rdtsc; its header takes longer to compile than all others
                                     * together */
#elif defined __aarch64__
    uint64_t ticks;

    __asm__ volatile ("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return clock_now ();
#endif
}

static inline uint64_t
ticks_now (void)
{
    return __builtin_expect (ticks_are_cycles, 1) ? ticks_of_counter () : (uint64_t) clock_now ();
}

/* Returns the ticks from begin to end; 0 if end is earlier, which is possible if two threads read
 * the clock. */
static inline uint64_t
ticks_between (uint64_t begin, uint64_t end)
{
    return (int64_t) (end - begin) < 0 ? 0 : end - begin;
}

/* Examines the counter and measures a tick; takes some milliseconds the first time. Call it before
 * measuring. */
void ticks_init (void);

/* Nanoseconds per tick, times 2^32. Atomic; set by ticks_init. */
extern uint64_t ticks_scale;

/* Converts ticks to nanoseconds. */
static inline uint64_t
ticks_to_ns (uint64_t ticks)
{
    return (uint64_t) ((unsigned __int128) ticks * __atomic_load_n (&ticks_scale, __ATOMIC_RELAXED)
                       >> 32);
}

/* Converts nanoseconds to ticks; for thresholds. */
uint64_t ticks_of_ns (uint64_t nanoseconds);

/* Converts a value of ticks_now to one of clock_now. */
int64_t ticks_to_clock (uint64_t ticks);

#endif

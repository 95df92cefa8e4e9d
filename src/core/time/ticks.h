/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clock for measuring, several times cheaper than clock_now: the processor's own counter where
 * that runs evenly on all processors, else clock_now itself. A tick is as long as it happens to be;
 * only differences of ticks_now mean anything.
 */
#ifndef WINDLASS_CORE_TIME_TICKS_H
#define WINDLASS_CORE_TIME_TICKS_H

#include "core/time/clock.h"

#include <stdbool.h>

/* The counter may be used: it is what the kernel takes its time from, and no scheduler makes up the
 * time. Set by ticks_init, before anybody measures. */
extern bool ticks_are_cycles;

/* Only where ticks_are_cycles. */
static inline uint64_t
ticks_of_counter (void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc (); /* __rdtsc, whose header takes longer to compile than all others
                                       together */
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

/* From one ticks_now to another; none where the second is the earlier one, as when threads have
 * read them. */
static inline uint64_t
ticks_between (uint64_t begin, uint64_t end)
{
    return (int64_t) (end - begin) < 0 ? 0 : end - begin;
}

/* Looks what the counter is, and how long a tick is: takes some milliseconds the first time.
 * Whoever begins to measure calls it. */
void ticks_init (void);

/* How long a tick is: nanoseconds, times 2^32. Atomic; of ticks_init. */
extern uint64_t ticks_scale;

/* Nanoseconds of so many ticks. */
static inline uint64_t
ticks_to_ns (uint64_t ticks)
{
    return (uint64_t) ((unsigned __int128) ticks * __atomic_load_n (&ticks_scale, __ATOMIC_RELAXED)
                       >> 32);
}

/* And the other way; for thresholds. */
uint64_t ticks_of_ns (uint64_t nanoseconds);

/* When it was, on clock_now's time. */
int64_t ticks_to_clock (uint64_t ticks);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers by chance that a seed repeats. Who wants some keeps a generator of its own, in its
 * private struct, so that nobody else's calls change what it gets. */
#ifndef WINDLASS_CORE_TIME_RANDOM_H
#define WINDLASS_CORE_TIME_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* A generator (splitmix64): its state is one number, any seed is a good one. Guarded by whoever
 * owns it. */
struct random_source {
    uint64_t state; /* at first the seed */
};

/* What to start a generator with when no option says so: another number each time, unless a
 * scheduler runs the graph (core/time/scheduler.h), whose seed then decides. Any thread. */
uint64_t random_seed (void);

/* Does a scheduler's seed decide what happens? Then no thread waits for what it can't see, such as
 * news from the system. */
bool random_is_seeded (void);

/* The next number; one below limit, which is at least 1; and true once in so many times, one_in
 * being at least 1. */
uint64_t random_next (struct random_source *source);
uint64_t random_below (struct random_source *source, uint64_t limit);
bool random_once_in (struct random_source *source, uint64_t one_in);

#endif

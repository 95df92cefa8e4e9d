/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pseudo-random numbers that a seed reproduces. A translator keeps its own generator in its private
 * struct, so that other code's calls don't change its sequence. */
#ifndef WINDLASS_CORE_TIME_RANDOM_H
#define WINDLASS_CORE_TIME_RANDOM_H

#include "core/base/gfid.h"

#include <stdbool.h>
#include <stdint.h>

/* A generator (splitmix64). Its state is one number, and any seed is good. The owner guards it. */
struct random_source {
    uint64_t state; /* initially the seed */
};

/* Returns a seed for a generator if no option gives one: a different number each time, or, under a
 * scheduler (core/time/scheduler.h), a number from the scheduler's seed. Call it on any thread. */
uint64_t random_seed (void);

/* Returns whether a scheduler's seed decides the order of events. If so, threads must not wait for
 * events that the scheduler can't see, such as notifications from the system. */
bool random_is_seeded (void);

/* Return the next number; a number below limit, which is at least 1; true with a probability of 1
 * in one_in, which is at least 1. */
uint64_t random_next (struct random_source *source);
uint64_t random_below (struct random_source *source, uint64_t limit);
bool random_once_in (struct random_source *source, uint64_t one_in);

/* Returns a random gfid: a version 4 UUID (RFC 9562). Several threads may call it with one source
 * at the same time, if no other function takes numbers from it then. */
gfid_t random_gfid (struct random_source *source);

#endif

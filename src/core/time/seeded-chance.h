/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Chance that depends on a seed and a count alone: the n-th decision is the same in each run,
 * whichever thread makes it. A generator would do for one thread; with several, who comes first
 * would decide what the next one gets.
 */
#ifndef WINDLASS_CORE_TIME_SEEDED_CHANCE_H
#define WINDLASS_CORE_TIME_SEEDED_CHANCE_H

#include "core/time/random.h"

/* The n-th number of a seed; n from 0 on. */
static inline uint64_t
chance_number (uint64_t seed, uint64_t n)
{
    struct random_source source = { seed ^ n * UINT64_C (0xd1342543de82ef95) };

    random_next (&source);
    return random_next (&source);
}

/* Is the n-th one of those that happen with this probability, 0 to 100? 100 always is, 0 never. */
static inline bool
chance_hits (uint64_t seed, uint64_t n, double percent)
{
    return (double) (chance_number (seed, n) >> 11) * 0x1p-53 * 100 < percent;
}

/* Reads a seed, a whole number in decimal, for a row of options' check too. 0, or -EINVAL and what
 * is allowed (g_free it). */
int chance_seed_check (const char *text, char **ret_allowed);

/* The seed in text; NULL: another each time. */
uint64_t chance_seed (const char *text);

#endif

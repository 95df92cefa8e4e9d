/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random decisions that depend on a seed and a count alone: the n-th decision is the same in each
 * run, on whichever thread. With a generator, several threads would get numbers in the order of
 * their calls, which varies.
 */
#ifndef WINDLASS_CORE_TIME_SEEDED_CHANCE_H
#define WINDLASS_CORE_TIME_SEEDED_CHANCE_H

#include "core/time/random.h"

/* Returns the n-th number of a seed; n starts at 0. */
static inline uint64_t
chance_number (uint64_t seed, uint64_t n)
{
    struct random_source source = { seed ^ n * UINT64_C (0xd1342543de82ef95) };

    random_next (&source);
    return random_next (&source);
}

/* Returns whether the n-th event happens, given its probability in percent. 100 always does, 0
 * never. */
static inline bool
chance_hits (uint64_t seed, uint64_t n, double percent)
{
    return (double) (chance_number (seed, n) >> 11) * 0x1p-53 * 100 < percent;
}

/* Checks the text of a seed, a decimal whole number; fits an option's check. Returns 0, or -EINVAL
 * and the allowed values in *ret_allowed (g_free it). */
int chance_seed_check (const char *text, char **ret_allowed);

/* Returns the seed in text; NULL: a new random seed. */
uint64_t chance_seed (const char *text);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/random.h"
#include "core/time/scheduler.h"

#include <string.h>

#include <glib.h>
#include <sys/random.h>

uint64_t
random_seed (void)
{
    uint64_t seed;

    if (G_UNLIKELY (scheduler_on))
        return scheduler_seed ();
    if (getrandom (&seed, sizeof seed, 0) != sizeof seed) /* fails only where a sandbox forbids the
                                                           * call */
        seed = (uint64_t) g_random_int () << 32 | g_random_int ();
    return seed;
}

bool
random_is_seeded (void)
{
    return scheduler_on;
}

#define RANDOM_STEP UINT64_C (0x9e3779b97f4a7c15)

static uint64_t
random_mix (uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t
random_next (struct random_source *source)
{
    return random_mix (source->state += RANDOM_STEP);
}

uint64_t
random_below (struct random_source *source, uint64_t limit)
{
    return random_next (source) % limit;
}

bool
random_once_in (struct random_source *source, uint64_t one_in)
{
    return random_below (source, one_in) == 0;
}

gfid_t
random_gfid (struct random_source *source)
{
    const uint64_t state = __atomic_fetch_add (&source->state, 2 * RANDOM_STEP, __ATOMIC_RELAXED);
    const uint64_t numbers[2] = { random_mix (state + RANDOM_STEP),
                                  random_mix (state + 2 * RANDOM_STEP) };
    gfid_t gfid;

    memcpy (gfid.b, numbers, sizeof gfid.b);
    gfid.b[6] = (gfid.b[6] & 0x0f) | 0x40;
    gfid.b[8] = (gfid.b[8] & 0x3f) | 0x80;
    return gfid;
}

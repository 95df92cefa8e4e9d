/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a call goes on in the thread that brought it. A hand-over takes longer than most operations that storage answers from memory, so
 * one stays while nobody waits in a queue and calls of its operation were quick lately. What it took is an average in which the last
 * ones count most: one that hits a disk sends the next dozen to threads.
 */
#include "io-threads.h"

#define WEIGHT 8                    /* the newest counts as much as one in so many */
#define UNKNOWN INT64_C (1000000)   /* ns that one takes of which none came yet: two dozen go to threads first */
#define LONGEST INT64_C (20000000)  /* ns; one that took an hour shall not be remembered for a day */
#define MEASURED_ONE_IN 4           /* of those that stay: reading the clock twice is a third of what staying costs */

void
iot_place_init (iot_private_t *priv)
{
    ticks_init ();
    for (unsigned i = 0; i < FOP_MAX; i++)
        priv->took[i].average = ticks_of_ns (UNKNOWN);
    iot_place_set (priv, priv->in_place);
}

void
iot_place_set (iot_private_t *priv, int64_t nanoseconds)
{
    __atomic_store_n (&priv->stay, ticks_of_ns (nanoseconds), __ATOMIC_RELAXED);
}

bool
iot_may_stay (const iot_private_t *priv, enum fop op)
{
    return __atomic_load_n (&priv->took[op].average, __ATOMIC_RELAXED) < __atomic_load_n (&priv->stay, __ATOMIC_RELAXED)
           && __atomic_load_n (&priv->waiting, __ATOMIC_RELAXED) == 0;
}

/* Two at once may lose one of their notes. */
void
iot_note_took (iot_private_t *priv, enum fop op, uint64_t ticks)
{
    struct iot_took *took = &priv->took[op];
    const int64_t before = (int64_t) __atomic_load_n (&took->average, __ATOMIC_RELAXED);
    const int64_t now = (int64_t) MIN (ticks, ticks_of_ns (LONGEST));

    __atomic_store_n (&took->average, (uint64_t) (before + (now - before) / WEIGHT), __ATOMIC_RELAXED);
}

void
iot_go_on_in_place (const struct call *call)
{
    iot_private_t *priv = call->this->private;
    const enum fop op = call->op;
    const uint64_t n = __atomic_fetch_add (&priv->took[op].stayed, 1, __ATOMIC_RELAXED);

    if (n % MEASURED_ONE_IN) {
        call_pass (call);
        return;
    }
    const uint64_t begin = ticks_now ();
    call_pass (call);
    iot_note_took (priv, op, ticks_now () - begin);
}

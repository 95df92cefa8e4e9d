/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a call goes on in the thread that brought it. A hand-over takes longer than most operations that storage answers from memory, so
 * one stays while nobody waits in a queue and calls of its operation were quick lately. What it took is an average in which the last
 * ones count most. A single slow one, which may only have lost the processor for a while, sends the next two or three to threads; when more of
 * them are, up to sixteen quick ones it takes to stay again.
 */
#include "io-threads.h"

#define WEIGHT 8                   /* the newest counts as much as one in so many */
#define LONGEST 8                  /* times the limit: as if none took longer */
#define LONGEST_LEAST INT64_C (400000) /* ns; so that nothing counts as quick at once when the limit is raised from 0 */
#define MEASURED_ONE_IN 4          /* of those that stay: reading the clock twice is a third of what staying costs */

static uint64_t
longest (const iot_private_t *priv)
{
    return MAX (LONGEST * __atomic_load_n (&priv->stay, __ATOMIC_RELAXED), ticks_of_ns (LONGEST_LEAST));
}

void
iot_place_init (iot_private_t *priv)
{
    ticks_init ();
    iot_place_set (priv, priv->in_place);
    for (unsigned i = 0; i < FOP_MAX; i++)
        priv->took[i].average = longest (priv);
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
    const int64_t now = (int64_t) MIN (ticks, longest (priv));

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

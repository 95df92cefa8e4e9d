/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a call goes on in the thread that brought it. A hand-over takes longer than most operations that storage answers from memory, so
 * one stays while nobody waits in a queue and calls of its operation were quick lately: core/quick.h.
 */
#include "io-threads.h"

#define MEASURED_ONE_IN 4 /* of those that stay: reading the clock twice is a third of what staying costs */

/* These may be more than they look like: a question to us, or waiting for others. */
#define NEVER_AT_ONCE (OPSET_OF (FOP_getxattr) | OPSET_OF (FOP_fgetxattr) | OPSET_OF (FOP_lk) | OPSET_OF (FOP_flock))

/* While the least have a rate, it has to be found out of each call whether it is one of theirs. */
static void
note_changes_locked (iot_private_t *priv)
{
    const bool any_least = priv->least_rate > 0 && __atomic_load_n (&priv->least, __ATOMIC_RELAXED);
    opset_t at_once = 0;

    for (unsigned op = FOP_NONE + 1; op < FOP_MAX && !any_least; op++)
        if (quick_is (&priv->quick, op))
            at_once |= OPSET_OF (op);
    __atomic_store_n (&priv->at_once, at_once & ~NEVER_AT_ONCE, __ATOMIC_RELAXED);
}

/* Until it is known what they take all are handed over. */
void
iot_place_init (iot_private_t *priv)
{
    quick_init (&priv->quick, priv->in_place, true);
}

void
iot_place_set_locked (iot_private_t *priv)
{
    quick_set (&priv->quick, priv->in_place);
    note_changes_locked (priv);
}

bool
iot_may_stay (const iot_private_t *priv, enum fop op)
{
    return quick_is (&priv->quick, op) && __atomic_load_n (&priv->waiting, __ATOMIC_RELAXED) == 0;
}

void
iot_note_took (iot_private_t *priv, enum fop op, uint64_t begin, uint64_t end)
{
    if (G_LIKELY (!quick_note (&priv->quick, op, begin, end)))
        return;
    pthread_mutex_lock (&priv->lock);
    note_changes_locked (priv);
    pthread_mutex_unlock (&priv->lock);
}

static void
measured (const struct call *call)
{
    iot_private_t *priv = call->this->private;
    const enum fop op = call->op;

    const uint64_t begin = ticks_now ();
    call_pass (call);
    iot_note_took (priv, op, begin, ticks_now ());
}

/* Two at once may be counted as one: it is for reports, and for which are measured. */
void
iot_go_on_in_place (const struct call *call)
{
    iot_private_t *priv = call->this->private;
    uint64_t *stayed = &priv->stayed[call->op];
    const uint64_t n = __atomic_load_n (stayed, __ATOMIC_RELAXED);

    __atomic_store_n (stayed, n + 1, __ATOMIC_RELAXED);
    if (n % MEASURED_ONE_IN == 0)
        measured (call);
    else
        call_pass (call);
}

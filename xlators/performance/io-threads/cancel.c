/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who lost patience while his call was in a queue is answered EINTR at once, and nothing is done. A thread and an interrupt may want the
 * same call: the first to change its state gets it. The interrupt comes under the request's lock, so it only marks the
 * call, and a timer does the rest. Until that has answered, the call's memory stays.
 */
#include "io-threads.h"

static void
iot_answer_cancelled (void *data)
{
    struct iot_call *call = data;
    iot_private_t *priv = call->this->private;
    call_frame_t *frame = call_stub_frame (call->stub);

    pthread_mutex_lock (&priv->lock);
    if (call->client)
        iot_remove_locked (priv, call);
    pthread_mutex_unlock (&priv->lock);
    stack_off_interrupt (frame->root, &call->interrupt);
    __atomic_add_fetch (&priv->cancelled, 1, __ATOMIC_RELAXED);
    call_stub_destroy (call->stub);
    frame_fail (frame, EINTR);
    pthread_mutex_lock (&priv->lock);
    priv->set_aside--;
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
}

/* What a program asks for must not fail because its timer ticks. */
static bool
may_fail (const struct iot_call *call)
{
    return !call->owed && process_gives_up (call_stub_frame (call->stub)->root->pid);
}

static void
iot_interrupted (void *data)
{
    struct iot_call *call = data;
    int queued = IOT_QUEUED;

    if (__atomic_load_n (&call->state, __ATOMIC_RELAXED) == IOT_QUEUED && may_fail (call)
        && __atomic_compare_exchange_n (&call->state, &queued, IOT_CANCELLED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        timer_after (0, iot_answer_cancelled, call);
}

/* Under the lock, so that no thread takes the call meanwhile. */
void
iot_watch_interrupt_locked (struct iot_call *call)
{
    call->interrupt = (struct interrupt_watch){ .fn = iot_interrupted, .data = call };
    stack_on_interrupt (call_stub_frame (call->stub)->root, &call->interrupt);
}

/* Under the lock, as the timer takes it too before it answers: so the call is still there. */
bool
iot_take_locked (struct iot_call *call)
{
    int queued = IOT_QUEUED;

    return __atomic_compare_exchange_n (&call->state, &queued, IOT_TAKEN, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void
iot_unwatch_interrupt (struct iot_call *call)
{
    stack_off_interrupt (call_stub_frame (call->stub)->root, &call->interrupt);
}

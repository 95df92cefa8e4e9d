/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* While calls wait for answers, the loop's thread looks once a second whether the server still
 * speaks, and whether a call has waited too long. A timer only posts that look: an answer on the
 * timer's thread could come after the connection's last event, when its user is gone. */
#include "rpc/internal.h"

#include "core/time/clock.h"
#include "core/time/timer.h"

#include <errno.h>
#include <stddef.h>

#define SECOND 1000000000LL
#define PROCEDURE_PING 2

static void
ping_answered (struct rpc_call *call, struct rpc_reply *reply)
{
}

static void
ping_free (struct rpc_call *call)
{
    g_free (call);
}

static bool
ping_send_locked (struct rpc_connection *c)
{
    struct rpc_call *call = g_new0 (struct rpc_call, 1);

    rpc_call_begin (call, RPC_DUMP, 1, PROCEDURE_PING, NULL);
    call->answered = ping_answered;
    call->free = ping_free;
    call->since = clock_now ();
    if (call_admit_locked (c, call, true, call->since))
        return true;
    rpc_call_unref (call);
    return false;
}

/* Returns how long the server has been silent while it had calls to answer. */
static int64_t
silence_locked (const struct rpc_connection *c, int64_t now)
{
    return now - MAX (__atomic_load_n (&c->heard, __ATOMIC_RELAXED), c->asked_since);
}

/* Adds the calls that have waited too long, each with a reference. A call with `overdue` keeps its
 * slot. A call may still be in the queue of unsent calls, so its `next` is not ours. */
static void
late_take_locked (struct rpc_connection *c, int64_t now, GPtrArray *late)
{
    for (unsigned slot = SLOT_OF_PING + 1; c->timeouts.frame > 0 && slot < RPC_WINDOW; slot++) {
        struct rpc_call *call = c->slots[slot];

        if (!call || call->patient || call->overdue_told || now - call->since < c->timeouts.frame)
            continue;
        if (call->overdue) {
            call->overdue_told = true;
            rpc_call_ref (call);
        } else {
            call_take_locked (c, slot);
        }
        g_ptr_array_add (late, call);
    }
}

static void
late_end (struct rpc_call *call)
{
    if (!call->overdue) {
        call_answer_error (call, ETIMEDOUT);
        return;
    }
    call->overdue (call);
    rpc_call_unref (call);
}

void
connection_check_timeouts (struct loop_task *task)
{
    struct rpc_connection *c = (void *) ((char *) task - offsetof (struct rpc_connection, look));
    const int64_t now = clock_now ();
    g_autoptr (GPtrArray) late = g_ptr_array_new ();
    bool pinged = false, silent = false;

    pthread_mutex_lock (&c->lock);
    c->ticking = false;
    late_take_locked (c, now, late);
    if (c->state == RPC_OPEN && c->asked > 0 && c->timeouts.ping > 0) {
        silent = silence_locked (c, now) > c->timeouts.ping;
        pinged = !silent && silence_locked (c, now) > c->timeouts.ping / 2
              && ping_send_locked (c);
    }
    connection_tick_locked (c);
    pthread_mutex_unlock (&c->lock);
    if (pinged)
        connection_flush (c);
    if (silent)
        rpc_hang_up (c, "the server has not answered for the time of ping-timeout");
    for (guint i = 0; i < late->len; i++)
        late_end (late->pdata[i]);
    rpc_connection_unref (c);
}

/* Once the connection is closed, the loop may have ended, too. */
static void
tick (void *data)
{
    struct rpc_connection *c = data;
    bool open;

    pthread_mutex_lock (&c->lock);
    open = c->state == RPC_OPEN;
    if (open)
        loop_post (&c->look);
    pthread_mutex_unlock (&c->lock);
    if (!open)
        rpc_connection_unref (c);
}

void
connection_tick_locked (struct rpc_connection *c)
{
    if (c->ticking || c->asked == 0 || c->state != RPC_OPEN)
        return;
    c->ticking = true;
    timer_after (SECOND, tick, rpc_connection_ref (c));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* While calls wait for replies, the event loop's thread checks once a second whether the server
 * still sends bytes, and whether a call has waited too long. The timer only posts a task for that.
 * The timer's thread must not call `answered` itself: the event loop's thread may call
 * rpc_events.closed meanwhile, after which the user frees the memory that `answered` needs. */
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

/* Returns for how many nanoseconds the server has been silent: the time since it last sent bytes,
 * or since `asked` last rose from 0, whichever is shorter. */
static int64_t
silence_locked (const struct rpc_connection *c, int64_t now)
{
    return now - MAX (__atomic_load_n (&c->heard, __ATOMIC_RELAXED), c->asked_since);
}

/* Adds the calls that have waited for the frame timeout to an array, each with a reference. It adds
 * them to an array, not a list, since the queue of unsent calls may be using their `next`. A call
 * with a function `overdue` keeps its slot, the others lose theirs. */
static void
overdue_take_locked (struct rpc_connection *c, int64_t now, GPtrArray *overdue)
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
        g_ptr_array_add (overdue, call);
    }
}

static void
overdue_tell (struct rpc_call *call)
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
    struct rpc_connection *c = (void *) ((char *) task
                                         - offsetof (struct rpc_connection, check_timeouts));
    const int64_t now = clock_now ();
    g_autoptr (GPtrArray) overdue = g_ptr_array_new ();
    bool pinged = false, silent = false;

    pthread_mutex_lock (&c->lock);
    c->ticking = false;
    overdue_take_locked (c, now, overdue);
    if (c->state == RPC_OPEN && c->asked > 0 && c->timeouts.ping > 0) {
        silent = silence_locked (c, now) > c->timeouts.ping;
        pinged = !silent && silence_locked (c, now) > c->timeouts.ping / 2
              && ping_send_locked (c);
    }
    connection_tick_locked (c);
    pthread_mutex_unlock (&c->lock);
    if (pinged)
        rpc_flush (c);
    if (silent)
        rpc_hang_up (c, "the server has sent nothing for the time of ping-timeout");
    for (guint i = 0; i < overdue->len; i++)
        overdue_tell (overdue->pdata[i]);
    rpc_connection_unref (c);
}

/* Called by the timer: posts the task that checks the timeouts. Posts nothing after the connection
 * is closed, because the event loop may have ended by then. */
static void
timeouts_tick (void *data)
{
    struct rpc_connection *c = data;
    bool open;

    pthread_mutex_lock (&c->lock);
    open = c->state == RPC_OPEN;
    if (open)
        loop_post (&c->check_timeouts);
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
    timer_after (SECOND, timeouts_tick, rpc_connection_ref (c));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/internal.h"

#include "core/time/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- life ------------------------------------------------------------------------------------- */

static void
connection_free (struct rpc_connection *c)
{
    if (c->watch.fd >= 0)
        close (c->watch.fd);
    tls_free (c->stream.tls);
    tls_context_unref (c->tls_context);
    receiver_clear (&c->receiver);
    pthread_mutex_destroy (&c->lock);
    g_free (c->host);
    g_free (c->path);
    g_free (c->reason);
    g_free (c);
}

struct rpc_connection *
rpc_connection_ref (struct rpc_connection *c)
{
    __atomic_add_fetch (&c->refs, 1, __ATOMIC_RELAXED);
    return c;
}

void
rpc_connection_unref (struct rpc_connection *c)
{
    if (c && __atomic_sub_fetch (&c->refs, 1, __ATOMIC_ACQ_REL) == 0)
        connection_free (c);
}

static void
connection_ready (struct loop_watch *watch, uint32_t events)
{
    struct rpc_connection *c = (void *) ((char *) watch - offsetof (struct rpc_connection, watch));

    if (events & EPOLLOUT) {
        pthread_mutex_lock (&c->lock);
        c->blocked = false;
        loop_change (&c->watch, EPOLLIN);
        pthread_mutex_unlock (&c->lock);
        rpc_flush (c);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        connection_receive (c);
}

/* The task that runs on the event loop's thread after a thread of core/work has connected the
 * socket. */
static void
connection_open (struct loop_task *task)
{
    struct rpc_connection *c = (void *) ((char *) task
                                         - offsetof (struct rpc_connection, connected));
    int r = loop_add (&c->watch, EPOLLIN);

    if (r < 0) {
        connection_close (c, g_strerror (-r));
        return;
    }
    pthread_mutex_lock (&c->lock);
    c->state = RPC_OPEN;
    pthread_mutex_unlock (&c->lock);
    c->events->connected (c->data);
}

static void
connection_read_more (struct loop_task *task)
{
    struct rpc_connection *c = (void *) ((char *) task
                                         - offsetof (struct rpc_connection, read_more));
    bool open;

    c->reading_more = false;
    pthread_mutex_lock (&c->lock);
    open = c->state == RPC_OPEN;
    pthread_mutex_unlock (&c->lock);
    if (open)
        connection_receive (c);
    rpc_connection_unref (c);
}

static void
connection_fail (struct loop_task *task)
{
    struct rpc_connection *c = (void *) ((char *) task
                                         - offsetof (struct rpc_connection, connect_failed));

    connection_close (c, NULL);
}

struct rpc_connection *
connection_new (const struct rpc_address *address, const struct rpc_timeouts *timeouts,
                const struct rpc_events *events, void *data)
{
    struct rpc_connection *c = g_new0 (struct rpc_connection, 1);

    c->refs = 2; /* one reference of the caller, and one that connection_close drops */
    c->watch = (struct loop_watch){ connection_ready, -1 };
    c->stream.fd = -1;
    c->events = events;
    c->data = data;
    c->host = g_strdup (address->host);
    c->path = g_strdup (address->path);
    c->port = address->port;
    c->tls_context = address->tls ? tls_context_ref (address->tls) : NULL;
    c->timeouts = *timeouts;
    c->connected.run = connection_open;
    c->connect_failed.run = connection_fail;
    c->read_more.run = connection_read_more;
    c->check_timeouts.run = connection_check_timeouts;
    c->connecting.run = connection_connect;
    pthread_mutex_init (&c->lock, NULL);
    queue_init (&c->unsent);
    queue_init (&c->waiting);
    for (unsigned slot = RPC_WINDOW - 1; slot > SLOT_OF_PING; slot--)
        c->spare[c->spares++] = (uint16_t) slot;
    return c;
}

struct rpc_connection *
rpc_connect (const struct rpc_address *address, const struct rpc_timeouts *timeouts,
             const struct rpc_events *events, void *data)
{
    struct rpc_connection *c = connection_new (address, timeouts, events, data);

    work_put (&c->connecting);
    return c;
}

#define PAUSE_FIRST 100000000LL /* first pause between two attempts, in nanoseconds */
#define PAUSE_MAX 3000000000LL  /* longest pause, in nanoseconds; GlusterFS's clients make this
                                 * pause before each attempt */

int64_t
rpc_pause (unsigned attempts)
{
    return attempts <= 1 ? 0 : MIN (PAUSE_FIRST << MIN (attempts - 2, 10), PAUSE_MAX);
}

/* --- calls ------------------------------------------------------------------------------------ */

void
call_answer_error (struct rpc_call *call, int error)
{
    struct rpc_reply reply = { .error = error };

    call->answered (call, &reply);
    rpc_call_unref (call);
}

void
calls_unref (struct rpc_call *call)
{
    struct rpc_call *next;

    for (; call; call = next) {
        next = call->next;
        rpc_call_unref (call);
    }
}

struct rpc_call *
call_take_locked (struct rpc_connection *c, unsigned slot)
{
    struct rpc_call *call = c->slots[slot];

    if (!call)
        return NULL;
    c->slots[slot] = NULL;
    if (slot != SLOT_OF_PING)
        c->spare[c->spares++] = (uint16_t) slot;
    c->asked--;
    c->asked_bytes -= call->weight;
    return call;
}

struct rpc_call *
connection_take (struct rpc_connection *c, uint32_t xid)
{
    struct rpc_call *call = NULL;

    pthread_mutex_lock (&c->lock);
    if (c->slots[SLOT_OF (xid)] && c->slots[SLOT_OF (xid)]->xid == xid)
        call = call_take_locked (c, SLOT_OF (xid));
    pthread_mutex_unlock (&c->lock);
    return call;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Takes all calls that have no reply: first those in slots, which the server may have executed,
 * then those that wait for a slot. Returns an array, not a list: a thread may be writing some of
 * the calls, and uses their `next` meanwhile. *ret_answered is a list of unsent calls that already
 * have a reply, since a server may reply before it has received the whole call; the caller drops
 * their references. */
static GPtrArray *
calls_take_locked (struct rpc_connection *c, struct rpc_call **ret_answered)
{
    GPtrArray *all = g_ptr_array_new ();
    struct call_queue answered;
    struct rpc_call *call;

    queue_init (&answered);
    while ((call = queue_take (&c->unsent)))
        if (c->slots[SLOT_OF (call->xid)] == call)
            rpc_call_unref (call); /* the slot has another reference */
        else
            queue_add (&answered, call);
    *ret_answered = answered.first;
    for (unsigned slot = 0; slot < RPC_WINDOW; slot++)
        if ((call = call_take_locked (c, slot)))
            g_ptr_array_add (all, call);
    while ((call = queue_take (&c->waiting)))
        g_ptr_array_add (all, call);
    c->n_waiting = 0;
    return all;
}

void
connection_close (struct rpc_connection *c, const char *reason)
{
    g_autoptr (GPtrArray) calls = NULL;
    struct rpc_call *answered;
    bool before;

    pthread_mutex_lock (&c->lock);
    before = c->state == RPC_CLOSED;
    c->state = RPC_CLOSED;
    if (!c->reason)
        c->reason = g_strdup (reason);
    calls = calls_take_locked (c, &answered);
    pthread_mutex_unlock (&c->lock);
    if (before)
        return;
    if (c->watch.fd >= 0) {
        loop_remove (&c->watch);
        shutdown (c->watch.fd, SHUT_RDWR);
        loop_stir ();
    }
    calls_unref (answered);
    for (guint i = 0; i < calls->len; i++)
        call_answer_error (calls->pdata[i], ENOTCONN);
    c->events->closed (c->data, c->reason);
    rpc_connection_unref (c);
}

/* Shuts the socket down by shutdown(2). The thread that reads from the socket, or connects it, then
 * finds the end of the socket, and has the connection closed. */
void
rpc_hang_up (struct rpc_connection *c, const char *reason)
{
    pthread_mutex_lock (&c->lock);
    if (!c->reason)
        c->reason = g_strdup (reason);
    if (c->watch.fd >= 0)
        shutdown (c->watch.fd, SHUT_RDWR);
    loop_stir ();
    pthread_mutex_unlock (&c->lock);
}

/* --- settings, reports ------------------------------------------------------------------------ */

void
rpc_set_timeouts (struct rpc_connection *c, const struct rpc_timeouts *timeouts)
{
    pthread_mutex_lock (&c->lock);
    c->timeouts = *timeouts;
    pthread_mutex_unlock (&c->lock);
}

struct rpc_numbers
rpc_numbers_of (struct rpc_connection *c)
{
    struct rpc_numbers numbers;

    pthread_mutex_lock (&c->lock);
    numbers = (struct rpc_numbers){ .asked = c->asked, .waiting = c->n_waiting, .calls = c->calls };
    pthread_mutex_unlock (&c->lock);
    numbers.sent = __atomic_load_n (&c->sent, __ATOMIC_RELAXED);
    numbers.received = __atomic_load_n (&c->received, __ATOMIC_RELAXED);
    numbers.heard = __atomic_load_n (&c->heard, __ATOMIC_RELAXED);
    return numbers;
}

char *
rpc_encryption_of (struct rpc_connection *c)
{
    struct tls *tls;

    pthread_mutex_lock (&c->lock);
    tls = c->state == RPC_CONNECTING ? NULL : c->stream.tls;
    pthread_mutex_unlock (&c->lock);
    return tls ? tls_description (tls) : NULL;
}

void
rpc_each_call (struct rpc_connection *c, rpc_see *see, void *data)
{
    bool found = false;

    pthread_mutex_lock (&c->lock);
    for (unsigned slot = SLOT_OF_PING + 1; slot < RPC_WINDOW && !found; slot++)
        found = c->slots[slot] && see (c->slots[slot], data);
    for (struct rpc_call *call = c->waiting.first; call && !found; call = call->next)
        found = see (call, data);
    pthread_mutex_unlock (&c->lock);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends calls. Only one thread writes to the socket at a time: the first that has a call to send.
 * Threads that come meanwhile queue their calls, and the first thread writes these, too, many in
 * one system call. No lock is held during the system call. */
#include "rpc/internal.h"

#include "core/time/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#define LAST_FRAGMENT 0x80000000u
#define PARTS 64   /* most vectors of bytes in one system call */

/* --- slots ------------------------------------------------------------------------------------ */

static bool
window_is_full_locked (const struct rpc_connection *c, const struct rpc_call *call)
{
    return c->spares == 0
        || (c->asked_bytes > 0 && c->asked_bytes + call->weight > RPC_WINDOW_BYTES);
}

static void
call_number_locked (struct rpc_connection *c, struct rpc_call *call, unsigned slot)
{
    const size_t record = call->out.used - 4 + iov_length (call->payload, call->payload_parts);

    call->xid = c->serial++ << SLOT_BITS | slot;
    xdr_set_u32 (&call->out, 0, LAST_FRAGMENT | (uint32_t) record);
    xdr_set_u32 (&call->out, 4, call->xid);
}

/* Gives a call a slot and queues it for writing. now is a time of clock_now. Returns false if the
 * window is full, or, for a ping, if the slot of pings is occupied. */
bool
call_admit_locked (struct rpc_connection *c, struct rpc_call *call, bool ping, int64_t now)
{
    unsigned slot = SLOT_OF_PING;

    if (ping ? c->slots[SLOT_OF_PING] != NULL : window_is_full_locked (c, call))
        return false;
    if (!ping)
        slot = c->spare[--c->spares];
    call_number_locked (c, call, slot);
    call->asked = now;
    c->slots[slot] = call;
    c->calls++;
    if (c->asked++ == 0)
        c->asked_since = call->asked;
    c->asked_bytes += call->weight;
    queue_add (&c->unsent, rpc_call_ref (call));
    connection_tick_locked (c);
    return true;
}

void
connection_admit (struct rpc_connection *c)
{
    bool admitted = false;

    pthread_mutex_lock (&c->lock);
    while (c->waiting.first && c->state == RPC_OPEN
           && !window_is_full_locked (c, c->waiting.first)) {
        call_admit_locked (c, queue_take (&c->waiting), false, clock_now ());
        c->n_waiting--;
        admitted = true;
    }
    pthread_mutex_unlock (&c->lock);
    if (admitted)
        rpc_flush (c);
}

void
rpc_send (struct rpc_connection *c, struct rpc_call *call)
{
    bool open;

    call->since = clock_now ();
    pthread_mutex_lock (&c->lock);
    open = c->state == RPC_OPEN && !c->reason;
    if (open && (c->waiting.first || !call_admit_locked (c, call, false, call->since))) {
        queue_add (&c->waiting, call);
        c->n_waiting++;
    }
    pthread_mutex_unlock (&c->lock);
    if (open)
        rpc_flush (c);
    else
        call_answer_error (call, ENOTCONN);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The calls whose bytes one system call writes. */
struct send_batch {
    struct iovec parts[PARTS];
    int used;
    struct call_queue calls;
};

/* Adds a vector to the batch without the bytes that were written before. *skip is the number of
 * such bytes in this vector and those that follow; it is decreased by those of this vector. */
static void
batch_add_part (struct send_batch *batch, const struct iovec *part, size_t *skip)
{
    const size_t skipped = MIN (*skip, part->iov_len);

    *skip -= skipped;
    if (skipped < part->iov_len)
        batch->parts[batch->used++] =
            (struct iovec){ (char *) part->iov_base + skipped, part->iov_len - skipped };
}

/* Adds a call. Returns false if the batch has calls and no room for all vectors of this one. The
 * first call of a batch is added as far as it fits. */
static bool
batch_add (struct send_batch *batch, struct rpc_call *call)
{
    const struct iovec head = { call->out.bytes, call->out.used };
    size_t skip = call->sent;

    if (batch->used > 0 && batch->used + 1 + call->payload_parts > PARTS)
        return false;
    batch_add_part (batch, &head, &skip);
    for (int i = 0; i < call->payload_parts && batch->used < PARTS; i++)
        batch_add_part (batch, &call->payload[i], &skip);
    return true;
}

static void
batch_fill_locked (struct rpc_connection *c, struct send_batch *batch)
{
    batch->used = 0;
    queue_init (&batch->calls);
    while (c->unsent.first && batch_add (batch, c->unsent.first))
        queue_add (&batch->calls, queue_take (&c->unsent));
}

/* Notes that n bytes of the batch were written: drops the calls that are complete, and counts the
 * written bytes of the next one. */
static void
batch_advance (struct send_batch *batch, size_t n)
{
    struct rpc_call *call;

    while ((call = batch->calls.first)) {
        const size_t left = call->out.used + iov_length (call->payload, call->payload_parts)
                          - call->sent;

        if (n < left) {
            call->sent += n;
            return;
        }
        n -= left;
        rpc_call_unref (queue_take (&batch->calls));
    }
}

/* Puts the calls of the batch that are not complete back at the head of the unsent calls. If the
 * connection has ended, the calls stay in the batch. */
static void
batch_return_locked (struct rpc_connection *c, struct send_batch *batch)
{
    if (c->state == RPC_CLOSED || !batch->calls.first)
        return;
    if (!c->unsent.first)
        c->unsent.last = batch->calls.last;
    *batch->calls.last = c->unsent.first;
    c->unsent.first = batch->calls.first;
    queue_init (&batch->calls);
}

static ssize_t
batch_write (struct rpc_connection *c, struct send_batch *batch)
{
    const ssize_t n = stream_write (&c->stream, batch->parts, batch->used);

    if (n < 0)
        return n;
    __atomic_add_fetch (&c->sent, n, __ATOMIC_RELAXED);
    batch_advance (batch, (size_t) n);
    return n;
}

/* Ends the writing by this thread. After -EAGAIN the event loop waits until the socket takes bytes
 * again. */
static void
sending_end_locked (struct rpc_connection *c, ssize_t r)
{
    c->sending = false;
    if (r == -EAGAIN && c->state == RPC_OPEN) {
        c->blocked = true;
        loop_change (&c->watch, EPOLLIN | EPOLLOUT);
    }
}

void
rpc_flush (struct rpc_connection *c)
{
    g_autofree char *reason = NULL;
    struct send_batch batch;
    ssize_t r = 0;

    pthread_mutex_lock (&c->lock);
    if (c->sending || c->blocked || c->state != RPC_OPEN) {
        pthread_mutex_unlock (&c->lock);
        return;
    }
    c->sending = true;
    queue_init (&batch.calls);
    while (r >= 0 && c->unsent.first && c->state == RPC_OPEN) {
        batch_fill_locked (c, &batch);
        pthread_mutex_unlock (&c->lock);
        r = batch_write (c, &batch);
        pthread_mutex_lock (&c->lock);
        batch_return_locked (c, &batch);
    }
    sending_end_locked (c, r);
    pthread_mutex_unlock (&c->lock);
    calls_unref (batch.calls.first);
    /* After EPIPE or ECONNRESET, this thread does not end the connection. The server may have sent
     * the reason before it closed the connection; the event loop's thread reads that first, and
     * then finds the end of the connection. */
    if (r >= 0 || r == -EAGAIN || r == -EPIPE || r == -ECONNRESET)
        return;
    reason = stream_reason (&c->stream, (int) r);
    rpc_hang_up (c, reason);
}

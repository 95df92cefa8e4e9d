/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the source files of a connection share. */
#ifndef WINDLASS_RPC_INTERNAL_H
#define WINDLASS_RPC_INTERNAL_H

#include "core/time/thread.h"
#include "core/work/work.h"
#include "rpc/connection.h"
#include "rpc/loop.h"
#include "rpc/stream.h"

#include <pthread.h>

/* An XID has the number of the call's slot in its low bits, and a serial number above them. */
#define SLOT_BITS 10
#define SLOT_OF(xid_) ((xid_) & (RPC_WINDOW - 1))
#define SLOT_OF_PING 0 /* slot that only the connection's own ping may occupy */

_Static_assert (RPC_WINDOW == 1 << SLOT_BITS, "a slot's number fits in SLOT_BITS");

struct call_queue {
    struct rpc_call *first, **last;
};

/* Received bytes that are not processed yet. Only the event loop's thread uses it.
 *
 *   buffer:  [ done | begin ... end | free ]     a record that fits is processed in place
 *   large:   a record that doesn't fit: the whole record, or, if its payload is known to begin in
 *            buffer, only the bytes that are not in buffer
 */
struct receiver {
    struct iobuf *buffer;
    size_t begin, end;
    struct iobuf *large;
    size_t large_used, large_size;
    size_t results;    /* bytes of the large record that precede its payload, all in buffer; 0:
                        * large has the whole record */
    GByteArray *fragments; /* fragments so far of a record that comes in several; else NULL */
};

/* "lock" beside a member: the member is guarded by `lock`. */
struct rpc_connection {
    int refs; /* references; atomic */
    struct loop_watch watch; /* its fd is -1 until a socket connects, then constant; lock */
    struct stream stream;    /* the same socket; constant once the state is RPC_OPEN */
    struct tls_context *tls_context; /* NULL: the connection is not encrypted */
    const struct rpc_events *events;
    void *data;
    char *host, *path; /* copies from the rpc_address */
    unsigned port;
    struct work_item connecting;
    struct loop_task connected, connect_failed;
    struct loop_task read_more; /* reads bytes that OpenSSL may keep, where epoll can't see them */
    struct loop_task check_timeouts; /* posted by the timer that `ticking` stands for */
    bool reading_more;       /* read_more is posted; used on the event loop's thread only */
    struct receiver receiver;

    pthread_mutex_t lock; /* taken before the locks of the event loop, timers and core/work */
    enum { RPC_CONNECTING, RPC_OPEN, RPC_CLOSED } state; /* lock */
    char *reason;                      /* first reason to end the connection, or NULL; lock */
    struct rpc_timeouts timeouts;      /* lock */
    struct rpc_call *slots[RPC_WINDOW]; /* calls that wait for a reply, by slot; lock */
    uint16_t spare[RPC_WINDOW];        /* numbers of the free slots; lock */
    unsigned spares;                   /* number of free slots; lock */
    uint32_t serial;                   /* serial number of the next XID; lock */
    unsigned asked;                    /* number of occupied slots; lock */
    size_t asked_bytes;                /* sum of rpc_call.weight of the calls in slots; lock */
    int64_t asked_since;               /* time when `asked` last rose from 0; lock */
    uint64_t calls;                    /* number of calls that ever got a slot; lock */
    struct call_queue unsent;          /* calls in slots that are still to be written; lock */
    struct call_queue waiting;         /* calls that wait for a slot; lock */
    unsigned n_waiting;                /* length of `waiting`; lock */
    bool sending;                      /* a thread writes to the socket; lock */
    bool blocked;                      /* the socket takes no bytes until EPOLLOUT; lock */
    bool ticking;                      /* a timer or task will check the timeouts; lock */
    int64_t heard;                     /* time of the last received bytes; atomic */
    uint64_t sent, received;           /* bytes; atomic */
};

/* connection.c. connection_new makes a connection without connecting it. connection_close is for
 * the event loop's thread. connection_take and call_take_locked empty a slot and return its call,
 * or NULL if the slot has no call, or one of another XID. calls_unref drops a list; the caller
 * holds no lock. */
struct rpc_connection *connection_new (const struct rpc_address *address,
                                       const struct rpc_timeouts *timeouts,
                                       const struct rpc_events *events, void *data);
void connection_close (struct rpc_connection *c, const char *reason);
struct rpc_call *connection_take (struct rpc_connection *c, uint32_t xid);
struct rpc_call *call_take_locked (struct rpc_connection *c, unsigned slot);
void calls_unref (struct rpc_call *call);
void call_answer_error (struct rpc_call *call, int error);

static inline void
queue_init (struct call_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
}

static inline void
queue_add (struct call_queue *queue, struct rpc_call *call)
{
    call->next = NULL;
    *queue->last = call;
    queue->last = &call->next;
}

static inline struct rpc_call *
queue_take (struct call_queue *queue)
{
    struct rpc_call *call = queue->first;

    if (!call)
        return NULL;
    queue->first = call->next;
    if (!queue->first)
        queue->last = &queue->first;
    return call;
}

/* connect.c */
void connection_connect (struct work_item *work);

/* send.c. connection_admit gives free slots to waiting calls. rpc_flush writes the unsent
 * calls, unless another thread is writing. */
bool call_admit_locked (struct rpc_connection *c, struct rpc_call *call, bool ping, int64_t now);
void connection_admit (struct rpc_connection *c);
void rpc_flush (struct rpc_connection *c);

/* receive.c */
void connection_receive (struct rpc_connection *c);
void receiver_clear (struct receiver *receiver);

/* timeouts.c */
void connection_check_timeouts (struct loop_task *task);
void connection_tick_locked (struct rpc_connection *c);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of a connection share. */
#ifndef WINDLASS_RPC_INTERNAL_H
#define WINDLASS_RPC_INTERNAL_H

#include "core/time/thread.h"
#include "core/work/work.h"
#include "rpc/connection.h"
#include "rpc/loop.h"
#include "rpc/stream.h"

#include <pthread.h>

/* The number of a call: its slot, and a serial number above it. */
#define SLOT_BITS 10
#define SLOT_OF(xid_) ((xid_) & (RPC_WINDOW - 1))
#define SLOT_OF_PING 0 /* the first; kept free for the ping */

_Static_assert (RPC_WINDOW == 1 << SLOT_BITS, "a slot's number fits in SLOT_BITS");

struct call_queue {
    struct rpc_call *first, **last;
};

/* Bytes that came: records, one after the other. Owned by the loop's thread.
 *
 *   buffer:  [ done | begin ... end | free ]     records that fit in it are read in place
 *   large:   the rest of one record that doesn't, after the `before` bytes of it in buffer
 */
struct receiver {
    struct iobuf *buffer;
    size_t begin, end;
    struct iobuf *large;
    size_t large_used, large_size;
    size_t results;    /* bytes of the record in buffer that precede its payload; 0: the record is
                        * whole in large */
    GByteArray *pieces; /* of a record in several fragments */
};

struct rpc_connection {
    int refs; /* atomic */
    struct loop_watch watch; /* fd: -1 until connected; constant from then on; lock */
    struct stream stream;    /* the same socket; constant once the state is RPC_OPEN */
    struct tls_context *tls_context; /* NULL: not encrypted */
    const struct rpc_events *events;
    void *data;
    char *host, *path; /* of the address */
    unsigned port;
    struct work_item resolving;
    struct loop_task begun, failed;
    struct loop_task unread; /* the stream may have more bytes, of which epoll doesn't know */
    struct loop_task look;   /* at the timeouts; posted at most once, by the timer of `ticking` */
    bool reading_on;         /* unread is posted; the loop's thread */
    struct receiver receiver;

    pthread_mutex_t lock; /* a leaf, but for the locks of loop, timers and work */
    enum { RPC_CONNECTING, RPC_OPEN, RPC_CLOSED } state; /* lock */
    char *reason;                      /* why it ends; lock */
    struct rpc_timeouts timeouts;      /* lock */
    struct rpc_call *slots[RPC_WINDOW]; /* calls without an answer; lock */
    uint16_t spare[RPC_WINDOW];        /* free slots; lock */
    unsigned spares;                   /* lock */
    uint32_t serial;                   /* lock */
    unsigned asked;                    /* occupied slots; lock */
    size_t asked_bytes;                /* their weight; lock */
    int64_t asked_since;               /* when asked was last 0; lock */
    uint64_t calls;                    /* that got a slot; lock */
    struct call_queue unsent;          /* calls in slots that a thread must write; lock */
    struct call_queue waiting;         /* calls without a slot; lock */
    unsigned n_waiting;                /* lock */
    bool sending;                      /* a thread writes; lock */
    bool blocked;                      /* the socket is full; lock */
    bool ticking;                      /* a timer looks at the timeouts; lock */
    int64_t heard;                     /* clock_now; atomic */
    uint64_t sent, received;           /* atomic */
};

/* connection.c. connection_new: a connection that isn't begun. */
struct rpc_connection *connection_new (const struct rpc_address *address,
                                       const struct rpc_timeouts *timeouts,
                                       const struct rpc_events *events, void *data);
void connection_close (struct rpc_connection *c, const char *reason); /* the loop's thread */
struct rpc_call *connection_take (struct rpc_connection *c, uint32_t xid); /* empties a slot */
struct rpc_call *call_take_locked (struct rpc_connection *c, unsigned slot);
void calls_unref (struct rpc_call *call); /* a list; without a lock */
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
void connection_resolve (struct work_item *work);

/* send.c */
bool call_admit_locked (struct rpc_connection *c, struct rpc_call *call, bool ping, int64_t now);
void connection_admit (struct rpc_connection *c); /* sends calls that waited for a slot */
void connection_flush (struct rpc_connection *c); /* writes what is unsent, unless a thread does */

/* receive.c */
void connection_receive (struct rpc_connection *c);
void receiver_clear (struct receiver *receiver);

/* timeouts.c */
void connection_check_timeouts (struct loop_task *look);
void connection_tick_locked (struct rpc_connection *c);

#endif

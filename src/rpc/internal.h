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
    size_t results;    /* number of bytes of the large record before its payload; all these bytes
                        * are in `buffer`; 0: the whole record goes to `large` */
    GByteArray *fragments; /* received fragments of a record that comes in several fragments; NULL:
                            * no such record has begun */
};

/* A connection to a server: see rpc/connection.h. */
struct rpc_connection {
    int refs; /* number of references; atomic */
    struct loop_watch watch; /* its fd is -1 until a socket connects, then constant; guarded by
                              * `lock` */
    struct stream stream;    /* stream over the socket of `watch`; constant once the state is
                              * RPC_OPEN */
    struct tls_context *tls_context; /* settings of TLS; NULL: the connection is not encrypted */
    const struct rpc_events *events;
    void *data;
    char *host, *path; /* copies from the rpc_address */
    unsigned port;
    struct work_item connecting;
    struct loop_task connected, connect_failed;
    struct loop_task read_more; /* reads bytes that OpenSSL has received already, about which epoll
                                 * doesn't report */
    struct loop_task check_timeouts; /* checks the timeouts; posted by a timer while `ticking` is
                                      * true */
    bool reading_more;       /* read_more is posted; used on the event loop's thread only */
    struct receiver receiver;

    pthread_mutex_t lock; /* taken before the locks of the event loop, timers and core/work */
    enum { RPC_CONNECTING, RPC_OPEN, RPC_CLOSED } state; /* guarded by `lock` */
    char *reason;                      /* first reason to end the connection, or NULL; guarded by
                                        * `lock` */
    struct rpc_timeouts timeouts;      /* guarded by `lock` */
    struct rpc_call *slots[RPC_WINDOW]; /* calls that wait for a reply, by slot; guarded by
                                         * `lock` */
    uint16_t spare[RPC_WINDOW];        /* numbers of the free slots; guarded by `lock` */
    unsigned spares;                   /* number of free slots; guarded by `lock` */
    uint32_t serial;                   /* serial number of the next XID; guarded by `lock` */
    unsigned asked;                    /* number of slots that a call occupies; guarded by `lock` */
    size_t asked_bytes;                /* sum of rpc_call.weight of the calls in slots; guarded by
                                        * `lock` */
    int64_t asked_since;               /* time (clock_now) when `asked` last became 1, from 0;
                                        * guarded by `lock` */
    uint64_t calls;                    /* number of calls that ever got a slot; guarded by `lock` */
    struct call_queue unsent;          /* calls in slots that are still to be written; guarded by
                                        * `lock` */
    struct call_queue waiting;         /* calls that wait for a slot; guarded by `lock` */
    unsigned n_waiting;                /* length of `waiting`; guarded by `lock` */
    bool sending;                      /* a thread writes to the socket; guarded by `lock` */
    bool blocked;                      /* the socket has no room; writing continues at EPOLLOUT;
                                        * guarded by `lock` */
    bool ticking;                      /* a timer, or a task that it has posted, will check the
                                        * timeouts; guarded by `lock` */
    int64_t heard;                     /* time (clock_now) when bytes were last received; atomic */
    uint64_t sent, received;           /* numbers of bytes sent and received so far; atomic */
};

/* In connection.c. connection_new makes a connection without connecting it. connection_close is
 * called on the event loop's thread only. connection_take takes the call with this XID out of its
 * slot and returns it, or NULL if no such call is in the slot. call_take_locked does the same by
 * the number of the slot. calls_unref drops a reference of each call in a list; its caller must
 * hold no lock. */
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

/* In send.c. connection_admit gives free slots to the calls that wait for one. rpc_flush writes the
 * calls that are in slots and not written yet, unless another thread is writing them. */
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

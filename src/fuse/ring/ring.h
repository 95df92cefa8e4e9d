/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests through io_uring instead of reads of the device. The kernel has a queue for each
 * processor, and hands each request to the one of the processor that its caller runs on. An answer
 * and the wait for the next request are one system call.
 *
 *   ring -> queue 0 -> worker fuse-ring-0, worker fuse-ring-2 -> entry, entry
 *           queue 1 -> worker fuse-ring-1
 *
 * An entry is room for one request and its answer.
 *
 * The kernel gives a request to the thread that submitted the entry, and to none other, whatever
 * that does meanwhile. So a worker has an io_uring of its own and waits with one entry: while it is
 * busy or blocked, requests go to the entries of others, of which one more is started when the last
 * that waited has got something to do. The kernel takes the entry first that was given to it last,
 * so a worker that is quick gets them all.
 *
 * An entry is the queue's, not its worker's: who answers on another thread leaves it to a worker
 * that has none (share.c). Such a worker rests while others wait. What came when nobody waited
 * stays with the kernel: it gives one of those to each answer, and none to an entry that is new. So
 * from then on, until an answer brings nothing, who has none to give has the kernel send a request
 * that asks for nothing (ring_nudge), whose answer brings the next.
 *
 * The library has to take a request apart and to put its answer together as ever: the request is
 * given to it as if it had been read, under a number of ours in place of the kernel's, by which the
 * answer is known in init-flags.c and comes back here.
 *
 * Reasons:
 *
 * - A worker stays on its callers' processor (io-uring-pinned). On an idle machine the caller is
 *   woken on another, idle processor and comes back with the next answer; but a worker elsewhere
 *   answered 3,100 getattr a second beside compilers, in place of 52,000, and SCHED_IDLE starves.
 * - RING_WORKERS_MAX workers go to a queue where so many are blocked at once, and SHARERS_MAX
 *   without those in a request, where more is answered elsewhere at once than workers rest.
 * - A worker that leaves is called no more (ring_leave): an answer left to a worker that is gone
 *   keeps all others, and the daemon, for five seconds.
 * - The poll of a worker's eventfd is asked for again when the kernel ends it, as it does for a
 *   completion without room: otherwise its worker is never called again.
 * - An io_uring has room for SUBMISSIONS submissions, which is 8 KB of RLIMIT_MEMLOCK; root's
 *   daemon keeps CAP_IPC_LOCK, which frees it.
 * - nudge.c asks the kernel for a request about a file with FUSE_NOTIFY_RETRIEVE, which no thread
 *   waits for. Linux takes it of a file only (EINVAL for the root). A statfs of the mount would do,
 *   but the thread that asks it keeps a killed daemon alive: its memory, that the io_uring, and
 *   that the device.
 * - The kernel takes no entry back before the mount ends. So a worker that waited two to four
 *   seconds gives back the memory of its entries, but 64 KiB each, and its thread's buffers.
 */
#ifndef WINDLASS_FUSE_RING_RING_H
#define WINDLASS_FUSE_RING_RING_H

#include "fuse/internal.h"
#include "fuse/ring/uring.h"

/* Before the bytes of a request that aren't of fixed size: its header in two parts. */
#define ENTRY_HEADERS 4096
#define ENTRY_SIZE (ENTRY_HEADERS + MAX_PAYLOAD)

struct ring_entry {
    struct ring_queue *queue;
    struct ring_worker *lender; /* that took the request; of who handles it */
    struct ring_entry *next;    /* that is answered; queue->lock */
    unsigned number;            /* in the queue */
    struct ring_header *header; /* the kernel's: it writes a request there, we an answer */
    char *payload;              /* MAX_PAYLOAD bytes, the kernel's as well; ENTRY_HEADERS before
                                   them are the library's */
    struct iovec where[2];      /* those two */
    uint64_t unique;            /* the kernel's number of the request; of who handles it */
    uint64_t open;              /* our number of it, until it is answered, then 0; atomic: whoever
                                   takes it answers */
    uint64_t commit_id;         /* the same */
    enum ring_command command;  /* the last that was put in; the worker's */
    struct ring_worker *giver;  /* gave it to the kernel and has had nothing by it since; atomic */
    bool touched;               /* much of the payload is in memory; of who handles it */
};

struct ring_worker {
    struct reader reader; /* the thread; first */
    struct ring_queue *queue;
    struct uring uring;   /* the worker's own */
    struct ring_entry *at;   /* whose request it is at; its own */
    struct ring_entry *mine; /* that one, when it is answered, until it is given to the kernel;
                                atomic */
    bool busy;            /* with a request; atomic */
    uint64_t goes_on;     /* ticks_now of when it began what isn't that request's, with the answer
                             still here; 0; atomic */
    unsigned idle;        /* entries that the kernel has; the worker's own */
    bool untidy;          /* it, or an entry that it gave to the kernel, holds much memory; the
                             same */
    bool over;            /* it has given them back; the same */
    int wake;             /* an eventfd */
    bool rests;           /* queue->lock: among queue->resting */
    struct ring_worker *next; /* the same */
};

#define RING_WORKERS_MAX 64 /* of a queue */

struct ring_queue {
    struct ring *ring;
    unsigned number;  /* of the processor */
    unsigned waiting; /* workers that wait for a request; atomic */
    unsigned in_use;  /* entries with a request, until a worker gives the answer to the kernel;
                         atomic */
    uint64_t late_until; /* ticks_now until which answers don't wait for what their threads do
                            afterwards; atomic */
    unsigned registered; /* entries since the first; atomic */
    unsigned drained; /* how many those were when the kernel had no request but those it gave out;
                         atomic */
    bool crowded;     /* no more workers may be added for what is answered: one takes all; atomic */
    pthread_mutex_t lock; /* a leaf */
    struct ring_entry *answered;  /* lock: elsewhere, and no worker has taken it yet */
    struct ring_worker *resting;  /* lock: without an entry */
    unsigned n_workers; /* bridge->lock */
    struct ring_worker *workers[RING_WORKERS_MAX]; /* the same */
    unsigned n_entries; /* atomic, changed under bridge->lock */
    struct ring_entry **entries; /* ring->depth at most */
};

enum ring_go { RING_WAITS, RING_GOES, RING_DOESNT };

struct ring {
    struct bridge *bridge;
    unsigned n_queues, depth, most_workers;
    bool pinned;
    bool used;          /* the kernel sends requests here; atomic */
    bool gone;          /* the mount is; atomic */
    bool looking;       /* a timer looks for answers that wait; atomic */
    bool broken;        /* it was said that it doesn't take an entry; atomic */
    enum ring_go go;    /* bridge->lock; announced by bridge->changed */
    unsigned n_workers; /* bridge->lock: of all queues */
    uint64_t nudges;    /* ever; atomic */
    uint64_t file;      /* the number of one that the kernel knew last time, or 0; atomic */
    struct ring_queue *queues;
};

/* Which request of the library is one of ours, and where it is. */
#define RING_REQUEST (1ULL << 63)
#define RING_QUEUE_SHIFT 50
#define RING_ENTRY_SHIFT 38
#define RING_QUEUES_MAX (1U << (63 - RING_QUEUE_SHIFT))
#define RING_ENTRIES_MAX (1U << (RING_QUEUE_SHIFT - RING_ENTRY_SHIFT))

/* --- ring.c --- */

/* Under bridge->lock. A worker that doesn't run yet; NULL and a negative errno. */
struct ring_worker *ring_worker_new (struct ring_queue *queue, int *ret_error);
void ring_worker_free (struct ring_worker *worker);
/* One more entry; NULL where there is no room. */
struct ring_entry *ring_entry_new (struct ring_queue *queue);

/* --- workers.c --- */

/* One more worker for the queue, unless it has `most`; whether there is. Under bridge->lock, of any
 * thread. */
bool ring_worker_add_locked (struct ring_queue *queue, unsigned most);

/* --- share.c: which worker gives an answered entry to the kernel --- */

/* Of the worker that this thread is; NULL. */
extern __thread struct ring_worker *ring_self;

/* Has the entry given to the kernel, with its answer. Any thread. */
void ring_give (struct ring_entry *entry);
/* What this worker answered itself at its request, which it is done with. NULL: nothing, or that
 * was left to another since. */
struct ring_entry *ring_take_mine (struct ring_worker *worker);
/* What the worker, which has none or may have more than one, is to give to the kernel; linked.
 * NULL: nothing, and with *ret_rests not even a new one, since others wait; then it is called when
 * it is needed. */
struct ring_entry *ring_take_answered (struct ring_worker *worker, bool *ret_rests);
/* There is no room for a new entry. */
void ring_rest (struct ring_worker *worker);
/* The mount ends: whether the worker may, too. Not while somebody waits for an answer, which takes
 * a worker to give it to the kernel; and from then on nobody calls it for that. */
bool ring_leave (struct ring_worker *worker);
/* No worker waits for the queue's next request. Whether one will. */
bool ring_call (struct ring_queue *queue);

/* --- nudge.c --- */

/* Has the kernel put a request into this processor's queue that asks for nothing. An entry that is
 * new waits there. */
void ring_nudge (struct ring_queue *queue);
bool ring_is_nudge (const struct ring_entry *entry);

/* --- entries.c: what goes through it --- */

/* The kernel has put a request into entry: this worker handles it. */
void ring_handle (struct ring_worker *worker, struct ring_entry *entry);
/* This worker has waited in vain for a while: its memory, and that of its entries, goes back to the
 * system. */
void ring_trim (struct ring_worker *worker);

#endif

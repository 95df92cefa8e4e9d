/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests through io_uring instead of reads of the device. The kernel has a queue for each processor, and hands each request to
 * the one of the processor that its caller runs on. An answer and the wait for the next request are one system call.
 *
 *   ring -> queue 0 -> worker fuse-ring-0, worker fuse-ring-2 -> entry, entry     an entry is room for one request and its answer
 *           queue 1 -> worker fuse-ring-1
 *
 * The kernel gives a request to the thread that submitted the entry, and to none other, whatever that does meanwhile. So a worker
 * has an io_uring of its own and waits with one entry: while it is busy or blocked, requests go to the entries of others, of which
 * one more is started when the last that waited has got something to do. The kernel takes the entry first that was given to it
 * last, so a worker that is quick gets them all. Who answers on another thread hands the entry to its worker; until then that waits
 * with another one.
 *
 * The library has to take a request apart and to put its answer together as ever: the request is given to it as if it had been
 * read, under a number of ours in place of the kernel's, by which the answer is known in init-flags.c and comes back here.
 */
#ifndef WINDLASS_FUSE_RING_H
#define WINDLASS_FUSE_RING_H

#include "fuse/internal.h"
#include "fuse/uring.h"

/* Before the bytes of a request that aren't of fixed size: its header in two parts. */
#define ENTRY_HEADERS 4096
#define ENTRY_SIZE (ENTRY_HEADERS + MAX_PAYLOAD)

struct ring_entry {
    struct ring_worker *worker;
    struct ring_entry *next;    /* that is handed over; worker->lock */
    unsigned number;            /* in the queue */
    struct ring_header *header; /* the kernel's: it writes a request there, we an answer */
    char *payload;              /* MAX_PAYLOAD bytes, the kernel's as well; ENTRY_HEADERS before them are the library's */
    struct iovec where[2];      /* those two */
    uint64_t unique;            /* the kernel's number of the request; of who handles it */
    uint64_t commit_id;         /* the same */
    enum ring_command command;  /* the last that was put in; the worker's */
    unsigned small;             /* requests in a row that didn't touch most of the payload; of who handles it */
    bool touched;               /* one did */
};

struct ring_worker {
    struct reader reader; /* the thread; first */
    struct ring_queue *queue;
    struct uring uring;   /* the worker's own */
    unsigned idle;        /* entries that the kernel has; the worker's own */
    bool over;            /* it has given them back; the same */
    int wake;             /* an eventfd */
    pthread_mutex_t lock; /* a leaf */
    struct ring_entry *handed; /* lock: answered elsewhere, and not given to the kernel yet */
    bool waits;           /* lock: it has to be woken */
};

#define RING_WORKERS_MAX 64

struct ring_queue {
    struct ring *ring;
    unsigned number;  /* of the processor */
    unsigned waiting; /* workers that wait for a request; atomic */
    unsigned in_use;  /* entries with a request that isn't answered; atomic */
    bool full;        /* there are as many workers as there may be; atomic */
    unsigned n_workers; /* bridge->lock */
    struct ring_worker *workers[RING_WORKERS_MAX]; /* the same */
    unsigned n_entries; /* atomic, changed under bridge->lock */
    struct ring_entry **entries; /* ring->depth at most */
};

enum ring_go { RING_WAITS, RING_GOES, RING_DOESNT };

struct ring {
    struct bridge *bridge;
    unsigned n_queues, depth, limit; /* limit: of the workers of a queue */
    bool pinned;
    bool used;          /* the kernel sends requests here; atomic */
    bool broken;        /* it was said that it doesn't take an entry; atomic */
    enum ring_go go;    /* bridge->lock; announced by bridge->changed */
    unsigned n_workers; /* bridge->lock: of all queues */
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
struct ring_entry *ring_entry_new (struct ring_worker *worker);

/* --- ring-threads.c --- */

/* Gives the entry to the kernel, with its answer. Any thread. */
void ring_give (struct ring_entry *entry);

/* --- ring-requests.c: what goes through it --- */

/* The kernel has put a request into entry: it is handled. */
void ring_handle (struct ring_entry *entry);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests through io_uring instead of reads of the device. The kernel has a queue for each
 * processor, and puts a request into the queue of the processor on which the caller runs. An answer
 * and the wait for the next request are one system call.
 *
 *   ring -> queue 0 -> worker fuse-ring-0, worker fuse-ring-2 -> entry, entry
 *           queue 1 -> worker fuse-ring-1
 *
 * An entry is room for one request and its answer.
 *
 * The kernel delivers a request only to the thread that submitted the entry, whatever that thread
 * does meanwhile. A worker therefore has its own io_uring and waits with one entry. While it is
 * busy or blocked, requests go to entries of other workers. When the last waiting worker gets a
 * request, another worker is woken or started. The kernel uses the entry first that was given to it
 * last, so a quick worker gets all requests.
 *
 * An entry belongs to the queue, not to its worker. A request that is answered on another thread
 * leaves its entry to a worker without one (share.c). Such a worker rests while others wait.
 * Requests that come while no worker waits stay in the kernel: it adds one of them to each answer,
 * and none to a new entry. After a new entry was registered, and until an answer brings no request,
 * a worker without an answer therefore makes the kernel send an empty request (ring_nudge), whose
 * answer brings the next one.
 *
 * libfuse parses requests and builds answers as always: a request is passed to it as if read from
 * the device, with a number of the ring in place of the kernel's. init-flags.c recognises the
 * answer by that number and returns it to the ring.
 *
 * Reasons:
 *
 * - A worker stays on its callers' processor (io-uring-pinned). On an idle machine the caller is
 *   woken on another, idle processor and comes back with the next answer. But a worker elsewhere
 *   answered 3,100 getattr a second beside compilers, in place of 52,000, and SCHED_IDLE starves.
 * - A queue has up to RING_WORKERS_MAX workers while so many are blocked at once. Besides those in
 *   a request it has up to SHARERS_MAX, if more requests are answered on other threads at once than
 *   workers rest.
 * - A worker that leaves is not called any more (ring_leave): an answer left to a worker that is
 *   gone would delay all others, and the daemon, for five seconds.
 * - The poll of a worker's eventfd is submitted again when the kernel ends it, as the kernel does
 *   for a completion without room: otherwise the worker could not be called again.
 * - An io_uring has room for SUBMISSIONS submissions, which is 8 KB of RLIMIT_MEMLOCK; root's
 *   daemon keeps CAP_IPC_LOCK, which lifts the limit.
 * - nudge.c asks the kernel for a request about a file with FUSE_NOTIFY_RETRIEVE, which no thread
 *   waits for. Linux accepts only files for it (EINVAL for the root). A statfs of the mount would
 *   also do, but the thread that calls it keeps a killed daemon alive: the thread keeps the memory,
 *   the memory the io_uring, and the io_uring the device.
 * - The kernel takes no entry back before the mount ends: it cancels an entry only with the
 *   io_uring or the thread, and does not free its own record of the entry. A request that it was
 *   about to deliver to that thread is lost with the thread, and the caller of the request waits
 *   for ever. So an idle worker does not end. A worker that waited two to four seconds returns the
 *   memory of its entries, except 64 KiB each, and its thread's buffers.
 */
#ifndef WINDLASS_FUSE_RING_RING_H
#define WINDLASS_FUSE_RING_RING_H

#include "core/time/timer.h"
#include "fuse/ring/uring.h"
#include "fuse/threads/threads.h"

#include <sys/uio.h>

/* Space before the variable-size part of a request: its header in two parts. */
#define ENTRY_HEADERS 4096
#define ENTRY_SIZE (ENTRY_HEADERS + MAX_PAYLOAD)

struct ring_entry {
    struct ring_queue *queue;
    struct ring_worker *lender; /* the worker that took the request; used by the thread that handles
                                 * it */
    struct ring_entry *next;    /* next answered entry; queue->lock */
    unsigned number;            /* index in the queue */
    struct ring_header *header; /* shared with the kernel, which writes a request there; the bridge
                                 * writes an answer */
    char *payload;              /* MAX_PAYLOAD bytes, shared with the kernel; the ENTRY_HEADERS
                                 * bytes before them are for libfuse */
    struct iovec where[2];      /* header and payload */
    uint64_t unique;            /* the kernel's number of the request; used by the thread that
                                 * handles it */
    uint64_t open;              /* the ring's number of the request, 0 once it is answered; atomic:
                                 * the thread that clears it answers */
    uint64_t commit_id;         /* the kernel's id for the answer; used by the thread that handles
                                 * the request */
    enum ring_command command;  /* the last command submitted; the worker's */
    struct ring_worker *giver;  /* the worker that submitted the entry and has no completion of it
                                 * yet; atomic */
    bool touched;               /* much of the payload is in memory; used by the thread that handles
                                 * the request */
};

struct ring_worker {
    struct request_thread thread; /* first */
    struct ring_queue *queue;
    struct uring uring;   /* used only by the worker */
    struct ring_entry *at;   /* the entry whose request it handles; used only by the worker */
    struct ring_entry *mine; /* that entry once it is answered, until it is given to the kernel;
                              * atomic */
    bool busy;            /* the worker handles a request; atomic */
    uint64_t goes_on;     /* ticks_now when the worker began other work before its answer was given
                           * to the kernel; 0: it has no such work; atomic */
    unsigned idle;        /* entries submitted to the kernel; used only by the worker */
    bool untidy;          /* the worker, or an entry that it submitted, holds much memory; used only
                           * by the worker */
    bool over;            /* the kernel has returned the entries; used only by the worker */
    int wake;             /* an eventfd that wakes it */
    bool rests;           /* queue->lock: the worker is in queue->resting */
    struct ring_worker *next; /* queue->lock: next in queue->resting */
};

#define RING_WORKERS_MAX 64 /* for a queue */

struct ring_queue {
    struct fuse_ring *ring;
    unsigned number;  /* of the processor */
    unsigned waiting; /* workers that wait for a request; atomic */
    unsigned in_use;  /* entries with a request, until a worker gives the answer to the kernel;
                       * atomic */
    uint64_t late_until; /* until this ticks_now, answers don't wait for the further work of their
                          * threads; atomic */
    unsigned registered; /* entries registered after the first; atomic */
    unsigned drained; /* value of registered when the kernel was last known to hold no request;
                       * atomic */
    bool crowded;     /* no more workers may be added for answered entries, so one worker takes all
                       * of them; atomic */
    pthread_mutex_t lock; /* a leaf */
    struct ring_entry *answered;  /* lock: entries that other threads answered and no worker has
                                   * taken yet */
    struct ring_worker *resting;  /* lock: workers without an entry */
    unsigned n_workers; /* bridge->lock */
    struct ring_worker *workers[RING_WORKERS_MAX]; /* bridge->lock */
    unsigned n_entries; /* atomic, changed under bridge->lock */
    struct ring_entry **entries; /* at most ring->depth */
};

enum ring_go { RING_WAITS, RING_GOES, RING_DOESNT };

struct fuse_ring {
    struct bridge *bridge;
    unsigned n_queues, depth, most_workers;
    bool pinned;
    bool (*run) (struct request_thread *thread); /* what a worker does: ring_run */
    bool looking;       /* a timer checks for answers that wait; atomic */
    bool watching;      /* a timer looks at the callers of old requests; atomic */
    core_timer_t *watch; /* that timer until it is due, or NULL; bridge->lock */
    int64_t looked;     /* clock_now of its last look; used by the timer */
    uint64_t dying[64]; /* inodes: for each hash, the last one whose caller was dying; atomic */
    bool broken;        /* a refusal of entries by the kernel was logged; atomic */
    enum ring_go go;    /* bridge->lock; changes are signalled by bridge->changed */
    unsigned n_workers; /* bridge->lock: of all queues */
    uint64_t nudges;    /* nudges ever sent; atomic */
    uint64_t file;      /* number of a file that the kernel knew last time, or 0; atomic */
    struct ring_queue *queues;
};

/* The number under which libfuse knows a request of the ring; the number tells queue and entry. */
#define RING_REQUEST (1ULL << 63)
#define RING_QUEUE_SHIFT 50
#define RING_ENTRY_SHIFT 38
#define RING_QUEUES_MAX (1U << (63 - RING_QUEUE_SHIFT))
#define RING_ENTRIES_MAX (1U << (RING_QUEUE_SHIFT - RING_ENTRY_SHIFT))

/* --- queues.c --- */

/* Returns a worker that isn't started yet; NULL and a negative errno in *ret_error on failure.
 * Under bridge->lock. */
struct ring_worker *ring_worker_new (struct ring_queue *queue, int *ret_error);
void ring_worker_free (struct ring_worker *worker);
/* Starts a worker's thread. 0, or a negative errno. Under bridge->lock. */
int ring_worker_start_locked (struct ring_worker *worker);
/* Adds a worker to the queue, unless it has `most`. Returns whether it did. Under bridge->lock, on
 * any thread. */
bool ring_worker_add_locked (struct ring_queue *queue, unsigned most);
/* Adds an entry; NULL if there is no room. */
struct ring_entry *ring_entry_new (struct ring_queue *queue);
void ring_queue_free (struct ring_queue *queue);

/* --- workers.c --- */

/* The main function of a worker's thread. */
bool ring_run (struct request_thread *thread);

/* --- share.c: the worker that gives an answered entry to the kernel --- */

/* The worker that runs on this thread, or NULL. */
extern __thread struct ring_worker *ring_self;

/* Has the worker return from its wait for a request. */
void ring_worker_wake (struct ring_worker *worker);
/* Gives the entry with its answer to the kernel, through a worker. Any thread. */
void ring_give (struct ring_entry *entry);
/* Returns the entry whose request this worker handled and answered itself. NULL: there is none, or
 * it was left to another worker since. */
struct ring_entry *ring_take_mine (struct ring_worker *worker);
/* Returns answered entries, linked, for a worker that has none or may have several to give to the
 * kernel. NULL: there is none. *ret_rests: the worker needs no new entry either, since others wait;
 * it is called when it is needed. */
struct ring_entry *ring_take_answered (struct ring_worker *worker, bool *ret_rests);
/* Makes the worker rest, since there is no room for a new entry. */
void ring_rest (struct ring_worker *worker);
/* Returns whether the worker may end with the mount. A worker may not end while callers wait for
 * answers, which a worker must give to the kernel. After true, no thread calls the worker any
 * more. */
bool ring_leave (struct ring_worker *worker);
/* Called if no worker waits for the queue's next request. Returns whether one will. */
bool ring_call (struct ring_queue *queue);

/* --- nudge.c --- */

/* Makes the kernel put an empty request into this processor's queue. A new entry must wait
 * there. */
void ring_nudge (struct ring_queue *queue);
bool ring_is_nudge (const struct ring_entry *entry);

/* --- watch.c: callers whose signals the kernel doesn't report --- */

/* Has a timer look at the callers of requests until none is in use. Called after a request was
 * counted as in use. */
void ring_watch (struct fuse_ring *ring);
/* No request is looked at any more; under bridge->lock. */
void ring_unwatch_locked (struct bridge *bridge);

/* --- entries.c: requests and answers --- */

/* transport.answer and transport.interrupt */
ssize_t ring_answer (struct bridge *bridge, int fd, const struct iovec *iov, int count);
void ring_interrupt (struct bridge *bridge, void *message, size_t size);
/* Handles a request that the kernel has put into entry, on the worker's thread. */
void ring_handle (struct ring_worker *worker, struct ring_entry *entry);
/* Returns memory of the worker and of its entries to the system; called after the worker waited in
 * vain for a while. */
void ring_trim (struct ring_worker *worker);

#endif

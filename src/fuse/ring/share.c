/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Chooses the worker that gives an answered entry to the kernel. A worker that answers the request
 * that it is handling gives the entry itself, together with its wait for the next request. An entry
 * answered on another thread goes to a worker without an entry, preferably the one that took the
 * request, or else to a new worker. Each worker thus has one entry at most, and a worker that hangs
 * holds no entry to which a request could come. If more entries are answered on other threads at a
 * time than there may be workers, one worker has several, and leaves work that may block to
 * core/work.
 *
 * Always leaving the answer to another worker would cost writes of 4 KiB to a fast directory a
 * quarter: 48,000 a second on one processor in place of 65,000.
 */
#include "fuse/ring/ring.h"

#include "fuse/state.h"

#include <unistd.h>

#define SHARERS_MAX 32 /* workers of a queue besides those that handle a request */

__thread struct ring_worker *ring_self;

/* --- resting workers -------------------------------------------------------------------------- */

static void
ring_rest_locked (struct ring_worker *worker)
{
    struct ring_queue *queue = worker->queue;

    worker->rests = true;
    worker->next = queue->resting;
    queue->resting = worker;
}

/* Takes `first`, or another resting worker; NULL if there is none. */
static struct ring_worker *
resting_locked (struct ring_queue *queue, struct ring_worker *first)
{
    struct ring_worker **at = &queue->resting;
    struct ring_worker *worker;

    while (first && first->rests && *at != first)
        at = &(*at)->next;
    worker = *at;
    if (!worker)
        return NULL;
    *at = worker->next;
    worker->rests = false;
    return worker;
}

void
ring_worker_wake (struct ring_worker *worker)
{
    const uint64_t one = 1;

    if (write (worker->wake, &one, sizeof one) < 0)
        gf_log (&worker->thread.bridge->xlator, GF_LOG_WARNING,
                "can't wake a thread for requests of processor %u: %s", worker->queue->number,
                g_strerror (errno));
}

void
ring_rest (struct ring_worker *worker)
{
    pthread_mutex_lock (&worker->queue->lock);
    ring_rest_locked (worker);
    pthread_mutex_unlock (&worker->queue->lock);
}

bool
ring_leave (struct ring_worker *worker)
{
    struct ring_queue *queue = worker->queue;
    bool leaves;

    pthread_mutex_lock (&queue->lock);
    leaves = __atomic_load_n (&queue->in_use, __ATOMIC_ACQUIRE) == 0;
    if (leaves && worker->rests)
        (void) resting_locked (queue, worker);
    pthread_mutex_unlock (&queue->lock);
    return leaves;
}

/* A worker that is about to wait checks under the lock whether another one waits, and rests if so:
 * either it is found here, or it sees that none waits. */
bool
ring_call (struct ring_queue *queue)
{
    struct bridge *bridge = queue->ring->bridge;
    struct ring_worker *worker;
    bool added;

    pthread_mutex_lock (&queue->lock);
    worker = resting_locked (queue, NULL);
    pthread_mutex_unlock (&queue->lock);
    if (worker) {
        ring_worker_wake (worker);
        return true;
    }
    pthread_mutex_lock (&bridge->lock);
    added = ring_worker_add_locked (queue, RING_WORKERS_MAX);
    pthread_mutex_unlock (&bridge->lock);
    return added;
}

/* --- entries answered on other threads -------------------------------------------------------- */

/* Returns a worker that handles no request, or else `otherwise`, the one that took the request. */
static struct ring_worker *
least_busy_locked (struct ring_queue *queue, struct ring_worker *otherwise, unsigned *ret_busy)
{
    struct ring_worker *found = NULL;

    *ret_busy = 0;
    for (unsigned i = 0; i < queue->n_workers; i++)
        if (__atomic_load_n (&queue->workers[i]->busy, __ATOMIC_RELAXED))
            ++*ret_busy;
        else if (!found)
            found = queue->workers[i];
    return found ? found : otherwise;
}

/* Adds a worker, since each has an entry. */
static void
share_with_new_locked (struct ring_queue *queue, struct ring_worker *lender)
{
    unsigned busy; /* each of them may hang */
    struct ring_worker *const least_busy = least_busy_locked (queue, lender, &busy);

    if (ring_worker_add_locked (queue, SHARERS_MAX + busy))
        return;
    __atomic_store_n (&queue->crowded, true, __ATOMIC_SEQ_CST);
    ring_worker_wake (least_busy);
}

/* Returns whether a resting worker takes the entry. */
static bool
share_with_resting (struct ring_entry *entry)
{
    struct ring_queue *queue = entry->queue;
    struct ring_worker *worker;

    pthread_mutex_lock (&queue->lock);
    entry->next = queue->answered;
    queue->answered = entry; /* another worker may take it at once */
    worker = resting_locked (queue, entry->lender);
    pthread_mutex_unlock (&queue->lock);
    if (worker)
        ring_worker_wake (worker);
    return worker;
}

static void
share (struct ring_entry *entry)
{
    struct ring_queue *queue = entry->queue;
    struct bridge *bridge = queue->ring->bridge;
    struct ring_worker *lender = entry->lender;

    if (share_with_resting (entry))
        return;
    pthread_mutex_lock (&bridge->lock);
    share_with_new_locked (queue, lender);
    pthread_mutex_unlock (&bridge->lock);
}

/* --- answers given before the thread is done -------------------------------------------------- */

static struct ring_entry *
steal_mine (struct ring_worker *worker)
{
    return __atomic_exchange_n (&worker->mine, NULL, __ATOMIC_ACQ_REL);
}

/* An answer waits for the further work of its thread, since that is mostly quick, and leaving the
 * answer to another worker costs more. After such work took LATE, no answer of the queue waits, for
 * sixteen times as long. A timer takes away an answer that has waited for LOOK; it runs only while
 * there may be one. */
#define LATE INT64_C (50000)  /* nanoseconds */
#define LOOK INT64_C (1000000) /* nanoseconds */
#define LATE_FOR 16
#define LATE_MOST INT64_C (2000000000) /* nanoseconds */

static void ring_share_look (void *data);

static void
ring_look (struct fuse_ring *ring)
{
    if (__atomic_load_n (&ring->looking, __ATOMIC_SEQ_CST)
        || __atomic_exchange_n (&ring->looking, true, __ATOMIC_SEQ_CST))
        return;
    bridge_timer_begins (ring->bridge);
    timer_after (LOOK, ring_share_look, ring);
}

static void
late_since (struct ring_worker *worker, uint64_t begin, uint64_t now)
{
    const uint64_t took = ticks_between (begin, now);

    if (took >= ticks_of_ns (LATE))
        __atomic_store_n (&worker->queue->late_until,
                          now + MIN (took * LATE_FOR, ticks_of_ns (LATE_MOST)), __ATOMIC_RELAXED);
}

/* Returns whether an answer of this worker waits. */
static bool
ring_share_look_at (struct ring_worker *worker)
{
    const uint64_t since = __atomic_load_n (&worker->goes_on, __ATOMIC_RELAXED), now = ticks_now ();
    struct ring_entry *entry;

    if (!since || ticks_between (since, now) < ticks_of_ns (LOOK))
        return since;
    entry = steal_mine (worker);
    late_since (worker, since, now);
    if (entry)
        share (entry);
    return false;
}

static void
ring_share_look (void *data)
{
    struct fuse_ring *ring = data;
    struct bridge *bridge = ring->bridge;
    bool any = false;

    __atomic_store_n (&ring->looking, false, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < ring->n_queues; i++)
        for (unsigned j = 0; j < __atomic_load_n (&ring->queues[i].n_workers, __ATOMIC_ACQUIRE);
             j++)
            any |= ring_share_look_at (ring->queues[i].workers[j]);
    if (any)
        ring_look (ring);
    bridge_timer_ends (bridge);
}

/* Called when this thread begins other work after it has answered its request. */
static void
ring_goes_on (void)
{
    struct ring_worker *self = ring_self;
    const uint64_t now = ticks_now ();
    struct ring_entry *entry = NULL;

    thread_before_other = NULL;
    if (now < __atomic_load_n (&self->queue->late_until, __ATOMIC_RELAXED))
        entry = steal_mine (self);
    else
        __atomic_store_n (&self->goes_on, now, __ATOMIC_SEQ_CST);
    if (entry)
        share (entry);
    else
        ring_look (self->queue->ring);
}

struct ring_entry *
ring_take_mine (struct ring_worker *worker)
{
    const uint64_t since = __atomic_load_n (&worker->goes_on, __ATOMIC_RELAXED);

    thread_before_other = NULL;
    worker->at = NULL;
    if (G_UNLIKELY (since)) {
        __atomic_store_n (&worker->goes_on, 0, __ATOMIC_RELAXED);
        late_since (worker, since, ticks_now ());
    }
    return __atomic_load_n (&worker->mine, __ATOMIC_RELAXED) ? steal_mine (worker) : NULL;
}

void
ring_give (struct ring_entry *entry)
{
    struct ring_worker *self = ring_self;

    if (!self || self->at != entry) {
        share (entry);
        return;
    }
    __atomic_store_n (&self->mine, entry, __ATOMIC_RELEASE);
    thread_before_other = ring_goes_on;
}

struct ring_entry *
ring_take_answered (struct ring_worker *worker, bool *ret_rests)
{
    struct ring_queue *queue = worker->queue;
    const bool all = __atomic_load_n (&queue->crowded, __ATOMIC_SEQ_CST);
    struct ring_entry *entry;

    pthread_mutex_lock (&queue->lock);
    if (worker->rests) /* ring_signal_locked woke it */
        (void) resting_locked (queue, worker);
    entry = queue->answered;
    queue->answered = entry && !all ? g_steal_pointer (&entry->next) : NULL;
    if (all)
        __atomic_store_n (&queue->crowded, false, __ATOMIC_SEQ_CST);
    *ret_rests = !entry && worker->idle == 0
              && __atomic_load_n (&queue->waiting, __ATOMIC_SEQ_CST) > 0;
    if (*ret_rests)
        ring_rest_locked (worker);
    pthread_mutex_unlock (&queue->lock);
    return entry;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The workers of a ring: what each does, and when there are more. */
#include "fuse/ring.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* --- they begin with the answer to INIT, and go when the kernel has taken it --- */

static void
set_go (struct bridge *bridge, enum ring_go go)
{
    pthread_mutex_lock (&bridge->lock);
    bridge->ring->go = go;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

static int
worker_start_locked (struct ring_worker *worker)
{
    struct ring *ring = worker->queue->ring;
    char name[32]; /* the system takes 15 of them */
    int r;

    snprintf (name, sizeof name, "fuse-ring-%u", ring->n_workers);
    r = loop_start_locked (&worker->reader, name);
    if (r == 0)
        ring->n_workers++;
    return r;
}

bool
ring_start (struct bridge *bridge)
{
    struct ring *ring = bridge->ring;
    int r = 0;

    pthread_mutex_lock (&bridge->lock);
    for (unsigned i = 0; r == 0 && i < ring->n_queues; i++)
        r = worker_start_locked (ring->queues[i].workers[0]);
    pthread_mutex_unlock (&bridge->lock);
    if (r == 0)
        return true;
    gf_log (&bridge->xlator, GF_LOG_WARNING, "no io_uring: can't start a thread for each of %u processors: %s", ring->n_queues, g_strerror (-r));
    ring_refuse (bridge, "there are too few threads");
    return false;
}

void
ring_go (struct bridge *bridge)
{
    slow_forget (bridge);
    __atomic_store_n (&bridge->ring->used, true, __ATOMIC_RELEASE);
    set_go (bridge, RING_GOES);
}

void
ring_refuse (struct bridge *bridge, const char *why)
{
    bridge->no_ring = why;
    set_go (bridge, RING_DOESNT);
}

static bool
wait_to_go (struct ring *ring)
{
    struct bridge *bridge = ring->bridge;
    bool goes;

    pthread_mutex_lock (&bridge->lock);
    while (ring->go == RING_WAITS && !__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE))
        pthread_cond_wait (&bridge->changed, &bridge->lock);
    goes = ring->go == RING_GOES;
    pthread_mutex_unlock (&bridge->lock);
    return goes;
}

/* --- more of them --- */

static int
worker_add_locked (struct ring_queue *queue)
{
    struct ring_worker *worker;
    int r = 0;

    if (queue->n_workers == queue->ring->limit)
        return -ENOSPC;
    worker = ring_worker_new (queue, &r);
    if (!worker)
        return r;
    r = worker_start_locked (worker);
    if (r < 0)
        ring_worker_free (worker);
    else
        queue->workers[queue->n_workers++] = worker;
    return r;
}

/* Nobody waits for the queue's next request. What comes meanwhile waits in the kernel until some answer of this queue is given to it. */
static void
worker_add (struct ring_queue *queue)
{
    struct bridge *bridge = queue->ring->bridge;
    int r;

    pthread_mutex_lock (&bridge->lock);
    r = worker_add_locked (queue);
    if (r < 0 || queue->n_workers == queue->ring->limit)
        __atomic_store_n (&queue->full, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&bridge->lock);
    if (r < 0 && r != -ENOSPC && r != -ESHUTDOWN)
        gf_log (&bridge->xlator, GF_LOG_WARNING, "no more than %u threads for requests of processor %u: %s", queue->n_workers, queue->number,
                g_strerror (-r));
}

/* --- what a worker gives to the kernel --- */

static __thread struct ring_worker *self;

static void
worker_put (struct ring_entry *entry, enum ring_command command)
{
    struct ring_worker *worker = entry->worker;
    const struct ring_submission submission = { .queue = (uint16_t) worker->queue->number,
                                                .commit_id = command == RING_REGISTER ? 0 : entry->commit_id };

    entry->command = command;
    if (uring_is_full (&worker->uring))
        (void) uring_submit (&worker->uring);
    uring_put (&worker->uring, command, &submission, command == RING_REGISTER ? entry->where : NULL, entry);
    worker->idle++;
}

/* The worker itself submits along with its wait for the next request. */
void
ring_give (struct ring_entry *entry)
{
    struct ring_worker *worker = entry->worker;
    const uint64_t one = 1;
    bool wake;

    if (worker == self) {
        worker_put (entry, RING_COMMIT_AND_FETCH);
        return;
    }
    pthread_mutex_lock (&worker->lock);
    entry->next = worker->handed;
    worker->handed = entry;
    wake = worker->waits;
    worker->waits = false;
    pthread_mutex_unlock (&worker->lock);
    if (wake && write (worker->wake, &one, sizeof one) < 0)
        gf_log (&worker->reader.bridge->xlator, GF_LOG_WARNING, "can't hand over an answer: %s", g_strerror (errno));
}

/* What others have answered. From then on, or from the next, the worker has to be woken. */
static void
take_handed (struct ring_worker *worker, bool will_wait)
{
    struct ring_entry *entry, *next;

    pthread_mutex_lock (&worker->lock);
    entry = g_steal_pointer (&worker->handed);
    worker->waits = will_wait;
    pthread_mutex_unlock (&worker->lock);
    for (; entry; entry = next) {
        next = entry->next;
        worker_put (entry, RING_COMMIT_AND_FETCH);
    }
}

/* One entry at least waits for a request, or the worker would wait for nothing. */
static void
keep_waiting (struct ring_worker *worker)
{
    struct ring_entry *entry = worker->idle > 0 ? NULL : ring_entry_new (worker);

    if (!entry)
        return;
    worker_put (entry, RING_REGISTER);
}

/* --- what it gets --- */

/* The mount goes, or the kernel won't have it: then nothing works any more, and all is to end. */
static void
entry_is_gone (struct ring_entry *entry, int r)
{
    struct ring *ring = entry->worker->queue->ring;

    entry->worker->over = true;
    if (r == -ENOTCONN || r == -ECONNABORTED || r == -ENODEV || r == -ECANCELED)
        return;
    if (__atomic_exchange_n (&ring->broken, true, __ATOMIC_RELAXED))
        return;
    gf_log (&ring->bridge->xlator, GF_LOG_ERROR, "the kernel refused %s through io_uring: %s; unmounting",
            entry->command == RING_REGISTER ? "requests" : "an answer", g_strerror (-r));
    ring->bridge->done (ring->bridge->done_data);
}

static void
worker_take (struct ring_worker *worker)
{
    void *data;
    int r;

    while (uring_take (&worker->uring, &data, &r)) {
        struct ring_entry *entry = data;

        if (!entry)
            continue; /* it was woken */
        worker->idle--;
        if (r == 0)
            ring_handle (entry);
        else if (r == -EAGAIN || r == -EINTR)
            worker_put (entry, entry->command);
        else
            entry_is_gone (entry, r);
    }
}

/* Where its processor isn't there now, or isn't ours, it runs elsewhere. */
static void
pin (const struct ring_queue *queue)
{
    cpu_set_t *set = CPU_ALLOC (queue->number + 1);
    const size_t size = CPU_ALLOC_SIZE (queue->number + 1);

    CPU_ZERO_S (size, set);
    CPU_SET_S (queue->number, size, set);
    if (sched_setaffinity (0, size, set) < 0)
        gf_log (&queue->ring->bridge->xlator, GF_LOG_DEBUG, "a thread isn't pinned to processor %u: %s", queue->number, g_strerror (errno));
    CPU_FREE (set);
}

/* Waits for something to do. 0, or a negative errno. */
static int
worker_wait (struct ring_worker *worker)
{
    struct ring_queue *queue = worker->queue;
    int r;

    take_handed (worker, true);
    keep_waiting (worker);
    __atomic_add_fetch (&queue->waiting, 1, __ATOMIC_RELAXED);
    r = uring_wait (&worker->uring);
    if (__atomic_sub_fetch (&queue->waiting, 1, __ATOMIC_RELAXED) == 0 && !__atomic_load_n (&queue->full, __ATOMIC_RELAXED))
        worker_add (queue);
    return r == -EINTR || r == -EAGAIN || r == -EBUSY ? 0 : r;
}

void
ring_run (struct reader *reader)
{
    struct ring_worker *worker = (struct ring_worker *) reader;
    struct bridge *bridge = reader->bridge;
    int r;

    if (!wait_to_go (bridge->ring))
        return;
    if (bridge->ring->pinned)
        pin (worker->queue);
    self = worker;
    r = uring_begin (&worker->uring);
    if (r == 0)
        uring_watch (&worker->uring);
    do {
        if (r == 0)
            r = worker_wait (worker);

        if (r < 0) {
            gf_log (&bridge->xlator, GF_LOG_ERROR, "can't wait for requests of processor %u: %s; unmounting", worker->queue->number, g_strerror (-r));
            bridge->done (bridge->done_data);
            break;
        }
        worker_take (worker);
    } while (!worker->over && !__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE));
    self = NULL;
}

/* --- the end --- */

void
ring_signal_locked (struct bridge *bridge, int signal_number)
{
    struct ring *ring = bridge->ring;

    for (unsigned i = 0; ring && ring->n_workers > 0 && i < ring->n_queues; i++)
        for (unsigned j = 0; j < ring->queues[i].n_workers; j++)
            if (ring->queues[i].workers[j]->reader.running)
                pthread_kill (ring->queues[i].workers[j]->reader.thread, signal_number);
}

void
ring_join (struct bridge *bridge)
{
    struct ring *ring = bridge->ring;

    for (unsigned i = 0; ring && i < ring->n_queues; i++)
        for (unsigned j = 0; j < ring->queues[i].n_workers; j++)
            if (ring->queues[i].workers[j]->reader.running)
                pthread_join (ring->queues[i].workers[j]->reader.thread, NULL);
    if (ring)
        ring->n_workers = 0;
}

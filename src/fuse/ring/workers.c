/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a worker of a ring does. */
#include "fuse/ring/ring.h"

#include "fuse/state.h"
#include "fuse/threads/threads.h"

#define IN_VAIN INT64_C (2000000000) /* nanoseconds of waiting after which memory is returned */

static bool
wait_to_go (struct fuse_ring *ring)
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

/* --- submitting entries --- */

static void
worker_put (struct ring_worker *worker, struct ring_entry *entry, enum ring_command command)
{
    const struct ring_submission submission = { .queue = (uint16_t) worker->queue->number,
                                                .commit_id = command == RING_REGISTER
                                                               ? 0
                                                               : entry->commit_id };

    entry->command = command;
    if (uring_is_full (&worker->uring))
        (void) uring_submit (&worker->uring);
    uring_put (&worker->uring, command, &submission, command == RING_REGISTER ? entry->where : NULL,
               entry);
    __atomic_store_n (&entry->giver, worker, __ATOMIC_RELAXED);
    worker->untidy |= entry->touched;
    worker->idle++;
}

/* Submits the answer. */
static void
worker_commit (struct ring_worker *worker, struct ring_entry *entry)
{
    worker_put (worker, entry, RING_COMMIT_AND_FETCH);
    __atomic_sub_fetch (&worker->queue->in_use, 1, __ATOMIC_RELEASE);
}

/* Registers a new entry. From the queue's second entry on, requests that came meanwhile stay in the
 * kernel, which adds none to a new entry. */
static void
put_new (struct ring_worker *worker)
{
    struct ring_entry *entry = ring_entry_new (worker->queue);

    if (!entry) {
        ring_rest (worker);
        return;
    }
    worker_put (worker, entry, RING_REGISTER);
    if (entry->number == 0)
        return;
    (void) uring_submit (&worker->uring);
    __atomic_add_fetch (&worker->queue->registered, 1, __ATOMIC_SEQ_CST);
}

/* Submits entries that other threads answered, or a new one. Returns whether there was an
 * answer. */
static bool
put_answered (struct ring_worker *worker)
{
    bool rests;
    struct ring_entry *const first = ring_take_answered (worker, &rests), *next;

    for (struct ring_entry *entry = first; entry; entry = next) {
        next = g_steal_pointer (&entry->next);
        worker_commit (worker, entry);
    }
    if (worker->idle == 0 && !rests)
        put_new (worker);
    return first;
}

/* Called while the kernel may hold requests. The kernel holds none if an answer submitted after the
 * last registration brought no request at once. A worker without an answer sends a nudge, which a
 * waiting worker gets and answers. */
static void
catch_up (struct ring_worker *worker, unsigned registered, bool answers)
{
    if (!answers) {
        ring_nudge (worker->queue);
        return;
    }
    (void) uring_submit (&worker->uring);
    if (!uring_has (&worker->uring))
        __atomic_store_n (&worker->queue->drained, registered, __ATOMIC_SEQ_CST);
}

/* Adds the submissions that go with the wait. Returns whether a request may come to this worker. */
static bool
worker_get_ready (struct ring_worker *worker)
{
    struct ring_queue *queue = worker->queue;
    struct ring_entry *mine = ring_take_mine (worker);
    const unsigned registered = __atomic_load_n (&queue->registered, __ATOMIC_SEQ_CST);
    bool answers = mine;

    if (mine)
        worker_commit (worker, mine);
    if (worker->idle == 0 || G_UNLIKELY (__atomic_load_n (&queue->crowded, __ATOMIC_RELAXED)))
        answers |= put_answered (worker);
    if (G_UNLIKELY (__atomic_load_n (&queue->registered, __ATOMIC_RELAXED)
                    != __atomic_load_n (&queue->drained, __ATOMIC_RELAXED)))
        catch_up (worker, registered, answers);
    return worker->idle > 0;
}

/* --- completions --- */

/* The kernel returned an entry: the mount ends, or the kernel refuses the entry. In the second case
 * no request would be served any more, so this ends the mount. */
static void
entry_is_gone (struct ring_worker *worker, const struct ring_entry *entry, int r)
{
    struct fuse_ring *ring = worker->queue->ring;

    worker->over = true;
    if (r == -ENOTCONN || r == -ECONNABORTED || r == -ENODEV || r == -ECANCELED)
        return;
    if (__atomic_exchange_n (&ring->broken, true, __ATOMIC_RELAXED))
        return;
    gf_log (&ring->bridge->xlator, GF_LOG_ERROR,
            "the kernel refused %s through io_uring: %s; unmounting",
            entry->command == RING_REGISTER ? "requests" : "an answer", g_strerror (-r));
    ring->bridge->hooks->gone ();
}

/* Returns whether the worker may block: another worker waits, and the kernel has no entry of this
 * one to put a request into. */
static bool
may_block (struct ring_worker *worker, const struct ring_entry *entry)
{
    struct ring_queue *queue = worker->queue;
    const bool waits = __atomic_load_n (&queue->waiting, __ATOMIC_SEQ_CST) > 0
                    || ring_is_nudge (entry) || ring_call (queue);

    return waits && worker->idle == 0;
}

static void
worker_handle (struct ring_worker *worker, struct ring_entry *entry)
{
    struct ring_entry *const mine = ring_take_mine (worker);

    if (G_UNLIKELY (mine)) /* the worker had two entries */
        ring_give (mine);
    thread_may_not_block = !may_block (worker, entry);
    ring_handle (worker, entry);
}

static bool
may_leave (struct ring_worker *worker)
{
    const struct fuse_ring *ring = worker->queue->ring;

    if (worker->over || __atomic_load_n (&ring->bridge->gone, __ATOMIC_ACQUIRE))
        return true;
    return __atomic_load_n (&ring->bridge->stopping, __ATOMIC_ACQUIRE) && ring_leave (worker);
}

static void
worker_take (struct ring_worker *worker)
{
    void *data;
    int r;

    while (uring_take (&worker->uring, &data, &r)) {
        struct ring_entry *entry = data;

        if (!entry)
            continue; /* the eventfd woke it */
        worker->idle--;
        __atomic_store_n (&entry->giver, NULL, __ATOMIC_RELAXED);
        if (r == 0)
            worker_handle (worker, entry);
        else if (r == -EAGAIN || r == -EINTR)
            worker_put (worker, entry, entry->command);
        else
            entry_is_gone (worker, entry, r);
    }
}

/* If the processor is offline or not allowed, the worker runs on others. */
static void
pin (const struct ring_queue *queue)
{
    if (!thread_stay_on ((int) queue->number))
        gf_log (&queue->ring->bridge->xlator, GF_LOG_DEBUG, "a thread isn't pinned to processor %u",
                queue->number);
}

/* Workers share their processor with the callers that wait for them, and with the threads that they
 * hand work to. Failure for lack of privilege is logged at level DEBUG only. */
static void
make_haste (struct bridge *bridge)
{
    int r = thread_come_first (bridge->settings.io_uring_haste);

    if (r < 0)
        gf_log (&bridge->xlator, GF_LOG_DEBUG,
                "threads of the io_uring can't be %d less nice than others (io-uring-haste): %s",
                bridge->settings.io_uring_haste, g_strerror (-r));
}

/* Waits for a completion. 0, or a negative errno. */
static int
worker_wait (struct ring_worker *worker)
{
    struct ring_queue *queue = worker->queue;
    const unsigned one = worker_get_ready (worker) ? 1 : 0;
    int r;

    __atomic_add_fetch (&queue->waiting, one, __ATOMIC_SEQ_CST);
    r = uring_wait (&worker->uring, worker->untidy ? IN_VAIN : 0);
    __atomic_sub_fetch (&queue->waiting, one, __ATOMIC_SEQ_CST);
    if (r == -ETIME) {
        ring_trim (worker);
        return 0;
    }
    return r == -EINTR || r == -EAGAIN || r == -EBUSY ? 0 : r;
}

bool
ring_run (struct request_thread *thread)
{
    struct ring_worker *worker = (struct ring_worker *) thread;
    struct bridge *bridge = thread->bridge;
    int r;

    if (!wait_to_go (bridge->ring))
        return true;
    if (bridge->ring->pinned)
        pin (worker->queue);
    make_haste (bridge);
    ring_self = worker;
    r = uring_begin (&worker->uring);
    if (r == 0)
        uring_watch (&worker->uring);
    do {
        if (r == 0)
            r = worker_wait (worker);
        if (r < 0) {
            gf_log (&bridge->xlator, GF_LOG_ERROR,
                    "can't wait for requests of processor %u: %s; unmounting",
                    worker->queue->number, g_strerror (-r));
            bridge->hooks->gone ();
            break;
        }
        worker_take (worker);
    } while (!may_leave (worker));
    ring_self = NULL;
    return true;
}

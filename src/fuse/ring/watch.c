/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Callers that already have a signal pending when they send a request, mostly because they were
 * killed while they waited for the lock of a directory or file. Through /dev/fuse the kernel takes
 * such a request back, or sends an interrupt when the daemon has read it. Through a ring it does
 * neither (request_wait_answer and fuse_uring_prepare_send in fs/fuse of Linux): the caller waits
 * until storage answers, and no later signal is reported.
 *
 * - A timer therefore looks at the callers of requests that are 0.2 s old, and again each time that
 *   their age has doubled. If a signal is pending, libfuse is handed the interrupt that is missing.
 * - Callers that wait for one lock come one after the other: each gets the lock when the one before
 *   has been answered. Once the caller of a request was found dying, requests about the same inode
 *   are looked at as they come, and those of dying callers are refused before they begin.
 *
 * A request from another pid namespace has pid 0, so its caller can't be looked at.
 */
#include "fuse/ring/ring.h"

#include "core/base/process.h"
#include "core/time/clock.h"
#include "core/time/timer.h"
#include "fuse/state.h"

#include <linux/fuse.h>

#define LOOK INT64_C (100000000)   /* nanoseconds */
#define OLD (2 * LOOK)             /* the age at which a request is looked at first */
#define INTERRUPT 1                /* an odd number, under which the kernel has no request */

/* A request to look at. */
struct old_request {
    uint64_t number;
    pid_t pid;
};

struct search_old {
    int64_t before, now; /* times of the last look and of this one */
    GArray *found;       /* struct old_request */
};

/* --- requests under way ----------------------------------------------------------------------- */

/* Returns how often a request of that age, in nanoseconds, was due to be looked at. */
static unsigned
looks_due (int64_t age)
{
    unsigned n = 0;

    for (int64_t due = OLD; due <= age; due *= 2)
        n++;
    return n;
}

LOOKS_AT_RUNNING_REQUESTS static void
find_old (const call_stack_t *root, void *data)
{
    struct search_old *search = data;
    const struct old_request one = { .number = root->maker.number, .pid = root->pid };

    if (one.number & RING_REQUEST && !root->interrupted
        && looks_due (search->now - root->begin) > looks_due (search->before - root->begin))
        g_array_append_val (search->found, one);
}

/* If the request was answered meanwhile, libfuse answers the interrupt itself, and the kernel
 * refuses that. */
static void
interrupt (struct bridge *bridge, uint64_t number)
{
    struct {
        struct fuse_in_header header;
        struct fuse_interrupt_in interrupt;
    } message = { .header = { .len = sizeof message,
                              .opcode = FUSE_INTERRUPT,
                              .unique = INTERRUPT },
                  .interrupt = { .unique = number } };
    const struct fuse_buf buf = { .size = sizeof message, .mem = &message };

    fuse_session_process_buf (bridge->session, &buf);
}

static void
look_at_old (struct fuse_ring *ring)
{
    g_autoptr (GArray) found = g_array_new (false, false, sizeof (struct old_request));
    struct search_old search = { .before = ring->looked, .now = clock_now (), .found = found };

    stack_foreach (find_old, &search);
    ring->looked = search.now;
    for (unsigned i = 0; i < found->len; i++) {
        const struct old_request *one = &g_array_index (found, struct old_request, i);

        if (process_has_signal (one->pid))
            interrupt (ring->bridge, one->number);
    }
}

/* A request counts as in use before ring_handle looks at `watching`, and `watching` is cleared
 * before this looks at the requests: either ring_handle starts a timer, or this function sees its
 * request. */
static bool
any_in_use (const struct fuse_ring *ring)
{
    unsigned n = 0;

    for (unsigned i = 0; i < ring->n_queues; i++)
        n += __atomic_load_n (&ring->queues[i].in_use, __ATOMIC_SEQ_CST);
    return n > 0;
}

static void
ring_watch_look (void *data)
{
    struct fuse_ring *ring = data;
    struct bridge *bridge = ring->bridge;

    pthread_mutex_lock (&bridge->lock);
    ring->watch = NULL;
    pthread_mutex_unlock (&bridge->lock);
    __atomic_store_n (&ring->watching, false, __ATOMIC_SEQ_CST);
    if (any_in_use (ring)) {
        look_at_old (ring);
        ring_watch (ring);
    }
    bridge_timer_ends (bridge);
}

void
ring_watch (struct fuse_ring *ring)
{
    struct bridge *bridge = ring->bridge;

    if (G_LIKELY (__atomic_load_n (&ring->watching, __ATOMIC_SEQ_CST))
        || __atomic_exchange_n (&ring->watching, true, __ATOMIC_SEQ_CST))
        return;
    pthread_mutex_lock (&bridge->lock);
    if (!bridge->stopping) {
        bridge->timers++;
        ring->watch = timer_after (LOOK, ring_watch_look, ring);
    }
    pthread_mutex_unlock (&bridge->lock);
}

void
ring_unwatch_locked (struct bridge *bridge)
{
    struct fuse_ring *ring = bridge->ring;

    if (ring && ring->watch && timer_cancel (ring->watch)) {
        ring->watch = NULL;
        bridge->timers--;
    }
}

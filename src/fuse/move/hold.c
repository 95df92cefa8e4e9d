/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that takes requests marks itself busy before it checks whether requests are held, and
 * hold_begin sets `held` before it checks for busy threads. So one of the two sees the other.
 */
#include "fuse/move/hold.h"

#include "core/time/thread.h"
#include "fuse/ring/ring.h"

#define LOOK_AGAIN 200 /* microseconds */

static void
reader_set_busy (struct reader *reader, bool busy)
{
    __atomic_store_n (&reader->busy, busy, __ATOMIC_SEQ_CST);
}

/* An answer that this thread has not sent yet goes out first. */
static void
hold_wait (struct bridge *bridge)
{
    if (thread_before_other)
        thread_before_other ();
    pthread_mutex_lock (&bridge->lock);
    while (bridge->held)
        pthread_cond_wait (&bridge->changed, &bridge->lock);
    pthread_mutex_unlock (&bridge->lock);
}

void
hold_process (struct reader *reader, struct fuse_buf *buf)
{
    struct bridge *bridge = reader->bridge;

    reader_set_busy (reader, true);
    while (G_UNLIKELY (__atomic_load_n (&bridge->held, __ATOMIC_SEQ_CST))) {
        reader_set_busy (reader, false);
        hold_wait (bridge);
        reader_set_busy (reader, true);
    }
    fuse_session_process_buf (bridge->session, buf);
    __atomic_store_n (&reader->busy, false, __ATOMIC_RELEASE);
}

static bool
reader_is_busy (const struct reader *reader)
{
    return __atomic_load_n (&reader->busy, __ATOMIC_SEQ_CST);
}

static bool
any_is_busy (struct bridge *bridge)
{
    bool busy = false;

    pthread_mutex_lock (&bridge->lock);
    for (unsigned i = 0; i < READERS_MAX; i++)
        busy |= reader_is_busy (&bridge->threads.readers[i]);
    for (unsigned i = 0; bridge->ring && i < bridge->ring->n_queues; i++)
        for (unsigned j = 0; j < bridge->ring->queues[i].n_workers; j++)
            busy |= reader_is_busy (&bridge->ring->queues[i].workers[j]->reader);
    pthread_mutex_unlock (&bridge->lock);
    return busy;
}

static void
set_held (struct bridge *bridge, bool held)
{
    pthread_mutex_lock (&bridge->lock);
    __atomic_store_n (&bridge->held, held, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

bool
hold_begin (struct bridge *bridge, int64_t until)
{
    set_held (bridge, true);
    while (any_is_busy (bridge) && clock_now () < until)
        g_usleep (LOOK_AGAIN);
    return !any_is_busy (bridge);
}

bool
hold_answered (int64_t until)
{
    while (stack_count () > 0 && clock_now () < until)
        g_usleep (LOOK_AGAIN);
    return stack_count () == 0;
}

bool
hold_idle (int64_t until)
{
    while ((stack_count () > 0 || stack_count_kept () > 0) && clock_now () < until)
        g_usleep (LOOK_AGAIN);
    return stack_count () == 0 && stack_count_kept () == 0;
}

void
hold_end (struct bridge *bridge)
{
    set_held (bridge, false);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that takes requests marks itself busy before it checks whether requests are held, and
 * hold_begin sets `held` before it checks for busy threads. So one of the two sees the other.
 */
#include "fuse/move/hold.h"

#include "core/time/thread.h"
#include "fuse/threads/threads.h"

#define LOOK_AGAIN 200 /* microseconds */

static void
hold_set_busy (struct request_thread *thread, bool busy)
{
    __atomic_store_n (&thread->busy, busy, __ATOMIC_SEQ_CST);
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
hold_process (struct request_thread *thread, struct fuse_buf *buf)
{
    struct bridge *bridge = thread->bridge;

    hold_set_busy (thread, true);
    while (G_UNLIKELY (__atomic_load_n (&bridge->held, __ATOMIC_SEQ_CST))) {
        hold_set_busy (thread, false);
        hold_wait (bridge);
        hold_set_busy (thread, true);
    }
    fuse_session_process_buf (bridge->session, buf);
    __atomic_store_n (&thread->busy, false, __ATOMIC_RELEASE);
}

static bool
hold_is_busy (const struct request_thread *thread)
{
    return __atomic_load_n (&thread->busy, __ATOMIC_SEQ_CST);
}

static bool
hold_any_is_busy (struct bridge *bridge)
{
    bool busy = false;

    pthread_mutex_lock (&bridge->lock);
    for (const struct request_thread *at = bridge->threads.all; at; at = at->next)
        busy |= hold_is_busy (at);
    pthread_mutex_unlock (&bridge->lock);
    return busy;
}

static void
hold_set (struct bridge *bridge, bool held)
{
    pthread_mutex_lock (&bridge->lock);
    __atomic_store_n (&bridge->held, held, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

bool
hold_begin (struct bridge *bridge, int64_t until)
{
    hold_set (bridge, true);
    while (hold_any_is_busy (bridge) && clock_now () < until)
        g_usleep (LOOK_AGAIN);
    return !hold_any_is_busy (bridge);
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
    hold_set (bridge, false);
}

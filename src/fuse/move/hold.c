/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that takes requests marks itself busy before it checks whether requests are held, and
 * hold_begin sets `held` before it checks for busy threads. So one of the two sees the other.
 *
 * At the end of its request the thread clears the mark, and then checks whether requests are held;
 * if they are, it signals. thread_barrier lets it do so without a barrier of its own: either
 * hold_begin sees that the thread isn't busy any more, or the thread sees `held`, and signals under
 * the lock under which hold_begin looks and waits.
 */
#include "fuse/move/hold.h"

#include "core/edge/stack.h"
#include "core/time/thread.h"
#include "fuse/threads/threads.h"

/* Nanoseconds between two checks for busy threads, if the kernel has no membarrier(2). Without it a
 * thread may miss that requests are held, and not signal at its end. */
#define SLICE INT64_C (10000000)

static void
hold_set_busy (struct request_thread *thread, bool busy)
{
    __atomic_store_n (&thread->busy, busy, __ATOMIC_SEQ_CST);
}

/* Waits until requests go on. An answer that this thread has not sent yet goes out first. */
static void
hold_wait (struct bridge *bridge)
{
    if (thread_before_other)
        thread_before_other ();
    pthread_mutex_lock (&bridge->lock);
    pthread_cond_signal (&bridge->quiet);
    while (bridge->held)
        pthread_cond_wait (&bridge->changed, &bridge->lock);
    pthread_mutex_unlock (&bridge->lock);
}

static void
hold_tell (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    pthread_cond_signal (&bridge->quiet);
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
    thread_keep_order ();
    if (G_UNLIKELY (__atomic_load_n (&bridge->held, __ATOMIC_RELAXED)))
        hold_tell (bridge);
}

static bool
hold_any_is_busy_locked (const struct bridge *bridge)
{
    bool busy = false;

    for (const struct request_thread *at = bridge->threads.all; at; at = at->next)
        busy |= __atomic_load_n (&at->busy, __ATOMIC_SEQ_CST);
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
    bool ordered, busy;

    (void) thread_barrier (); /* the first call takes long, so it isn't made while callers wait */
    hold_set (bridge, true);
    ordered = thread_barrier ();
    pthread_mutex_lock (&bridge->lock);
    while ((busy = hold_any_is_busy_locked (bridge)) && clock_now () < until)
        (void) thread_cond_wait_until (&bridge->quiet, &bridge->lock,
                                       ordered ? until : MIN (until, clock_now () + SLICE));
    pthread_mutex_unlock (&bridge->lock);
    return !busy;
}

bool
hold_answered (int64_t until)
{
    return stack_wait_for_end (false, until);
}

bool
hold_idle (int64_t until)
{
    return stack_wait_for_end (true, until);
}

void
hold_end (struct bridge *bridge)
{
    hold_set (bridge, false);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds the kernel's requests back. A thread that takes requests sets thread->busy before it reads
 * bridge->held, and hold_begin sets bridge->held before it reads thread->busy of each thread. So
 * either the thread sees that requests are held, and waits, or hold_begin sees that the thread is
 * busy, and waits for it.
 *
 * At the end of a request the thread clears thread->busy, and then reads bridge->held. If requests
 * are held, it signals bridge->quiet. The thread needs no memory barrier between the two, since
 * hold_begin calls thread_barrier (membarrier(2)). So either hold_begin sees that the thread isn't
 * busy any more, or the thread sees that requests are held. In the second case the thread signals
 * under bridge->lock, under which hold_begin checks the threads and waits.
 */
#include "fuse/move/hold.h"

#include "core/edge/stack.h"
#include "core/time/thread.h"
#include "fuse/threads/threads.h"

/* Nanoseconds between two checks for busy threads in hold_begin, if the kernel has no
 * membarrier(2). Without membarrier(2) a thread at the end of its request may not see that requests
 * are held. Then it does not signal hold_begin. */
#define SLICE INT64_C (10000000)

static void
hold_set_busy (struct request_thread *thread, bool busy)
{
    __atomic_store_n (&thread->busy, busy, __ATOMIC_SEQ_CST);
}

/* Waits while requests are held. If this thread has an answer to an earlier request that it has not
 * sent yet, it sends the answer first (thread_before_other). */
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

    /* The first call of thread_barrier in a process takes milliseconds. So it is made before
     * requests are held, and callers don't wait for it. */
    (void) thread_barrier ();
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Access to the rings of all threads. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_FUNCTION_GRAPH

#include "core/time/clock.h"
#include "trace/functions/internal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* nanoseconds; the longest duration of a hook, on a machine that is busy with other work */
#define PATIENCE 100000000

struct hook_thread **
threads_all (size_t *ret_count)
{
    struct hook_thread **all, *first = __atomic_load_n (&hook_threads, __ATOMIC_ACQUIRE);
    size_t count = 0;

    for (const struct hook_thread *thread = first; thread; thread = hook_next (thread))
        count++;
    all = g_new (struct hook_thread *, count + 1);
    *ret_count = count;
    for (; first; first = hook_next (first))
        all[--count] = first;
    return all;
}

static bool
thread_is_gone (int32_t id)
{
    return syscall (SYS_tgkill, getpid (), id, 0) < 0 && errno == ESRCH;
}

/* Called after patch_barrier: a hook that is entered later sees all earlier changes. */
static bool
thread_leaves_hook (const struct hook_thread *thread)
{
    const int64_t end = clock_now () + PATIENCE;

    while (__atomic_load_n (&thread->busy, __ATOMIC_ACQUIRE)) {
        if (clock_now () > end)
            return false;
        sched_yield ();
    }
    return true;
}

static void
thread_ring (struct hook_thread *thread, uint64_t calls)
{
    struct hook_call *ring = thread->ring;

    if (ring && thread->mask == calls - 1)
        return;
    thread->ring = hook_map (calls * sizeof *ring);
    if (!thread->ring) {
        thread->ring = ring; /* the size is unchanged */
        return;
    }
    if (ring)
        munmap (ring, (thread->mask + 1) * sizeof *ring);
    thread->mask = calls - 1;
}

/* A thread that is stopped within a hook keeps its ring. */
static void
thread_begin (struct hook_thread *thread, uint64_t calls)
{
    const int32_t id = __atomic_load_n (&thread->id, __ATOMIC_ACQUIRE);
    const bool gone = id != 0 && thread_is_gone (id);

    if (gone || thread_leaves_hook (thread))
        thread_ring (thread, calls);
    thread->base = __atomic_load_n (&thread->head, __ATOMIC_ACQUIRE);
    thread->base_deep = __atomic_load_n (&thread->deep, __ATOMIC_RELAXED);
    if (!gone)
        return;
    thread->top = thread->open;
    thread->busy = 0;
    thread->gate = 0;
    __atomic_store_n (&thread->id, 0, __ATOMIC_RELEASE);
}

void
threads_begin (uint64_t calls)
{
    __atomic_store_n (&hook.start, UINT64_MAX, __ATOMIC_SEQ_CST);
    __atomic_store_n (&hook.ring, calls, __ATOMIC_SEQ_CST);
    (void) patch_barrier ();
    for (struct hook_thread *thread = __atomic_load_n (&hook_threads, __ATOMIC_ACQUIRE); thread;
         thread = hook_next (thread))
        thread_begin (thread, calls);
}

#endif

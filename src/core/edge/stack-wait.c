/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting until no request is in use.
 *
 * A request ends with unique = 0, and then looks at stack_awaited; a waiting thread raises
 * stack_awaited, and then looks at each unique. thread_barrier orders the two, so that the end
 * costs no barrier: either the waiting thread sees that the request has ended, or the request sees
 * that a thread waits. In the second case stack_tell_waiting takes the lock, under which the
 * waiting thread looks and begins to wait: so the signal can't come between. The same holds for
 * stack_kept.
 *
 * Where the kernel has no such barrier, the waiting thread looks again after WAIT_SLICE.
 */
#include "core/edge/stack.h"
#include "core/time/clock.h"
#include "core/time/thread.h"

#define WAIT_SLICE INT64_C (10000000) /* nanoseconds */

unsigned stack_awaited;

static unsigned stack_kept; /* calls and answers that are set aside; atomic */

static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static pthread_cond_t waiting_changed;

static void __attribute__ ((constructor))
waiting_init (void)
{
    thread_cond_init (&waiting_changed);
}

void
stack_tell_waiting (void)
{
    pthread_mutex_lock (&waiting_lock);
    thread_cond_broadcast (&waiting_changed);
    pthread_mutex_unlock (&waiting_lock);
}

/* Requests in use, and calls set aside. A request that waits for a lock of its caller, or that
 * asker has set aside, is a waiter. */
struct stack_counts {
    const xlator_t *asker; /* of a pause, or NULL */
    unsigned requests, waiters;
    unsigned kept_by_waiters; /* calls of waiters that are set aside */
};

bool
stack_is_waiter (const call_stack_t *root, const xlator_t *asker)
{
    return __atomic_load_n (&root->lock_waits, __ATOMIC_ACQUIRE) > 0
        || (asker && __atomic_load_n (&root->aside, __ATOMIC_ACQUIRE) > 0
            && __atomic_load_n (&root->keeper, __ATOMIC_RELAXED) == asker);
}

static void
stack_counts_add (const call_stack_t *root, void *data)
{
    struct stack_counts *counts = data;

    counts->requests++;
    if (!stack_is_waiter (root, counts->asker))
        return;
    counts->waiters++;
    counts->kept_by_waiters += __atomic_load_n (&root->kept, __ATOMIC_RELAXED);
}

static bool
stacks_ended (enum stacks_end end, const xlator_t *asker)
{
    struct stack_counts counts = { .asker = asker };

    stack_foreach (stack_counts_add, &counts);
    if (end == STACKS_GONE)
        return counts.requests == 0 && stack_count_kept () == 0;
    return counts.requests == counts.waiters
        && (end == STACKS_ANSWERED || stack_count_kept () <= counts.kept_by_waiters);
}

bool
stack_wait_for_end (enum stacks_end end, int64_t until)
{
    return stack_wait_for_others (end, NULL, until);
}

bool
stack_wait_for_others (enum stacks_end end, const xlator_t *asker, int64_t until)
{
    bool ordered, ended;

    __atomic_add_fetch (&stack_awaited, 1, __ATOMIC_SEQ_CST);
    ordered = thread_barrier ();
    pthread_mutex_lock (&waiting_lock);
    while (!(ended = stacks_ended (end, asker)) && clock_now () < until)
        (void) thread_cond_wait_until (&waiting_changed, &waiting_lock,
                                       ordered ? until : MIN (until, clock_now () + WAIT_SLICE));
    pthread_mutex_unlock (&waiting_lock);
    __atomic_sub_fetch (&stack_awaited, 1, __ATOMIC_SEQ_CST);
    return ended;
}

unsigned
stack_count_kept (void)
{
    return __atomic_load_n (&stack_kept, __ATOMIC_ACQUIRE);
}

void
stack_keep (call_stack_t *root, int by)
{
    if (root)
        __atomic_add_fetch (&root->kept, by, __ATOMIC_RELAXED);
    __atomic_add_fetch (&stack_kept, by, __ATOMIC_ACQ_REL);
    if (by < 0)
        stack_has_ended ();
}

void
stack_lock_waits (call_stack_t *root, int by)
{
    __atomic_add_fetch (&root->lock_waits, by, __ATOMIC_ACQ_REL);
    if (by > 0)
        stack_has_ended ();
}

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

static unsigned stack_kept; /* calls and answers that are set aside, and jobs_kept; atomic */
static unsigned jobs_kept;  /* jobs that work; atomic */
static unsigned rest_waits; /* calls that wait for a job that rests; atomic */

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

/* --- requests that are left out --------------------------------------------------------------- */

LOOKS_AT_RUNNING_REQUESTS static bool
resting_has (const GArray *resting, uint64_t inode)
{
    for (guint i = 0; resting && i < resting->len; i++)
        if (g_array_index (resting, uint64_t, i) == inode)
            return true;
    return false;
}

LOOKS_AT_RUNNING_REQUESTS static void
resting_add (const call_stack_t *root, void *data)
{
    GArray **resting = data;

    if (__atomic_load_n (&root->rest_waits, __ATOMIC_ACQUIRE) == 0 || root->about == 0
        || resting_has (*resting, root->about))
        return;
    if (!*resting)
        *resting = g_array_new (FALSE, FALSE, sizeof (uint64_t));
    g_array_append_val (*resting, root->about);
}

GArray *
stack_resting_inodes (void)
{
    GArray *resting = NULL;

    if (__atomic_load_n (&rest_waits, __ATOMIC_ACQUIRE) > 0)
        stack_foreach (resting_add, &resting);
    return resting;
}

LOOKS_AT_RUNNING_REQUESTS static bool
stack_is_about (const call_stack_t *root, const GArray *resting)
{
    return resting_has (resting, root->about) && !opset_has (OPS_NEVER_REST, root->op);
}

bool
stack_is_waiter (const call_stack_t *root, const xlator_t *asker, const GArray *resting)
{
    return __atomic_load_n (&root->lock_waits, __ATOMIC_ACQUIRE) > 0
        || stack_is_about (root, resting)
        || (asker && __atomic_load_n (&root->aside, __ATOMIC_ACQUIRE) > 0
            && __atomic_load_n (&root->keeper, __ATOMIC_RELAXED) == asker);
}

/* --- counts ----------------------------------------------------------------------------------- */

/* Requests in use, and calls set aside. */
struct stack_counts {
    const xlator_t *asker; /* of a pause, or NULL */
    const GArray *resting; /* stack_resting_inodes */
    unsigned requests, waiters; /* stack_is_waiter */
    unsigned kept_by_waiters; /* calls of waiters that are set aside */
};

static void
stack_counts_add (const call_stack_t *root, void *data)
{
    struct stack_counts *counts = data;

    counts->requests++;
    if (!stack_is_waiter (root, counts->asker, counts->resting))
        return;
    counts->waiters++;
    counts->kept_by_waiters += __atomic_load_n (&root->kept, __ATOMIC_RELAXED);
}

/* A job that works may be about to end the waits for it (job_rest). The count of such jobs is read
 * before the waits: a job that rests in a hold works again only after the hold. */
static bool
stacks_ended (enum stacks_end end, const xlator_t *asker)
{
    const bool works = __atomic_load_n (&jobs_kept, __ATOMIC_ACQUIRE) > 0;
    g_autoptr (GArray) resting = stack_resting_inodes ();
    struct stack_counts counts = { .asker = asker, .resting = resting };

    stack_foreach (stack_counts_add, &counts);
    if (end == STACKS_GONE)
        return counts.requests == 0 && stack_count_kept () == 0;
    return counts.requests == counts.waiters && !(resting && works)
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
    __atomic_add_fetch (root ? &root->kept : &jobs_kept, by,
                        root ? __ATOMIC_RELAXED : __ATOMIC_ACQ_REL);
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

void
stack_rest_waits (call_stack_t *root, int by)
{
    __atomic_add_fetch (&rest_waits, by, __ATOMIC_ACQ_REL);
    __atomic_add_fetch (&root->rest_waits, by, __ATOMIC_ACQ_REL);
    if (by > 0)
        stack_has_ended ();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls that are set aside until an object is in the upper. A task copies for all of them, and a
 * failure goes to all. A call whose caller is interrupted ends at once with EINTR; the kernel sends
 * some calls for a process that has ended, and those go on to wait (call_stub_is_owed). Once nobody
 * waits any more, the copy is dropped.
 */
#include "up.h"

/* A call that waits. It ends once: whoever takes it out of state->waiters sets its error. */
struct overlay_waiter {
    xlator_t *this;
    inode_t *inode; /* with a reference */
    struct overlay_inode *state;
    call_stub_t *owed; /* a call that can't be interrupted; else NULL, and the call is in
                        * private->held */
    GList link;     /* in state->waiters; parts->lock */
    bool waits;     /* parts->lock */
    int error;      /* a positive errno, or 0 */
};

static void
overlay_waiter_take_locked (struct overlay_waiter *waiter, int error)
{
    g_queue_unlink (&waiter->state->waiters, &waiter->link);
    waiter->waits = false;
    waiter->error = error;
}

static void
overlay_waiter_go_on (struct overlay_waiter *waiter, call_stub_t *stub)
{
    const int error = waiter->error;

    inode_unref (waiter->inode);
    g_free (waiter);
    call_resume_or_fail (stub, error);
}

void
overlay_held_go_on (call_stub_t *stub, enum held_end why, void *data)
{
    struct overlay_waiter *waiter = data;
    struct overlay_shared *parts = waiter->state->parts;
    xlator_t *this = waiter->this;
    bool released;

    pthread_mutex_lock (&parts->lock);
    released = !waiter->waits;
    if (!released)
        overlay_waiter_take_locked (waiter, why == HELD_INTERRUPTED ? EINTR : EIO);
    pthread_mutex_unlock (&parts->lock);
    overlay_waiter_go_on (waiter, stub);
    if (released)
        overlay_task_end (this);
}

/* --- whether anybody waits -------------------------------------------------------------------- */

void
overlay_copy_want (struct overlay_inode *state, int threads)
{
    pthread_mutex_lock (&state->parts->lock);
    state->threads += (unsigned) threads;
    pthread_mutex_unlock (&state->parts->lock);
}

bool
overlay_copy_is_wanted (struct overlay_inode *state)
{
    bool wanted;

    pthread_mutex_lock (&state->parts->lock);
    wanted = state->threads > 0 || !g_queue_is_empty (&state->waiters);
    pthread_mutex_unlock (&state->parts->lock);
    return wanted;
}

/* --- the task --------------------------------------------------------------------------------- */

struct overlay_copy_task {
    struct work_item work;
    xlator_t *this;
    inode_t *inode; /* with a reference */
};

static bool
overlay_waiter_is (const void *data, const void *waiter)
{
    return data == waiter;
}

/* Takes all waiters; returns those that held_release does not let go on. A call that it lets go on
 * does so on another thread, and may change names there: that is a task, so that no pause runs in
 * between. */
static GSList *
overlay_waiters_end_locked (struct overlay_inode *state, int error)
{
    GSList *owed = NULL;
    GList *link;

    while ((link = state->waiters.head)) {
        struct overlay_waiter *waiter = link->data;

        overlay_waiter_take_locked (waiter, error);
        if (waiter->owed) {
            owed = g_slist_prepend (owed, waiter);
        } else {
            overlay_task_begin (waiter->this);
            held_release (overlay_priv (waiter->this)->held, overlay_waiter_is, waiter);
        }
    }
    state->queued = false;
    return g_slist_reverse (owed);
}

/* Returns false if the copy was dropped for lack of waiters, and one has come since. */
static bool
overlay_copy_ended (struct overlay_inode *state, int r)
{
    GSList *owed = NULL;
    bool again;

    pthread_mutex_lock (&state->parts->lock);
    again = r == -ECANCELED && !g_queue_is_empty (&state->waiters);
    if (!again)
        owed = overlay_waiters_end_locked (state, r < 0 ? -r : 0);
    pthread_mutex_unlock (&state->parts->lock);
    for (GSList *one = owed; one; one = one->next)
        overlay_waiter_go_on (one->data, ((struct overlay_waiter *) one->data)->owed);
    g_slist_free (owed);
    return !again;
}

static void
overlay_copy_run (struct work_item *work)
{
    struct overlay_copy_task *task = (struct overlay_copy_task *) work;
    xlator_t *this = task->this;
    int r;

    do
        r = overlay_copy_up_wanted (this, task->inode);
    while (!overlay_copy_ended (overlay_inode_get (this, task->inode), r));
    inode_unref (task->inode);
    g_free (task);
    overlay_task_end (this);
}

static void
overlay_copy_put (xlator_t *this, inode_t *inode)
{
    struct overlay_copy_task *task = g_new0 (struct overlay_copy_task, 1);

    task->work.run = overlay_copy_run;
    task->this = this;
    task->inode = inode_ref (inode);
    overlay_task_begin (this);
    work_put (&task->work);
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Returns whether the caller has to put the task. The call may go on before this returns. */
static bool
overlay_waiter_add (struct overlay_waiter *waiter, call_stub_t *stub)
{
    struct overlay_inode *state = waiter->state;
    struct overlay_shared *parts = state->parts;
    bool first;

    waiter->link.data = waiter;
    waiter->waits = true;
    pthread_mutex_lock (&parts->lock);
    g_queue_push_tail_link (&state->waiters, &waiter->link);
    first = !state->queued;
    state->queued = true;
    if (call_stub_is_owed (stub))
        waiter->owed = stub;
    else
        held_add (overlay_priv (waiter->this)->held, stub, HELD_FOR_EVER, waiter);
    pthread_mutex_unlock (&parts->lock);
    return first;
}

void
overlay_copy_up_wait (const struct call *call, inode_t *inode)
{
    xlator_t *this = call->this;
    struct overlay_waiter *waiter;
    g_autoptr (inode_t) kept = inode_ref (inode);
    call_stub_t *stub = call_keep (call);

    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    waiter = g_new0 (struct overlay_waiter, 1);
    waiter->this = this;
    waiter->inode = inode_ref (inode);
    waiter->state = overlay_inode_get (this, inode);
    if (overlay_waiter_add (waiter, stub))
        overlay_copy_put (this, kept);
}

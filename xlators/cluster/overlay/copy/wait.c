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
    call_stack_t *root; /* of the call, until it goes on; NULL: a move has to wait for the call */
    GList link;     /* in state->waiters; parts->lock */
    bool waits;     /* parts->lock */
    int error;      /* a positive errno, or 0 */
};

/* Has the call counted while the job that copies rests: by 1 or -1. */
static void
overlay_waiter_rests (const struct overlay_waiter *waiter, int by)
{
    if (waiter->root)
        stack_rest_waits (waiter->root, by);
}

static void
overlay_waiter_take_locked (struct overlay_waiter *waiter, int error)
{
    g_queue_unlink (&waiter->state->waiters, &waiter->link);
    if (waiter->state->rests)
        overlay_waiter_rests (waiter, -1);
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

/* --- the job ---------------------------------------------------------------------------------- */

struct overlay_copy_task {
    xlator_t *this;
    inode_t *inode; /* with a reference */
};

static bool
overlay_may_rest_locked (const struct overlay_inode *state)
{
    bool may = state->threads == 0;

    for (const GList *at = state->waiters.head; at; at = at->next)
        may &= ((const struct overlay_waiter *) at->data)->root != NULL;
    return may;
}

static void
overlay_rests_set_locked (struct overlay_inode *state, bool rests)
{
    state->rests = rests;
    for (const GList *at = state->waiters.head; at; at = at->next)
        overlay_waiter_rests (at->data, rests ? 1 : -1);
}

static bool
overlay_rest_begin (void *data)
{
    struct overlay_inode *state = data;
    bool may_rest;

    pthread_mutex_lock (&state->parts->lock);
    may_rest = overlay_may_rest_locked (state);
    if (may_rest)
        overlay_rests_set_locked (state, true);
    pthread_mutex_unlock (&state->parts->lock);
    return may_rest;
}

static void
overlay_rest_end (void *data)
{
    struct overlay_inode *state = data;

    pthread_mutex_lock (&state->parts->lock);
    overlay_rests_set_locked (state, false);
    pthread_mutex_unlock (&state->parts->lock);
}

void
overlay_copy_rest (struct overlay_inode *state, struct job *job)
{
    job_rest (job, &(struct job_rests){ overlay_rest_begin, overlay_rest_end, state });
}

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

/* Whether the job must stop does not matter: calls wait for it. */
static int
overlay_copy_run (struct job *job, void *data)
{
    struct overlay_copy_task *task = data;
    int r;

    do
        r = overlay_copy_up_wanted (task->this, task->inode, job);
    while (!overlay_copy_ended (overlay_inode_get (task->this, task->inode), r));
    return r;
}

static void
overlay_copy_free (void *data)
{
    struct overlay_copy_task *task = data;

    inode_unref (task->inode);
    overlay_task_end (task->this);
    g_free (task);
}

/* Jobs that last begin as long as the graph takes calls. */
static void
overlay_copy_put (xlator_t *this, inode_t *inode)
{
    struct overlay_copy_task *task = g_new0 (struct overlay_copy_task, 1);
    g_autofree char *path = inode_path (inode, NULL);
    const struct job_plan plan = { .name = "copy", .about = path, .unit = "bytes", .owed = true,
                                   .lasts = true, .run = overlay_copy_run,
                                   .free = overlay_copy_free, .data = task };

    task->this = this;
    task->inode = inode_ref (inode);
    overlay_task_begin (this);
    if (job_begin (this, &plan) < 0)
        overlay_copy_ended (overlay_inode_get (this, inode), -ENOTCONN);
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
    if (state->rests)
        overlay_waiter_rests (waiter, 1);
    first = !state->queued;
    state->queued = true;
    if (call_stub_is_owed (stub))
        waiter->owed = stub;
    else
        held_add (overlay_priv (waiter->this)->held, stub, HELD_FOR_EVER, waiter);
    pthread_mutex_unlock (&parts->lock);
    return first;
}

static call_stack_t *
overlay_root_that_may_stay (const struct call *call, const inode_t *inode)
{
    call_stack_t *root = call->frame->root;

    return !opset_has (OPS_NEVER_REST, call->op) && root->about == inode_nodeid (inode) ? root
                                                                                       : NULL;
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
    waiter->root = overlay_root_that_may_stay (call, inode);
    if (overlay_waiter_add (waiter, stub))
        overlay_copy_put (this, kept);
}

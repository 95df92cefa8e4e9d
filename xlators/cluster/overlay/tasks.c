/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that go on on a thread of core/work, and the turns of directories. */
#include "overlay.h"

#define MOVES_PATIENCE (30 * G_GINT64_CONSTANT (1000000000)) /* nanoseconds */

struct overlay_local *
overlay_local_of (call_frame_t *frame)
{
    return frame->local ? frame->local : frame_local_new (frame, sizeof (struct overlay_local));
}

static void
tasks_add (xlator_t *this, int by)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_shared *parts = priv->parts;

    pthread_mutex_lock (&parts->tasks_lock);
    priv->tasks += (unsigned) by;
    parts->tasks += (unsigned) by;
    thread_cond_broadcast (&parts->tasks_changed);
    pthread_mutex_unlock (&parts->tasks_lock);
}

void
overlay_task_begin (xlator_t *this)
{
    tasks_add (this, 1);
}

void
overlay_task_end (xlator_t *this)
{
    tasks_add (this, -1);
}

void
overlay_tasks_wait (xlator_t *this)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_shared *parts = priv->parts;

    pthread_mutex_lock (&parts->tasks_lock);
    while (priv->tasks > 0)
        thread_cond_wait (&parts->tasks_changed, &parts->tasks_lock);
    pthread_mutex_unlock (&parts->tasks_lock);
}

void
overlay_all_tasks_wait (xlator_t *this, int64_t until)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;

    pthread_mutex_lock (&parts->tasks_lock);
    while (parts->tasks > 0 && clock_now () < until)
        (void) thread_cond_wait_until (&parts->tasks_changed, &parts->tasks_lock, until);
    pthread_mutex_unlock (&parts->tasks_lock);
}

unsigned
overlay_all_tasks (xlator_t *this)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    unsigned tasks;

    pthread_mutex_lock (&parts->tasks_lock);
    tasks = parts->tasks;
    pthread_mutex_unlock (&parts->tasks_lock);
    return tasks;
}

/* --- calls ------------------------------------------------------------------------------------ */

struct overlay_resumption {
    struct work_item work;
    xlator_t *this;
    call_stub_t *stub;
    inode_t *any;   /* with a reference */
    inode_t *lacks; /* with a reference; or NULL */
};

static void
overlay_resume (struct work_item *work)
{
    struct overlay_resumption *task = (struct overlay_resumption *) work;
    xlator_t *this = task->this;
    int r = overlay_start (this, task->any);

    if (r == 0 && task->lacks)
        r = overlay_inherit (this, task->lacks);
    inode_unref (task->lacks);
    inode_unref (task->any);
    call_resume_or_fail (task->stub, r < 0 ? -r : 0);
    g_free (task);
    overlay_task_end (this);
}

static inode_t *
overlay_any_inode (const struct call *call)
{
    if (call->fd && call->fd->inode)
        return call->fd->inode;
    return call->loc->inode ? call->loc->inode : call->loc->parent;
}

void
overlay_to_thread (const struct call *call, inode_t *lacks)
{
    struct overlay_resumption *task = g_new0 (struct overlay_resumption, 1);

    overlay_local_of (call->frame)->on_thread = true;
    task->work.run = overlay_resume;
    task->this = call->this;
    task->any = inode_ref (overlay_any_inode (call));
    task->lacks = inode_ref (lacks);
    task->stub = call_keep (call);
    if (!task->stub) {
        inode_unref (task->any);
        inode_unref (task->lacks);
        g_free (task);
        call_fail (call, ENOMEM);
        return;
    }
    overlay_task_begin (call->this);
    work_put (&task->work);
}

static bool
overlay_is_in_upper (xlator_t *this, inode_t *inode)
{
    return inode && realm_below (this, inode, OVERLAY_UPPER);
}

/* A thread costs two wake-ups, more than most of these operations take. */
bool
overlay_runs_here (const struct call *call)
{
    xlator_t *this = call->this;
    const bool moves = call->op == FOP_rename || call->op == FOP_link;

    if (!overlay_priv (this)->local)
        return false;
    if (call->op == FOP_readdir || call->op == FOP_readdirp)
        return true;
    if (moves && (!overlay_is_in_upper (this, call->loc->inode)
                  || !overlay_is_in_upper (this, call->newloc->parent)))
        return false;
    if (call->op == FOP_rename && call->flags & RENAME_EXCHANGE
        && !overlay_is_in_upper (this, call->newloc->inode))
        return false;
    return call->op == FOP_link || overlay_is_in_upper (this, call->loc->parent);
}

/* --- turns ------------------------------------------------------------------------------------ */

unsigned
overlay_turns (xlator_t *this, inode_t *directory)
{
    return __atomic_load_n (&overlay_inode_get (this, directory)->turns, __ATOMIC_SEQ_CST);
}

static unsigned
moves_now (const xlator_t *this)
{
    return __atomic_load_n (&overlay_priv (this)->parts->moves, __ATOMIC_SEQ_CST);
}

unsigned
overlay_moves (const xlator_t *this)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    const int64_t until = clock_now () + MOVES_PATIENCE;
    unsigned moves;

    pthread_mutex_lock (&parts->lock);
    while ((moves = moves_now (this)) % 2 == 1
           && thread_cond_wait_until (&parts->changed, &parts->lock, until) == 0)
        continue;
    pthread_mutex_unlock (&parts->lock);
    return moves;
}

bool
overlay_moved_since (const xlator_t *this, unsigned moves)
{
    return moves % 2 == 1 || moves != moves_now (this);
}

/* The work directory has a turn, too: it is an inode below, and has its count in the shared
 * object. */
static void
overlay_turns_count (xlator_t *this, inode_t *a, inode_t *b)
{
    inode_t *const directories[] = { a, b == a ? NULL : b };

    for (size_t i = 0; i < G_N_ELEMENTS (directories); i++) {
        unsigned *count = &overlay_priv (this)->parts->moves;

        if (!directories[i])
            continue;
        if (directories[i]->table == realm_root_above (this)->table)
            count = &overlay_inode_get (this, directories[i])->turns;
        __atomic_add_fetch (count, 1, __ATOMIC_SEQ_CST);
    }
}

void
overlay_turns_take (xlator_t *this, inode_t *a, inode_t *b)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;

    pthread_mutex_lock (&parts->lock);
    while (g_hash_table_contains (parts->turns, a)
           || (b && g_hash_table_contains (parts->turns, b)))
        thread_cond_wait (&parts->changed, &parts->lock);
    g_hash_table_add (parts->turns, a);
    if (b)
        g_hash_table_add (parts->turns, b);
    pthread_mutex_unlock (&parts->lock);
    overlay_turns_count (this, a, b);
}

void
overlay_turns_give (xlator_t *this, inode_t *a, inode_t *b)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;

    overlay_turns_count (this, a, b);
    pthread_mutex_lock (&parts->lock);
    g_hash_table_remove (parts->turns, a);
    if (b)
        g_hash_table_remove (parts->turns, b);
    thread_cond_broadcast (&parts->changed);
    pthread_mutex_unlock (&parts->lock);
}

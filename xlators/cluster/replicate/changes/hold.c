/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes of a file's data share a transaction, the hold. While it is held, an operation needs only
 * its wind to all copies:
 *
 *   locking --> held: operations run side by side, unless they touch the same bytes
 *                 |
 *                 +--> ending: when nothing runs, and either nothing came for
 *                      post-op-delay-secs, or another client wants the file, an operation failed
 *                      on a copy, a child came or went, the file is flushed, or the mount ends
 *
 * Operations wait in replicate_inode.waiting, in their order, until they may run; those that come
 * while a hold ends wait for the next one. Only one thread at a time decides the next step (pump).
 *
 * An operation is answered when all copies have it. If one failed, its answer waits for the end of
 * the hold: for the mark against that copy.
 */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NANOSECONDS 1000000000ll

enum step { STEP_NONE, STEP_START, STEP_RUN, STEP_END };

/* --- one step --------------------------------------------------------------------------------- */

static void
txn_unref (struct txn *txn)
{
    if (__atomic_sub_fetch (&txn->refs, 1, __ATOMIC_ACQ_REL) == 0)
        txn_free (txn);
}

/* Two clients' order of writes to the same bytes would differ between the copies. */
static bool
hold_conflicts (const struct txn *hold, const struct op *op)
{
    for (const GList *at = hold->running.head; at; at = at->next) {
        const struct op *running = at->data;

        if (running->from < op->to && op->from < running->to)
            return true;
    }
    return false;
}

static void
timer_stop_locked (struct txn *hold)
{
    core_timer_t *timer = g_steal_pointer (&hold->timer);

    if (timer && timer_cancel (timer))
        __atomic_sub_fetch (&hold->refs, 1, __ATOMIC_ACQ_REL); /* the hold's own is left */
}

static void hold_pump (xlator_t *this, inode_t *inode);

static void
hold_timer (void *data)
{
    struct txn *hold = data;
    xlator_t *this = hold->this;
    inode_t *inode = inode_ref (hold->subject[0]);
    struct replicate_inode *kept = inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    hold->timer = NULL;
    if (g_queue_is_empty (&hold->running))
        hold->release = true;
    pthread_mutex_unlock (&kept->lock);
    hold_pump (this, inode);
    inode_unref (inode);
    txn_unref (hold);
}

/* Returns how long a hold may wait for more; 0: not at all. */
static int64_t
hold_delay (const struct txn *hold)
{
    const replicate_t *priv = hold->this->private;

    if (!hold->patient || !__atomic_load_n (&priv->eager, __ATOMIC_RELAXED)
        || __atomic_load_n (&priv->ending, __ATOMIC_ACQUIRE))
        return 0;
    return __atomic_load_n (&priv->post_op_delay, __ATOMIC_RELAXED) * NANOSECONDS;
}

static bool
hold_is_outdated (const struct txn *hold)
{
    return hold->generation != children_generation (hold->this->private);
}

/* Nothing waits that may run. */
static enum step
hold_rest_locked (struct txn *hold)
{
    const int64_t delay = hold_delay (hold);

    if (!g_queue_is_empty (&hold->running))
        return STEP_NONE;
    if (hold->release || delay == 0) {
        hold->state = HOLD_ENDING;
        timer_stop_locked (hold);
        return STEP_END;
    }
    if (!hold->timer) {
        __atomic_add_fetch (&hold->refs, 1, __ATOMIC_RELAXED);
        hold->timer = timer_after (delay, hold_timer, hold);
    }
    return STEP_NONE;
}

/* Decides the next step, and takes the operation that is to run. */
static enum step
step_locked (struct replicate_inode *kept, struct op **ret_op)
{
    struct txn *hold = kept->hold;
    struct op *first = g_queue_peek_head (&kept->waiting);

    *ret_op = first;
    if (!hold)
        return first ? STEP_START : STEP_NONE;
    if (hold->state != HOLD_HELD)
        return STEP_NONE;
    hold->release |= hold_is_outdated (hold);
    if (!first || hold->release || hold_conflicts (hold, first))
        return hold_rest_locked (hold);
    g_queue_pop_head (&kept->waiting);
    g_queue_push_tail (&hold->running, first);
    timer_stop_locked (hold);
    first->txn = hold;
    first->children = hold->locked & ~hold->failed;
    if (!hold->fd)
        hold->fd = fd_ref (first->fd);
    return STEP_RUN;
}

static void
written_nothing (struct txn *hold)
{
    for (unsigned i = 0; i < COPIES_MAX; i++)
        hold->written[i] = (struct written){ INT64_MAX, INT64_MAX };
}

static void
hold_start (xlator_t *this, struct replicate_inode *kept, struct op *op)
{
    replicate_t *priv = this->private;
    struct txn *hold = txn_new (this, op);

    written_nothing (hold);
    __atomic_add_fetch (&priv->numbers.holds, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock (&priv->lock);
    g_queue_push_tail_link (&priv->holds, &hold->link);
    pthread_mutex_unlock (&priv->lock);
    pthread_mutex_lock (&kept->lock);
    kept->hold = hold;
    pthread_mutex_unlock (&kept->lock);
    txn_begin (hold);
}

static void
step_do (xlator_t *this, struct replicate_inode *kept, enum step step, struct op *op,
         struct txn *hold)
{
    if (step == STEP_START)
        hold_start (this, kept, op);
    else if (step == STEP_RUN)
        op_run (op, op->children);
    else if (step == STEP_END)
        txn_end (hold);
}

/* Does all steps that can be done now. A thread that comes while another is here leaves its work to
 * that one, so that steps that finish at once don't pile up on the stack. */
static void
hold_pump (xlator_t *this, inode_t *inode)
{
    struct replicate_inode *kept = inode_of (this, inode);
    enum step step = STEP_START;

    inode_ref (inode);
    pthread_mutex_lock (&kept->lock);
    kept->pump_again = true;
    while (!kept->pumping && (kept->pump_again || step != STEP_NONE)) {
        struct txn *hold = kept->hold;
        struct op *op;

        kept->pump_again = false;
        kept->pumping = true;
        step = step_locked (kept, &op);
        pthread_mutex_unlock (&kept->lock);
        step_do (this, kept, step, op, hold);
        pthread_mutex_lock (&kept->lock);
        kept->pumping = false;
    }
    pthread_mutex_unlock (&kept->lock);
    inode_unref (inode);
}

/* --- operations ------------------------------------------------------------------------------- */

void
hold_begin (struct op *op)
{
    struct replicate_inode *kept = inode_of (op->this, op->subject[0]);
    xlator_t *this = op->this;
    inode_t *inode = inode_ref (op->subject[0]);

    pthread_mutex_lock (&kept->lock);
    g_queue_push_tail (&kept->waiting, op);
    pthread_mutex_unlock (&kept->lock);
    hold_pump (this, inode);
    inode_unref (inode);
}

#define LOCKS_TOLD "glusterfs.inodelk-count"
#define APPENDED "glusterfs.write-is-append"

/* Returns whether another client waits for a lock on the data: the count has ours too. */
static bool
op_saw_waiting (const struct op *op)
{
    uint64_t locks;

    for (unsigned i = 0; op->fop == FOP_writev && i < op->fan.n; i++)
        if (op->succeeded & COPY (i)
            && dict_get_u64 (op->fan.answers[i].writev.xdata, LOCKS_TOLD, &locks) && locks > 1)
            return true;
    return false;
}

static void
op_wrote_locked (struct txn *hold, const struct op *op)
{
    uint64_t appended;

    for (unsigned i = 0; i < op->fan.n; i++) {
        const struct writev_reply *reply = &op->fan.answers[i].writev;
        struct written *written = &hold->written[i];

        if (!(op->succeeded & COPY (i)))
            continue;
        written->size_before = MIN (written->size_before, (off_t) reply->prebuf.ia_size);
        if (!dict_get_u64 (reply->xdata, APPENDED, &appended) || !appended)
            written->first = MIN (written->first, op->from);
    }
}

/* A copy that lost an append is shorter than the others. A brick may do one write before another
 * that was sent first: then neither is an append, but both together are. */
bool
hold_overwrote (const struct txn *hold)
{
    for (unsigned i = 0; i < COPIES_MAX; i++)
        if (hold->written[i].first < hold->written[i].size_before)
            return true;
    return false;
}

static void
op_leaves_locked (struct txn *hold, struct op *op)
{
    g_queue_remove (&hold->running, op);
    hold->failed |= op->failed;
    hold->changed |= op->succeeded != 0;
    hold->unmarkable |= op->succeeded && op->op_ret < 0;
    hold->release |= op->failed || op->op_ret < 0 || op_saw_waiting (op);
    hold->patient = op->fop == FOP_writev || op->fop == FOP_fsync;
    if (op->fop == FOP_fsync && op->op_ret >= 0 && !op->failed)
        written_nothing (hold);
    else if (op->fop == FOP_writev && !(op->fd->flags & (O_SYNC | O_DSYNC)))
        op_wrote_locked (hold, op);
    if (op->failed)
        g_queue_push_tail (&hold->unanswered, op);
}

void
hold_op_done (struct op *op)
{
    xlator_t *this = op->this;
    inode_t *inode = inode_ref (op->subject[0]);
    struct replicate_inode *kept = inode_of (this, inode);
    const bool answer = op->failed == 0;

    pthread_mutex_lock (&kept->lock);
    op_leaves_locked (op->txn, op);
    pthread_mutex_unlock (&kept->lock);
    hold_pump (this, inode);
    inode_unref (inode);
    if (answer)
        op_answer (op);
}

/* --- the hold --------------------------------------------------------------------------------- */

void
hold_ready (struct txn *txn)
{
    xlator_t *this = txn->this;
    inode_t *inode = inode_ref (txn->subject[0]);
    struct replicate_inode *kept = inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    txn->state = HOLD_HELD;
    pthread_mutex_unlock (&kept->lock);
    hold_pump (this, inode);
    inode_unref (inode);
}

void
hold_give_up (struct txn *txn, GQueue *ret_ops)
{
    struct replicate_inode *kept = inode_of (txn->this, txn->subject[0]);

    pthread_mutex_lock (&kept->lock);
    txn->state = HOLD_ENDING;
    *ret_ops = kept->waiting;
    g_queue_init (&kept->waiting);
    pthread_mutex_unlock (&kept->lock);
}

void
hold_ended (struct txn *txn)
{
    xlator_t *this = txn->this;
    replicate_t *priv = this->private;
    inode_t *inode = inode_ref (txn->subject[0]);
    struct replicate_inode *kept = inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    kept->hold = NULL;
    pthread_mutex_unlock (&kept->lock);
    pthread_mutex_lock (&priv->lock);
    g_queue_unlink (&priv->holds, &txn->link);
    pthread_mutex_unlock (&priv->lock);
    hold_pump (this, inode);
    txn_unref (txn);
    inode_unref (inode);
}

void
hold_release (xlator_t *this, inode_t *inode)
{
    struct replicate_inode *kept = inode_ctx_get (inode, this);
    bool held;

    if (!kept)
        return;
    pthread_mutex_lock (&kept->lock);
    held = kept->hold != NULL;
    if (held)
        kept->hold->release = true;
    pthread_mutex_unlock (&kept->lock);
    if (held)
        hold_pump (this, inode);
}

void
holds_release (xlator_t *this)
{
    replicate_t *priv = this->private;
    g_autoptr (GPtrArray) inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);

    pthread_mutex_lock (&priv->lock);
    for (GList *at = priv->holds.head; at; at = at->next)
        g_ptr_array_add (inodes, inode_ref (((struct txn *) at->data)->subject[0]));
    pthread_mutex_unlock (&priv->lock);
    for (guint i = 0; i < inodes->len; i++)
        hold_release (this, inodes->pdata[i]);
}

/* Another client wants what we may hold. */
void
hold_wanted (xlator_t *this, const struct lock_contention *wanted)
{
    replicate_t *priv = this->private;
    g_autoptr (inode_t) inode = NULL;

    if (wanted->of_entry || strcmp (wanted->volume, this->name) != 0)
        return;
    pthread_mutex_lock (&priv->lock);
    for (GList *at = priv->holds.head; at && !inode; at = at->next) {
        inode_t *held = ((struct txn *) at->data)->subject[0];

        if (gfid_equal (&held->gfid, &wanted->gfid))
            inode = inode_ref (held);
    }
    pthread_mutex_unlock (&priv->lock);
    if (inode)
        hold_release (this, inode);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The eager lock. Changes of the data of one file share a transaction. While the transaction keeps
 * its lock, an operation needs no step of its own but the wind to all copies. The states of the
 * transaction:
 *
 *   locking --> locked: operations run side by side, unless they touch the same bytes
 *                 |
 *                 +--> ending: when no operation runs, and either none came for
 *                      post-op-delay-secs, or another client waits for the lock, an operation
 *                      failed on a copy, a child came or went, the file is flushed, or the mount
 *                      ends
 *
 * Operations that can't start yet wait in replicate_inode.claims, in the order of their calls.
 * Operations that arrive while a transaction is ending wait for the next transaction. Only one
 * thread at a time decides the next step (eager_pump).
 *
 * The caller of an operation is answered when all copies have answered. If a copy failed, the
 * answer waits until the post-op has raised the pending counter against that copy.
 */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NANOSECONDS 1000000000ll

enum eager_step { EAGER_STEP_NONE, EAGER_STEP_START, EAGER_STEP_RUN, EAGER_STEP_END };

/* --- one step --------------------------------------------------------------------------------- */

static void
txn_unref (struct txn *txn)
{
    if (__atomic_sub_fetch (&txn->refs, 1, __ATOMIC_ACQ_REL) == 0)
        txn_free (txn);
}

static void
eager_timer_stop_locked (struct txn *eager)
{
    core_timer_t *timer = g_steal_pointer (&eager->timer);

    /* The timer's reference is not the last one, since the transaction has one of its own. */
    if (timer && timer_cancel (timer))
        __atomic_sub_fetch (&eager->refs, 1, __ATOMIC_ACQ_REL);
}

static void eager_pump (xlator_t *this, inode_t *inode);

static void
eager_timer (void *data)
{
    struct txn *eager = data;
    xlator_t *this = eager->this;
    inode_t *inode = inode_ref (eager->subject[0]);
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    eager->timer = NULL;
    if (kept->claims.started == 0)
        eager->release = true;
    pthread_mutex_unlock (&kept->lock);
    eager_pump (this, inode);
    inode_unref (inode);
    txn_unref (eager);
}

/* Returns the time, in nanoseconds, for which the lock is kept after the last operation; 0: the
 * lock is released at once. */
static int64_t
eager_delay (const struct txn *eager)
{
    const replicate_t *priv = eager->this->private;

    if (!eager->patient || !__atomic_load_n (&priv->eager, __ATOMIC_RELAXED)
        || __atomic_load_n (&priv->ending, __ATOMIC_ACQUIRE)
        || __atomic_load_n (&priv->holding, __ATOMIC_ACQUIRE))
        return 0;
    return __atomic_load_n (&priv->post_op_delay, __ATOMIC_RELAXED) * NANOSECONDS;
}

static bool
eager_is_outdated (const struct txn *eager)
{
    return eager->generation != children_generation (eager->this->private);
}

/* Decides the step if no operation can start now: none while operations run or the timer runs, else
 * the end of the transaction. */
static enum eager_step
eager_rest_locked (const struct replicate_inode *kept, struct txn *eager)
{
    const int64_t delay = eager_delay (eager);

    if (kept->claims.started > 0)
        return EAGER_STEP_NONE;
    if (eager->release || delay == 0) {
        eager->state = EAGER_ENDING;
        eager_timer_stop_locked (eager);
        return EAGER_STEP_END;
    }
    if (!eager->timer) {
        __atomic_add_fetch (&eager->refs, 1, __ATOMIC_RELAXED);
        eager->timer = timer_after (delay, eager_timer, eager);
    }
    return EAGER_STEP_NONE;
}

/* Returns the next step. For EAGER_STEP_RUN, *ret_op is the operation, with its claim started; for
 * EAGER_STEP_START, the first operation that waits. */
static enum eager_step
eager_step_locked (struct replicate_inode *kept, struct changing **ret_op)
{
    struct txn *eager = kept->eager;
    struct byte_claim *claim = kept->claims.first;
    struct changing *op = *ret_op = claim ? claim->owner : NULL;

    if (!eager)
        return op ? EAGER_STEP_START : EAGER_STEP_NONE;
    if (eager->state != EAGER_LOCKED)
        return EAGER_STEP_NONE;
    eager->release |= eager_is_outdated (eager);
    claim = eager->release ? NULL : byte_claims_start_next (&kept->claims);
    if (!claim)
        return eager_rest_locked (kept, eager);
    op = *ret_op = claim->owner;
    eager_timer_stop_locked (eager);
    op->txn = eager;
    op->children = eager->locked & ~eager->failed;
    if (!eager->fd)
        eager->fd = fd_ref (op->fd);
    return EAGER_STEP_RUN;
}

static void
eager_wrote_nothing (struct txn *eager)
{
    for (unsigned i = 0; i < COPIES_MAX; i++)
        eager->written[i] = (struct written){ INT64_MAX, INT64_MAX };
}

static void
eager_start (xlator_t *this, struct replicate_inode *kept, struct changing *op)
{
    replicate_t *priv = this->private;
    struct txn *eager = txn_new (this, op);

    eager_wrote_nothing (eager);
    __atomic_add_fetch (&priv->numbers.eager_locks, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock (&priv->lock);
    g_queue_push_tail_link (&priv->eager_locks, &eager->link);
    pthread_mutex_unlock (&priv->lock);
    pthread_mutex_lock (&kept->lock);
    kept->eager = eager;
    pthread_mutex_unlock (&kept->lock);
    txn_begin (eager);
}

static void
eager_step_do (xlator_t *this, struct replicate_inode *kept, enum eager_step step,
               struct changing *op, struct txn *eager)
{
    if (step == EAGER_STEP_START)
        eager_start (this, kept, op);
    else if (step == EAGER_STEP_RUN)
        changing_run (op, op->children);
    else if (step == EAGER_STEP_END)
        txn_end (eager);
}

/* Does all steps that can be done now. If a call of this function is already under way for the
 * inode, on this thread or another, that call does the steps. So steps that end at once do not nest
 * on the stack. */
static void
eager_pump (xlator_t *this, inode_t *inode)
{
    struct replicate_inode *kept = replicate_inode_of (this, inode);
    enum eager_step step = EAGER_STEP_START;

    inode_ref (inode);
    pthread_mutex_lock (&kept->lock);
    kept->pump_again = true;
    while (!kept->pumping && (kept->pump_again || step != EAGER_STEP_NONE)) {
        struct txn *eager = kept->eager;
        struct changing *op;

        kept->pump_again = false;
        kept->pumping = true;
        step = eager_step_locked (kept, &op);
        pthread_mutex_unlock (&kept->lock);
        eager_step_do (this, kept, step, op, eager);
        pthread_mutex_lock (&kept->lock);
        kept->pumping = false;
    }
    pthread_mutex_unlock (&kept->lock);
    inode_unref (inode);
}

/* --- operations ------------------------------------------------------------------------------- */

void
eager_begin (struct changing *op)
{
    struct replicate_inode *kept = replicate_inode_of (op->this, op->subject[0]);
    xlator_t *this = op->this;
    inode_t *inode = inode_ref (op->subject[0]);

    pthread_mutex_lock (&kept->lock);
    byte_claim_add (&kept->claims, &op->claim);
    pthread_mutex_unlock (&kept->lock);
    eager_pump (this, inode);
    inode_unref (inode);
}

#define LOCKS_COUNTED "glusterfs.inodelk-count"
#define APPENDED "glusterfs.write-is-append"

/* Returns whether another client waits for the lock. The number of locks that a brick reports
 * includes this client's own, so it must be more than 1. */
static bool
changing_saw_waiting (const struct changing *op)
{
    uint64_t locks;

    for (unsigned i = 0; op->fop == FOP_writev && i < op->fan.n; i++)
        if (op->succeeded & COPY (i)
            && dict_get_u64 (op->fan.answers[i].writev.xdata, LOCKS_COUNTED, &locks) && locks > 1)
            return true;
    return false;
}

static void
eager_wrote_locked (struct txn *eager, const struct changing *op)
{
    uint64_t appended;

    for (unsigned i = 0; i < op->fan.n; i++) {
        const struct writev_reply *reply = &op->fan.answers[i].writev;
        struct written *written = &eager->written[i];

        if (!(op->succeeded & COPY (i)))
            continue;
        written->size_before = MIN (written->size_before, (off_t) reply->prebuf.ia_size);
        if (!dict_get_u64 (reply->xdata, APPENDED, &appended) || !appended)
            written->first = MIN (written->first, op->claim.from);
    }
}

/* Returns whether a write since the last fsync may have overwritten data of a copy, so that an
 * fsync is needed before the post-op. An append needs no fsync: a copy that loses it is shorter
 * than the others, and so not read. A write counts as an overwrite only if it begins before the
 * smallest size that the file had before these writes, even if the brick reports that it was no
 * append. A brick that executes two appends in reverse order reports that neither was one. */
bool
eager_overwrote (const struct txn *eager)
{
    for (unsigned i = 0; i < COPIES_MAX; i++)
        if (eager->written[i].first < eager->written[i].size_before)
            return true;
    return false;
}

static void
eager_left_locked (struct replicate_inode *kept, struct txn *eager, struct changing *op)
{
    byte_claim_remove (&kept->claims, &op->claim);
    eager->failed |= op->failed;
    eager->changed |= op->succeeded != 0;
    eager->doubtful |= op->failed != 0;
    eager->no_quorum |= op->succeeded && op->op_ret < 0;
    eager->release |= op->failed || op->op_ret < 0 || changing_saw_waiting (op);
    eager->patient = op->fop == FOP_writev || op->fop == FOP_fsync;
    if (op->fop == FOP_fsync && op->op_ret >= 0 && !op->failed)
        eager_wrote_nothing (eager);
    else if (op->fop == FOP_writev && !(op->fd->flags & (O_SYNC | O_DSYNC)))
        eager_wrote_locked (eager, op);
    if (op->failed)
        g_queue_push_tail (&eager->unanswered, op);
}

void
eager_op_done (struct changing *op)
{
    xlator_t *this = op->this;
    inode_t *inode = inode_ref (op->subject[0]);
    struct replicate_inode *kept = replicate_inode_of (this, inode);
    const bool answer = op->failed == 0;

    pthread_mutex_lock (&kept->lock);
    eager_left_locked (kept, op->txn, op);
    pthread_mutex_unlock (&kept->lock);
    eager_pump (this, inode);
    inode_unref (inode);
    if (answer)
        changing_answer (op);
}

/* --- the lock --------------------------------------------------------------------------------- */

void
eager_ready (struct txn *txn)
{
    xlator_t *this = txn->this;
    inode_t *inode = inode_ref (txn->subject[0]);
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    txn->state = EAGER_LOCKED;
    pthread_mutex_unlock (&kept->lock);
    eager_pump (this, inode);
    inode_unref (inode);
}

void
eager_give_up (struct txn *txn, GQueue *ret_ops)
{
    struct replicate_inode *kept = replicate_inode_of (txn->this, txn->subject[0]);

    pthread_mutex_lock (&kept->lock);
    txn->state = EAGER_ENDING;
    while (kept->claims.first) {
        g_queue_push_tail (ret_ops, kept->claims.first->owner);
        byte_claim_remove (&kept->claims, kept->claims.first);
    }
    pthread_mutex_unlock (&kept->lock);
}

void
eager_ended (struct txn *txn)
{
    xlator_t *this = txn->this;
    replicate_t *priv = this->private;
    inode_t *inode = inode_ref (txn->subject[0]);
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    kept->eager = NULL;
    pthread_mutex_unlock (&kept->lock);
    pthread_mutex_lock (&priv->lock);
    g_queue_unlink (&priv->eager_locks, &txn->link);
    pthread_mutex_unlock (&priv->lock);
    eager_pump (this, inode);
    txn_unref (txn);
    inode_unref (inode);
}

void
eager_release (xlator_t *this, inode_t *inode)
{
    struct replicate_inode *kept = inode_ctx_get (inode, this);
    bool held;

    if (!kept)
        return;
    pthread_mutex_lock (&kept->lock);
    held = kept->eager != NULL;
    if (held)
        kept->eager->release = true;
    pthread_mutex_unlock (&kept->lock);
    if (held)
        eager_pump (this, inode);
}

void
eager_release_all (xlator_t *this)
{
    replicate_t *priv = this->private;
    g_autoptr (GPtrArray) inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);

    pthread_mutex_lock (&priv->lock);
    for (GList *at = priv->eager_locks.head; at; at = at->next)
        g_ptr_array_add (inodes, inode_ref (((struct txn *) at->data)->subject[0]));
    pthread_mutex_unlock (&priv->lock);
    for (guint i = 0; i < inodes->len; i++)
        eager_release (this, inodes->pdata[i]);
}

/* Releases the eager lock that another client waits for, if it is a lock of this translator. */
void
eager_wanted (xlator_t *this, const struct lock_contention *wanted)
{
    replicate_t *priv = this->private;
    g_autoptr (inode_t) inode = NULL;

    if (wanted->of_entry || strcmp (wanted->volume, this->name) != 0)
        return;
    pthread_mutex_lock (&priv->lock);
    for (GList *at = priv->eager_locks.head; at && !inode; at = at->next) {
        inode_t *held = ((struct txn *) at->data)->subject[0];

        if (gfid_equal (&held->gfid, &wanted->gfid))
            inode = inode_ref (held);
    }
    pthread_mutex_unlock (&priv->lock);
    if (inode)
        eager_release (this, inode);
}

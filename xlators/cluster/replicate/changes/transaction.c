/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A transaction. Each step runs on all copies, and ends before the next one begins:
 *
 *   txn_begin -> locks (lock.c) -> pre-op -> eager_ready, or changing_run for attributes and names
 *   txn_end -> pending counters of a new object -> fsync -> post-op -> answers -> unlock
 */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Keys in xdata by which a brick adds a name to, or removes it from, its list of the names of a
 * directory that need a heal. */
#define NAME_CHANGES "glusterfs.xattrop-entry-create"
#define NAME_IS_CLEAN "glusterfs.xattrop-entry-delete"

/* --- beginning and end ------------------------------------------------------------------------ */

static void
txn_drop (void *local)
{
    struct txn *txn = local;

    fan_clear (&txn->fan);
    for (int i = 0; i < 2; i++) {
        loc_wipe_path (&txn->locs[i]);
        inode_unref (txn->subject[i]);
        g_free (txn->entry[i]);
    }
    for (unsigned i = 0; i < txn->n_locks; i++) {
        inode_unref (txn->locks[i].inode);
        g_free (txn->locks[i].name);
    }
    fd_unref (txn->fd);
    inode_unref (txn->made);
}

/* Gives the transaction its locks. An operation on data shares the transaction, which locks the
 * whole file. An operation on attributes or names has a transaction of its own, and gives it the
 * locks that the operation has listed. */
static void
txn_take_locks (struct txn *txn, struct changing *op)
{
    if (op->kind == COUNTER_DATA) {
        txn->locks[txn->n_locks++] = (struct lockee){ .inode = inode_ref (op->subject[0]) };
        return;
    }
    memcpy (txn->locks, op->locks, sizeof txn->locks);
    txn->n_locks = op->n_locks;
    op->n_locks = 0;
    op->txn = txn;
    txn->op = op;
}

static struct txn *
txn_make (xlator_t *this, call_frame_t *caller, enum counter_kind kind)
{
    replicate_t *priv = this->private;
    call_frame_t *frame = request_new (this, caller);
    struct txn *txn = frame_local_new (frame, sizeof *txn);

    frame->root->lk_owner = owner_new (priv);
    txn->head.drop = txn_drop;
    txn->this = this;
    txn->frame = frame;
    txn->kind = kind;
    txn->refs = 1;
    txn->link.data = txn;
    txn->generation = children_generation (priv);
    txn->children = children_up (priv);
    fan_init (&txn->fan, frame, priv->n * LOCKS_MAX);
    return txn;
}

struct txn *
txn_of_name (xlator_t *this, call_frame_t *caller, inode_t *directory, const char *name, void *data)
{
    struct txn *txn = txn_make (this, caller, COUNTER_ENTRY);

    txn->data = data;
    txn->n_locks = 1;
    txn->locks[0] = (struct lockee){ .inode = inode_ref (directory),
                                     .entry = true,
                                     .name = g_strdup (name) };
    return txn;
}

struct txn *
txn_new (xlator_t *this, struct changing *op)
{
    replicate_t *priv = this->private;
    struct txn *txn = txn_make (this, op->frame, op->kind);

    __atomic_add_fetch (&priv->numbers.transactions, 1, __ATOMIC_RELAXED);
    txn->fd = fd_ref (op->fd);
    for (int i = 0; i < 2; i++) {
        txn->subject[i] = inode_ref (op->subject[i]);
        txn->locs[i].inode = op->subject[i];
        txn->entry[i] = g_strdup (op->entry[i]);
    }
    txn_take_locks (txn, op);
    return txn;
}

void
txn_free (struct txn *txn)
{
    request_done (txn->this, txn->frame);
}

static void
txn_gone (struct txn *txn)
{
    if (txn->kind == COUNTER_DATA)
        eager_ended (txn);
    else
        txn_free (txn);
}

static void
txn_missed (struct txn *txn, copies_t missing)
{
    for (int i = 0; i < 2 && txn->subject[i]; i++)
        inode_missed (txn->this, txn->subject[i], txn->kind, missing, &txn->missed[i]);
}

static void
txn_missed_recorded (struct txn *txn)
{
    for (int i = 0; i < 2 && txn->subject[i]; i++)
        if (txn->missed[i])
            inode_recorded (txn->this, txn->subject[i], &txn->missed[i]);
}

static copies_t
txn_good (const struct txn *txn)
{
    return txn->locked & ~txn->failed;
}

/* --- counters --------------------------------------------------------------------------------- */

/* Returns xdata that sends a brick the name that changes, so that a healer compares no other names;
 * NULL: no name is sent. */
static dict_t *
name_xdata (const struct txn *txn, const char *key, int subject)
{
    const replicate_t *priv = txn->this->private;
    dict_t *xdata;

    if (!key || !txn->entry[subject] || txn->kind != COUNTER_ENTRY
        || !__atomic_load_n (&priv->granular, __ATOMIC_RELAXED))
        return NULL;
    xdata = dict_new ();
    dict_set_str (xdata, key, txn->entry[subject]);
    return xdata;
}

/* Adds `counters` to the changelogs of the subjects on the set `on` of copies; then calls next. The
 * answers for subject s begin at index s * priv->n of txn->fan. */
static void
counters_wind (struct txn *txn, copies_t on, dict_t *counters, const char *key,
               void (*next) (call_frame_t *frame))
{
    replicate_t *priv = txn->this->private;

    fan_begin (&txn->fan, next);
    for (int s = 0; s < 2 && txn->subject[s]; s++) {
        dict_t *xdata = name_xdata (txn, key, s);

        for (unsigned i = 0; i < priv->n; i++)
            if (on & COPY (i))
                FAN_WIND (&txn->fan, (unsigned) s * priv->n + i, priv->children[i], xattrop,
                          &txn->locs[s], XATTROP_ADD_ARRAY, counters, xdata);
        dict_unref (xdata);
    }
    fan_end (&txn->fan);
}

/* Returns the copies on which counters_wind failed, with the errno of one in *ret_error. */
static copies_t
counters_failed (const struct txn *txn, int *ret_error)
{
    const replicate_t *priv = txn->this->private;
    copies_t failed = 0;

    for (unsigned i = 0; i < 2 * priv->n; i++) {
        const struct fan_answer *answer = &txn->fan.answers[i];

        if (answer->op == FOP_xattrop && answer->op_ret < 0) {
            failed |= COPY (i % priv->n);
            *ret_error = answer->op_errno;
        }
    }
    return failed;
}

/* --- pre-op ----------------------------------------------------------------------------------- */

static void
txn_failed (struct txn *txn, int error)
{
    struct changing *op = g_steal_pointer (&txn->op);
    GQueue ops = G_QUEUE_INIT;

    txn_missed_recorded (txn);
    if (txn->kind == COUNTER_DATA)
        eager_give_up (txn, &ops);
    else
        g_queue_push_tail (&ops, op);
    txn_unlock (txn, txn_gone);
    while ((op = g_queue_pop_head (&ops)))
        changing_fail (op, error);
}

static void
txn_run (struct txn *txn)
{
    if (txn->kind == COUNTER_DATA)
        eager_ready (txn);
    else
        changing_run (txn->op, txn_good (txn));
}

/* Returns whether the arbiter's copy is the only good one, by the pending counters in the answers
 * to the pre-op. If so, the change must fail: after it, no copy with data would be good. */
static bool
arbiter_is_alone (const struct txn *txn)
{
    const replicate_t *priv = txn->this->private;
    copies_t good = txn_good (txn);

    if (priv->arbiter < 0)
        return false;
    for (unsigned i = 0; i < priv->n; i++) {
        struct copy copy = { 0 };

        if (!(txn_good (txn) & COPY (i)))
            continue;
        copy.there = true;
        copy_read_changelog (&copy, &priv->changelog, txn->fan.answers[i].xattrop.dict);
        for (unsigned j = 0; j < priv->n; j++)
            if (copy.accuses[j].count[txn->kind] != 0)
                good &= ~COPY (j);
    }
    return good == COPY (priv->arbiter);
}

static void
pre_op_done (call_frame_t *frame)
{
    struct txn *txn = frame->local;

    txn->failed |= counters_failed (txn, &txn->error);
    if (!children_quorum (txn->this->private, txn_good (txn)) || arbiter_is_alone (txn))
        txn_failed (txn, txn->error ? txn->error : ENOTCONN);
    else
        txn_run (txn);
}

/* Raises the dirty counters. If the volume has an arbiter, also reads the pending counters, by
 * adding zeros to them (see arbiter_is_alone). */
static void
pre_op (struct txn *txn)
{
    const replicate_t *priv = txn->this->private;
    const struct counter none = { 0 };
    struct counter dirty = { 0 };
    dict_t *counters = dict_new ();

    dirty.count[txn->kind] = 1;
    counter_set (counters, priv->dirty_name, &dirty);
    for (unsigned i = 0; priv->arbiter >= 0 && i < priv->n; i++)
        counter_set (counters, priv->pending[i], &none);
    txn->dirtied = true;
    counters_wind (txn, txn->locked, counters, NAME_CHANGES, pre_op_done);
    dict_unref (counters);
}

static void
txn_locked (struct txn *txn)
{
    const replicate_t *priv = txn->this->private;
    const bool whole = txn->locked == copies_all (priv->n);

    if (!children_quorum (priv, txn->locked)) {
        txn_failed (txn, txn->error ? txn->error : ENOTCONN);
        return;
    }
    if (!whole)
        txn_missed (txn, copies_all (priv->n) & ~txn->locked);
    if (txn->kind == COUNTER_DATA || !whole || !priv->optimistic)
        pre_op (txn);
    else
        txn_run (txn);
}

void
txn_begin (struct txn *txn)
{
    txn_lock (txn, txn_locked);
}

/* --- post-op ---------------------------------------------------------------------------------- */

/* Answers the operations that waited for the post-op. The unlock is sent first and may free the
 * transaction, so the operations are taken from it before. */
static void
txn_recorded (struct txn *txn)
{
    GQueue ops = txn->unanswered;
    const int error = txn->error;
    struct changing *op;

    g_queue_init (&txn->unanswered);
    txn_missed_recorded (txn);
    if (txn->op)
        g_queue_push_tail (&ops, g_steal_pointer (&txn->op));
    txn_unlock (txn, txn_gone);
    while ((op = g_queue_pop_head (&ops))) {
        if (error && op->op_ret >= 0)
            changing_fail (op, error);
        else
            changing_answer (op);
    }
}

static void
post_op_done (call_frame_t *frame)
{
    struct txn *txn = frame->local;
    int error = 0;
    const copies_t failed = counters_failed (txn, &error);

    txn->error = 0;
    if (failed && !children_quorum (txn->this->private, txn_good (txn) & ~failed))
        txn->error = error;
    if (failed)
        gf_log (txn->this, GF_LOG_WARNING, "a copy's changelog could not be changed: %s",
                error_name (error));
    txn_recorded (txn);
}

/* Stores in `counters` the numbers that the post-op adds, and in *ret_key the key for name_xdata,
 * or NULL. Returns whether there is a number to add. The post-op lowers the dirty counters, unless
 * a copy may differ and no pending counter can accuse it. If only the pre-op failed on a copy and
 * no copy was changed, none differs. */
static bool
post_op_counters (struct txn *txn, dict_t *counters, const char **ret_key)
{
    const replicate_t *priv = txn->this->private;
    const copies_t all = copies_all (priv->n), good = txn_good (txn), bad = all & ~good;
    const bool accuse = txn->changed && bad && !txn->no_quorum && children_quorum (priv, good);
    struct counter one = { 0 }, back = { 0 };

    one.count[txn->kind] = 1;
    back.count[txn->kind] = -1;
    *ret_key = accuse && txn->failed              ? NAME_CHANGES
               : !txn->failed && !bad && txn->changed ? NAME_IS_CLEAN
                                                      : NULL;
    if (txn->changed && bad && !accuse) {
        if (!txn->dirtied)
            counter_set (counters, priv->dirty_name, &one);
        return !txn->dirtied;
    }
    for (unsigned i = 0; accuse && i < priv->n; i++)
        if (bad & COPY (i))
            counter_set (counters, priv->pending[i], &one);
    if (txn->dirtied && (accuse || !txn->doubtful))
        counter_set (counters, priv->dirty_name, &back);
    return dict_count (counters) > 0;
}

static void
post_op (struct txn *txn)
{
    g_autoptr (dict_t) counters = dict_new ();
    const char *key;

    txn->error = 0;
    if (txn_good (txn) && post_op_counters (txn, counters, &key))
        counters_wind (txn, txn_good (txn), counters, key, post_op_done);
    else
        txn_recorded (txn);
}

static void
txn_synced (call_frame_t *frame)
{
    struct txn *txn = frame->local;
    const replicate_t *priv = txn->this->private;

    for (unsigned i = 0; i < priv->n; i++)
        if (txn->fan.answers[i].op == FOP_fsync && txn->fan.answers[i].op_ret < 0) {
            gf_log (txn->this, GF_LOG_WARNING, "fsync failed on %s: %s", priv->names[i],
                    error_name (txn->fan.answers[i].op_errno));
            txn->failed |= COPY (i);
        }
    if (txn->failed)
        txn_missed (txn, txn->failed);
    post_op (txn);
}

/* Sends an fsync to the copies before the post-op, which lowers the dirty counters, if bytes were
 * overwritten. A brick whose machine fails may lose a write that is not on its disk; without the
 * dirty counter nothing would show that its copy differs. */
static void
sync_data (struct txn *txn)
{
    replicate_t *priv = txn->this->private;
    const copies_t on = txn->fd ? txn_good (txn) & fd_opened (txn->this, txn->fd) : 0;

    if (!on || !eager_overwrote (txn) || !__atomic_load_n (&priv->durable, __ATOMIC_RELAXED)) {
        post_op (txn);
        return;
    }
    fan_begin (&txn->fan, txn_synced);
    for (unsigned i = 0; i < priv->n; i++)
        if (on & COPY (i))
            FAN_WIND (&txn->fan, i, priv->children[i], fsync, txn->fd, 1, NULL);
    fan_end (&txn->fan);
}

/* --- a new object ----------------------------------------------------------------------------- */

static void
txn_accused_of_new (call_frame_t *frame)
{
    sync_data (frame->local);
}

/* Raises the pending counters of a new object against the copies that lack it, so that a heal
 * copies all its parts. For a directory the number for data is raised as well if
 * granular-entry-heal is on: it tells healers that bricks have no list of the names to heal. */
static void
txn_accuse_of_new (struct txn *txn)
{
    replicate_t *priv = txn->this->private;
    const bool directory = txn->made_type == IA_IFDIR;
    const struct counter all = { { txn->made_type == IA_IFREG || (directory && priv->granular), 1,
                                directory } };
    loc_t loc = { .inode = txn->made };
    dict_t *counters = dict_new ();

    for (unsigned i = 0; i < priv->n; i++)
        if (!(txn->made_on & COPY (i)))
            counter_set (counters, priv->pending[i], &all);
    fan_begin (&txn->fan, txn_accused_of_new);
    for (unsigned i = 0; i < priv->n; i++)
        if (txn->made_on & COPY (i))
            FAN_WIND (&txn->fan, i, priv->children[i], xattrop, &loc, XATTROP_ADD_ARRAY, counters,
                      NULL);
    loc_wipe_path (&loc);
    dict_unref (counters);
    fan_end (&txn->fan);
}

void
txn_end (struct txn *txn)
{
    if (txn->made && txn->made_type != IA_IFLNK)
        txn_accuse_of_new (txn);
    else
        sync_data (txn);
}

/* The caller is answered before the post-op if no copy missed the change. If one did, or its child
 * is down, the answer waits for the post-op: until then no pending counter shows that this copy has
 * missed the change. */
void
txn_op_done (struct txn *txn, struct changing *op)
{
    const replicate_t *priv = txn->this->private;

    txn->failed |= op->failed;
    txn->changed = op->succeeded != 0;
    txn->doubtful = op->failed != 0;
    txn->no_quorum = op->succeeded && op->op_ret < 0;
    if (txn->failed || (txn->changed && txn->locked != copies_all (priv->n))) {
        txn_end (txn);
        return;
    }
    txn->op = NULL;
    txn_end (txn);
    changing_answer (op);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks of a transaction on all copies. txn_lock first sends requests for all locks to all copies
 * at once; a brick refuses such a request if another client has the lock. If one is refused so,
 * txn_lock releases the locks that were granted, and takes all of them one by one, waiting for
 * each. All clients take them in the same order, so no two clients wait for each other.
 */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The first byte of the range that a change of attributes locks. The range lies behind all data. */
#define METADATA_LOCK (INT64_MAX - 1)

static struct gf_flock
txn_range (const struct txn *txn, short type)
{
    return (struct gf_flock){ .l_type = type,
                              .l_start = txn->kind == COUNTER_METADATA ? METADATA_LOCK : 0 };
}

static void
lock_wind (struct txn *txn, unsigned which, unsigned child, bool unlock, bool wait)
{
    replicate_t *priv = txn->this->private;
    const struct lockee *lockee = &txn->locks[which];
    struct gf_flock range = txn_range (txn, unlock ? F_UNLCK : F_WRLCK);
    loc_t loc = { .inode = lockee->inode };
    const unsigned at = which * priv->n + child;

    if (lockee->entry)
        FAN_WIND (&txn->fan, at, priv->children[child], entrylk, txn->this->name, &loc,
                  lockee->name,
                  unlock ? ENTRYLK_UNLOCK
                  : wait ? ENTRYLK_LOCK
                         : ENTRYLK_LOCK_NB,
                  ENTRYLK_WRLCK, NULL);
    else
        FAN_WIND (&txn->fan, at, priv->children[child], inodelk, txn->this->name, &loc,
                  wait ? F_SETLKW : F_SETLK, &range, NULL);
    loc_wipe_path (&loc);
}

static void
lock_next (struct txn *txn)
{
    replicate_t *priv = txn->this->private;

    txn->locked = copies_all (priv->n);
    for (unsigned i = 0; i < txn->n_locks; i++)
        txn->locked &= txn->locks[i].locked;
    txn->next (txn);
}

/* --- one by one ------------------------------------------------------------------------------- */

static void lock_one (struct txn *txn);

static void
lock_one_taken (call_frame_t *frame)
{
    struct txn *txn = frame->local;
    replicate_t *priv = txn->this->private;
    const unsigned which = txn->at / priv->n, child = txn->at % priv->n;
    const struct fan_answer *answer = &txn->fan.answers[txn->at];

    if (answer->op_ret >= 0) {
        txn->locks[which].locked |= COPY (child);
    } else {
        txn->children &= ~COPY (child);
        txn->error = answer->op_errno;
    }
    txn->at++;
    lock_one (txn);
}

static void
lock_one (struct txn *txn)
{
    replicate_t *priv = txn->this->private;
    const unsigned n = txn->n_locks * priv->n;

    while (txn->at < n && !(txn->children & COPY (txn->at % priv->n)))
        txn->at++;
    if (txn->at == n) {
        lock_next (txn);
        return;
    }
    fan_begin (&txn->fan, lock_one_taken);
    lock_wind (txn, txn->at / priv->n, txn->at % priv->n, false, true);
    fan_end (&txn->fan);
}

static int
lockee_compare (const void *one, const void *other)
{
    const struct lockee *a = one, *b = other;
    const int order = memcmp (a->inode->gfid.b, b->inode->gfid.b, sizeof a->inode->gfid.b);

    return order != 0 ? order : g_strcmp0 (a->name, b->name);
}

static void
lock_all_released (call_frame_t *frame)
{
    struct txn *txn = frame->local;

    for (unsigned i = 0; i < txn->n_locks; i++)
        txn->locks[i].locked = 0;
    qsort (txn->locks, txn->n_locks, sizeof *txn->locks, lockee_compare);
    txn->at = 0;
    lock_one (txn);
}

/* --- all at once ------------------------------------------------------------------------------ */

static void
release_wind (struct txn *txn, void (*next) (call_frame_t *frame))
{
    replicate_t *priv = txn->this->private;

    fan_begin (&txn->fan, next);
    for (unsigned i = 0; i < txn->n_locks; i++)
        for (unsigned j = 0; j < priv->n; j++)
            if (txn->locks[i].locked & COPY (j))
                lock_wind (txn, i, j, true, false);
    fan_end (&txn->fan);
}

/* Stores in txn->locks the copies that granted each lock. Returns whether a brick refused a lock,
 * since another client has it. */
static bool
locks_collect (struct txn *txn)
{
    replicate_t *priv = txn->this->private;
    bool taken = false;

    for (unsigned i = 0; i < txn->n_locks; i++)
        for (unsigned j = 0; j < priv->n; j++) {
            const struct fan_answer *answer = &txn->fan.answers[i * priv->n + j];

            if (!(txn->children & COPY (j)))
                continue;
            if (answer->op_ret >= 0)
                txn->locks[i].locked |= COPY (j);
            else if (answer->op_errno == EAGAIN)
                taken = true;
            else
                txn->error = answer->op_errno;
        }
    return taken;
}

static void
locks_drop_dead (struct txn *txn)
{
    replicate_t *priv = txn->this->private;
    const copies_t asked = txn->children;

    for (unsigned i = 0; i < txn->n_locks; i++)
        for (unsigned j = 0; j < priv->n; j++) {
            const struct fan_answer *answer = &txn->fan.answers[i * priv->n + j];

            if (asked & COPY (j) && answer->op_ret < 0 && answer->op_errno != EAGAIN)
                txn->children &= ~COPY (j);
        }
}

static void
locks_tried (call_frame_t *frame)
{
    struct txn *txn = frame->local;

    if (!locks_collect (txn)) {
        lock_next (txn);
        return;
    }
    locks_drop_dead (txn);
    release_wind (txn, lock_all_released);
}

void
txn_lock (struct txn *txn, void (*next) (struct txn *txn))
{
    replicate_t *priv = txn->this->private;

    txn->next = next;
    fan_begin (&txn->fan, locks_tried);
    for (unsigned i = 0; i < txn->n_locks; i++)
        for (unsigned j = 0; j < priv->n; j++)
            if (txn->children & COPY (j))
                lock_wind (txn, i, j, false, false);
    fan_end (&txn->fan);
}

static void
locks_released (call_frame_t *frame)
{
    struct txn *txn = frame->local;

    txn->next (txn);
}

void
txn_unlock (struct txn *txn, void (*next) (struct txn *txn))
{
    txn->next = next;
    release_wind (txn, locks_released);
}

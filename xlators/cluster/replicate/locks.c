/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks of callers, and of translators above. They are taken on one copy after the other, in the
 * order that all clients have, so that two clients cannot each hold half of the copies and wait for
 * the other half. A lock that not enough copies grant is given back.
 */
#include "copies/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

struct caller_lock {
    struct local head;
    xlator_t *this;
    call_frame_t *frame;
    enum fop fop;
    struct fan_out fan;
    loc_t loc;
    fd_t *fd;
    char *volume, *name;
    int cmd, type;             /* or flock's operation; or entrylk's */
    struct gf_flock lock;
    dict_t *xdata;
    copies_t children, granted;
    unsigned at;
    bool undoing;
    int error;
};

static void
caller_lock_drop (void *local)
{
    struct caller_lock *lock = local;

    fan_clear (&lock->fan);
    loc_wipe (&lock->loc);
    fd_unref (lock->fd);
    g_free (lock->volume);
    g_free (lock->name);
    dict_unref (lock->xdata);
}

static bool
lock_is_release (const struct caller_lock *lock)
{
    if (lock->fop == FOP_flock)
        return lock->cmd & LOCK_UN;
    if (lock->fop == FOP_entrylk || lock->fop == FOP_fentrylk)
        return lock->cmd == ENTRYLK_UNLOCK;
    return lock->lock.l_type == F_UNLCK;
}

static void
lock_make_release (struct caller_lock *lock)
{
    if (lock->fop == FOP_flock)
        lock->cmd = LOCK_UN;
    else if (lock->fop == FOP_entrylk || lock->fop == FOP_fentrylk)
        lock->cmd = ENTRYLK_UNLOCK;
    else
        lock->cmd = F_SETLK;
    lock->lock.l_type = F_UNLCK;
}

static void
caller_lock_wind (struct caller_lock *lock, unsigned i)
{
    replicate_t *priv = lock->this->private;
    xlator_t *child = priv->children[i];
    struct gf_flock range = lock->lock;

    switch (lock->fop) {
    case FOP_lk:
        FAN_WIND (&lock->fan, i, child, lk, lock->fd, lock->cmd, &range, lock->xdata);
        break;
    case FOP_flock:
        FAN_WIND (&lock->fan, i, child, flock, lock->fd, lock->cmd, lock->xdata);
        break;
    case FOP_inodelk:
        FAN_WIND (&lock->fan, i, child, inodelk, lock->volume, &lock->loc, lock->cmd, &range,
                  lock->xdata);
        break;
    case FOP_finodelk:
        FAN_WIND (&lock->fan, i, child, finodelk, lock->volume, lock->fd, lock->cmd, &range,
                  lock->xdata);
        break;
    case FOP_entrylk:
        FAN_WIND (&lock->fan, i, child, entrylk, lock->volume, &lock->loc, lock->name, lock->cmd,
                  lock->type, lock->xdata);
        break;
    default:
        FAN_WIND (&lock->fan, i, child, fentrylk, lock->volume, lock->fd, lock->name, lock->cmd,
                  lock->type, lock->xdata);
    }
}

static void
caller_lock_answer (struct caller_lock *lock)
{
    if (lock->error) {
        frame_fail (lock->frame, lock->error);
        return;
    }
    switch (lock->fop) {
    case FOP_lk:
        STACK_UNWIND (lk, lock->frame, 0, 0, &lock->lock, NULL);
        break;
    case FOP_flock:
        STACK_UNWIND (flock, lock->frame, 0, 0, NULL);
        break;
    case FOP_inodelk:
        STACK_UNWIND (inodelk, lock->frame, 0, 0, NULL);
        break;
    case FOP_finodelk:
        STACK_UNWIND (finodelk, lock->frame, 0, 0, NULL);
        break;
    case FOP_entrylk:
        STACK_UNWIND (entrylk, lock->frame, 0, 0, NULL);
        break;
    default:
        STACK_UNWIND (fentrylk, lock->frame, 0, 0, NULL);
    }
}

static void caller_lock_next (struct caller_lock *lock);

/* Another owner has it, or the caller was interrupted: what was granted is given back. */
static void
caller_lock_end (struct caller_lock *lock)
{
    if (!lock->undoing && !lock->error && !children_quorum (lock->this->private, lock->granted))
        lock->error = fan_error (&lock->fan);
    if (lock->undoing || !lock->error || !lock->granted || lock_is_release (lock)) {
        caller_lock_answer (lock);
        return;
    }
    lock->undoing = true;
    lock->children = lock->granted;
    lock->at = 0;
    lock_make_release (lock);
    caller_lock_next (lock);
}

static bool
error_is_of_child (int error)
{
    return error == ENOTCONN || error == EBADFD || error == EBADF || error == ESTALE
        || error == ETIMEDOUT || error == ENOENT;
}

static void
caller_lock_answered (call_frame_t *frame)
{
    struct caller_lock *lock = frame->local;
    const struct fan_answer *answer = &lock->fan.answers[lock->at];

    if (answer->op_ret >= 0)
        lock->granted |= COPY (lock->at);
    if (!lock->undoing && answer->op_ret < 0 && !error_is_of_child (answer->op_errno)
        && !lock_is_release (lock))
        lock->error = answer->op_errno;
    if (lock->fop == FOP_lk && lock->cmd == F_GETLK && answer->op_ret >= 0) {
        lock->lock = answer->lk.lock;
        caller_lock_answer (lock);
        return;
    }
    lock->at++;
    if (lock->error && !lock->undoing)
        caller_lock_end (lock);
    else
        caller_lock_next (lock);
}

static void
caller_lock_next (struct caller_lock *lock)
{
    const replicate_t *priv = lock->this->private;

    while (lock->at < priv->n && !(lock->children & COPY (lock->at)))
        lock->at++;
    if (lock->at >= priv->n) {
        caller_lock_end (lock);
        return;
    }
    fan_begin (&lock->fan, caller_lock_answered);
    caller_lock_wind (lock, lock->at);
    fan_end (&lock->fan);
}

static void
caller_lock_opened (void *data)
{
    struct caller_lock *lock = data;
    const replicate_t *priv = lock->this->private;

    lock->children = children_up (priv);
    if (lock->fd)
        lock->children &= fd_opened (lock->this, lock->fd);
    if (!children_quorum (priv, lock->children))
        frame_fail (lock->frame, ENOTCONN);
    else
        caller_lock_next (lock);
}

static void
caller_lock_begin (struct caller_lock *lock)
{
    if (lock->fd)
        fd_prepare (lock->this, lock->fd, caller_lock_opened, lock);
    else
        caller_lock_opened (lock);
}

static struct caller_lock *
caller_lock_new (call_frame_t *frame, xlator_t *this, enum fop fop, const loc_t *loc, fd_t *fd,
                 dict_t *xdata)
{
    struct caller_lock *lock = frame_local_new (frame, sizeof *lock);

    lock->head.drop = caller_lock_drop;
    lock->this = this;
    lock->frame = frame;
    lock->fop = fop;
    if (loc)
        loc_copy (&lock->loc, loc);
    lock->fd = fd_ref (fd);
    lock->xdata = dict_ref (xdata);
    fan_init (&lock->fan, frame, ((replicate_t *) this->private)->n);
    return lock;
}

void
replicate_lk (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t cmd, struct gf_flock *range,
              dict_t *xdata)
{
    struct caller_lock *lock = caller_lock_new (frame, this, FOP_lk, NULL, fd, xdata);

    lock->cmd = cmd;
    lock->lock = *range;
    caller_lock_begin (lock);
}

void
replicate_flock (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t operation, dict_t *xdata)
{
    struct caller_lock *lock = caller_lock_new (frame, this, FOP_flock, NULL, fd, xdata);

    lock->cmd = operation;
    caller_lock_begin (lock);
}

void
replicate_inodelk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc,
                   int32_t cmd, struct gf_flock *range, dict_t *xdata)
{
    struct caller_lock *lock = caller_lock_new (frame, this, FOP_inodelk, loc, NULL, xdata);

    lock->volume = g_strdup (volume);
    lock->cmd = cmd;
    lock->lock = *range;
    caller_lock_begin (lock);
}

void
replicate_finodelk (call_frame_t *frame, xlator_t *this, const char *volume, fd_t *fd, int32_t cmd,
                    struct gf_flock *range, dict_t *xdata)
{
    struct caller_lock *lock = caller_lock_new (frame, this, FOP_finodelk, NULL, fd, xdata);

    lock->volume = g_strdup (volume);
    lock->cmd = cmd;
    lock->lock = *range;
    caller_lock_begin (lock);
}

void
replicate_entrylk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc,
                   const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    struct caller_lock *lock = caller_lock_new (frame, this, FOP_entrylk, loc, NULL, xdata);

    lock->volume = g_strdup (volume);
    lock->name = g_strdup (basename);
    lock->cmd = cmd;
    lock->type = type;
    caller_lock_begin (lock);
}

void
replicate_fentrylk (call_frame_t *frame, xlator_t *this, const char *volume, fd_t *fd,
                    const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    struct caller_lock *lock = caller_lock_new (frame, this, FOP_fentrylk, NULL, fd, xdata);

    lock->volume = g_strdup (volume);
    lock->name = g_strdup (basename);
    lock->cmd = cmd;
    lock->type = type;
    caller_lock_begin (lock);
}

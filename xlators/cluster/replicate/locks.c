/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks that callers and translators above take. Replicate takes such a lock on one copy after the
 * other. All clients use the same order, so no two clients each hold the lock on half of the copies
 * and wait for the other half. If too few copies grant the lock, replicate releases it on those.
 *
 * The call is kept, and resumed for each copy: caller_lock_any_fop gets it each time.
 */
#include "copies/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

struct caller_lock {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    enum fop fop;
    struct fan_out fan;
    call_stub_t *stub;       /* kept call, to resume for the next copy */
    fd_t *fd;                /* open file of the call, with a reference; or NULL */
    struct gf_flock range;   /* range of the lock, for the answer to a lk; after F_GETLK,
                              * the lock that a copy has reported */
    bool releases;           /* whether the call is an unlock */
    bool asks;               /* whether the call is a lk with F_GETLK */
    copies_t children, granted; /* copies to ask, and copies that succeeded */
    unsigned at;             /* number of the copy that is asked now */
    bool undoing;            /* whether the lock is being released, since it failed on a copy */
    int error;               /* errno for the caller, or 0 */
};

static void
caller_lock_drop (void *local)
{
    struct caller_lock *lock = local;

    fan_clear (&lock->fan);
    if (lock->stub)
        call_stub_destroy (lock->stub);
    fd_unref (lock->fd);
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Pointers to the arguments of a lock operation, so that an undo can change them. cmd points to the
 * command, or to the operation of a flock. range points to the pointer to the range; NULL: the
 * operation has none. */
struct lock_args {
    int32_t *cmd;
    struct gf_flock **range;
};

static struct lock_args
lock_args_of (struct changed_call *changed)
{
    switch (changed->call.op) {
    case FOP_lk:
        return (struct lock_args){ &changed->args.lk.cmd, &changed->args.lk.lock };
    case FOP_inodelk:
        return (struct lock_args){ &changed->args.inodelk.cmd, &changed->args.inodelk.lock };
    case FOP_finodelk:
        return (struct lock_args){ &changed->args.finodelk.cmd, &changed->args.finodelk.lock };
    case FOP_flock:
        return (struct lock_args){ &changed->args.flock.operation, NULL };
    case FOP_entrylk:
        return (struct lock_args){ &changed->args.entrylk.cmd, NULL };
    default:
        return (struct lock_args){ &changed->args.fentrylk.cmd, NULL };
    }
}

static bool
lock_args_release (struct lock_args args, enum fop fop)
{
    if (args.range)
        return (*args.range)->l_type == F_UNLCK;
    return fop == FOP_flock ? *args.cmd & LOCK_UN : *args.cmd == ENTRYLK_UNLOCK;
}

/* Changes the arguments of a lock into those of its unlock. `range` is memory for the range to
 * unlock. */
static void
lock_args_undo (struct lock_args args, enum fop fop, struct gf_flock *range)
{
    *args.cmd = args.range ? F_SETLK : fop == FOP_flock ? LOCK_UN : ENTRYLK_UNLOCK;
    if (args.range) {
        *range = **args.range;
        range->l_type = F_UNLCK;
        *args.range = range;
    }
}

/* --- the answer ------------------------------------------------------------------------------- */

static void
caller_lock_answer (struct caller_lock *lock)
{
    union {
        struct lk_answer lk;
        struct flock_answer flock;
        struct inodelk_answer inodelk;
        struct finodelk_answer finodelk;
        struct entrylk_answer entrylk;
        struct fentrylk_answer fentrylk;
    } rets = { 0 };
    const struct answer answer = { .op = lock->fop, .frame = lock->frame, .rets = &rets };

    if (lock->fop == FOP_lk)
        rets.lk.lock = &lock->range;
    if (lock->error)
        frame_fail (lock->frame, lock->error);
    else
        answer_pass (&answer);
}

/* --- one copy after the other ----------------------------------------------------------------- */

static void caller_lock_next (struct caller_lock *lock);

/* Answers the caller. If the lock failed, for example since another owner has it, first releases it
 * on the copies that granted it. */
static void
caller_lock_end (struct caller_lock *lock)
{
    if (!lock->undoing && !lock->error && !children_quorum (lock->this->private, lock->granted))
        lock->error = copies_error (&lock->fan);
    if (lock->undoing || !lock->error || !lock->granted || lock->releases) {
        caller_lock_answer (lock);
        return;
    }
    lock->undoing = true;
    lock->children = lock->granted;
    lock->at = 0;
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
        && !lock->releases)
        lock->error = answer->op_errno;
    if (lock->asks && answer->op_ret >= 0) {
        lock->range = answer->lk.lock;
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
    if (lock->at < priv->n)
        call_resume (g_steal_pointer (&lock->stub));
    else
        caller_lock_end (lock);
}

static void
caller_lock_wind (struct caller_lock *lock, const struct call *call)
{
    replicate_t *priv = lock->this->private;
    struct changed_call changed;
    struct gf_flock range;

    lock->stub = call_keep (call);
    call_change (call, &changed);
    if (lock->undoing)
        lock_args_undo (lock_args_of (&changed), lock->fop, &range);
    fan_begin (&lock->fan, caller_lock_answered);
    fan_call (&lock->fan, lock->at, priv->children[lock->at], &changed.call);
    fan_end (&lock->fan);
}

/* --- the beginning ---------------------------------------------------------------------------- */

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

static struct caller_lock *
caller_lock_new (const struct call *call)
{
    struct caller_lock *lock = frame_local_new (call->frame, sizeof *lock);
    struct changed_call copy;
    struct lock_args args;

    call_change (call, &copy);
    args = lock_args_of (&copy);
    lock->head.drop = caller_lock_drop;
    lock->this = call->this;
    lock->frame = call->frame;
    lock->fop = call->op;
    lock->fd = fd_ref (call->fd);
    lock->releases = lock_args_release (args, call->op);
    lock->asks = call->op == FOP_lk && *args.cmd == F_GETLK;
    if (args.range)
        lock->range = **args.range;
    lock->stub = call_keep (call);
    fan_init (&lock->fan, call->frame, ((replicate_t *) call->this->private)->n);
    return lock;
}

void
caller_lock_any_fop (const struct call *call)
{
    struct caller_lock *lock = call->frame->local;

    if (lock) {
        caller_lock_wind (lock, call);
        return;
    }
    lock = caller_lock_new (call);
    if (lock->fd)
        fd_prepare (lock->this, lock->fd, caller_lock_opened, lock);
    else
        caller_lock_opened (lock);
}

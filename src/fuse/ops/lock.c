/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests about locks. They come only with lock-forwarding; without it the kernel keeps locks
 * itself. */
#include "fuse/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

static lk_cbk fuse_getlk_cbk;
static lk_cbk fuse_setlk_cbk;
static flock_cbk fuse_flock_cbk;

static struct gf_flock
gf_flock_of (const struct flock *lock, uint64_t owner)
{
    return (struct gf_flock){
        .l_type = lock->l_type,
        .l_whence = lock->l_whence,
        .l_start = lock->l_start,
        .l_len = lock->l_len,
        .l_pid = lock->l_pid,
        .l_owner = owner,
    };
}

static void
fuse_getlk (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *flock)
{
    call_frame_t *frame = request_begin (req, ino, FOP_lk);
    struct gf_flock lock = gf_flock_of (flock, fi->lock_owner);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (!fd)
        return;
    frame->root->lk_owner = fi->lock_owner;
    STACK_WIND (frame, fuse_getlk_cbk, FIRST_CHILD (frame->this), lk, fd, F_GETLK, &lock, NULL);
}

static void
fuse_getlk_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct gf_flock *lock, dict_t *xdata)
{
    struct flock flock = { 0 };

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    flock.l_type = lock->l_type;
    flock.l_whence = SEEK_SET;
    flock.l_start = lock->l_start;
    flock.l_len = lock->l_len;
    flock.l_pid = lock->l_pid;
    fuse_reply_lock (request_answer (frame), &flock);
    stack_done (frame->root);
}

/* A caller that waits for a lock keeps an entry of a ring, and the unlock needs one too. So at most
 * half of a queue's entries may wait. */
static bool
lock_may_wait (struct bridge *bridge)
{
    const unsigned waiters = __atomic_add_fetch (&bridge->lock_waiters, 1, __ATOMIC_RELAXED);

    if (!bridge->ring || waiters <= (unsigned) bridge->settings.io_uring_depth / 2)
        return true;
    __atomic_sub_fetch (&bridge->lock_waiters, 1, __ATOMIC_RELAXED);
    return false;
}

/* cookie: the bridge, for a lock that waited; else NULL. */
static void
lock_waited (void *cookie)
{
    struct bridge *bridge = cookie;

    if (bridge)
        __atomic_sub_fetch (&bridge->lock_waiters, 1, __ATOMIC_RELAXED);
}

static void
fuse_setlk (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *flock,
            int sleep)
{
    call_frame_t *frame = request_begin (req, ino, FOP_lk);
    struct gf_flock lock = gf_flock_of (flock, fi->lock_owner);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;
    struct bridge *waits;

    if (!fd)
        return;
    waits = sleep && lock.l_type != F_UNLCK ? frame->this->private : NULL;
    if (lock.l_type != F_UNLCK)
        __atomic_store_n (&fd->locked, true, __ATOMIC_RELAXED);
    frame->root->lk_owner = fi->lock_owner;
    if (waits && !lock_may_wait (waits))
        request_err (frame, -1, ENOLCK);
    else
        STACK_WIND_COOKIE (frame, fuse_setlk_cbk, waits, FIRST_CHILD (frame->this), lk, fd,
                           sleep ? F_SETLKW : F_SETLK, &lock, NULL);
}

static void
fuse_setlk_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct gf_flock *lock, dict_t *xdata)
{
    lock_waited (cookie);
    request_err (frame, op_ret, op_errno);
}

/* If a lock and an unlock of one descriptor are under way at once, it counts as locked. */
static void
fuse_flock (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int operation)
{
    call_frame_t *frame = request_begin (req, ino, FOP_flock);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;
    struct bridge *waits;

    if (!fd)
        return;
    waits = operation & (LOCK_NB | LOCK_UN) ? NULL : frame->this->private;
    if (operation & LOCK_UN)
        __atomic_store_n (&fd->flocked, false, __ATOMIC_RELAXED);
    else
        request_local (frame, NULL, NULL)->fd = fd_ref (fd);
    frame->root->lk_owner = fi->lock_owner;
    if (waits && !lock_may_wait (waits))
        request_err (frame, -1, ENOLCK);
    else
        STACK_WIND_COOKIE (frame, fuse_flock_cbk, waits, FIRST_CHILD (frame->this), flock, fd,
                           operation, NULL);
}

static void
fuse_flock_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                dict_t *xdata)
{
    const struct fuse_local *local = frame->local;

    lock_waited (cookie);
    if (local && op_ret >= 0)
        __atomic_store_n (&local->fd->flocked, true, __ATOMIC_RELAXED);
    request_err (frame, op_ret, op_errno);
}

void
lock_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->getlk = fuse_getlk;
    ops->setlk = fuse_setlk;
    ops->flock = fuse_flock;
}

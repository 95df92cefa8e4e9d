/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All other operations on an inode. An operation waits for those writes answered before it whose
 * effect it has to see. */
#include "write-behind.h"

static readv_cbk wb_readv_cbk;

/* --- waiting ---------------------------------------------------------------------------------- */

struct wb_waiter {
    struct wb_node node;
    call_stub_t *stub;
};

static void
waiter_go (struct wb_node *node)
{
    struct wb_waiter *waiter = (struct wb_waiter *) node;
    call_stub_t *stub = waiter->stub;

    g_free (waiter);
    call_resume (stub);
}

struct wb_node *
wb_waiter_new (call_stub_t *stub)
{
    struct wb_waiter *waiter = g_new0 (struct wb_waiter, 1);

    waiter->node = (struct wb_node){ .blockers = 1, .go = waiter_go };
    waiter->stub = stub;
    return &waiter->node;
}

void
wb_waiter_start (xlator_t *this, struct wb_node *waiter, wb_ready_t *ready)
{
    wb_node_unblock (waiter, ready);
    wb_run (this, ready);
}

void
wb_wait (xlator_t *this, call_frame_t *frame, call_stub_t *stub, struct wb_inode *wbi, off_t offset,
         off_t end)
{
    wb_ready_t ready = WB_READY_INIT;
    struct wb_node *waiter;

    if (!stub) {
        frame_fail (frame, ENOMEM);
        return;
    }
    waiter = wb_waiter_new (stub);
    wb_wait_for (wbi, waiter, offset, end, &ready);
    wb_waiter_start (this, waiter, &ready);
}

/* --- operations that pass on as they are ------------------------------------------------------ */

/* Record locks and flock. A process takes a lock to be alone with the file, also against programs
 * that use the directory below directly. So an unlock waits for the writes. Once the file has been
 * locked, close waits too, because it releases locks. */
static bool
lock_waits (const struct call *call, struct wb_inode *wbi)
{
    const bool ends = call->op == FOP_lk
                        ? ((const struct lk_call *) call->args)->lock->l_type == F_UNLCK
                        : ((const struct flock_call *) call->args)->operation & LOCK_UN;

    if (wbi)
        __atomic_store_n (&wbi->locked, true, __ATOMIC_RELAXED);
    return ends;
}

static inode_t *
wb_inode_of (const struct call *call)
{
    return call->fd ? call->fd->inode : call->loc ? call->loc->inode : NULL;
}

static bool
has_to_wait (const struct call *call, struct wb_inode *wbi, struct wb_inode *out)
{
    if (call->op == FOP_lk || call->op == FOP_flock)
        return lock_waits (call, wbi) && wb_is_busy (wbi);
    if (call->op == FOP_open && !(call->flags & O_TRUNC))
        return false;
    return wb_is_busy (wbi) || wb_is_busy (out);
}

void
wb_any_fop (const struct call *call)
{
    xlator_t *this = call->this;
    const bool locks = call->op == FOP_lk || call->op == FOP_flock;
    struct wb_inode *wbi = locks ? wb_inode_make (this, call->fd->inode)
                                 : wb_inode_get (this, wb_inode_of (call));
    struct wb_inode *out = call->fd_out ? wb_inode_get (this, call->fd_out->inode) : NULL;
    wb_ready_t ready = WB_READY_INIT;
    struct wb_node *waiter;
    call_stub_t *stub;

    if (!has_to_wait (call, wbi, out)) {
        call_pass (call);
        return;
    }
    stub = call_keep_to_pass (call);
    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    waiter = wb_waiter_new (stub);
    wb_wait_for (wbi, waiter, 0, -1, &ready);
    wb_wait_for (out, waiter, 0, -1, &ready);
    wb_waiter_start (this, waiter, &ready);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Drops the attributes: writes that are still unfinished may change the size. */
static void
wb_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
              dict_t *xdata)
{
    STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, NULL, iobref, xdata);
}

static void
wb_readv_go (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             uint32_t flags, dict_t *xdata)
{
    STACK_WIND (frame, wb_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

/* The end of file is part of a read's result. So a read waits for all writes beyond its start. */
void
wb_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
          dict_t *xdata)
{
    struct wb_inode *wbi = wb_inode_get (this, fd->inode);

    if (wb_is_busy (wbi))
        wb_wait (this, frame, fop_readv_stub (frame, wb_readv_go, fd, size, offset, flags, xdata),
                 wbi, offset, -1);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

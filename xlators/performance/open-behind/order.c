/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that need a pending open. An operation on the fd needs it, except attributes, which
 * the inode has too, and closing. An operation on the inode after which the open could be refused,
 * or which has to know of every fd, waits for all pending opens of the inode.
 */
#include "open-behind.h"

static stat_cbk ob_fstat_cbk;

/* --- waiting ---------------------------------------------------------------------------------- */

static int
error_of (const struct ob_fd *obf)
{
    return obf && ob_state (obf) == OB_FAILED ? obf->error : 0;
}

/* Sends the opens, and resumes the stub when they are done. A NULL stub means that memory is
 * short. */
static void
wait_for_two (call_frame_t *frame, xlator_t *this, call_stub_t *stub, struct ob_fd *obf,
              struct ob_fd *other)
{
    struct ob_work work = OB_WORK_INIT;
    struct ob_waiter *waiter;

    if (!stub) {
        frame_fail (frame, ENOMEM);
        return;
    }
    waiter = g_new0 (struct ob_waiter, 1);
    *waiter = (struct ob_waiter){ .blockers = 1, .stub = stub };
    ob_wait_for (obf, waiter, &work);
    if (other)
        ob_wait_for (other, waiter, &work);
    g_queue_push_tail (&work.ready, waiter);
    ob_run (this, &work);
}

/* --- data ------------------------------------------------------------------------------------- */

void
ob_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
          dict_t *xdata)
{
    struct ob_fd *obf = ob_fd_get (this, fd);

    if (ob_is_open (obf))
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
    else if (error_of (obf))
        frame_fail (frame, obf->error);
    else
        wait_for_two (frame, this, fop_readv_stub (frame, ob_readv, fd, size, offset, flags, xdata),
                      obf, NULL);
}

void
ob_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
           off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    struct ob_fd *obf = ob_fd_get (this, fd);

    if (ob_is_open (obf))
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), writev, fd, vector, count, offset, flags,
                         iobref, xdata);
    else if (error_of (obf))
        frame_fail (frame, obf->error);
    else
        wait_for_two (frame, this,
                      fop_writev_stub (frame, ob_writev, fd, vector, count, offset, flags, iobref,
                                       xdata),
                      obf, NULL);
}

/* --- attributes and closing ------------------------------------------------------------------- */

void
ob_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct ob_fd *obf = ob_fd_get (this, fd);
    loc_t loc = { .inode = fd->inode };

    if (ob_is_open (obf)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), fstat, fd, xdata);
    } else if (error_of (obf)) {
        frame_fail (frame, obf->error);
    } else if (ob_state (obf) == OB_WAITING) {
        OB_COUNT (this, stats);
        STACK_WIND (frame, ob_fstat_cbk, FIRST_CHILD (this), stat, &loc, xdata);
        loc_wipe_path (&loc);
    } else {
        wait_for_two (frame, this, fop_fstat_stub (frame, ob_fstat, fd, xdata), obf, NULL);
    }
}

static void
ob_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *buf, dict_t *xdata)
{
    STACK_UNWIND (fstat, frame, op_ret, op_errno, buf, xdata);
}

/* A caller with locks on the file has caused all its opens to be sent. So a pending fd has no locks
 * that this close would release. */
void
ob_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct ob_fd *obf = ob_fd_get (this, fd);

    if (ob_is_open (obf)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), flush, fd, xdata);
    } else if (error_of (obf)) {
        frame_fail (frame, obf->error);
    } else if (ob_state (obf) == OB_WAITING) {
        OB_COUNT (this, closes);
        STACK_UNWIND (flush, frame, 0, 0, NULL);
    } else {
        wait_for_two (frame, this, fop_flush_stub (frame, ob_flush, fd, xdata), obf, NULL);
    }
}

/* --- all others ------------------------------------------------------------------------------- */

void
ob_local_drop (xlator_t *this, void *data)
{
    struct ob_local *local = data;

    g_free (local->caller);
    inode_unref (local->first);
    inode_unref (local->second);
}

static bool
may_be_file (const inode_t *inode)
{
    return inode->ia_type == IA_IFREG || inode->ia_type == IA_INVAL;
}

/* Returns the inode that a name stands for, with a reference. NULL: it is not known, and sets
 * *ret_any, or it is not a file that is opened. */
static inode_t *
named (const loc_t *loc, bool *ret_any)
{
    g_autoptr (inode_t) inode = inode_grep (loc->parent, loc->name);

    if (!inode)
        inode = inode_ref (loc->inode);
    if (!inode)
        *ret_any = true;
    return inode && may_be_file (inode) ? g_steal_pointer (&inode) : NULL;
}

static inode_t *
meant (const struct call *call)
{
    inode_t *inode = call->fd ? call->fd->inode : call->loc->inode;

    return inode && may_be_file (inode) ? inode_ref (inode) : NULL;
}

/* From here until the answer no open of these inodes is answered early. */
static struct ob_local *
tell_begin (const struct call *call)
{
    struct ob_local *local = frame_local_new (call->frame, sizeof *local);
    xlator_t *this = call->this;

    local->begun = true;
    if (call->op == FOP_unlink || call->op == FOP_rename)
        local->first = named (call->loc, &local->any);
    else
        local->first = meant (call);
    if (call->op == FOP_rename)
        local->second = named (call->newloc, &local->any);
    if (local->first)
        ob_change_begin (this, ob_inode_make (this, local->first));
    if (local->second)
        ob_change_begin (this, ob_inode_make (this, local->second));
    if (local->any)
        ob_change_begin (this, NULL);
    return local;
}

static void
tell_end (xlator_t *this, struct ob_local *local)
{
    if (!local || !local->begun)
        return;
    local->begun = false;
    if (local->first)
        ob_change_end (this, ob_inode_get (this, local->first));
    if (local->second)
        ob_change_end (this, ob_inode_get (this, local->second));
    if (local->any)
        ob_change_end (this, NULL);
}

/* A close drops all locks of its owner, also those taken through another fd. So from now on storage
 * has to see each close. */
static struct ob_inode *
lock_begin (const struct call *call)
{
    struct ob_inode *obi = ob_inode_make (call->this, call->fd->inode);

    pthread_mutex_lock (&obi->lock);
    obi->locked = true;
    pthread_mutex_unlock (&obi->lock);
    return obi;
}

static struct ob_inode *
busy (xlator_t *this, inode_t *inode)
{
    struct ob_inode *obi = ob_inode_get (this, inode);

    return obi && __atomic_load_n (&obi->n_pending, __ATOMIC_ACQUIRE) > 0 ? obi : NULL;
}

/* The opens that a call needs. */
struct needs {
    struct ob_fd *fds[2];
    struct ob_inode *inodes[2];
};

static bool
needs_of (const struct call *call, struct needs *ret)
{
    xlator_t *this = call->this;
    const struct ob_local *local = call->frame->local;

    *ret = (struct needs){ .fds = { ob_fd_get (this, call->fd), ob_fd_get (this, call->fd_out) } };
    for (unsigned i = 0; i < 2; i++)
        if (ob_is_open (ret->fds[i]) || error_of (ret->fds[i]))
            ret->fds[i] = NULL;
    if (opset_has (OB_CHANGING, call->op)) {
        ret->inodes[0] = busy (this, local->first);
        ret->inodes[1] = busy (this, local->second);
    } else if (opset_has (OB_LOCKING, call->op)) {
        ret->inodes[0] = busy (this, call->fd->inode);
    }
    return ret->fds[0] || ret->fds[1] || ret->inodes[0] || ret->inodes[1];
}

static void
wait_for_needs (const struct call *call, const struct needs *needs)
{
    struct ob_work work = OB_WORK_INIT;
    call_stub_t *stub = call_keep (call);
    struct ob_waiter *waiter;

    if (!stub) {
        tell_end (call->this, call->frame->local);
        call_fail (call, ENOMEM);
        return;
    }
    waiter = g_new0 (struct ob_waiter, 1);
    *waiter = (struct ob_waiter){ .blockers = 1, .stub = stub };
    for (unsigned i = 0; i < 2; i++) {
        if (needs->fds[i])
            ob_wait_for (needs->fds[i], waiter, &work);
        if (needs->inodes[i])
            ob_wait_for_all (needs->inodes[i], waiter, &work);
    }
    g_queue_push_tail (&work.ready, waiter);
    ob_run (call->this, &work);
}

/* A call that waited comes here again; then it has nothing left to wait for. */
void
ob_any_fop (const struct call *call)
{
    const bool changing = opset_has (OB_CHANGING, call->op);
    int error;
    struct needs needs;

    if (changing && !call->frame->local)
        tell_begin (call);
    if (opset_has (OB_LOCKING, call->op))
        lock_begin (call);
    if (needs_of (call, &needs)) {
        wait_for_needs (call, &needs);
        return;
    }
    error = error_of (ob_fd_get (call->this, call->fd));
    if (!error)
        error = error_of (ob_fd_get (call->this, call->fd_out));
    if (error) {
        tell_end (call->this, call->frame->local);
        call_fail (call, error);
    } else if (changing) {
        call_wind (call, FIRST_CHILD (call->this), NULL);
    } else {
        call_pass (call);
    }
}

void
ob_any_fop_cbk (const struct answer *answer)
{
    tell_end (answer->this, answer->frame->local);
    answer_pass (answer);
}

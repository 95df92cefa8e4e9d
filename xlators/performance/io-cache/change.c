/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changes a file, through whichever fd: pages that it may change go when it comes, and none is put in until it is done. */
#include "io-cache.h"

static writev_cbk ioc_writev_cbk;
static open_cbk ioc_open_cbk;
static create_cbk ioc_create_cbk;

/* An end of -1 is the file's. Also where no page ever was: one may be asked for before it is done. */
static struct ioc_inode *
begin (xlator_t *this, inode_t *inode, off_t offset, off_t end)
{
    struct ioc_inode *ioc = ioc_inode_ref (ioc_inode_make (this, inode));

    pthread_mutex_lock (&ioc->lock);
    change_begin (&ioc_priv (this)->clock, &ioc->changes);
    if (ioc_pages_drop_locked (ioc, offset, end))
        IOC_COUNT (this, invalidations);
    pthread_mutex_unlock (&ioc->lock);
    return ioc;
}

/* Takes the reference of begin. */
static void
end (struct ioc_inode *ioc)
{
    pthread_mutex_lock (&ioc->lock);
    change_end (&ioc_priv (ioc->this)->clock, &ioc->changes, 0);
    pthread_mutex_unlock (&ioc->lock);
    ioc_inode_unref (ioc);
}

/* Nothing that is known of it counts any more. */
static void
drop_all (xlator_t *this, struct ioc_inode *ioc)
{
    pthread_mutex_lock (&ioc->lock);
    change_happened (&ioc_priv (this)->clock, &ioc->changes);
    if (ioc_pages_drop_locked (ioc, 0, -1))
        IOC_COUNT (this, invalidations);
    ioc->known = false;
    pthread_mutex_unlock (&ioc->lock);
}

/* --- writing ------------------------------------------------------------------------------------ */

/* Where an append goes is behind all pages but the last one, which goes with every change. */
void
ioc_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count, off_t offset, uint32_t flags,
            struct iobref *iobref, dict_t *xdata)
{
    const bool append = fd->flags & O_APPEND && !(flags & WRITE_AT_OFFSET);
    const off_t to = append || offset < 0 ? 0 : offset > G_MAXINT64 / 2 ? -1 : offset + (off_t) iov_length (vector, count);
    struct ioc_inode *ioc = begin (this, fd->inode, append ? 0 : MAX (offset, 0), to);

    STACK_WIND_COOKIE (frame, ioc_writev_cbk, ioc, FIRST_CHILD (this), writev, fd, vector, count, offset, flags, iobref, xdata);
}

static void
ioc_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *prebuf,
                struct iatt *postbuf, dict_t *xdata)
{
    end (cookie);
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

/* --- opening ------------------------------------------------------------------------------------ */

/* Which files are kept longer is told by their paths, and those may have changed since. */
void
ioc_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    struct ioc_inode *ioc = ioc_priv (this)->priorities ? ioc_inode_get (this, loc->inode) : NULL;

    if (ioc)
        ioc_inode_classify (ioc, loc->inode);
    if (flags & O_TRUNC && loc->inode)
        STACK_WIND_COOKIE (frame, ioc_open_cbk, begin (this, loc->inode, 0, -1), FIRST_CHILD (this), open, loc, flags, fd, xdata);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
ioc_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    end (cookie);
    STACK_UNWIND (open, frame, op_ret, op_errno, fd, xdata);
}

/* Which file a create cuts off is known when it is done. Until then no page of any is served. */
void
ioc_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode, mode_t umask, fd_t *fd, dict_t *xdata)
{
    if (flags & O_EXCL || !(flags & O_TRUNC)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
        return;
    }
    __atomic_add_fetch (&ioc_priv (this)->blind, 1, __ATOMIC_ACQ_REL);
    STACK_WIND (frame, ioc_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

/* One that failed may have cut it off before. */
static void
ioc_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd, inode_t *inode,
                struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    inode_t *known = op_ret >= 0 && buf ? inode_find (inode->table, &buf->ia_gfid) : NULL;
    struct ioc_inode *ioc = ioc_inode_get (this, known);

    if (op_ret < 0)
        ioc_invalidate (this, NULL);
    else if (ioc)
        drop_all (this, ioc);
    inode_unref (known);
    __atomic_sub_fetch (&ioc_priv (this)->blind, 1, __ATOMIC_ACQ_REL);
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

/* --- all others --------------------------------------------------------------------------------- */

static struct ioc_inode *
begin_call (const struct call *call)
{
    const fd_t *fd = call->fd_out ? call->fd_out : call->fd;
    inode_t *inode = fd ? fd->inode : call->loc->inode;
    const bool cuts = call->op == FOP_truncate || call->op == FOP_ftruncate;
    struct ioc_inode *ioc = ioc_inode_get (call->this, inode);

    if (opset_has (IOC_CHANGES, call->op))
        return inode ? begin (call->this, inode, cuts ? MAX (call->offset, 0) : 0, -1) : NULL;
    return ioc ? ioc_inode_ref (ioc) : NULL;
}

void
ioc_every (const struct call *call)
{
    call_wind (call, FIRST_CHILD (call->this), begin_call (call));
}

/* Whoever has got a lock works together with others, who may have changed the file in the directory itself: it is looked at again. Takes the
 * reference. */
static void
lock_was_taken (struct ioc_inode *ioc)
{
    pthread_mutex_lock (&ioc->lock);
    ioc->looked_at = ioc->old_until = G_MININT64 / 2;
    ioc->doubted_at = clock_roughly ();
    pthread_mutex_unlock (&ioc->lock);
    ioc_inode_unref (ioc);
}

void
ioc_every_cbk (const struct answer *answer)
{
    if (answer->cookie && opset_has (IOC_LOCKS, answer->op))
        lock_was_taken (answer->cookie);
    else if (answer->cookie)
        end (answer->cookie);
    answer_pass (answer);
}

/* --- behind our back ---------------------------------------------------------------------------- */

void
ioc_invalidate (xlator_t *this, inode_t *inode)
{
    struct ioc_inode *ioc = ioc_inode_get (this, inode);

    if (!inode)
        __atomic_add_fetch (&ioc_priv (this)->epoch, 1, __ATOMIC_ACQ_REL);
    else if (ioc)
        drop_all (this, ioc);
}

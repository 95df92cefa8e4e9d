/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changes a file, through whichever fd: its pages go when it comes, and none is asked for or served until it is done. */
#include "read-ahead.h"

static writev_cbk ra_writev_cbk;
static open_cbk ra_open_cbk;
static create_cbk ra_create_cbk;

static void
file_changes (xlator_t *this, struct ra_inode *inode)
{
    pthread_mutex_lock (&inode->lock);
    change_begin (&ra_priv (this)->clock, &inode->changes);
    if (inode->files.head)
        RA_COUNT (this, changes, 1);
    ra_inode_drop_locked (inode);
    pthread_mutex_unlock (&inode->lock);
}

static void
file_changed (xlator_t *this, struct ra_inode *inode)
{
    pthread_mutex_lock (&inode->lock);
    change_end (&ra_priv (this)->clock, &inode->changes, 0);
    pthread_mutex_unlock (&inode->lock);
}

static void
attributes_change (xlator_t *this)
{
    __atomic_add_fetch (&ra_priv (this)->attributes, 1, __ATOMIC_ACQ_REL);
}

/* Also where no page was ever read: one may be, before it is done. */
static struct ra_inode *
begin (xlator_t *this, inode_t *inode)
{
    struct ra_inode *rai = ra_inode_ref (ra_inode_make (this, inode));

    attributes_change (this);
    file_changes (this, rai);
    return rai;
}

/* Takes the reference of begin. */
static void
end (xlator_t *this, struct ra_inode *rai)
{
    attributes_change (this);
    file_changed (this, rai);
    ra_inode_unref (rai);
}

/* --- writing ------------------------------------------------------------------------------------ */

void
ra_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count, off_t offset, uint32_t flags,
           struct iobref *iobref, dict_t *xdata)
{
    STACK_WIND_COOKIE (frame, ra_writev_cbk, begin (this, fd->inode), FIRST_CHILD (this), writev, fd, vector, count, offset,
                       flags, iobref, xdata);
}

static void
ra_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *prebuf,
               struct iatt *postbuf, dict_t *xdata)
{
    end (this, cookie);
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

/* --- cutting off with an open ------------------------------------------------------------------- */

void
ra_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    if (flags & O_TRUNC && loc->inode)
        STACK_WIND_COOKIE (frame, ra_open_cbk, begin (this, loc->inode), FIRST_CHILD (this), open, loc, flags, fd, xdata);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
ra_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    end (this, cookie);
    STACK_UNWIND (open, frame, op_ret, op_errno, fd, xdata);
}

/* Which file a create cuts off is known when it is done. Until then no page of any is served. */
void
ra_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode, mode_t umask, fd_t *fd, dict_t *xdata)
{
    if (flags & O_EXCL || !(flags & O_TRUNC)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
        return;
    }
    __atomic_add_fetch (&ra_priv (this)->blind, 1, __ATOMIC_ACQ_REL);
    STACK_WIND (frame, ra_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

/* One that failed may have cut it off before. */
static void
ra_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd, inode_t *inode,
               struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    inode_t *known = op_ret >= 0 && buf ? inode_find (inode->table, &buf->ia_gfid) : NULL;
    struct ra_inode *rai = ra_inode_get (this, known);

    attributes_change (this);
    if (op_ret < 0) {
        ra_invalidate (this, NULL);
    } else if (rai) {
        file_changes (this, rai);
        file_changed (this, rai);
    }
    inode_unref (known);
    __atomic_sub_fetch (&ra_priv (this)->blind, 1, __ATOMIC_ACQ_REL);
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

/* --- all others --------------------------------------------------------------------------------- */

/* NULL: it changes no bytes. */
static struct ra_inode *
begin_call (const struct call *call)
{
    const fd_t *fd = call->fd_out ? call->fd_out : call->fd;
    inode_t *inode = fd ? fd->inode : call->loc->inode;
    struct ra_inode *rai = ra_inode_get (call->this, inode);

    if (opset_has (RA_DATA, call->op) && inode)
        return begin (call->this, inode);
    if (opset_has (RA_LOCKS, call->op))
        return rai ? ra_inode_ref (rai) : NULL;
    attributes_change (call->this);
    return NULL;
}

void
ra_every (const struct call *call)
{
    call_wind (call, FIRST_CHILD (call->this), begin_call (call));
}

/* Whoever has got a lock works together with others, who may have changed the file in the directory itself. Takes the reference. */
static void
lock_was_taken (xlator_t *this, struct ra_inode *rai)
{
    if (!rai)
        return;
    file_changes (this, rai);
    file_changed (this, rai);
    ra_inode_unref (rai);
}

void
ra_every_cbk (const struct answer *answer)
{
    if (opset_has (RA_LOCKS, answer->op))
        lock_was_taken (answer->this, answer->cookie);
    else if (answer->cookie)
        end (answer->this, answer->cookie);
    else
        attributes_change (answer->this);
    answer_pass (answer);
}

/* --- closing, syncing --------------------------------------------------------------------------- */

/* Whoever does either isn't in the midst of reading. */
static void
forget_pages (xlator_t *this, fd_t *fd)
{
    struct ra_file *file = ra_file_get (this, fd);

    if (!file)
        return;
    pthread_mutex_lock (&file->inode->lock);
    ra_file_drop_locked (file);
    file->run = 0;
    file->reads = 0;
    pthread_mutex_unlock (&file->inode->lock);
}

void
ra_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    forget_pages (this, fd);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), flush, fd, xdata);
}

void
ra_fsync (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    forget_pages (this, fd);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), fsync, fd, datasync, xdata);
}

/* --- behind our back ---------------------------------------------------------------------------- */

void
ra_invalidate (xlator_t *this, inode_t *inode)
{
    struct ra_inode *rai = ra_inode_get (this, inode);

    attributes_change (this);
    if (!inode) {
        __atomic_add_fetch (&ra_priv (this)->epoch, 1, __ATOMIC_ACQ_REL);
        ra_drop_all (this);
    } else if (rai) {
        file_changes (this, rai);
        file_changed (this, rai);
    }
}

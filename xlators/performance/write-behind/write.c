/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* writev: which writes are answered early, and how those reach storage. */
#include "write-behind.h"

/* Some file systems refuse larger files. A write beyond this limit passes through, so that its
 * caller learns of the error at once. */
#define EARLY_END_MAX ((off_t) 2 << 40)
#define EARLY_SIZE_MAX (16 << 20)

/* A multiple of every disk's block size: the alignment of direct I/O. */
#define DIRECT_BLOCK 4096

static writev_cbk wb_write_cbk;
static writev_cbk wb_through_cbk;
static writev_fop wb_writev_again;

/* --- early, or through? ----------------------------------------------------------------------- */

/* Returns true for a write that will succeed as far as can be known. The open flags count as much
 * as the flags of this write. */
static bool
is_early (const xlator_t *this, const struct writev_call *call, size_t size)
{
    const uint32_t flags = call->fd->flags | (call->flags & ~WRITE_AT_OFFSET);
    const uint32_t waits = O_SYNC | O_DSYNC | (WB_OPTION (this, strict_direct) ? O_DIRECT : 0);

    if (flags & O_DIRECT && (call->offset % DIRECT_BLOCK || size % DIRECT_BLOCK))
        return false; /* storage may refuse it */
    if (call->fd->unflushed) /* no close would wait for it */
        return false;
    if (flags & waits || (call->fd->flags & O_ACCMODE) == O_RDONLY)
        return false;
    if (!call->fd->inode || call->fd->inode->ia_type != IA_IFREG || call->count < 1)
        return false;
    return size > 0 && size <= EARLY_SIZE_MAX && call->offset >= 0 && call->offset < EARLY_END_MAX;
}

static bool
is_append (const struct writev_call *call)
{
    return call->fd->flags & O_APPEND && !(call->flags & WRITE_AT_OFFSET);
}

/* --- through ---------------------------------------------------------------------------------- */

/* Drops the attributes: other writes are unfinished, so the size that storage answers is not the
 * size that the caller has to see. */
static void
wb_through_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    STACK_UNWIND (writev, frame, op_ret, op_errno, NULL, NULL, xdata);
}

static void
wb_through_go (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
               off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    STACK_WIND (frame, wb_through_cbk, FIRST_CHILD (this), writev, fd, vector, count, offset, flags,
                iobref, xdata);
}

static void
write_through (call_frame_t *frame, xlator_t *this, struct wb_inode *wbi,
               const struct writev_call *call, size_t size)
{
    const bool all = is_append (call) || WB_OPTION (this, strict_order);

    __atomic_add_fetch (&wb_priv (this)->count.through, 1, __ATOMIC_RELAXED);
    if (!wb_is_busy (wbi)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), writev, call->fd, call->vector, call->count,
                         call->offset, call->flags, call->iobref, call->xdata);
        return;
    }
    wb_wait (this, frame,
             fop_writev_stub (frame, wb_through_go, call->fd, call->vector, call->count,
                              call->offset, call->flags, call->iobref, call->xdata),
             wbi, all ? 0 : call->offset, all ? -1 : call->offset + (off_t) size);
}

/* --- early ------------------------------------------------------------------------------------ */

void
wb_write_free (struct wb_write *write)
{
    stack_done (write->root);
    iobref_unref (write->iobref);
    dict_unref (write->xdata);
    if (write->blocked)
        g_ptr_array_unref (write->blocked);
    fd_unref (write->fd);
    g_free (write);
}

static struct wb_write *
write_new (call_frame_t *frame, xlator_t *this, struct wb_inode *wbi,
           const struct writev_call *call)
{
    struct wb_write *write = g_new0 (struct wb_write, 1);

    write->node.go = wb_write_go;
    write->this = this;
    write->wbi = wbi;
    write->place.data = write;
    write->fd = fd_ref (call->fd);
    write->offset = call->offset;
    write->flags = call->flags;
    write->append = is_append (call);
    write->xdata = dict_ref (call->xdata);
    write->root = stack_new_like (this, frame);
    if (wb_gather (write, call->vector, call->count, call->iobref))
        return write;
    wb_write_free (write);
    return NULL;
}

/* Joins the last write or becomes a new one. Returns false if it can't be answered early. */
static bool
write_early (call_frame_t *frame, xlator_t *this, struct wb_inode *wbi,
             const struct writev_call *call, bool again, wb_ready_t *ready)
{
    wb_private_t *priv = this->private;
    struct wb_write *write;

    if (wb_queue_join (wbi, frame, call, again, ready)) {
        __atomic_add_fetch (&priv->count.joined, 1, __ATOMIC_RELAXED);
        return true;
    }
    write = write_new (frame, this, wbi, call);
    if (!write)
        return false;
    if (wb_queue_add (write, again, ready))
        return true;
    wb_write_free (write);
    return false;
}

/* Answers the write early, or sets it aside until there is room, or passes it through. */
static void
wb_write_begin (call_frame_t *frame, xlator_t *this, const struct writev_call *call, size_t size,
                bool again)
{
    struct wb_inode *wbi = wb_inode_make (this, call->fd->inode);
    wb_ready_t ready = WB_READY_INIT;

    if (write_early (frame, this, wbi, call, again, &ready)) {
        __atomic_add_fetch (&wb_priv (this)->count.early, 1, __ATOMIC_RELAXED);
        STACK_UNWIND (writev, frame, (int32_t) size, 0, NULL, NULL, NULL);
    } else if (!wb_room_wait (frame, this, wbi, wb_writev_again, call, size, again, &ready)) {
        if (again)
            wb_room_pass (wbi, this, &ready);
        write_through (frame, this, wbi, call, size);
    }
    wb_run (this, &ready);
}

static void
wb_writev_again (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
                 off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    const struct writev_call call = { .fd = fd,
                                      .vector = vector,
                                      .count = count,
                                      .offset = offset,
                                      .flags = flags,
                                      .iobref = iobref,
                                      .xdata = xdata };
    const size_t size = iov_length (vector, count);

    wb_room_begin_again (wb_inode_get (this, fd->inode), size);
    wb_write_begin (frame, this, &call, size, true);
}

void
wb_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
           off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    const struct writev_call call = { .fd = fd,
                                      .vector = vector,
                                      .count = count,
                                      .offset = offset,
                                      .flags = flags,
                                      .iobref = iobref,
                                      .xdata = xdata };
    const size_t size = iov_length (vector, count);

    if (is_early (this, &call, size))
        wb_write_begin (frame, this, &call, size, false);
    else
        write_through (frame, this, wb_inode_get (this, fd->inode), &call, size);
}

/* --- sending answered writes ------------------------------------------------------------------ */

void
wb_write_go (struct wb_node *node)
{
    struct wb_write *write = (struct wb_write *) node;
    xlator_t *this = write->this;

    __atomic_add_fetch (&wb_priv (this)->count.sent, 1, __ATOMIC_RELAXED);
    stack_taken (write->root);
    iobref_ref (write->iobref); /* a second one, so that no translator below changes the buffers in
                                   place: a short write is sent again */
    STACK_WIND_COOKIE (&write->root->frames[0], wb_write_cbk, write, FIRST_CHILD (this), writev,
                       write->fd, write->vector, write->count, write->offset, write->flags,
                       write->iobref, write->xdata);
}

/* A short write is sent again from where it stopped. A write of 0 bytes without an error ends with
 * EIO: repeating it would never end. */
static void
wb_write_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    struct wb_write *write = cookie;
    wb_ready_t ready = WB_READY_INIT;

    iobref_unref (write->iobref);
    if (op_ret > 0 && (size_t) op_ret < write->size) {
        wb_gather_cut (write, (size_t) op_ret);
        g_queue_push_tail (&ready, &write->node);
    } else {
        wb_queue_done (write, op_ret < 0 ? op_errno : op_ret == 0 ? EIO : 0, &ready);
    }
    wb_run (this, &ready);
}

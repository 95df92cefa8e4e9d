/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that change the data of a file. Each has a function that begins, one that winds to all
 * copies, and one that answers. */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>

/* to 0: all bytes from `from` on. */
static struct op *
data_op (call_frame_t *frame, xlator_t *this, enum fop fop, inode_t *inode, fd_t *fd, off_t from,
         size_t size, void (*answer) (struct op *op))
{
    struct op *op = op_new (frame, this, fop, COUNTER_DATA, inode, answer);

    op->fd = fd_ref (fd);
    op->from = from;
    op->to = size == 0 || from > INT64_MAX - (off_t) size ? INT64_MAX : from + (off_t) size;
    return op;
}

#define ANSWER_CHANGE(name_)                                                                       \
    static void name_##_answer (struct op *op)                                                     \
    {                                                                                              \
        struct name_##_reply *reply = OP_REPLY (op, name_);                                        \
                                                                                                   \
        STACK_UNWIND (name_, op->frame, op->op_ret, 0, &reply->prebuf, &reply->postbuf,            \
                      reply->xdata);                                                               \
    }

ANSWER_CHANGE (writev)
ANSWER_CHANGE (truncate)
ANSWER_CHANGE (ftruncate)
ANSWER_CHANGE (fallocate)
ANSWER_CHANGE (discard)
ANSWER_CHANGE (zerofill)
ANSWER_CHANGE (fsync)

/* --- writev ----------------------------------------------------------------------------------- */

/* The arbiter has no data: one byte makes it do what a write does to the attributes. */
static void
writev_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
             off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    struct op *op = frame->local;
    replicate_t *priv = this->private;
    struct iovec byte = { vector->iov_base, MIN (vector->iov_len, 1) };

    fan_begin (&op->fan, op_done);
    for (int i = 0; i < (int) priv->n; i++)
        if (op->children & COPY (i))
            FAN_WIND (&op->fan, (unsigned) i, priv->children[i], writev, fd,
                      i == priv->arbiter ? &byte : vector, i == priv->arbiter ? 1 : count, offset,
                      flags, iobref, xdata);
    fan_end (&op->fan);
}

/* Copies must append at the same place, so an append touches all of a file. */
void
replicate_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector,
                  int32_t count, off_t offset, uint32_t flags, struct iobref *iobref,
                  dict_t *xdata)
{
    const bool appends = fd->flags & O_APPEND && !(flags & WRITE_AT_OFFSET);
    struct op *op = data_op (frame, this, FOP_writev, fd->inode, fd, appends ? 0 : offset,
                             appends ? 0 : iov_length (vector, count), writev_answer);
    dict_t *asked = xdata ? dict_copy (xdata) : dict_new ();

    dict_set_str (asked, "glusterfs.inodelk-dom-count", this->name);
    dict_set_u64 (asked, "glusterfs.write-is-append", 1);
    op_begin (op, fop_writev_stub (frame, writev_wind, fd, vector, count, offset, flags, iobref,
                                   asked));
    dict_unref (asked);
}

/* --- truncate, ftruncate ---------------------------------------------------------------------- */

static void
truncate_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    OP_WIND (frame, truncate, loc, offset, xdata);
}

void
replicate_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    op_begin (data_op (frame, this, FOP_truncate, loc->inode, NULL, 0, 0, truncate_answer),
              fop_truncate_stub (frame, truncate_wind, loc, offset, xdata));
}

static void
ftruncate_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    OP_WIND (frame, ftruncate, fd, offset, xdata);
}

void
replicate_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    op_begin (data_op (frame, this, FOP_ftruncate, fd->inode, fd, 0, 0, ftruncate_answer),
              fop_ftruncate_stub (frame, ftruncate_wind, fd, offset, xdata));
}

/* O_TRUNC truncates with O_RDONLY, too, but such a descriptor can't. */
void
open_truncate (call_frame_t *frame, xlator_t *this, fd_t *fd, struct op *create,
               void (*answer) (struct op *op))
{
    const bool by_fd = (fd->flags & O_ACCMODE) != O_RDONLY;
    struct op *op = data_op (frame, this, by_fd ? FOP_ftruncate : FOP_truncate, fd->inode, fd, 0, 0,
                             answer);
    loc_t loc = { .inode = fd->inode };

    op->create = create;
    op_begin (op, by_fd ? fop_ftruncate_stub (frame, ftruncate_wind, fd, 0, NULL)
                        : fop_truncate_stub (frame, truncate_wind, &loc, 0, NULL));
}

/* --- fallocate, discard, zerofill ------------------------------------------------------------- */

static void
fallocate_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t mode, off_t offset,
                size_t len, dict_t *xdata)
{
    OP_WIND (frame, fallocate, fd, mode, offset, len, xdata);
}

void
replicate_fallocate (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t mode, off_t offset,
                     size_t len, dict_t *xdata)
{
    op_begin (data_op (frame, this, FOP_fallocate, fd->inode, fd, offset, len, fallocate_answer),
              fop_fallocate_stub (frame, fallocate_wind, fd, mode, offset, len, xdata));
}

static void
discard_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
              dict_t *xdata)
{
    OP_WIND (frame, discard, fd, offset, len, xdata);
}

void
replicate_discard (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
                   dict_t *xdata)
{
    op_begin (data_op (frame, this, FOP_discard, fd->inode, fd, offset, len, discard_answer),
              fop_discard_stub (frame, discard_wind, fd, offset, len, xdata));
}

static void
zerofill_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
               dict_t *xdata)
{
    OP_WIND (frame, zerofill, fd, offset, len, xdata);
}

void
replicate_zerofill (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
                    dict_t *xdata)
{
    op_begin (data_op (frame, this, FOP_zerofill, fd->inode, fd, offset, len, zerofill_answer),
              fop_zerofill_stub (frame, zerofill_wind, fd, offset, len, xdata));
}

/* --- fsync, copy_file_range ------------------------------------------------------------------- */

static void
fsync_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    OP_WIND (frame, fsync, fd, datasync, xdata);
}

/* A copy on which fsync fails has lost data, as if the write had failed. */
void
replicate_fsync (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    op_begin (data_op (frame, this, FOP_fsync, fd->inode, fd, 0, 0, fsync_answer),
              fop_fsync_stub (frame, fsync_wind, fd, datasync, xdata));
}

/* A copy that was accused would copy old bytes to a good file. The caller reads and writes
 * instead. */
void
replicate_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in,
                           fd_t *fd_out, off_t off_out, size_t len, uint32_t flags,
                           dict_t *xdata)
{
    frame_fail (frame, EOPNOTSUPP);
}

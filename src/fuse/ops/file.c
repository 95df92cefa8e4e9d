/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests about the bytes of open files: read, lseek, fallocate, copy_file_range. */
#include "fuse/ops/ops.h"

#include "fuse/kernel-cache.h"
#include "fuse/passthrough.h"

#include <linux/falloc.h>

static readv_cbk fuse_readv_cbk;
static seek_cbk fuse_seek_cbk;
static fallocate_cbk fuse_fallocate_cbk;
static discard_cbk fuse_discard_cbk;
static discard_cbk fuse_discarded_cbk;
static fallocate_cbk fuse_allocated_cbk;
static zerofill_cbk fuse_zerofill_cbk;
static copy_file_range_cbk fuse_copy_file_range_cbk;

/* --- reading ---------------------------------------------------------------------------------- */

struct stale {
    struct work_item work;
    struct bridge *bridge;
    inode_t *inode;
};

static void
forget_stale (struct work_item *work)
{
    struct stale *stale = (struct stale *) work;

    fuse_lowlevel_notify_inval_inode (stale->bridge->session, inode_nodeid (stale->inode), 0, 0);
    inode_unref (stale->inode);
    g_free (stale);
}

/* Runs on another thread, since the kernel waits for pages that are being read. */
static void
forget_stale_pages (struct bridge *bridge, inode_t *inode)
{
    struct stale *stale = g_new (struct stale, 1);

    *stale = (struct stale){ { .run = forget_stale }, bridge, inode_ref (inode) };
    work_put (&stale->work);
}

static void
fuse_read (fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, ino, FOP_readv);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (!fd)
        return;
    frame->root->lk_owner = fi->lock_owner;
    if (G_UNLIKELY (passthrough_is_stale_soon (bridge_of (req), fd, fi)))
        request_local (frame, NULL, NULL)->inode = inode_ref (fd->inode);
    STACK_WIND (frame, fuse_readv_cbk, FIRST_CHILD (frame->this), readv, fd, size, offset,
                fi->flags, NULL);
}

static void
fuse_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
                dict_t *xdata)
{
    struct bridge *bridge = frame->this->private;
    fuse_req_t req;

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    req = request_answer (frame);
    if (op_ret == 0 || count == 0)
        fuse_reply_buf (req, NULL, 0);
    else if (count == 1)
        fuse_reply_buf (req, vector[0].iov_base, vector[0].iov_len);
    else
        fuse_reply_iov (req, vector, count);
    if (G_UNLIKELY (frame->local))
        forget_stale_pages (bridge, ((struct fuse_local *) frame->local)->inode);
    stack_done (frame->root);
}

/* With the writeback cache, unwritten data looks like a hole from here, and a copying program would
 * lose it. After ENOSYS the kernel treats the whole file as data. */
static void
fuse_lseek (fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
    call_frame_t *frame;
    fd_t *fd;

    if (bridge_of (req)->terms.writeback) {
        fuse_reply_err (req, ENOSYS);
        return;
    }
    frame = request_begin (req, ino, FOP_seek);
    fd = frame ? request_fd (frame, fi) : NULL;
    if (fd)
        STACK_WIND (frame, fuse_seek_cbk, FIRST_CHILD (frame->this), seek, fd, offset, whence,
                    NULL);
}

static void
fuse_seek_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               off_t offset, dict_t *xdata)
{
    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    fuse_reply_lseek (request_answer (frame), offset);
    stack_done (frame->root);
}

/* --- changes other than writes ---------------------------------------------------------------- */

static struct fuse_local *
keep_changed (call_frame_t *frame, fd_t *fd)
{
    struct fuse_local *local = request_local (frame, NULL, NULL);

    local->fd = fd_ref (fd);
    return local;
}

/* Storage has removed setuid, if the change requires that. */
static void
forget_changed (call_frame_t *frame)
{
    const struct fuse_local *local = frame->local;

    kernel_forget_mode (frame->this->private, local->fd->inode);
}

static void
changed_done (call_frame_t *frame, int32_t op_ret, int32_t op_errno)
{
    if (op_ret >= 0)
        forget_changed (frame);
    request_err (frame, op_ret, op_errno);
}

/* Holes and zeros are operations of their own. GlusterFS's servers have no operation that zeroes a
 * range and keeps the size; the bridge punches a hole and allocates its blocks. */
static void
fuse_fallocate (fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                struct fuse_file_info *fi)
{
    const bool hole = mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
    const bool zero = mode == FALLOC_FL_ZERO_RANGE;
    call_frame_t *frame = request_begin (req, ino,
                                         hole   ? FOP_discard
                                         : zero ? FOP_zerofill
                                                : FOP_fallocate);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;
    struct fuse_local *local;

    if (!fd)
        return;
    local = keep_changed (frame, fd);
    local->keeps_size = mode == (FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE);
    local->offset = offset;
    local->size = (size_t) length;
    if (hole)
        STACK_WIND (frame, fuse_discard_cbk, FIRST_CHILD (frame->this), discard, fd, offset, length,
                    NULL);
    else if (zero)
        STACK_WIND (frame, fuse_zerofill_cbk, FIRST_CHILD (frame->this), zerofill, fd, offset,
                    length, NULL);
    else
        STACK_WIND (frame, fuse_fallocate_cbk, FIRST_CHILD (frame->this), fallocate, fd, mode,
                    offset, length, NULL);
}

static void
fuse_fallocate_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    struct fuse_local *local = frame->local;

    if (op_ret < 0 && op_errno == EOPNOTSUPP && local->keeps_size)
        STACK_WIND (frame, fuse_discarded_cbk, FIRST_CHILD (frame->this), discard, local->fd,
                    local->offset, local->size, NULL);
    else
        changed_done (frame, op_ret, op_errno);
}

static void
fuse_discarded_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    struct fuse_local *local = frame->local;

    if (op_ret >= 0)
        STACK_WIND (frame, fuse_allocated_cbk, FIRST_CHILD (frame->this), fallocate, local->fd,
                    FALLOC_FL_KEEP_SIZE, local->offset, local->size, NULL);
    else
        changed_done (frame, op_ret, op_errno);
}

static void
fuse_allocated_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    changed_done (frame, op_ret, op_errno);
}

static void
fuse_discard_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    changed_done (frame, op_ret, op_errno);
}

static void
fuse_zerofill_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    changed_done (frame, op_ret, op_errno);
}

static void
fuse_copy_file_range (fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in,
                      fuse_ino_t ino_out, off_t off_out, struct fuse_file_info *fi_out, size_t len,
                      int flags)
{
    /* The answer is an int32_t, so a longer copy is done in parts, as the system call permits. */
    const size_t part = MIN (len, (size_t) G_MAXINT32 & ~(size_t) 4095);
    call_frame_t *frame = request_begin (req, ino_in, FOP_copy_file_range);
    fd_t *from = frame ? request_fd (frame, fi_in) : NULL;
    fd_t *to = from ? request_fd (frame, fi_out) : NULL;

    if (!to)
        return;
    if (from->data != to->data) { /* of two graphs */
        request_err (frame, -1, EXDEV);
        return;
    }
    keep_changed (frame, to);
    STACK_WIND (frame, fuse_copy_file_range_cbk, FIRST_CHILD (frame->this), copy_file_range, from,
                off_in, to, off_out, part, flags, NULL);
}

static void
fuse_copy_file_range_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                          int32_t op_errno, struct iatt *stbuf, struct iatt *prebuf_dst,
                          struct iatt *postbuf_dst, dict_t *xdata)
{
    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    forget_changed (frame);
    fuse_reply_write (request_answer (frame), op_ret);
    stack_done (frame->root);
}

void
file_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->read = fuse_read;
    ops->lseek = fuse_lseek;
    ops->fallocate = fuse_fallocate;
    ops->copy_file_range = fuse_copy_file_range;
}

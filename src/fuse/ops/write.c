/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes. When a write has returned, the kernel's cached state of the file is valid, whichever way
 * the write took:
 *
 *   through the page cache        the kernel updates its pages, and before the write asks for the
 *                                 removal of setuid and setgid
 *   direct (O_DIRECT, O_APPEND    the kernel neither asks for the mode again nor, after
 *   with passthrough, direct-io)  io_submit(2), drops pages that were read meanwhile: the bridge
 *                                 has it do both
 */
#include "fuse/ops/ops.h"

#include "core/work/work.h"
#include "fuse/kernel-cache.h"
#include "fuse/threads/threads.h"

#include <fcntl.h>
#include <linux/xattr.h>

static writev_cbk fuse_writev_cbk;
static setattr_cbk fuse_write_kill_cbk;
static removexattr_cbk fuse_write_capability_cbk;

/* Converts the flags of a write, which may differ from those of the open. */
static uint32_t
write_flags (const fd_t *fd, uint32_t flags)
{
    return fd->flags & ~flags & O_APPEND ? flags | WRITE_AT_OFFSET : flags & ~WRITE_AT_OFFSET;
}

static struct fuse_local *
write_keep (call_frame_t *frame, fd_t *fd, const struct fuse_file_info *fi, struct iovec vector,
            off_t offset)
{
    struct fuse_local *local = request_local (frame, NULL, NULL);

    local->fd = fd_ref (fd);
    local->fi = *fi;
    local->iobref = iobref_ref (message_iobref ());
    local->rest = vector;
    local->size = vector.iov_len;
    local->offset = offset;
    return local;
}

static void
write_wind_kept (call_frame_t *frame)
{
    struct fuse_local *local = frame->local;
    struct iovec vector = local->rest;

    STACK_WIND (frame, fuse_writev_cbk, FIRST_CHILD (frame->this), writev, local->fd, &vector, 1,
                local->offset, write_flags (local->fd, (uint32_t) local->fi.flags), local->iobref,
                NULL);
}

/* Continues a short write of the kernel's own pages. Returns whether a part remained, whose write
 * is then under way. The kernel writes cached pages at any time, and ignores how much was written:
 * the rest would be lost, and no fsync would report it. A program checks the length itself. */
static bool
write_goes_on (call_frame_t *frame, size_t written)
{
    struct fuse_local *local = frame->local;

    if (written >= local->rest.iov_len)
        return false;
    local->rest.iov_base = (char *) local->rest.iov_base + written;
    local->rest.iov_len -= written;
    local->offset += written;
    write_wind_kept (frame);
    return true;
}

/* --- setuid and setgid ------------------------------------------------------------------------ */

/* Returns whether setuid and setgid must be removed before the write. If the kernel doesn't tell
 * the writer's ids, the kernel removes them itself before a write through the page cache, since it
 * knows whether root writes. Before a direct write it doesn't; only direct writes have a lock
 * owner. */
static bool
takes_privileges (const call_frame_t *frame, const inode_t *inode, const struct fuse_file_info *fi)
{
    return G_UNLIKELY (kernel_knows_privileges (inode)) && !fi->writepage
        && (request_is_anonymous (frame->root->maker.asked) ? fi->lock_owner != 0
                                                            : frame->root->uid != 0);
}

/* Removes them before a byte is written, as file systems in the kernel do. */
static void
take_privileges (call_frame_t *frame, inode_t *inode)
{
    struct iatt none = { 0 };
    g_auto (loc_t) loc = { .inode = inode };

    STACK_WIND (frame, fuse_write_kill_cbk, FIRST_CHILD (frame->this), setattr, &loc, &none,
                IATT_KILL_PRIV, NULL);
}

static void
fuse_write_kill_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                     int32_t op_errno, struct iatt *statpre, struct iatt *statpost, dict_t *xdata)
{
    const struct fuse_local *local = frame->local;
    g_auto (loc_t) loc = { 0 };

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    kernel_forget_mode (frame->this->private, local->fd->inode);
    loc.inode = local->fd->inode;
    STACK_WIND (frame, fuse_write_capability_cbk, FIRST_CHILD (frame->this), removexattr, &loc,
                XATTR_NAME_CAPS, NULL);
}

/* Most files have no capabilities, so a failure doesn't matter. Storage removes capabilities with
 * the write, too, but a translator may answer the write before storage does. */
static void
fuse_write_capability_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                           int32_t op_errno, dict_t *xdata)
{
    write_wind_kept (frame);
}

/* --- cached pages ----------------------------------------------------------------------------- */

struct stale_pages {
    struct work_item work; /* first */
    call_frame_t *frame;
    size_t written;
};

static void
write_answer (call_frame_t *frame, size_t written)
{
    fuse_reply_write (request_answer (frame), written);
    stack_done (frame->root);
}

static void
forget_and_answer (struct work_item *work)
{
    struct stale_pages *stale = (struct stale_pages *) work;
    call_frame_t *frame = stale->frame;
    const struct fuse_local *local = frame->local;
    const struct bridge *bridge = frame->this->private;

    fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (local->fd->inode),
                                      local->offset, (off_t) stale->written);
    write_answer (frame, stale->written);
    g_free (stale);
}

/* Runs on another thread, since the kernel waits for pages that are being read. */
static bool
pages_are_stale (call_frame_t *frame, size_t written)
{
    struct fuse_local *local = frame->local;
    struct stale_pages *stale;

    if (!((local->fi.flags | local->fd->flags) & O_DIRECT)
        || !kernel_note_direct_write (local->fd->inode))
        return false;
    stale = g_new (struct stale_pages, 1);
    *stale = (struct stale_pages){ { .run = forget_and_answer }, frame, written };
    work_put (&stale->work);
    return true;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The bytes lie in the buffer of the request: a translator that keeps them keeps that buffer. */
static void
fuse_write (fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t offset,
            struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, ino, FOP_writev);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;
    struct iovec vector = { (char *) buf, size };

    if (!fd)
        return;
    frame->root->lk_owner = fi->lock_owner;
    const bool takes = takes_privileges (frame, fd->inode, fi);
    if (fi->writepage || takes || (fi->flags | fd->flags) & O_DIRECT)
        (void) write_keep (frame, fd, fi, vector, offset);
    if (takes)
        take_privileges (frame, fd->inode);
    else
        STACK_WIND (frame, fuse_writev_cbk, FIRST_CHILD (frame->this), writev, fd, &vector, 1,
                    offset, write_flags (fd, (uint32_t) fi->flags), message_iobref (), NULL);
}

static void
own_write_done (call_frame_t *frame, int32_t op_ret, int32_t op_errno)
{
    const struct fuse_local *local = frame->local;

    if (op_ret > 0 && write_goes_on (frame, op_ret))
        return;
    if (op_ret <= 0) /* another try might repeat for ever */
        request_err (frame, -1, op_ret == 0 ? EIO : op_errno);
    else
        write_answer (frame, local->size);
}

static void
fuse_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    const struct fuse_local *local = frame->local;

    if (local && local->fi.writepage)
        own_write_done (frame, op_ret, op_errno);
    else if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else if (!local || !pages_are_stale (frame, op_ret))
        write_answer (frame, op_ret);
}

void
write_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->write = fuse_write;
}

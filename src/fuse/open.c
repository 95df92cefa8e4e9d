/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that open and close: open, release, opendir, releasedir, flush, fsync, fsyncdir. */
#include "fuse/internal.h"

#include <fcntl.h>

#define FLAG_EXEC 040 /* the kernel's own mark of an open by execve */

static open_cbk fuse_open_cbk;
static opendir_cbk fuse_opendir_cbk;
static flush_cbk fuse_flush_cbk;
static fsync_cbk fuse_fsync_cbk;
static fsyncdir_cbk fuse_fsyncdir_cbk;

/* With the writeback cache the kernel reads around what it writes, and places appended bytes itself. */
uint32_t
request_flags (const struct bridge *bridge, int flags)
{
    flags &= ~FLAG_EXEC;
    if (!bridge->writeback)
        return flags;
    if ((flags & O_ACCMODE) == O_WRONLY)
        flags = (flags & ~O_ACCMODE) | O_RDWR;
    return flags & ~O_APPEND;
}

/* What begins an open: a new fd in the local. NULL when it was answered. */
static call_frame_t *
open_begin (fuse_req_t req, enum fop op, fuse_ino_t ino, struct fuse_file_info *fi, loc_t *ret_loc)
{
    struct bridge *bridge = bridge_of (req);
    call_frame_t *frame = request_begin (req, op);
    struct fuse_local *local;

    if (!frame || !request_loc_inode (frame, ret_loc, ino))
        return NULL;
    local = request_local (frame, NULL, NULL);
    local->fi = *fi;
    local->fd = fd_new (&bridge->graph->fd_maker, ret_loc->inode, request_flags (bridge, fi->flags), frame->root->pid);
    return frame;
}

static void
fuse_open (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = open_begin (req, FOP_open, ino, fi, &loc);
    fd_t *fd;

    if (!frame)
        return;
    if (bridge_of (req)->settings.read_only && ((fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC))) {
        request_err (frame, -1, EROFS);
        return;
    }
    fd = ((struct fuse_local *) frame->local)->fd;
    STACK_WIND (frame, fuse_open_cbk, FIRST_CHILD (frame->this), open, &loc, fd->flags, fd, NULL);
}

static void
fuse_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd,
               dict_t *xdata)
{
    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_open (frame, fd, false);
}

static void
fuse_opendir (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = open_begin (req, FOP_opendir, ino, fi, &loc);

    if (frame)
        STACK_WIND (frame, fuse_opendir_cbk, FIRST_CHILD (frame->this), opendir, &loc,
                    ((struct fuse_local *) frame->local)->fd, NULL);
}

static void
fuse_opendir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd,
                  dict_t *xdata)
{
    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_open (frame, fd, true);
}

/* Nobody waits for the answer: the translators are told when the last reference goes. */
static void
fuse_release (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    fd_t *fd = fd_of (fi);

    if (fd) {
        spare_release (bridge_of (req), fd);
        request_fd_release (bridge_of (req), fd);
    }
    fuse_reply_err (req, 0);
}

static void
fuse_flush (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, FOP_flush);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (!fd)
        return;
    frame->root->lk_owner = fi->lock_owner;
    STACK_WIND (frame, fuse_flush_cbk, FIRST_CHILD (frame->this), flush, fd, NULL);
}

static void
fuse_flush_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, dict_t *xdata)
{
    request_err (frame, op_ret, op_errno);
}

static void
fuse_fsync (fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, FOP_fsync);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (fd)
        STACK_WIND (frame, fuse_fsync_cbk, FIRST_CHILD (frame->this), fsync, fd, datasync, NULL);
}

static void
fuse_fsync_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    request_err (frame, op_ret, op_errno);
}

static void
fuse_fsyncdir (fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, FOP_fsyncdir);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (fd)
        STACK_WIND (frame, fuse_fsyncdir_cbk, FIRST_CHILD (frame->this), fsyncdir, fd, datasync, NULL);
}

static void
fuse_fsyncdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                   dict_t *xdata)
{
    request_err (frame, op_ret, op_errno);
}

void
open_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->open = fuse_open;
    ops->release = fuse_release;
    ops->opendir = fuse_opendir;
    ops->releasedir = fuse_release;
    ops->flush = fuse_flush;
    ops->fsync = fuse_fsync;
    ops->fsyncdir = fuse_fsyncdir;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that open and close: open, release, opendir, releasedir, flush, fsync, fsyncdir. */
#include "fuse/ops/ops.h"

#include "fuse/passthrough.h"

#include <fcntl.h>
#include <unistd.h>

/* The kernel's mark of an open by execve; the kernel accepts no such flag from open(2), openat2(2),
 * fcntl(2). */
#define FLAG_EXEC 040

static open_cbk fuse_open_cbk;
static access_cbk fuse_open_access_cbk;
static ftruncate_cbk fuse_open_truncate_cbk;
static opendir_cbk fuse_opendir_cbk;
static flush_cbk fuse_flush_cbk;
static fsync_cbk fuse_fsync_cbk;
static fsyncdir_cbk fuse_fsyncdir_cbk;

/* With the writeback cache the kernel reads around the bytes that it writes, and places appended
 * bytes itself. */
uint32_t
request_flags (const struct bridge *bridge, int flags)
{
    flags &= ~FLAG_EXEC;
    if (!bridge->terms.writeback)
        return flags;
    if ((flags & O_ACCMODE) == O_WRONLY)
        flags = (flags & ~O_ACCMODE) | O_RDWR;
    return flags & ~O_APPEND;
}

/* Begins an open: allocates an fd in the local. NULL if the request was answered. */
static call_frame_t *
open_begin (fuse_req_t req, enum fop op, fuse_ino_t ino, struct fuse_file_info *fi, loc_t *ret_loc)
{
    struct bridge *bridge = bridge_of (req);
    call_frame_t *frame = request_begin (req, ino, op);
    struct fuse_local *local;

    if (!frame || !request_loc_inode (frame, ret_loc, ino))
        return NULL;
    local = request_local (frame, NULL, NULL);
    local->fi = *fi;
    local->fd = fd_new (&frame->this->graph->fd_maker, ret_loc->inode,
                        request_flags (bridge, fi->flags), frame->root->pid);
    return frame;
}

/* Answers an open. A truncate removes setuid and setgid, and with the writeback cache the kernel
 * would go on using its cached mode. */
static void
open_done (call_frame_t *frame)
{
    const struct fuse_local *local = frame->local;
    const struct bridge *bridge = frame->this->private;

    if (bridge->terms.writeback && local->fi.flags & O_TRUNC)
        fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (local->fd->inode), -1, 0);
    request_open (frame, local->fd, false);
}

static void
bridge_open_wind (call_frame_t *frame, loc_t *loc, uint32_t flags)
{
    STACK_WIND (frame, fuse_open_cbk, FIRST_CHILD (frame->this), open, loc, flags,
                ((struct fuse_local *) frame->local)->fd, NULL);
}

static void
bridge_access_wind (call_frame_t *frame, loc_t *loc, int right)
{
    STACK_WIND (frame, fuse_open_access_cbk, FIRST_CHILD (frame->this), access, loc, right, NULL);
}

/*
 * Returns the right that is sufficient for an open that storage refused to the caller, or 0. Two
 * opens need the right to read although the caller may lack it, since the kernel reads: those of
 * execve, and those for writing through the writeback cache. For a caller that may only execute, or
 * write, the bridge then checks that right alone, and opens the file as the daemon.
 *
 * The caller gets no readable descriptor by that. The file of execve stays with the kernel, which
 * marks the open; a caller can't set the mark. A descriptor for writing stays write-only for the
 * caller, whatever it is below. Opening either again, by /proc/PID/exe or /proc/PID/fd, is a new
 * open without the mark. The kernel also protects the memory of the process: it lets no process
 * trace or dump a program that it can't read. That requires the kernel to check rights itself.
 * Without default_permissions every file looks readable to it, so a caller that runs a program
 * there must have the right to read it.
 */
static int
right_that_will_do (const struct bridge *bridge, int flags)
{
    if (flags & FLAG_EXEC)
        return bridge->terms.checked ? X_OK : 0;
    return bridge->terms.writeback && (flags & O_ACCMODE) == O_WRONLY ? W_OK : 0;
}

static void
fuse_open (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = open_begin (req, FOP_open, ino, fi, &loc);

    if (!frame)
        return;
    if (bridge_of (req)->settings.read_only && !(ino & INODE_BESIDE)
        && ((fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC))) {
        request_err (frame, -1, EROFS);
        return;
    }
    /* Without default_permissions the kernel has only checked that some user may execute it. */
    if (fi->flags & FLAG_EXEC && !bridge_of (req)->terms.checked)
        bridge_access_wind (frame, &loc, X_OK);
    else
        bridge_open_wind (frame, &loc, ((struct fuse_local *) frame->local)->fd->flags);
}

static void
fuse_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               fd_t *fd, dict_t *xdata)
{
    struct fuse_local *local = frame->local;
    const int right = op_ret < 0 && op_errno == EACCES
                        ? right_that_will_do (this->private, local->fi.flags)
                        : 0;
    g_auto (loc_t) loc = { .inode = local->fd->inode };

    if (right && !local->opens_as_daemon && !request_acts_as_daemon (frame)) {
        local->opens_as_daemon = true;
        bridge_access_wind (frame, &loc, right);
    } else if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
    } else if (local->opens_as_daemon && local->fi.flags & O_TRUNC) {
        request_act_as_caller (frame); /* a truncate removes setuid and setgid, unless root does
                                        * it */
        STACK_WIND (frame, fuse_open_truncate_cbk, FIRST_CHILD (this), ftruncate, local->fd, 0,
                    NULL);
    } else {
        open_done (frame);
    }
}

static void
fuse_open_access_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno, dict_t *xdata)
{
    struct fuse_local *local = frame->local;
    uint32_t flags = local->fd->flags;
    g_auto (loc_t) loc = { .inode = local->fd->inode };

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    if (local->opens_as_daemon) {
        request_act_as_daemon (frame);
        flags &= ~O_TRUNC;
    }
    bridge_open_wind (frame, &loc, flags);
}

static void
fuse_open_truncate_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                        int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        open_done (frame);
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
fuse_opendir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_open (frame, fd, true);
}

/* The kernel ignores the answer. Translators are told when the last reference is dropped. */
static void
fuse_release (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    fd_t *fd = fd_given (fi);

    if (fd)
        request_fd_release (bridge_of (req), fd);
    fuse_reply_err (req, 0);
}

static void
fuse_flush (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, ino, FOP_flush);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (!fd)
        return;
    frame->root->lk_owner = fi->lock_owner;
    STACK_WIND (frame, fuse_flush_cbk, FIRST_CHILD (frame->this), flush, fd, NULL);
}

/* Returns the error of a write that was found when the file moved to another graph, once. */
static int
error_owed (const call_frame_t *frame)
{
    fd_t *fd = frame->root->maker.lent_fds[0];

    return G_LIKELY (!__atomic_load_n (&fd->owed, __ATOMIC_RELAXED))
             ? 0
             : __atomic_exchange_n (&fd->owed, 0, __ATOMIC_RELAXED);
}

static void
bridge_sync_done (call_frame_t *frame, int32_t op_ret, int32_t op_errno)
{
    const int owed = op_ret >= 0 ? error_owed (frame) : 0;

    request_err (frame, owed ? -1 : op_ret, owed ? owed : op_errno);
}

static void
fuse_flush_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                dict_t *xdata)
{
    passthrough_forget_times (this->private, frame->root->maker.lent_fds[0]);
    bridge_sync_done (frame, op_ret, op_errno);
}

static void
fuse_fsync (fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, ino, FOP_fsync);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (fd)
        STACK_WIND (frame, fuse_fsync_cbk, FIRST_CHILD (frame->this), fsync, fd, datasync, NULL);
}

static void
fuse_fsync_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    bridge_sync_done (frame, op_ret, op_errno);
}

static void
fuse_fsyncdir (fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, ino, FOP_fsyncdir);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;

    if (fd)
        STACK_WIND (frame, fuse_fsyncdir_cbk, FIRST_CHILD (frame->this), fsyncdir, fd, datasync,
                    NULL);
}

static void
fuse_fsyncdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, dict_t *xdata)
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

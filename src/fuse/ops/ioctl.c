/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests for file attributes by ioctl. */
#include "fuse/ops/ops.h"

#include <linux/fs.h>

static ioctl_cbk fuse_ioctl_cbk;

/* Returns the native number of a 32-bit program's command, or 0. Other programs may not use the
 * 32-bit numbers: the kernel checks the native commands before it sends a request, and would let
 * these pass. */
static uint32_t
cmd_of_compat (uint32_t cmd)
{
    switch (cmd) {
    case FS_IOC32_GETFLAGS:
        return FS_IOC_GETFLAGS;
    case FS_IOC32_SETFLAGS:
        return FS_IOC_SETFLAGS;
    case FS_IOC32_GETVERSION:
        return FS_IOC_GETVERSION;
    case FS_IOC_FSGETXATTR:
    case FS_IOC_FSSETXATTR:
        return cmd;
    default:
        return 0;
    }
}

static void
fuse_ioctl (fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi,
            unsigned flags, const void *in_buf, size_t in_size, size_t out_size)
{
    call_frame_t *frame = request_begin (req, ino, FOP_ioctl);
    fd_t *fd = frame ? request_fd (frame, fi) : NULL;
    struct fuse_local *local;
    g_autoptr (GBytes) in = NULL;

    if (!fd)
        return;
    if (flags & FUSE_IOCTL_COMPAT)
        cmd = cmd_of_compat (cmd);
    else if (cmd_of_compat (cmd) != cmd && cmd_of_compat (cmd) != 0)
        cmd = 0;
    if (flags & FUSE_IOCTL_UNRESTRICTED || cmd == 0) {
        request_err (frame, -1, ENOTTY);
        return;
    }
    if (bridge_of (req)->settings.read_only && fop_changes (FOP_ioctl, cmd)) {
        request_err (frame, -1, EROFS);
        return;
    }
    local = request_local (frame, NULL, NULL);
    local->size = out_size;
    in = g_bytes_new (in_buf, in_size);
    STACK_WIND (frame, fuse_ioctl_cbk, FIRST_CHILD (frame->this), ioctl, fd, cmd, in, out_size,
                NULL);
}

static void
fuse_ioctl_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                GBytes *out, dict_t *xdata)
{
    const struct fuse_local *local = frame->local;
    gsize size = 0;
    const void *bytes = NULL;

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    if (out)
        bytes = g_bytes_get_data (out, &size);
    fuse_reply_ioctl (request_answer (frame), op_ret, bytes, MIN (size, local->size));
    stack_done (frame->root);
}

void
ioctl_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->ioctl = fuse_ioctl;
}

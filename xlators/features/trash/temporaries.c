/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Temporary files: a process makes one with O_EXCL and removes it while it is open. The first flush
 * of the file, which a close waits for, ends that: a release comes later than the close returns. */
#include "trash.h"

#include <fcntl.h>

static create_cbk trash_create_cbk;

void
trash_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
              mode_t umask, fd_t *fd, dict_t *xdata)
{
    if (flags & O_EXCL && trash_takes (this, frame->root))
        STACK_WIND (frame, trash_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask,
                    fd, xdata);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

static void *
maker_new (xlator_t *this, inode_t *inode)
{
    return g_new0 (pid_t, 1);
}

/* The context of the inode is the process, and that of the file is this inode's context. */
static void
trash_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf,
                  struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    if (op_ret >= 0 && inode) {
        pid_t *maker = inode_ctx_make (inode, this, maker_new, g_free);

        __atomic_store_n (maker, process_of_thread (frame->root->pid, clock_roughly ()),
                          __ATOMIC_RELAXED);
        fd_ctx_set (fd, this, maker);
    }
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

/* The inode lives at least as long as the file. */
static void
temporary_closed (xlator_t *this, fd_t *fd)
{
    pid_t *maker = fd_ctx_get (fd, this);

    if (maker)
        __atomic_store_n (maker, 0, __ATOMIC_RELAXED);
}

void
trash_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    temporary_closed (this, fd);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), flush, fd, xdata);
}

void
trash_temporary_release (xlator_t *this, fd_t *fd)
{
    temporary_closed (this, fd);
}

void
trash_temporary_forget (xlator_t *this, inode_t *inode)
{
    g_free (inode_ctx_get (inode, this));
}

bool
trash_is_temporary (xlator_t *this, const call_stack_t *root, inode_t *inode)
{
    const pid_t *context = inode_ctx_get (inode, this);
    const pid_t maker = context ? __atomic_load_n (context, __ATOMIC_RELAXED) : 0;

    return maker > 0 && maker == process_of_thread (root->pid, clock_roughly ());
}

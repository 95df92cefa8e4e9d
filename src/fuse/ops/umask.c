/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the caller's umask counts for a new object: it does unless the directory has a default
 * ACL (acl(5)). Local storage sees that itself. A brick heeds the umask of a call only if it has
 * features/access-control, so over servers the bridge applies it: it asks for the default ACL, once
 * a second for each directory in which something is made.
 */
#include "fuse/ops/ops.h"

#include <errno.h>

#define KNOWN_FOR 1000 /* milliseconds */

static getxattr_cbk default_acl_cbk;

static uint32_t
milliseconds (const call_frame_t *frame)
{
    return (uint32_t) (frame->root->begin / 1000000) | 1; /* 0 stands for never */
}

bool
umask_is_settled (call_frame_t *frame, mode_t mode)
{
    const struct bridge *bridge = frame->this->private;
    struct fuse_local *local = frame->local;
    uint32_t then;

    if (!bridge->terms.remote || !(mode & frame->root->umask))
        return true;
    then = __atomic_load_n (&local->parent->no_default_acl, __ATOMIC_RELAXED);
    local->masks = then && milliseconds (frame) - then < KNOWN_FOR;
    return local->masks;
}

void
umask_settle (call_frame_t *frame, call_stub_t *make)
{
    struct fuse_local *local = frame->local;
    loc_t loc = { .inode = local->parent };

    if (!make) {
        request_err (frame, -1, ENOMEM);
        return;
    }
    local->make = make;
    STACK_WIND (frame, default_acl_cbk, FIRST_CHILD (frame->this), getxattr, &loc,
                "system.posix_acl_default", NULL);
    loc_wipe_path (&loc);
}

/* An error means none, or that the operation itself will fail. */
static void
default_acl_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    struct fuse_local *local = frame->local;

    local->masks = op_ret < 0;
    if (local->masks)
        __atomic_store_n (&local->parent->no_default_acl, milliseconds (frame), __ATOMIC_RELAXED);
    call_resume (g_steal_pointer (&local->make));
}

void
umask_forget (inode_t *directory)
{
    __atomic_store_n (&directory->no_default_acl, 0, __ATOMIC_RELAXED);
}

mode_t
umask_of_bridge (const call_frame_t *frame)
{
    const struct fuse_local *local = frame->local;

    return local->masks ? frame->root->umask : 0;
}

mode_t
umask_of_storage (const call_frame_t *frame)
{
    return frame->root->umask & ~umask_of_bridge (frame);
}

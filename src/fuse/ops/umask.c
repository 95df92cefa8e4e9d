/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the caller's umask counts for a new object: it does, unless the directory has a default
 * ACL (acl(5)). Local storage sees the ACL itself, and applies the umask or not. A brick heeds the
 * umask of a call only if it has features/access-control. So over servers the bridge applies the
 * umask: it asks for the default ACL first, at most once a second for each directory.
 */
#include "fuse/ops/ops.h"

#include "fuse/kernel-cache.h"

#include <errno.h>

#define KNOWN_FOR 1000 /* milliseconds for which a directory is taken to have no default ACL */

static getxattr_cbk bridge_default_acl_cbk;

/* Returns the time at which the request began, in milliseconds; never 0. */
static uint32_t
request_milliseconds (const call_frame_t *frame)
{
    return (uint32_t) (frame->root->begin / 1000000) | 1;
}

bool
umask_is_settled (call_frame_t *frame, mode_t mode)
{
    const struct bridge *bridge = frame->this->private;
    struct fuse_local *local = frame->local;
    uint32_t seen;

    if (!bridge->terms.remote || !(mode & frame->root->umask))
        return true;
    seen = __atomic_load_n (&kernel_view (local->parent)->no_default_acl, __ATOMIC_RELAXED);
    local->masks = seen && request_milliseconds (frame) - seen < KNOWN_FOR;
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
    STACK_WIND (frame, bridge_default_acl_cbk, FIRST_CHILD (frame->this), getxattr, &loc,
                "system.posix_acl_default", NULL);
    loc_wipe_path (&loc);
}

/* An error counts as no default ACL. If storage can't be reached, making the object will fail
 * anyway. */
static void
bridge_default_acl_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                        int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    struct fuse_local *local = frame->local;

    local->masks = op_ret < 0;
    if (local->masks)
        __atomic_store_n (&kernel_view (local->parent)->no_default_acl,
                          request_milliseconds (frame), __ATOMIC_RELAXED);
    call_resume (g_steal_pointer (&local->make));
}

void
umask_forget (inode_t *directory)
{
    __atomic_store_n (&kernel_view (directory)->no_default_acl, 0, __ATOMIC_RELAXED);
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

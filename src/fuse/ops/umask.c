/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the caller's umask is applied to the mode of a new object: it is, unless the directory
 * has a default ACL (acl(5)). Local storage sees the default ACL, and decides by itself. A brick
 * applies the umask in a call only if its graph has features/access-control. So if the files are on
 * servers, the bridge applies the umask. Before it makes the object, the bridge asks whether the
 * directory has a default ACL. If it has none, the bridge does not ask again for one second.
 */
#include "fuse/ops/ops.h"

#include "fuse/kernel-cache.h"

#include <errno.h>

/* Milliseconds for which the bridge assumes that a directory still has no default ACL, after
 * storage has answered that it has none. */
#define KNOWN_FOR 1000

static getxattr_cbk bridge_default_acl_cbk;

/* Returns the time in milliseconds at which the request began. The result is odd, so it is never 0,
 * which stands for no time in kernel_view.no_default_acl. */
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

/* The answer to the question for the default ACL. Any error counts as no default ACL: if storage
 * can't be reached, the making of the object, which follows, fails anyway. */
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests about extended attributes. */
#include "fuse/ops/ops.h"

#include "fuse/kernel-cache.h"

#include <linux/xattr.h>
#include <string.h>

static setxattr_cbk fuse_setxattr_cbk;
static setattr_cbk fuse_kill_privileges_cbk;
static getxattr_cbk fuse_getxattr_cbk;
static getxattr_cbk fuse_listxattr_cbk;
static removexattr_cbk fuse_removexattr_cbk;
static stat_cbk fuse_capability_owner_cbk;
static access_cbk fuse_capability_access_cbk;

/* A server of GlusterFS keeps these for itself: it would ignore a new value, and answer success. */
static bool
is_of_server (const call_frame_t *frame, const char *name)
{
    const struct bridge *bridge = frame->this->private;

    return bridge->terms.remote
        && (strcmp (name, "trusted.gfid") == 0
            || strcmp (name, "trusted.glusterfs.volume-id") == 0);
}

/* What a change of an attribute begins with. Returns whether the request goes on. */
static bool
xattr_change_begin (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t ino, const char *name)
{
    if (!frame || !request_loc_inode (frame, ret_loc, ino))
        return false;
    umask_forget (ret_loc->inode);
    if (!is_of_server (frame, name))
        return true;
    request_err (frame, -1, EPERM);
    return false;
}

static void
fuse_setxattr (fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
               int flags)
{
    call_frame_t *frame = request_begin (req, ino, FOP_setxattr);
    g_autoptr (dict_t) dict = NULL;
    g_auto (loc_t) loc = { 0 };

    if (!xattr_change_begin (frame, &loc, ino, name))
        return;
    dict = dict_new ();
    dict_set (dict, name, value, size);
    /* Setting an ACL removes setgid, depending on whether the file's group is one of the caller's.
     * The caller is unknown here, so it is removed. */
    if (request_is_anonymous (req) && strcmp (name, XATTR_NAME_POSIX_ACL_ACCESS) == 0)
        request_local (frame, NULL, NULL)->inode = inode_ref (loc.inode);
    STACK_WIND (frame, fuse_setxattr_cbk, FIRST_CHILD (frame->this), setxattr, &loc, dict, flags,
                NULL);
}

static void
fuse_setxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, dict_t *xdata)
{
    const struct fuse_local *local = frame->local;
    struct iatt none = { 0 };
    g_auto (loc_t) loc = { 0 };

    if (op_ret < 0 || !local) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    loc.inode = local->inode;
    STACK_WIND (frame, fuse_kill_privileges_cbk, FIRST_CHILD (frame->this), setattr, &loc, &none,
                IATT_KILL_PRIV, NULL);
}

static void
fuse_kill_privileges_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                          int32_t op_errno, struct iatt *statpre, struct iatt *statpost,
                          dict_t *xdata)
{
    request_err (frame, op_ret, op_errno);
}

/* Size 0 asks for the size of the value. */
static void
xattr_reply (call_frame_t *frame, const void *value, size_t size)
{
    const struct fuse_local *local = frame->local;
    fuse_req_t req;

    if (local->size > 0 && size > local->size) {
        request_err (frame, -1, ERANGE);
        return;
    }
    req = request_answer (frame);
    if (local->size == 0)
        fuse_reply_xattr (req, size);
    else
        fuse_reply_buf (req, value, size);
    stack_done (frame->root);
}

/* Programs know an object of a volume by its gfid. Returns whether the name asks for that. */
static bool
gfid_answered (call_frame_t *frame, const inode_t *inode, const char *name)
{
    char text[GFID_TEXT_SIZE];

    if (strcmp (name, "glusterfs.gfid") == 0)
        xattr_reply (frame, &inode->gfid, sizeof inode->gfid);
    else if (strcmp (name, "glusterfs.gfid.string") == 0)
        xattr_reply (frame, gfid_text (&inode->gfid, text), GFID_TEXT_SIZE - 1);
    else
        return false;
    return true;
}

static void
fuse_getxattr (fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    call_frame_t *frame = request_begin (req, ino, FOP_getxattr);
    struct fuse_local *local;
    g_auto (loc_t) loc = { 0 };

    if (!frame || !request_loc_inode (frame, &loc, ino))
        return;
    local = request_local (frame, name, NULL);
    local->size = size;
    if (gfid_answered (frame, loc.inode, name))
        return;
    STACK_WIND (frame, fuse_getxattr_cbk, FIRST_CHILD (frame->this), getxattr, &loc, local->name,
                NULL);
}

/* The error for an attribute that the file lacks. ls(1) asks for the security label of each file
 * until it hears that the file system supports none. */
static int
no_attribute (const call_frame_t *frame, const char *name)
{
    const struct bridge *bridge = frame->this->private;

    return strcmp (name, XATTR_NAME_SELINUX) == 0 && !bridge->terms.labels ? EOPNOTSUPP : ENODATA;
}

static void
fuse_getxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    const struct fuse_local *local = frame->local;
    size_t size = 0;
    const void *value = op_ret < 0 ? NULL : dict_get (dict, local->name, &size);

    if (op_ret < 0 && op_errno != ENODATA)
        request_err (frame, op_ret, op_errno);
    else if (!value)
        request_err (frame, -1, no_attribute (frame, local->name));
    else {
        if (local->size == 0)
            privileges_note (frame, local->name, false);
        xattr_reply (frame, value, size);
    }
}

static void
fuse_listxattr (fuse_req_t req, fuse_ino_t ino, size_t size)
{
    call_frame_t *frame = request_begin (req, ino, FOP_getxattr);
    struct fuse_local *local;
    g_auto (loc_t) loc = { 0 };

    if (!frame || !request_loc_inode (frame, &loc, ino))
        return;
    local = request_local (frame, NULL, NULL);
    local->size = size;
    STACK_WIND (frame, fuse_listxattr_cbk, FIRST_CHILD (frame->this), getxattr, &loc, NULL, NULL);
}

static void
fuse_listxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    g_autoptr (GString) names = g_string_new (NULL);

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    for (size_t i = 0; i < dict_count (dict); i++) {
        const char *name;
        const void *value;
        size_t size;
        dict_nth (dict, i, &name, &value, &size);
        /* Storage shows these to root only, and treats a caller whose ids the kernel doesn't tell
         * as root. */
        if (!request_is_anonymous (frame->root->maker.asked)
            || !g_str_has_prefix (name, XATTR_TRUSTED_PREFIX))
            g_string_append_len (names, name, strlen (name) + 1);
    }
    xattr_reply (frame, names->str, names->len);
}

/*
 * Returns whether the kernel removes a file's capabilities by itself. The kernel does so before it
 * asks for a write, truncate or chown, and so before the caller's right to that is checked. Storage
 * removes them with the change itself, as the caller. The bridge therefore removes them now for a
 * caller that may write to the file or owns it, and for a write from the kernel's cache. Otherwise
 * the bridge only answers that they are gone, and the kernel's next request decides: so does it for
 * a setuid or setgid file of another user, whose chown (path, -1, -1) is refused, while a write
 * removes all of these before its bytes (write.c). Where the kernel removes setuid itself it has
 * checked a chown before.
 */
static bool
is_killed_by_kernel (fuse_req_t req, const call_frame_t *frame, const char *name)
{
    return strcmp (name, XATTR_NAME_CAPS) == 0 && frame->root->uid != 0
        && !request_is_anonymous (req);
}

static bool
capability_waits (const struct bridge *bridge, const struct iatt *buf)
{
    return buf->ia_prot & (S_ISUID | S_ISGID) && !bridge->terms.remote && !bridge->terms.idmapped;
}

static void
capability_wind (call_frame_t *frame)
{
    g_auto (loc_t) loc = { .inode = ((const struct fuse_local *) frame->local)->inode };

    STACK_WIND (frame, fuse_removexattr_cbk, FIRST_CHILD (frame->this), removexattr, &loc,
                XATTR_NAME_CAPS, NULL);
}

static void
fuse_capability_owner_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                           int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    struct bridge *bridge = frame->this->private;
    g_auto (loc_t) loc = { .inode = ((const struct fuse_local *) frame->local)->inode };

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
    } else if (buf->ia_uid == frame->root->uid) {
        capability_wind (frame);
    } else if (capability_waits (bridge, buf)) {
        kernel_note_mode (bridge, frame->root->about, buf);
        request_err (frame, 0, 0);
    } else {
        STACK_WIND (frame, fuse_capability_access_cbk, FIRST_CHILD (frame->this), access, &loc,
                    W_OK, NULL);
    }
}

static void
fuse_capability_access_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                            int32_t op_errno, dict_t *xdata)
{
    struct bridge *bridge = frame->this->private;
    const struct fuse_local *local = frame->local;

    if (op_ret >= 0 || (bridge->terms.writeback && request_fd_to_write (bridge, local->inode)))
        capability_wind (frame);
    else
        request_err (frame, 0, 0);
}

static void
fuse_removexattr (fuse_req_t req, fuse_ino_t ino, const char *name)
{
    call_frame_t *frame = request_begin (req, ino, FOP_removexattr);
    g_auto (loc_t) loc = { 0 };

    if (!xattr_change_begin (frame, &loc, ino, name))
        return;
    privileges_note (frame, name, true);
    if (!is_killed_by_kernel (req, frame, name)) {
        STACK_WIND (frame, fuse_removexattr_cbk, FIRST_CHILD (frame->this), removexattr, &loc, name,
                    NULL);
        return;
    }
    request_local (frame, NULL, NULL)->inode = inode_ref (loc.inode);
    STACK_WIND (frame, fuse_capability_owner_cbk, FIRST_CHILD (frame->this), stat, &loc, NULL);
}

static void
fuse_removexattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno, dict_t *xdata)
{
    request_err (frame, op_ret, op_errno);
}

void
xattr_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->setxattr = fuse_setxattr;
    ops->getxattr = fuse_getxattr;
    ops->listxattr = fuse_listxattr;
    ops->removexattr = fuse_removexattr;
}

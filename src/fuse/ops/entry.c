/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that find or create an inode under a name: lookup, mknod, mkdir, symlink, create,
 * tmpfile; and forget. */
#include "fuse/ops/ops.h"

#include "fuse/kernel-cache.h"
#include "fuse/state.h"
#include "fuse/trim.h"

#include <fcntl.h>
#include <unistd.h>

static lookup_cbk fuse_lookup_cbk;
static access_cbk fuse_lookup_access_cbk;
static mknod_cbk fuse_mknod_cbk;
static mkdir_cbk fuse_mkdir_cbk;
static symlink_cbk fuse_symlink_cbk;
static create_cbk fuse_create_cbk;

/* Looks up a file handle (NFS, name_to_handle_at) of an inode that the kernel may have forgotten:
 * "." stands for the inode itself, ".." for its directory. */
static void
lookup_handle (call_frame_t *frame, fuse_ino_t ino, bool parent)
{
    struct itable *itable = frame->this->graph->itable;
    struct fuse_local *local = request_local (frame, NULL, NULL);
    g_autoptr (inode_t) inode = inode_get_nodeid (itable, ino);
    g_autofree char *name = NULL;
    g_auto (loc_t) loc = { 0 };

    if (inode && (!parent || inode == itable_root (itable)))
        local->inode = inode_ref (inode);
    else if (!inode || !inode_a_name (inode, &local->inode, &name))
        local->inode = NULL;
    if (!local->inode) {
        request_err (frame, -1, ESTALE);
        return;
    }
    loc.inode = local->inode;
    STACK_WIND (frame, fuse_lookup_cbk, FIRST_CHILD (frame->this), lookup, &loc, NULL);
}

static void
fuse_lookup (fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_local *local;
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame;

    if (name_is_hidden (bridge_of (req), parent, name))
        parent |= INODE_BESIDE; /* continues in the hidden graph, whose inodes have this bit */
    frame = request_begin (req, parent, FOP_lookup);
    if (!frame)
        return;
    if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]))) {
        lookup_handle (frame, parent, name[1] == '.');
        return;
    }
    if (!request_loc_entry (frame, &loc, parent, name))
        return;
    local = request_local (frame, name, NULL);
    local->parent = loc.parent;
    local->inode = inode_grep (loc.parent, name);
    if (!local->inode)
        local->inode = inode_new (loc.parent->table);
    loc.inode = local->inode;
    STACK_WIND (frame, fuse_lookup_cbk, FIRST_CHILD (frame->this), lookup, &loc, NULL);
}

/* Answers that there is no such name; the kernel may cache that for a while. */
static void
lookup_negative (call_frame_t *frame)
{
    struct fuse_local *local = frame->local;
    fuse_req_t req = request_answer (frame);
    const struct bridge *bridge = bridge_of (req);
    struct fuse_entry_param entry = {
        .entry_timeout = kernel_negative_timeout (bridge, local->parent)
    };

    inode_unlink_asked (local->parent, local->name, local->asked);
    fuse_reply_entry (req, &entry);
    stack_done (frame->root);
}

static void
lookup_guarded (call_frame_t *frame, inode_t *inode, const struct iatt *buf)
{
    struct fuse_local *local = frame->local;
    G_GNUC_UNUSED g_autoptr (inode_t) before = local->inode;
    g_auto (loc_t) loc = { 0 };

    local->inode = request_link (frame, inode, local->parent, local->name, buf);
    local->attributes = *buf;
    loc.inode = local->inode;
    STACK_WIND (frame, fuse_lookup_access_cbk, FIRST_CHILD (frame->this), access, &loc, R_OK | W_OK,
                NULL);
}

static void
fuse_lookup_access_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                        int32_t op_errno, dict_t *xdata)
{
    struct fuse_local *local = frame->local;

    if (op_ret < 0 && frame->root->uid != local->attributes.ia_uid)
        request_err (frame, op_ret, op_errno);
    else
        request_entry (frame, local->inode, local->parent, local->name, &local->attributes);
}

/* Returns whether a file handle stands for a file without a name. The kernel asks about a handle
 * only if it has no inode for it: so the file isn't open either, and only a translator's entries
 * read ahead, pages or the like still hold the inode here. */
static bool
handle_is_gone (const struct fuse_local *local, const struct iatt *buf)
{
    return !local->name && buf->ia_nlink == 0;
}

static void
fuse_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, inode_t *inode, struct iatt *buf, dict_t *xdata,
                 struct iatt *postparent)
{
    const struct bridge *bridge = this->private;
    struct fuse_local *local = frame->local;

    if (op_ret < 0 && op_errno == ENOENT && local->name) {
        if (bridge->settings.negative_timeout > 0) {
            lookup_negative (frame);
            return;
        }
        inode_unlink_asked (local->parent, local->name, local->asked);
    }
    if (op_ret < 0 && unknown_name_is (frame, op_errno))
        unknown_name_answer (frame, op_errno);
    else if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else if (handle_is_gone (local, buf))
        request_err (frame, -1, ESTALE);
    else if (local->name && kernel_is_guarded (bridge, buf))
        lookup_guarded (frame, inode, buf);
    else
        request_entry (frame, inode, local->parent, local->name, buf);
}

static void
bridge_forget_one (struct bridge *bridge, fuse_ino_t ino, uint64_t nlookup)
{
    inode_t *inode = inode_of_nodeid (bridge->entrances[ino >> 63]->graph->itable, ino);

    if (inode)
        inode_forget (inode, nlookup);
}

static void
fuse_forget (fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
    bridge_forget_one (bridge_of (req), ino, nlookup);
    trim_note (bridge_of (req), 1);
    fuse_reply_none (req);
}

static void
fuse_forget_multi (fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        bridge_forget_one (bridge_of (req), forgets[i].ino, forgets[i].nlookup);
    trim_note (bridge_of (req), (unsigned) count);
    fuse_reply_none (req);
}

/* Begins a request that creates an inode: allocates the inode. NULL if the request was answered. */
static call_frame_t *
new_entry (fuse_req_t req, enum fop op, fuse_ino_t parent, const char *name, loc_t *ret_loc)
{
    call_frame_t *frame = request_begin_entry (req, op, parent, name, ret_loc);
    struct fuse_local *local;

    if (!frame)
        return NULL;
    local = frame->local;
    ret_loc->inode = local->inode = inode_new (ret_loc->parent->table);
    return frame;
}

static void
new_entry_done (call_frame_t *frame, int op_ret, int op_errno, inode_t *inode,
                const struct iatt *buf)
{
    const struct fuse_local *local = frame->local;

    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_entry (frame, inode, local->parent, local->name, buf);
}

static void
bridge_mknod_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev,
                   mode_t umask, dict_t *xdata)
{
    STACK_WIND (frame, fuse_mknod_cbk, FIRST_CHILD (this), mknod, loc,
                mode & ~umask_of_bridge (frame), rdev, umask_of_storage (frame), xdata);
}

static void
fuse_mknod (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = new_entry (req, FOP_mknod, parent, name, &loc);

    if (!frame)
        return;
    if (umask_is_settled (frame, mode))
        bridge_mknod_wind (frame, frame->this, &loc, mode, rdev, 0, NULL);
    else
        umask_settle (frame, fop_mknod_stub (frame, bridge_mknod_wind, &loc, mode, rdev, 0, NULL));
}

static void
fuse_mknod_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, struct iatt *preparent, struct iatt *postparent,
                dict_t *xdata)
{
    new_entry_done (frame, op_ret, op_errno, inode, buf);
}

static void
bridge_mkdir_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
                   dict_t *xdata)
{
    STACK_WIND (frame, fuse_mkdir_cbk, FIRST_CHILD (this), mkdir, loc,
                mode & ~umask_of_bridge (frame), umask_of_storage (frame), xdata);
}

static void
fuse_mkdir (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = new_entry (req, FOP_mkdir, parent, name, &loc);

    if (!frame)
        return;
    if (umask_is_settled (frame, mode))
        bridge_mkdir_wind (frame, frame->this, &loc, mode, 0, NULL);
    else
        umask_settle (frame, fop_mkdir_stub (frame, bridge_mkdir_wind, &loc, mode, 0, NULL));
}

static void
fuse_mkdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, struct iatt *preparent, struct iatt *postparent,
                dict_t *xdata)
{
    new_entry_done (frame, op_ret, op_errno, inode, buf);
}

static void
fuse_symlink (fuse_req_t req, const char *linkpath, fuse_ino_t parent, const char *name)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = new_entry (req, FOP_symlink, parent, name, &loc);

    if (frame)
        STACK_WIND (frame, fuse_symlink_cbk, FIRST_CHILD (frame->this), symlink, linkpath, &loc,
                    frame->root->umask, NULL);
}

static void
fuse_symlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, inode_t *inode, struct iatt *buf, struct iatt *preparent,
                  struct iatt *postparent, dict_t *xdata)
{
    new_entry_done (frame, op_ret, op_errno, inode, buf);
}

static void
bridge_create_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
                    mode_t umask, fd_t *fd, dict_t *xdata)
{
    STACK_WIND (frame, fuse_create_cbk, FIRST_CHILD (this), create, loc, flags,
                mode & ~umask_of_bridge (frame), umask_of_storage (frame), fd, xdata);
}

static void
fuse_create (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
             struct fuse_file_info *fi)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = new_entry (req, FOP_create, parent, name, &loc);
    struct fuse_local *local;
    uint32_t flags;

    if (!frame)
        return;
    local = frame->local;
    local->fi = *fi;
    flags = request_flags (bridge_of (req), fi->flags);
    local->fd = fd_new (&frame->this->graph->fd_maker, NULL, flags, frame->root->pid);
    if (umask_is_settled (frame, mode))
        bridge_create_wind (frame, frame->this, &loc, flags, mode, 0, local->fd, NULL);
    else
        umask_settle (frame, fop_create_stub (frame, bridge_create_wind, &loc, flags, mode, 0,
                                              local->fd, NULL));
}

static void
fuse_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf,
                 struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    const struct fuse_local *local = frame->local;

    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_create (frame, fd, inode, local->parent, local->name, buf);
}

#ifdef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_TMPFILE
static tmpfile_cbk fuse_tmpfile_cbk;

static void
fuse_tmpfile (fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, parent, FOP_tmpfile);
    struct fuse_local *local;
    g_auto (loc_t) loc = { 0 };
    uint32_t flags;

    if (!frame || !request_loc_inode (frame, &loc, parent))
        return;
    local = request_local (frame, NULL, NULL);
    local->fi = *fi;
    flags = request_flags (bridge_of (req), fi->flags);
    local->fd = fd_new (&frame->this->graph->fd_maker, NULL, flags, frame->root->pid);
    STACK_WIND (frame, fuse_tmpfile_cbk, FIRST_CHILD (frame->this), tmpfile, &loc, flags, mode,
                frame->root->umask, local->fd, NULL);
}

static void
fuse_tmpfile_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf, dict_t *xdata)
{
    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_create (frame, fd, inode, NULL, NULL, buf);
}
#endif

void
entry_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->lookup = fuse_lookup;
    ops->forget = fuse_forget;
    ops->forget_multi = fuse_forget_multi;
    ops->mknod = fuse_mknod;
    ops->mkdir = fuse_mkdir;
    ops->symlink = fuse_symlink;
    ops->create = fuse_create;
#ifdef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_TMPFILE
    ops->tmpfile = fuse_tmpfile;
#endif
}

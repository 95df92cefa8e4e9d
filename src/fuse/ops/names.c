/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that change names: unlink, rmdir, rename, link. */
#include "fuse/ops/ops.h"

#include <stdio.h>

static unlink_cbk fuse_unlink_cbk;
static rmdir_cbk fuse_rmdir_cbk;
static rename_cbk fuse_rename_cbk;
static link_cbk fuse_link_cbk;

static call_frame_t *
remove_begin (fuse_req_t req, enum fop op, fuse_ino_t parent, const char *name, loc_t *ret_loc)
{
    call_frame_t *frame = request_begin_entry (req, op, parent, name, ret_loc);
    struct fuse_local *local;

    if (!frame)
        return NULL;
    local = frame->local;
    ret_loc->inode = local->inode = inode_grep (ret_loc->parent, name);
    frame->root->maker.lent_inodes[1] = local->inode; /* the kernel has its lock, too: notices.h */
    return frame;
}

static void
remove_done (call_frame_t *frame, int op_ret, int op_errno)
{
    const struct fuse_local *local = frame->local;

    if (op_ret >= 0 || op_errno == ENOENT)
        inode_unlink (local->parent, local->name);
    request_err (frame, op_ret, op_errno);
}

static void
fuse_unlink (fuse_req_t req, fuse_ino_t parent, const char *name)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = remove_begin (req, FOP_unlink, parent, name, &loc);

    if (frame)
        STACK_WIND (frame, fuse_unlink_cbk, FIRST_CHILD (frame->this), unlink, &loc, 0, NULL);
}

static void
fuse_unlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    remove_done (frame, op_ret, op_errno);
}

static void
fuse_rmdir (fuse_req_t req, fuse_ino_t parent, const char *name)
{
    g_auto (loc_t) loc = { 0 };
    call_frame_t *frame = remove_begin (req, FOP_rmdir, parent, name, &loc);

    if (frame)
        STACK_WIND (frame, fuse_rmdir_cbk, FIRST_CHILD (frame->this), rmdir, &loc, 0, NULL);
}

static void
fuse_rmdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    remove_done (frame, op_ret, op_errno);
}

static void
fuse_rename (fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
             const char *new_name, unsigned flags)
{
    call_frame_t *frame = request_begin (req, parent, FOP_rename);
    g_auto (loc_t) oldloc = { 0 };
    g_auto (loc_t) newloc = { 0 };
    struct fuse_local *local;

    if (!frame || !request_loc_entry (frame, &oldloc, parent, name)
        || !request_loc_entry (frame, &newloc, new_parent, new_name))
        return;
    local = request_local (frame, name, new_name);
    local->parent = oldloc.parent;
    local->new_parent = newloc.parent;
    local->valid = flags;
    oldloc.inode = local->inode = inode_grep (oldloc.parent, name);
    newloc.inode = local->other = inode_grep (newloc.parent, new_name);
    STACK_WIND (frame, fuse_rename_cbk, FIRST_CHILD (frame->this), rename, &oldloc, &newloc, flags,
                NULL);
}

/* Makes the name stand for inode again, whatever a concurrent lookup has changed. */
static void
name_again (inode_t *inode, inode_t *parent, const char *name)
{
    struct iatt iatt = { .ia_type = inode->ia_type, .ia_gfid = inode->gfid };

    inode_unref (inode_link (inode, parent, name, &iatt));
}

static void
rename_names (const struct fuse_local *local, const struct iatt *moved)
{
    const bool exchange = local->valid & RENAME_EXCHANGE;

    inode_rename (local->parent, local->name, local->new_parent, local->new_name, exchange);
    if (local->inode && moved && gfid_equal (&local->inode->gfid, &moved->ia_gfid))
        name_again (local->inode, local->new_parent, local->new_name);
    if (local->other && exchange)
        name_again (local->other, local->parent, local->name);
}

static void
fuse_rename_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *buf, struct iatt *preoldparent,
                 struct iatt *postoldparent, struct iatt *prenewparent, struct iatt *postnewparent,
                 dict_t *xdata)
{
    const struct fuse_local *local = frame->local;

    if (op_ret >= 0)
        rename_names (local, buf);
    request_err (frame, op_ret, op_errno);
}

static void
fuse_link (fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
    call_frame_t *frame = request_begin (req, ino, FOP_link);
    g_auto (loc_t) oldloc = { 0 };
    g_auto (loc_t) newloc = { 0 };
    struct fuse_local *local;

    if (!frame || !request_loc_inode (frame, &oldloc, ino)
        || !request_loc_entry (frame, &newloc, new_parent, new_name))
        return;
    local = request_local (frame, new_name, NULL);
    local->parent = newloc.parent;
    newloc.inode = local->inode = inode_ref (oldloc.inode);
    STACK_WIND (frame, fuse_link_cbk, FIRST_CHILD (frame->this), link, &oldloc, &newloc, NULL);
}

static void
fuse_link_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               inode_t *inode, struct iatt *buf, struct iatt *preparent, struct iatt *postparent,
               dict_t *xdata)
{
    const struct fuse_local *local = frame->local;

    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_entry (frame, inode, local->parent, local->name, buf);
}

void
names_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->unlink = fuse_unlink;
    ops->rmdir = fuse_rmdir;
    ops->rename = fuse_rename;
    ops->link = fuse_link;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests about attributes: getattr, setattr, statx, readlink, access, statfs. */
#include "fuse/ops/ops.h"

#include "fuse/kernel-cache.h"
#include "fuse/passthrough.h"
#include "fuse/state.h"

#include <limits.h>
#include <sys/sysmacros.h>

static stat_cbk fuse_stat_cbk;
static fstat_cbk fuse_fstat_cbk;
static setattr_cbk fuse_setattr_cbk;
static fsetattr_cbk fuse_fsetattr_cbk;
static truncate_cbk fuse_truncate_cbk;
static ftruncate_cbk fuse_ftruncate_cbk;
static readlink_cbk fuse_readlink_cbk;
static access_cbk fuse_access_cbk;
static statfs_cbk fuse_statfs_cbk;

static void
fuse_getattr (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    fd_t *fd = fd_meant (fi);
    call_frame_t *frame = request_begin (req, ino, fd ? FOP_fstat : FOP_stat);
    g_auto (loc_t) loc = { 0 };

    if (!frame || !(fd ? request_fd (frame, fi) != NULL : request_loc_inode (frame, &loc, ino)))
        return;
    if (fd)
        STACK_WIND (frame, fuse_fstat_cbk, FIRST_CHILD (frame->this), fstat, fd, NULL);
    else
        STACK_WIND (frame, fuse_stat_cbk, FIRST_CHILD (frame->this), stat, &loc, NULL);
}

static void
stat_done (call_frame_t *frame, int op_ret, int op_errno, const struct iatt *buf)
{
    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else
        request_attr (frame, buf);
}

static void
fuse_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *buf, dict_t *xdata)
{
    stat_done (frame, op_ret, op_errno, buf);
}

static void
fuse_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *buf, dict_t *xdata)
{
    stat_done (frame, op_ret, op_errno, buf);
}

static uint32_t
valid_of (int to_set)
{
    static const struct {
        int fuse;
        uint32_t iatt;
    } bits[] = {
        { FUSE_SET_ATTR_MODE, IATT_MODE },
        { FUSE_SET_ATTR_UID, IATT_UID },
        { FUSE_SET_ATTR_GID, IATT_GID },
        { FUSE_SET_ATTR_SIZE, IATT_SIZE },
        { FUSE_SET_ATTR_ATIME, IATT_ATIME },
        { FUSE_SET_ATTR_MTIME, IATT_MTIME },
        { FUSE_SET_ATTR_CTIME, IATT_CTIME },
        { FUSE_SET_ATTR_ATIME_NOW, IATT_ATIME_NOW },
        { FUSE_SET_ATTR_MTIME_NOW, IATT_MTIME_NOW },
        { FUSE_SET_ATTR_KILL_SUID, IATT_KILL_PRIV },
    };
    uint32_t valid = 0;

    for (size_t i = 0; i < G_N_ELEMENTS (bits); i++)
        if (to_set & bits[i].fuse)
            valid |= bits[i].iatt;
    return valid;
}

/* Winds the attributes that remain to be set, to the open file if there is one, else to the
 * inode. */
static void
bridge_setattr_wind (call_frame_t *frame)
{
    struct fuse_local *local = frame->local;
    uint32_t valid = local->valid;
    g_auto (loc_t) loc = { .inode = local->inode };

    local->valid = 0;
    local->wound = valid;
    if (local->fd)
        STACK_WIND (frame, fuse_fsetattr_cbk, FIRST_CHILD (frame->this), fsetattr, local->fd,
                    &local->attributes, valid, NULL);
    else
        STACK_WIND (frame, fuse_setattr_cbk, FIRST_CHILD (frame->this), setattr, &loc,
                    &local->attributes, valid, NULL);
}

/* Winds a change of size as a truncate, so that a translator handles it in one place. The other
 * attributes follow. */
static void
bridge_truncate_wind (call_frame_t *frame)
{
    struct fuse_local *local = frame->local;
    off_t size = local->attributes.ia_size;
    g_auto (loc_t) loc = { .inode = local->inode };

    if (local->fd)
        STACK_WIND (frame, fuse_ftruncate_cbk, FIRST_CHILD (frame->this), ftruncate, local->fd,
                    size, NULL);
    else
        STACK_WIND (frame, fuse_truncate_cbk, FIRST_CHILD (frame->this), truncate, &loc, size,
                    NULL);
}

/*
 * A setattr that sets nothing is one of two requests, which look the same: chown (path, -1, -1), or
 * the kernel's notice that the caller is about to write to a file that is setuid or setgid. A write
 * removes these; if they stayed until then, the kernel would use the cached mode for the attribute
 * timeout. A caller that writes needs no right to chown. The request is therefore treated as chown,
 * and nothing_is_refused handles a refusal. Root's writes leave setuid; its notices concern file
 * capabilities, which the kernel has removed: privileges.c. With the writeback cache only chown has
 * a ctime.
 */
static uint32_t
valid_of_nothing (call_frame_t *frame, int to_set)
{
    struct bridge *bridge = frame->this->private;
    struct fuse_local *local = frame->local;

    if (bridge->terms.idmapped) /* the kernel removes setuid and setgid itself */
        return 0;
    if (to_set == 0 && frame->root->uid == 0 && privileges_announce_write (frame)
        && request_fd_to_write (bridge, local->inode))
        return 0;
    local->attributes.ia_uid = (uid_t) -1;
    local->attributes.ia_gid = (gid_t) -1;
    return IATT_UID | IATT_GID;
}

static void
fuse_setattr (fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set,
              struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, ino, FOP_setattr);
    struct fuse_local *local;
    loc_t loc;

    if (!frame || !request_loc_inode (frame, &loc, ino))
        return;
    local = request_local (frame, NULL, NULL);
    local->inode = inode_ref (loc.inode);
    local->fd = fd_ref (fd_meant (fi));
    iatt_of_stat (&local->attributes, st);
    local->valid = valid_of (to_set);
    if ((to_set & ~FUSE_SET_ATTR_CTIME) == 0)
        local->valid = valid_of_nothing (frame, to_set);
    if (local->valid & IATT_SIZE) {
        /* A truncate clears setuid, setgid and capabilities as well. */
        local->valid &= ~(IATT_SIZE | IATT_KILL_PRIV);
        bridge_truncate_wind (frame);
        return;
    }
    bridge_setattr_wind (frame);
}

static void
attributes_wind (call_frame_t *frame)
{
    const struct fuse_local *local = frame->local;
    g_auto (loc_t) loc = { .inode = local->inode };

    if (local->fd)
        STACK_WIND (frame, fuse_fstat_cbk, FIRST_CHILD (frame->this), fstat, local->fd, NULL);
    else
        STACK_WIND (frame, fuse_stat_cbk, FIRST_CHILD (frame->this), stat, &loc, NULL);
}

/* Continues after a truncate. The kernel needs attributes, which not every truncate returns. */
static void
truncate_done (call_frame_t *frame, int op_ret, int op_errno, const struct iatt *postbuf)
{
    const struct fuse_local *local = frame->local;

    if (op_ret < 0)
        request_err (frame, op_ret, op_errno);
    else if (local->valid)
        bridge_setattr_wind (frame);
    else if (postbuf)
        request_attr (frame, postbuf);
    else
        attributes_wind (frame);
}

static void
fuse_truncate_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    truncate_done (frame, op_ret, op_errno, postbuf);
}

static void
fuse_ftruncate_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    truncate_done (frame, op_ret, op_errno, postbuf);
}

#define TIMES (IATT_ATIME | IATT_MTIME | IATT_CTIME | IATT_ATIME_NOW | IATT_MTIME_NOW)

/* Returns whether a refused change of times may be the kernel's own. With the writeback cache the
 * kernel keeps times itself, and sends them as numbers, even for a caller that wrote or set "now".
 * Only the owner may set such times. If the kernel checks rights, it has refused other callers. */
static bool
times_are_the_kernels (call_frame_t *frame, int op_errno)
{
    const struct bridge *bridge = frame->this->private;
    const struct fuse_local *local = frame->local;

    return op_errno == EPERM && bridge->terms.writeback && bridge->terms.checked
        && !(local->wound & ~(TIMES | IATT_KILL_PRIV));
}

/* Returns whether to ignore a refused chown that sets nothing, since it may announce a write: the
 * file is open for writing, and the write will remove setuid (write.c). If the kernel writes the
 * file itself, no write comes, and the refusal counts. */
static bool
nothing_is_refused (call_frame_t *frame, int op_errno)
{
    struct bridge *bridge = frame->this->private;
    const struct fuse_local *local = frame->local;

    return op_errno == EPERM && local->wound == (IATT_UID | IATT_GID)
        && local->attributes.ia_uid == (uid_t) -1 && request_fd_to_write (bridge, local->inode)
        && !passthrough_writes (bridge, local->inode);
}

static void
setattr_done (call_frame_t *frame, int op_ret, int op_errno, const struct iatt *statpost)
{
    struct fuse_local *local = frame->local;

    if (op_ret < 0 && nothing_is_refused (frame, op_errno)) {
        attributes_wind (frame);
        return;
    }
    if (op_ret >= 0 || !times_are_the_kernels (frame, op_errno) || request_acts_as_daemon (frame)) {
        stat_done (frame, op_ret, op_errno, statpost);
        return;
    }
    request_act_as_daemon (frame);
    local->valid = local->wound;
    bridge_setattr_wind (frame);
}

static void
fuse_setattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, struct iatt *statpre, struct iatt *statpost, dict_t *xdata)
{
    setattr_done (frame, op_ret, op_errno, statpost);
}

static void
fuse_fsetattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, struct iatt *statpre, struct iatt *statpost, dict_t *xdata)
{
    setattr_done (frame, op_ret, op_errno, statpost);
}

static void
fuse_readlink (fuse_req_t req, fuse_ino_t ino)
{
    call_frame_t *frame = request_begin (req, ino, FOP_readlink);
    g_auto (loc_t) loc = { 0 };

    if (frame && request_loc_inode (frame, &loc, ino))
        STACK_WIND (frame, fuse_readlink_cbk, FIRST_CHILD (frame->this), readlink, &loc, PATH_MAX,
                    NULL);
}

static void
fuse_readlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, const char *path, struct iatt *buf, dict_t *xdata)
{
    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    fuse_reply_readlink (request_answer (frame), path);
    stack_done (frame->root);
}

static void
fuse_access (fuse_req_t req, fuse_ino_t ino, int mask)
{
    call_frame_t *frame = request_begin (req, ino, FOP_access);
    g_auto (loc_t) loc = { 0 };

    if (frame && request_loc_inode (frame, &loc, ino))
        STACK_WIND (frame, fuse_access_cbk, FIRST_CHILD (frame->this), access, &loc, mask, NULL);
}

static void
fuse_access_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, dict_t *xdata)
{
    request_err (frame, op_ret, op_errno);
}

static void
fuse_statfs (fuse_req_t req, fuse_ino_t ino)
{
    call_frame_t *frame = request_begin (req, ino, FOP_statfs);
    g_auto (loc_t) loc = { 0 };

    /* 0: the file system as a whole */
    if (frame && request_loc_inode (frame, &loc, ino ? ino : FUSE_ROOT_ID))
        STACK_WIND (frame, fuse_statfs_cbk, FIRST_CHILD (frame->this), statfs, &loc, NULL);
}

static void
fuse_statfs_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct statvfs *buf, dict_t *xdata)
{
    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    fuse_reply_statfs (request_answer (frame), buf);
    stack_done (frame->root);
}

#ifdef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_STATX
static stat_cbk fuse_statx_cbk;
static fstat_cbk fuse_fstatx_cbk;

static void
fuse_statx (fuse_req_t req, fuse_ino_t ino, int flags, int mask, struct fuse_file_info *fi)
{
    fd_t *fd = fd_meant (fi);
    call_frame_t *frame = request_begin (req, ino, fd ? FOP_fstat : FOP_stat);
    g_auto (loc_t) loc = { 0 };

    if (!frame || !(fd ? request_fd (frame, fi) != NULL : request_loc_inode (frame, &loc, ino)))
        return;
    if (fd)
        STACK_WIND (frame, fuse_fstatx_cbk, FIRST_CHILD (frame->this), fstat, fd, NULL);
    else
        STACK_WIND (frame, fuse_statx_cbk, FIRST_CHILD (frame->this), stat, &loc, NULL);
}

/* The kernel fills in the device numbers itself. Up to 6.18 it does not look at the attributes. */
static struct statx
statx_of_iatt (const struct bridge *bridge, const struct iatt *iatt)
{
    return (struct statx){
        .stx_mask = STATX_BASIC_STATS | (iatt->ia_btime ? STATX_BTIME : 0),
        .stx_blksize = kernel_block_size (iatt),
        .stx_attributes = iatt->ia_attributes,
        .stx_attributes_mask = iatt->ia_attributes_mask,
        .stx_nlink = iatt->ia_nlink,
        .stx_uid = iatt->ia_uid,
        .stx_gid = iatt->ia_gid,
        .stx_mode = mode_of_iatt (iatt),
        .stx_ino = kernel_ino (bridge, iatt->ia_ino),
        .stx_size = iatt->ia_size,
        .stx_blocks = iatt->ia_blocks,
        .stx_atime = { .tv_sec = iatt->ia_atime, .tv_nsec = iatt->ia_atime_nsec },
        .stx_mtime = { .tv_sec = iatt->ia_mtime, .tv_nsec = iatt->ia_mtime_nsec },
        .stx_ctime = { .tv_sec = iatt->ia_ctime, .tv_nsec = iatt->ia_ctime_nsec },
        .stx_btime = { .tv_sec = iatt->ia_btime, .tv_nsec = iatt->ia_btime_nsec },
        .stx_rdev_major = major (iatt->ia_rdev),
        .stx_rdev_minor = minor (iatt->ia_rdev),
    };
}

static void
statx_done (call_frame_t *frame, int op_ret, int op_errno, const struct iatt *buf)
{
    struct statx stx;
    fuse_req_t req;

    if (op_ret < 0) {
        request_err (frame, op_ret, op_errno);
        return;
    }
    stx = statx_of_iatt (frame->this->private, buf);
    req = request_answer (frame);
    kernel_note_mode (bridge_of (req), frame->root->about, buf);
    fuse_reply_statx (req, 0, &stx,
                      kernel_attribute_timeout (bridge_of (req), frame->root->about, buf));
    stack_done (frame->root);
}

static void
fuse_statx_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *buf, dict_t *xdata)
{
    statx_done (frame, op_ret, op_errno, buf);
}

static void
fuse_fstatx_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    statx_done (frame, op_ret, op_errno, buf);
}
#endif

void
attr_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->getattr = fuse_getattr;
    ops->setattr = fuse_setattr;
    ops->readlink = fuse_readlink;
    ops->access = fuse_access;
    ops->statfs = fuse_statfs;
#ifdef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_STATX
    ops->statx = fuse_statx;
#endif
}

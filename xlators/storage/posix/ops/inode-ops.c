/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on an inode that is not open: readlink, truncate, access, statfs. */
#include "../posix.h"

#include <limits.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

static int
inode_readlink (call_frame_t *frame, xlator_t *this, inode_t *inode, char *text, size_t size,
                struct iatt *ret_buf)
{
    g_auto (posix_pin_t) pin = { 0 };
    ssize_t n;
    int r = posix_pin (this, inode, &pin);

    if (r < 0)
        return r;
    if (pin.pi->ia_type != IA_IFLNK)
        return -EINVAL;
    r = posix_act_as (posix_priv (this), frame);
    if (r < 0)
        return r;
    n = readlinkat (pin.fd, "", text, size);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    r = posix_iatt (this, pin.fd, &pin.pi->gfid, ret_buf);
    return r < 0 ? r : (int) n;
}

void
posix_readlink (call_frame_t *frame, xlator_t *this, loc_t *loc, size_t size, dict_t *xdata)
{
    char text[PATH_MAX + 1];
    struct iatt buf;
    int r = size == 0 ? -EINVAL
                      : inode_readlink (frame, this, loc->inode, text, MIN (size, PATH_MAX), &buf);

    STACK_UNWIND (readlink, frame, POSIX_RET (r), r < 0 ? NULL : text, r < 0 ? NULL : &buf, NULL);
}

static int
inode_truncate (call_frame_t *frame, xlator_t *this, inode_t *inode, off_t size,
                struct posix_change *change)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_pin (this, inode, &pin);

    if (r < 0)
        return r;
    posix_before (frame, this, WANTS_DATA_ATTRIBUTES, pin.fd, &pin.pi->gfid, change);
    r = posix_act_as (posix_priv (this), frame);
    if (r == 0)
        r = posix_result (truncate (posix_path_of (pin.fd).text, size));
    posix_after (this, pin.fd, &pin.pi->gfid, change);
    return r;
}

void
posix_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    struct posix_change change = { 0 };
    int r = inode_truncate (frame, this, loc->inode, offset, &change);

    STACK_UNWIND (truncate, frame, POSIX_RET (r), posix_pre (&change, r), posix_post (&change, r),
                  NULL);
}

/* The bare system call: on a kernel without it, the C library's function would judge by the wrong
 * ids. */
static int
inode_access (call_frame_t *frame, xlator_t *this, inode_t *inode, int mask)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_pin (this, inode, &pin);

    if (r == 0)
        r = posix_act_as (posix_priv (this), frame);
    if (r < 0)
        return r;
    return posix_result (syscall (SYS_faccessat2, pin.fd, "", mask, AT_EMPTY_PATH | AT_EACCESS));
}

void
posix_access (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t mask, dict_t *xdata)
{
    int r = inode_access (frame, this, loc->inode, mask);

    STACK_UNWIND (access, frame, POSIX_RET (r), NULL);
}

static int
inode_statfs (call_frame_t *frame, xlator_t *this, inode_t *inode, struct statvfs *ret_buf)
{
    const posix_private_t *priv = posix_priv (this);
    g_auto (posix_pin_t) pin = { 0 };
    int r = inode ? posix_pin (this, inode, &pin) : 0;

    if (r == 0)
        r = posix_act_as (priv, frame);
    if (r < 0)
        return r;
    if (fstatvfs (pin.pi ? pin.fd : priv->root->fd, ret_buf) < 0)
        return -errno;
    if (!priv->export_statfs_size)
        ret_buf->f_blocks = ret_buf->f_bfree = ret_buf->f_bavail = 0;
    return 0;
}

void
posix_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct statvfs buf;
    int r = inode_statfs (frame, this, loc->inode, &buf);

    STACK_UNWIND (statfs, frame, POSIX_RET (r), r < 0 ? NULL : &buf, NULL);
}

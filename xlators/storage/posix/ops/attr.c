/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stat, fstat, setattr, fsetattr, and the attributes before and after other operations. */
#include "../posix.h"

void
posix_before (const call_frame_t *frame, xlator_t *this, unsigned wants, int fd, const gfid_t *gfid,
              struct posix_change *change)
{
    change->stamp = frame ? posix_stamp_of (frame) : NULL;
    change->wanted = (this->wants_above & wants || change->stamp)
                  && posix_iatt (this, fd, gfid, &change->pre) == 0;
}

void
posix_after (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change)
{
    change->wanted = change->wanted && posix_iatt (this, fd, gfid, &change->post) == 0;
    if (change->wanted && change->stamp)
        posix_stamp_change (this, fd, gfid, change);
}

struct iatt *
posix_pre (struct posix_change *change, int64_t r)
{
    return r >= 0 && change->wanted ? &change->pre : NULL;
}

struct iatt *
posix_post (struct posix_change *change, int64_t r)
{
    return r >= 0 && change->wanted ? &change->post : NULL;
}

static int
attr_stat (xlator_t *this, inode_t *inode, struct iatt *ret_buf)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_pin (this, inode, &pin);

    return r < 0 ? r : posix_iatt (this, pin.fd, &pin.pi->gfid, ret_buf);
}

void
posix_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt buf;
    int r = attr_stat (this, loc->inode, &buf);

    STACK_UNWIND (stat, frame, POSIX_RET (r), r < 0 ? NULL : &buf, NULL);
}

void
posix_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    const struct posix_fd *pfd = posix_fd_get (this, fd);
    const int own = posix_fd_lasting (pfd);
    struct iatt buf;
    int r = own >= 0 ? posix_iatt (this, own, &pfd->gfid, &buf) : attr_stat (this, fd->inode, &buf);

    STACK_UNWIND (fstat, frame, POSIX_RET (r), r < 0 ? NULL : &buf, NULL);
}

static int
attr_set_owner (int fd, const struct iatt *stbuf, uint32_t valid)
{
    uid_t uid = valid & IATT_UID ? stbuf->ia_uid : (uid_t) -1;
    gid_t gid = valid & IATT_GID ? stbuf->ia_gid : (gid_t) -1;

    return posix_result (fchownat (fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

/* By path, which works for a descriptor of any kind. A symbolic link has no mode that can be
 * set. */
static int
attr_set_mode (int fd, mode_t mode)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return -errno;
    if (S_ISLNK (st.st_mode))
        return -EOPNOTSUPP;
    return posix_result (chmod (posix_path_of (fd).text, mode & 07777));
}

static struct timespec
attr_time (int64_t seconds, uint32_t nanoseconds, bool set, bool now)
{
    if (!set)
        return (struct timespec){ .tv_nsec = UTIME_OMIT };
    if (now)
        return (struct timespec){ .tv_nsec = UTIME_NOW };
    return (struct timespec){ .tv_sec = seconds, .tv_nsec = nanoseconds };
}

int
posix_set_times (int fd, const struct timespec times[2])
{
    if (utimensat (fd, "", times, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOENT)
        return -errno;
    /* before Linux 5.8 */
    return posix_result (utimensat (AT_FDCWD, posix_path_of (fd).text, times, 0));
}

static int
attr_set_times (int fd, const struct iatt *stbuf, uint32_t valid)
{
    const struct timespec times[2] = {
        attr_time (stbuf->ia_atime, stbuf->ia_atime_nsec, valid & (IATT_ATIME | IATT_ATIME_NOW),
                   valid & IATT_ATIME_NOW),
        attr_time (stbuf->ia_mtime, stbuf->ia_mtime_nsec, valid & (IATT_MTIME | IATT_MTIME_NOW),
                   valid & IATT_MTIME_NOW),
    };

    /* UTIME_NOW and UTIME_OMIT are nanosecond values too: a caller's value must not equal them. */
    if (stbuf->ia_atime_nsec >= 1000000000 && (valid & IATT_ATIME) && !(valid & IATT_ATIME_NOW))
        return -EINVAL;
    if (stbuf->ia_mtime_nsec >= 1000000000 && (valid & IATT_MTIME) && !(valid & IATT_MTIME_NOW))
        return -EINVAL;
    return posix_set_times (fd, times);
}

static bool
is_in_group (call_stack_t *root, gid_t gid)
{
    const gid_t *groups = NULL;
    const int n = stack_groups (root, &groups);

    for (int i = 0; i < n; i++)
        if (groups[i] == gid)
            return true;
    return root->gid == gid;
}

/* Clears setuid and setgid explicitly, since root has the privilege to keep them. As in the kernel,
 * setgid of a file that its group can't execute stays for a caller in that group. */
static int
attr_kill_privileges (call_frame_t *frame, int fd)
{
    struct stat st;
    mode_t mode;

    if (fstat (fd, &st) < 0)
        return -errno;
    mode = st.st_mode & ~S_ISUID;
    if (mode & S_IXGRP
        || (mode & S_ISGID && frame->root->uid != 0 && !is_in_group (frame->root, st.st_gid)))
        mode &= ~S_ISGID;
    if (!S_ISREG (st.st_mode) || mode == st.st_mode)
        return 0;
    return attr_set_mode (fd, mode);
}

/* In this order: a change of size or owner clears setuid and sets mtime, so mode and times come
 * last. */
static int
attr_set (int fd, bool open, const struct iatt *stbuf, uint32_t valid)
{
    int r = 0;

    if (valid & IATT_SIZE)
        r = posix_result (open ? ftruncate (fd, (off_t) stbuf->ia_size)
                               : truncate (posix_path_of (fd).text, (off_t) stbuf->ia_size));
    if (r == 0 && (valid & (IATT_UID | IATT_GID)))
        r = attr_set_owner (fd, stbuf, valid);
    if (r == 0 && (valid & IATT_MODE))
        r = attr_set_mode (fd, stbuf->ia_prot);
    if (r == 0 && (valid & (IATT_ATIME | IATT_MTIME | IATT_ATIME_NOW | IATT_MTIME_NOW)))
        r = attr_set_times (fd, stbuf, valid);
    return r;
}

/* Reads the attributes before and after the change; those after are always answered. */
static int
attr_change (call_frame_t *frame, xlator_t *this, int fd, bool open, const gfid_t *gfid,
             const struct iatt *stbuf, uint32_t valid, struct posix_change *change)
{
    int r;

    posix_before (frame, this, WANTS_DATA_ATTRIBUTES, fd, gfid, change);
    r = posix_act_as (posix_priv (this), frame);
    if (r == 0)
        r = attr_set (fd, open, stbuf, valid);
    if (r == 0 && (valid & IATT_KILL_PRIV) && !(valid & IATT_MODE)) {
        posix_act_as_root (posix_priv (this)); /* a writer need not own the file */
        r = attr_kill_privileges (frame, fd);
    }
    if (r == 0 && valid & (IATT_ATIME_NOW | IATT_MTIME_NOW) && posix_stamp_of (frame))
        r = posix_stamp_now (frame, this, fd, valid);
    return r < 0 ? r : posix_iatt (this, fd, gfid, &change->post);
}

static int
attr_change_inode (call_frame_t *frame, xlator_t *this, inode_t *inode, const struct iatt *stbuf,
                   uint32_t valid, struct posix_change *change)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_pin (this, inode, &pin);

    return r < 0 ? r
                 : attr_change (frame, this, pin.fd, false, &pin.pi->gfid, stbuf, valid, change);
}

void
posix_setattr (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf, uint32_t valid,
               dict_t *xdata)
{
    struct posix_change change = { 0 };
    int r = attr_change_inode (frame, this, loc->inode, stbuf, valid, &change);

    STACK_UNWIND (setattr, frame, POSIX_RET (r), posix_pre (&change, r),
                  r < 0 ? NULL : &change.post, NULL);
}

/* A size is set through the open file, whatever the current mode is. All other attributes may be
 * set by the inode. */
static int
attr_change_open (call_frame_t *frame, xlator_t *this, fd_t *fd, const struct iatt *stbuf,
                  uint32_t valid, struct posix_change *change)
{
    g_auto (posix_use_t) use = { 0 };
    const struct posix_fd *pfd = posix_fd_get (this, fd);
    int r;

    if (!pfd || (posix_fd_lasting (pfd) < 0 && !(valid & IATT_SIZE)))
        return attr_change_inode (frame, this, fd->inode, stbuf, valid, change);
    r = posix_use_begin (this, fd, &use);
    return r < 0 ? r : attr_change (frame, this, use.fd, true, &pfd->gfid, stbuf, valid, change);
}

void
posix_fsetattr (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iatt *stbuf, uint32_t valid,
                dict_t *xdata)
{
    struct posix_change change = { 0 };
    int r = attr_change_open (frame, this, fd, stbuf, valid, &change);

    STACK_UNWIND (fsetattr, frame, POSIX_RET (r), posix_pre (&change, r),
                  r < 0 ? NULL : &change.post, NULL);
}

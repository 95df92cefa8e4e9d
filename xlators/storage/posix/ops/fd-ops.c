/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Open files and directories: open, create, tmpfile, opendir, flush, fsync, fsyncdir, release. */
#include "../posix.h"

#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>

#define FD_OPEN_FLAGS \
    (O_ACCMODE | O_APPEND | O_TRUNC | O_NONBLOCK | O_SYNC | O_DSYNC | O_DIRECT | O_NOATIME \
     | O_DIRECTORY)
#define FD_CREATE_ATTEMPTS 8

/* Returns true if the file system of the descriptor has no flush of its own, as network file
 * systems have: close then reports no error. */
bool
posix_closes_silently (int fd)
{
    struct statfs fs;

    return fstatfs (fd, &fs) == 0
        && (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC
            || fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC);
}

static bool
fd_closes_silently (const posix_private_t *priv, const struct posix_inode *pi, int real,
                    uint32_t flags)
{
    if ((flags & O_ACCMODE) == O_RDONLY)
        return true;
    return pi && pi->fs == priv->root->fs ? priv->closes_silently : posix_closes_silently (real);
}

void
posix_fd_set (xlator_t *this, fd_t *fd, int real, uint32_t flags, const gfid_t *gfid,
              struct posix_inode *pi)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_fd *pfd = g_new0 (struct posix_fd, 1);

    fd->closes_silently = fd_closes_silently (priv, pi, real, flags);
    pfd->magic = POSIX_FD_MAGIC;
    pfd->fd = real;
    pfd->flags = flags;
    pfd->gfid = *gfid;
    pthread_mutex_init (&pfd->lock, NULL);
    if (pi && !(G_UNLIKELY (real >= priv->descriptors.many) && posix_brief_begin (this, pi, pfd)))
        posix_cache_opened (&priv->cache, pi, pfd);
    fd_ctx_set (fd, this, pfd);
}

void
posix_release (xlator_t *this, fd_t *fd)
{
    struct posix_fd *pfd = posix_fd_get (this, fd);
    struct posix_inode *pi = posix_inode_get (this, fd->inode);

    if (!pfd)
        return;
    if (pi)
        posix_locks_drop_via (pi, pfd);
    fd_ctx_set (fd, this, NULL);
    if (posix_cache_released (&posix_priv (this)->cache, pfd))
        flock (pfd->fd, LOCK_UN);
    else
        posix_brief_end (posix_priv (this), pfd);
    pthread_mutex_destroy (&pfd->lock);
    g_free (pfd->buf);
    pfd->magic = 0;
    g_free (pfd);
}

/* Opening a device or a pipe would have effects of its own, or never return. */
static int
fd_check_type (ia_type_t type)
{
    switch (type) {
    case IA_IFREG:
    case IA_IFDIR:
        return 0;
    case IA_IFLNK:
        return -ELOOP;
    default:
        return -ENXIO;
    }
}

/* Opens the object of an O_PATH descriptor. On a file system without O_DIRECT, opens without it,
 * unless the caller asked for it. */
static int
fd_reopen (xlator_t *this, int fd, uint32_t flags)
{
    const struct posix_path path = posix_path_of (fd);
    const bool direct = posix_priv (this)->o_direct && !(flags & (O_DIRECT | O_DIRECTORY));
    int real = -EINVAL;

    flags &= FD_OPEN_FLAGS;
    if (direct)
        real = posix_openat (this, AT_FDCWD, path.text, (int) flags | O_DIRECT | O_NOCTTY, 0);
    return real == -EINVAL ? posix_openat (this, AT_FDCWD, path.text, (int) flags | O_NOCTTY, 0)
                           : real;
}

/* The same, with O_NOATIME if an option says so. A caller that does not own the file may not set
 * it, so root does. */
static int
fd_reopen_as (call_frame_t *frame, xlator_t *this, int fd, uint32_t flags)
{
    int real;

    if (!(__atomic_load_n (&frame->root->times, __ATOMIC_RELAXED) & TIMES_NOT_OF_READING))
        return fd_reopen (this, fd, flags);
    real = fd_reopen (this, fd, flags | O_NOATIME);
    if (real != -EPERM || flags & O_NOATIME)
        return real;
    real = fd_reopen (this, fd, flags);
    if (real >= 0) {
        posix_act_as_root (posix_priv (this));
        /* if that fails, goes on without */
        fcntl (real, F_SETFL, fcntl (real, F_GETFL) | O_NOATIME);
    }
    return real;
}

static int
fd_open (call_frame_t *frame, xlator_t *this, inode_t *inode, uint32_t flags, fd_t *fd)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_pin (this, inode, &pin), real;

    if (r == 0)
        r = fd_check_type (pin.pi->ia_type);
    if (r == 0)
        r = posix_act_as (posix_priv (this), frame);
    if (r < 0)
        return r;
    real = fd_reopen_as (frame, this, pin.fd, flags);
    if (real < 0)
        return real;
    if (flags & O_TRUNC)
        posix_stamp_cut_off (frame, this, real, NULL);
    posix_fd_set (this, fd, real, flags, &pin.pi->gfid, pin.pi);
    return 0;
}

void
posix_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
            dict_t *xdata)
{
    int r = fd_open (frame, this, loc->inode, flags, fd);

    STACK_UNWIND (open, frame, POSIX_RET (r), r < 0 ? NULL : fd, NULL);
}

void
posix_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    int r = fd_open (frame, this, loc->inode, O_RDONLY | O_DIRECTORY, fd);

    STACK_UNWIND (opendir, frame, POSIX_RET (r), r < 0 ? NULL : fd, NULL);
}

/* Takes ownership of real, with which a new file was opened, and finds its inode. The O_PATH
 * descriptor is opened later, with two exceptions: only the name, which is not known yet, would
 * lead back to the file; or it has no name and real may be closed before release. */
static int
posix_fd_adopt (xlator_t *this, struct itable *table, inode_t *given, int real, bool nameless,
                struct posix_found *found)
{
    struct posix_ident ident;
    int r = posix_identify (this, real, &ident, &found->buf);

    if (r == 0 && ident.by_handle && !(nameless && real >= posix_priv (this)->descriptors.many)) {
        r = posix_adopt_closed (this, table, given, real, &ident, found);
    } else if (r == 0) {
        r = posix_openat (this, AT_FDCWD, posix_path_of (real).text, O_PATH, 0);
        if (r >= 0)
            r = posix_adopt (this, table, given, r, &ident, found);
    }
    if (r < 0)
        close (real);
    else if (nameless && found->pin.pi)
        posix_cache_keep (&posix_priv (this)->cache, found->pin.pi);
    return r;
}

static void
fd_made (xlator_t *this, fd_t *fd, int real, uint32_t flags, const struct posix_found *found)
{
    if (!fd->inode)
        fd->inode = inode_ref (found->inode);
    posix_fd_set (this, fd, real, flags, &found->buf.ia_gfid, posix_inode_get (this, found->inode));
}

/* Opens an existing file by name, if it is of a type that open would open. */
static int
fd_open_existing (call_frame_t *frame, xlator_t *this, int dirfd, const char *name, uint32_t flags)
{
    struct stat st;
    int fd = posix_open_name (this, dirfd, name), r;

    if (fd < 0)
        return fd;
    r = posix_result (fstat (fd, &st));
    if (r == 0)
        r = S_ISDIR (st.st_mode) ? -EISDIR : fd_check_type (ia_type_of_mode (st.st_mode));
    if (r == 0)
        r = fd_reopen_as (frame, this, fd, flags);
    close (fd);
    return r;
}

/* O_DIRECT by option comes afterwards: an open that a file system refuses for it may leave a file
 * behind. */
static int
fd_create_new (xlator_t *this, int dirfd, const char *name, uint32_t flags, mode_t mode,
               mode_t mask)
{
    const posix_private_t *priv = posix_priv (this);
    const uint32_t allowed = FD_OPEN_FLAGS & ~(O_TRUNC | O_DIRECTORY);
    mode_t old;
    int fd;

    mode = posix_create_mode (priv, mode & 07777, false, &mask);
    old = umask (mask & 0777);
    fd = posix_openat (this, dirfd, name,
                       (int) (flags & allowed) | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, mode);
    umask (old);
    if (fd >= 0 && priv->o_direct)
        /* if that fails, goes on without */
        fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_DIRECT);
    return fd;
}

static int
fd_create_or_open (call_frame_t *frame, xlator_t *this, int dirfd, const char *name, uint32_t flags,
                   mode_t mode, mode_t mask, bool *ret_new)
{
    int fd = -ENOENT;

    for (int i = 0; i < FD_CREATE_ATTEMPTS && fd == -ENOENT; i++) {
        fd = fd_create_new (this, dirfd, name, flags, mode, mask);
        *ret_new = fd >= 0;
        if (fd != -EEXIST || (flags & O_EXCL))
            return fd;
        fd = fd_open_existing (frame, this, dirfd, name, flags); /* -ENOENT: removed meanwhile */
    }
    return fd;
}

static int
fd_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
           mode_t mask, fd_t *fd, struct posix_change *change, struct posix_found *found)
{
    g_auto (posix_pin_t) pin = { 0 };
    bool new = false;
    int r = posix_reserve_check (this), real = -1;

    if (r == 0)
        r = posix_dir_begin (frame, this, loc, &pin, change);
    if (r == 0)
        r = real = fd_create_or_open (frame, this, pin.fd, loc->name, flags, mode, mask, &new);
    if (r >= 0)
        r = posix_fd_adopt (this, loc->parent->table, loc->inode, real, false, found);
    if (r == 0 && new)
        posix_stamp_new (frame, this, real, &found->buf);
    else if (r == 0 && flags & O_TRUNC)
        posix_stamp_cut_off (frame, this, real, &found->buf);
    if (r == 0)
        fd_made (this, fd, real, flags, found);
    posix_dir_after (this, &pin, change);
    return r;
}

void
posix_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
              mode_t umask, fd_t *fd, dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 };
    struct posix_change parent = { 0 };
    int r = fd_create (frame, this, loc, flags, mode, umask, fd, &parent, &found);

    STACK_UNWIND (create, frame, POSIX_RET (r), r < 0 ? NULL : fd, r < 0 ? NULL : found.inode,
                  r < 0 ? NULL : &found.buf, posix_pre (&parent, r), posix_post (&parent, r), NULL);
}

static int
fd_tmpfile (call_frame_t *frame, xlator_t *this, inode_t *dir, uint32_t flags, mode_t mode,
            mode_t mask, fd_t *fd, struct posix_found *found)
{
    g_auto (posix_pin_t) pin = { 0 };
    const int how = (int) (flags & (FD_OPEN_FLAGS | O_EXCL) & ~(O_TRUNC | O_DIRECTORY)) | O_TMPFILE;
    mode_t old;
    int r = posix_pin (this, dir, &pin), real;

    if (r == 0)
        r = posix_reserve_check (this);
    if (r == 0)
        r = posix_act_as (posix_priv (this), frame);
    if (r < 0)
        return r;
    mode = posix_create_mode (posix_priv (this), mode & 07777, false, &mask);
    old = umask (mask & 0777);
    r = real = posix_openat (this, pin.fd, ".", how, mode);
    umask (old);
    if (r >= 0)
        r = posix_fd_adopt (this, dir->table, NULL, real, true, found);
    if (r < 0)
        return r;
    posix_stamp_new (frame, this, real, &found->buf);
    fd_made (this, fd, real, flags, found);
    posix_cache_keep_nameless (&posix_priv (this)->cache, posix_inode_get (this, found->inode));
    return 0;
}

void
posix_tmpfile (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
               mode_t umask, fd_t *fd, dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 };
    inode_t *dir = loc->inode ? loc->inode : loc->parent;
    int r = fd_tmpfile (frame, this, dir, flags, mode, umask, fd, &found);

    STACK_UNWIND (tmpfile, frame, POSIX_RET (r), r < 0 ? NULL : fd, r < 0 ? NULL : found.inode,
                  r < 0 ? NULL : &found.buf, NULL);
}

/* Closing a duplicate makes the file system return the error that close(2) would. If requests open
 * their own descriptors, these were closed already. */
static int
fd_flush (const fd_t *fd, struct posix_fd *pfd)
{
    const int own = posix_fd_lasting (pfd);
    int copy, late;

    if (fd->closes_silently)
        return 0;
    late = __atomic_exchange_n (&pfd->late, 0, __ATOMIC_RELAXED);
    if (late != 0 || own < 0)
        return -late;
    copy = fcntl (own, F_DUPFD_CLOEXEC, 0);
    return copy < 0 || close (copy) == 0 || errno == EINTR ? 0 : -errno;
}

void
posix_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct posix_inode *pi = posix_inode_get (this, fd->inode);
    struct posix_fd *pfd = posix_fd_get (this, fd);
    int r;

    if (pi)
        posix_locks_drop (pi, frame->root->lk_owner);
    r = pfd ? fd_flush (fd, pfd) : -EBADF;
    STACK_UNWIND (flush, frame, POSIX_RET (r), NULL);
}

static int
fd_sync (int fd, bool datasync)
{
    return posix_result (datasync ? fdatasync (fd) : fsync (fd));
}

/* A translator may ask for a sync of all files, as it has many to sync, or wants to know what is
 * free: features/trash. On a local file system syncfs is one of each file, and reports what could
 * not be written since the file was opened. Returns whether that was done. */
static bool
fd_sync_all (int fd, dict_t *xdata, dict_t **ret_answer)
{
    size_t size;

    if (!xdata || !dict_get (xdata, XDATA_SYNC_ALL, &size) || !posix_closes_silently (fd)
        || syncfs (fd) < 0)
        return false;
    *ret_answer = dict_new ();
    dict_set_u64 (*ret_answer, XDATA_SYNC_ALL, 1);
    return true;
}

void
posix_fsync (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    struct posix_change change = { 0 };
    g_autoptr (dict_t) answer = NULL;
    posix_use_t use = { 0 };
    int r = posix_use_begin (this, fd, &use);

    if (r >= 0) {
        posix_before (NULL, this, WANTS_DATA_ATTRIBUTES, use.fd, &use.pfd->gfid, &change);
        r = fd_sync_all (use.fd, xdata, &answer) ? 0 : fd_sync (use.fd, datasync);
        posix_after (this, use.fd, &use.pfd->gfid, &change);
    }
    posix_use_end (&use);
    STACK_UNWIND (fsync, frame, POSIX_RET (r), posix_pre (&change, r), posix_post (&change, r),
                  answer);
}

void
posix_fsyncdir (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    g_autoptr (dict_t) answer = NULL;
    posix_use_t use = { 0 };
    int r = posix_use_begin (this, fd, &use);

    if (r >= 0)
        r = fd_sync_all (use.fd, xdata, &answer) ? 0 : fd_sync (use.fd, datasync);
    posix_use_end (&use);
    STACK_UNWIND (fsyncdir, frame, POSIX_RET (r), answer);
}

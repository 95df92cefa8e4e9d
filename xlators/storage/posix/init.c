/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Start and end. Bad configuration is refused here, before the mount. Nothing is written into the
 * directory, unless an option asks for it. */
#include "posix.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#define INIT_CACHE_MAX 8192
#define INIT_CACHE_MIN 16

static int
init_refuse (xlator_t *this, int error, const char *what)
{
    const bool said = error == ENOENT || error == ENOTDIR || error == ELOOP; /* by `what` */

    option_refuse (this, "directory",
                   "is '%s', which %s%s%s%s; it must be a directory that user %u may read and "
                   "search",
                   posix_priv (this)->directory, what, said ? "" : " (",
                   said ? "" : g_strerror (error), said ? "" : ")", (unsigned) geteuid ());
    return -error;
}

static int
init_open (xlator_t *this, int *ret_fd)
{
    posix_private_t *priv = posix_priv (this);

    priv->where = xlator_root (this, "directory");
    if (priv->where->fd < 0)
        return init_refuse (this, -priv->where->fd,
                            priv->where->fd == -ENOENT    ? "is missing"
                            : priv->where->fd == -ENOTDIR ? "is not a directory"
                            : priv->where->fd == -ELOOP   ? "leads in a circle, or into this mount"
                                                          : "cannot be opened");
    *ret_fd = fcntl (priv->where->fd, F_DUPFD_CLOEXEC, 0);
    if (*ret_fd < 0)
        return init_refuse (this, errno, "cannot be opened");
    priv->mount_fd = openat (*ret_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (priv->mount_fd < 0)
        return init_refuse (this, errno, "cannot be read");
    if (faccessat (*ret_fd, ".", X_OK, AT_EACCESS) < 0)
        return init_refuse (this, errno, "cannot be searched");
    priv->steps_inside = posix_may_step_inside (*ret_fd);
    if (access ("/proc/self/fd", X_OK) < 0) {
        gf_log (
            this, GF_LOG_ERROR,
            "/proc/self/fd is missing (%s), through which files are opened: /proc must be mounted",
            g_strerror (errno));
        return -ENOENT;
    }
    return 0;
}

/* The number of descriptors only affects speed, so a limit that can't be raised is no error. */
static unsigned
init_cache_limit (const posix_private_t *priv)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit (RLIMIT_NOFILE, &limit);
    }
    if (priv->descriptor_cache > 0)
        return (unsigned) MIN (priv->descriptor_cache, G_MAXINT);
    if (getrlimit (RLIMIT_NOFILE, &limit) < 0)
        return INIT_CACHE_MIN;
    return (unsigned) CLAMP (limit.rlim_cur / 2, INIT_CACHE_MIN, INIT_CACHE_MAX);
}

static void
init_caller (xlator_t *this)
{
    posix_private_t *priv = posix_priv (this);

    priv->acts_as_caller = posix_may_act ();
    priv->dumps_core = prctl (PR_GET_DUMPABLE) == 1;
    if (geteuid () == 0 && !priv->acts_as_caller)
        gf_log (
            this, GF_LOG_WARNING,
            "no privilege to act as other users (CAP_SETUID, CAP_SETGID): all callers act as root");
}

static int
init_handles (xlator_t *this, int fd)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_ident ident;
    int r = posix_handle_of (fd, &ident, &priv->mount_id);

    priv->has_handles = r == 0;
    if (priv->handles == HANDLES_DESCRIPTOR)
        return 0;
    if (r == 0)
        r = posix_handle_probe (priv->mount_fd, &ident);
    priv->by_handle = r == 0;
    if (r < 0 && priv->handles == HANDLES_FILE_HANDLE) {
        option_refuse (this, "handles",
                       "is 'file-handle', but files of '%s' cannot be opened by handle (%s); use "
                       "'auto' or 'descriptor'",
                       priv->directory, g_strerror (-r));
        return r;
    }
    return 0;
}

/* The root has the root's gfid. With stored gfids it is stored too, which shows whether that
 * works. */
static int
init_stored_gfid (xlator_t *this, int fd)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_path path = posix_path_of (fd);
    char old[sizeof gfid_root.b];
    int r;

    if (priv->gfid_mode != GFID_XATTR
        || getxattr (path.text, POSIX_GFID_XATTR, old, sizeof old) == sizeof old)
        return 0;
    if (setxattr (path.text, POSIX_GFID_XATTR, gfid_root.b, sizeof gfid_root.b, 0) == 0)
        return 0;
    r = -errno;
    option_refuse (this, "gfid",
                   "is 'xattr', but %s cannot be stored in '%s' (%s); it takes root, and a file "
                   "system with extended attributes; the other value is 'derived'",
                   POSIX_GFID_XATTR, priv->directory, g_strerror (-r));
    return r;
}

/* Takes ownership of fd. */
static int
init_root (xlator_t *this, int fd)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_ident ident;
    struct iatt buf;
    int r = posix_identify (this, fd, &ident, &buf);

    if (r < 0) {
        close (fd);
        return init_refuse (this, -r, "cannot be looked at");
    }
    priv->root = posix_inode_new (&ident);
    priv->root->gfid = gfid_root;
    priv->root->fd = fd;
    priv->root->kept = true;
    priv->root->state = 1;
    priv->closes_silently = posix_closes_silently (fd);
    return 0;
}

static int
init_owner (xlator_t *this)
{
    const posix_private_t *priv = posix_priv (this);

    if (priv->brick_uid < 0 && priv->brick_gid < 0)
        return 0;
    if (fchownat (priv->root->fd, "", (uid_t) priv->brick_uid, (gid_t) priv->brick_gid,
                  AT_EMPTY_PATH)
        == 0)
        return 0;
    gf_log (this, GF_LOG_ERROR,
            "options 'brick-uid' and 'brick-gid': the owner of '%s' cannot be set (%s)",
            priv->directory, g_strerror (errno));
    return -errno;
}

/* The kernel doubles a process's table of descriptors as it fills up and, once there are threads,
 * waits each time until all processors have seen it: milliseconds in the middle of a listing. So
 * the table gets its size now. */
static void
init_grow_table (const posix_private_t *priv)
{
    int far = fcntl (priv->mount_fd, F_DUPFD_CLOEXEC,
                     (int) MIN (priv->cache.limit, INIT_CACHE_MAX) + 256);

    if (far >= 0)
        close (far);
}

int
posix_init (xlator_t *this)
{
    posix_private_t *priv = posix_priv (this);
    int fd = -1, r;

    priv->mount_fd = -1;
    pthread_mutex_init (&priv->reserve.lock, NULL);
    posix_waiters_init (&priv->waiters);
    posix_wanted_init (&priv->wanted);
    posix_descriptors_init (&priv->descriptors);
    posix_cache_init (&priv->cache, init_cache_limit (priv));
    number_slots_init (&priv->numbers);
    posix_reserve_set (priv, priv->reserve_option);
    priv->ready = true;
    r = init_open (this, &fd);
    if (r == 0)
        r = init_handles (this, fd);
    if (r == 0)
        r = init_stored_gfid (this, fd);
    if (r < 0) {
        if (fd >= 0)
            close (fd);
        return r;
    }
    init_caller (this);
    posix_descriptors_limit (priv);
    init_grow_table (priv);
    r = init_root (this, fd);
    if (r == 0)
        r = init_owner (this);
    return r < 0 ? r : posix_watch_init (this);
}

void
posix_fini (xlator_t *this)
{
    posix_private_t *priv = posix_priv (this);

    if (!priv->ready)
        return;
    priv->ready = false;
    posix_waiters_down (&priv->waiters);
    posix_waiters_destroy (&priv->waiters);
    posix_wanted_destroy (&priv->wanted);
    g_clear_pointer (&priv->watch, posix_watch_free);
    posix_cache_destroy (&priv->cache);
    posix_descriptors_destroy (&priv->descriptors);
    number_slots_destroy (&priv->numbers);
    pthread_mutex_destroy (&priv->reserve.lock);
    if (priv->mount_fd >= 0)
        close (priv->mount_fd);
    if (priv->root) {
        close (priv->root->fd);
        posix_locks_free (priv->root->locks);
        g_clear_pointer (&priv->root, g_free);
    }
}

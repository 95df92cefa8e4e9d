/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptors of open files when the process comes near its limit (RLIMIT_NOFILE). The system gives
 * a new descriptor the lowest free number. So the number tells how many there are, in the whole
 * process, without a count.
 *
 *   0                          many             most       limit
 *   |--- open files keep theirs --|--- not kept: a request opens one by the file handle, and closes
 *                                      it (brief)
 *   |--- O_PATH ones of inodes -----------------|--- each one that is opened closes another one
 *
 * A file with a descriptor keeps it until it is released: so using it takes no lock and no count. A
 * file without one keeps the first below `many` that a request gets. Meanwhile inodes close theirs,
 * down to a quarter of their limit.
 *
 * - A read or write of a file with a descriptor costs one test more. A cache of descriptors, as
 *   for O_PATH ones, would have to count users.
 * - A file without a descriptor is opened again as the daemon, with the flags of its first
 *   description (F_GETFL): it is not made or truncated again. It is neither refused if the mode has
 *   changed since nor allowed more than before. That takes CAP_DAC_OVERRIDE. Whether it works is
 *   tried at once; if not, as on a server that trusts no root, the file keeps its descriptor. So do
 *   files without a file handle, and all files of a daemon that is not root: too many of these are
 *   ENFILE, with a line in the log.
 * - Long-lived descriptors are opened on demand: for flock(2), and for each owner of record locks
 *   (ENOLCK if there are no more). An inode that loses its last name is kept by the descriptor of a
 *   file that has it open; without such a file by an O_PATH one of its own. In the last eighth,
 *   which requests need, unlink is refused, so that the file is not lost.
 * - Not promised: a file that another process removes from the directory itself is lost to its
 *   openers (ESTALE). A file system made read-only, chattr +i and a program that runs from the file
 *   refuse later writes. fsync reports a write that failed later only while the inode is in memory.
 *   Other processes see opens and closes (inotify, leases). An error that close(2) would report
 *   comes with the next flush.
 * - Kernel passthrough opens the backing file itself, so none of this is on the path of a passed
 *   read or write.
 * - If no descriptor is free for a request, O_PATH ones are closed. Then the request waits for
 *   other requests, a second at most; then the answer is ENFILE. EMFILE would blame the user's own
 *   process.
 * - A 4 KiB read or write without a descriptor takes 2.9 us longer.
 */
#include "../posix.h"

#include <sys/resource.h>

#define ROOM_EVICTED 64        /* descriptors closed at once when there are too many */
#define ROOM_ATTEMPTS 200
#define ROOM_PERIOD 5000000    /* nanoseconds; the longest wait, since not every close is
                                  signalled */
#define ROOM_NONE 1000000000   /* nanoseconds without further waits after a wait in vain */

/* Flags for opening a file again: without creation and truncation, and blocking if another process
 * has a lease. */
#define BRIEF_FLAGS (O_ACCMODE | O_APPEND | O_SYNC | O_DSYNC | O_DIRECT | O_NOATIME | O_LARGEFILE)

void
posix_descriptors_init (struct posix_descriptors *all)
{
    pthread_mutex_init (&all->lock, NULL);
    thread_cond_init (&all->closed);
    all->many = G_MAXINT;
}

void
posix_descriptors_destroy (struct posix_descriptors *all)
{
    pthread_cond_destroy (&all->closed);
    pthread_mutex_destroy (&all->lock);
}

void
posix_descriptors_limit (posix_private_t *priv)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > G_MAXINT)
        return;
    priv->descriptors.limit = (int) limit.rlim_cur;
    priv->cache.most = priv->descriptors.limit - priv->descriptors.limit / 8;
    /* A file may be used after its mode forbids it: so the daemon needs access to every file. */
    if (priv->by_handle && posix_may_open_all ())
        priv->descriptors.many = priv->descriptors.limit - priv->descriptors.limit / 4;
}

/* --- making room ---------------------------------------------------------------------------- */

static void
room_made (struct posix_descriptors *all)
{
    if (__atomic_load_n (&all->waiting, __ATOMIC_RELAXED) == 0)
        return;
    pthread_mutex_lock (&all->lock);
    thread_cond_broadcast (&all->closed);
    pthread_mutex_unlock (&all->lock);
}

static void
room_wait (struct posix_descriptors *all)
{
    pthread_mutex_lock (&all->lock);
    __atomic_add_fetch (&all->waiting, 1, __ATOMIC_RELAXED);
    thread_cond_wait_until (&all->closed, &all->lock, clock_now () + ROOM_PERIOD);
    __atomic_sub_fetch (&all->waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&all->lock);
}

/* Returns true if a request gave up waiting recently. Then the descriptors belong to users that
 * keep them, not to requests. */
static bool
room_is_hopeless (const struct posix_descriptors *all)
{
    const int64_t in_vain = __atomic_load_n (&all->in_vain, __ATOMIC_RELAXED);

    return in_vain != 0 && clock_now () - in_vain < ROOM_NONE;
}

/* If open files keep theirs, waiting does not help. */
bool
posix_make_room (xlator_t *this, int error, int attempt)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_descriptors *all = &priv->descriptors;

    if (error != EMFILE && error != ENFILE)
        return false;
    if (posix_cache_evict (&priv->cache, ROOM_EVICTED) > 0)
        return true;
    if (all->many == G_MAXINT || room_is_hopeless (all))
        return false;
    if (attempt < ROOM_ATTEMPTS)
        room_wait (all);
    else
        __atomic_store_n (&all->in_vain, clock_now (), __ATOMIC_RELAXED);
    return attempt < ROOM_ATTEMPTS;
}

int
posix_open_failed (xlator_t *this, int error)
{
    struct posix_descriptors *all = &posix_priv (this)->descriptors;

    if (error != EMFILE)
        return -error;
    if (!__atomic_exchange_n (&all->said_full, true, __ATOMIC_RELAXED))
        gf_log (this, GF_LOG_WARNING,
                "all %d descriptors that the process may have (RLIMIT_NOFILE; ulimit -n, or "
                "LimitNOFILE of systemd) are in use: what needs "
                "another one fails with ENFILE, until there is one; this is said once",
                all->limit);
    return -ENFILE; /* EMFILE would be the user's own limit */
}

bool
posix_descriptor_may_last (const posix_private_t *priv, int fd)
{
    const int limit = priv->descriptors.limit;

    return limit == 0 || fd < limit - limit / 8;
}

/* --- files without a descriptor of their own -------------------------------------------------- */

/* Tests whether the daemon can open the file. An attribute of the file or a server may forbid it:
 * then the file keeps its descriptor. */
static bool
brief_can_be (xlator_t *this, const struct posix_inode *pi, int flags)
{
    const int fd = posix_handle_open_once (this, pi, flags);

    if (fd >= 0)
        close (fd);
    return fd >= 0 || fd == -EMFILE || fd == -ENFILE;
}

/* The error of close(2); the descriptor is closed in any case. */
static int
close_late (int fd)
{
    return close (fd) == 0 || errno == EINTR ? 0 : errno;
}

bool
posix_brief_begin (xlator_t *this, struct posix_inode *pi, struct posix_fd *pfd)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_descriptors *all = &priv->descriptors;
    const int own = pfd->fd, flags = fcntl (own, F_GETFL);

    if (!pi || !pi->by_handle || flags < 0 || !brief_can_be (this, pi, flags & BRIEF_FLAGS))
        return false;
    pfd->again = flags & BRIEF_FLAGS;
    pfd->wanders = true;
    pfd->fd = -1;
    posix_cache_opened (&priv->cache, pi, pfd); /* before closing: if the file is unlinked
                                                   meanwhile, the inode is kept */
    pfd->late = close_late (own);
    __atomic_add_fetch (&all->files, 1, __ATOMIC_RELAXED);
    room_made (all);
    posix_cache_shrink (&priv->cache, ROOM_EVICTED);
    if (!__atomic_exchange_n (&all->said_many, true, __ATOMIC_RELAXED))
        gf_log (this, GF_LOG_INFO,
                "so many files are open that descriptors run short (the process may have %d: "
                "RLIMIT_NOFILE; ulimit -n, or LimitNOFILE of "
                "systemd): more of them are opened anew for each request, which takes longer; this "
                "is said once",
                all->limit);
    return true;
}

void
posix_brief_end (posix_private_t *priv, const struct posix_fd *pfd)
{
    if (pfd->fd >= 0)
        close (pfd->fd);
    else
        __atomic_sub_fetch (&priv->descriptors.files, 1, __ATOMIC_RELAXED);
    room_made (&priv->descriptors);
}

/* Makes fd the file's own. Returns false if another thread was faster. */
static bool
brief_settle (struct posix_descriptors *all, struct posix_fd *pfd, int fd)
{
    int none = -1;

    if (!__atomic_compare_exchange_n (&pfd->fd, &none, fd, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED))
        return false;
    __atomic_sub_fetch (&all->files, 1, __ATOMIC_RELAXED);
    return true;
}

/* Opens as the daemon: the caller's permission was checked at open. A file system may refuse to
 * open a nameless file by handle; the descriptor of such an inode is kept. */
static int
brief_open (xlator_t *this, inode_t *inode, int flags)
{
    g_auto (posix_pin_t) pin = { 0 };
    struct posix_inode *pi = posix_inode_get (this, inode);
    int fd = pi ? posix_handle_open (this, pi, flags) : -ESTALE, r;

    if (fd != -ESTALE || !pi)
        return fd;
    r = posix_pin (this, inode, &pin);
    return r < 0 ? r : posix_openat (this, AT_FDCWD, posix_path_of (pin.fd).text, flags, 0);
}

int
posix_use_brief (xlator_t *this, fd_t *fd, struct posix_use *use)
{
    struct posix_descriptors *all = &posix_priv (this)->descriptors;

    use->fd = brief_open (this, fd->inode, use->pfd->again);
    if (use->fd < 0)
        return use->fd;
    __atomic_add_fetch (&all->opened, 1, __ATOMIC_RELAXED);
    if (use->fd < all->many && brief_settle (all, use->pfd, use->fd))
        return 0;
    use->brief = all;
    posix_cache_shrink (&posix_priv (this)->cache, 1);
    return 0;
}

void
posix_use_close (struct posix_use *use)
{
    struct posix_descriptors *all = use->brief;
    const int late = close_late (use->fd);

    if (late != 0)
        __atomic_store_n (&use->pfd->late, late, __ATOMIC_RELAXED);
    use->brief = NULL;
    room_made (all);
}

int
posix_fd_own (xlator_t *this, fd_t *fd)
{
    g_auto (posix_use_t) use = { 0 };
    int r = posix_use_begin (this, fd, &use);

    if (r < 0)
        return r;
    if (use.brief && !posix_descriptor_may_last (posix_priv (this), use.fd))
        return -ENFILE;
    if (use.brief && brief_settle (use.brief, use.pfd, use.fd))
        use.brief = NULL;
    return posix_fd_lasting (use.pfd);
}

void
posix_descriptors_dump (const posix_private_t *priv, GString *out)
{
    const struct posix_descriptors *all = &priv->descriptors;

    g_string_append_printf (out, "process-descriptors=%d\n", all->limit);
    g_string_append_printf (out, "open-without-descriptor=%u\n",
                            __atomic_load_n (&all->files, __ATOMIC_RELAXED));
    g_string_append_printf (out, "opened-for-a-request=%" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&all->opened, __ATOMIC_RELAXED));
}

void
posix_descriptors_explain (const posix_private_t *priv, GString *out)
{
    const unsigned files = __atomic_load_n (&priv->descriptors.files, __ATOMIC_RELAXED);

    if (files > 0)
        g_string_append_printf (out,
                                "descriptors run short (%d, RLIMIT_NOFILE): %u of the files that "
                                "are open have none, and are opened anew "
                                "for each request\n",
                                priv->descriptors.limit, files);
}

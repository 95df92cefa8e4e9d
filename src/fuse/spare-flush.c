/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Closing without a flush.
 *
 * A flush costs as much as an open, and for a file that was only read, or that lies in a file system that never says anything
 * when one is closed, all it does in storage is to drop the record locks of who closes it; hardly any program takes one. So the kernel is told to leave it out until the first lock is
 * seen. Who locks through a file that was opened before that is noted: his locks go when the file is released, or when
 * his process ends, whatever comes first.
 */
#include "fuse/internal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static flush_cbk fuse_spare_cbk;

struct locker {
    fd_t *fd; /* lent: the kernel has it open while this is noted */
    uint64_t owner;
    int pidfd; /* or -1 */
};

struct spare {
    bool locks_used; /* atomic */
    pthread_mutex_t lock; /* guards what follows; a leaf */
    GArray *lockers; /* struct locker */
    bool running;
    pthread_t thread; /* waits for processes to end; started with the first */
    int epoll, stop;
};

struct spare *
spare_new (void)
{
    struct spare *spare = g_new0 (struct spare, 1);

    pthread_mutex_init (&spare->lock, NULL);
    spare->lockers = g_array_new (FALSE, FALSE, sizeof (struct locker));
    spare->epoll = spare->stop = -1;
    return spare;
}

void
spare_free (struct spare *spare)
{
    if (spare->running) {
        eventfd_write (spare->stop, 1);
        pthread_join (spare->thread, NULL);
    }
    for (guint i = 0; i < spare->lockers->len; i++)
        if (g_array_index (spare->lockers, struct locker, i).pidfd >= 0)
            close (g_array_index (spare->lockers, struct locker, i).pidfd);
    if (spare->epoll >= 0)
        close (spare->epoll);
    if (spare->stop >= 0)
        close (spare->stop);
    g_array_unref (spare->lockers);
    pthread_mutex_destroy (&spare->lock);
    g_free (spare);
}

bool
spare_allowed (struct bridge *bridge, const fd_t *fd, int flags)
{
    return bridge->lazy_flush && ((flags & O_ACCMODE) == O_RDONLY || fd->closes_silently)
           && !__atomic_load_n (&bridge->spare->locks_used, __ATOMIC_RELAXED);
}

/* A flush that nobody waits for. */
static void
flush_owner (struct bridge *bridge, fd_t *fd, uint64_t owner)
{
    call_stack_t *root = stack_new (&bridge->xlator);
    call_frame_t *frame = &root->frames[0];
    struct fuse_local *local = request_local (frame, NULL, NULL);

    root->op = FOP_flush;
    root->uid = geteuid ();
    root->gid = getegid ();
    root->pid = getpid ();
    root->umask = 0;
    root->lk_owner = owner;
    local->fd = fd_ref (fd);
    STACK_WIND (frame, fuse_spare_cbk, FIRST_CHILD (frame->this), flush, fd, NULL);
}

static void
fuse_spare_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, dict_t *xdata)
{
    stack_done (frame->root);
}

/* Takes the i-th note away; its fd has a reference. */
static struct locker
locker_take_locked (struct spare *spare, guint i)
{
    struct locker locker = g_array_index (spare->lockers, struct locker, i);

    fd_ref (locker.fd);
    if (locker.pidfd >= 0)
        close (locker.pidfd);
    g_array_remove_index_fast (spare->lockers, i);
    return locker;
}

static void
locker_flush (struct bridge *bridge, const struct locker *locker)
{
    flush_owner (bridge, locker->fd, locker->owner);
    fd_unref (locker->fd);
}

/* A number may have come to stand for another process since the event was raised: so it is asked again. */
static bool
has_ended (int pidfd)
{
    struct pollfd fd = { .fd = pidfd, .events = POLLIN };

    return poll (&fd, 1, 0) == 1;
}

static void
process_ended (struct bridge *bridge, int pidfd)
{
    struct spare *spare = bridge->spare;
    struct locker locker = { .fd = NULL };

    pthread_mutex_lock (&spare->lock);
    for (guint i = 0; i < spare->lockers->len && !locker.fd; i++)
        if (g_array_index (spare->lockers, struct locker, i).pidfd == pidfd && has_ended (pidfd))
            locker = locker_take_locked (spare, i);
    pthread_mutex_unlock (&spare->lock);
    if (locker.fd)
        locker_flush (bridge, &locker);
}

static void *
watch (void *data)
{
    struct bridge *bridge = data;
    struct spare *spare = bridge->spare;
    struct epoll_event event;

    for (;;) {
        if (epoll_wait (spare->epoll, &event, 1, -1) != 1)
            continue;
        if (event.data.fd == spare->stop)
            return NULL;
        process_ended (bridge, event.data.fd);
    }
}

/* 0, or a negative errno: then locks go with the release only. */
static int
watch_start_locked (struct bridge *bridge)
{
    struct spare *spare = bridge->spare;
    struct epoll_event event = { .events = EPOLLIN };
    int r;

    if (spare->running)
        return 0;
    if (spare->epoll < 0)
        spare->epoll = epoll_create1 (EPOLL_CLOEXEC);
    if (spare->stop < 0)
        spare->stop = eventfd (0, EFD_CLOEXEC);
    event.data.fd = spare->stop;
    if (epoll_ctl (spare->epoll, EPOLL_CTL_ADD, spare->stop, &event) < 0 && errno != EEXIST)
        return -errno;
    r = thread_new (&spare->thread, "fuse-locks", watch, bridge);
    spare->running = r == 0;
    return r;
}

static void
locker_watch_locked (struct bridge *bridge, struct locker *locker, pid_t pid)
{
    struct epoll_event event = { .events = EPOLLIN };

    locker->pidfd = pid > 0 ? (int) syscall (SYS_pidfd_open, pid, 0) : -1;
    if (locker->pidfd < 0)
        return;
    event.data.fd = locker->pidfd;
    if (watch_start_locked (bridge) < 0
        || epoll_ctl (bridge->spare->epoll, EPOLL_CTL_ADD, locker->pidfd, &event) < 0) {
        close (locker->pidfd);
        locker->pidfd = -1;
    }
}

void
spare_note_lock (struct bridge *bridge, fd_t *fd, uint64_t owner, pid_t pid)
{
    struct spare *spare = bridge->spare;
    struct locker locker = { fd, owner, -1 };
    bool known = false;

    __atomic_store_n (&spare->locks_used, true, __ATOMIC_RELAXED);
    if (!bridge->lazy_flush || (fd->flags & O_ACCMODE) != O_RDONLY)
        return;
    pthread_mutex_lock (&spare->lock);
    for (guint i = 0; i < spare->lockers->len && !known; i++)
        known = g_array_index (spare->lockers, struct locker, i).fd == fd
                && g_array_index (spare->lockers, struct locker, i).owner == owner;
    if (!known) {
        locker_watch_locked (bridge, &locker, pid);
        g_array_append_val (spare->lockers, locker);
    }
    pthread_mutex_unlock (&spare->lock);
}

/* The next who locked through fd. */
static bool
next_locker (struct spare *spare, fd_t *fd, struct locker *ret_locker)
{
    bool found = false;

    pthread_mutex_lock (&spare->lock);
    for (guint i = 0; i < spare->lockers->len && !found; i++) {
        found = g_array_index (spare->lockers, struct locker, i).fd == fd;
        if (found)
            *ret_locker = locker_take_locked (spare, i);
    }
    pthread_mutex_unlock (&spare->lock);
    return found;
}

void
spare_release (struct bridge *bridge, fd_t *fd)
{
    struct locker locker;

    if (!__atomic_load_n (&bridge->spare->locks_used, __ATOMIC_RELAXED))
        return;
    while (next_locker (bridge->spare, fd, &locker))
        locker_flush (bridge, &locker);
}

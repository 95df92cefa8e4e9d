/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lk and flock. The daemon serves many owners of record locks. So each owner gets an open file
 * description of its own for each file, and open file description locks on it:
 *
 *   posix_inode.locks --by_owner--> lock_owner { descriptor }
 *
 * They conflict with each other and with locks of other programs in the directory. The system does
 * not look for deadlocks among them, so deadlock.c does. Closing a file drops the locks of its
 * owner, by any descriptor, as POSIX requires. flock belongs to the open file: it is taken on the
 * file's own descriptor, which is opened on demand.
 */
#include "internal.h"

#include <sys/file.h>


static struct lock_owner *
owner_ref (struct lock_owner *owner)
{
    __atomic_add_fetch (&owner->refs, 1, __ATOMIC_RELAXED);
    return owner;
}

static void
owner_unref (gpointer data)
{
    struct lock_owner *owner = data;

    if (!owner || __atomic_sub_fetch (&owner->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    close (owner->fd);
    g_hash_table_unref (owner->via);
    g_free (owner);
}

/* The file's locks. Made if make is true; else NULL if there never were any. */
static struct posix_locks *
locks_get (struct posix_inode *pi, bool make)
{
    struct posix_locks *locks = __atomic_load_n (&pi->locks, __ATOMIC_ACQUIRE), *known = NULL;

    if (locks || !make)
        return locks;
    locks = g_new0 (struct posix_locks, 1);
    pthread_mutex_init (&locks->lock, NULL);
    locks->by_owner = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, owner_unref);
    if (__atomic_compare_exchange_n (&pi->locks, &known, locks, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return locks;
    posix_locks_free (locks);
    return known;
}

void
posix_locks_free (struct posix_locks *locks)
{
    if (!locks)
        return;
    g_hash_table_destroy (locks->by_owner);
    pthread_mutex_destroy (&locks->lock);
    g_free (locks);
}

static struct lock_owner *
owner_find (struct posix_locks *locks, uint64_t id)
{
    struct lock_owner *owner;

    pthread_mutex_lock (&locks->lock);
    owner = g_hash_table_lookup (locks->by_owner, &id);
    if (owner)
        owner_ref (owner);
    pthread_mutex_unlock (&locks->lock);
    return owner;
}

/* Opens a file description for the owner. It must permit both kinds of lock if possible, since it
 * serves all later locks of the owner. */
static int
owner_open (xlator_t *this, fd_t *fd)
{
    static const int modes[] = { O_RDWR, O_RDONLY, O_WRONLY };
    g_auto (posix_use_t) use = { 0 };
    struct posix_path path;
    int r = posix_use_begin (this, fd, &use);

    if (r < 0)
        return r;
    path = posix_path_of (use.fd);
    posix_act_as_root (posix_priv (this));
    r = -EBADF;
    for (size_t i = 0; i < G_N_ELEMENTS (modes) && r < 0 && r != -ENFILE; i++)
        r = posix_openat (this, AT_FDCWD, path.text, modes[i] | O_NONBLOCK | O_NOCTTY, 0);
    if (r < 0 || posix_descriptor_may_last (posix_priv (this), r))
        return r;
    close (r);
    return -ENFILE;
}

/* A lock needs a long-lived descriptor. ENOLCK if there is none left. */
static int
lock_error (int r)
{
    return r == -ENFILE ? -ENOLCK : r;
}

/* Finds or makes the owner of frame, and returns it with a reference. */
static int
owner_get (call_frame_t *frame, xlator_t *this, struct posix_locks *locks, fd_t *fd,
           const struct gf_flock *lock, struct lock_owner **ret_owner)
{
    uint64_t id = frame->root->lk_owner;
    struct lock_owner *owner = owner_find (locks, id), *known;
    int r;

    if (!owner) {
        r = owner_open (this, fd);
        if (r < 0)
            return r;
        owner = g_new0 (struct lock_owner, 1);
        *owner = (struct lock_owner){ .refs = 1,
                                      .id = id,
                                      .pid = lock->l_pid > 0 ? lock->l_pid : frame->root->pid,
                                      .fd = r,
                                      .via = g_hash_table_new (NULL, NULL) };
        pthread_mutex_lock (&locks->lock);
        known = g_hash_table_lookup (locks->by_owner, &id);
        if (known) {
            owner_unref (owner);
            owner = owner_ref (known);
        } else {
            owner->number = locks->n_owners++;
            g_hash_table_insert (locks->by_owner, &owner->id, owner_ref (owner));
        }
        pthread_mutex_unlock (&locks->lock);
    }
    *ret_owner = owner;
    return 0;
}

static int
owner_lock (struct lock_owner *owner, int cmd, struct flock *flock)
{
    const int r = posix_result (fcntl (owner->fd, cmd, flock));

    if (r == 0 && flock->l_type != F_UNLCK)
        __atomic_store_n (&owner->was_granted, true, __ATOMIC_RELAXED);
    return r;
}

void
posix_locks_drop (struct posix_inode *pi, uint64_t id)
{
    struct posix_locks *locks = locks_get (pi, false);
    struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
    struct lock_owner *owner;

    if (!locks)
        return;
    /* Unlocks before the owner goes: otherwise another thread of the process would meet these locks
     * under a new owner. A caller may still wait on this descriptor: a lock that it gets then goes
     * with the last reference. */
    pthread_mutex_lock (&locks->lock);
    owner = g_hash_table_lookup (locks->by_owner, &id);
    if (owner) {
        fcntl (owner->fd, F_OFD_SETLK, &all);
        g_hash_table_remove (locks->by_owner, &id);
    }
    pthread_mutex_unlock (&locks->lock);
}

static void
owner_note_via (struct posix_locks *locks, struct lock_owner *owner, const struct posix_fd *pfd)
{
    pthread_mutex_lock (&locks->lock);
    g_hash_table_add (owner->via, (gpointer) pfd);
    pthread_mutex_unlock (&locks->lock);
}

static gboolean
owner_is_via (gpointer id, gpointer value, gpointer pfd)
{
    const struct lock_owner *owner = value;

    return g_hash_table_remove (owner->via, pfd) && g_hash_table_size (owner->via) == 0;
}

/* The kernel sends a flush for a process, not for an open file description. The owner of a
 * description's locks is the open file itself, and ends with it. If the kernel gives its number to
 * another file before the release of the first comes, the owner has several open files, and ends
 * with the last. */
void
posix_locks_drop_via (struct posix_inode *pi, const struct posix_fd *pfd)
{
    struct posix_locks *locks = locks_get (pi, false);

    if (!locks)
        return;
    pthread_mutex_lock (&locks->lock);
    g_hash_table_foreach_remove (locks->by_owner, owner_is_via, (gpointer) pfd);
    pthread_mutex_unlock (&locks->lock);
}

static struct flock
flock_of (const struct gf_flock *lock)
{
    return (struct flock){ .l_type = lock->l_type,
                           .l_whence = lock->l_whence,
                           .l_start = lock->l_start,
                           .l_len = lock->l_len };
}

static struct lock_range
range_of (const struct gf_flock *lock)
{
    return (struct lock_range){ .write = lock->l_type == F_WRLCK, .first = lock->l_start,
                                .last = lock->l_len ? lock->l_start + lock->l_len - 1 : INT64_MAX };
}

static int
lock_query (call_frame_t *frame, xlator_t *this, fd_t *fd, struct posix_inode *pi,
            struct gf_flock *lock)
{
    g_auto (posix_use_t) use = { 0 };
    struct posix_locks *locks = locks_get (pi, false);
    struct lock_owner *owner = locks ? owner_find (locks, frame->root->lk_owner) : NULL;
    struct flock flock = flock_of (lock);
    int r = owner ? 0 : posix_use_begin (this, fd, &use);

    if (r == 0)
        r = posix_result (fcntl (owner ? owner->fd : use.fd, F_OFD_GETLK, &flock));
    owner_unref (owner);
    if (r < 0)
        return r;
    lock->l_type = flock.l_type;
    if (flock.l_type == F_UNLCK)
        return 0;
    lock->l_whence = flock.l_whence;
    lock->l_start = flock.l_start;
    lock->l_len = flock.l_len;
    lock->l_pid = flock.l_pid > 0 || !locks ? flock.l_pid
                                            : posix_lock_process (locks, range_of (lock));
    return 0;
}

static int
lock_check (const struct posix_fd *pfd, int cmd, const struct gf_flock *lock)
{
    const uint32_t mode = pfd->flags & O_ACCMODE;

    if (!lock || (cmd != F_GETLK && cmd != F_SETLK && cmd != F_SETLKW))
        return -EINVAL;
    if (lock->l_whence != SEEK_SET)
        return -EINVAL; /* the kernel has made the range absolute; an open file's position means
                           nothing here */
    if (lock->l_type != F_RDLCK && lock->l_type != F_WRLCK && lock->l_type != F_UNLCK)
        return -EINVAL;
    if (cmd == F_GETLK)
        return 0;
    if ((lock->l_type == F_RDLCK && mode == O_WRONLY)
        || (lock->l_type == F_WRLCK && mode == O_RDONLY))
        return -EBADF;
    return 0;
}

/* --- waiting -------------------------------------------------------------------------------- */

static void
lock_wait_free (struct lock_wait *wait)
{
    owner_unref (wait->owner);
    fd_unref (wait->fd);
    g_free (wait);
}

static int
lk_wait (void *data)
{
    struct lock_wait *wait = data;
    struct flock flock = flock_of (&wait->lock);

    return owner_lock (wait->owner, F_OFD_SETLKW, &flock);
}

static void
lk_answer (call_frame_t *frame, void *data, int r)
{
    struct lock_wait *wait = data;

    posix_wanted_remove (&posix_priv (frame->this)->wanted, wait);
    STACK_UNWIND (lk, frame, POSIX_RET (r), r < 0 ? NULL : &wait->lock, NULL);
    lock_wait_free (wait);
}

static int
flock_wait (void *data)
{
    struct lock_wait *wait = data;

    return posix_result (flock (wait->real, wait->operation));
}

static void
flock_answer (call_frame_t *frame, void *data, int r)
{
    STACK_UNWIND (flock, frame, POSIX_RET (r), NULL);
    lock_wait_free (data);
}

static void
lk_tell (const void *data, GString *out)
{
    const struct lock_wait *wait = data;
    const struct lock_range *range = &wait->range;

    g_string_append_printf (out, "a record lock to %s, bytes %" G_GINT64_FORMAT " to ",
                            range->write ? "write" : "read", range->first);
    if (range->last < INT64_MAX)
        g_string_append_printf (out, "%" G_GINT64_FORMAT, range->last);
    else
        g_string_append (out, "the end");
    posix_locks_tell (wait->pi, range, wait->owner->id, out);
}

static void
flock_tell (const void *data, GString *out)
{
    const struct lock_wait *wait = data;

    g_string_append_printf (out, "a lock of the whole file (flock) to %s",
                            (wait->operation & ~LOCK_NB) == LOCK_EX ? "write" : "read");
    posix_flock_tell (wait->pi, out);
}

/* --- lk ------------------------------------------------------------------------------------- */

/* Returns -EINPROGRESS if the request will be answered later, or another negative errno. */
static int
lock_wait_begin (call_frame_t *frame, xlator_t *this, fd_t *fd, struct posix_inode *pi,
                 struct lock_owner *owner, const struct gf_flock *lock)
{
    struct posix_wanted *wanted = &posix_priv (this)->wanted;
    struct lock_wait *wait = g_new0 (struct lock_wait, 1);
    int r;

    *wait = (struct lock_wait){ .fd = fd_ref (fd),
                                .pi = pi,
                                .owner = owner_ref (owner),
                                .lock = *lock,
                                .range = range_of (lock) };
    r = posix_wanted_add (wanted, wait);
    if (r == 0) {
        r = posix_wait (frame, lk_wait, lk_tell, lk_answer, wait);
        if (r == 0)
            return -EINPROGRESS;
        posix_wanted_remove (wanted, wait);
    }
    lock_wait_free (wait);
    return r;
}

/* Returns 0, -EINPROGRESS if the request will be answered later, or another negative errno. */
static int
lock_set (call_frame_t *frame, xlator_t *this, fd_t *fd, struct posix_inode *pi,
          const struct posix_fd *pfd, int cmd, struct gf_flock *lock)
{
    struct posix_locks *locks = locks_get (pi, lock->l_type != F_UNLCK);
    struct lock_owner *owner = NULL;
    struct flock flock = flock_of (lock);
    int r;

    if (!locks)
        return 0;
    if (lock->l_type == F_UNLCK && !(owner = owner_find (locks, frame->root->lk_owner)))
        return 0;
    r = owner ? 0 : lock_error (owner_get (frame, this, locks, fd, lock, &owner));
    if (r < 0)
        return r;
    if (lock->l_type != F_UNLCK)
        owner_note_via (locks, owner, pfd);
    r = owner_lock (owner, F_OFD_SETLK, &flock);
    if (cmd == F_SETLKW && (r == -EAGAIN || r == -EACCES))
        r = lock_wait_begin (frame, this, fd, pi, owner, lock);
    owner_unref (owner);
    return r;
}

void
posix_lk (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t cmd, struct gf_flock *lock,
          dict_t *xdata)
{
    struct posix_inode *pi = posix_inode_get (this, fd->inode);
    const struct posix_fd *pfd = posix_fd_get (this, fd);
    struct gf_flock answer;
    int r = pi && pfd ? 0 : -EBADF;

    if (r >= 0)
        r = lock_check (pfd, cmd, lock);
    if (r >= 0) {
        answer = *lock;
        r = cmd == F_GETLK ? lock_query (frame, this, fd, pi, &answer)
                           : lock_set (frame, this, fd, pi, pfd, cmd, &answer);
    }
    if (r != -EINPROGRESS)
        STACK_UNWIND (lk, frame, POSIX_RET (r), r < 0 ? NULL : &answer, NULL);
}

/* --- flock ---------------------------------------------------------------------------------- */

/* Returns the same as lock_set. */
static int
flock_set (call_frame_t *frame, fd_t *fd, struct posix_inode *pi, int real, int operation)
{
    struct lock_wait *wait;
    int r = posix_result (flock (real, operation | LOCK_NB));

    if (r != -EWOULDBLOCK || (operation & LOCK_NB))
        return r;
    wait = g_new0 (struct lock_wait, 1);
    *wait = (struct lock_wait){ .fd = fd_ref (fd), .pi = pi, .real = real, .operation = operation };
    r = posix_wait (frame, flock_wait, flock_tell, flock_answer, wait);
    if (r == 0)
        return -EINPROGRESS;
    lock_wait_free (wait);
    return r;
}

void
posix_flock (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t operation, dict_t *xdata)
{
    int r = lock_error (posix_fd_own (this, fd));

    if (r >= 0)
        r = flock_set (frame, fd, posix_inode_get (this, fd->inode), r, operation);
    if (r != -EINPROGRESS)
        STACK_UNWIND (flock, frame, POSIX_RET (r), NULL);
}

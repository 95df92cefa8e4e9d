/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From an inode to a descriptor of it. One that was closed is opened again by its file handle. If
 * that is not permitted, it is opened by its names, from the next directory above that is open. If
 * the result is another object, the answer is ESTALE.
 */
#include "../posix.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#define HANDLE_ATTEMPTS 16
#define HANDLE_PAUSE 100     /* microseconds between attempts that fail with ENOMEM */
#define HANDLE_PATIENCE 1000 /* number of attempts */
#define HANDLE_DEPTH 65536 /* directories; names that lead deeper form a circle */

/* A step on the way down. */
struct handle_step {
    inode_t *inode, *parent; /* with references */
    char *name;
};

int
posix_openat (xlator_t *this, int dirfd, const char *name, int flags, mode_t mode)
{
    int fd = openat (dirfd, name, flags | O_CLOEXEC, mode);

    for (int i = 0; fd < 0 && posix_make_room (this, errno, i); i++)
        fd = openat (dirfd, name, flags | O_CLOEXEC, mode);
    return fd < 0 ? posix_open_failed (this, errno) : fd;
}

/* A step that stays on one mount can't enter ours. */
static int
handle_step_inside (int dirfd, const char *name, int flags)
{
    struct open_how how = { .flags = (unsigned) flags | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV };

    return (int) syscall (SYS_openat2, dirfd, name, &how, sizeof how);
}

/* valgrind doesn't know the system call. */
bool
posix_may_step_inside (int dirfd)
{
    const int fd = process_is_under_valgrind () ? -1 : handle_step_inside (dirfd, ".", O_PATH);

    if (fd >= 0)
        close (fd);
    return fd >= 0;
}

static int
handle_enter (xlator_t *this, int dirfd, const char *name, int flags)
{
    const struct root *where = posix_priv (this)->where;
    int fd;

    if (posix_priv (this)->steps_inside && root_is_mounted (where)) {
        fd = handle_step_inside (dirfd, name, flags);
        if (fd >= 0 || errno == ENOENT)
            return fd < 0 ? -ENOENT : fd;
    }
    fd = posix_openat (this, dirfd, name, flags, 0);
    if (fd < 0 || !root_is_own_mount (where, fd))
        return fd;
    close (fd);
    return -ELOOP;
}

int
posix_open_name (xlator_t *this, int dirfd, const char *name)
{
    return handle_enter (this, dirfd, name, O_PATH | O_NOFOLLOW);
}

int
posix_open_up (xlator_t *this, int dirfd)
{
    const struct root *where = posix_priv (this)->where;
    int fd = handle_enter (this, dirfd, "..", O_PATH | O_DIRECTORY);

    return fd == -ELOOP && where->covered
             ? posix_openat (this, AT_FDCWD, posix_path_of (where->fd).text, O_PATH, 0)
             : fd;
}

struct posix_inode *
posix_inode_new (const struct posix_ident *ident)
{
    struct posix_inode *pi = g_malloc (sizeof *pi + ident->handle_size);

    *pi = (struct posix_inode){
        .magic = POSIX_INODE_MAGIC,
        .state = POSIX_CLOSED,
        .fd = -1,
        .place = -1,
        .handle_type = ident->handle_type,
        .handle_size = (uint8_t) ident->handle_size,
        .ia_type = (uint8_t) ident->ia_type,
        .by_handle = ident->by_handle,
        .fs = ident->fs,
        .moves = file_system_moves (ident->fs),
        .ino = ident->ino,
        .gfid = ident->gfid,
    };
    memcpy (pi->handle, ident->handle, ident->handle_size);
    return pi;
}

static struct posix_inode *
handle_root (xlator_t *this, inode_t *inode)
{
    const posix_private_t *priv = posix_priv (this);

    if (priv->watch)
        posix_watch_table (priv->watch, inode->table);
    return priv->root;
}

struct posix_inode *
posix_inode_get (xlator_t *this, inode_t *inode)
{
    struct posix_inode *pi;

    if (!inode)
        return NULL;
    pi = inode_ctx_get (inode, this);
    if (!pi)
        return gfid_equal (&inode->gfid, &gfid_root) ? handle_root (this, inode) : NULL;
    g_assert (pi->magic == POSIX_INODE_MAGIC);
    return pi;
}

/* The system's form of a handle. */
typedef union {
    struct file_handle head;
    char room[sizeof (struct file_handle) + POSIX_HANDLE_MAX];
} handle_t;

static handle_t
handle_of (int type, const unsigned char *bytes, unsigned size)
{
    handle_t handle = { .head = { .handle_bytes = size, .handle_type = type } };

    memcpy (handle.room + offsetof (struct file_handle, f_handle), bytes, size);
    return handle;
}

/* ext4 answers ENOMEM, and not ESTALE, while it gives the number of a removed file to a new one
 * (iget_locked() can't tell that an inode is being made). That lasts until the new file exists:
 * microseconds, or as long as its maker has no processor. */
static int
handle_open_in (xlator_t *this, int mount_fd, const struct posix_inode *pi, int flags)
{
    handle_t handle = handle_of (pi->handle_type, pi->handle, pi->handle_size);
    int fd, attempts = 0;

    posix_act_as_root (posix_priv (this));
    while ((fd = open_by_handle_at (mount_fd, &handle.head,
                                    flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY))
               < 0
           && errno == ENOMEM && attempts++ < HANDLE_PATIENCE)
        g_usleep (HANDLE_PAUSE);
    return fd < 0 ? -errno : fd;
}

int
posix_handle_open_once (xlator_t *this, const struct posix_inode *pi, int flags)
{
    return handle_open_in (this, posix_priv (this)->mount_fd, pi, flags);
}

int
posix_handle_open_quiet (xlator_t *this, const struct posix_inode *pi)
{
    const int quiet_fd = posix_priv (this)->where->quiet_fd;

    return quiet_fd >= 0 && pi->by_handle ? handle_open_in (this, quiet_fd, pi, O_PATH)
                                          : -EXDEV;
}

int
posix_handle_open (xlator_t *this, const struct posix_inode *pi, int flags)
{
    int fd = posix_handle_open_once (this, pi, flags);

    for (int i = 0; fd < 0 && posix_make_room (this, -fd, i); i++)
        fd = posix_handle_open_once (this, pi, flags);
    return fd < 0 ? posix_open_failed (this, -fd) : fd;
}

int
posix_handle_probe (int mount_fd, const struct posix_ident *ident)
{
    handle_t handle = handle_of (ident->handle_type, ident->handle, ident->handle_size);
    int fd = open_by_handle_at (mount_fd, &handle.head, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    close (fd);
    return 0;
}

/* One step down. -ESTALE if the name stands for another object now. */
static int
handle_step_down (xlator_t *this, int dirfd, const struct handle_step *step)
{
    struct posix_inode *pi = posix_inode_get (this, step->inode);
    struct posix_ident ident;
    struct iatt buf;
    int fd = posix_open_name (this, dirfd, step->name);

    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR ? -ESTALE : fd;
    if (posix_identify (this, fd, &ident, &buf) == 0 && pi && posix_is (pi, &ident))
        return fd;
    close (fd);
    return -ESTALE;
}

static void
handle_step_clear (gpointer step)
{
    inode_unref (((struct handle_step *) step)->inode);
    inode_unref (((struct handle_step *) step)->parent);
    g_free (((struct handle_step *) step)->name);
}

/* Collects the names from inode up to a directory that is open, which is pinned: the root at the
 * latest. */
static int
handle_steps (xlator_t *this, inode_t *inode, GArray *steps, struct posix_pin *ret_start)
{
    g_autoptr (inode_t) at = inode_ref (inode);

    while (steps->len < HANDLE_DEPTH) {
        struct posix_inode *pi = posix_inode_get (this, at);
        struct handle_step step = { 0 };
        inode_t *parent;

        if (!pi)
            return -ESTALE;
        if (posix_cache_pin (pi)) {
            *ret_start = (struct posix_pin){ pi, pi->fd };
            return 0;
        }
        if (!inode_a_name (at, &parent, &step.name))
            return -ESTALE;
        step.inode = at;
        step.parent = parent;
        at = inode_ref (parent);
        g_array_append_val (steps, step);
    }
    return -ELOOP;
}

static int
handle_walk (xlator_t *this, inode_t *inode)
{
    g_autoptr (GArray) steps = g_array_new (false, false, sizeof (struct handle_step));
    g_auto (posix_pin_t) start = { 0 };
    int fd = -1, r;

    g_array_set_clear_func (steps, handle_step_clear);
    posix_act_as_root (posix_priv (this));
    r = handle_steps (this, inode, steps, &start);
    if (r < 0)
        return r;
    if (steps->len == 0) /* opened by another thread meanwhile */
        return posix_openat (this, AT_FDCWD, posix_path_of (start.fd).text, O_PATH, 0);
    for (guint i = steps->len; i-- > 0;) {
        const struct handle_step *step = &g_array_index (steps, struct handle_step, i);
        r = handle_step_down (this, fd < 0 ? start.fd : fd, step);
        if (fd >= 0)
            close (fd);
        if (r < 0) {
            if (r == -ESTALE)
                inode_unname (step->inode, step->parent, step->name);
            return r;
        }
        fd = r;
    }
    return fd;
}

/* A name that leads nowhere is dropped, and the next one is tried: a lookup that a rename overtook
 * may have brought the name back. */
static int
handle_walk_names (xlator_t *this, inode_t *inode)
{
    int fd = handle_walk (this, inode);

    for (int i = 0; fd == -ESTALE && i < HANDLE_ATTEMPTS; i++)
        fd = handle_walk (this, inode);
    return fd;
}

/* Opens an inode without a file handle: through an open file if there is one, since the name may
 * stand for another object by now; else by its names. */
static int
handle_find (xlator_t *this, inode_t *inode, struct posix_inode *pi)
{
    struct posix_cache *cache = &posix_priv (this)->cache;
    int copy = posix_cache_copy_open (cache, pi), fd;

    for (int i = 0; copy < 0 && posix_make_room (this, -copy, i); i++)
        copy = posix_cache_copy_open (cache, pi);
    if (copy < 0)
        return copy == -ENOENT ? handle_walk_names (this, inode) : posix_open_failed (this, -copy);
    fd = posix_openat (this, AT_FDCWD, posix_path_of (copy).text, O_PATH, 0);
    close (copy);
    return fd;
}

int
posix_pin (xlator_t *this, inode_t *inode, struct posix_pin *ret_pin)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_inode *pi = posix_inode_get (this, inode);
    int fd;

    if (!pi)
        return -ESTALE;
    if (posix_cache_pin (pi)) {
        __atomic_add_fetch (&priv->cache.hits, 1, __ATOMIC_RELAXED);
    } else {
        __atomic_add_fetch (&priv->cache.misses, 1, __ATOMIC_RELAXED);
        if (!__atomic_load_n (&pi->nameless, __ATOMIC_RELAXED)
            || !posix_cache_borrow (&priv->cache, pi)) {
            fd = pi->by_handle ? posix_handle_open (this, pi, O_PATH)
                               : handle_find (this, inode, pi);
            if (fd < 0)
                return fd;
            posix_cache_insert (&priv->cache, pi, fd);
        }
    }
    *ret_pin = (struct posix_pin){ pi, pi->fd };
    return 0;
}

void
posix_unpin (struct posix_pin *pin)
{
    if (pin->pi)
        posix_cache_unpin (pin->pi);
    *pin = (struct posix_pin){ 0 };
}

/* Returns true if inode may stand for the object with that identity. */
static bool
handle_fits (xlator_t *this, inode_t *inode, const struct posix_ident *ident)
{
    struct posix_inode *pi = posix_inode_get (this, inode);

    return pi ? posix_is (pi, ident)
              : gfid_is_null (&inode->gfid) || gfid_equal (&inode->gfid, &ident->gfid);
}

/* Returns the inode for that identity, with a reference. */
static int
handle_choose (xlator_t *this, struct itable *table, inode_t *given, int fd,
               struct posix_ident *ident, inode_t **ret_inode)
{
    g_autoptr (inode_t) known = NULL;
    int r;

    if (given && inode_ctx_get (given, this) && handle_fits (this, given, ident)) {
        *ret_inode = inode_ref (given);
        return 0;
    }
    known = inode_find (table, &ident->gfid);
    if (known && !handle_fits (this, known, ident) && posix_priv (this)->gfid_mode == GFID_XATTR) {
        r = posix_gfid_renew (this, fd, ident);
        if (r < 0)
            return r;
        g_clear_pointer (&known, inode_unref);
    }
    if (known)
        *ret_inode = g_steal_pointer (&known);
    else if (given && !posix_inode_get (this, given) && handle_fits (this, given, ident))
        *ret_inode = inode_ref (given);
    else
        *ret_inode = inode_new (table);
    return 0;
}

/* Starts watching the inode and reads its attributes again: earlier ones may be outdated without an
 * event. */
static void
handle_watch (xlator_t *this, inode_t *inode, struct posix_inode *pi, int fd, struct iatt *buf)
{
    struct posix_watch *watch = posix_priv (this)->watch;

    if (!watch)
        return;
    posix_watch_know (watch, inode->table, pi, fd);
    if (!posix_priv (this)->cache.watch)
        posix_iatt (this, fd, &pi->gfid, buf); /* else done when the descriptor is marked */
}

/* Returns the context of inode. Makes it if there is none. */
static struct posix_inode *
handle_attach (xlator_t *this, inode_t *inode, int fd, const struct posix_ident *ident,
               struct iatt *buf)
{
    struct posix_inode *pi = posix_inode_get (this, inode), *mine;

    if (pi) {
        if (G_UNLIKELY (posix_has_moved (pi)))
            handle_watch (this, inode, pi, fd, buf);
        return pi;
    }
    mine = posix_inode_new (ident);
    pi = inode_ctx_set (inode, this, mine);
    if (pi != mine)
        g_free (mine);
    else
        handle_watch (this, inode, pi, fd, buf);
    return pi;
}

static int
handle_adopt (xlator_t *this, struct itable *table, inode_t *given, int fd,
              struct posix_ident *ident, struct posix_found *found, struct posix_inode **ret_pi)
{
    int r = handle_choose (this, table, given, fd, ident, &found->inode);

    if (r < 0)
        return r;
    *ret_pi = handle_attach (this, found->inode, fd, ident, &found->buf);
    found->buf.ia_gfid = (*ret_pi)->gfid;
    return 0;
}

int
posix_adopt (xlator_t *this, struct itable *table, inode_t *given, int fd,
             struct posix_ident *ident, struct posix_found *found)
{
    struct posix_inode *pi;
    int r = handle_adopt (this, table, given, fd, ident, found, &pi);

    if (r < 0) {
        close (fd);
        return r;
    }
    posix_cache_insert (&posix_priv (this)->cache, pi, fd);
    found->pin = (struct posix_pin){ pi, pi->fd };
    return posix_priv (this)->cache.watch ? posix_iatt (this, pi->fd, &pi->gfid, &found->buf) : 0;
}

int
posix_adopt_closed (xlator_t *this, struct itable *table, inode_t *given, int fd,
                    struct posix_ident *ident, struct posix_found *found)
{
    struct posix_inode *pi;
    int r = handle_adopt (this, table, given, fd, ident, found, &pi), own;

    if (r < 0 || (!posix_priv (this)->cache.watch && !posix_has_moved (pi)))
        return r;
    /* The inode is watched while its descriptor is open; and one that has moved needs another. */
    own = posix_openat (this, AT_FDCWD, posix_path_of (fd).text, O_PATH, 0);
    if (own < 0)
        return own;
    posix_cache_insert (&posix_priv (this)->cache, pi, own);
    posix_cache_unpin (pi);
    return posix_priv (this)->cache.watch ? posix_iatt (this, fd, &pi->gfid, &found->buf) : 0;
}

void
posix_found_clear (struct posix_found *found)
{
    posix_unpin (&found->pin);
    g_clear_pointer (&found->inode, inode_unref);
}

void
posix_forget (xlator_t *this, inode_t *inode)
{
    struct posix_inode *pi = inode_ctx_get (inode, this);

    if (!pi)
        return;
    g_assert (pi->magic == POSIX_INODE_MAGIC);
    if (posix_priv (this)->watch)
        posix_watch_forget (posix_priv (this)->watch, pi);
    posix_cache_forget (&posix_priv (this)->cache, pi);
    posix_locks_free (pi->locks);
    pi->magic = 0;
    g_free (pi);
}

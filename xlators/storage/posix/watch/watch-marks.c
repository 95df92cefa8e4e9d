/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The marks, and the way from the file handle of an event to inodes. */
#include "internal.h"

#include <sys/vfs.h>
#include <unistd.h>

#define OF_FILES (FAN_MODIFY | FAN_CLOSE_WRITE | FAN_ATTRIB | FAN_MOVE_SELF | FAN_DELETE_SELF)
#define OF_NAMES (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO)
#define DROPPED_MAX 64 /* beyond this, all inodes are reported as changed */

void
watch_ring (struct posix_watch *watch)
{
    const uint64_t one = 1;

    if (write (watch->bell, &one, sizeof one) < 0)
        return; /* already signalled */
}

/* --- inodes by handle ------------------------------------------------------------------------- */

static guint
known_hash (gconstpointer data)
{
    const struct posix_inode *pi = data;

    return fnv32 (FNV32_START ^ gfid_hash (&pi->fs->key), pi->handle, pi->handle_size);
}

static gboolean
known_same (gconstpointer a, gconstpointer b)
{
    const struct posix_inode *one = a, *other = b;

    return one->fs == other->fs && one->handle_type == other->handle_type
        && one->handle_size == other->handle_size
        && memcmp (one->handle, other->handle, one->handle_size) == 0;
}

unsigned
watch_marks_find (struct posix_watch *watch, const int *fsid, const struct file_handle *handle,
                  gfid_t *ret_gfids, unsigned max)
{
    union {
        struct posix_inode key;
        char room[sizeof (struct posix_inode) + POSIX_HANDLE_MAX];
    } wanted = { .key = { .handle_type = handle->handle_type,
                          .handle_size = (uint8_t) handle->handle_bytes } };
    const struct posix_inode *pi;
    unsigned n = 0;

    if (handle->handle_bytes == 0 || handle->handle_bytes > POSIX_HANDLE_MAX)
        return 0;
    memcpy (wanted.key.handle, handle->f_handle, handle->handle_bytes);
    pthread_mutex_lock (&watch->lock);
    for (guint i = 0; i < watch->filesystems->len && n < max; i++) {
        const struct watch_filesystem *fs = &g_array_index (watch->filesystems,
                                                            struct watch_filesystem, i);

        wanted.key.fs = fs->fs;
        pi = memcmp (fs->fsid, fsid, sizeof fs->fsid) == 0
               ? g_hash_table_lookup (watch->known, &wanted.key)
               : NULL;
        if (pi)
            ret_gfids[n++] = pi->gfid;
    }
    pthread_mutex_unlock (&watch->lock);
    return n;
}

/* --- marks ------------------------------------------------------------------------------------ */

/* A process that may not read a file may not watch it; the daemon may if it is root. */
static int
mark (struct posix_watch *watch, int fd, unsigned flags, uint64_t mask)
{
    const posix_private_t *priv = posix_priv (watch->this);
    const struct posix_path path = posix_path_of (fd);
    int r = posix_result (fanotify_mark (watch->fd, flags, mask, AT_FDCWD, path.text));
    struct posix_caller caller;

    if (r != -EACCES || !priv->acts_as_caller)
        return r;
    caller = posix_caller_leave (priv);
    r = posix_result (fanotify_mark (watch->fd, flags, mask, AT_FDCWD, path.text));
    posix_caller_return (priv, caller);
    return r;
}

static void
complain (struct posix_watch *watch, int error)
{
    bool first;

    __atomic_add_fetch (&watch->count.unmarked, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock (&watch->lock);
    first = !watch->complained;
    watch->complained = true;
    pthread_mutex_unlock (&watch->lock);
    if (!first)
        return;
    gf_log (
        watch->this, GF_LOG_WARNING,
        "option 'watch': some of '%s' can't be watched (%s): what others change there is seen when "
        "what "
        "is remembered expires; this is said once, and a statedump counts them as watch-unmarked",
        posix_priv (watch->this)->directory,
        error == ENOSPC ? "fs.fanotify.max_user_marks is reached" : g_strerror (error));
}

static uint64_t
mask_of_inode (const struct posix_inode *pi)
{
    return pi->ia_type == IA_IFDIR ? OF_FILES | OF_NAMES | FAN_ONDIR | FAN_EVENT_ON_CHILD
                                   : OF_FILES;
}

/* A file that the daemon may not read is watched through its directory. */
void
posix_watch_mark (struct posix_watch *watch, const struct posix_inode *pi, int fd)
{
    int r = mark (watch, fd, FAN_MARK_ADD, mask_of_inode (pi));

    if (r < 0 && !(r == -EACCES && pi->ia_type != IA_IFDIR))
        complain (watch, -r);
}

void
posix_watch_unmark (struct posix_watch *watch, const struct posix_inode *pi, int fd, bool tell)
{
    mark (watch, fd, FAN_MARK_REMOVE, mask_of_inode (pi));
    if (!tell)
        return;
    pthread_mutex_lock (&watch->lock);
    if (watch->dropped->len < DROPPED_MAX)
        g_array_append_val (watch->dropped, pi->gfid);
    else
        watch->dropped_all = true;
    pthread_mutex_unlock (&watch->lock);
    watch_ring (watch);
}

/* --- known inodes ----------------------------------------------------------------------------- */

static bool
filesystem_known_locked (const struct posix_watch *watch, const struct file_system *fs)
{
    for (guint i = 0; i < watch->filesystems->len; i++) {
        const struct watch_filesystem *known =
            &g_array_index (watch->filesystems, struct watch_filesystem, i);

        if (known->fs == fs && known->moves == file_system_moves (fs))
            return true;
    }
    return false;
}

/* The first inode of a file system: that of the directory, or of another one mounted in it. */
static int
filesystem_add (struct posix_watch *watch, const struct file_system *of, int fd)
{
    struct watch_filesystem fs = { .fs = of, .moves = file_system_moves (of) };
    struct statfs st;
    int r = posix_result (fstatfs (fd, &st));

    if (r == 0 && watch->whole)
        r = mark (watch, fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, OF_FILES | OF_NAMES | FAN_ONDIR);
    G_STATIC_ASSERT (sizeof fs.fsid == sizeof st.f_fsid);
    memcpy (fs.fsid, &st.f_fsid, sizeof fs.fsid);
    pthread_mutex_lock (&watch->lock);
    if (!filesystem_known_locked (watch, of))
        g_array_append_val (watch->filesystems, fs);
    pthread_mutex_unlock (&watch->lock);
    return r;
}

void
posix_watch_table (struct posix_watch *watch, struct itable *table)
{
    if (G_UNLIKELY (!__atomic_load_n (&watch->table, __ATOMIC_RELAXED)))
        __atomic_store_n (&watch->table, table, __ATOMIC_RELEASE);
}

void
posix_watch_know (struct posix_watch *watch, struct itable *table, struct posix_inode *pi, int fd)
{
    bool old;
    int r = 0;

    posix_watch_table (watch, table);
    if (pi->handle_size == 0) {
        complain (watch, EOPNOTSUPP);
        return;
    }
    pthread_mutex_lock (&watch->lock);
    old = filesystem_known_locked (watch, pi->fs);
    g_hash_table_add (watch->known, pi);
    pthread_mutex_unlock (&watch->lock);
    if (!old)
        r = filesystem_add (watch, pi->fs, fd);
    if (r < 0)
        complain (watch, -r);
}

void
posix_watch_forget (struct posix_watch *watch, struct posix_inode *pi)
{
    pthread_mutex_lock (&watch->lock);
    if (g_hash_table_lookup (watch->known, pi) == pi)
        g_hash_table_remove (watch->known, pi);
    pthread_mutex_unlock (&watch->lock);
}

/* --- start ------------------------------------------------------------------------------------ */

void
watch_marks_init (struct posix_watch *watch)
{
    pthread_mutex_init (&watch->lock, NULL);
    watch->known = g_hash_table_new (known_hash, known_same);
    watch->filesystems = g_array_new (false, false, sizeof (struct watch_filesystem));
    watch->dropped = g_array_new (false, false, sizeof (gfid_t));
}

void
watch_marks_free (struct posix_watch *watch)
{
    g_hash_table_destroy (watch->known);
    g_array_unref (watch->filesystems);
    g_array_unref (watch->dropped);
    pthread_mutex_destroy (&watch->lock);
}

int
watch_marks_begin (struct posix_watch *watch, bool whole)
{
    struct posix_inode *root = posix_priv (watch->this)->root;
    int r;

    watch->whole = whole;
    watch->fd = fanotify_init (FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_FID
                                   | FAN_REPORT_DFID_NAME,
                               O_RDONLY | O_CLOEXEC);
    if (watch->fd < 0)
        return -errno;
    r = root->handle_size > 0 ? filesystem_add (watch, root->fs, root->fd) : -EOPNOTSUPP;
    if (r == 0 && !whole)
        r = mark (watch, root->fd, FAN_MARK_ADD, mask_of_inode (root));
    if (r == 0) {
        g_hash_table_add (watch->known, root);
        return 0;
    }
    close (watch->fd);
    watch->fd = -1;
    g_array_set_size (watch->filesystems, 0);
    return r;
}

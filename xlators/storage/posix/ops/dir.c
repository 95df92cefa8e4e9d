/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* readdir and readdirp: the kernel's own entries, read in large pieces, with the kernel's own
 * offsets. */
#include "../posix.h"

#include <dirent.h>
#include <sys/syscall.h>

#define DIR_BUFFER (64 << 10)

/* The space of an entry in the kernel's buffer, which is what size counts. */
#define DIR_ENTRY_SIZE 24
#define DIR_ENTRY_PLUS_SIZE (DIR_ENTRY_SIZE + 128)

struct linux_dirent64 {
    ino64_t d_ino;
    off64_t d_off;
    unsigned short d_reclen;
    unsigned char d_type;
    char d_name[];
};

/* Seeks to offset, if it is not the current one. */
static int
dir_go_locked (const struct posix_use *use, off_t offset)
{
    struct posix_fd *pfd = use->pfd;

    if (!pfd->buf) {
        pfd->buf = g_try_malloc (DIR_BUFFER);
        if (!pfd->buf)
            return -ENOMEM;
    } else if (pfd->at == offset && offset != 0) {
        return 0; /* offset 0 rereads the directory, to see new entries */
    }
    pfd->used = pfd->next = 0;
    if (lseek (use->fd, offset, SEEK_SET) < 0)
        return -errno;
    pfd->at = offset;
    return 0;
}

/* The next entry, which stays until dir_take_locked. Returns 1, 0 at the end, or a negative
 * errno. */
static int
dir_peek_locked (const struct posix_use *use, const struct linux_dirent64 **ret_entry)
{
    struct posix_fd *pfd = use->pfd;
    long n;

    if (pfd->next >= pfd->used) {
        if (pfd->wanders && lseek (use->fd, pfd->at, SEEK_SET) < 0)
            return -errno;
        n = syscall (SYS_getdents64, use->fd, pfd->buf, DIR_BUFFER);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        pfd->used = (size_t) n;
        pfd->next = 0;
    }
    *ret_entry = (const struct linux_dirent64 *) (pfd->buf + pfd->next);
    return 1;
}

static gf_dirent_t *
dir_take_locked (struct posix_fd *pfd, const struct linux_dirent64 *from)
{
    gf_dirent_t *entry = dirent_new (from->d_name, strlen (from->d_name));

    entry->d_ino = from->d_ino;
    entry->d_off = from->d_off;
    entry->d_type = from->d_type;
    pfd->next += from->d_reclen;
    pfd->at = from->d_off;
    return entry;
}

/* Returns the number of entries, or a negative errno if there are none. */
static int
dir_read_locked (const struct posix_use *use, size_t size, off_t offset, size_t each,
                 gf_dirent_t **ret_entries)
{
    const struct linux_dirent64 *entry = NULL;
    size_t room = 0, need;
    int n = 0, r = dir_go_locked (use, offset);

    while (r >= 0 && (r = dir_peek_locked (use, &entry)) > 0) {
        need = each + ((strlen (entry->d_name) + 7) & ~(size_t) 7);
        if (n > 0 && room + need > size)
            break;
        room += need;
        *ret_entries = dir_take_locked (use->pfd, entry);
        ret_entries = &(*ret_entries)->next;
        n++;
    }
    return n == 0 && r < 0 ? r : n;
}

static int
dir_read (const struct posix_use *use, size_t size, off_t offset, size_t each,
          gf_dirent_t **ret_entries)
{
    int r;

    pthread_mutex_lock (&use->pfd->lock);
    r = dir_read_locked (use, size, offset, each, ret_entries);
    pthread_mutex_unlock (&use->pfd->lock);
    return r;
}

/* getdents(2) gives numbers of the listed directory's file system. For a name on which something is
 * mounted that is the covered directory's; readdirp replaces it by the number in the attributes. */
static void
dir_number (xlator_t *this, const fd_t *fd, gf_dirent_t *entries)
{
    const struct posix_inode *pi = posix_inode_get (this, fd->inode);

    if (!pi || posix_number_is_own (posix_priv (this), pi->fs))
        return;
    for (; entries; entries = entries->next)
        entries->d_ino = posix_number_of (this, pi->fs, entries->d_ino);
}

void
posix_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
               dict_t *xdata)
{
    posix_use_t use = { 0 };
    gf_dirent_t *entries = NULL;
    int r = posix_use_begin (this, fd, &use);

    if (r == 0)
        r = dir_read (&use, size, offset, DIR_ENTRY_SIZE, &entries);
    dir_number (this, fd, entries);
    posix_use_end (&use);
    STACK_UNWIND (readdir, frame, POSIX_RET (r), entries, NULL);
    dirents_free (entries);
}

/* Finds the inode that the table knows by this name, if the name still stands for it. Saves opening
 * it. */
static bool
dir_known (xlator_t *this, inode_t *dir, int dirfd, gf_dirent_t *entry)
{
    g_autoptr (inode_t) inode = inode_grep (dir, entry->d_name);
    struct posix_inode *pi = posix_inode_get (this, inode);
    struct iatt buf;
    bool known;

    if (!pi || !posix_cache_pin (pi))
        return false;
    known = posix_is_named (this, pi, dirfd, entry->d_name, &buf);
    if (known) {
        entry->d_stat = buf;
        entry->inode = g_steal_pointer (&inode);
    }
    posix_cache_unpin (pi);
    return known;
}

/* The descriptor is not cached: a caller that lists a directory rarely opens all its entries. */
static void
dir_look (xlator_t *this, int dirfd, struct itable *table, gf_dirent_t *entry)
{
    struct posix_found found = { 0 };
    struct posix_ident ident;
    int fd = posix_open_name (this, dirfd, entry->d_name);

    if (fd < 0)
        return;
    if (posix_identify (this, fd, &ident, &found.buf) == 0
        && posix_adopt_closed (this, table, NULL, fd, &ident, &found) == 0) {
        entry->d_stat = found.buf;
        entry->inode = g_steal_pointer (&found.inode);
    }
    close (fd);
    posix_found_clear (&found);
}

static void
dir_attributes (xlator_t *this, inode_t *dir, int dirfd, gf_dirent_t *entry)
{
    if (!dir_known (this, dir, dirfd, entry))
        dir_look (this, dirfd, dir->table, entry);
    if (entry->inode)
        entry->d_ino = entry->d_stat.ia_ino;
}

void
posix_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                dict_t *xdata)
{
    posix_use_t use = { 0 };
    gf_dirent_t *entries = NULL;
    int r = posix_use_begin (this, fd, &use);

    if (r == 0)
        r = dir_read (&use, size, offset, DIR_ENTRY_PLUS_SIZE, &entries);
    dir_number (this, fd, entries);
    /* A caller that may list a directory but not search it gets names alone, as from the system. */
    if (r > 0 && posix_act_as (posix_priv (this), frame) == 0)
        for (gf_dirent_t *entry = entries; entry; entry = entry->next)
            if (!name_is_dots (entry->d_name))
                dir_attributes (this, fd->inode, use.fd, entry);
    posix_use_end (&use);
    STACK_UNWIND (readdirp, frame, POSIX_RET (r), entries, NULL);
    dirents_free (entries);
}

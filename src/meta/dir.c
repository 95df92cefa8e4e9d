/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories of .meta. An open directory lists the entries that existed at its open. */
#include "meta/internal.h"

#include <dirent.h>
#include <unistd.h>

void
meta_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    const struct meta_inode *mi = meta_inode_get (this, loc->inode);
    int error = meta_access_error (frame, mi, R_OK);
    struct meta_open *open;

    if (!error && mi->node.kind->type != IA_IFDIR)
        error = ENOTDIR;
    if (error) {
        STACK_UNWIND (opendir, frame, -1, error, NULL, NULL);
        return;
    }
    open = g_new0 (struct meta_open, 1);
    open->entries = meta_entries (meta_of (this), &mi->node);
    fd_ctx_set (fd, this, open);
    STACK_UNWIND (opendir, frame, 0, 0, fd, NULL);
}

static uint32_t
dirent_type (ia_type_t type)
{
    return type == IA_IFDIR ? DT_DIR : type == IA_IFLNK ? DT_LNK : DT_REG;
}

static gf_dirent_t *
dirent_plain (const struct meta_inode *dir, const struct meta_entry *entry)
{
    const gfid_t gfid = meta_child_gfid (&dir->gfid, entry->name);
    gf_dirent_t *dirent = dirent_new (entry->name, strlen (entry->name));

    dirent->d_ino = meta_ino (&gfid);
    dirent->d_type = dirent_type (entry->node.kind->type);
    return dirent;
}

/* Fills in the attributes that a lookup would answer. */
static void
dirent_fill (xlator_t *this, inode_t *dir, const struct meta_entry *entry, gf_dirent_t *dirent)
{
    dirent->inode = inode_grep (dir, entry->name);
    if (!dirent->inode)
        dirent->inode = inode_new (dir->table);
    meta_inode_become (this, dirent->inode, meta_inode_get (this, dir), entry);
    dirent->d_stat = meta_iatt (this, meta_inode_get (this, dirent->inode));
}

/* The n-th entry of a directory, . and .. first; NULL at the end. */
static gf_dirent_t *
dirent_nth (xlator_t *this, fd_t *fd, size_t n, bool plus)
{
    const struct meta_inode *dir = meta_inode_get (this, fd->inode);
    const GPtrArray *entries = meta_open_get (this, fd)->entries;
    gf_dirent_t *dirent;

    if (n < 2) {
        dirent = dirent_new ("..", n + 1);
        dirent->d_ino = meta_ino (&dir->gfid);
        dirent->d_type = DT_DIR;
    } else if (n - 2 < entries->len) {
        dirent = dirent_plain (dir, entries->pdata[n - 2]);
        if (plus)
            dirent_fill (this, fd->inode, entries->pdata[n - 2], dirent);
    } else {
        return NULL;
    }
    dirent->d_off = (off_t) n + 1;
    return dirent;
}

/* Approximately as many entries as fit in size bytes of the kernel's records. */
static gf_dirent_t *
list_from (xlator_t *this, fd_t *fd, size_t size, off_t offset, bool plus, int32_t *ret_count)
{
    const size_t each = plus ? 176 : 32; /* an entry without its name, rounded up */
    gf_dirent_t *first = NULL, **end = &first;
    int32_t count = 0;

    for (size_t used = 0, n = MAX (offset, 0); used < size; n++, count++) {
        gf_dirent_t *dirent = dirent_nth (this, fd, n, plus);

        if (!dirent)
            break;
        used += each + dirent->d_len;
        *end = dirent;
        end = &dirent->next;
    }
    *ret_count = count;
    return first;
}

void
meta_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
              dict_t *xdata)
{
    int32_t count;
    gf_dirent_t *entries = list_from (this, fd, size, offset, false, &count);

    STACK_UNWIND (readdir, frame, count, 0, entries, NULL);
    dirents_free (entries);
}

void
meta_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
               dict_t *xdata)
{
    int32_t count;
    gf_dirent_t *entries = list_from (this, fd, size, offset, true, &count);

    STACK_UNWIND (readdirp, frame, count, 0, entries, NULL);
    dirents_free (entries);
}

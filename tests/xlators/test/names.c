/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Storage has each name in rot-13: one to one, in every operation that carries a name, and in
 * listings. The inodes are one table, with the names that callers use. fops(7), NAMES. */
#include "xlator.h"

#include <string.h>

#define NAME_SIZE 4096 /* longer names than any file system has pass, and are refused there */

/* --- names ------------------------------------------------------------------------------------ */

static char
names_letter (char c)
{
    const char first = g_ascii_isupper (c) ? 'A' : 'a';

    return g_ascii_isalpha (c) ? (char) (first + (c - first + 13) % 26) : c;
}

/* Rot-13 is its own inverse. */
static void
names_map (char *to, const char *from, size_t size)
{
    size_t i = 0;

    for (; from[i] && i + 1 < size; i++)
        to[i] = names_letter (from[i]);
    to[i] = '\0';
}

/* A loc for the call below: it borrows everything of loc, and has a name of its own. */
struct names_loc {
    loc_t loc;
    char name[NAME_SIZE];
};

static loc_t *
names_loc (struct names_loc *below, const loc_t *loc)
{
    below->loc = *loc;
    below->loc.path = NULL;
    if (loc->name) {
        names_map (below->name, loc->name, sizeof below->name);
        below->loc.name = below->name;
    }
    return &below->loc;
}

/* --- operations that carry a name ------------------------------------------------------------- */

static void
names_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct names_loc below;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), lookup, names_loc (&below, loc), xdata);
    loc_wipe_path (&below.loc);
}

static void
names_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
             dict_t *xdata)
{
    struct names_loc below;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), mkdir, names_loc (&below, loc), mode, umask, xdata);
    loc_wipe_path (&below.loc);
}

static void
names_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev, mode_t umask,
             dict_t *xdata)
{
    struct names_loc below;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), mknod, names_loc (&below, loc), mode, rdev, umask,
                     xdata);
    loc_wipe_path (&below.loc);
}

static void
names_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
              mode_t umask, fd_t *fd, dict_t *xdata)
{
    struct names_loc below;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, names_loc (&below, loc), flags, mode, umask,
                     fd, xdata);
    loc_wipe_path (&below.loc);
}

/* The target is a text of the caller's, which the kernel resolves above: it stays as it is. */
static void
names_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc, mode_t umask,
               dict_t *xdata)
{
    struct names_loc below;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), symlink, linkpath, names_loc (&below, loc), umask,
                     xdata);
    loc_wipe_path (&below.loc);
}

static void
names_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    struct names_loc old, new;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), link, names_loc (&old, oldloc),
                     names_loc (&new, newloc), xdata);
    loc_wipe_path (&old.loc);
    loc_wipe_path (&new.loc);
}

static void
names_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
              dict_t *xdata)
{
    struct names_loc old, new;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), rename, names_loc (&old, oldloc),
                     names_loc (&new, newloc), flags, xdata);
    loc_wipe_path (&old.loc);
    loc_wipe_path (&new.loc);
}

static void
names_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    struct names_loc below;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), unlink, names_loc (&below, loc), xflag, xdata);
    loc_wipe_path (&below.loc);
}

static void
names_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    struct names_loc below;

    STACK_WIND_TAIL (frame, FIRST_CHILD (this), rmdir, names_loc (&below, loc), xflag, xdata);
    loc_wipe_path (&below.loc);
}

static void
names_entrylk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc,
               const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    char below[NAME_SIZE];

    if (basename)
        names_map (below, basename, sizeof below);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), entrylk, volume, loc, basename ? below : NULL, cmd,
                     type, xdata);
}

static void
names_fentrylk (call_frame_t *frame, xlator_t *this, const char *volume, fd_t *fd,
                const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    char below[NAME_SIZE];

    if (basename)
        names_map (below, basename, sizeof below);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), fentrylk, volume, fd, basename ? below : NULL, cmd,
                     type, xdata);
}

/* --- listings --------------------------------------------------------------------------------- */

/* The entries are lent, so a copy gets the names. */
static gf_dirent_t *
names_entries (const gf_dirent_t *entries)
{
    gf_dirent_t *copy = dirents_copy (entries);

    for (gf_dirent_t *entry = copy; entry; entry = entry->next)
        names_map (entry->d_name, entry->d_name, (size_t) entry->d_len + 1);
    return copy;
}

static readdir_cbk names_readdir_cbk;

static void
names_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
               dict_t *xdata)
{
    STACK_WIND (frame, names_readdir_cbk, FIRST_CHILD (this), readdir, fd, size, offset, xdata);
}

static void
names_readdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    gf_dirent_t *copy = names_entries (entries);

    STACK_UNWIND (readdir, frame, op_ret, op_errno, copy, xdata);
    dirents_free (copy);
}

static readdirp_cbk names_readdirp_cbk;

static void
names_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                dict_t *xdata)
{
    STACK_WIND (frame, names_readdirp_cbk, FIRST_CHILD (this), readdirp, fd, size, offset, xdata);
}

static void
names_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    gf_dirent_t *copy = names_entries (entries);

    STACK_UNWIND (readdirp, frame, op_ret, op_errno, copy, xdata);
    dirents_free (copy);
}

/* --- changes that storage reports ------------------------------------------------------------ */

static void
names_notify (xlator_t *this, enum xlator_event event, void *data)
{
    const struct invalidation *below = event == XLATOR_INVALIDATE ? data : NULL;
    char name[NAME_SIZE];

    if (below && below->name) {
        names_map (name, below->name, sizeof name);
        xlator_pass_on (this, event,
                        &(struct invalidation){ below->inode, below->what, name });
    } else {
        xlator_pass_on (this, event, data);
    }
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/names",
    .about = "storage has each name in rot-13",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_NAMES,
    .notify = names_notify,
    .fops = {
        .lookup = names_lookup,
        .mkdir = names_mkdir,
        .mknod = names_mknod,
        .create = names_create,
        .symlink = names_symlink,
        .link = names_link,
        .rename = names_rename,
        .unlink = names_unlink,
        .rmdir = names_rmdir,
        .entrylk = names_entrylk,
        .fentrylk = names_fentrylk,
        .readdir = names_readdir,
        .readdirp = names_readdirp,
    },
};

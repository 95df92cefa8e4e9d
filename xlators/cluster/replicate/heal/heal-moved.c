/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Heals a directory that was renamed while a copy was not connected. That copy still has the
 * directory under its old name, so the healer renames it there, too. The healer must not make a
 * second directory with the same gfid instead. A brick has one handle for each gfid, so it would
 * fail with EEXIST when a file is linked into the second directory under a name that is in the
 * first.
 *
 * The healer asks the brick for the path under which it has the directory. Another healer may
 * remove any directory on that path with its content, so the healer locks each name of the path. It
 * does not wait for these locks: while it holds one and waits for the next, a client that renames
 * could hold that next one and wait for the first.
 */
#include "heal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define PATH_ASKED "glusterfs.ancestry.path"
#define DEPTH_MAX 128 /* names in a path */

/* A name in the old path that the healer has locked, or has tried to lock. */
struct old_name {
    inode_t *parent; /* directory of the name, with a reference */
    struct heal_lock lock; /* entry lock on the name; lock.name is the name */
};

/* The path of a directory on one copy, and the healer's walk along it from the root. */
struct old_path {
    struct heal *heal;
    unsigned child;
    gchar **names;
    struct old_name passed[DEPTH_MAX];
    unsigned n;   /* number of names in `passed` */
    inode_t *end; /* directory that the walk has reached, with a reference */
};

/* --- the path --------------------------------------------------------------------------------- */

/* Returns the path under which a copy has a directory, to be freed with g_free; NULL: the brick
 * does not report one. */
static char *
old_path_get (struct heal *heal, unsigned child, inode_t *directory)
{
    struct getxattr_reply reply = { 0 };
    loc_t loc = { .inode = directory };
    const char *value;
    char *path = NULL;
    size_t size;

    if (sync_getxattr (heal->children[child], &loc, PATH_ASKED, NULL, &reply) >= 0) {
        value = dict_get (reply.dict, PATH_ASKED, &size);
        path = value && size > 0 && *value == '/' ? g_strndup (value, size) : NULL;
    }
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
    return path;
}

static bool
name_is_usable (const char *name)
{
    return *name && strlen (name) <= NAME_MAX && !name_is_dots (name);
}

/* Returns whether the path that a brick has reported has 1 to DEPTH_MAX names, all of them valid. A
 * hostile brick may report any path. */
static bool
names_are_usable (gchar **names)
{
    guint n = 0;

    for (; names[n]; n++)
        if (n == DEPTH_MAX || !name_is_usable (names[n]))
            return false;
    return n > 0;
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Looks `name` up in old->end on the copy, and makes the directory found there the new old->end.
 * Returns 0 or a negative errno. */
static int
old_path_look (struct old_path *old, const char *name)
{
    inode_t *fresh = inode_new (old->end->table);
    loc_t loc = { .name = name, .parent = old->end, .inode = fresh };
    struct lookup_reply reply = { 0 };
    int r = sync_lookup (old->heal->children[old->child], &loc, NULL, &reply);

    if (r >= 0 && reply.buf.ia_type != IA_IFDIR)
        r = -ENOTDIR;
    if (r >= 0) {
        inode_unref (old->end);
        old->end = inode_link (reply.inode, NULL, NULL, &reply.buf);
    }
    lookup_reply_drop (&reply);
    inode_unref (fresh);
    loc_wipe_path (&loc);
    return r < 0 ? r : 0;
}

/* Locks a name in old->end, and makes the directory of that name the new old->end. If a copy
 * doesn't have old->end, heal_lock fails with ENOENT or ESTALE. No client or healer can lock a name
 * in it then, so the walk continues without that lock. */
static int
old_path_step (struct old_path *old, const char *name)
{
    struct old_name *at = &old->passed[old->n++];
    int r;

    at->parent = inode_ref (old->end);
    at->lock = (struct heal_lock){ .inode = at->parent, .entry = true, .name = name };
    r = heal_lock (old->heal, &at->lock, false);
    return r < 0 && r != -ENOENT && r != -ESTALE ? r : old_path_look (old, name);
}

static void
old_path_leave (struct old_path *old)
{
    while (old->n > 0) {
        struct old_name *at = &old->passed[--old->n];

        heal_unlock (old->heal, &at->lock);
        inode_unref (at->parent);
    }
    inode_unref (old->end);
    g_strfreev (old->names);
}

static int
old_path_walk (struct old_path *old, const inode_t *directory)
{
    int r = 0;

    old->end = inode_ref (itable_root (directory->table));
    for (gchar **name = old->names; r >= 0 && *name; name++)
        r = old_path_step (old, *name);
    return r < 0 ? r : gfid_equal (&old->end->gfid, &directory->gfid) ? 0 : -ESTALE;
}

int
heal_move (struct heal *heal, unsigned child, inode_t *directory, loc_t *to)
{
    g_autofree char *path = old_path_get (heal, child, directory);
    struct old_path old = { .heal = heal, .child = child };
    loc_t from = { .inode = directory };
    int r;

    if (!path)
        return 0;
    old.names = g_strsplit (path + 1, "/", 0);
    if (!names_are_usable (old.names)) {
        g_strfreev (old.names);
        return 0;
    }
    r = old_path_walk (&old, directory);
    if (r >= 0) {
        from.parent = old.passed[old.n - 1].parent;
        from.name = old.passed[old.n - 1].lock.name;
        r = sync_rename (heal->children[child], &from, to, 0, NULL, NULL);
    }
    loc_wipe_path (&from);
    old_path_leave (&old);
    return r < 0 ? r : 1;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory that was renamed while a copy was away. That copy still has it under the old name, so
 * the healer renames it there too. A second directory with the same gfid would be wrong: a brick
 * has one handle for each gfid, and refuses (EEXIST) to link a file into the second one under the
 * name that the file has in the first one.
 *
 * The brick tells where it has the directory. Another healer may be removing any directory on that
 * path, with all that is in it, so each name of it is locked. A healer that holds a lock waits for
 * no other one, or it and a client that renames could wait for each other.
 */
#include "heal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define PATH_ASKED "glusterfs.ancestry.path"
#define DEPTH_MAX 128

/* One name of the path, from the root on. */
struct step {
    inode_t *parent; /* with a reference */
    struct heal_lock lock; /* of the name */
};

struct old_path {
    struct heal *heal;
    unsigned child;
    gchar **names;
    struct step steps[DEPTH_MAX];
    unsigned n;
    inode_t *end; /* what the last step has led to, with a reference */
};

/* --- asking ----------------------------------------------------------------------------------- */

/* Returns the path that a copy has of a directory; NULL: it does not tell. g_free it. */
static char *
path_ask (struct heal *heal, unsigned child, inode_t *directory)
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
    return *name && strlen (name) <= NAME_MAX && strcmp (name, ".") != 0
        && strcmp (name, "..") != 0;
}

/* Returns whether all names that the brick told can be names. */
static bool
names_are_usable (gchar **names)
{
    guint n = 0;

    for (; names[n]; n++)
        if (n == DEPTH_MAX || !name_is_usable (names[n]))
            return false;
    return n > 0;
}

/* --- walking ---------------------------------------------------------------------------------- */

/* Returns 0, and puts what the copy has under the name in place of old->end. */
static int
step_look (struct old_path *old, const char *name)
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

/* If a copy lacks the directory, heal_lock fails with ENOENT or ESTALE. No client or healer can
 * then lock a name in it, so the walk continues without that lock. */
static int
step_take (struct old_path *old, const char *name)
{
    struct step *step = &old->steps[old->n++];
    int r;

    step->parent = inode_ref (old->end);
    step->lock = (struct heal_lock){ .inode = step->parent, .entry = true, .name = name };
    r = heal_lock (old->heal, &step->lock, false);
    return r < 0 && r != -ENOENT && r != -ESTALE ? r : step_look (old, name);
}

static void
old_path_leave (struct old_path *old)
{
    while (old->n > 0) {
        struct step *step = &old->steps[--old->n];

        heal_unlock (old->heal, &step->lock);
        inode_unref (step->parent);
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
        r = step_take (old, *name);
    return r < 0 ? r : gfid_equal (&old->end->gfid, &directory->gfid) ? 0 : -ESTALE;
}

int
heal_move (struct heal *heal, unsigned child, inode_t *directory, loc_t *to)
{
    g_autofree char *path = path_ask (heal, child, directory);
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
        from.parent = old.steps[old.n - 1].parent;
        from.name = old.steps[old.n - 1].lock.name;
        r = sync_rename (heal->children[child], &from, to, 0, NULL, NULL);
    }
    loc_wipe_path (&from);
    old_path_leave (&old);
    return r < 0 ? r : 1;
}

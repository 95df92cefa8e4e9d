/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounted file systems, read from /proc/self/mountinfo: accessing a mount point itself could
 * hang. */
#include "control/control.h"
#include "core/base/name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* per path, as in the kernel */

/* --- mountinfo --- */

/* "user_id=1000" in the options of the file system, which are the last field. */
static int64_t
mounts_number_of (const char *options, const char *key)
{
    g_auto (GStrv) words = g_strsplit (options, ",", -1);

    for (char **word = words; *word; word++)
        if (g_str_has_prefix (*word, key) && (*word)[strlen (key)] == '=')
            return g_ascii_strtoll (*word + strlen (key) + 1, NULL, 10);
    return -1;
}

static bool
mount_has_option (const char *options, const char *option)
{
    g_auto (GStrv) words = g_strsplit (options, ",", -1);

    return g_strv_contains ((const char *const *) words, option);
}

/* A line is: id, parent, major:minor, root, mount point, options, optional fields, "-", type,
 * source, options. A blank in a field is \040. */
static bool
line_parse (const char *line, struct mount *ret_mount)
{
    g_auto (GStrv) fields = g_strsplit (line, " ", -1);
    char **rest = fields;
    unsigned id, parent, major, minor;
    bool shared = false;

    if (g_strv_length (fields) <= 6 || sscanf (fields[0], "%u", &id) != 1
        || sscanf (fields[1], "%u", &parent) != 1
        || sscanf (fields[2], "%u:%u", &major, &minor) != 2)
        return false;
    for (; *rest && strcmp (*rest, "-") != 0; rest++)
        shared |= g_str_has_prefix (*rest, "shared:");
    if (!rest[0] || !rest[1] || !rest[2] || !rest[3])
        return false;
    *ret_mount = (struct mount){ .id = id,
                                 .parent = parent,
                                 .major = major,
                                 .minor = minor,
                                 .path = g_strcompress (fields[4]),
                                 .type = g_strdup (rest[1]),
                                 .source = g_strcompress (rest[2]),
                                 .user_id = mounts_number_of (rest[3], "user_id"),
                                 .group_id = mounts_number_of (rest[3], "group_id"),
                                 .allow_other = mount_has_option (rest[3], "allow_other"),
                                .read_only = mount_has_option (rest[3], "ro"),
                                 .shared = shared };
    return true;
}

/* Of several mounts on one path, the last is on top. */
bool
mount_find (const char *mountinfo, const char *path, struct mount *ret_mount)
{
    g_auto (GStrv) lines = g_strsplit (mountinfo, "\n", -1);
    struct mount mount = { 0 }, next;
    bool found = false;

    for (char **line = lines; *line; line++) {
        if (!line_parse (*line, &next))
            continue;
        if (strcmp (next.path, path) != 0) {
            mount_clear (&next);
            continue;
        }
        mount_clear (&mount);
        mount = next;
        found = true;
    }
    if (found)
        *ret_mount = mount;
    return found;
}

static void
mount_free (gpointer mount)
{
    mount_clear (mount);
    g_free (mount);
}

GPtrArray *
mounts_all (const char *mountinfo)
{
    g_auto (GStrv) lines = g_strsplit (mountinfo, "\n", -1);
    GPtrArray *all = g_ptr_array_new_with_free_func (mount_free);
    struct mount next;

    for (char **line = lines; *line; line++)
        if (line_parse (*line, &next))
            g_ptr_array_add (all, g_memdup2 (&next, sizeof next));
    return all;
}

GPtrArray *
mounts_now (void)
{
    g_autofree char *mountinfo = NULL;

    g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL);
    return mounts_all (mountinfo ? mountinfo : "");
}

bool
mount_is_windlass (const struct mount *mount)
{
    return strcmp (mount->type, "fuse.windlass") == 0;
}

bool
mount_is_same (const struct mount *one, const struct mount *other)
{
    return one->major == other->major && one->minor == other->minor;
}

const struct mount *
mount_with_id (const GPtrArray *all, unsigned id)
{
    for (guint i = 0; i < all->len; i++)
        if (((const struct mount *) all->pdata[i])->id == id)
            return all->pdata[i];
    return NULL;
}

/* Does another mount on the same parent begin above this one? Then a walk enters that. */
static bool
mount_has_cover (const GPtrArray *all, const struct mount *mount)
{
    for (guint i = 0; i < all->len; i++) {
        const struct mount *other = all->pdata[i];

        if (other != mount && other->parent == mount->parent && other->id != other->parent
            && path_is_in (mount->path, other->path))
            return true;
    }
    return false;
}

/* Is something mounted on the whole of it? */
static bool
mount_has_top (const GPtrArray *all, const struct mount *mount)
{
    for (guint i = 0; i < all->len; i++) {
        const struct mount *other = all->pdata[i];

        if (other != mount && other->parent == mount->id && strcmp (other->path, mount->path) == 0)
            return true;
    }
    return false;
}

bool
mount_is_covered (const GPtrArray *all, const struct mount *mount)
{
    bool covered = mount_has_top (all, mount);

    /* The text is not trusted: the parents may form a ring. */
    for (guint i = 0; i < all->len && mount && !covered; i++) {
        covered = mount_has_cover (all, mount);
        mount = mount_with_id (all, mount->parent);
    }
    return covered;
}

void
mount_clear (struct mount *mount)
{
    g_clear_pointer (&mount->path, g_free);
    g_clear_pointer (&mount->type, g_free);
    g_clear_pointer (&mount->source, g_free);
}

/* --- the path of a mount point --- */

static bool
is_mount_point (const char *mountinfo, const char *path, bool windlass)
{
    struct mount mount;
    bool fits;

    if (!mount_find (mountinfo, path, &mount))
        return false;
    fits = !windlass || mount_is_windlass (&mount);
    mount_clear (&mount);
    return fits;
}

static char *
path_join (const char *dir, const char *name)
{
    return g_strconcat (dir, g_str_has_suffix (dir, "/") || !*name ? "" : "/", name, NULL);
}

/* State of a walk along a path. */
struct walk {
    char *at;   /* the real path so far */
    char *rest; /* the rest of the path, with any number of slashes */
    int links;
};

/* The result if no name of the rest is a symbolic link. */
static char *
walk_whole (const struct walk *walk)
{
    char *whole = path_join (walk->at, walk->rest + strspn (walk->rest, "/"));
    size_t size = strlen (whole);

    while (size > 1 && whole[size - 1] == '/')
        whole[--size] = '\0';
    return whole;
}

static void
walk_go (struct walk *walk, char *at, char *rest)
{
    g_free (walk->at);
    g_free (walk->rest);
    walk->at = at;
    walk->rest = rest;
}

/* Walks one name. readlink asks the file system about that name alone. */
static void
walk_step (struct walk *walk)
{
    const char *begin = walk->rest + strspn (walk->rest, "/");
    const char *end = begin + strcspn (begin, "/");
    g_autofree char *name = g_strndup (begin, end - begin);
    g_autofree char *next = path_join (walk->at, name), *link = NULL;

    if (strcmp (name, ".") == 0) {
        walk_go (walk, g_strdup (walk->at), g_strdup (end));
    } else if (strcmp (name, "..") == 0) {
        walk_go (walk, g_path_get_dirname (walk->at), g_strdup (end));
    } else if ((link = g_file_read_link (next, NULL))) {
        walk_go (walk, g_strdup (*link == '/' ? "/" : walk->at), path_join (link, end));
        walk->links++;
    } else {
        walk_go (walk, g_steal_pointer (&next), g_strdup (end));
    }
}

/* The Windlass mount that path is in, or is: found by the text of the path, which is real. NULL if
 * another file system has it. */
static char *
mount_holding (const char *mountinfo, const char *path)
{
    g_autofree char *at = g_strdup (path);

    while (!is_mount_point (mountinfo, at, false) && strcmp (at, "/") != 0) {
        char *up = g_path_get_dirname (at);

        g_free (at);
        at = up;
    }
    return is_mount_point (mountinfo, at, true) ? g_steal_pointer (&at) : NULL;
}

/* The walk begins in the current folder: its path is real, and a walk to it from above could ask a
 * mount that hangs. glib's function would access ".". */
static void
walk_begin (struct walk *ret_walk, const char *path, char **ret_error)
{
    char *here = *path == '/' ? NULL : getcwd (NULL, 0);

    *ret_error = *path == '/' || here
                   ? NULL
                   : g_strdup_printf ("'%s': the current folder is not known: %s", path,
                                      g_strerror (errno));
    *ret_walk = (struct walk){ .at = g_strdup (here ? here : "/"), .rest = g_strdup (path) };
    free (here);
}

static void
walk_clear (struct walk *walk)
{
    g_free (walk->at);
    g_free (walk->rest);
}

/* Does the next step ask no file system? So it is with "." and "..", and at the end. */
static bool
walk_is_textual (const struct walk *walk)
{
    const char *name = walk->rest + strspn (walk->rest, "/");
    const size_t size = strcspn (name, "/");

    return size <= 2 && strspn (name, ".") >= size;
}

/* Returns the Windlass mount that the next step would ask, or in which the walk has ended; or
 * NULL. */
static char *
walk_entered (const struct walk *walk, const char *mountinfo)
{
    const bool over = walk->rest[strspn (walk->rest, "/")] == '\0';

    return over || !walk_is_textual (walk) ? mount_holding (mountinfo, walk->at) : NULL;
}

/* Returns the result of the walk, or NULL and *ret_error; both NULL: go on. */
static char *
walk_end (const struct walk *walk, const char *mountinfo, char **ret_error)
{
    g_autofree char *whole = walk_whole (walk), *entered = NULL;

    if (is_mount_point (mountinfo, whole, false))
        return g_steal_pointer (&whole);
    entered = walk_entered (walk, mountinfo);
    if (entered)
        *ret_error = g_strdup_printf ("'%s' is not a mount point, but in one: '%s'", whole,
                                      entered);
    else if (walk->rest[strspn (walk->rest, "/")] == '\0')
        return g_steal_pointer (&whole);
    else if (walk->links > LINKS_MAX)
        *ret_error = g_strdup_printf ("'%s': too many symbolic links on the way", whole);
    return NULL;
}

char *
mount_path (const char *mountinfo, const char *path, char **ret_error)
{
    struct walk walk;
    char *end = NULL;

    walk_begin (&walk, path, ret_error);
    while (!end && !*ret_error) {
        end = walk_end (&walk, mountinfo, ret_error);
        if (!end && !*ret_error)
            walk_step (&walk);
    }
    walk_clear (&walk);
    return end;
}

char *
mount_around (const char *path, char **ret_rest, char **ret_error)
{
    g_autofree char *mountinfo = NULL;
    struct walk walk;
    char *entered = NULL;
    bool over = false;

    walk_begin (&walk, path, ret_error);
    if (!*ret_error && !g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        *ret_error = g_strdup_printf ("'%s': /proc/self/mountinfo can't be read", path);
    while (!*ret_error && !entered && !over) {
        entered = walk_entered (&walk, mountinfo);
        over = walk.rest[strspn (walk.rest, "/")] == '\0' || walk.links > LINKS_MAX;
        if (!entered && !over)
            walk_step (&walk);
    }
    if (!entered && !*ret_error)
        *ret_error = g_strdup_printf ("'%s' is not in a Windlass mount", path);
    *ret_rest = entered ? path_join (walk.at + strlen (entered), walk.rest) : NULL;
    walk_clear (&walk);
    return entered;
}

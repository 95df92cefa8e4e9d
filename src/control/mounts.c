/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounted file systems, read from /proc/self/mountinfo: accessing a mount point itself could
 * hang. */
#include "control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* per path, as in the kernel */

/* --- mountinfo --- */

/* "user_id=1000" in the options of the file system, which are the last field. */
static int64_t
user_id_of (const char *options)
{
    g_auto (GStrv) words = g_strsplit (options, ",", -1);

    for (char **word = words; *word; word++)
        if (g_str_has_prefix (*word, "user_id="))
            return g_ascii_strtoll (*word + strlen ("user_id="), NULL, 10);
    return -1;
}

/* A line is: id, parent, major:minor, root, mount point, options, optional fields, "-", type,
 * source, options. A blank in a field is \040. */
static bool
line_parse (const char *line, const char *path, struct mount *ret_mount)
{
    g_auto (GStrv) fields = g_strsplit (line, " ", -1);
    g_autofree char *where = g_strv_length (fields) > 6 ? g_strcompress (fields[4]) : NULL;
    char **rest = fields;
    unsigned major, minor;

    if (!where || strcmp (where, path) != 0 || sscanf (fields[2], "%u:%u", &major, &minor) != 2)
        return false;
    while (*rest && strcmp (*rest, "-") != 0)
        rest++;
    if (!rest[0] || !rest[1] || !rest[2] || !rest[3])
        return false;
    *ret_mount = (struct mount){ .major = major,
                                 .minor = minor,
                                 .type = g_strdup (rest[1]),
                                 .source = g_strcompress (rest[2]),
                                 .user_id = user_id_of (rest[3]) };
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
        if (!line_parse (*line, path, &next))
            continue;
        mount_clear (&mount);
        mount = next;
        found = true;
    }
    if (found)
        *ret_mount = mount;
    return found;
}

void
mount_clear (struct mount *mount)
{
    g_clear_pointer (&mount->type, g_free);
    g_clear_pointer (&mount->source, g_free);
}

/* --- the path of a mount point --- */

static bool
is_mount_point (const char *mountinfo, const char *path, const char *type)
{
    struct mount mount;
    bool fits;

    if (!mount_find (mountinfo, path, &mount))
        return false;
    fits = !type || strcmp (mount.type, type) == 0;
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

/* Returns the result of the walk, or NULL and *ret_error; both NULL: go on. Before each step,
 * checks that it would not enter a Windlass mount. */
static char *
walk_end (const struct walk *walk, const char *mountinfo, char **ret_error)
{
    g_autofree char *whole = walk_whole (walk);

    if (walk->rest[strspn (walk->rest, "/")] == '\0' || is_mount_point (mountinfo, whole, NULL))
        return g_steal_pointer (&whole);
    if (is_mount_point (mountinfo, walk->at, "fuse.windlass"))
        *ret_error = g_strdup_printf ("'%s' is not a mount point, but in one: '%s'", whole,
                                      walk->at);
    else if (walk->links > LINKS_MAX)
        *ret_error = g_strdup_printf ("'%s': too many symbolic links on the way", whole);
    return NULL;
}

char *
mount_path (const char *mountinfo, const char *path, char **ret_error)
{
    struct walk walk = { .at = g_strdup ("/") };
    char *here = *path == '/' ? NULL : getcwd (NULL, 0); /* glib's function would access "." */
    char *end = NULL;

    *ret_error = NULL;
    if (*path != '/' && !here)
        *ret_error = g_strdup_printf ("'%s': the current folder is not known: %s", path,
                                      g_strerror (errno));
    walk.rest = here ? g_strconcat (here, "/", path, NULL) : g_strdup (path);
    free (here);
    while (!end && !*ret_error) {
        end = walk_end (&walk, mountinfo, ret_error);
        if (!end && !*ret_error)
            walk_step (&walk);
    }
    g_free (walk.at);
    g_free (walk.rest);
    return end;
}

/* Returns true if the walk has reached a Windlass mount. */
static bool
walk_entered (const struct walk *walk, const char *mountinfo)
{
    return is_mount_point (mountinfo, walk->at, "fuse.windlass");
}

char *
mount_around (const char *path, char **ret_rest, char **ret_error)
{
    g_autofree char *mountinfo = NULL;
    struct walk walk = { .at = g_strdup ("/") };
    char *here = *path == '/' ? NULL : getcwd (NULL, 0);
    bool entered = false, over = false;

    *ret_error = NULL;
    if ((*path != '/' && !here)
        || !g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        *ret_error = g_strdup_printf (
            "'%s': the current folder, or /proc/self/mountinfo, can't be had", path);
    walk.rest = here ? g_strconcat (here, "/", path, NULL) : g_strdup (path);
    free (here);
    while (!*ret_error && !entered && !over) {
        entered = walk_entered (&walk, mountinfo);
        over = walk.rest[strspn (walk.rest, "/")] == '\0' || walk.links > LINKS_MAX;
        if (!entered && !over)
            walk_step (&walk);
    }
    if (!entered && !*ret_error)
        *ret_error = g_strdup_printf ("'%s' is not in a Windlass mount", path);
    *ret_rest = g_steal_pointer (&walk.rest);
    if (!entered)
        g_clear_pointer (&walk.at, g_free);
    return walk.at;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Views: mounts of this user's daemons in other mount namespaces, as `windlass run` makes them. The
 * run folder has their sockets, whose names are device numbers; the daemon at a socket is known by
 * the kernel, and /proc shows its mounts.
 */
#include "control/control.h"

#include "core/base/rundir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
view_free (gpointer mount)
{
    mount_clear (mount);
    g_free (mount);
}

static const struct mount *
view_among (const GPtrArray *mounts, const struct mount *wanted)
{
    for (guint i = 0; i < mounts->len; i++)
        if (mount_is_same (mounts->pdata[i], wanted))
            return mounts->pdata[i];
    return NULL;
}

/* Adds the mount of a socket, if this process doesn't see it. */
static void
views_add (GPtrArray *views, const GPtrArray *seen, const char *socket)
{
    struct mount wanted = { .user_id = geteuid () }, *found = NULL;
    g_autofree char *path = NULL, *mountinfo = NULL;
    g_autoptr (GPtrArray) theirs = NULL;
    pid_t pid;
    char end;

    if (sscanf (socket, "%u:%u.soc%c", &wanted.major, &wanted.minor, &end) != 3 || end != 'k'
        || view_among (seen, &wanted) || view_among (views, &wanted))
        return;
    pid = control_daemon_pid (&wanted);
    path = g_strdup_printf ("/proc/%d/mountinfo", (int) pid);
    if (pid <= 0 || !g_file_get_contents (path, &mountinfo, NULL, NULL))
        return;
    theirs = mounts_all (mountinfo);
    for (guint i = 0; i < theirs->len && !found; i++)
        if (mount_is_same (theirs->pdata[i], &wanted) && mount_is_windlass (theirs->pdata[i]))
            found = theirs->pdata[i];
    if (!found)
        return;
    g_ptr_array_add (views, g_memdup2 (found, sizeof *found));
    *found = (struct mount){ 0 };
}

GPtrArray *
views_all (const char *mountinfo)
{
    g_autoptr (GPtrArray) seen = mounts_all (mountinfo);
    GPtrArray *views = g_ptr_array_new_with_free_func (view_free);
    g_auto (GStrv) dirs = run_dirs (geteuid ());

    for (char **path = dirs; *path; path++) {
        const int fd = run_dir_look (*path, geteuid ());
        g_autoptr (GDir) dir = fd >= 0 ? g_dir_open (*path, 0, NULL) : NULL;
        const char *name;

        while (dir && (name = g_dir_read_name (dir)))
            views_add (views, seen, name);
        if (fd >= 0)
            close (fd);
    }
    return views;
}

int
view_find (const char *mountinfo, const char *path, struct mount *ret_mount)
{
    g_autoptr (GPtrArray) views = views_all (mountinfo);
    int n = 0;

    for (guint i = 0; i < views->len; i++) {
        struct mount *mount = views->pdata[i];

        if (strcmp (mount->path, path) != 0 || n++ > 0)
            continue;
        *ret_mount = *mount;
        *mount = (struct mount){ 0 };
    }
    if (n > 1)
        mount_clear (ret_mount); /* which leaves it empty */
    return n;
}

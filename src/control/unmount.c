/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

int
unmount_abort_file (const struct mount *mount)
{
    char path[64];

    snprintf (path, sizeof path, "/sys/fs/fuse/connections/%u/abort", mount->minor);
    return open (path, O_WRONLY | O_CLOEXEC);
}

/* For a user, whose file it is. */
static void
abort_connection (const struct mount *mount)
{
    const int fd = unmount_abort_file (mount);

    if (fd < 0 || write (fd, "1", 1) < 0)
        fprintf (stderr,
                 "windlass: warning: can't abort the connection of a daemon that was killed "
                 "(/sys/fs/fuse/connections/%u/abort): %s\n",
                 mount->minor, g_strerror (errno));
    if (fd >= 0)
        close (fd);
}

/* fusermount3 tells errors by words alone: in English, since it sets no locale. This program sets
 * one, in which strerror may have other words. */
static int
unmount_by_fusermount (const char *path, bool lazy, char **ret_text)
{
    const char *argv[] = { "fusermount3", "-u", "--", path, NULL, NULL };
    g_autofree char *said = NULL;
    int status;

    if (lazy) {
        argv[2] = "-z";
        argv[3] = "--";
        argv[4] = path;
    }
    if (!g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                       NULL, NULL, NULL, &said, &status, NULL)) {
        *ret_text = g_strdup ("the program fusermount3 can't be started");
        return -EPERM;
    }
    if (g_spawn_check_wait_status (status, NULL))
        return 0;
    *ret_text = g_strdup (g_strchomp (said));
    return strstr (said, "Device or resource busy") ? -EBUSY : -EPERM;
}

/* MNT_FORCE aborts the connection as well. */
int
unmount_path (const struct mount *mount, unsigned flags, char **ret_text)
{
    const bool force = flags & UNMOUNT_FORCE, lazy = flags & UNMOUNT_LAZY;

    if (umount2 (mount->path,
                 UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0) | (force ? MNT_FORCE : 0))
        == 0)
        return 0;
    if (errno != EPERM)
        return -errno;
    if (force)
        abort_connection (mount);
    return unmount_by_fusermount (mount->path, lazy, ret_text);
}

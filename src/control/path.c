/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The locations of sockets: the folders of core/base/rundir.h. */
#include "control/control.h"

#include "core/base/rundir.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

char *
control_path (const char *dir, const struct mount *mount)
{
    return g_strdup_printf ("%s/%u:%u.sock", dir, mount->major, mount->minor);
}

char *
control_log_link (const char *socket)
{
    return g_strdup_printf ("%.*s.log", (int) (strlen (socket) - strlen (".sock")), socket);
}

int
control_open_dir (const char *path, char **ret_error)
{
    g_autofree char *dir = g_path_get_dirname (path);
    const int fd = run_dir_open (dir, ret_error);
    int r;

    if (fd < 0 || flock (fd, LOCK_EX) == 0)
        return fd;
    r = -errno;
    close (fd);
    *ret_error = g_strdup_printf ("the folder '%s' can't be locked: %s", dir, g_strerror (-r));
    return r;
}

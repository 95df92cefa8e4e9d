/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/daemon.h"

#include "core/base/rundir.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

char *
path_log_dir (void)
{
    return geteuid () == 0 ? g_strdup (DIR_LOG)
                           : g_build_filename (g_get_user_state_dir (), "windlass", NULL);
}

char *
path_run_dir (void)
{
    return run_dir ();
}

char *
path_absolute (const char *path)
{
    return g_canonicalize_filename (path, NULL);
}

/* The log of /srv/import is srv-import.log, as in GlusterFS. */
char *
path_log (const char *mountpoint, char **ret_error)
{
    g_autofree char *dir = path_log_dir ();
    g_autofree char *name = NULL;

    while (*mountpoint == '/')
        mountpoint++;
    name = g_strdup_printf ("%s.log", *mountpoint ? mountpoint : "root");
    g_strdelimit (name, "/", '-');
    if (g_mkdir_with_parents (dir, 0700) < 0) {
        *ret_error = g_strdup_printf ("can't make the folder '%s' for the log: %s", dir,
                                      g_strerror (errno));
        return NULL;
    }
    return g_build_filename (dir, name, NULL);
}

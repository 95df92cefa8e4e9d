/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/daemon.h"

#include "core/base/printable.h"
#include "core/base/rundir.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_SIZE 16            /* characters */
#define LOG_LARGE (16 * 1048576) /* bytes */

char *
path_log_dir (void)
{
    return geteuid () == 0 ? g_strdup (DIR_LOG) : state_dir ();
}

char *
path_absolute (const char *path)
{
    return g_canonicalize_filename (path, NULL);
}

/* The end of a long name is replaced by a hash of all of it. */
static char *
path_log_shortened (const char *name)
{
    g_autofree char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, name, -1);
    size_t size = NAME_MAX - strlen ("-.log") - HASH_SIZE;

    while ((name[size] & 0xc0) == 0x80) /* not inside a character of UTF-8 */
        size--;
    return g_strdup_printf ("%.*s-%.*s.log", (int) size, name, HASH_SIZE, hash);
}

/* The log of /srv/import is srv-import.log, as in GlusterFS. */
static char *
path_log_name (const char *mountpoint)
{
    const char *from = mountpoint + strspn (mountpoint, "/");
    g_autofree char *name = g_strdelimit (g_strdup (*from ? from : "root"), "/", '-');

    return strlen (name) + strlen (".log") <= NAME_MAX ? g_strconcat (name, ".log", NULL)
                                                       : path_log_shortened (name);
}

/* A user of a service often has no home directory; the mount has a log all the same. */
static char *
path_log_dir_instead (const char *dir, int error, char **ret_error)
{
    g_autofree char *no_run = NULL;
    char *instead = NULL;
    const int fd = run_dir_take (&instead, &no_run);

    if (fd < 0) {
        *ret_error = g_strdup_printf ("no log can be in the folder '%s': %s; -l FILE names another "
                                      "log, -l - the terminal",
                                      dir, g_strerror (error));
        return NULL;
    }
    close (fd);
    say_line (stderr,
              "windlass: notice: no log can be in the folder '%s': %s; it is in '%s' (-l FILE "
              "names another)",
              dir, g_strerror (error), instead);
    return instead;
}

/* No logrotate looks after the logs of an ordinary user. So at a mount a large one gets the name
 * FILE.1, in place of an older FILE.1. */
static void
path_set_aside (const char *path)
{
    g_autofree char *older = g_strconcat (path, ".1", NULL);
    struct stat st;

    if (geteuid () != 0 && lstat (path, &st) == 0 && S_ISREG (st.st_mode)
        && st.st_size > LOG_LARGE && rename (path, older) < 0)
        say_line (stderr, "windlass: notice: the log '%s' has %" PRIu64 " MiB; it can't get the "
                          "name '%s': %s",
                  path, (uint64_t) st.st_size >> 20, older, g_strerror (errno));
}

char *
path_log (const char *mountpoint, char **ret_error)
{
    g_autofree char *name = path_log_name (mountpoint);
    char *dir = path_log_dir (), *path;

    if (g_mkdir_with_parents (dir, 0700) < 0 || access (dir, W_OK | X_OK) < 0) {
        const int error = errno;
        char *instead = path_log_dir_instead (dir, error, ret_error);

        g_free (dir);
        dir = instead;
    }
    path = dir ? g_build_filename (dir, name, NULL) : NULL;
    if (path)
        path_set_aside (path);
    g_free (dir);
    return path;
}

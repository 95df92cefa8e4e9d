/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files named with -o. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
output_message (const struct cli_command *command, const char *path, int error)
{
    fprintf (stderr, "windlass %s: '%s' can't be written: %s\n", command->name, path,
             g_strerror (error));
    return -1;
}

/* The kernel resolves the name and judges the right to write there: its rules for directories that
 * others can write to, such as fs.protected_symlinks, have no counterpart here. *ret_made: there
 * was no file before. */
static int
open_named (const char *path, bool *ret_made)
{
    const int flags = O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC;
    const int fd = open (path, flags | O_EXCL, 0666);

    *ret_made = fd >= 0;
    return fd >= 0 || errno != EEXIST ? fd : open (path, flags, 0666);
}

/* Returns whether a rename may replace the file: another owner would lose it, and its other names
 * would keep the old content. */
static bool
is_replaceable (const struct stat *st)
{
    return st->st_uid == geteuid () && st->st_nlink == 1;
}

/* Returns a descriptor of a new file beside the open one, with its mode, or -1. The kernel's name
 * of an open file has no symbolic link in it: a link to the file stays a link. */
static int
open_beside (struct cli_output *output, int named, const struct stat *st)
{
    g_autofree char *own = g_strdup_printf ("/proc/self/fd/%d", named);
    char *name = g_file_read_link (own, NULL);
    int fd;

    if (!name)
        return -1;
    output->beside = g_strconcat (name, ".XXXXXX", NULL);
    fd = g_mkstemp_full (output->beside, O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        g_clear_pointer (&output->beside, g_free);
    else
        (void) fchmod (fd, st->st_mode & 0777); /* if that fails, it stays closed to others */
    g_free (output->path);
    output->path = name;
    return fd;
}

/* Empties a regular file that no other can replace. */
static int
open_in_place (int fd, const struct stat *st)
{
    return S_ISREG (st->st_mode) && ftruncate (fd, 0) < 0 ? -1 : fd;
}

static int
output_open (struct cli_output *output)
{
    int named = open_named (output->path, &output->made), fd = -1;
    struct stat st;

    if (named < 0 || fstat (named, &st) < 0)
        return -1;
    if (S_ISREG (st.st_mode) && is_replaceable (&st))
        fd = open_beside (output, named, &st);
    if (fd >= 0)
        close (named);
    else
        fd = open_in_place (named, &st);
    output->file = fd >= 0 ? fdopen (fd, "w") : NULL;
    return output->file ? 0 : -1;
}

int
cli_output_open (const struct cli_command *command, const char *path, struct cli_output *ret_output)
{
    struct cli_output output = { .file = stdout,
                                 .path = g_strdup (path && strcmp (path, "-") != 0 ? path : NULL) };

    if (output.path && output_open (&output) < 0) {
        output_message (command, path, errno);
        g_free (output.path);
        return -1;
    }
    *ret_output = output;
    return 0;
}

void
cli_output_drop (struct cli_output *output)
{
    if (output->path)
        fclose (output->file);
    if (output->beside)
        unlink (output->beside);
    if (output->made)
        unlink (output->path);
    g_clear_pointer (&output->beside, g_free);
    g_clear_pointer (&output->path, g_free);
}

int
cli_output_done (const struct cli_command *command, struct cli_output *output)
{
    const char *name = output->path ? output->path : "the standard output";
    int error = ferror (output->file) ? EIO : 0;

    if (fflush (output->file) != 0)
        error = errno;
    if (!error && output->beside && rename (output->beside, output->path) < 0)
        error = errno;
    if (error) {
        output_message (command, name, error);
    } else {
        g_clear_pointer (&output->beside, g_free);
        output->made = false;
    }
    cli_output_drop (output);
    return error ? -1 : 0;
}

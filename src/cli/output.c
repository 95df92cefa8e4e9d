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
say (const struct cli_command *command, const char *path, int error)
{
    fprintf (stderr, "windlass %s: '%s' can't be written: %s\n", command->name, path,
             g_strerror (error));
    return -1;
}

static mode_t
usual_mode (void)
{
    const mode_t mask = umask (0);

    umask (mask);
    return 0666 & ~mask;
}

/* A symbolic link is kept, and its target is replaced. */
static int
open_beside (struct cli_output *output)
{
    g_autofree char *real = g_canonicalize_filename (output->path, NULL), *link = NULL;
    int fd;

    if (g_file_test (real, G_FILE_TEST_IS_SYMLINK)) {
        link = realpath (real, NULL);
        if (!link)
            return -1;
    }
    g_free (output->path);
    output->path = g_strdup (link ? link : real);
    output->beside = g_strconcat (output->path, ".XXXXXX", NULL);
    fd = g_mkstemp_full (output->beside, O_WRONLY | O_CLOEXEC, usual_mode ());
    if (fd < 0)
        g_clear_pointer (&output->beside, g_free);
    else
        output->file = fdopen (fd, "w");
    return fd < 0 ? -1 : 0;
}

int
cli_output_open (const struct cli_command *command, const char *path, struct cli_output *ret_output)
{
    struct cli_output output = { .file = stdout,
                                 .path = g_strdup (path && strcmp (path, "-") != 0 ? path : NULL) };
    struct stat st;
    int error = 0;

    if (output.path && stat (output.path, &st) == 0 && !S_ISREG (st.st_mode)) {
        output.file = fopen (output.path, "we");
        error = output.file ? 0 : errno;
    } else if (output.path && open_beside (&output) < 0) {
        error = errno;
    }
    if (error) {
        say (command, path, error);
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
    if (!error)
        g_clear_pointer (&output->beside, g_free);
    else
        say (command, name, error);
    cli_output_drop (output);
    return error ? -1 : 0;
}

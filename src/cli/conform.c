/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass conform: executes the conformance kit, a program of its own (conform/). */
#include "cli/cli.h"
#include "core/base/sibling.h"
#include "folders.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The kit prints a line for each option: name, letter, value, and the sentence about it. */
static void
conform_describe (const char *program)
{
    const char *argv[] = { program, "--describe", NULL };
    g_autofree char *said = NULL;
    g_auto (GStrv) lines = NULL;

    if (!g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &said,
                       NULL, NULL, NULL))
        return;
    lines = g_strsplit (said, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto (GStrv) parts = g_strsplit (*line, "\t", 4);
        const bool whole = g_strv_length (parts) == 4;
        const GOptionEntry entries[] = {
            { whole ? parts[0] : NULL, whole ? *parts[1] : 0, 0,
              whole && *parts[2] ? G_OPTION_ARG_STRING : G_OPTION_ARG_NONE, NULL,
              whole ? parts[3] : NULL, whole ? parts[2] : NULL },
            { 0 },
        };

        cli_options_seen (entries);
    }
}

int
cli_conform (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *program = sibling_program ("windlass-conform", PKGLIBEXECDIR);

    if (cli_options_seen) {
        conform_describe (program);
        return CLI_OK;
    }
    execv (program, argv);
    fprintf (stderr,
             "windlass conform: the conformance kit '%s' can't be started: %s; it comes with the "
             "headers: install windlass-dev, or windlass-devel\n",
             program, g_strerror (errno));
    return CLI_FAILED;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass conform: executes the conformance kit, a program of its own (conform/). */
#include "cli/cli.h"
#include "core/base/sibling.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int
cli_conform (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *program = sibling_program ("windlass-conform", PKGLIBEXECDIR);

    (void) command;
    (void) argc;
    execv (program, argv);
    fprintf (stderr,
             "windlass conform: the conformance kit '%s' can't be started: %s; it comes with "
             "windlass: install windlass again\n",
             program, g_strerror (errno));
    return CLI_FAILED;
}

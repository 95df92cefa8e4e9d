/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass explain, how each translator treats a file, and windlass rules, which of their rules it
 * meets. The mount may be stuck, so a child process
 * looks the path up, which also makes it known to the daemon. If that takes too long, or fails
 * because of the mount, the daemon gets the path as the user wrote it: its translators know why.
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/path-question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 2000 /* milliseconds for the lookup */

static void
explain_ask (const char *path, const void *data, struct path_answer *answer)
{
    if (!realpath (path, answer->text))
        answer->error = errno;
}

/* Returns 0 and *ret_real (freed with g_free), -ETIMEDOUT, or the error of the lookup. */
static int
real_path (const char *path, char **ret_real)
{
    struct path_answer answer;

    if (!path_ask (explain_ask, path, NULL, PATIENCE, &answer))
        return -ETIMEDOUT;
    if (!answer.error)
        *ret_real = g_strdup (answer.text);
    return -answer.error;
}

/* Does the error tell of the path, and not of the mount? */
static bool
is_of_path (int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -ELOOP
        || error == -ENAMETOOLONG;
}

/* Adds the leading "/", removes ".", and resolves ".." textually. */
static char *
from_root (const char *rest)
{
    return g_canonicalize_filename (rest, "/");
}

/* Sends a command about a path to the daemon of its mount, after the line `first`, which may be
 * empty. */
static int
ask_about (const struct cli_command *command, const char *asked, const char *first)
{
    g_autofree char *error = NULL, *mountpoint = NULL, *rest = NULL, *real = NULL, *path = NULL;
    g_autofree char *text = NULL;
    g_autoptr (GBytes) input = NULL;
    int r;

    mountpoint = mount_around (asked, &rest, &error);
    r = mountpoint ? real_path (asked, &real) : 0;
    if (real) {
        g_clear_pointer (&mountpoint, g_free);
        g_clear_pointer (&rest, g_free);
        mountpoint = mount_around (real, &rest, &error);
    }
    if (!mountpoint || is_of_path (r)) {
        fprintf (stderr, "windlass %s: ", command->name);
        if (mountpoint)
            error = g_strdup_printf ("'%s': %s", asked, g_strerror (-r));
        cli_print_safely (stderr, error);
        return CLI_FAILED;
    }
    if (r == -ETIMEDOUT)
        fprintf (stderr, "windlass %s: the mount doesn't answer; this is what its daemon knows\n",
                 command->name);
    else if (r < 0)
        fprintf (stderr, "windlass %s: the mount answers '%s'; this is what its daemon knows\n",
                 command->name, g_strerror (-r));
    path = from_root (rest + strspn (rest, "/"));
    text = g_strconcat (first, path, NULL);
    input = g_bytes_new (text, strlen (text));
    return cli_call (command, mountpoint, NULL, command->name, input);
}

int
cli_explain (const struct cli_command *command, int argc, char **argv)
{
    gboolean all = FALSE;
    const GOptionEntry more[] = {
        { "all", 0, 0, G_OPTION_ARG_NONE, &all,
          "also options with their default, the operations of each translator, and its state for "
          "the file",
          NULL },
        { 0 },
    };

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which file?" : "one path is wanted");
    return ask_about (command, argv[1], all ? "all\n" : "");
}

int
cli_rules (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *path = NULL;

    if (!cli_parse (command, &argc, argv, NULL, NULL))
        return CLI_USAGE;
    if (argc != 2 && argc != 3)
        return cli_usage (command, "a mount point and a path in it are wanted");
    path = argc == 3 ? g_build_filename (argv[1], argv[2], NULL) : g_strdup (argv[1]);
    return ask_about (command, path, "");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass jobs: what the translators of a mount do in the background. */
#include "cli/cli.h"
#include "control/control.h"

#include <string.h>

static int
jobs_list_ask (const struct cli_command *command, const char *mountpoint, bool json)
{
    g_autoptr (GBytes) input = json ? g_bytes_new_static ("json", strlen ("json")) : NULL;

    return cli_call (command, mountpoint, NULL, "jobs", input);
}

static int
jobs_stop_ask (const struct cli_command *command, const char *mountpoint, const char *number)
{
    g_autoptr (GBytes) input = g_bytes_new (number, strlen (number));

    return cli_call (command, mountpoint, NULL, "job-stop", input);
}

int
cli_jobs (const struct cli_command *command, int argc, char **argv)
{
    static const char *const verbs[] = { "list", "stop", NULL };
    gboolean json = FALSE;
    const GOptionEntry more[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "list: print JSON", NULL },
        { 0 },
    };
    bool stop;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (cli_check_verb (command, verbs, "list or stop", argc < 2 ? NULL : argv[1]) != CLI_OK)
        return CLI_USAGE;
    stop = strcmp (argv[1], "stop") == 0;
    if (argc < 3)
        return cli_usage (command, "which mount point?");
    if (argc != (stop ? 4 : 3))
        return cli_usage (command, argc == 3 ? "which job? 'windlass jobs list' prints the numbers"
                                             : "too many arguments");
    if (stop && json)
        return cli_usage (command, "--json is for list");
    return stop ? jobs_stop_ask (command, argv[2], argv[3])
                : jobs_list_ask (command, argv[2], json);
}

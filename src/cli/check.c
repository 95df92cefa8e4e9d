/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass check FILE...: every problem of each file, or that it is fine. */
#include "cli/cli.h"

#include <stdio.h>

static bool
check_file (const struct cli_graph *options, const char *path)
{
    struct graph *graph = cli_load (options, path);
    const bool good = graph && !volfile_has_errors (graph->volfile);

    if (good)
        printf ("%s: ok, %u volume%s, top '%s'\n", graph->volfile->path, graph->xlators->len,
                graph->xlators->len == 1 ? "" : "s", graph->top->name);
    graph_free (graph);
    return good;
}

int
cli_check (const struct cli_command *command, int argc, char **argv)
{
    struct cli_graph options = { 0 };
    int status = CLI_OK;

    if (!cli_parse (command, &argc, argv, &options, NULL))
        return CLI_USAGE;
    if (argc < 2)
        status = cli_usage (command, "which volfile?");
    for (int i = 1; i < argc; i++)
        if (!check_file (&options, argv[i]))
            status = CLI_FAILED;
    cli_graph_clear (&options);
    return status;
}

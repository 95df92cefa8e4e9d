/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass graph FILE: the graph as it would be mounted. */
#include "cli/cli.h"

#include <stdio.h>

static int
draw_file (const struct cli_graph *options, const char *path, bool dot)
{
    struct graph *graph = cli_load (options, path);
    int status = CLI_FAILED;

    if (graph && !volfile_has_errors (graph->volfile)) {
        g_autofree char *text = dot ? graph_dot (graph) : graph_text (graph);

        fputs (text, stdout);
        status = CLI_OK;
    }
    graph_free (graph);
    return status;
}

int
cli_draw (const struct cli_command *command, int argc, char **argv)
{
    gboolean dot = FALSE;
    const GOptionEntry more[] = {
        { "dot", 0, 0, G_OPTION_ARG_NONE, &dot, "for graphviz: windlass graph --dot FILE | dot -Tsvg", NULL },
        { 0 },
    };
    struct cli_graph options = { 0 };
    int status = CLI_USAGE;

    if (!cli_parse (command, &argc, argv, &options, more))
        return CLI_USAGE;
    if (argc == 2)
        status = draw_file (&options, argv[1], dot);
    else
        fprintf (stderr,
                 "windlass graph: one volfile is wanted, got %d; usage: windlass graph [--dot] FILE\n",
                 argc - 1);
    cli_graph_clear (&options);
    return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line of a subcommand: options for graphs, its own options, and the graph that it
 * names. */
#include "cli/cli.h"
#include "core/base/arguments.h"
#include "core/base/suggest.h"

#include <stdio.h>
#include <string.h>

#define INODE_LIMIT 1024 /* for graphs that never get a request */

#define GRAPH_ROWS 4

void (*cli_options_seen) (const GOptionEntry *entries);

/* The options for graphs, which set the members of graph. */
static void
arguments_of_graph (struct cli_graph *graph, GOptionEntry ret_rows[GRAPH_ROWS])
{
    const GOptionEntry rows[GRAPH_ROWS] = {
        { "xlator-dir", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &graph->xlator_dirs,
          "look for translators in this directory first", "DIR" },
        { "volume-name", 0, 0, G_OPTION_ARG_STRING, &graph->volume_name,
          "the volume at the top of the graph", "VOLUME" },
        { "xlator-option", 0, 0, G_OPTION_ARG_STRING_ARRAY, &graph->options,
          "set an option of a volume", "VOLUME.KEY=VALUE" },
        { 0 },
    };

    memcpy (ret_rows, rows, sizeof rows);
}

const char *
cli_first_word (char *const *argv, const GOptionEntry *more)
{
    struct cli_graph graph;
    GOptionEntry rows[GRAPH_ROWS];

    arguments_of_graph (&graph, rows);
    for (argv++; *argv && **argv == '-'; argv++)
        if ((arguments_takes_next (rows, *argv) || arguments_takes_next (more, *argv)) && argv[1])
            argv++;
    return *argv;
}

bool
cli_parse (const struct cli_command *command, int *argc, char **argv, struct cli_graph *ret_graph,
           const GOptionEntry *more)
{
    struct cli_graph graph = { 0 };
    GOptionEntry entries[GRAPH_ROWS];
    g_autoptr (GOptionContext) context = g_option_context_new (command->arguments);
    g_autoptr (GError) error = NULL;
    g_autofree char *name = g_strdup_printf ("windlass %s", command->name), *text = NULL;
    g_autofree char **words = g_memdup2 (argv, (*argc + 1) * sizeof *argv); /* argv loses some */

    arguments_of_graph (&graph, entries);
    if (cli_options_seen) {
        cli_options_seen (ret_graph ? entries : NULL);
        cli_options_seen (more);
        return false;
    }
    text = ret_graph ? arguments_needless_value (entries, argv) : NULL;
    if (!text && more)
        text = arguments_needless_value (more, argv);
    if (text) {
        fprintf (stderr, "%s: %s; see '%s --help'\n", name, text, name);
        return false;
    }
    g_set_prgname (name); /* for the usage message */
    g_option_context_set_summary (context, command->about);
    if (ret_graph)
        g_option_context_add_main_entries (context, entries, NULL);
    if (more)
        g_option_context_add_main_entries (context, more, NULL);
    if (!g_option_context_parse (context, argc, &argv, &error)) {
        g_autoptr (GPtrArray) names = g_ptr_array_new ();
        g_autofree char *suggestion = NULL;

        suggest_add_options (names, ret_graph ? entries : NULL);
        suggest_add_options (names, more);
        suggestion = suggest_option (error, names);
        fprintf (stderr, "%s: %s%s%s see '%s --help'\n", name, error->message, suggestion,
                 *suggestion ? "" : ";", name);
        cli_graph_clear (&graph);
        return false;
    }
    if (module_check_dirs ((const char *const *) graph.xlator_dirs, &text) < 0) {
        fprintf (stderr, "%s: %s\n", name, text);
        cli_graph_clear (&graph);
        return false;
    }
    for (char **option = graph.options; option && *option; option++)
        arguments_hide (words, *option); /* it may be a password */
    if (ret_graph)
        *ret_graph = graph;
    return true;
}

void
cli_graph_clear (struct cli_graph *graph)
{
    g_clear_pointer (&graph->xlator_dirs, g_strfreev);
    g_clear_pointer (&graph->options, g_strfreev);
    g_clear_pointer (&graph->volume_name, g_free);
}

struct graph *
cli_load (const struct cli_graph *options, const char *path)
{
    const struct graph_settings settings = {
        .volume_name = options->volume_name,
        .options = (const char *const *) options->options,
        .xlator_dirs = (const char *const *) options->xlator_dirs,
        .inode_limit = INODE_LIMIT,
    };
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (path, &error);
    struct graph *graph;

    if (!volfile) {
        fprintf (stderr, "%s: %s\n", g_get_prgname (), error);
        return NULL;
    }
    graph = graph_load (volfile, &settings);
    volfile_print_problems (volfile);
    return graph;
}

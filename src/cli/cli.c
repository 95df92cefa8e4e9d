/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which subcommands there are, and what they share. */
#include "cli/cli.h"
#include "core/suggest.h"

#include <stdio.h>
#include <string.h>

#define INODE_LIMIT 1024 /* of graphs that never see a request */

const struct cli_command cli_commands[] = {
    { "check", "FILE...", "check volfiles without mounting them", cli_check },
    { "conform", "VOLFILE", "compare a graph with a bare directory", cli_conform },
    { "counts", "MOUNTPOINT", "how many requests, inodes, open files, threads a mount has, and its process", cli_tell_daemon },
    { "errors", "MOUNTPOINT [--json|--clear|--record WHICH]", "what failed last on a mount, which translator said so first, and what others made of it", cli_errors },
    { "explain", "PATH", "what each translator of a mount does with a file", cli_explain },
    { "fault", "MOUNTPOINT FILE|--clear|--show|--release [NAME]", "make operations of a mount fail, as rules say", cli_fault },
    { "graph", "FILE|MOUNTPOINT", "print the graph of a volfile or a mount, as text or as a picture", cli_draw },
    { "help", "[TYPE]", "list the translators, or tell about one and its options", cli_help },
    { "inflight", "MOUNTPOINT [--older TIME] [--json]", "requests of a mount without an answer, where they are and what they wait for", cli_inflight },
    { "power-cut", "MOUNTPOINT", "lose what a mount didn't sync", cli_power_cut },
    { "reload", "MOUNTPOINT", "take over changed options from the volfile", cli_tell_daemon },
    { "stats", "MOUNTPOINT [--json|--on|--off|--histogram [TRANSLATOR[.FOP]]]",
      "what each translator was asked, how long it took and what failed", cli_stats },
    { "tell", "MOUNTPOINT [TARGET COMMAND [FILE]]", "say something to a mount's daemon, or to a translator", cli_tell },
    { "timeline", "start|stop|cat|clear MOUNTPOINT", "record whole requests across threads, for Perfetto or as a tree", cli_timeline },
    { "top", "MOUNTPOINT", "watch what keeps a mount busy: translators, operations, paths, processes", cli_top },
    { "trace", "start|stop|cat MOUNTPOINT", "see which functions a mount's daemon runs, and how long each takes", cli_trace },
    { NULL, NULL, NULL, NULL },
};

int
cli_main (int argc, char **argv, bool *ret_handled)
{
    *ret_handled = false;
    for (const struct cli_command *command = cli_commands; argc > 1 && command->name; command++) {
        if (strcmp (argv[1], command->name) == 0) {
            *ret_handled = true;
            return command->run (command, argc - 1, argv + 1);
        }
    }
    return CLI_OK;
}

/* --- types without a module ----------------------------------------------------------------- */

/* Filled by main before it calls cli_main, and never after. */
static struct cli_type types[8];
static size_t types_used;

void
cli_add_type (const char *type, const char *about, const struct xlator_option *options)
{
    g_assert (types_used < G_N_ELEMENTS (types));
    types[types_used++] = (struct cli_type){ type, about, options };
}

const struct cli_type *
cli_type_find (const char *type)
{
    for (size_t i = 0; i < types_used; i++)
        if (strcmp (types[i].type, type) == 0)
            return &types[i];
    return NULL;
}

void
cli_types_foreach (void (*fn) (const struct cli_type *type, void *data), void *data)
{
    for (size_t i = 0; i < types_used; i++)
        fn (&types[i], data);
}

/* --- options -------------------------------------------------------------------------------- */

bool
cli_parse (const struct cli_command *command, int *argc, char **argv, struct cli_graph *ret_graph,
           const GOptionEntry *more)
{
    struct cli_graph graph = { 0 };
    const GOptionEntry entries[] = {
        { "xlator-dir", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &graph.xlator_dirs,
          "look for translators here first", "DIR" },
        { "volume-name", 0, 0, G_OPTION_ARG_STRING, &graph.volume_name, "the volume that is the top",
          "VOLUME" },
        { "xlator-option", 0, 0, G_OPTION_ARG_STRING_ARRAY, &graph.options, "set an option of a volume",
          "VOLUME.KEY=VALUE" },
        { 0 },
    };
    g_autoptr (GOptionContext) context = g_option_context_new (command->arguments);
    g_autoptr (GError) error = NULL;
    g_autofree char *name = g_strdup_printf ("windlass %s", command->name), *text = NULL;

    g_set_prgname (name); /* for the usage */
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
        fprintf (stderr, "%s: %s%s%s see '%s --help'\n", name, error->message, suggestion, *suggestion ? "" : ";", name);
        cli_graph_clear (&graph);
        return false;
    }
    if (module_check_dirs ((const char *const *) graph.xlator_dirs, &text) < 0) {
        fprintf (stderr, "%s: %s\n", name, text);
        cli_graph_clear (&graph);
        return false;
    }
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
        fprintf (stderr, "windlass: %s\n", error);
        return NULL;
    }
    graph = graph_load (volfile, &settings);
    volfile_print_problems (volfile);
    return graph;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass check FILE...: reports every problem of each file, or that it is fine. */
#include "cli/cli.h"
#include "core/base/printable.h"

#include <stdio.h>
#include <string.h>

/* Problems of this machine, not of the volfile, which may be meant for another machine. */
static void
warn_of_roots (const struct graph *graph, const xlator_t *xl)
{
    for (guint i = 0; xl->settings && i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];
        g_autofree char *place = NULL;

        if (!setting->option->root || !setting->text
            || g_file_test (setting->text, G_FILE_TEST_IS_DIR))
            continue;
        place = setting->by == SET_BY_VOLFILE
                    ? g_strdup_printf ("%s:%d:%d", graph->volfile->path, setting->line,
                                       setting->column)
                    : g_strdup ("command line");
        say_line (stderr,
                  "%s: warning: volume '%s': option '%s' is '%s', which %s here; to mount "
                  "it, it must be a directory",
                  place, xl->name, setting->option->key[0], setting->text,
                  g_file_test (setting->text, G_FILE_TEST_EXISTS) ? "is not a directory"
                                                                  : "is missing");
    }
}

/* What a mount of the volfile needs besides it. */
static void
warn_of_decider (const struct graph *graph, const xlator_t *xl)
{
    say_line (stderr,
              "%s:%d:%d: warning: volume '%s' (%s) decides about rights only if the volfile is "
              "mounted with acl=translator; without it the kernel decides first",
              graph->volfile->path, xl->line, xl->column, xl->name, xl->type);
}

/* Problems that refuse nothing. */
static void
warn_of_volume (const struct graph *graph, const xlator_t *xl)
{
    warn_of_roots (graph, xl);
    if (strcmp (xl->type, "system/posix-acl") == 0)
        warn_of_decider (graph, xl);
}

static bool
check_file (const struct cli_graph *options, const char *path)
{
    struct graph *graph = cli_load (options, path);
    const bool good = graph && !volfile_has_errors (graph->volfile);

    for (guint i = 0; good && i < graph->xlators->len; i++)
        warn_of_volume (graph, graph->xlators->pdata[i]);
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

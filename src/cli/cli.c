/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of subcommands, and their shared functions. */
#include "cli/cli.h"

#include <string.h>

const struct cli_command cli_commands[] = {
    { "check", "FILE...", "check volfiles without mounting them", cli_check },
    { "conform", "VOLFILE", "compare a graph with a bare directory", cli_conform },
    { "counts", "MOUNTPOINT",
      "how many requests, inodes, open files, threads a mount has, and its process",
      cli_tell_daemon },
    { "errors", "MOUNTPOINT [--json|--clear|--record WHICH]",
      "what failed last on a mount, which translator said so first, and what others made of it",
      cli_errors },
    { "explain", "PATH", "what each translator of a mount does with a file", cli_explain },
    { "fault", "MOUNTPOINT FILE|--clear|--show|--release [NAME]",
      "make operations of a mount fail, as rules say", cli_fault },
    { "graph", "FILE|MOUNTPOINT",
      "print the graph of a volfile or a mount, as text or as a picture", cli_draw },
    { "help", "[TYPE]", "list the translators, or tell about one and its options", cli_help },
    { "inflight", "MOUNTPOINT [--older TIME] [--json]",
      "requests of a mount without an answer, where they are and what they wait for",
      cli_inflight },
    { "power-cut", "MOUNTPOINT", "lose what a mount didn't sync", cli_power_cut },
    { "reload", "MOUNTPOINT", "take over changed options from the volfile", cli_tell_daemon },
    { "stats", "MOUNTPOINT [--json|--on|--off|--histogram [TRANSLATOR[.FOP]]]",
      "what each translator was asked, how long it took and what failed", cli_stats },
    { "tell", "MOUNTPOINT [TARGET COMMAND [FILE]]",
      "say something to a mount's daemon, or to a translator", cli_tell },
    { "timeline", "start|stop|cat|clear MOUNTPOINT",
      "record whole requests across threads, for Perfetto or as a tree", cli_timeline },
    { "top", "MOUNTPOINT",
      "watch what keeps a mount busy: translators, operations, paths, processes", cli_top },
    { "trace", "start|stop|cat MOUNTPOINT",
      "see which functions a mount's daemon runs, and how long each takes", cli_trace },
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

/* Filled in by main before it calls cli_main; constant afterwards. */
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

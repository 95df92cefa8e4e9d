/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of subcommands, and their shared functions. */
#include "cli/describe.h"

#include <string.h>

const struct cli_command cli_commands[] = {
    { "check", "VOLFILE...", "check volfiles without mounting them", cli_check },
    { "conform", "VOLFILE", "compare a graph with a bare directory", cli_conform },
    { "counts", "MOUNTPOINT",
      "print the process of a mount, and the numbers of its requests, inodes, open files and "
      "threads",
      cli_tell_daemon },
    { "doctor", "[VOLFILE|MOUNTPOINT] [--json] [--no-mount]",
      "check this machine, a volfile or a mount: what is missing, what that costs, and how to mend "
      "it",
      cli_doctor },
    { "errors", "MOUNTPOINT [--json|--clear|--record WHICH]",
      "print the last errors of a mount, the translator that reported each error first, and how "
      "other translators handled it",
      cli_errors },
    { "explain", "PATH [--all]", "print how each translator of a mount handles a file",
      cli_explain },
    { "fault", "MOUNTPOINT FILE|--clear|--show|--release [NAME]",
      "make operations of a mount fail, by rules", cli_fault },
    { "graph", "VOLFILE|MOUNTPOINT [--dot|--svg]",
      "print the graph of a volfile or a mount, as text or as a picture", cli_draw },
    { "heal", "[MOUNTPOINT] PATH",
      "bring the copies of a file or directory up to date (cluster/replicate)", cli_heal },
    { "help", "[TYPE|COMMAND|PRESET|presets] [--json]",
      "list commands and translators, or describe a translator and its options, or a command",
      cli_help },
    { "inflight", "MOUNTPOINT [--older TIME] [--json]",
      "print the unanswered requests of a mount, the translator that has each, and the reason for "
      "its wait",
      cli_inflight },
    { "jobs", "list|stop MOUNTPOINT [NUMBER] [--json]",
      "list what the translators of a mount do in the background, or stop such a job", cli_jobs },
    { "list", "[--json]", "list the mounts of this machine, with their daemons and states",
      cli_list },
    { "new", "PRESET DIR [OPTION=VALUE...] [FLAG...]",
      "write a volfile for a directory, with comments; 'windlass help presets' lists the presets",
      cli_new },
    { "power-cut", "MOUNTPOINT",
      "simulate a power failure: drop the changes of a mount that are not durable, and end the "
      "mount",
      cli_power_cut },
    { "reload", "MOUNTPOINT",
      "read the volfile of a mount again, and apply changed options", cli_tell_daemon },
    { "rules", "[MOUNTPOINT] PATH",
      "print which rules of the translators of a mount a file meets", cli_rules },
    { "run", "PRESET DIR [OPTION=VALUE...] [FLAG...] [-- COMMAND...]",
      "run a command, or a shell, that sees a directory through a preset", cli_run },
    { "statedump", "MOUNTPOINT",
      "write the state of the daemon of a mount to a file, and print the path of that file",
      cli_tell_daemon },
    { "stats", "MOUNTPOINT [--json|--on|--off|--histogram [TRANSLATOR[.FOP]]]",
      "print how many requests each translator got, how long they took and how many "
      "failed",
      cli_stats },
    { "tell", "MOUNTPOINT|--all [TARGET COMMAND [FILE]]",
      "send a command to the daemon of a mount, or to a translator", cli_tell },
    { "timeline", "start|stop|cat|clear MOUNTPOINT",
      "record complete requests across threads, and print them for Perfetto or as a "
      "tree",
      cli_timeline },
    { "top", "MOUNTPOINT",
      "watch which translators, operations, paths and processes keep a mount busy", cli_top },
    { "trace", "start|stop|cat MOUNTPOINT",
      "record which functions the daemon of a mount runs, and how long each call "
      "takes",
      cli_trace },
    { "umount", "MOUNTPOINT [--lazy|--dead]",
      "unmount, and wait until everything is written; or tell who uses the mount", cli_umount },
    { NULL, NULL, NULL, NULL },
};

const struct cli_mount *cli_mount;

/* Returns the values of --xlator-dir, with NULL at the end. */
static GPtrArray *
xlator_dirs_of (char **argv)
{
    static const char option[] = "--xlator-dir";
    GPtrArray *dirs = g_ptr_array_new ();

    for (; *argv; argv++)
        if (g_str_has_prefix (*argv, option) && (*argv)[sizeof option - 1] == '=')
            g_ptr_array_add (dirs, *argv + sizeof option);
        else if (strcmp (*argv, option) == 0 && argv[1])
            g_ptr_array_add (dirs, argv[1]);
    g_ptr_array_add (dirs, NULL);
    return dirs;
}

int
cli_main (int argc, char **argv, bool *ret_handled)
{
    const struct cli_command *command = argc > 1 ? cli_command_find (argv[1]) : NULL;
    g_autoptr (GPtrArray) dirs = xlator_dirs_of (argv);

    if (!command && argc > 1)
        command = cli_translator_find (argv[1], (const char *const *) dirs->pdata);
    *ret_handled = command != NULL;
    return command ? command->run (command, argc - 1, argv + 1) : CLI_OK;
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conformance kit's command line: windlass conform VOLFILE executes this program with its own
 * arguments. */
#include "cli/cli.h"
#include "conform/conform.h"
#include "core/time/random.h"
#include "core/time/thread.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The raw values of the command line. */
struct conform_line {
    struct cli_graph graph;
    char **daemon; /* after `--` */
    char *directory, *only, *as;
    gboolean mount, in_process, lowers, list, verbose, by_design, man;
    gint histories, steps, clients, faults;
    char *seed, *history, *allow, *commands;
    char **command_names; /* of commands; NULL: none */
    char *copy; /* of the standard input */
    struct conform_keeper *keeper; /* of copy */
};

/* --- the command line ----------------------------------------------------------------------- */

/* Words after `--` are for the daemon. */
static void
split (struct conform_line *line, int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp (argv[i], "--") != 0)
            continue;
        line->daemon = g_strdupv (argv + i + 1);
        argv[i] = NULL;
        *argc = i;
    }
}

static bool
conform_parse (struct conform_line *line, const struct cli_command *command, int *argc, char **argv)
{
    const GOptionEntry more[] = {
        { "case", 'c', 0, G_OPTION_ARG_STRING, &line->only, "run only cases with a matching name",
          "GLOB" },
        { "as", 0, 0, G_OPTION_ARG_STRING, &line->as,
          "run the cases as root or as user; by default as both", "root|user" },
        { "directory", 'd', 0, G_OPTION_ARG_FILENAME, &line->directory,
          "create scratch directories in this directory", "DIR" },
        { "list", 0, 0, G_OPTION_ARG_NONE, &line->list, "print the names of the cases", NULL },
        { "verbose", 'v', 0, G_OPTION_ARG_NONE, &line->verbose, "print a line for each case",
          NULL },
        { "mount", 0, 0, G_OPTION_ARG_NONE, &line->mount,
          "run only the cases that use a mount", NULL },
        { "in-process", 0, 0, G_OPTION_ARG_NONE, &line->in_process,
          "run only the cases in this process, without the kernel", NULL },
        { "lowers", 0, 0, G_OPTION_ARG_NONE, &line->lowers,
          "make the files of the cases in the directories that cluster/overlay only reads", NULL },
        { "histories", 0, 0, G_OPTION_ARG_INT, &line->histories,
          "number of random histories", "N" },
        { "seed", 0, 0, G_OPTION_ARG_STRING, &line->seed,
          "seed of the first history; each further history has the next number", "NUMBER" },
        { "steps", 0, 0, G_OPTION_ARG_INT, &line->steps, "number of lines of each history", "N" },
        { "clients", 0, 0, G_OPTION_ARG_INT, &line->clients,
          "number of clients of each history", "N" },
        { "faults", 0, 0, G_OPTION_ARG_INT, &line->faults,
          "number of calls that fail, of 1000 calls of storage", "N" },
        { "commands", 0, 0, G_OPTION_ARG_STRING, &line->commands,
          "commands that clients of histories give to translators", "NAME[,NAME]" },
        { "history", 0, 0, G_OPTION_ARG_FILENAME, &line->history,
          "run only the history in this file",
          "FILE" },
        { "allow", 0, 0, G_OPTION_ARG_FILENAME, &line->allow,
          "file with differences of a translator that are by design", "FILE" },
        { "by-design", 0, 0, G_OPTION_ARG_NONE, &line->by_design,
          "print the differences that are by design, and their reasons",
          NULL },
        { "man", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &line->man, "the same in roff", NULL },
        { 0 },
    };

    split (line, argc, argv);
    return cli_parse (command, argc, argv, &line->graph, more);
}

static int
conform_misuse (const char *text)
{
    fprintf (stderr, "windlass conform: %s%s see 'windlass conform --help'\n", text,
             g_str_has_suffix (text, "?") ? "" : ";");
    return CLI_USAGE;
}

/* Returns 0 if the requested users are not possible. */
static unsigned
conform_identity (const struct conform_line *line)
{
    const unsigned possible = geteuid () == 0 ? CONFORM_AS_ROOT | CONFORM_AS_USER : CONFORM_AS_USER;

    if (!line->as)
        return possible;
    if (strcmp (line->as, "root") == 0)
        return possible & CONFORM_AS_ROOT;
    return strcmp (line->as, "user") == 0 ? CONFORM_AS_USER : 0;
}

/* Returns NULL or an error text. Freed with g_free. */
static char *
number_refused (const char *option, int value, int least, int most)
{
    return value < least || value > most
             ? g_strdup_printf ("--%s must be %d to %d, got %d", option, least, most, value)
             : NULL;
}

static char *
seed_read (const char *text, uint64_t *ret_seed)
{
    char *end = NULL;

    *ret_seed = text ? g_ascii_strtoull (text, &end, 10) : random_seed () % 1000000000;
    return text && (!g_ascii_isdigit (*text) || *end)
             ? g_strdup_printf ("--seed must be a number, got '%s'", text)
             : NULL;
}

/* Returns NULL or an error text. */
static char *
commands_read (struct conform_line *line)
{
    g_autofree char *known = commands_known ();

    if (!line->commands)
        return NULL;
    line->command_names = g_strsplit (line->commands, ",", -1);
    for (char **name = line->command_names; *name; name++)
        if (!command_is_known (*name))
            return g_strdup_printf ("--commands must be among %s, got '%s'", known, *name);
    return NULL;
}

/* Parameters of histories. Returns NULL or an error text. */
static char *
histories (struct conform_line *line, struct conform_options *options)
{
    char *refused = number_refused ("histories", line->histories, 0, 1000000);

    if (!refused)
        refused = number_refused ("steps", line->steps, 1, 1000);
    if (!refused)
        refused = number_refused ("clients", line->clients, 1, 8);
    if (!refused)
        refused = number_refused ("faults", line->faults, 0, 1000);
    if (!refused)
        refused = seed_read (line->seed, &options->seed);
    if (!refused)
        refused = commands_read (line);
    options->histories = (unsigned) line->histories;
    options->steps = (unsigned) line->steps;
    options->clients = (unsigned) line->clients;
    options->faults = (unsigned) line->faults;
    options->history = line->history;
    options->lowers = line->lowers;
    options->commands = (const char *const *) line->command_names;
    return refused;
}

/* Checks the users of requests and the number of volfiles. Returns NULL or an error text. */
static char *
conform_refused_words (const struct conform_line *line, const struct conform_options *options,
                       int argc)
{
    if (!options->as && strcmp (line->as, "root") == 0)
        return g_strdup ("--as root: only root can");
    if (!options->as)
        return g_strdup_printf ("--as must be root or user, got '%s'", line->as);
    if (argc < 2 && !line->list)
        return g_strdup ("which volfile?");
    return argc > 2 ? g_strdup_printf ("one volfile is wanted, got %d", argc - 1) : NULL;
}

/* --- running -------------------------------------------------------------------------------- */

/* The daemon and the parts read it more than once. */
static bool
copy_input (struct conform_line *line)
{
    g_autoptr (GString) text = g_string_new (NULL);
    g_autoptr (GError) error = NULL;
    char part[4096];
    size_t n;
    int fd = g_file_open_tmp ("windlass-conform-XXXXXX.vol", &line->copy, &error);

    if (fd >= 0) {
        close (fd);
        line->keeper = conform_keeper_start (line->copy);
    }
    while ((n = fread (part, 1, sizeof part, stdin)) > 0)
        g_string_append_len (text, part, n);
    if (!error && g_file_set_contents (line->copy, text->str, text->len, &error))
        return true;
    fprintf (stderr, "windlass conform: %s\n", error->message);
    return false;
}

/* Runs each selected part, until one can't start: it has printed the reason, which also keeps the
 * others from starting. */
static int
conform_run (const struct conform_line *line, const struct conform_options *options)
{
    const bool all = !line->mount && !line->in_process,
               random = options->history || g_strcmp0 (options->only, "history") == 0;
    struct conform_report report;
    int r = 0;

    conform_report_init (&report, options->verbose);
    if ((all && !random) || line->in_process)
        r = conform_in_process (options, &report);
    if (r == 0 && ((all && !random) || line->mount)) /* a single history needs no mount */
        r = conform_mount (options, &report);
    if (r == 0 && all)
        r = conform_histories (options, &report);
    if (options->list) {
        g_hash_table_destroy (report.group_skipped);
        return CLI_OK;
    }
    if (report.passed + report.failed + report.skipped + report.by_design == 0 && r == 0) {
        fprintf (stderr, "windlass conform: no case matches '%s'\n",
                 options->only ? options->only : "*");
        r = -ENOENT;
    }
    return conform_report_end (&report) != 0 || r < 0 ? CLI_FAILED : CLI_OK;
}

static int
conform (struct conform_line *line, int argc, char **argv)
{
    struct conform_options options = {
        .directory = line->directory ? line->directory : g_get_tmp_dir (),
        .only = line->only,
        .as = conform_identity (line),
        .verbose = line->verbose,
        .list = line->list,
        .volume_name = line->graph.volume_name,
        .options = (const char *const *) line->graph.options,
        .xlator_dirs = (const char *const *) line->graph.xlator_dirs,
        .daemon = (const char *const *) line->daemon,
    };

    if (line->by_design || line->man) {
        conform_print_by_design (line->man);
        return CLI_OK;
    }
    g_autofree char *refused = histories (line, &options);
    if (!refused)
        refused = conform_refused_words (line, &options, argc);
    if (refused)
        return conform_misuse (refused);
    options.volfile = argv[1];
    if (argc == 2 && strcmp (argv[1], "-") == 0 && !line->list) {
        if (!copy_input (line))
            return CLI_FAILED;
        options.volfile = line->copy;
    }
    options.allow = line->allow;
    options.allowed = line->allow ? conform_allow_read (line->allow) : NULL;
    if (line->allow && !options.allowed)
        return CLI_USAGE;
    const int status = conform_run (line, &options);
    g_clear_pointer (&options.allowed, g_ptr_array_unref);
    return status;
}

/* For `windlass help --json`, which reads these lines: src/cli/conform.c. */
static void
describe (const GOptionEntry *entries)
{
    for (; entries && entries->long_name; entries++)
        if (!(entries->flags & G_OPTION_FLAG_HIDDEN))
            printf ("%s\t%.1s\t%s\t%s\n", entries->long_name, &entries->short_name,
                    entries->arg == G_OPTION_ARG_NONE ? "" : entries->arg_description,
                    entries->description);
}

int
main (int argc, char **argv)
{
    const struct cli_command command = { "conform", "VOLFILE",
                                         "compare a graph with a bare directory", NULL };
    struct conform_line line = { .histories = 3000, .steps = 30, .clients = 3 };
    int status = CLI_USAGE;

    setlocale (LC_ALL, "");
    thread_adopt ("windlass");
    if (argc == 2 && strcmp (argv[1], "--describe") == 0)
        cli_options_seen = describe;
    if (conform_parse (&line, &command, &argc, argv))
        status = conform (&line, argc, argv);
    if (line.copy)
        unlink (line.copy);
    conform_keeper_end (line.keeper);
    g_free (line.copy);
    g_free (line.directory);
    g_free (line.only);
    g_free (line.seed);
    g_free (line.history);
    g_free (line.commands);
    g_strfreev (line.command_names);
    g_free (line.allow);
    g_free (line.as);
    g_strfreev (line.daemon);
    cli_graph_clear (&line.graph);
    return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass trace start|stop|cat MOUNTPOINT: the functions that a daemon runs, and their
 * durations. */
#include "cli/cli.h"
#include "trace/functions/calls.h"

#include <string.h>

/* --- start --- */

/* An option of the command line becomes a line to the daemon, which checks it. */
struct ask {
    char **functions, **translators, **fops, **paths, **pids;
    char *min, *buffer;
    char *output; /* of cat, as what follows */
    gboolean all;
    int depth;
};

static void
ask_clear (struct ask *ask)
{
    g_strfreev (ask->functions);
    g_strfreev (ask->translators);
    g_strfreev (ask->fops);
    g_strfreev (ask->paths);
    g_strfreev (ask->pids);
    g_free (ask->min);
    g_free (ask->buffer);
    g_free (ask->output);
}

/* Returns false after a message. */
static bool
line_add (const struct cli_command *command, GString *out, const char *key, const char *value)
{
    if (value && (strchr (value, '\n') || !*value)) {
        fprintf (stderr, "windlass %s: '--%s' must be a text without a line's end, got '%s'\n",
                 command->name, key, value);
        return false;
    }
    if (value)
        g_string_append_printf (out, "%s %s\n", key, value);
    return true;
}

static bool
lines_add (const struct cli_command *command, GString *out, const char *key, char **values)
{
    for (; values && *values; values++)
        if (!line_add (command, out, key, *values))
            return false;
    return true;
}

static bool
ask_lines (const struct cli_command *command, const struct ask *ask, GString *out)
{
    return lines_add (command, out, "function", ask->functions)
        && lines_add (command, out, "translator", ask->translators)
        && lines_add (command, out, "fop", ask->fops)
        && lines_add (command, out, "path", ask->paths)
        && lines_add (command, out, "pid", ask->pids) && line_add (command, out, "min", ask->min)
        && line_add (command, out, "buffer", ask->buffer);
}

/* --- cat --- */

static int
cli_trace_take (const char *bytes, size_t size, void *data, char **ret_error)
{
    return calls_take (data, bytes, size, ret_error);
}

static void
print_line (const char *line, void *data)
{
    FILE *file = data;

    fputs (line, file);
    fputc ('\n', file);
}

static int
trace_cat (const struct cli_command *command, const char *mountpoint, const struct ask *ask)
{
    const struct calls_view view = { ask->all, (unsigned) ask->depth };
    struct cli_output output;
    struct calls *calls = calls_new ();
    int status = cli_call_pieces (command, mountpoint, NULL, "trace-cat", NULL, cli_trace_take,
                                  calls);

    if (status == CLI_OK && cli_output_open (command, ask->output, &output) < 0)
        status = CLI_FAILED;
    else if (status == CLI_OK) {
        calls_print (calls, &view, print_line, output.file);
        status = cli_output_done (command, &output) < 0 ? CLI_FAILED : CLI_OK;
    }
    calls_free (calls);
    return status;
}

/* --- commands --- */

static int
trace_do (const struct cli_command *command, const char *what, const char *mountpoint,
          const struct ask *ask)
{
    g_autoptr (GString) lines = g_string_new (NULL);
    g_autoptr (GBytes) input = NULL;
    const bool start = strcmp (what, "start") == 0, cat = strcmp (what, "cat") == 0;

    if (!ask_lines (command, ask, lines))
        return CLI_USAGE;
    if (!start && lines->len > 0)
        return cli_usage (command, "what is traced is said when it starts");
    if (!cat && (ask->output || ask->all || ask->depth))
        return cli_usage (command, "--all, --depth and -o are for cat");
    if (ask->depth < 0)
        return cli_usage (command, "--depth must be 1 or more, got %d", ask->depth);
    if (cat)
        return trace_cat (command, mountpoint, ask);
    input = g_bytes_new (lines->str, lines->len);
    return cli_call (command, mountpoint, NULL, start ? "trace-start" : "trace-stop", input);
}

int
cli_trace (const struct cli_command *command, int argc, char **argv)
{
    static const char *const verbs[] = { "start", "stop", "cat", NULL };
    struct ask ask = { 0 };
    const GOptionEntry more[] = {
        { "function", 0, 0, G_OPTION_ARG_STRING_ARRAY, &ask.functions,
          "only functions with a matching name; '!GLOB': without a matching name", "GLOB" },
        { "translator", 0, 0, G_OPTION_ARG_STRING_ARRAY, &ask.translators,
          "only functions that run for a request to this volume", "VOLUME" },
        { "fop", 0, 0, G_OPTION_ARG_STRING_ARRAY, &ask.fops,
          "only for requests with this operation", "OPERATION,..." },
        { "path", 0, 0, G_OPTION_ARG_STRING_ARRAY, &ask.paths,
          "only for files with a matching path in the mount", "GLOB" },
        { "pid", 0, 0, G_OPTION_ARG_STRING_ARRAY, &ask.pids, "only for requests of this process",
          "N" },
        { "min", 0, 0, G_OPTION_ARG_STRING, &ask.min,
          "only calls that take at least this time, such as 1ms", "TIME" },
        { "buffer", 0, 0, G_OPTION_ARG_STRING, &ask.buffer,
          "memory for each thread (1MB)", "SIZE" },
        { "all", 0, 0, G_OPTION_ARG_NONE, &ask.all,
          "cat: print the calls of all functions, not only those of translators", NULL },
        { "depth", 0, 0, G_OPTION_ARG_INT, &ask.depth,
          "cat: print only so many levels of calls within each other", "N" },
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &ask.output, "cat: print to this file", "FILE" },
        { 0 },
    };
    int status;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    status = cli_check_verb (command, verbs, "start, stop or cat", argc < 2 ? NULL : argv[1]);
    if (status == CLI_OK && argc != 3)
        status = cli_usage (command, argc < 3 ? "which mount point?" : "one mount point is wanted");
    else if (status == CLI_OK)
        status = trace_do (command, argv[1], argv[2], &ask);
    ask_clear (&ask);
    return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 *   windlass timeline start MOUNTPOINT [--fop ...] [--translator ...] [--min 1ms] [--slowest 20]
 *       [--memory 64MB]
 *   windlass timeline stop MOUNTPOINT [-o FILE] [--json|--text|--folded]
 *   windlass timeline cat MOUNTPOINT [-o FILE] [--json|--text|--folded]       the recording again,
 *       or in another format
 *   windlass timeline clear MOUNTPOINT
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 */
struct timeline_line {
    char *fop, *translator, *min, *slowest, *memory; /* start: texts, which the daemon checks */
    char *output;
    gboolean json, text, folded;
};

static void
line_clear (struct timeline_line *line)
{
    g_free (line->fop);
    g_free (line->translator);
    g_free (line->min);
    g_free (line->slowest);
    g_free (line->memory);
    g_free (line->output);
}

/* --- start ----------------------------------------------------------------------------------- */

static void
add_setting (GString *out, const char *key, const char *value)
{
    if (value)
        g_string_append_printf (out, "%s=%s\n", key, value);
}

static GBytes *
start_input (const struct timeline_line *line)
{
    GString *out = g_string_new ("start\n");

    add_setting (out, "fop", line->fop);
    add_setting (out, "translator", line->translator);
    add_setting (out, "min", line->min);
    add_setting (out, "slowest", line->slowest);
    add_setting (out, "memory", line->memory);
    return g_string_free_to_bytes (out);
}

/* --- the recording --------------------------------------------------------------------------- */

struct taker {
    FILE *file;
    const char *path;
    bool raw;
    GHashTable *stacks; /* folded: guint64 by text; NULL: printed as it arrives */
};

/* Lines of the same stack may come more than once. */
static void
add_stack (GHashTable *stacks, const char *line)
{
    const char *blank = strrchr (line, ' ');
    char *stack = blank ? g_strndup (line, blank - line) : NULL;
    guint64 *sum = stack ? g_hash_table_lookup (stacks, stack) : NULL;

    if (!stack)
        return;
    if (!sum) {
        sum = g_new0 (guint64, 1);
        g_hash_table_insert (stacks, g_strdup (stack), sum);
    }
    *sum += g_ascii_strtoull (blank + 1, NULL, 10);
    g_free (stack);
}

static void
add_stacks (GHashTable *stacks, const char *text)
{
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

    for (char **line = lines; *line; line++)
        add_stack (stacks, *line);
}

static void
write_json (FILE *file, const char *bytes, size_t size)
{
    g_autoptr (GString) json = g_string_new (NULL);

    json_append_safely (json, bytes, size);
    fwrite (json->str, 1, json->len, file);
}

static int
take_piece (const char *bytes, size_t size, void *data, char **ret_error)
{
    struct taker *taker = data;
    g_autofree char *text = taker->raw ? NULL : g_strndup (bytes, size);

    errno = 0;
    if (taker->stacks)
        add_stacks (taker->stacks, text);
    else if (taker->raw)
        write_json (taker->file, bytes, size);
    else
        cli_print_safely (taker->file, text);
    if (!ferror (taker->file))
        return 0;
    *ret_error = g_strdup_printf ("'%s' can't be written: %s", taker->path,
                                  g_strerror (errno ? errno : EIO));
    return -EIO;
}

static gint
by_text (gconstpointer a, gconstpointer b)
{
    return strcmp (a, b);
}

static void
print_stacks (const struct taker *taker)
{
    GList *stacks = g_list_sort (g_hash_table_get_keys (taker->stacks), by_text);

    for (GList *at = stacks; at; at = at->next) {
        g_autofree char *line =
            g_strdup_printf ("%s %" G_GUINT64_FORMAT "\n", (char *) at->data,
                             *(guint64 *) g_hash_table_lookup (taker->stacks, at->data));
        cli_print_safely (taker->file, line);
    }
    g_list_free (stacks);
}

static int
write_recording (const struct cli_command *command, const char *mountpoint,
                 const struct timeline_line *line, struct cli_output *output)
{
    const bool json = line->json || (line->output && !line->text && !line->folded);
    const char *format = json ? "json" : line->folded ? "folded" : "text";
    g_autoptr (GBytes) input = g_bytes_new (format, strlen (format));
    g_autoptr (GHashTable) stacks =
        line->folded ? g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free) : NULL;
    struct taker taker = { output->file, output->path ? output->path : "the standard output", json,
                           stacks };
    int status = cli_call_pieces (command, mountpoint, NULL, "timeline-cat", input, take_piece,
                                  &taker);

    if (status == CLI_OK && stacks)
        print_stacks (&taker);
    if (status != CLI_OK)
        cli_output_drop (output);
    else if (cli_output_done (command, output) < 0)
        status = CLI_FAILED;
    return status;
}

/* --- commands -------------------------------------------------------------------------------- */

static int
tell (const struct cli_command *command, const char *mountpoint, GBytes *input, FILE *file)
{
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;
    gint64 since = 0;
    int r;

    /* The daemon may need a while to sort a long recording. */
    while ((r = control_call (mountpoint, NULL, "timeline", input, answer, &error))
           == -EINPROGRESS) {
        g_clear_pointer (&error, g_free);
        cli_say_waiting (command, mountpoint, &since);
        g_usleep (50000);
    }
    if (r < 0)
        fprintf (stderr, "windlass %s: ", command->name);
    cli_print_safely (r < 0 ? stderr : file, r < 0 ? error : answer->str);
    return r < 0 ? CLI_FAILED : CLI_OK;
}

/* The summary goes to stderr, so that it does not mix with the recording. */
static int
tell_stop (const struct cli_command *command, const char *mountpoint)
{
    g_autoptr (GBytes) input = g_bytes_new_static ("stop\n", strlen ("stop\n"));

    return tell (command, mountpoint, input, stderr);
}

/* Opens the file before it ends the recording. */
static int
stop_or_cat (const struct cli_command *command, const char *mountpoint,
             const struct timeline_line *line, bool stops)
{
    struct cli_output output;
    int status = CLI_OK;

    if (cli_output_open (command, line->output, &output) < 0)
        return CLI_FAILED;
    if (stops)
        status = tell_stop (command, mountpoint);
    if (status != CLI_OK) {
        cli_output_drop (&output);
        return status;
    }
    status = write_recording (command, mountpoint, line, &output);
    if (status != CLI_OK && stops)
        fprintf (stderr, "windlass %s: the recording is still there: windlass timeline cat %s\n",
                 command->name, mountpoint);
    return status;
}

static int
cli_timeline_run (const struct cli_command *command, char **argv, const struct timeline_line *line)
{
    const char *verb = argv[1], *mountpoint = argv[2];
    const bool filters = line->fop || line->translator || line->min || line->slowest
                      || line->memory;
    const bool formats = line->output || line->json || line->text || line->folded;
    const bool stops = strcmp (verb, "stop") == 0, starts = strcmp (verb, "start") == 0,
               cats = strcmp (verb, "cat") == 0;
    g_autoptr (GBytes) input = NULL;

    if (filters && !starts)
        return cli_usage (command,
                          "--fop, --translator, --min, --slowest and --memory are for start");
    if (formats && !stops && !cats)
        return cli_usage (command, "-o, --json, --text and --folded are for stop and cat");
    if (line->json + line->text + line->folded > 1)
        return cli_usage (command, "only one of --json, --text and --folded");
    if (stops || cats)
        return stop_or_cat (command, mountpoint, line, stops);
    input = starts ? start_input (line) : g_bytes_new ("clear\n", strlen ("clear\n"));
    return tell (command, mountpoint, input, stdout);
}

int
cli_timeline (const struct cli_command *command, int argc, char **argv)
{
    static const char *const verbs[] = { "start", "stop", "cat", "clear", NULL };
    struct timeline_line line = { 0 };
    const GOptionEntry more[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &line.output,
          "stop, cat: write to this file, by default as JSON", "FILE" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &line.json,
          "stop, cat: print JSON for Perfetto and chrome://tracing", NULL },
        { "text", 0, 0, G_OPTION_ARG_NONE, &line.text,
          "stop, cat: print a tree for each request; the default without -o", NULL },
        { "folded", 0, 0, G_OPTION_ARG_NONE, &line.folded,
          "stop, cat: print nanoseconds by stack, for flame graphs", NULL },
        { "fop", 0, 0, G_OPTION_ARG_STRING, &line.fop, "start: only requests with these operations",
          "OPERATION,..." },
        { "translator", 0, 0, G_OPTION_ARG_STRING, &line.translator,
          "start: only requests that reach one of these volumes", "VOLUME,..." },
        { "min", 0, 0, G_OPTION_ARG_STRING, &line.min,
          "start: only requests that take at least this time",
          "TIME" },
        { "slowest", 0, 0, G_OPTION_ARG_STRING, &line.slowest,
          "start: keep only this number of requests, those that took longest", "NUMBER" },
        { "memory", 0, 0, G_OPTION_ARG_STRING, &line.memory,
          "start: maximum memory of the latest requests (64MB)", "SIZE" },
        { 0 },
    };
    int status;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    status = cli_check_verb (command, verbs, "start, stop, cat or clear",
                             argc < 2 ? NULL : argv[1]);
    if (status == CLI_OK && argc != 3)
        status = cli_usage (command, argc < 3 ? "which mount point?" : "too many arguments");
    else if (status == CLI_OK)
        status = cli_timeline_run (command, argv, &line);
    line_clear (&line);
    return status;
}

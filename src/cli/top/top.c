/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 *   windlass top MOUNTPOINT                                                            live
 *   windlass top MOUNTPOINT --batch [--by VIEW] [--sort COLUMN] [--count N] [--interval S]
 *       tables
 *
 * Measuring is on while it runs: each refresh renews a lease, which the daemon ends when it
 * expires. So measuring does not stay on if top is killed.
 */
#include "cli/top/top.h"
#include "control/control.h"
#include "core/base/suggest.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_MAX 45
#define BATCH_ROWS 20

/* --- tables ---------------------------------------------------------------------------------- */

static void
print_view (const struct top *top, enum top_view view)
{
    g_autoptr (GPtrArray) rows = top_rows (top, view);
    g_autoptr (GString) out = g_string_new (NULL);
    const char *note = top_note (top, view, rows);

    if (rows->len > 0) {
        top_heading (top, view, out);
        g_string_append_c (out, '\n');
    }
    for (guint i = 0; i < MIN (rows->len, BATCH_ROWS); i++) {
        top_line (top, rows->pdata[i], view, out);
        g_string_append_c (out, '\n');
    }
    if (rows->len > BATCH_ROWS)
        g_string_append_printf (out, "and %u more\n", rows->len - BATCH_ROWS);
    if (note)
        g_string_append_printf (out, "%s\n", note);
    puts (out->str);
}

/* Is a table to be printed? One alone always is, others if they have rows. */
static bool
wants_view (const struct top *top, enum top_view view)
{
    g_autoptr (GPtrArray) rows = NULL;

    if (top->one_view)
        return view == top->view;
    rows = top_rows (top, view);
    return rows->len > 0;
}

static void
print_all (const struct top *top)
{
    g_autoptr (GString) title = g_string_new (NULL);
    bool any = false;

    top_title (top, title);
    g_string_append (title, ", ");
    top_state (top, title);
    puts (title->str);
    for (enum top_view view = 0; view < TOP_VIEWS; view++)
        if (wants_view (top, view)) {
            print_view (top, view);
            any = any || top->one_view || view != TOP_BRICKS;
        }
    if (!any)
        puts ("no request was answered in this time\n");
    fflush (stdout);
}

static int
batch (struct top *top)
{
    for (int64_t i = 0; !top_is_over () && !ferror (stdout) && i != top->rounds; i++) {
        top_pause (top->interval);
        if (top_is_over ())
            break;
        if (!top_look (top))
            return CLI_FAILED;
        print_all (top);
    }
    return CLI_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Returns the index of word in the list, or -1 after a message. */
static int
choose (const struct cli_command *command, const char *option, const char *word,
        const char *const *words, int n)
{
    g_autoptr (GPtrArray) candidates = g_ptr_array_new ();
    g_autofree char *hint = NULL, *all = NULL;

    for (int i = 0; i < n; i++) {
        if (strcmp (words[i], word) == 0)
            return i;
        g_ptr_array_add (candidates, (char *) words[i]);
    }
    g_ptr_array_add (candidates, NULL);
    all = g_strjoinv (", ", (char **) candidates->pdata);
    g_ptr_array_remove_index (candidates, candidates->len - 1);
    hint = suggest_text (suggest_near (word, candidates));
    fprintf (stderr, "windlass %s: --%s must be one of %s, got '%s'%s\n", command->name, option,
             all, word, hint);
    return -1;
}

static int
top_run (struct top *top, bool wants_batch)
{
    g_autoptr (GBytes) ends = g_bytes_new_static ("top-ends", strlen ("top-ends"));
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;
    int status = CLI_FAILED;

    top_catch_signals ();
    if (top_look (top)) {
        status = wants_batch || !isatty (STDOUT_FILENO) ? batch (top) : top_screen (top);
        /* errors are ignored: without the daemon there is no lease */
        control_call (top->mountpoint, NULL, "stats", ends, answer, &error);
    }
    numbers_seen_free (top->before);
    numbers_seen_free (top->now);
    return status;
}

int
cli_top (const struct cli_command *command, int argc, char **argv)
{
    gboolean batch = FALSE;
    double interval = 1;
    gint64 rounds = -1;
    g_autofree char *by = NULL, *sort = NULL;
    const GOptionEntry more[] = {
        { "batch", 'b', 0, G_OPTION_ARG_NONE, &batch,
          "print tables; the default if the output is not a terminal", NULL },
        { "by", 0, 0, G_OPTION_ARG_STRING, &by, "the view", "translator|fop|path|process|brick" },
        { "sort", 0, 0, G_OPTION_ARG_STRING, &sort, "the column that orders the rows",
          "calls|errors|mean|p99|share|name" },
        { "count", 'n', 0, G_OPTION_ARG_INT64, &rounds, "batch: the number of tables", "N" },
        { "interval", 'i', 0, G_OPTION_ARG_DOUBLE, &interval,
          "seconds between two updates (1)", "SECONDS" },
        { 0 },
    };
    struct top top = { .command = command, .columns = TOP_COLUMNS };
    int view, column;

    setlocale (LC_CTYPE, "");
    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    view = by ? choose (command, "by", by, top_view_names, TOP_VIEWS) : TOP_TRANSLATORS;
    column = sort ? choose (command, "sort", sort, top_sort_names, TOP_SORTS) : SORT_CALLS;
    if (view < 0 || column < 0)
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which mount point?" : "one mount point is wanted");
    if (rounds == 0 || rounds < -1)
        return cli_usage (command, "--count must be 1 or more, got %" G_GINT64_FORMAT, rounds);
    if (!(interval >= 0.1 && interval <= INTERVAL_MAX))
        return cli_usage (command, "--interval must be 0.1 to 45 seconds, got %g", interval);
    top.mountpoint = argv[1];
    top.interval = interval;
    top.rounds = rounds;
    top.view = (enum top_view) view;
    top.sort = (enum top_sort) column;
    top.one_view = by != NULL;
    return top_run (&top, batch);
}

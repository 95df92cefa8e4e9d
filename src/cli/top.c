/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 *   windlass top MOUNTPOINT                                                            live
 *   windlass top MOUNTPOINT --batch [--by VIEW] [--sort COLUMN] [--count N] [--interval S]
 *       tables
 *
 * Measuring is on while it runs: each refresh renews a lease, which the daemon ends when it
 * expires. So measuring does not stay on if top is killed.
 */
#include "cli/top.h"
#include "control/control.h"
#include "core/base/suggest.h"
#include "trace/metrics/busy.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEASE 10      /* seconds of the lease beyond the next refresh */
#define INTERVAL_MAX 45
#define BATCH_ROWS 20
#define NAME_WIDTH 28

const char *const top_view_names[TOP_VIEWS] = { "translator", "fop", "path", "process",
                                                "brick" };
const char *const top_sort_names[TOP_SORTS] = { "calls", "errors", "mean", "p99", "share", "name" };

static volatile sig_atomic_t over;

static void
end (int signal)
{
    over = 1;
}

bool
top_is_over (void)
{
    return over;
}

/* --- refresh -------------------------------------------------------------------------------- */

bool
top_look (struct top *top)
{
    g_autofree char *what = g_strdup_printf ("top %d", (int) top->interval + LEASE);
    struct seen *seen = numbers_seen_ask (top->command, top->mountpoint, what);

    if (!seen)
        return false;
    numbers_seen_free (top->before);
    top->before = top->now;
    top->now = seen;
    return true;
}

double
top_seconds (const struct top *top)
{
    const int64_t passed = top->before ? top->now->clock - top->before->clock : 0;

    return passed > 0 ? (double) passed / 1e9 : top->interval;
}

/* --- rows ----------------------------------------------------------------------------------- */

static void
row_free (gpointer data)
{
    struct top_row *row = data;

    g_free (row->name);
    g_free (row->state);
    g_free (row);
}

char *
top_clean (const char *name)
{
    g_autofree char *valid = g_utf8_make_valid (name, -1);
    GString *out = g_string_new (NULL);

    for (const char *c = valid; *c; c = g_utf8_next_char (c)) {
        const gunichar u = g_utf8_get_char (c);

        g_string_append_unichar (
            out, g_unichar_isprint (u) && g_unichar_type (u) != G_UNICODE_FORMAT ? u : '?');
    }
    return g_string_free (out, FALSE);
}

/* The change of a translator's numbers since the previous refresh. */
struct difference {
    uint64_t count, failed, sum, own;
    struct histogram whole;
};

static uint64_t
less (uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void
add_difference (struct difference *into, const struct seen_fop *now, const struct seen_fop *before)
{
    struct histogram whole = { 0 };

    histogram_merge (&whole, &now->whole);
    if (before)
        histogram_subtract (&whole, &before->whole);
    histogram_merge (&into->whole, &whole);
    histogram_clear (&whole);
    into->count += less (now->count, before ? before->count : 0);
    into->failed += less (now->failed, before ? before->failed : 0);
    into->sum += less (now->sum, before ? before->sum : 0);
    into->own += less (now->own_sum, before ? before->own_sum : 0);
}

/* Takes ownership of the difference. share: nanoseconds, until all are known. */
static void
add_row (GPtrArray *rows, const char *name, struct difference *difference, uint64_t share,
         double seconds)
{
    struct top_row *row;

    if (difference->count) {
        row = g_new0 (struct top_row, 1);
        row->name = top_clean (name);
        row->calls = (double) difference->count / seconds;
        row->errors = (double) difference->failed / seconds;
        row->mean = difference->sum / difference->count;
        row->p50 = histogram_quantile (&difference->whole, 0.5);
        row->p99 = histogram_quantile (&difference->whole, 0.99);
        row->share = (double) share;
        g_ptr_array_add (rows, row);
    }
    histogram_clear (&difference->whole);
    *difference = (struct difference){ 0 };
}

static const struct seen_xlator *
xlator_before (const struct top *top, guint number)
{
    return top->before && number < top->before->xlators->len ? top->before->xlators->pdata[number]
                                                             : NULL;
}

static void
add_translators (const struct top *top, GPtrArray *rows)
{
    for (guint i = 0; i < top->now->xlators->len; i++) {
        const struct seen_xlator *now = top->now->xlators->pdata[i],
                                 *before = xlator_before (top, i);
        struct difference difference = { 0 };

        for (guint j = 0; j < now->fops->len; j++) {
            const struct seen_fop *fop = now->fops->pdata[j];

            add_difference (&difference, fop, before ? numbers_seen_fop (before, fop->name) : NULL);
        }
        add_row (rows, now->name, &difference, difference.own, top_seconds (top));
    }
}

/* By the kernel's view: an operation is counted where it enters the graph, at the topmost
 * translator that was called for it. */
static void
add_fops (const struct top *top, GPtrArray *rows)
{
    g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);

    for (guint i = 0; i < top->now->xlators->len; i++) {
        const struct seen_xlator *now = top->now->xlators->pdata[i],
                                 *before = xlator_before (top, i);

        for (guint j = 0; j < now->fops->len; j++) {
            const struct seen_fop *fop = now->fops->pdata[j];
            struct difference difference = { 0 };

            if (!g_hash_table_add (known, fop->name))
                continue;
            add_difference (&difference, fop, before ? numbers_seen_fop (before, fop->name) : NULL);
            add_row (rows, fop->name, &difference, difference.sum, top_seconds (top));
        }
    }
}

static const struct seen_busy *
busy_before (const GPtrArray *before, uint64_t key)
{
    for (guint i = 0; before && i < before->len; i++)
        if (((struct seen_busy *) before->pdata[i])->key == key)
            return before->pdata[i];
    return NULL;
}

/* The sum of all rows of one name. */
struct busy_sum {
    uint64_t count, failed, bytes, sum, max;
};

/* A file that is made anew repeatedly, or a program that runs repeatedly, is one row: objects that
 * are gone are told apart only by name. */
static char *
busy_name (const struct seen_busy *busy, enum top_view view)
{
    if (view == TOP_PATHS || g_str_has_suffix (busy->name, BUSY_ENDED))
        return g_strdup (busy->name);
    return g_strdup_printf ("%" G_GUINT64_FORMAT " %s", busy->key, busy->name);
}

static void
add_sum (GHashTable *sums, char *name, const struct seen_busy *now, const struct seen_busy *before)
{
    struct busy_sum *sum = g_hash_table_lookup (sums, name);

    if (!sum)
        g_hash_table_insert (sums, g_strdup (name), sum = g_new0 (struct busy_sum, 1));
    /* The inherited count is not its own. */
    sum->count += less (now->count - now->over, before->count - MIN (before->count, before->over));
    sum->failed += less (now->failed, before->failed);
    sum->bytes += less (now->bytes, before->bytes);
    sum->sum += less (now->sum, before->sum);
    sum->max = MAX (sum->max, now->max);
}

static void
add_busy_row (const struct top *top, GPtrArray *rows, const char *name, const struct busy_sum *sum)
{
    struct difference difference = { .count = sum->count, .failed = sum->failed, .sum = sum->sum };
    const guint at = rows->len;

    if (!sum->count)
        return;
    add_row (rows, name, &difference, sum->sum, top_seconds (top));
    ((struct top_row *) rows->pdata[at])->bytes = (double) sum->bytes / top_seconds (top);
    ((struct top_row *) rows->pdata[at])->p99 = sum->max;
}

static void
add_busy (const struct top *top, enum top_view view, GPtrArray *rows)
{
    g_autoptr (GHashTable) sums = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter iter;
    gpointer name, sum;
    const GPtrArray *all = view == TOP_PATHS ? top->now->paths : top->now->processes;
    const GPtrArray *before_all = !top->before      ? NULL
                                : view == TOP_PATHS ? top->before->paths
                                                    : top->before->processes;

    for (guint i = 0; i < all->len; i++) {
        static const struct seen_busy none;
        const struct seen_busy *now = all->pdata[i], *before = busy_before (before_all, now->key);
        g_autofree char *own_name = busy_name (now, view);

        add_sum (sums, own_name, now, before && before->count <= now->count ? before : &none);
    }
    g_hash_table_iter_init (&iter, sums);
    while (g_hash_table_iter_next (&iter, &name, &sum))
        add_busy_row (top, rows, name, sum);
}

static double
column (const struct top_row *row, enum top_sort sort)
{
    switch (sort) {
    case SORT_ERRORS:
        return row->errors;
    case SORT_MEAN:
        return (double) row->mean;
    case SORT_P99:
        return (double) row->p99;
    case SORT_SHARE:
        return row->share;
    default:
        return row->calls;
    }
}

static gint
compare (gconstpointer a, gconstpointer b, gpointer data)
{
    const struct top_row *x = *(struct top_row *const *) a, *y = *(struct top_row *const *) b;
    const enum top_sort sort = *(enum top_sort *) data;
    const double p = column (x, sort), q = column (y, sort);

    return sort == SORT_NAME || p == q ? strcmp (x->name, y->name) : p < q ? 1 : -1;
}

GPtrArray *
top_rows (const struct top *top, enum top_view view)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func (row_free);
    enum top_sort sort = top->sort;
    double all = 0;

    if (!top->before)
        return rows; /* a single refresh gives no rates */
    if (view == TOP_TRANSLATORS)
        add_translators (top, rows);
    else if (view == TOP_FOPS)
        add_fops (top, rows);
    else if (view == TOP_BRICKS)
        bricks_add (top, rows);
    else
        add_busy (top, view, rows);
    for (guint i = 0; i < rows->len; i++)
        all += ((struct top_row *) rows->pdata[i])->share;
    for (guint i = 0; all > 0 && i < rows->len; i++)
        ((struct top_row *) rows->pdata[i])->share /= all;
    g_ptr_array_sort_with_data (rows, compare, &sort);
    return rows;
}

/* --- lines ---------------------------------------------------------------------------------- */

void
top_title (const struct top *top, GString *out)
{
    const char *in_flight = g_hash_table_lookup (top->now->values, "requests_in_flight");
    const char *waiting = g_hash_table_lookup (top->now->values, "requests_waiting");
    g_autofree char *mountpoint = top_clean (top->mountpoint);

    g_string_append_printf (
        out, "windlass top: %s, %.1f s, %s requests in flight, %s wait for their turn%s",
        mountpoint, top_seconds (top), in_flight ? in_flight : "?", waiting ? waiting : "?",
        strcmp (top->now->measuring, "leased") == 0 ? ", measured only while top runs" : "");
}

void
top_heading (enum top_view view, GString *out)
{
    const bool busy = view == TOP_PATHS || view == TOP_PROCESSES;

    if (view == TOP_BRICKS) {
        bricks_heading (out);
        return;
    }
    g_string_append_printf (out, "%-*s %9s %9s %8s %8s %8s  %s", NAME_WIDTH, top_view_names[view],
                            "calls/s", "errors/s", "mean", busy ? "bytes/s" : "p50",
                            busy ? "longest" : "p99",
                            view == TOP_TRANSLATORS ? "own time" : "time");
}

/* Cut on the left: the end of a path matters more. */
void
top_append_name (GString *out, const char *name)
{
    const long length = g_utf8_strlen (name, -1);

    if (length > NAME_WIDTH)
        g_string_append_printf (out, "~%s",
                                g_utf8_offset_to_pointer (name, length - NAME_WIDTH + 1));
    else
        g_string_append_printf (out, "%s%*s", name, (int) (NAME_WIDTH - length), "");
}

void
top_line (const struct top_row *row, enum top_view view, GString *out)
{
    const bool busy = view == TOP_PATHS || view == TOP_PROCESSES;
    char texts[3][16];

    if (view == TOP_BRICKS) {
        bricks_line (row, out);
        return;
    }
    top_append_name (out, row->name);
    g_string_append_printf (out, " %9.1f %9.1f %8s ", row->calls, row->errors,
                            duration_text (row->mean, texts[0]));
    if (busy && row->bytes >= 1e6)
        g_string_append_printf (out, "%7.1fM", row->bytes / 1e6);
    else if (busy)
        g_string_append_printf (out, "%7.1fk", row->bytes / 1e3);
    else
        g_string_append_printf (out, "%8s", duration_text (row->p50, texts[1]));
    g_string_append_printf (out, " %8s %3.0f%% ", duration_text (row->p99, texts[2]),
                            100 * row->share);
    bar_append (out, row->share, 10);
}

/* --- batch ---------------------------------------------------------------------------------- */

static void
print_view (const struct top *top, enum top_view view)
{
    g_autoptr (GPtrArray) rows = top_rows (top, view);
    g_autoptr (GString) out = g_string_new (NULL);

    top_heading (view, out);
    g_string_append_c (out, '\n');
    for (guint i = 0; i < MIN (rows->len, BATCH_ROWS); i++) {
        top_line (rows->pdata[i], view, out);
        g_string_append_c (out, '\n');
    }
    puts (out->str);
}

static void
print_all (const struct top *top)
{
    g_autoptr (GString) title = g_string_new (NULL);

    top_title (top, title);
    puts (title->str);
    for (enum top_view view = 0; view < TOP_VIEWS; view++)
        if (top->one_view ? view == top->view : view != TOP_BRICKS || top->now->servers->len > 0)
            print_view (top, view);
    fflush (stdout);
}

/* A signal ends the pause. */
static void
pause_for (double seconds)
{
    struct timespec time = { .tv_sec = (time_t) seconds,
                             .tv_nsec = (long) ((seconds - (double) (time_t) seconds) * 1e9) };

    if (!over)
        nanosleep (&time, NULL);
}

static int
batch (struct top *top)
{
    for (int64_t i = 0; !over && !ferror (stdout) && i != top->rounds; i++) {
        pause_for (top->interval);
        if (over)
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

/* Signals end the program in the regular way. */
static void
catch_signals (void)
{
    const struct sigaction action = { .sa_handler = end };

    sigaction (SIGINT, &action, NULL);
    sigaction (SIGTERM, &action, NULL);
    sigaction (SIGHUP, &action, NULL);
    signal (SIGPIPE, SIG_IGN);
}

static int
run (struct top *top, bool wants_batch)
{
    g_autoptr (GBytes) ends = g_bytes_new_static ("top-ends", strlen ("top-ends"));
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;
    int status = CLI_FAILED;

    catch_signals ();
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
        { "by", 0, 0, G_OPTION_ARG_STRING, &by, "translator, fop, path, process or brick", "VIEW" },
        { "sort", 0, 0, G_OPTION_ARG_STRING, &sort, "calls, errors, mean, p99, share or name",
          "COLUMN" },
        { "count", 'n', 0, G_OPTION_ARG_INT64, &rounds, "batch: the number of tables", "N" },
        { "interval", 'i', 0, G_OPTION_ARG_DOUBLE, &interval,
          "seconds between two updates (1)", "SECONDS" },
        { 0 },
    };
    struct top top = { .command = command };
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
    return run (&top, batch);
}

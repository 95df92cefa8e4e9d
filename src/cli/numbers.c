/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/numbers.h"
#include "control/control.h"
#include "core/base/printable.h"
#include "core/report/failures.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- freeing --- */

static void
fop_free (gpointer data)
{
    struct seen_fop *fop = data;

    histogram_clear (&fop->whole);
    histogram_clear (&fop->own);
    histogram_clear (&fop->below);
    g_free (fop->name);
    g_free (fop);
}

static void
numbers_xlator_free (gpointer data)
{
    struct seen_xlator *xl = data;

    g_free (xl->type);
    g_free (xl->name);
    g_array_unref (xl->children);
    g_ptr_array_unref (xl->fops);
    g_free (xl);
}

static void
busy_free (gpointer data)
{
    struct seen_busy *busy = data;

    g_free (busy->name);
    g_free (busy);
}

static void
numbers_server_free (gpointer data)
{
    struct seen_server *server = data;

    histogram_clear (&server->round_trips);
    g_free (server->name);
    g_free (server->state);
    g_free (server);
}

void
numbers_seen_free (struct numbers_seen *seen)
{
    if (!seen)
        return;
    g_free (seen->measuring);
    g_hash_table_unref (seen->values);
    g_ptr_array_unref (seen->xlators);
    g_ptr_array_unref (seen->servers);
    g_ptr_array_unref (seen->paths);
    g_ptr_array_unref (seen->processes);
    g_free (seen);
}

/* --- lines ---------------------------------------------------------------------------------- */

static uint64_t
numbers_number_of (const char *word)
{
    return g_ascii_strtoull (word, NULL, 10);
}

/* xlator NUMBER TYPE CHILDREN NAME; in the order of their numbers. */
static void
read_xlator (struct numbers_seen *seen, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", 5);
    struct seen_xlator *xl;

    if (g_strv_length (words) != 5 || numbers_number_of (words[1]) != seen->xlators->len)
        return;
    xl = g_new0 (struct seen_xlator, 1);
    xl->type = g_strdup (words[2]);
    xl->name = g_strcompress (words[4]);
    xl->children = g_array_new (FALSE, FALSE, sizeof (int));
    xl->fops = g_ptr_array_new_with_free_func (fop_free);
    if (strcmp (words[3], "-") != 0) {
        g_auto (GStrv) children = g_strsplit (words[3], ",", -1);

        for (char **child = children; *child; child++) {
            const int number = (int) MIN (numbers_number_of (*child), G_MAXINT);

            g_array_append_val (xl->children, number);
        }
    }
    g_ptr_array_add (seen->xlators, xl);
}

/* fop XLATOR FOP COUNT FAILED SUM OWN BELOW */
static struct seen_fop *
read_fop (struct numbers_seen *seen, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", -1);
    struct seen_xlator *xl;
    struct seen_fop *fop;

    if (g_strv_length (words) != 8 || numbers_number_of (words[1]) >= seen->xlators->len)
        return NULL;
    xl = seen->xlators->pdata[numbers_number_of (words[1])];
    fop = g_new0 (struct seen_fop, 1);
    fop->name = g_strdup (words[2]);
    fop->count = numbers_number_of (words[3]);
    fop->failed = numbers_number_of (words[4]);
    fop->sum = numbers_number_of (words[5]);
    fop->own_sum = numbers_number_of (words[6]);
    fop->below_sum = numbers_number_of (words[7]);
    g_ptr_array_add (xl->fops, fop);
    return fop;
}

static bool
numbers_is_notable (const char *fop, int op_errno)
{
    for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++)
        if (strcmp (fop_name (op), fop) == 0)
            return failure_is_notable (op, op_errno);
    return true;
}

/* error XLATOR FOP ERRNO COUNT, for the last fop. Errno 0 stands for errors that were not counted
 * separately. */
static void
read_error (struct seen_fop *fop, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", -1);

    if (g_strv_length (words) == 5
        && !numbers_is_notable (fop->name, (int) MIN (numbers_number_of (words[3]), G_MAXINT)))
        fop->ordinary += MIN (numbers_number_of (words[4]), fop->failed - fop->ordinary);
}

/* whole SUM MIN MAX LOW:COUNT ...; each count goes back into its bucket. */
static void
read_histogram (struct histogram *histogram, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", -1);

    if (g_strv_length (words) < 4)
        return;
    for (char **word = words + 4; *word; word++) {
        const char *colon = strchr (*word, ':');
        const unsigned index = histogram_index (numbers_number_of (*word));
        uint64_t *row = histogram->rows[index / HISTOGRAM_COLUMNS];

        if (!row)
            row = histogram_new_row (histogram, index / HISTOGRAM_COLUMNS);
        row[index % HISTOGRAM_COLUMNS] = colon ? numbers_number_of (colon + 1) : 0;
    }
    histogram->sum = numbers_number_of (words[1]);
    histogram->above = ~numbers_number_of (words[2]);
    histogram->max = numbers_number_of (words[3]);
}

/* path|process KEY COUNT OVER FAILED BYTES SUM MAX NAME */
static void
read_busy (GPtrArray *rows, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", 9);
    struct seen_busy *busy;

    if (g_strv_length (words) != 9)
        return;
    busy = g_new0 (struct seen_busy, 1);
    *busy = (struct seen_busy){ .name = g_strcompress (words[8]),
                                .key = numbers_number_of (words[1]),
                                .count = numbers_number_of (words[2]),
                                .over = numbers_number_of (words[3]),
                                .failed = numbers_number_of (words[4]),
                                .bytes = numbers_number_of (words[5]),
                                .sum = numbers_number_of (words[6]),
                                .max = numbers_number_of (words[7]) };
    g_ptr_array_add (rows, busy);
}

/* server XLATOR STATE FOR OUTSTANDING CALLS SENT RECEIVED NAME */
static struct seen_server *
read_server (struct numbers_seen *seen, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", 9);
    struct seen_server *server;

    if (g_strv_length (words) != 9)
        return NULL;
    server = g_new0 (struct seen_server, 1);
    server->xlator = (unsigned) MIN (numbers_number_of (words[1]), G_MAXINT);
    server->state = g_strdup (words[2]);
    server->since = (int64_t) MIN (numbers_number_of (words[3]), G_MAXINT64);
    server->outstanding = (unsigned) MIN (numbers_number_of (words[4]), G_MAXINT);
    server->calls = numbers_number_of (words[5]);
    server->sent = numbers_number_of (words[6]);
    server->received = numbers_number_of (words[7]);
    server->name = g_strcompress (words[8]);
    g_ptr_array_add (seen->servers, server);
    return server;
}

static void
read_value (struct numbers_seen *seen, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", -1);

    if (g_strv_length (words) == 3)
        g_hash_table_insert (seen->values, g_strdup (words[1]), g_strdup (words[2]));
}

struct numbers_seen *
numbers_seen_parse (const char *text)
{
    struct numbers_seen *seen = g_new0 (struct numbers_seen, 1);
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    struct seen_fop *fop = NULL;
    struct seen_server *server = NULL;

    seen->measuring = g_strdup ("off");
    seen->values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    seen->xlators = g_ptr_array_new_with_free_func (numbers_xlator_free);
    seen->servers = g_ptr_array_new_with_free_func (numbers_server_free);
    seen->paths = g_ptr_array_new_with_free_func (busy_free);
    seen->processes = g_ptr_array_new_with_free_func (busy_free);
    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix (*line, "measuring ")) {
            g_free (seen->measuring);
            seen->measuring = g_strdup (*line + strlen ("measuring "));
        } else if (g_str_has_prefix (*line, "clock "))
            seen->clock = (int64_t) numbers_number_of (*line + strlen ("clock "));
        else if (g_str_has_prefix (*line, "period "))
            seen->period = (int64_t) MIN (numbers_number_of (*line + strlen ("period ")),
                                          G_MAXINT64);
        else if (g_str_has_prefix (*line, "value "))
            read_value (seen, *line);
        else if (g_str_has_prefix (*line, "xlator "))
            read_xlator (seen, *line);
        else if (g_str_has_prefix (*line, "fop "))
            fop = read_fop (seen, *line);
        else if (fop && g_str_has_prefix (*line, "error "))
            read_error (fop, *line);
        else if (fop && g_str_has_prefix (*line, "whole "))
            read_histogram (&fop->whole, *line);
        else if (fop && g_str_has_prefix (*line, "own "))
            read_histogram (&fop->own, *line);
        else if (fop && g_str_has_prefix (*line, "below "))
            read_histogram (&fop->below, *line);
        else if (g_str_has_prefix (*line, "server "))
            server = read_server (seen, *line);
        else if (server && g_str_has_prefix (*line, "round_trips "))
            read_histogram (&server->round_trips, *line);
        else if (g_str_has_prefix (*line, "path "))
            read_busy (seen->paths, *line);
        else if (g_str_has_prefix (*line, "process "))
            read_busy (seen->processes, *line);
    }
    return seen;
}

struct numbers_seen *
numbers_seen_ask (const struct cli_command *command, const char *mountpoint, const char *what,
                  bool again)
{
    g_autoptr (GBytes) input = g_bytes_new (what, strlen (what));
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;
    const int r = control_call (mountpoint, NULL, "stats", input, answer, &error);

    if (r == 0)
        return numbers_seen_parse (answer->str);
    if (again && r == -ENXIO) {
        say_line (stderr,
                  "windlass %s: the mount at '%s' has ended: it was unmounted, or the command of "
                  "windlass run has ended",
                  command->name, mountpoint);
    } else {
        fprintf (stderr, "windlass %s: ", command->name);
        cli_print_safely (stderr, error);
    }
    return NULL;
}

void
numbers_say_off (const struct cli_command *command, const char *mountpoint, bool any)
{
    fprintf (stderr, "windlass %s: measuring is off, %s; start with: windlass stats %s --on\n",
             command->name, any ? "numbers are from earlier" : "and nothing was measured yet",
             mountpoint);
}

/* --- finding and printing --------------------------------------------------------------------- */

struct seen_xlator *
numbers_seen_find (const struct numbers_seen *seen, const char *name)
{
    for (guint i = 0; i < seen->xlators->len; i++)
        if (strcmp (((struct seen_xlator *) seen->xlators->pdata[i])->name, name) == 0)
            return seen->xlators->pdata[i];
    return NULL;
}

struct seen_fop *
numbers_seen_fop (const struct seen_xlator *xl, const char *name)
{
    for (guint i = 0; i < xl->fops->len; i++)
        if (strcmp (((struct seen_fop *) xl->fops->pdata[i])->name, name) == 0)
            return xl->fops->pdata[i];
    return NULL;
}

const char *
duration_text (uint64_t nanoseconds, char *buffer)
{
    static const struct {
        double size;
        const char *unit;
    } units[] = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" } };
    unsigned i = 0;
    double value;

    while (i + 1 < G_N_ELEMENTS (units) && (double) nanoseconds >= 999.5 * units[i].size)
        i++;
    value = (double) nanoseconds / units[i].size;
    g_snprintf (buffer, 16, "%.*f%s", i && value < 99.95 ? 1 : 0, MIN (value, 999999),
                units[i].unit);
    return buffer;
}

void
bar_append (GString *out, double part, unsigned columns)
{
    static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    const unsigned length = (unsigned) (CLAMP (part, 0, 1) * columns * 8 + 0.5);

    if (!g_get_charset (NULL)) {
        for (unsigned i = 0; i < (length + 4) / 8 || (i == 0 && length); i++)
            g_string_append_c (out, '#');
        return;
    }
    for (unsigned i = 0; i < length / 8; i++)
        g_string_append (out, "█");
    g_string_append (out, length ? eighths[length % 8 ? length % 8 : length < 8] : "");
}

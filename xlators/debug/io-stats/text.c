/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report as text, in GlusterFS's format; latencies are in microseconds, as the heading says. */
#include "io-stats.h"

#include <time.h>

#define COLUMNS 6 /* columns of block sizes per row */

static const char *const top_titles[TOPS] = {
    [TOP_OPEN] = "Open file stats",
    [TOP_READ] = "Read file stats",
    [TOP_WRITE] = "Write file stats",
    [TOP_OPENDIR] = "Directory open stats",
    [TOP_READDIRP] = "Directory readdirp stats",
    [TOP_READ_THROUGHPUT] = "Read throughput file stats",
    [TOP_WRITE_THROUGHPUT] = "Write throughput file stats",
};

static const char *
time_text (int64_t seconds, char text[40])
{
    time_t clock = seconds;
    struct tm tm;

    gmtime_r (&clock, &tm);
    strftime (text, 40, "%Y-%m-%d %H:%M:%S +0000", &tm);
    return text;
}

/* --- block sizes ------------------------------------------------------------------------------ */

/* "4096b+": 4096 to 8191 bytes. */
static void
append_size (GString *out, unsigned size)
{
    g_autofree char *text = size ? g_strdup_printf ("%" G_GUINT64_FORMAT "b+", UINT64_C (1)
                                                                                   << (size - 1))
                                 : g_strdup ("0b");

    g_string_append_printf (out, "%18s", text);
}

static void
append_sizes_part (GString *out, const uint64_t *read, const uint64_t *written,
                   const unsigned *which, unsigned n)
{
    g_string_append_printf (out, "%-12s :", "Block Size");
    for (unsigned i = 0; i < n; i++)
        append_size (out, which[i]);
    g_string_append_printf (out, "\n%-12s :", "Read Count");
    for (unsigned i = 0; i < n; i++)
        g_string_append_printf (out, "%18" G_GUINT64_FORMAT, read[which[i]]);
    g_string_append_printf (out, "\n%-12s :", "Write Count");
    for (unsigned i = 0; i < n; i++)
        g_string_append_printf (out, "%18" G_GUINT64_FORMAT, written[which[i]]);
    g_string_append (out, "\n\n");
}

/* Sizes without any request are left out. */
static void
append_sizes (GString *out, const uint64_t *read, const uint64_t *written)
{
    unsigned which[SIZES], n = 0;

    for (unsigned size = 0; size < SIZES; size++)
        if (read[size] || written[size])
            which[n++] = size;
    for (unsigned from = 0; from < n; from += COLUMNS)
        append_sizes_part (out, read, written, which + from, MIN (n - from, COLUMNS));
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void
text_append_calls (GString *out, const struct io_stats_numbers *numbers, unsigned what)
{
    const uint64_t timed = numbers->calls[what].timed;
    char name[32];

    if (!numbers->calls[what].calls)
        return;
    g_string_append_printf (out, "%-16s %12" G_GUINT64_FORMAT, report_name (what, name),
                            numbers->calls[what].calls);
    if (timed)
        g_string_append_printf (out, " %15.2f %15.2f %15.2f",
                                numbers->calls[what].sum / 1e3 / timed,
                                numbers->calls[what].min / 1e3, numbers->calls[what].max / 1e3);
    else
        g_string_append_printf (out, " %15s %15s %15s", "-", "-", "-");
    g_string_append_printf (out, " %10" G_GUINT64_FORMAT "\n", numbers->calls[what].errors);
}

static void
text_append_numbers (GString *out, const struct io_stats_numbers *numbers)
{
    g_string_append_printf (out, "      Duration : %" G_GINT64_FORMAT " secs\n",
                            numbers->time / 1000000000);
    g_string_append_printf (out, "     BytesRead : %" G_GUINT64_FORMAT "\n",
                            numbers->data[READ].bytes);
    g_string_append_printf (out, "  BytesWritten : %" G_GUINT64_FORMAT "\n\n",
                            numbers->data[WRITTEN].bytes);
    append_sizes (out, numbers->data[READ].sizes, numbers->data[WRITTEN].sizes);
    g_string_append_printf (out, "%-16s %12s %15s %15s %15s %10s\n", "Fop", "Call Count",
                            "Avg-Latency(us)", "Min-Latency(us)", "Max-Latency(us)", "Errors");
    g_string_append_printf (out, "%-16s %12s %15s %15s %15s %10s\n", "---", "----------",
                            "---------------", "---------------", "---------------", "------");
    for (unsigned what = 1; what < COUNT_MAX; what++)
        text_append_calls (out, numbers, what);
    g_string_append (
        out, "------ ----- ----- ----- ----- ----- ----- -----  ----- ----- ----- -----\n\n");
}

/* --- lists ------------------------------------------------------------------------------------ */

static void
text_append_top (GString *out, const struct io_stats_report *report, enum io_stats_top top)
{
    const GArray *entries = report->tops[top];
    const bool throughput = top >= TOP_READ_THROUGHPUT;

    if (entries->len == 0)
        return;
    g_string_append_printf (out, "========== %s ==========\n\n%s\n", top_titles[top],
                            throughput ? "TIMESTAMP                  THROUGHPUT(MBPS)  FILE NAME"
                                       : "COUNT         FILE NAME");
    for (guint i = 0; i < entries->len; i++) {
        const struct top_entry *entry = &g_array_index (entries, struct top_entry, i);
        char text[40];

        if (throughput)
            g_string_append_printf (out, "%s  %16.2f  ", time_text (entry->when.tv_sec, text),
                                    entry->value / 1e6);
        else
            g_string_append_printf (out, "%-12" G_GUINT64_FORMAT "  ", entry->value);
        log_append_safely (out, entry->path);
        g_string_append_c (out, '\n');
    }
    g_string_append_c (out, '\n');
}

void
report_text (const struct io_stats_report *report, GString *out)
{
    char text[40];

    g_string_append (out, "=== Cumulative stats ===\n");
    text_append_numbers (out, &report->all);
    g_string_append_printf (out,
                            "Current open fd's: %" G_GINT64_FORMAT
                            " Max open fd's: %" G_GINT64_FORMAT " time %s\n\n",
                            report->open, report->most_open,
                            report->most_open ? time_text (report->most_open_at, text) : "-");
    for (unsigned top = 0; top < TOPS; top++)
        text_append_top (out, report, top);
    g_string_append_printf (out, "=== Interval %u stats ===\n", report->interval);
    text_append_numbers (out, &report->since);
}

void
open_file_text (const struct open_file *file, const char *path, int64_t now, GString *out)
{
    uint64_t sizes[DIRECTIONS][SIZES];

    for (unsigned direction = 0; direction < DIRECTIONS; direction++)
        for (unsigned size = 0; size < SIZES; size++)
            sizes[direction][size] = __atomic_load_n (&file->data[direction].sizes[size],
                                                      __ATOMIC_RELAXED);
    g_string_append (out, "--- fd stats ---\n      Filename : ");
    log_append_safely (out, path);
    g_string_append_printf (out, "\n      Lifetime : %" G_GINT64_FORMAT " secs\n",
                            (now - file->since) / 1000000000);
    g_string_append_printf (out, "     BytesRead : %" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&file->data[READ].bytes, __ATOMIC_RELAXED));
    g_string_append_printf (out, "  BytesWritten : %" G_GUINT64_FORMAT "\n\n",
                            __atomic_load_n (&file->data[WRITTEN].bytes, __ATOMIC_RELAXED));
    append_sizes (out, sizes[READ], sizes[WRITTEN]);
}

/* --- key=value lines -------------------------------------------------------------------------- */

static void
append_dict (GString *out, const char *prefix, const struct io_stats_numbers *numbers)
{
    static const char *const names[DIRECTIONS] = { "read", "write" };
    char text[32];

    g_string_append_printf (out, "%s-duration=%" G_GINT64_FORMAT "\n", prefix,
                            numbers->time / 1000000000);
    for (unsigned direction = 0; direction < DIRECTIONS; direction++) {
        g_string_append_printf (out, "%s-total-%s=%" G_GUINT64_FORMAT "\n", prefix,
                                names[direction], numbers->data[direction].bytes);
        for (unsigned size = 0; size < SIZES; size++)
            if (numbers->data[direction].sizes[size])
                g_string_append_printf (out, "%s-%s-%" G_GUINT64_FORMAT "=%" G_GUINT64_FORMAT "\n",
                                        prefix, names[direction],
                                        size ? UINT64_C (1) << (size - 1) : 0,
                                        numbers->data[direction].sizes[size]);
    }
    for (unsigned what = 1; what < COUNT_MAX; what++) {
        const uint64_t timed = numbers->calls[what].timed;

        if (!numbers->calls[what].calls)
            continue;
        report_name (what, text);
        g_string_append_printf (
            out, "%s-%s-hits=%" G_GUINT64_FORMAT "\n%s-%s-errors=%" G_GUINT64_FORMAT "\n", prefix,
            text, numbers->calls[what].calls, prefix, text, numbers->calls[what].errors);
        if (timed)
            g_string_append_printf (
                out,
                "%s-%s-avglatency-us=%.2f\n%s-%s-minlatency-us=%.2f\n%s-%s-maxlatency-us=%.2f\n",
                prefix, text, numbers->calls[what].sum / 1e3 / timed, prefix, text,
                numbers->calls[what].min / 1e3, prefix, text, numbers->calls[what].max / 1e3);
    }
}

void
report_dict (const struct io_stats_report *report, GString *out)
{
    append_dict (out, "cumulative", &report->all);
    g_string_append_printf (out,
                            "current-open-fds=%" G_GINT64_FORMAT "\nmax-open-fds=%" G_GINT64_FORMAT
                            "\ninterval=%u\n",
                            report->open, report->most_open, report->interval);
    append_dict (out, "interval", &report->since);
}

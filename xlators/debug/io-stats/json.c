/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report as JSON: one object, times in nanoseconds where the key says so. */
#include "io-stats.h"

/* A comma, except before the first element of an object or array. */
static void
json_next (GString *out)
{
    if (out->str[out->len - 1] != '{' && out->str[out->len - 1] != '[')
        g_string_append_c (out, ',');
}

static void
append_key (GString *out, const char *key)
{
    json_next (out);
    json_append_string (out, key);
    g_string_append_c (out, ':');
}

static void
json_append_number (GString *out, const char *key, uint64_t number)
{
    append_key (out, key);
    g_string_append_printf (out, "%" G_GUINT64_FORMAT, number);
}

static void
json_append_calls (GString *out, const struct io_stats_numbers *numbers, unsigned what)
{
    char name[32];

    append_key (out, report_name (what, name));
    g_string_append_c (out, '{');
    json_append_number (out, "count", numbers->calls[what].calls);
    json_append_number (out, "errors", numbers->calls[what].errors);
    if (numbers->calls[what].timed) {
        append_key (out, "latency_ns");
        g_string_append_c (out, '{');
        json_append_number (out, "count", numbers->calls[what].timed);
        json_append_number (out, "sum", numbers->calls[what].sum);
        json_append_number (out, "min", numbers->calls[what].min);
        json_append_number (out, "max", numbers->calls[what].max);
        if (numbers->calls[what].half) {
            json_append_number (out, "p50", numbers->calls[what].half);
            json_append_number (out, "p99", numbers->calls[what].most);
        }
        g_string_append_c (out, '}');
    }
    g_string_append_c (out, '}');
}

/* The key of a bucket is its least size. */
static void
append_data (GString *out, const char *key, const struct io_stats_numbers *numbers,
             enum direction direction)
{
    append_key (out, key);
    g_string_append_c (out, '{');
    json_append_number (out, "bytes", numbers->data[direction].bytes);
    append_key (out, "block_sizes");
    g_string_append_c (out, '{');
    for (unsigned size = 0; size < SIZES; size++) {
        char text[32];

        if (!numbers->data[direction].sizes[size])
            continue;
        g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, size ? UINT64_C (1) << (size - 1) : 0);
        json_append_number (out, text, numbers->data[direction].sizes[size]);
    }
    g_string_append (out, "}}");
}

static void
json_append_numbers (GString *out, const char *key, const struct io_stats_numbers *numbers,
                     int interval)
{
    append_key (out, key);
    g_string_append_c (out, '{');
    if (interval >= 0)
        json_append_number (out, "number", interval);
    json_append_number (out, "duration_ns", numbers->time);
    append_data (out, "read", numbers, READ);
    append_data (out, "written", numbers, WRITTEN);
    append_key (out, "fops");
    g_string_append_c (out, '{');
    for (unsigned what = 1; what < COUNT_MAX; what++)
        if (numbers->calls[what].calls)
            json_append_calls (out, numbers, what);
    g_string_append (out, "}}");
}

static void
json_append_top (GString *out, const char *key, const GArray *entries, bool throughput)
{
    append_key (out, key);
    g_string_append_c (out, '[');
    for (guint i = 0; i < entries->len; i++) {
        const struct top_entry *entry = &g_array_index (entries, struct top_entry, i);

        json_next (out);
        g_string_append_c (out, '{');
        append_key (out, "path");
        json_append_string (out, entry->path);
        json_append_number (out, throughput ? "bytes_per_second" : "count", entry->value);
        if (throughput)
            json_append_number (out, "time", entry->when.tv_sec);
        g_string_append_c (out, '}');
    }
    g_string_append_c (out, ']');
}

void
report_json (const struct io_stats_report *report, GString *out)
{
    g_string_append_c (out, '{');
    append_key (out, "volume");
    json_append_string (out, report->name);
    append_key (out, "type");
    json_append_string (out, report->type);
    if (report->volume_id) {
        append_key (out, "volume_id");
        json_append_string (out, report->volume_id);
    }
    json_append_number (out, "time", report->now.tv_sec);
    json_append_numbers (out, "cumulative", &report->all, -1);
    json_append_numbers (out, "interval", &report->since, report->interval);
    append_key (out, "open_files");
    g_string_append_c (out, '{');
    json_append_number (out, "now", MAX (report->open, 0));
    json_append_number (out, "most", report->most_open);
    json_append_number (out, "most_time", report->most_open_at);
    g_string_append_c (out, '}');
    append_key (out, "top");
    g_string_append_c (out, '{');
    for (unsigned top = 0; top < TOPS; top++)
        json_append_top (out, top_names[top], report->tops[top], top >= TOP_READ_THROUGHPUT);
    g_string_append (out, "}}\n");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenMetrics 1.0: each family of metrics once, with all its samples. */
#include "trace/metrics/metrics.h"
#include "trace/metrics/numbers.h"

#include "core/edge/server.h"

#include <string.h>

/* Histograms have a bucket for each power of two from 1 us to 34 s. Those of numbers.c are finer,
 * so each bucket's count is exact. */
#define FIRST_POWER 10
#define LAST_POWER 35

const char *
metrics_errno_name (int op_errno, char *buffer)
{
    const char *name = op_errno > 0 ? strerrorname_np (op_errno) : NULL;

    if (name)
        return name;
    g_snprintf (buffer, 16, "%d", op_errno);
    return op_errno ? buffer : "other";
}

/* --- lines ---------------------------------------------------------------------------------- */

static void
add_family (GString *out, const char *name, const char *type, const char *unit, const char *help)
{
    g_string_append_printf (out, "# TYPE windlass_%s %s\n", name, type);
    if (unit)
        g_string_append_printf (out, "# UNIT windlass_%s %s\n", name, unit);
    g_string_append_printf (out, "# HELP windlass_%s %s\n", name, help);
}

/* A label's value, which must be UTF-8. */
static void
add_escaped (GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid (text, -1);

    for (const char *c = valid; *c; c++) {
        if (*c == '\n')
            g_string_append (out, "\\n");
        else if (*c == '"' || *c == '\\')
            g_string_append_printf (out, "\\%c", *c);
        else
            g_string_append_c (out, *c);
    }
}

static void
add_seconds (GString *out, uint64_t nanoseconds)
{
    g_string_append_printf (out, "%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT,
                            nanoseconds / 1000000000, nanoseconds % 1000000000);
}

/* translator="wb",type="...",fop="writev" */
static char *
labels_of (const xlator_t *xl, enum fop op)
{
    GString *out = g_string_new ("translator=\"");

    add_escaped (out, xl->name);
    g_string_append (out, "\",type=\"");
    add_escaped (out, xl->type ? xl->type : "?");
    g_string_append_printf (out, "\",fop=\"%s\"", fop_name (op));
    return g_string_free (out, FALSE);
}

/* --- of the process --- */

static void
add_values (const struct metrics_of *of, GString *out)
{
    add_family (out, "build", "info", NULL, "the program and what it has mounted");
    g_string_append (out, "windlass_build_info{version=\"");
    add_escaped (out, of->version);
    g_string_append (out, "\",mountpoint=\"");
    add_escaped (out, of->mountpoint);
    g_string_append (out, "\"} 1\n");
    add_family (out, "measuring", "gauge", NULL,
                "1 while calls are counted and timed; windlass stats MOUNTPOINT --on starts it");
    g_string_append_printf (out, "windlass_measuring %d\n", numbers_on (of->xlators));
    for (const struct metrics_value *value = of->values; value->name; value++) {
        g_autofree char *name = value->unit ? g_strconcat (value->name, "_", value->unit, NULL)
                                            : g_strdup (value->name);

        add_family (out, name, "gauge", value->unit, value->help);
        g_string_append_printf (out, "windlass_%s %" G_GUINT64_FORMAT "\n", name, value->value);
    }
}

/* --- of translators --- */

/* One family: a value for each translator and operation with answers. */
struct family {
    const char *name, *type, *unit, *help;
    void (*add) (const struct family *family, const struct fop_numbers *numbers, const char *labels,
                 GString *out);
    size_t histogram; /* offset in struct numbers */
};

static void
add_errors (const struct family *family, const struct fop_numbers *numbers, const char *labels,
            GString *out)
{
    char buffer[16];

    for (unsigned i = 0; i <= NUMBERS_ERRORS; i++)
        if (numbers->errors[i].count)
            g_string_append_printf (out,
                                    "windlass_%s_total{%s,errno=\"%s\"} %" G_GUINT64_FORMAT "\n",
                                    family->name, labels,
                                    metrics_errno_name (numbers->errors[i].op_errno, buffer),
                                    numbers->errors[i].count);
}

static void
add_buckets (const char *name, const struct histogram *histogram, const char *labels, GString *out)
{
    const uint64_t count = histogram_count (histogram);

    for (int power = FIRST_POWER; power <= LAST_POWER; power++) {
        g_string_append_printf (out, "windlass_%s_bucket{%s,le=\"", name, labels);
        add_seconds (out, (uint64_t) 1 << power);
        g_string_append_printf (out, "\"} %" G_GUINT64_FORMAT "\n",
                                histogram_count_to (histogram, ((uint64_t) 1 << power) - 1));
    }
    g_string_append_printf (out, "windlass_%s_bucket{%s,le=\"+Inf\"} %" G_GUINT64_FORMAT "\n", name,
                            labels, count);
    g_string_append_printf (out, "windlass_%s_count{%s} %" G_GUINT64_FORMAT "\n", name, labels,
                            count);
    g_string_append_printf (out, "windlass_%s_sum{%s} ", name, labels);
    add_seconds (out, histogram_sum (histogram));
    g_string_append_c (out, '\n');
}

static void
openmetrics_add_histogram (const struct family *family, const struct fop_numbers *numbers,
                           const char *labels, GString *out)
{
    const struct histogram *histogram = (const void *) ((const char *) numbers + family->histogram);

    if (histogram_count (histogram))
        add_buckets (family->name, histogram, labels, out);
}

static const struct family families[] = {
    { "fop_errors", "counter", NULL, "answers that failed, while it was measured", add_errors, 0 },
    { "fop_seconds", "histogram", "seconds", "from the call of a translator to its answer",
      openmetrics_add_histogram, G_STRUCT_OFFSET (struct fop_numbers, whole) },
    { "fop_own_seconds", "histogram", "seconds", "what of that the translator itself took",
      openmetrics_add_histogram, G_STRUCT_OFFSET (struct fop_numbers, own) },
    { "fop_children_seconds", "histogram", "seconds",
      "what its children took; only of calls that went on to a child", openmetrics_add_histogram,
      G_STRUCT_OFFSET (struct fop_numbers, below) },
};

/* All numbers of a translator and operation. */
struct row {
    char *labels;
    struct fop_numbers numbers;
};

static void
openmetrics_row_free (gpointer data)
{
    struct row *row = data;

    numbers_clear (&row->numbers);
    g_free (row->labels);
    g_free (row);
}

static GPtrArray *
rows_of (GPtrArray *xlators)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func (openmetrics_row_free);

    for (guint i = 0; i < xlators->len; i++)
        for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++) {
            struct row *row = g_new0 (struct row, 1);

            if (numbers_add (xlators->pdata[i], op, &row->numbers)) {
                row->labels = labels_of (xlators->pdata[i], op);
                g_ptr_array_add (rows, row);
            } else {
                openmetrics_row_free (row);
            }
        }
    return rows;
}

/* --- of servers ------------------------------------------------------------------------------- */

/* A server, and the labels of its samples: translator="c1",server="host:/brick" */
struct server {
    struct server_report report;
    char *labels;
};

static void
openmetrics_server_free (gpointer data)
{
    struct server *server = data;

    server_report_clear (&server->report);
    g_free (server->labels);
    g_free (server);
}

static char *
server_labels (const xlator_t *xl, const char *name)
{
    GString *out = g_string_new ("translator=\"");

    add_escaped (out, xl->name);
    g_string_append (out, "\",server=\"");
    add_escaped (out, name);
    g_string_append_c (out, '"');
    return g_string_free (out, FALSE);
}

static GPtrArray *
servers_of (GPtrArray *xlators)
{
    GPtrArray *servers = g_ptr_array_new_with_free_func (openmetrics_server_free);

    for (guint i = 0; i < xlators->len; i++) {
        struct server *server = g_new0 (struct server, 1);

        if (xlator_server (xlators->pdata[i], &server->report)) {
            server->labels = server_labels (xlators->pdata[i], server->report.name);
            g_ptr_array_add (servers, server);
        } else {
            openmetrics_server_free (server);
        }
    }
    return servers;
}

static uint64_t
up_of (const struct server_report *report)
{
    return report->state == SERVER_UP;
}

static uint64_t
outstanding_of (const struct server_report *report)
{
    return report->outstanding;
}

static uint64_t
calls_of (const struct server_report *report)
{
    return report->calls;
}

static uint64_t
sent_of (const struct server_report *report)
{
    return report->sent;
}

static uint64_t
received_of (const struct server_report *report)
{
    return report->received;
}

static const struct server_family {
    const char *name, *type, *unit, *help;
    uint64_t (*value) (const struct server_report *report);
} server_families[] = {
    { "server_up", "gauge", NULL, "1 while the connection to the server can be used", up_of },
    { "server_calls_outstanding", "gauge", NULL, "calls that the server has not answered",
      outstanding_of },
    { "server_calls", "counter", NULL, "calls that were sent to the server", calls_of },
    { "server_sent_bytes", "counter", "bytes", "bytes that were sent to the server", sent_of },
    { "server_received_bytes", "counter", "bytes", "bytes that came from the server",
      received_of },
};

static void
add_server_family (const struct server_family *family, const GPtrArray *servers, GString *out)
{
    add_family (out, family->name, family->type, family->unit, family->help);
    for (guint i = 0; i < servers->len; i++) {
        const struct server *server = servers->pdata[i];

        g_string_append_printf (out, "windlass_%s%s{%s} %" G_GUINT64_FORMAT "\n", family->name,
                                strcmp (family->type, "counter") == 0 ? "_total" : "",
                                server->labels, family->value (&server->report));
    }
}

/* Counted whether measuring is on or not. */
static void
add_servers (GPtrArray *xlators, GString *out)
{
    g_autoptr (GPtrArray) servers = servers_of (xlators);

    if (servers->len == 0)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS (server_families); i++)
        add_server_family (&server_families[i], servers, out);
    add_family (out, "server_round_trip_seconds", "histogram", "seconds",
                "from a call to the server's answer, without calls that wait for a lock");
    for (guint i = 0; i < servers->len; i++) {
        const struct server *server = servers->pdata[i];

        add_buckets ("server_round_trip_seconds", &server->report.round_trips, server->labels, out);
    }
}

void
metrics_openmetrics (const struct metrics_of *of, GString *out)
{
    g_autoptr (GPtrArray) rows = rows_of (of->xlators);

    add_values (of, out);
    for (size_t i = 0; i < G_N_ELEMENTS (families); i++) {
        add_family (out, families[i].name, families[i].type, families[i].unit, families[i].help);
        for (guint j = 0; j < rows->len; j++) {
            const struct row *row = rows->pdata[j];

            families[i].add (&families[i], &row->numbers, row->labels, out);
        }
    }
    add_servers (of->xlators, out);
    g_string_append (out, "# EOF\n");
}

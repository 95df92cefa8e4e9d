/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One object of JSON; times are in nanoseconds. */
#include "trace/metrics/metrics.h"
#include "trace/metrics/numbers.h"

#include "core/base/json.h"
#include "core/edge/server.h"

#define NUMBER "%" G_GUINT64_FORMAT

static void
json_add_histogram (const char *name, const struct histogram *histogram, GString *out)
{
    struct histogram_bucket bucket;
    const char *comma = "";
    unsigned position = 0;

    g_string_append_printf (out,
                            ",\"%s\":{\"count\":" NUMBER ",\"sum\":" NUMBER ",\"min\":" NUMBER
                            ",\"max\":" NUMBER ",\"p50\":" NUMBER ",\"p90\":" NUMBER
                            ",\"p99\":" NUMBER ",\"p999\":" NUMBER ",\"buckets\":[",
                            name, histogram_count (histogram), histogram_sum (histogram),
                            histogram_min (histogram), histogram_max (histogram),
                            histogram_quantile (histogram, 0.5),
                            histogram_quantile (histogram, 0.9),
                            histogram_quantile (histogram, 0.99),
                            histogram_quantile (histogram, 0.999));
    for (; histogram_next (histogram, &position, &bucket); comma = ",")
        g_string_append_printf (out, "%s[" NUMBER "," NUMBER "," NUMBER "]", comma, bucket.low,
                                bucket.high, bucket.count);
    g_string_append (out, "]}");
}

static void
json_add_fop (enum fop op, const struct fop_numbers *numbers, GString *out)
{
    const char *comma = "";
    char buffer[16];

    g_string_append_printf (out, "\"%s\":{\"count\":" NUMBER ",\"failed\":" NUMBER ",\"errors\":{",
                            fop_name (op), numbers->count, numbers->failed);
    for (unsigned i = 0; i <= NUMBERS_ERRORS; i++)
        if (numbers->errors[i].count) {
            g_string_append_printf (out, "%s\"%s\":" NUMBER, comma,
                                    metrics_errno_name (numbers->errors[i].op_errno, buffer),
                                    numbers->errors[i].count);
            comma = ",";
        }
    g_string_append_c (out, '}');
    json_add_histogram ("whole", &numbers->whole, out);
    json_add_histogram ("own", &numbers->own, out);
    json_add_histogram ("children", &numbers->below, out);
    g_string_append_c (out, '}');
}

static void
json_add_server (xlator_t *xl, GString *out)
{
    struct server_report report;

    if (!xlator_server (xl, &report))
        return;
    g_string_append (out, ",\"server\":{\"name\":");
    json_append_string (out, report.name);
    g_string_append_printf (out,
                            ",\"state\":\"%s\",\"for\":%" G_GINT64_FORMAT ",\"problem\":",
                            server_state_name (report.state), report.since);
    json_append_string (out, report.problem);
    g_string_append_printf (out,
                            ",\"outstanding\":%u,\"waiting\":%u,\"calls\":" NUMBER
                            ",\"sent_bytes\":" NUMBER ",\"received_bytes\":" NUMBER,
                            report.outstanding, report.waiting, report.calls, report.sent,
                            report.received);
    json_add_histogram ("round_trips", &report.round_trips, out);
    g_string_append_c (out, '}');
    server_report_clear (&report);
}

static void
json_add_xlator (xlator_t *xl, GString *out)
{
    const char *comma = "";

    g_string_append (out, "{\"name\":");
    json_append_string (out, xl->name);
    g_string_append (out, ",\"type\":");
    json_append_string (out, xl->type);
    json_add_server (xl, out);
    g_string_append (out, ",\"fops\":{");
    for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++) {
        struct fop_numbers numbers = { 0 };

        if (numbers_add (xl, op, &numbers)) {
            g_string_append (out, comma);
            json_add_fop (op, &numbers, out);
            comma = ",";
        }
        numbers_clear (&numbers);
    }
    g_string_append (out, "}}");
}

void
metrics_json (const struct metrics_of *of, GString *out)
{
    g_string_append (out, "{\"mountpoint\":");
    json_append_string (out, of->mountpoint);
    g_string_append (out, ",\"version\":");
    json_append_string (out, of->version);
    g_string_append_printf (out, ",\"measuring\":%s,\"process\":{",
                            numbers_on (of->xlators) ? "true" : "false");
    for (const struct metrics_value *value = of->values; value->name; value++)
        g_string_append_printf (out, "%s\"%s%s%s\":" NUMBER, value == of->values ? "" : ",",
                                value->name, value->unit ? "_" : "", value->unit ? value->unit : "",
                                value->value);
    g_string_append (out, "},\"translators\":[\n");
    for (guint i = 0; i < of->xlators->len; i++) {
        json_add_xlator (of->xlators->pdata[i], out);
        g_string_append (out, i + 1 < of->xlators->len ? ",\n" : "\n");
    }
    g_string_append (out, "]}\n");
}

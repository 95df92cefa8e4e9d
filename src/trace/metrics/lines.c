/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The format for Windlass's own subcommands. Words are separated by blanks. The last field of a
 * line may contain blanks, and is escaped as by g_strescape.
 *
 *   measuring set|leased|off
 *   clock NANOSECONDS
 *   period NANOSECONDS                                that were measured, in all
 *   value NAME NUMBER
 *   xlator NUMBER TYPE CHILD,CHILD...|- NAME          from the top, 0 first
 *   fop XLATOR FOP COUNT FAILED SUM OWN BELOW         of that translator; sums in nanoseconds
 *   error XLATOR FOP ERRNO COUNT
 *   whole|own|below SUM MIN MAX LOW:COUNT ...         of the last fop
 *   server XLATOR STATE FOR OUTSTANDING CALLS SENT RECEIVED NAME     FOR: nanoseconds
 *   round_trips SUM MIN MAX LOW:COUNT ...             of the last server
 */
#include "trace/metrics/metrics.h"
#include "trace/metrics/numbers.h"

#include "core/edge/server.h"
#include "core/time/clock.h"

#define NUMBER "%" G_GUINT64_FORMAT

static void
lines_add_xlator (const xlator_t *xl, GString *out)
{
    g_autofree char *name = g_strescape (xl->name, NULL);

    g_string_append_printf (out, "xlator %d %s ", xl->number, xl->type ? xl->type : "?");
    for (const xlator_list_t *child = xl->children; child; child = child->next)
        g_string_append_printf (out, "%d%s", child->xlator->number, child->next ? "," : "");
    g_string_append_printf (out, "%s %s\n", xl->children ? "" : "-", name);
}

static void
lines_add_histogram (const char *name, const struct histogram *histogram, GString *out)
{
    struct histogram_bucket bucket;
    unsigned position = 0;

    g_string_append_printf (out, "%s " NUMBER " " NUMBER " " NUMBER, name,
                            histogram_sum (histogram), histogram_min (histogram),
                            histogram_max (histogram));
    while (histogram_next (histogram, &position, &bucket))
        g_string_append_printf (out, " " NUMBER ":" NUMBER, bucket.low, bucket.count);
    g_string_append_c (out, '\n');
}

static void
lines_add_fop (const xlator_t *xl, enum fop op, bool histograms, GString *out)
{
    struct fop_numbers numbers = { 0 };

    if (numbers_add (xl, op, &numbers)) {
        g_string_append_printf (
            out, "fop %d %s " NUMBER " " NUMBER " " NUMBER " " NUMBER " " NUMBER "\n", xl->number,
            fop_name (op), numbers.count, numbers.failed, histogram_sum (&numbers.whole),
            histogram_sum (&numbers.own), histogram_sum (&numbers.below));
        for (unsigned i = 0; i <= NUMBERS_ERRORS; i++)
            if (numbers.errors[i].count)
                g_string_append_printf (out, "error %d %s %d " NUMBER "\n", xl->number,
                                        fop_name (op), numbers.errors[i].op_errno,
                                        numbers.errors[i].count);
        if (histograms) {
            lines_add_histogram ("whole", &numbers.whole, out);
            lines_add_histogram ("own", &numbers.own, out);
            lines_add_histogram ("below", &numbers.below, out);
        }
    }
    numbers_clear (&numbers);
}

static void
lines_add_server (xlator_t *xl, GString *out)
{
    struct server_report report;
    g_autofree char *name = NULL;

    if (!xlator_server (xl, &report))
        return;
    name = g_strescape (report.name, NULL);
    g_string_append_printf (
        out, "server %d %s %" G_GINT64_FORMAT " %u " NUMBER " " NUMBER " " NUMBER " %s\n",
        xl->number, server_state_name (report.state), report.since, report.outstanding,
        report.calls, report.sent, report.received, name);
    lines_add_histogram ("round_trips", &report.round_trips, out);
    server_report_clear (&report);
}

void
metrics_lines (const struct metrics_of *of, bool histograms, GString *out)
{
    const bool set = numbers_set_for (of->xlators, NUMBERS_SET);

    g_string_append_printf (out,
                            "measuring %s\nclock %" G_GINT64_FORMAT "\nperiod %" G_GINT64_FORMAT
                            "\n",
                            set                        ? "set"
                            : numbers_on (of->xlators) ? "leased"
                                                       : "off",
                            clock_now (), numbers_period (of->xlators));
    for (const struct metrics_value *value = of->values; value->name; value++)
        g_string_append_printf (out, "value %s " NUMBER "\n", value->name, value->value);
    for (guint i = 0; i < of->xlators->len; i++)
        lines_add_xlator (of->xlators->pdata[i], out);
    for (guint i = 0; i < of->xlators->len; i++)
        lines_add_server (of->xlators->pdata[i], out);
    for (guint i = 0; i < of->xlators->len; i++)
        for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++)
            lines_add_fop (of->xlators->pdata[i], op, histograms, out);
}

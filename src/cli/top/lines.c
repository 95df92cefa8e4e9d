/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines that windlass top prints. */
#include "cli/top/top.h"

#include <string.h>

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
    g_string_append_printf (out, "%-*s %9s %9s %8s %8s %8s  %s", TOP_NAME_WIDTH,
                            top_view_names[view], "calls/s", "errors/s", "mean",
                            busy ? "bytes/s" : "p50",
                            busy ? "longest" : "p99",
                            view == TOP_TRANSLATORS ? "own time" : "time");
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

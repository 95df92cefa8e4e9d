/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines that windlass top prints. */
#include "cli/top/top.h"

#include "trace/metrics/busy.h"

#include <string.h>

#define NUMBERS 52 /* columns beside the name, without bar and past values */
#define BAR 10
#define SPARKS 17  /* of the past values, with a blank */
#define NAME_LEAST 12
#define NAME 28
#define NAME_MOST 60

/* 80 columns have the numbers; 92 the bar, too; 109 past values; then names grow. */
static unsigned
name_width (const struct top *top)
{
    const int rest = (int) top->columns - NUMBERS;

    return rest < NAME ? (unsigned) MAX (rest, NAME_LEAST)
                       : (unsigned) CLAMP (rest - BAR - 1 - SPARKS, NAME, NAME_MOST);
}

void
top_title (const struct top *top, GString *out)
{
    g_autofree char *mountpoint = top_clean (top->mountpoint);

    g_string_append_printf (out, "windlass top: %s, %.1f s", mountpoint, top_seconds (top));
}

void
top_state (const struct top *top, GString *out)
{
    const char *in_flight = g_hash_table_lookup (top->now->values, "requests_in_flight");
    const char *waiting = g_hash_table_lookup (top->now->values, "requests_waiting");
    const char *jobs = g_hash_table_lookup (top->now->values, "jobs");

    g_string_append_printf (
        out, "requests in flight: %s, waiting for their turn: %s, jobs: %s%s",
        in_flight ? in_flight : "?", waiting ? waiting : "?", jobs ? jobs : "?",
        strcmp (top->now->measuring, "leased") == 0 ? ", measured only while top runs" : "");
}

void
top_heading (const struct top *top, enum top_view view, GString *out)
{
    const bool busy = view == TOP_PATHS || view == TOP_PROCESSES;

    if (view == TOP_BRICKS) {
        bricks_heading (top, out);
        return;
    }
    top_append_name (out, top_view_names[view], name_width (top));
    g_string_append_printf (out, " %9s %9s %8s %8s %8s %4s", "calls/s", "errors/s", "mean",
                            busy ? "bytes/s" : "p50", busy ? "longest" : "p99",
                            view == TOP_TRANSLATORS ? "own" : "time");
}

void
top_line (const struct top *top, const struct top_row *row, enum top_view view, GString *out)
{
    const bool busy = view == TOP_PATHS || view == TOP_PROCESSES;
    const int bar = (int) top->columns - (int) name_width (top) - NUMBERS - 1;
    char texts[3][16];

    if (view == TOP_BRICKS) {
        bricks_line (top, row, out);
        return;
    }
    top_append_name (out, row->name, name_width (top));
    g_string_append_printf (out, " %9.1f %9.1f %8s ", row->calls, row->errors,
                            duration_text (row->mean, texts[0]));
    if (busy && row->bytes >= 1e6)
        g_string_append_printf (out, "%7.1fM", row->bytes / 1e6);
    else if (busy)
        g_string_append_printf (out, "%7.1fk", row->bytes / 1e3);
    else
        g_string_append_printf (out, "%8s", duration_text (row->p50, texts[1]));
    g_string_append_printf (out, " %8s %3.0f%%", duration_text (row->p99, texts[2]),
                            100 * row->share);
    if (bar > 0) {
        g_string_append_c (out, ' ');
        bar_append (out, row->share, (unsigned) MIN (bar, BAR));
    }
}

const char *
top_note (const struct top *top, enum top_view view, const GPtrArray *rows)
{
    if (!top->before)
        return "the first numbers come at the next refresh";
    if (view == TOP_BRICKS && top->now->servers->len == 0)
        return "no volume is of type protocol/client, so there are no bricks";
    if (rows->len == 0)
        return "no request was answered in this time";
    for (guint i = 0; i < rows->len; i++)
        if (view == TOP_PROCESSES
            && g_str_has_suffix (((struct top_row *) rows->pdata[i])->name, BUSY_ENDED))
            return BUSY_ENDED ": all processes of that program that have ended meanwhile";
    return NULL;
}

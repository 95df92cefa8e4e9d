/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The view of windlass top that has a row for each brick, idle or not. */
#include "cli/top/top.h"

#include <string.h>
#include <time.h>

#define STATE_WIDTH 19  /* "down since 12:01:30" */
#define STATE_NARROW 13 /* "down 12:01:30" */
#define WIDE 90         /* columns of the output */
#define NUMBERS 47      /* columns beside name and state */
#define NAME_LEAST 12
#define NAME_MOST 60

/* The same brick in the previous refresh, or NULL. */
static const struct seen_server *
before_of (const struct top *top, const struct seen_server *now)
{
    const GPtrArray *all = top->before->servers;

    for (guint i = 0; i < all->len; i++)
        if (((struct seen_server *) all->pdata[i])->xlator == now->xlator)
            return all->pdata[i];
    return NULL;
}

static char *
state_text (const struct seen_server *server)
{
    const time_t since = time (NULL) - (time_t) (server->since / 1000000000);
    char text[16] = "?";
    struct tm tm;

    if (strcmp (server->state, "down") != 0)
        return top_clean (server->state);
    if (localtime_r (&since, &tm))
        strftime (text, sizeof text, "%H:%M:%S", &tm);
    return g_strdup_printf ("down since %s", text);
}

static double
rate (uint64_t now, uint64_t before, double seconds)
{
    return now > before ? (double) (now - before) / seconds : 0;
}

static struct top_row *
bricks_row_of (const struct seen_server *now, const struct seen_server *before, double seconds)
{
    struct top_row *row = g_new0 (struct top_row, 1);
    struct histogram trips = { 0 };
    uint64_t count;

    histogram_merge (&trips, &now->round_trips);
    histogram_subtract (&trips, &before->round_trips);
    count = histogram_count (&trips);
    row->name = top_clean (now->name);
    row->state = state_text (now);
    row->calls = rate (now->calls, before->calls, seconds);
    row->sent = rate (now->sent, before->sent, seconds);
    row->received = rate (now->received, before->received, seconds);
    row->outstanding = now->outstanding;
    row->mean = count ? histogram_sum (&trips) / count : 0;
    row->p50 = histogram_quantile (&trips, 0.5);
    row->p99 = histogram_quantile (&trips, 0.99);
    row->share = (double) histogram_sum (&trips);
    histogram_clear (&trips);
    return row;
}

void
bricks_add (const struct top *top, GPtrArray *rows)
{
    static const struct seen_server none;

    for (guint i = 0; i < top->now->servers->len; i++) {
        const struct seen_server *now = top->now->servers->pdata[i],
                                 *before = before_of (top, now);

        g_ptr_array_add (rows, bricks_row_of (now, before ? before : &none, top_seconds (top)));
    }
}

/* A narrow terminal has no room for "since". */
static unsigned
state_width (const struct top *top)
{
    return top->columns < WIDE ? STATE_NARROW : STATE_WIDTH;
}

static unsigned
brick_width (const struct top *top)
{
    const int rest = (int) top->columns - NUMBERS - (int) state_width (top) - 1;

    return (unsigned) CLAMP (rest, NAME_LEAST, NAME_MOST);
}

void
bricks_heading (const struct top *top, GString *out)
{
    top_append_name (out, "brick", brick_width (top));
    g_string_append_printf (out, " %-*s %8s %7s %7s %7s %7s %5s", (int) state_width (top), "state",
                            "calls/s", "out/s", "in/s", "p50", "p99", "open");
}

static void
append_bytes (GString *out, double bytes)
{
    g_string_append_printf (out, " %6.1f%c", bytes >= 1e6 ? bytes / 1e6 : bytes / 1e3,
                            bytes >= 1e6 ? 'M' : 'k');
}

static void
append_state (const struct top *top, const struct top_row *row, GString *out)
{
    g_auto (GStrv) parts = g_strsplit (row->state, " since", 2);
    g_autofree char *state = state_width (top) == STATE_NARROW ? g_strjoinv ("", parts)
                                                               : g_strdup (row->state);

    g_string_append_printf (out, " %-*s", (int) state_width (top), state);
}

void
bricks_line (const struct top *top, const struct top_row *row, GString *out)
{
    char texts[2][16];

    top_append_name (out, row->name, brick_width (top));
    append_state (top, row, out);
    g_string_append_printf (out, " %8.1f", row->calls);
    append_bytes (out, row->sent);
    append_bytes (out, row->received);
    g_string_append_printf (out, " %7s %7s %5u",
                            row->p50 ? duration_text (row->p50, texts[0]) : "-",
                            row->p99 ? duration_text (row->p99, texts[1]) : "-", row->outstanding);
}

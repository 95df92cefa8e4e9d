/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What windlass top sees of a mount at each refresh. */
#include "cli/top/top.h"

#define LEASE 10 /* seconds of the lease beyond the next refresh */

bool
top_look (struct top *top)
{
    g_autofree char *what = g_strdup_printf ("top %d", (int) top->interval + LEASE);
    struct numbers_seen *seen = numbers_seen_ask (top->command, top->mountpoint, what, top->now);

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

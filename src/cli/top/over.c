/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals end windlass top in the regular way, and each pause. */
#include "cli/top/top.h"

#include <signal.h>
#include <time.h>

static volatile sig_atomic_t over;

static void
over_end (int signal)
{
    over = 1;
}

bool
top_is_over (void)
{
    return over;
}

void
top_catch_signals (void)
{
    const struct sigaction action = { .sa_handler = over_end };

    sigaction (SIGINT, &action, NULL);
    sigaction (SIGTERM, &action, NULL);
    sigaction (SIGHUP, &action, NULL);
    signal (SIGPIPE, SIG_IGN);
}

void
top_pause (double seconds)
{
    struct timespec time = { .tv_sec = (time_t) seconds,
                             .tv_nsec = (long) ((seconds - (double) (time_t) seconds) * 1e9) };

    if (!over)
        nanosleep (&time, NULL);
}

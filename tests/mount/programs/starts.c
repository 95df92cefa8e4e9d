/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starts MOUNTPOINT TIMES [LINE]: starts and stops `windlass trace` TIMES times without new
 * processes, and prints the medians of the durations, in microseconds. LINE: the arguments of
 * start, such as "min 1ms". */
#include "control/control.h"

#include "core/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t
starts_tell (const char *mountpoint, const char *command, const char *line)
{
    g_autoptr (GBytes) input = g_bytes_new_static (line, strlen (line));
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;
    const int64_t begin = clock_now ();

    if (control_call (mountpoint, NULL, command, input, answer, &error) < 0) {
        fprintf (stderr, "starts: %s: %s\n", command, error);
        exit (1);
    }
    return clock_now () - begin;
}

static int
starts_compare (const void *a, const void *b)
{
    const int64_t left = *(const int64_t *) a, right = *(const int64_t *) b;

    return left < right ? -1 : left > right;
}

int
main (int argc, char **argv)
{
    const int times = argc > 2 ? atoi (argv[2]) : 1;
    g_autofree int64_t *start = g_new0 (int64_t, times), *stop = g_new0 (int64_t, times);

    for (int i = 0; i < times; i++) {
        start[i] = starts_tell (argv[1], "trace-start", argc > 3 ? argv[3] : "");
        stop[i] = starts_tell (argv[1], "trace-stop", "");
    }
    qsort (start, times, sizeof *start, starts_compare);
    qsort (stop, times, sizeof *stop, starts_compare);
    printf ("start %" G_GINT64_FORMAT " stop %" G_GINT64_FORMAT "\n", start[times / 2] / 1000,
            stop[times / 2] / 1000);
    return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measures the cost of a traced call: nanoseconds of a call of an empty function with the trace off
 * and on.
 *
 *   tests/bench/traced [CALLS]          made by `make tests/bench/traced`
 */
#include "core/time/clock.h"
#include "trace/functions/functions.h"

#include <stdio.h>
#include <stdlib.h>

static int __attribute__ ((noinline))
traced_function (int n)
{
    __asm__ volatile ("" : "+r"(n));
    return n;
}

/* Returns the minimum of several rounds, since disturbances only make a round longer. */
static double
measure (long calls)
{
    double least = 1e9;

    for (int round = 0; round < 7; round++) {
        const int64_t begin = clock_now ();

        for (long i = 0; i < calls; i++)
            traced_function (i);
        const double each = (double) (clock_now () - begin) / (double) calls;
        least = each < least ? each : least;
    }
    return least;
}

int
main (int argc, char **argv)
{
    const long calls = argc > 1 ? atol (argv[1]) : 200000;
    g_autoptr (GPtrArray) globs = g_ptr_array_new ();
    g_autoptr (GString) answer = g_string_new (NULL);
    const struct functions_wish wish = { .globs = globs, .buffer = 1 << 20 };
    double off, on;

    if (functions_missing ()) {
        puts (functions_missing ());
        return 77;
    }
    g_ptr_array_add (globs, "traced_function");
    off = measure (calls);
    if (functions_start (&wish, answer) < 0) {
        puts (answer->str);
        return 1;
    }
    on = measure (calls);
    functions_stop (answer);
    printf ("off %.2f ns, on %.1f ns, off again %.2f ns\n", off, on, measure (calls));
    return 0;
}

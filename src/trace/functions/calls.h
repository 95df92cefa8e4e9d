/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A function graph, as sent by the daemon and as printed. It is sent as lines of text, and calls as
 * they were recorded, by the same machine:
 *
 *   calls VERSION                 comes first
 *   on 0|1                        the trace is still on
 *   scale N                       nanoseconds of CALLS_SCALE ticks
 *   unseen N                      calls of threads without a place
 *   function ADDRESS NAME         for each that can be traced; the address in hexadecimal
 *   translator ADDRESS NAME       the same for one of a translator or of the bridge, and for all if
 *                                 the trace was started for functions by name
 *   thread ID DEEP NAME           the following lines are this thread's; DEEP calls were too deep
 *   open N                        followed by N struct calls_one of open calls, the outermost first
 *   done N LOST                   followed by N calls that ended, in that order; LOST calls were
 *                                 lost before them
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_CALLS_H
#define WINDLASS_TRACE_FUNCTIONS_CALLS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CALLS_VERSION 2
#define CALLS_SCALE (UINT64_C (1) << 30)

struct calls_one {
    uint64_t begin, end; /* ticks */
    uint64_t function;   /* its address; the bits from 48 on have the number of calls that contain
                            it */
};

struct calls;

struct calls *calls_new (void);
void calls_free (struct calls *calls); /* takes NULL */

/* Takes input, which is not trusted; each piece holds whole lines. Returns 0, or -EPROTO and
 * *ret_error (freed with g_free). */
int calls_take (struct calls *calls, const char *bytes, size_t size, char **ret_error);

/* The calls to print. Those within a call that is left out move up to its place. */
struct calls_view {
    bool all;       /* also those of functions that are not of a translator */
    unsigned depth; /* only so many levels of calls within each other; 0: all */
};

/* Prints nested calls, passing each line to print. A request, or any other call without a traced
 * caller, is printed in one piece, in the order of their beginnings. */
void calls_print (struct calls *calls, const struct calls_view *view,
                  void (*print) (const char *line, void *data), void *data);

#endif

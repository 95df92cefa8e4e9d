/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A function graph as it is sent, and as it is printed. It is sent as lines of text, and calls as
 * they were recorded, by the same machine:
 *
 *   calls VERSION                 the first
 *   on 0|1                        goes on
 *   scale N                       nanoseconds of CALLS_SCALE ticks
 *   unseen N                      calls of threads that found no place
 *   function ADDRESS NAME         for each that can be traced; the address in hexadecimal
 *   thread ID DEEP NAME           what follows is this one's; so many calls were too deep
 *   open N                        so many struct calls_one of calls that go on, the outermost first
 *   done N LOST                   so many that ended, in that order; and so many were lost before
 *                                 them
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_CALLS_H
#define WINDLASS_TRACE_FUNCTIONS_CALLS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CALLS_VERSION 1
#define CALLS_SCALE (UINT64_C (1) << 30)

struct calls_one {
    uint64_t begin, end; /* ticks */
    uint64_t function;   /* its address, and 48 bits higher, how many calls it was in */
};

struct calls;

struct calls *calls_new (void);
void calls_free (struct calls *calls); /* takes NULL */

/* Takes what was sent, which may be hostile; each piece holds whole lines. 0, or -EPROTO and
 * *ret_error (g_free it). */
int calls_take (struct calls *calls, const char *bytes, size_t size, char **ret_error);

/* All of it, as nested calls, each line handed to print. Each request, or whatever else was called
 * by nobody traced, is in one piece, in the order of their beginnings. */
void calls_print (struct calls *calls, void (*print) (const char *line, void *data), void *data);

#endif

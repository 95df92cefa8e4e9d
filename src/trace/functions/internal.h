/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of this folder. */
#ifndef WINDLASS_TRACE_FUNCTIONS_INTERNAL_H
#define WINDLASS_TRACE_FUNCTIONS_INTERNAL_H

#include "trace/functions/functions.h"
#include "trace/functions/hook.h"
#include "trace/functions/sites.h"

/* functions.c */

struct functions {
    GPtrArray *modules; /* struct sites_module */
    GPtrArray *globs;   /* of the running trace; else NULL */
    uint64_t session;   /* number of the last trace; 0: none so far */
    bool by_name;       /* the last trace has globs */
    uint64_t main_start; /* ticks: calls of the main thread that began before are the start's own */
    guint answering;     /* source that sets main_start; 0: none */
};
extern struct functions functions; /* the main thread's */

/* gate.c */

/* Returns true if the trace is limited to some requests. Then call gate_begin and gate_end. */
bool gate_is_wanted (const struct functions_gate *gate);
void gate_begin (const struct functions_gate *gate);
void gate_end (void);
/* The same for another graph; does nothing without gate_begin. */
void gate_move (GPtrArray *graph);

/* threads.c */

/* Prepares each thread's ring for that number of calls, and frees the places of threads that have
 * ended. Nothing is recorded before hook.start is set. */
void threads_begin (uint64_t calls);

/* Returns all threads ever seen, the first one first. Freed with g_free. */
struct hook_thread **threads_all (size_t *ret_count);

#endif

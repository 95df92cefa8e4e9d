/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files here know of each other. */
#ifndef WINDLASS_TRACE_FUNCTIONS_INTERNAL_H
#define WINDLASS_TRACE_FUNCTIONS_INTERNAL_H

#include "trace/functions/functions.h"
#include "trace/functions/hook.h"
#include "trace/functions/sites.h"

/* functions.c */

struct functions {
    GPtrArray *modules; /* struct sites_module */
    GPtrArray *globs;   /* of the trace that is on; else NULL */
    uint64_t session;   /* number of the last trace; 0: there was none */
};
extern struct functions functions; /* the main thread's */

/* gate.c */

/* Is there anything to wait for? Then from gate_begin to gate_end. */
bool gate_is_wanted (const struct functions_gate *gate);
void gate_begin (const struct functions_gate *gate);
void gate_end (void);

/* threads.c */

/* Readies each thread's ring for calls of that size, and gives those of threads that are gone to
 * others. Nothing is recorded before hook.start is set. */
void threads_begin (uint64_t calls);

/* All that there ever were, the first one first. g_free it. */
struct hook_thread **threads_all (size_t *ret_count);

#endif

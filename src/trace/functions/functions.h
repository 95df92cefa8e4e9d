/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The function graph: nested calls of functions on each thread, and how long each took.
 *
 *   sites.c     the functions of the process and their names
 *   patch.c     the calls in them: hook.h, patch.h
 *   hook.c      runs at each entry and return
 *   functions.c starts and stops a trace
 *   read.c      the records, for the client that prints them: src/trace/functions/calls.c
 *   gate.c      limits a trace to some requests
 *
 * Everything runs on the main thread, except the hooks.
 *
 * Reasons:
 *
 * - The compiler leaves room before each entry (-fpatchable-function-entry=7,5) and two bytes at
 *   it. The room is written while it can't be reached, and never again. A thread that is in it when
 *   the trace stops finds a hook that does nothing. Bytes that another program has changed, as
 *   under a gdb breakpoint, are not touched. patch.h and the heads of patch-x86.c and patch-arm64.c
 *   have the steps.
 * - Without optimization the entry has endbr64 in place of nops (5,5 -fcf-protection=branch): gdb
 *   13 finds the end of a prologue by its instructions, knows endbr64 and not nop, and would stop
 *   before arguments are stored. A `static inline` function has no endbr64 there and isn't traced.
 *   windlass.pc gives those flags to translators built elsewhere: without optimization all their
 *   functions can be traced, with it all but static ones that are called by name alone. In a debug
 *   build set a breakpoint before a trace starts, or after it.
 * - A page near each module leads to hook_entry: the call in the room reaches 2 GB (AArch64 128
 *   MB). Code is made writable with mprotect for the moment; if that is refused, so is the trace,
 *   before any change.
 * - A record is made when a call ends: half the bytes, no unpaired ends, and --min costs nothing to
 *   print.
 * - The real return addresses are in struct hook_open of the thread. hook_return has an unwinding
 *   rule (a DWARF expression that searches them), so gdb's bt and the crash report go on through
 *   it, with a frame hook_return_here between two functions, also for calls that return after the
 *   stop.
 * - A gate (--fop and the like) is the thread's. A listener on the edge opens and closes it for
 *   calls that are deeper on the stack than the wind. It depends on which functions of
 *   core/edge/watch.c are between, see STACK_OF_NEXT in gate.c. Those are UNTRACED, or a trace
 *   would show its own watching on each edge.
 * - stop keeps the records, and cat reads them without removing them. The next start empties the
 *   rings. A module that is loaded while a trace is on is patched too (xlator_module_loaded).
 * - A traced call costs 57 to 115 ns in a release build (tests/bench/traced); off, the nops alone.
 *   To start takes 0.5 ms and to stop 0.3 ms with 1,974 functions (tests/mount/programs/starts).
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_FUNCTIONS_H
#define WINDLASS_TRACE_FUNCTIONS_FUNCTIONS_H

#include "core/edge/translator.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The requests to trace. They must match each kind of filter, and within a kind any of its values.
 * An empty filter matches all. */
struct functions_gate {
    GPtrArray *graph;       /* xlator_t: all translators that requests may meet, as for
                               watch_set */
    GPtrArray *translators; /* names (char *): only while the request is at one of these, or
                               below */
    uint64_t ops;           /* opset_t; 0: any */
    GPtrArray *paths;       /* as for call_is_at (char *) */
    GArray *pids;           /* int64_t: ids of processes, or of their threads */
};
#define FUNCTIONS_GATE_MAX 16 /* values per kind */

struct functions_wish {
    GPtrArray *globs; /* of names (char *), patterns of fnmatch(3); "!glob": excluded. Empty: all
                         functions */
    uint64_t min;     /* nanoseconds: only calls that took at least so long */
    uint64_t buffer;  /* bytes per thread, for its last calls */
    struct functions_gate gate; /* only for these requests */
};

#define FUNCTIONS_BUFFER_MIN (64 << 10)
#define FUNCTIONS_BUFFER_MAX (1 << 30)

/* Returns NULL, or the reason why this program can't be traced. */
const char *functions_missing (void);

/* Returns 0, or a negative errno with nothing changed. answer: the number of functions, or the
 * reason. */
int functions_start (const struct functions_wish *wish, GString *answer);

/* Call it after functions_start to leave out the calls that the main thread makes until its main
 * context is idle: they answer the command that started the trace. */
void functions_skip_answer (void);

/* The records stay until the next start. */
int functions_stop (GString *answer);

bool functions_are_traced (void);

/* The mount moves to another graph: a trace that is limited to some requests goes on with those of
 * the new one. No request may be under way. */
void functions_move (GPtrArray *graph);

/* Appends a piece of the records. where: "" at first, then the previous *ret_next. *ret_next: where
 * the next piece begins, or NULL (freed with g_free). Returns 0, or a negative errno and text in
 * out. The format: src/trace/functions/calls.h. */
int functions_read (const char *where, size_t size, GString *out, char **ret_next);

#endif

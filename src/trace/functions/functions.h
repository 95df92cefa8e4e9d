/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The function graph: which functions ran inside of which, on each thread, and how long each took.
 *
 *   sites.c     which functions there are, and their names
 *   patch.c     the calls in them: hook.h, patch.h
 *   hook.c      what is done at each entry and return
 *   functions.c starts and stops it
 *   read.c      what was recorded, for who prints it: src/trace/functions/calls.c
 *   gate.c      only what belongs to some requests
 *
 * All of it is on the main thread, but for the hooks.
 *
 * Reasons:
 *
 * - The compiler leaves room before each entry (-fpatchable-function-entry=7,5) and two bytes at
 *   it. The room is written while it can't be reached, and never again. A thread that is in it when
 *   the trace stops finds a hook that does nothing. Bytes that aren't as they were left, as under a
 *   gdb breakpoint, aren't touched. patch.h and the heads of patch-x86.c and patch-arm64.c have the
 *   steps.
 * - Without optimization the entry has endbr64 in place of nops (5,5 -fcf-protection=branch): gdb
 *   13 finds the end of a prologue by its instructions, knows endbr64 and not nop, and would stop
 *   before arguments are stored. A `static inline` function has no endbr64 there and isn't traced.
 *   windlass.pc gives those flags to translators built elsewhere: without optimization all their
 *   functions can be traced, with it all but static ones that are called by name alone. In a debug
 *   build set a breakpoint before a trace starts, or after it.
 * - A page near each module leads to hook_entry: the call in the room reaches 2 GB (AArch64 128
 *   MB). Code is made writable with mprotect for the moment; where that is refused the trace is,
 *   before any change.
 * - A record is made when a call ends: half the bytes, no stray ends, and --min costs nothing to
 *   print.
 * - The real return addresses are in struct hook_open of the thread. hook_return has an unwinding
 *   rule (a DWARF expression that searches them), so gdb's bt and the crash report go on through
 *   it, with a frame hook_return_here between two functions, also for calls that return after the
 *   stop.
 * - A gate (--fop and the like) is the thread's. A listener on the edge opens and closes it for
 *   what is deeper on the stack than the wind. It depends on which functions of core/edge/watch.c
 *   are between, see STACK_OF_NEXT in gate.c. Those are UNTRACED, or a trace would show its own
 *   watching on each edge.
 * - stop keeps what was recorded, and cat reads it without taking it away. The next start empties
 *   the rings. A module that is loaded while a trace is on is patched too (xlator_module_loaded).
 * - A traced call costs 57 to 115 ns in a release build (tests/bench/traced); off, the nops alone.
 *   To start takes 0.5 ms and to stop 0.3 ms with 1,974 functions (tests/mount/programs/starts).
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_FUNCTIONS_H
#define WINDLASS_TRACE_FUNCTIONS_FUNCTIONS_H

#include "core/edge/translator.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Which requests; of each kind any of those named, all kinds at once. What is empty is anything. */
struct functions_gate {
    GPtrArray *graph;       /* xlator_t: all that requests may meet, as watch_set wants them; they
                               outlive the trace */
    GPtrArray *translators; /* xlator_t: only while one of these has the request, or those below */
    uint64_t ops;           /* opset_t; 0: anything */
    GPtrArray *paths;       /* as call_is_at has it (char *) */
    GArray *pids;           /* int64_t: of a process, or of one of its threads */
};
#define FUNCTIONS_GATE_MAX 16 /* of each kind */

struct functions_wish {
    GPtrArray *globs; /* of names (char *), as fnmatch(3) has it; "!glob": not these. Empty: all
                         functions */
    uint64_t min;     /* nanoseconds: only calls that took at least so long */
    uint64_t buffer;  /* bytes for each thread, of which the last calls stay */
    struct functions_gate gate; /* only what is done for some requests */
};

#define FUNCTIONS_BUFFER_MIN (64 << 10)
#define FUNCTIONS_BUFFER_MAX (1 << 30)

/* NULL, or why this program can't. */
const char *functions_missing (void);

/* 0, or a negative errno; then nothing was changed. answer: how many functions, or why not. */
int functions_start (const struct functions_wish *wish, GString *answer);

/* What was recorded stays until the next start. */
int functions_stop (GString *answer);

bool functions_are_traced (void);

/* A piece of what was recorded, where the last one said, "" to begin with; *ret_next: where the
 * next one begins, or NULL (g_free it). 0, or a negative errno and text in out. What the bytes
 * mean: src/trace/functions/calls.h. */
int functions_read (const char *where, size_t size, GString *out, char **ret_next);

#endif

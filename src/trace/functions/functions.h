/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The function graph: which functions ran inside of which, on each thread, and how long each took.
 *
 *   sites.c     which functions there are, and their names
 *   patch.c     the calls in them: hook.h, patch.h
 *   hook.c      what is done at each entry and return
 *   functions.c starts and stops it
 *   read.c      what was recorded, for who prints it: src/trace/calls.c
 *   gate.c      only what belongs to some requests
 *
 * All of it is on the main thread, but for the hooks.
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_FUNCTIONS_H
#define WINDLASS_TRACE_FUNCTIONS_FUNCTIONS_H

#include "core/translator.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Which requests; of each kind any of those named, all kinds at once. What is empty is anything. */
struct functions_gate {
    GPtrArray *graph;       /* xlator_t: all that requests may meet, as watch_set wants them; they outlive the trace */
    GPtrArray *translators; /* xlator_t: only while one of these has the request, or those below */
    uint64_t ops;           /* opset_t; 0: anything */
    GPtrArray *paths;       /* as call_is_at has it (char *) */
    GArray *pids;           /* int64_t: of a process, or of one of its threads */
};
#define FUNCTIONS_GATE_MAX 16 /* of each kind */

struct functions_wish {
    GPtrArray *globs; /* of names (char *), as fnmatch(3) has it; "!glob": not these. Empty: all functions */
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

/* A piece of what was recorded, where the last one said, "" to begin with; *ret_next: where the next one begins, or NULL (g_free it).
 * 0, or a negative errno and text in out. What the bytes mean: src/trace/calls.h. */
int functions_read (const char *where, size_t size, GString *out, char **ret_next);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The last failures: which translator failed first, where in the source, and what each translator
 * above answered. The frames of a request hold all of that until stack_done, so a successful
 * request costs nothing. Code that answers an error hands the request to failure_note before
 * stack_done.
 *
 * Reasons:
 *
 * - When the bridge answers an error, or stack_done ends background work whose first call failed,
 *   the frames still tell which translator failed first. They are copied into a ring of 256, with
 *   path and process. Ordinary errors, by a table of errnos and operations, cost a load and a test.
 * - call_fail, answer_fail, frame_fail and request_err are macros, so that the recorded place is
 *   that of the caller. A frame's answer is lost when its parent reuses the frame for another wind.
 * - An error that a translator turns into success never reaches the top; src/trace/swallowed.c
 *   watches for these while it is on.
 */
#ifndef WINDLASS_CORE_REPORT_FAILURES_H
#define WINDLASS_CORE_REPORT_FAILURES_H

#include "core/edge/frame.h"
#include "core/table/opset.h"

#define FAILURES_MAX 256 /* failures that are remembered */
#define FAILURE_STEPS 24 /* translators recorded for a failure */
#define FAILURE_ERRNOS 256

/* A translator that answered with an error, or with success although a translator below failed. */
struct failure_step {
    char *translator, *type;      /* copies, since the graph may have been freed */
    enum fop op;
    const struct call_site *site; /* where it answered, or NULL. Modules are never unloaded */
    int op_errno;                 /* its answer; 0: success */
    int below;                    /* the error that the translator got from below; 0: it failed
                                   * first */
    char *why;                    /* the translator's own word: dumpops.why_failed; or NULL */
};

struct failure {
    struct timespec first, last; /* time of day; equal failures in a row are one with a count */
    unsigned times;
    uint64_t unique, caused_by;
    enum fop op;
    int op_errno; /* 0: the operation succeeded in the end */
    uid_t uid;
    pid_t pid;
    char *process, *path; /* "cat (4711)"; "" if unknown */
    unsigned n, more;     /* n: steps recorded; more: steps without room */
    struct failure_step steps[FAILURE_STEPS]; /* children first */
};

enum failure_level {
    FAILURES_NOTABLE, /* without errors that every program causes all the time: a missing name, a
                       * missing attribute */
    FAILURES_ALL,
};

/* The operations for which each error is not recorded now. Use failure_is_notable. */
extern const opset_t *failures_skipped; /* atomic */

static inline bool
failure_is_notable (enum fop op, int op_errno)
{
    return op_errno >= FAILURE_ERRNOS
        || !(__atomic_load_n (&failures_skipped, __ATOMIC_RELAXED)[op_errno] & OPSET_OF (op));
}

/* Records a request that the top answers with op_errno (positive; 0: a part of it failed), at site.
 * All calls of the request must have been answered. Reads /proc, so call it only after an error. */
void failure_note (const call_stack_t *root, int op_errno, const struct call_site *site);

/* Records work that no caller waits for, if the first call of its request failed; used as
 * stack_background_done. */
void failure_note_background (const call_stack_t *root);

/* Records the part of a request that belongs to one translator and those below it. */
void failure_note_frame (const call_frame_t *frame, int op_errno);

/* Logs, once for each place, the translator that first answered with an invalid errno
 * (error_is_known). */
void failure_warn_odd (const call_stack_t *root);

void failures_set_level (enum failure_level level);
void failures_clear (void);

/* Calls fn for each failure, the oldest first, under a lock that failing requests take: fn must be
 * short. Returns how many failures preceded these. */
uint64_t failures_foreach (void (*fn) (const struct failure *failure, void *data), void *data);

#endif

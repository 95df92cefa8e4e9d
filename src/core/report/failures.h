/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The last failures: who said it first, where in the source, and what each translator above made of
 * it. All of that is in the frames of a request until stack_done, so nothing is kept while a
 * request goes well; whoever answers an error hands the request over before that.
 *
 * Reasons:
 *
 * - When the bridge answers an error, or stack_done ends background work whose first call failed,
 *   the frames still hold which translator said it. They are copied into a ring of 256, with path
 *   and process. Ordinary errors, a table of errnos and operations, cost a load and a test.
 * - call_fail, answer_fail, frame_fail and request_err are macros, so that the place is the
 *   caller's. What a frame answered is lost when its parent winds again in its place.
 * - An error that a translator turns into success never reaches the top; src/trace/swallowed.c
 *   watches for these while it is on.
 */
#ifndef WINDLASS_CORE_REPORT_FAILURES_H
#define WINDLASS_CORE_REPORT_FAILURES_H

#include "core/edge/frame.h"
#include "core/table/opset.h"

#define FAILURES_MAX 256 /* that are remembered */
#define FAILURE_STEPS 24 /* translators that are told of one */
#define FAILURE_ERRNOS 256

/* A translator that answered with an error, or with success although one below it didn't. */
struct failure_step {
    char *translator, *type;      /* copies: the graph may be gone */
    enum fop op;
    const struct call_site *site; /* where it answered, or NULL. Modules are never unloaded */
    int op_errno;                 /* 0: success */
    int below;                    /* what it was answered itself; 0: it said it first */
};

struct failure {
    struct timespec first, last; /* time of day; the same one after the other is one with a count */
    unsigned times;
    uint64_t unique, caused_by;
    enum fop op;
    int op_errno; /* 0: it went well in the end */
    uid_t uid;
    pid_t pid;
    char *process, *path; /* "cat (4711)"; "" where it isn't known */
    unsigned n, more;     /* steps here, and those that have no place */
    struct failure_step steps[FAILURE_STEPS]; /* children first */
};

enum failure_level {
    FAILURES_NOTABLE, /* not what every program causes all the time: a name that isn't there, no
                         such attribute */
    FAILURES_ALL,
};

/* Which operations each error is ordinary for; what isn't recorded now. Use failure_is_notable. */
extern const opset_t *failures_skipped; /* atomic */

static inline bool
failure_is_notable (enum fop op, int op_errno)
{
    return op_errno >= FAILURE_ERRNOS
        || !(__atomic_load_n (&failures_skipped, __ATOMIC_RELAXED)[op_errno] & OPSET_OF (op));
}

/* Notes a request that its top answers with op_errno (positive; 0: something in it failed all the
 * same), at site. What is under way must have been answered. Reads /proc, so only on an error. */
void failure_note (const call_stack_t *root, int op_errno, const struct call_site *site);

/* The same of work that no caller waits for, if the first call of its request failed; it is
 * stack_background_done. */
void failure_note_background (const call_stack_t *root);

/* The same of one translator's part in a request, and of those below it. */
void failure_note_frame (const call_frame_t *frame, int op_errno);

/* A request was answered with what is no errno (error_is_known): logs, once for each place, who
 * said so first. */
void failure_warn_odd (const call_stack_t *root);

void failures_set_level (enum failure_level level);
enum failure_level failures_level (void);
void failures_clear (void);

/* Calls fn for each, the oldest first, under a lock that failing requests take: it must be short.
 * How many there were before those. */
uint64_t failures_foreach (void (*fn) (const struct failure *failure, void *data), void *data);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A slow operation as a table of steps. Each step is a fan-out; the table is their order:
 *
 *   static const struct step swap_steps[] = {
 *       STEP ("plan", NULL, swap_plan),
 *       STEP ("lock", swap_lock, swap_locked, .undo = swap_unlock, .always = true,
 *             .interruptible = true),
 *       STEP ("check", swap_look, swap_check, .again = "plan"),
 *       STEP ("link", swap_link, swap_linked, .undo = swap_unlink, .when = swap_needs_link),
 *       STEP ("rename", swap_rename, NULL),
 *       {},
 *   };
 *
 * The runner walks the table. For each step it calls `run`, which winds any number of calls with
 * STEP_WIND and returns. Once all their answers are there, it calls `judge`, whose result decides
 * which step is next. A step that winds nothing is judged at once.
 *
 * An error runs the undo of each step that was run, in reverse order, and then fails the request
 * with the first error. The step that failed is undone as well, since a part of its calls may have
 * succeeded: an undo takes back only the calls that the operation has recorded as successful. The
 * answers to the calls of an undo are awaited, and not judged.
 *
 * The request is answered by the last statement of the runner: all answers have come, and nothing
 * uses the sequence afterwards.
 *
 * A sequence is the first member of the local of its frame. One thread at a time works on it, the
 * thread that brought the last answer, so steps take no lock. Steps whose answers come inside the
 * wind are run by a loop, not by recursion, so a step may be repeated any number of times.
 *
 * Reports name the step of a running sequence: they find it in a list of all running sequences, by
 * the address of the frame. XLATOR_PARENT_DOWN goes to a translator only when none of its sequences
 * runs any more.
 */
#ifndef WINDLASS_CORE_EDGE_STEPS_H
#define WINDLASS_CORE_EDGE_STEPS_H

#include "core/edge/fan-out.h"

struct step {
    const char *name; /* a short verb, for reports and .again */

    void (*run) (void *local); /* winds the calls of the step; NULL: there are none */

    /* Judges the answers, and returns one of:
     *   0                    the next step
     *   a negative errno     undo, and fail
     *   STEP_REPEAT          run this step again, without an undo: for a list of unknown length
     *   STEP_AGAIN (errno_)  undo this step and those before it, back to the step .again, and go on
     *                        there; or fail with errno_ if the sequence has done so STEPS_TRIES
     *                        times
     *   STEP_END             skip all other steps, and succeed
     * NULL: fails with the errno of the first call that failed. */
    int (*judge) (void *local);

    /* Winds calls that take the step back, before an error is answered and before .again. */
    void (*undo) (void *local);

    bool (*when) (void *local); /* returns whether the step is run; NULL: always */
    const char *again;          /* name of this step or of one before it, for STEP_AGAIN */
    bool always;                /* undo also runs at the end of a sequence that succeeded */

    /* While the step waits, an interrupt of the caller is passed on to the request sequence.own. A
     * step that may change something is never interruptible, nor is any step after it. */
    bool interruptible;
};

#define STEP(name_, run_, judge_, ...)                                                             \
    {                                                                                              \
        .name = name_, .run = run_, .judge = judge_, __VA_ARGS__                                   \
    }

#define STEP_REPEAT 1
#define STEP_END 2
#define STEP_AGAIN(errno_) (STEP_END + (errno_))

#define STEPS_TRIES 5 /* of STEP_AGAIN, in one sequence */
#define STEPS_MAX 64  /* rows of a table */

/* A table at work: the first member of the local of `frame`. */
struct sequence {
    call_frame_t *frame; /* of the caller's request; it is answered at the end */
    call_frame_t *own;   /* first frame of a request that the translator made for this sequence, or
                          * NULL; the runner ends that request before it answers frame */
    struct fan_out fan;  /* the answers to the calls of the current step */
    int error;           /* the first error, a positive errno; an undo may read it */
    unsigned tries;      /* number of STEP_AGAIN so far */

    /* for core/edge/steps.c */
    const struct step *steps;
    void (*answer) (void *local);
    inode_t *about;                /* with a reference, or NULL */
    const struct step *now;        /* the current row; atomic: reports read it */
    bool undoes;                   /* the runner goes backwards; atomic: reports read it */
    const struct step *target;     /* the row where it stops going backwards */
    bool ends;                     /* and answers there */
    uint64_t begun;                /* bits of the rows that were run, and not undone */
    bool changed;                  /* a call that changes something was wound */
    bool interrupted;              /* an interrupt was passed on; lock of frame's request */
    struct interrupt_watch watch;
    struct sequence *next, *before; /* in the list of running sequences; running.lock */
};

/* For `judge`: no answer is an error. */
int step_ignore (void *local);

/* Starts a sequence. All of it but `own` is zeros, or as an earlier sequence of the same operation
 * has left it. n: number of slots for answers. about: the inode that the operation is about, for
 * reports, or NULL. answer unwinds frame with success, or continues the operation without a table;
 * a failure is answered by the runner. The operation may be over before this returns. */
void sequence_start (struct sequence *sequence, call_frame_t *frame, const struct step *steps,
                     unsigned n, inode_t *about, void (*answer) (void *local));

/* Frees the memory of a sequence; for local_drop. It takes a sequence that never started. */
void sequence_clear (struct sequence *sequence);

/* Winds fop_ to child_ from frame_, which is sequence.frame or sequence.own. The answer is
 * sequence_->fan.answers[slot_] for judge. */
#define STEP_WIND(sequence_, frame_, slot_, child_, fop_, ...)                                     \
    do {                                                                                           \
        struct sequence *const winding_ = (sequence_);                                             \
        sequence_winds (winding_, FOP_##fop_);                                                     \
        FAN_WIND_FROM (&winding_->fan, frame_, slot_, child_, fop_, __VA_ARGS__);                  \
    } while (0)

/* For STEP_WIND only. */
void sequence_winds (struct sequence *sequence, enum fop op);

/* --- for the core ----------------------------------------------------------------------------- */

/* The step of a running sequence. */
struct step_seen {
    const char *name; /* NULL: none */
    bool undoes;      /* the step is being undone */
};

/* Returns the step of the sequence that answers frame, or whose own request begins with it. frame
 * is only compared. may_wait is false in a crash report: then no lock is waited for. */
struct step_seen step_of_frame (const call_frame_t *frame, bool may_wait);

/* Appends "step lock", or "undo of step lock". */
void step_append (GString *out, const struct step_seen *step);

/* Appends a line for each sequence of a translator that is about an inode: "runs rename: step
 * lock". */
void steps_explain (const xlator_t *xl, const inode_t *inode, GString *out);

/* Waits until no sequence of a translator runs. */
void steps_wait (xlator_t *xl);

#endif

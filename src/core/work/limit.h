/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many operations of a class run at a time.
 *
 * An operation runs from limit_enter until its fop returns, answered or not: that is how long it
 * occupies a thread. At most `most` that began less than `age` ago run at a time. An older one
 * waits for a disk or a child, not for a processor, so it no longer counts; there may be `most_old`
 * of those. Further ones wait without a thread, as stubs, and processes take turns. The thread that
 * ends an operation runs the next that waits; when the oldest that counts grows old, a timer has
 * core/work run the next.
 *
 *   struct limit_turn turn;
 *   if (limit_enter (limit, &turn)) {
 *       call_pass (call);
 *       limit_leave (&turn);
 *   } else {
 *       limit_wait (limit, call_keep_to_pass (call));
 *   }
 */
#ifndef WINDLASS_CORE_WORK_LIMIT_H
#define WINDLASS_CORE_WORK_LIMIT_H

#include "core/edge/stub.h"
#include "core/edge/translator.h"
#include "core/time/thread.h"

#define LIMIT_MOST 64 /* of limit_new's most */

struct limit;

/* An operation that runs; on its thread's stack, or with what waits. */
struct limit_turn {
    struct limit *limit;
    unsigned slot;
    uint64_t since; /* ticks_now, and what is in the slot while the operation counts */
};

/* kind: "data operations"; option: which sets the number, "data-limit". Both live as long. age:
 * nanoseconds; 0: all that run count, whatever their age. */
struct limit *
limit_new (const char *kind, const char *option, unsigned most, int64_t age, unsigned most_old);

/* Nothing runs or waits any more but what core/work is at, for which it waits. Takes NULL. */
void limit_free (struct limit *limit);

/* Where no thread can be had for an operation, it runs in the one that brings it, although that may
 * not block; else it waits until one can. Before the first. */
void limit_run_anyway (struct limit *limit);

/* Another number, 1 to LIMIT_MOST. What runs goes on, and what may now run begins. */
void limit_set (struct limit *limit, unsigned most);

/* From now on so many begin in a second; 0: any number. */
void limit_set_rate (struct limit *limit, unsigned rate);

/* Whether the operation may run now, in this thread. If so, limit_leave follows when it has
 * returned; it may have been answered and be gone by then. */
bool limit_enter (struct limit *limit, struct limit_turn *ret_turn);
void limit_leave (struct limit_turn *turn);

/* The operation runs when it may: now, or by another thread. stub NULL: memory is out, and the
 * frame fails with ENOMEM. */
void limit_wait (struct limit *limit, call_frame_t *frame, call_stub_t *stub);

/* Waits until nothing waits, nor runs on another thread than those that entered, or until that time
 * of clock_now (-1: for ever). Whether that is so. */
bool limit_drain (struct limit *limit, int64_t until);

struct limit_numbers {
    unsigned most, running, old, waiting; /* running: without those that are old */
    uint64_t waited, cancelled;           /* ever: how many had to wait; and those of them that
                                             limit_cancel answered */
    int64_t longest;                      /* ns that one has waited */
};

struct limit_numbers limit_count (struct limit *limit);

/* Answers what waits for the request of that number, anywhere, with EINTR, and doesn't do it.
 * Returns whether anything did wait. What has to be done whether or not the caller is there
 * (call_stub_is_owed) goes on waiting. */
bool limit_cancel (uint64_t unique);

/* What the call of that frame waits for, if it waits here or (NULL) anywhere: appends to out. */
void limit_waits_for (const call_frame_t *frame, GString *out);

/* How many operations wait, for any limit. */
unsigned limit_count_waiting (void);

/* A line for each limit that operations wait for: "41 wait for one of 8 data operations
 * (data-limit); 520 have been at it for long". */
void limit_list (GString *out);

/* --- in the routes of a graph's top: core/work/limited-routes.c ------------------------------- */

/* A gate of limits: which limit each operation has. */
struct limits {
    struct xlator_gate gate; /* { &limited_fops } */
    struct limit *of[FOP_MAX];
};

extern const struct xlator_fops limited_fops;

#endif

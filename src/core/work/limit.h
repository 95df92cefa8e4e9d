/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits how many operations of a class run at a time.
 *
 * An operation runs from limit_enter until its fop returns, answered or not: the time for which it
 * occupies a thread. At most `most` operations that began less than `age` ago run at a time. An
 * older operation waits for a disk or a child, not for a processor, and no longer counts; there may
 * be `most_old` of these. Further operations wait as stubs, without a thread, and processes take
 * turns. The thread that ends an operation runs the next waiting one. When the oldest counted
 * operation reaches `age`, a timer has core/work run the next one.
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

#define LIMIT_MOST 64 /* the largest value of most */

struct limit;

/* A running operation; on its thread's stack, or in the struct of a waiting operation. */
struct limit_turn {
    struct limit *limit;
    unsigned slot;
    uint64_t since; /* ticks_now at its start; also the slot's content while the operation counts */
};

/* kind: "data operations"; option: the name of the option that sets the number, "data-limit". Both
 * must live as long as the limit. age: in nanoseconds; 0: all running operations count, whatever
 * their age. */
struct limit *
limit_new (const char *kind, const char *option, unsigned most, int64_t age, unsigned most_old);

/* Waits for the operations that core/work runs. No others may run or wait any more. Takes NULL. */
void limit_free (struct limit *limit);

/* If no thread is available for an operation, the calling thread runs it, although it may be a
 * thread that must not block. Otherwise the operation waits for a thread. Call this before the
 * first operation. */
void limit_run_anyway (struct limit *limit);

/* Changes the number, 1 to LIMIT_MOST. Running operations are not affected; waiting ones that fit
 * now begin. */
void limit_set (struct limit *limit, unsigned most);

/* Limits how many operations begin per second; 0: no limit. */
void limit_set_rate (struct limit *limit, unsigned rate);

/* Returns whether the operation may run now, on this thread. If so, call limit_leave after its fop
 * has returned. The operation may have been answered and freed by then. */
bool limit_enter (struct limit *limit, struct limit_turn *ret_turn);
void limit_leave (struct limit_turn *turn);

/* Runs the operation when the limit allows: now, or later on another thread. stub NULL: there is no
 * memory, and the frame fails with ENOMEM. */
void limit_wait (struct limit *limit, call_frame_t *frame, call_stub_t *stub);

/* Waits until no operation waits, and none runs on threads of core/work, or until a time of
 * clock_now (-1: no limit). Returns whether that state was reached. */
bool limit_drain (struct limit *limit, int64_t until);

struct limit_numbers {
    unsigned most, running, old, waiting; /* running: without the old ones */
    uint64_t waited, cancelled;           /* since the start: operations that had to wait, and those
                                           * of them that limit_cancel answered */
    int64_t longest;                      /* longest wait, in nanoseconds */
};

struct limit_numbers limit_count (struct limit *limit);

/* Answers the waiting operation of a request, under any limit, with EINTR, without running it.
 * Returns whether one waited. Operations that must be done even if the caller is gone
 * (call_stub_is_owed) are not cancelled. */
bool limit_cancel (uint64_t unique);

/* Appends what the call of a frame waits for, if it waits for a limit. */
void limit_waits_for (const call_frame_t *frame, GString *out);

/* Returns how many operations wait, for any limit. */
unsigned limit_count_waiting (void);

/* Appends a line for each limit that operations wait for: "41 wait for one of 8 data operations
 * (data-limit); 520 have been at it for long". */
void limit_list (GString *out);

/* --- for the routes of a graph's top: core/work/limited-routes.c ------------------------------ */

/* A gate with a limit for each operation. */
struct limits {
    struct xlator_gate gate; /* { &limited_fops } */
    struct limit *of[FOP_MAX];
};

extern const struct xlator_fops limited_fops;

#endif

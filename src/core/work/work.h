/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only pool of threads: work-0, work-1, ... They run what the thread that has it may not run
 * itself (thread_may_not_block). A thread comes when there is work and none rests, up to
 * WORK_THREADS, and ends when it had none for ten seconds. The thread that rested last is called
 * first.
 */
#ifndef WINDLASS_CORE_WORK_WORK_H
#define WINDLASS_CORE_WORK_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define WORK_THREADS 1024

/* It is part of what run needs; run owns its memory from the call on. */
struct work_item {
    void (*run) (struct work_item *work);
    struct work_item *next;
};

/* A part of the program uses the pool from now on; or no longer. The last one to leave waits for
 * all work, and ends the threads. */
void work_use (void);
void work_leave (void);

/* Has work->run called once, without a lock held, by a thread of the pool; by that of the timers if
 * there is none and none can be started. In the order in which it came. Between work_use and
 * work_leave; under any lock but a timer's. */
void work_put (struct work_item *work);

/* The same, if a thread rests or can be started; else it is not put, and false returned. For what
 * may be blocked for ever, and had better wait than block the timers' thread. */
bool work_try (struct work_item *work);

/* No thread rests, and none can be started just now. */
bool work_is_short (void);

/* Waits until there is no work, or until that time of clock_now (-1: for ever). Returns whether
 * there is none. */
bool work_wait (int64_t until);

/* What waits for a thread; threads that run something; all threads. */
struct work_numbers {
    unsigned waiting, busy, threads;
};

struct work_numbers work_count (void);

#endif

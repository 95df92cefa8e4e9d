/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only pool of threads: work-0, work-1, ... They run work that its creator must not run on its
 * own thread (thread_may_not_block). A thread is started if there is work and no thread is idle, up
 * to WORK_THREADS. A thread ends after ten seconds without work. The thread that became idle last
 * is called first.
 */
#ifndef WINDLASS_CORE_WORK_WORK_H
#define WINDLASS_CORE_WORK_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define WORK_THREADS 1024

/* Embedded in the data that run needs. run owns that memory from the call on. */
struct work_item {
    void (*run) (struct work_item *work);
    struct work_item *next;
};

/* Register and unregister a user of the pool. The last work_leave waits for all work, and ends the
 * threads. */
void work_use (void);
void work_leave (void);

/* Has a thread of the pool call work->run once, without a lock held, in the order of the calls; the
 * timer thread calls it if the pool has no thread and can start none. Call this between work_use
 * and work_leave, under any lock except that of timers. */
void work_put (struct work_item *work);

/* The same, if a thread is idle or can be started. Otherwise returns false and the work isn't put.
 * For work that may block for ever, and should rather wait than block the timer thread. */
bool work_try (struct work_item *work);

/* Returns whether no thread is idle, and none can be started now. */
bool work_is_short (void);

/* Waits until there is no work, or until a time of clock_now (-1: no limit). Returns whether there
 * is none. */
bool work_wait (int64_t until);

/* waiting: work without a thread; busy: work that a thread runs; threads: all threads. */
struct work_numbers {
    unsigned waiting, busy, threads;
};

struct work_numbers work_count (void);

#endif

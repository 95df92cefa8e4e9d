/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A scheduler that takes time, timers, threads and random numbers from a seed, so that a run of a
 * graph can be repeated. Only `windlass conform` and tests start a scheduler. Without it
 * scheduler_on is false, and clock, timer, thread and random use the system.
 *
 *   time      advances by a microsecond at each step, and jumps to the next timer when that is
 *             called; the day begins on 2001-09-09
 *   timers    wait in order; the code that runs the scheduler calls them, not a thread
 *   threads   of thread_new exist, but one at a time runs: it has the baton until it waits
 *             (thread_cond_wait, thread_cond_wait_until, thread_join) or ends
 *
 * Limits: a thread that blocks elsewhere, in pthread_cond_wait or a system call, keeps the baton. A
 * thread that waits while it holds a second lock blocks every thread that wants that lock. A thread
 * loses the baton nowhere else, so races between two running threads are not found here, but by the
 * thread sanitizer. Not for translators.
 */
#ifndef WINDLASS_CORE_TIME_SCHEDULER_H
#define WINDLASS_CORE_TIME_SCHEDULER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Set while a scheduler exists. Changes only while the process has one thread that uses the
 * core. */
extern bool scheduler_on;

/* Puts the calling thread, and threads that it starts from now on, under a scheduler. No timer may
 * be waiting, and no other thread may be in the core. */
void scheduler_begin (uint64_t seed);

/* Returns to the system's time. All threads started meanwhile must have ended. Waiting timers are
 * dropped without a call. */
void scheduler_end (void);

/* The possible next steps: threads that are ready to run, and timers. scheduler_run lets a thread
 * (number below scheduler_threads) run until it waits or ends. scheduler_fire advances the time,
 * and calls the next timer or ends a thread's timed wait. Both advance the time by a microsecond.
 * Only the thread that called scheduler_begin may call them. */
unsigned scheduler_threads (void);
bool scheduler_timers (void);
void scheduler_run (unsigned thread);
void scheduler_fire (void);

/* Advances the time, possibly past timers, which are due then. */
void scheduler_pass (int64_t nanoseconds);

/* Takes one of these steps at random, timers last. Returns false if there is nothing to do. */
bool scheduler_step (void);

/* --- for clock, timer, thread and random ------------------------------------------------------ */

int64_t scheduler_now (void);
struct timespec scheduler_today (void);
uint64_t scheduler_seed (void);
int scheduler_thread_new (pthread_t *ret_thread, void *(*run) (void *data), void *data);
void scheduler_join (pthread_t thread);

/* until: a time of clock_now, or -1 for no limit. Returns 0, or -ETIMEDOUT. */
int scheduler_wait (pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);
void scheduler_signal (pthread_cond_t *cond, bool all);

/* In timer.c. timers_next returns when the next timer is due, or -1; timers_call calls that timer;
 * timers_drop drops all timers. */
int64_t timers_next (void);
void timers_call (void);
void timers_drop (void);

#endif

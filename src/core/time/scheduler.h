/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program whose time, timers, threads and random numbers come from a seed, so that what a graph
 * does can be done again. Only `windlass conform` and tests start one; without it core/clock,
 * timer, thread and random find scheduler_on unset, and ask the system.
 *
 *   time      stands still but for a microsecond at each step, and jumps to the next timer when
 *             that is called; the day begins on 2001-09-09
 *   timers    wait in order; whoever runs the scheduler calls them: no thread does
 *   threads   of thread_new exist, but one at a time runs: it has the baton until it waits
 *             (thread_cond_wait, thread_cond_wait_until, thread_join) or ends
 *
 * What it can't see: a thread that blocks elsewhere, in pthread_cond_wait or a system call, keeps
 * the baton meanwhile; and one that waits with a second lock held stops everybody who wants that. A
 * thread loses the baton nowhere else, so races of two that run at once are the thread sanitizer's
 * to find. Not for translators.
 */
#ifndef WINDLASS_CORE_TIME_SCHEDULER_H
#define WINDLASS_CORE_TIME_SCHEDULER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Is there one? Set and unset while the process has one thread that uses the core. */
extern bool scheduler_on;

/* The calling thread, and those it starts from now on, run under a scheduler. No timer waits and no
 * other thread is in the core. */
void scheduler_begin (uint64_t seed);

/* Back to the system's time. Every thread that was started has ended; timers that still wait are
 * dropped, uncalled. */
void scheduler_end (void);

/* What can be done next: threads that could run on, and timers. scheduler_run lets that thread
 * (below scheduler_threads) run until it waits or ends; scheduler_fire takes the time forward and
 * calls the next timer, or lets a thread's patience end. Both take the time a microsecond on, and
 * are called by the thread that began. */
unsigned scheduler_threads (void);
bool scheduler_timers (void);
void scheduler_run (unsigned thread);
void scheduler_fire (void);

/* Takes the time forward, past timers too, which are due then. */
void scheduler_pass (int64_t nanoseconds);

/* One of these by chance, timers last; false when there is nothing to do. */
bool scheduler_step (void);

/* --- for clock, timer, thread and random ------------------------------------------------------ */

int64_t scheduler_now (void);
struct timespec scheduler_today (void);
uint64_t scheduler_seed (void);
int scheduler_thread_new (pthread_t *ret_thread, void *(*run) (void *data), void *data);
void scheduler_join (pthread_t thread);

/* until: a time of clock_now, or -1. 0, or -ETIMEDOUT. */
int scheduler_wait (pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);
void scheduler_signal (pthread_cond_t *cond, bool all);

/* timer.c: when the next is due, or -1; calls it; drops them all. */
int64_t timers_next (void);
void timers_call (void);
void timers_drop (void);

#endif

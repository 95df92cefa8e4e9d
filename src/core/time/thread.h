/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads with names, and what they wait for each other with. A translator uses these in place of
 * pthread_create, pthread_cond_wait, pthread_cond_signal and pthread_join, so that its threads can
 * be run one at a time, in an order that a seed decides: core/time/scheduler.h. Locks are pthread's
 * own: one that is held for a moment needs nothing.
 */
#ifndef WINDLASS_CORE_TIME_THREAD_H
#define WINDLASS_CORE_TIME_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts a thread called name (15 characters at most; gdb's `info threads` and top show it). All
 * signals are blocked in it, and its umask and working directory are its own (unshare(CLONE_FS)),
 * so that it can act with a caller's umask. 0, or a negative errno. */
int thread_new (pthread_t *ret_thread, const char *name, void *(*run) (void *data), void *data);

/* What thread_new does to a new thread, for one that is there already. */
void thread_adopt (const char *name);

/* This thread runs on that processor alone from now on, but threads that it starts anywhere. false:
 * it may not, or there is no such, and it runs where it ran. */
bool thread_stay_on (int cpu);

/* What this thread does is short, and somebody waits for it: it is to have the processor before
 * others, who make way at once. nice: how much less nice it is from now on than it was, where the
 * process may (CAP_SYS_NICE, RLIMIT_NICE). Threads that it starts aren't like that. 0; or a
 * negative errno, and it is only as nice as before. Linux before 6.12 knows no short slices:
 * sched_setattr(2). */
int thread_come_first (int nice);

/* The system's number of this thread; 0 for one that was neither started nor adopted here. */
extern __thread pid_t thread_id;

/* No other thread takes requests, or calls timers, while this one is blocked: what may block is for
 * core/work. */
extern __thread bool thread_may_not_block;

/* What this thread does before it begins or takes up another request than the one it is at, or
 * NULL: it has an answer that goes out when it is done with that one. */
extern __thread void (*thread_before_other) (void);

/* This thread waits for work, and has none; or no longer. For reports: at most a few threads do it,
 * and where they park. */
void thread_set_idle (bool idle);
bool thread_is_idle (pid_t thread);

/* Waits until it ends. */
void thread_join (pthread_t thread);

/* A condition whose waits can end at a time of clock_now. */
void thread_cond_init (pthread_cond_t *ret_cond);

/* The same as those of pthread. */
void thread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);
void thread_cond_signal (pthread_cond_t *cond);
void thread_cond_broadcast (pthread_cond_t *cond);

/* Waits until it is signalled or the time has come. 0, or -ETIMEDOUT. */
int thread_cond_wait_until (pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

#endif

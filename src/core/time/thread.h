/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Named threads, and conditions for waiting. A translator uses these in place of pthread_create,
 * pthread_cond_wait, pthread_cond_signal and pthread_join, so that its threads can be run one at a
 * time, in an order that a seed decides: core/time/scheduler.h. Mutexes are pthread's own, since
 * they are held only briefly.
 */
#ifndef WINDLASS_CORE_TIME_THREAD_H
#define WINDLASS_CORE_TIME_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts a thread with a name (15 characters at most; gdb's `info threads` and top show it). All
 * signals except those of crashes are blocked in it, and their handlers have a stack of their own
 * (SA_ONSTACK). Its umask and working directory are its own
 * (unshare(CLONE_FS)), so that it can act with a caller's umask. 0, or a negative errno. */
int thread_new (pthread_t *ret_thread, const char *name, void *(*run) (void *data), void *data);

/* Names an existing thread and gives it an own umask and working directory, as thread_new does. */
void thread_adopt (const char *name);

/* Binds this thread to a processor; threads that it starts are not bound. Returns false if the
 * processor doesn't exist or isn't allowed; the thread then runs where it ran before. */
bool thread_stay_on (int cpu);

/* Lets this thread run before others: for short work that another thread waits for. Sets the
 * shortest time slice, so that the scheduler preempts other threads for it, and lowers its nice
 * value by nice if the process may (CAP_SYS_NICE, RLIMIT_NICE). Threads that it starts don't
 * inherit either. 0, or a negative errno; then the nice value is unchanged. Linux before 6.12 has
 * no short slices: sched_setattr(2). */
int thread_come_first (int nice);

/* Threads that thread_new starts from now on give up all capabilities before they run, whatever the
 * caller keeps for itself: capset(2) applies to one thread alone, so it is too late afterwards. To
 * be called before there is another thread. */
void thread_others_powerless (void);

/* The system's number of this thread; 0 unless thread_new or thread_adopt was used. */
extern __thread pid_t thread_id;

/* Set in threads that must not block, since no other thread takes their requests, or calls timers,
 * meanwhile. Work that may block goes to core/work. */
extern __thread bool thread_may_not_block;

/* Called before this thread begins or takes another request than its current one; NULL: nothing to
 * do. The function sends an answer that the thread holds until the current request is done. */
extern __thread void (*thread_before_other) (void);

/* Records that this thread waits for work, or that it stopped waiting; for reports. At most a few
 * threads call this, at the places where they park. */
void thread_set_idle (bool idle);
bool thread_is_idle (pid_t thread);

/* Makes every other thread of the process pass a full memory barrier before this returns, and the
 * calling thread, too (membarrier(2)). So a rare path can pay for the order that a frequent path
 * needs:
 *
 *     rare path       store x; thread_barrier; load y
 *     frequent path   store y; thread_keep_order; load x
 *
 * At least one of the two paths sees the other's store. If the frequent path had loaded x before
 * the barrier, its earlier store of y has become visible with the barrier. Else it loads x after
 * the barrier, and so after the store. thread_keep_order binds the compiler alone, and costs no
 * instruction.
 *
 * Returns false if the kernel can't do this: then a frequent path may miss the store of x. The
 * first call of a process may take milliseconds, later calls microseconds. */
bool thread_barrier (void);
#define thread_keep_order() __atomic_signal_fence (__ATOMIC_SEQ_CST)

/* Waits until the thread ends. */
void thread_join (pthread_t thread);

/* Initialises a condition for thread_cond_wait_until, whose time is that of clock_now. */
void thread_cond_init (pthread_cond_t *ret_cond);

/* Like their counterparts in pthread. */
void thread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);
void thread_cond_signal (pthread_cond_t *cond);
void thread_cond_broadcast (pthread_cond_t *cond);

/* Waits for a signal, or until the time `until`. 0, or -ETIMEDOUT. */
int thread_cond_wait_until (pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

#endif

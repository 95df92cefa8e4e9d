/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads with names. */
#ifndef WINDLASS_CORE_THREAD_H
#define WINDLASS_CORE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread called name (15 characters at most; gdb's `info threads` and top show it). All
 * signals are blocked in it, and its umask and working directory are its own (unshare(CLONE_FS)), so
 * that it can act with a caller's umask. 0, or a negative errno. */
int thread_new (pthread_t *ret_thread, const char *name, void *(*run) (void *data), void *data);

/* What thread_new does to a new thread, for one that is there already. */
void thread_adopt (const char *name);

/* A condition whose waits can end at a time of clock_now. */
void thread_cond_init (pthread_cond_t *ret_cond);

/* Waits until it is signalled or the time has come. 0, or -ETIMEDOUT. */
int thread_cond_wait_until (pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

#endif

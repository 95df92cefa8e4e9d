/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Delayed calls, made by a thread called "timer"; under a scheduler (core/time/scheduler.h), by the
 * scheduler. */
#ifndef WINDLASS_CORE_TIME_TIMER_H
#define WINDLASS_CORE_TIME_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the timer thread if it isn't running. 0, or a negative errno, which is also logged. A
 * daemon calls this before it mounts. */
int timers_start (void);

typedef struct core_timer core_timer_t;

/* Calls fn once, after so many nanoseconds, without a lock held. fn must be short, since other
 * timers wait for it; fn may wind and unwind if the other side doesn't block. Never returns NULL.
 * The timer is freed after the call of fn. If the thread can't be started, the timer waits until a
 * later timer_after or timers_start starts the thread; there is one try a second. */
core_timer_t *timer_after (int64_t nanoseconds, void (*fn) (void *data), void *data);

/* Cancels a timer. Returns true if fn will not be called. Returns false if fn is being called.
 * After that call the pointer is invalid, so only call this if fn is known not to have finished: fn
 * and the caller share a flag under a lock of theirs. */
bool timer_cancel (core_timer_t *timer);

/* Returns the number of waiting timers. */
unsigned timer_count (void);

#endif

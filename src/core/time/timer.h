/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that are made later, by one thread called "timer"; under a scheduler
 * (core/time/scheduler.h) by that. */
#ifndef WINDLASS_CORE_TIME_TIMER_H
#define WINDLASS_CORE_TIME_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the timers' thread if it isn't there. 0, or a negative errno, which the log tells too. A
 * daemon calls this before it mounts anything. */
int timers_start (void);

typedef struct core_timer core_timer_t;

/* Has fn called once, nanoseconds from now, without a lock held. It must be short: other timers
 * wait for it; winding and unwinding are fine where the other side doesn't block. Never NULL. The
 * timer is gone when fn was called. If the thread isn't there and can't be started, the timer waits
 * until a later timer_after or timers_start starts it; one try a second. */
core_timer_t *timer_after (int64_t nanoseconds, void (*fn) (void *data), void *data);

/* Takes it back. true: fn will not be called. false: it was, or is being called just now; then
 * timer is not a pointer to use any more, so only one who knows that fn wasn't called yet, by a
 * flag that both set under a lock of theirs, may ask. */
bool timer_cancel (core_timer_t *timer);

/* How many are waiting. */
unsigned timer_count (void);

#endif

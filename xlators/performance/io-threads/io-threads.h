/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/io-threads: limits how many operations run below at a time, by priority.
 *
 *   io-threads.c   options, init, reconfigure, notify, fini
 *   fops.c         calls from above, and their priority
 *   stuck.c        the watchdog: a priority in which no call goes on
 *   dump.c         reports
 *
 * GlusterFS hands each call to a thread of a pool. Here a call runs in the thread that brings it,
 * as long as fewer calls of its priority run than its option says. Otherwise it waits without a
 * thread; processes take turns, and the thread that ends a call runs the next one
 * (core/work/limit.h).
 *
 * - All calls that run count, whatever their age (limit.h): the options ask for fixed numbers. Each
 *   priority has its own number, and thread-count is the highest of any priority. In GlusterFS all
 *   four share thread-count, so sixteen reads that hang stop a lookup.
 * - A lock that waits passes its limit: otherwise it would hold the place that the unlock needs.
 * - Turns go by process, but the kernel sends the number of a thread. Finding the process takes
 *   reading /proc, so it is done only for calls that wait, and remembered for a quarter of a
 *   second.
 * - The kernel reports every signal. EINTR is right for a process that dies or handles a signal,
 *   but wrong for a program whose timer ticks, where no local file system fails. So pending signals
 *   are examined (core/base/process.h). A call that a killed process owes at close, such as flush,
 *   is never dropped.
 */
#ifndef WINDLASS_IO_THREADS_H
#define WINDLASS_IO_THREADS_H

#include "xlator.h"

#include <errno.h>

#define IOT_THREADS_MAX LIMIT_MOST

enum iot_priority {
    IOT_HIGH,
    IOT_NORMAL,
    IOT_LOW,
    IOT_LEAST,
    IOT_PRIORITIES,
};

/* What the watchdog saw last of a priority. Only the timer uses it. */
struct iot_seen {
    uint64_t begun; /* number of calls that waited and went on */
    unsigned raised; /* additions to the option's limit */
};

typedef struct {
    /* Options. They change while requests run: lock, unless noted otherwise. */
    int threads, limits[IOT_PRIORITIES], watchdog_seconds, least_rate;
    bool least; /* atomic */

    struct limit *of[IOT_PRIORITIES]; /* constant */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signalled when the watchdog's timer callback is done */
    core_timer_t *timer;    /* lock; NULL: none, or its callback runs */
    bool looking;           /* lock; its callback runs */
    struct iot_seen seen[IOT_PRIORITIES];
} iot_private_t;

/* The options' limit of running calls of that priority. Under priv->lock. */
static inline unsigned
iot_most_locked (const iot_private_t *priv, enum iot_priority priority)
{
    return (unsigned) MIN (priv->limits[priority], priv->threads);
}

/* fops.c */
any_fop_t iot_any_fop;

/* stuck.c: starts the watchdog if an option says so, under priv->lock; stops it. */
void iot_watch_locked (xlator_t *this);
void iot_unwatch (iot_private_t *priv);

/* dump.c */
extern const char *const iot_priority_names[IOT_PRIORITIES];
void iot_dump (xlator_t *this, GString *out);
void iot_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
bool iot_answers_sizes (const struct call *call); /* answers a request for the queue lengths; false:
                                                     the call is no such request */

#endif

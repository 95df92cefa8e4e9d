/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/io-threads: limits of how many operations run below at a time, by priority.
 *
 *   io-threads.c   options, beginning, changing, end
 *   fops.c         what comes down, and its priority
 *   stuck.c        a priority of which nothing goes on any more
 *   dump.c         what is told of all that
 *
 * GlusterFS hands each call to a thread of a pool. Here a call runs in the thread that brings it,
 * as long as fewer of its priority run than its option says; else it waits without a thread,
 * processes take turns, and the thread that ends one runs the next (core/work/limit.h).
 *
 * - The limits have no age: the options ask for so many. Each priority has its own number and
 *   thread-count is the highest of any one. In GlusterFS all four share thread-count, so sixteen
 *   reads that hang stop a lookup.
 * - A lock that waits passes its limit: it would hold the place that the unlock needs.
 * - The turn is the process's, not the thread's, whose number the kernel sends. To find it takes
 *   reading /proc, so it is done only for calls that wait, and remembered for a quarter of a
 *   second.
 * - The kernel tells of every signal. EINTR is right for a process that dies or handles a signal,
 *   wrong for a program whose timer ticks, where no local file system fails. So pending signals are
 *   looked at (core/base/process.h). A call that a killed process owes at close, such as flush, is
 *   never dropped.
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

/* What the watchdog saw last of a priority. The timer's own. */
struct iot_seen {
    uint64_t begun; /* calls that waited and went on */
    unsigned raised; /* above its option */
};

typedef struct {
    /* Options. They change while requests run: lock, but for those that say otherwise. */
    int threads, limits[IOT_PRIORITIES], watchdog_seconds, least_rate;
    bool least; /* atomic */

    struct limit *of[IOT_PRIORITIES]; /* constant */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the watchdog's timer is done */
    core_timer_t *timer;    /* lock; NULL: none, or it is being called */
    bool looking;           /* lock; it is */
    struct iot_seen seen[IOT_PRIORITIES];
} iot_private_t;

/* fops.c */
every_fop iot_every;
extern const char *const iot_priority_names[IOT_PRIORITIES];

/* io-threads.c: how many calls of that priority may run at a time, by the options. Under
 * priv->lock. */
unsigned iot_most_locked (const iot_private_t *priv, enum iot_priority priority);

/* stuck.c: the watchdog looks from now on, if an option says so, under priv->lock; and no more. */
void iot_watch_locked (xlator_t *this);
void iot_unwatch (iot_private_t *priv);

/* dump.c */
void iot_dump (xlator_t *this, GString *out);
void iot_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
bool iot_answers_sizes (const struct call *call); /* it asked for the numbers of calls that wait,
                                                     and was answered */

#endif

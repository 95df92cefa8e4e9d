/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starting a thread, an io_uring or the like. What failed for want of threads, memory or
 * descriptors is tried again after a pause, not by each request that could use it: every try costs
 * the kernel time and memory, which it may need a while to free.
 */
#ifndef WINDLASS_CORE_TIME_ATTEMPT_H
#define WINDLASS_CORE_TIME_ATTEMPT_H

#include "core/base/log.h"

/* All zero at first. Any number of threads may use one at a time. */
struct attempt {
    int64_t due;     /* clock_now of the next try; atomic */
    unsigned failed; /* tries since the last success; atomic */
    unsigned total;  /* tries that ever failed; atomic */
};

/* Whether it may be tried: nothing failed within the last second. */
bool attempt_is_due (const struct attempt *attempt);

/* Tells how a try ended: r is 0, or a negative errno. The first failure in a row is logged as a
 * warning with the limit that may be the reason, and the next success with the number of failures
 * before it. what: "thread of the pool 'x'"; this_, a translator, may be NULL. Returns r. */
#define attempt_ended(attempt_, this_, r_, ...) \
    attempt_ended_of (attempt_, LOG_SOURCE (this_), r_, __VA_ARGS__)
int attempt_ended_of (struct attempt *attempt, const struct log_source *source, int r,
                      const char *format, ...) G_GNUC_PRINTF (4, 5);

/* What that errno means for a start, with the limit that may be the reason where there is one, as a
 * user can look it up. g_free it. */
char *attempt_reason (int error);

#endif

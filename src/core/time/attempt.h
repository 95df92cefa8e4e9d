/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attempts to start a thread, an io_uring or the like. After a failure for lack of threads, memory
 * or descriptors, the next attempt is made after a pause and not by each request that could use the
 * result: every attempt costs the kernel time, and memory that it may need a while to free.
 */
#ifndef WINDLASS_CORE_TIME_ATTEMPT_H
#define WINDLASS_CORE_TIME_ATTEMPT_H

#include "core/base/log.h"

/* Initially all zeros. Any number of threads may use an attempt at a time. */
struct attempt {
    int64_t due;     /* clock_now of the next attempt; atomic */
    unsigned failed; /* failures since the last success; atomic */
    unsigned total;  /* failures ever; atomic */
};

/* Returns whether an attempt may be made: there was no failure within the last second. */
bool attempt_is_due (const struct attempt *attempt);

/* Records the result of an attempt: r_ is 0, or a negative errno. The first failure in a row is
 * logged as a warning with the limit that may be the reason, and the next success with the number
 * of failures before it. The format names what was started: "thread of the pool 'x'". this_, a
 * translator, may be NULL. Returns r_. */
#define attempt_ended(attempt_, this_, r_, ...) \
    attempt_ended_of (attempt_, LOG_SOURCE (this_), r_, __VA_ARGS__)
int attempt_ended_of (struct attempt *attempt, const struct log_source *source, int r,
                      const char *format, ...) G_GNUC_PRINTF (4, 5);

/* Returns a text for the errno of a failed start, with the limit that may be the reason, if there
 * is one, as a user would look it up. g_free it. */
char *attempt_reason (int error);

#endif

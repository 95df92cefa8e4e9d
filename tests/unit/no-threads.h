/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An exhausted limit of threads, for the process of a single case. */
#ifndef WINDLASS_TESTS_NO_THREADS_H
#define WINDLASS_TESTS_NO_THREADS_H

#include <check.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static inline void
threads_limit (rlim_t soft)
{
    struct rlimit limit;

    ck_assert_int_eq (getrlimit (RLIMIT_NPROC, &limit), 0);
    limit.rlim_cur = soft == RLIM_INFINITY ? limit.rlim_max : soft;
    ck_assert_int_eq (setrlimit (RLIMIT_NPROC, &limit), 0);
}

/* From now on no thread can be started (EAGAIN). The kernel never limits root's threads, so root
 * becomes an ordinary user permanently. At its end the leak sanitizer starts a thread that traces
 * the process: call threads_allow before. */
static inline void
threads_forbid (void)
{
    if (geteuid () == 0)
        ck_assert_int_eq (setresuid (65534, 65534, 65534), 0);
    ck_assert_int_eq (prctl (PR_SET_DUMPABLE, 1), 0);
    threads_limit (0);
}

static inline void
threads_allow (void)
{
    threads_limit (RLIM_INFINITY);
}

#endif

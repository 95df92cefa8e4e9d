/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A limit of threads that is reached, for the process of one case. */
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

/* From here on no thread can be started (EAGAIN). The kernel never limits root's threads, so root
 * becomes an ordinary user for good. The leak sanitizer starts a thread that traces the process at
 * its end: threads_allow comes first. */
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

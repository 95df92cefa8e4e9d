/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/attempt.h"
#include "core/time/clock.h"
#include "core/base/log.h"

#include <errno.h>
#include <stdarg.h>

#define PAUSE INT64_C (1000000000) /* ns */

bool
attempt_is_due (const struct attempt *attempt)
{
    const int64_t due = __atomic_load_n (&attempt->due, __ATOMIC_RELAXED);

    return G_LIKELY (due == 0) || clock_now () >= due;
}

static const char *
attempt_limit_of (int error)
{
    switch (error) {
    case ENOMEM:
        return "RLIMIT_MEMLOCK (ulimit -l), which counts the io_urings of all mounts of a user, or "
               "the machine's memory";
    case EAGAIN:
        return "RLIMIT_NPROC (ulimit -u), the pids limit of the control group, or the kernel's "
               "threads-max";
    case EMFILE: return "RLIMIT_NOFILE (ulimit -n)";
    case ENFILE: return "the kernel's fs.file-max";
    default: return NULL;
    }
}

char *
attempt_reason (int error)
{
    const char *limit = attempt_limit_of (error);

    return g_strconcat (g_strerror (error), limit ? ". What limits it is " : NULL, limit, NULL);
}

static void
attempt_message (const struct log_source *source, int r, unsigned failed, const char *what)
{
    g_autofree char *reason = attempt_reason (-r);
    g_autofree char *text =
        r == 0 ? g_strdup_printf ("a %s could be started again, after %u failures", what, failed)
               : g_strdup_printf ("can't start a %s: %s; going on with those there are, and trying "
                                  "again after a second at the earliest",
                                  what, reason);

    if (log_wants_of (source, GF_LOG_WARNING))
        log_line_of (GF_LOG_WARNING, source, __FILE__, __LINE__, __func__, "%s", text);
}

int
attempt_ended_of (struct attempt *attempt, const struct log_source *source, int r,
                  const char *format, ...)
{
    unsigned failed;
    g_autofree char *what = NULL;
    va_list args;

    if (G_LIKELY (r == 0 && __atomic_load_n (&attempt->failed, __ATOMIC_RELAXED) == 0))
        return 0;
    if (r < 0) {
        __atomic_store_n (&attempt->due, clock_now () + PAUSE, __ATOMIC_RELAXED);
        __atomic_add_fetch (&attempt->total, 1, __ATOMIC_RELAXED);
        failed = __atomic_fetch_add (&attempt->failed, 1, __ATOMIC_RELAXED);
    } else {
        __atomic_store_n (&attempt->due, 0, __ATOMIC_RELAXED);
        failed = __atomic_exchange_n (&attempt->failed, 0, __ATOMIC_RELAXED);
    }
    if ((r < 0) == (failed > 0))
        return r; /* logged already */
    va_start (args, format);
    what = g_strdup_vprintf (format, args);
    va_end (args);
    attempt_message (source, r, failed, what);
    return r;
}

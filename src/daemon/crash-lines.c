/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source lines of a backtrace, by libbacktrace, which comes with gcc and reads the debug
 * information itself: root's daemon may start no program such as addr2line (confine.c). It runs in
 * a child of the crashed process, since it may crash or hang, too: the memory is damaged, and the
 * debug information may lie in the mount that no longer answers.
 */
#include "daemon/crash.h"

#include "config.h"
#include "core/base/log.h"

#ifdef HAVE_LIBBACKTRACE

#include <backtrace.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PATIENCE 3000 /* ms until the child is killed */
#define KILLED 200    /* ms until it is given up, in a system call that nothing ends */

static struct backtrace_state *state;

static void
on_error (void *data, const char *message, int number)
{
}

void
crash_lines_init (void)
{
    state = backtrace_create_state (NULL, 0, on_error, NULL);
}

/* Where the crash happened; 0: not known on this processor. */
static uintptr_t
crash_place_of (const void *context)
{
    const ucontext_t *at = context;

#if defined(__x86_64__)
    return (uintptr_t) at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t) at->uc_mcontext.pc;
#else
    (void) at;
    return 0;
#endif
}

struct line {
    int frame;
    bool known;
};

/* Functions that were inlined have a line of their own. */
static int
on_line (void *data, uintptr_t pc, const char *file, int number, const char *function)
{
    struct line *line = data;

    if (!file)
        return 0;
    line->known = true;
    crash_say ("  #");
    crash_say_number ((uint64_t) line->frame);
    crash_say (" ");
    crash_say (function ? function : "?");
    crash_say (" at ");
    crash_say_safely (file);
    crash_say (":");
    crash_say_number ((uint64_t) number);
    crash_say ("\n");
    return 0;
}

/* All frames but the first are where a function returns to, which may be on the next line. */
static void
say_all (void *const *frames, int n, uintptr_t place)
{
    bool any = false;
    int first = 0;

    while (first < n && (uintptr_t) frames[first] != place)
        first++;
    if (first == n)
        first = 0;
    for (int i = first; i < n; i++) {
        const uintptr_t pc = (uintptr_t) frames[i];
        struct line line = { .frame = i - first };

        backtrace_pcinfo (state, pc == place ? pc : pc - 1, on_line, on_error, &line);
        any |= line.known;
    }
    if (!any)
        crash_say ("  none: there is no debug information\n");
}

/* The child may hang in another mount, where no signal ends it. It closes all descriptors but the
 * log, or it would keep the daemon's connection, socket and locks alive. */
static void
child_close_files (void)
{
    const int log = log_fd ();

    if (log > 0)
        close_range (0, (unsigned) log - 1, 0);
    close_range ((unsigned) log + 1, ~0U, 0);
}

/* A crash of the child is no second crash of the daemon: no handler, and no core. */
static void
crash_child_run (void *const *frames, int n, uintptr_t place, pid_t parent)
{
    static const int crashes[] = { SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGSYS };
    const struct rlimit none = { 1, 1 }; /* core(5): with 1, a program gets none either */

    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        signal (crashes[i], SIG_DFL);
    setrlimit (RLIMIT_CORE, &none);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (0); /* it ended before it could be waited for */
    child_close_files ();
    say_all (frames, n, place);
    _exit (0);
}

static bool
child_ends (pid_t child, int milliseconds)
{
    const struct timespec ms = { 0, 1000000 };
    int status;

    for (int i = 0; i < milliseconds; i++) {
        if (waitpid (child, &status, WNOHANG) != 0)
            return true;
        nanosleep (&ms, NULL);
    }
    return false;
}

void
crash_say_lines (void *const *frames, int n, const void *context)
{
    const pid_t parent = getpid ();
    pid_t child;

    if (!state)
        return;
    crash_say ("source lines:\n");
    child = _Fork (); /* runs no function that another module has registered */
    if (child == 0)
        crash_child_run (frames, n, crash_place_of (context), parent);
    if (child < 0) {
        crash_say ("  none: no process could be started to look for them\n");
        return;
    }
    if (child_ends (child, PATIENCE))
        return;
    kill (child, SIGKILL);
    crash_say ("  and no more: the debug information can't be read\n");
    child_ends (child, KILLED);
}

#else

void
crash_lines_init (void)
{
}

void
crash_say_lines (void *const *frames, int n, const void *context)
{
    crash_say ("source lines: for each FILE(+OFFSET) above, 'addr2line -Cfipe FILE OFFSET'\n");
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report of a crash, in the log: pending requests, and a backtrace. It takes no lock and
 * allocates no memory; text goes directly to the log's file.
 */
#include "daemon/daemon.h"

#include "core/base/printable.h"
#include "core/report/request-snapshot.h"
#include "daemon/crash.h"

#include <ctype.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMES_MAX 64
#define LISTED_MAX 1000 /* pending frames */

static const int crash_signals[] = { SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGSYS };

void
crash_say (const char *text)
{
    size_t size = strlen (text);

    while (size > 0) {
        ssize_t n = write (log_fd (), text, size);
        if (n <= 0)
            return;
        text += n;
        size -= n;
    }
}

char *
crash_number_text (uint64_t value, unsigned base, char buffer[CRASH_NUMBER_SIZE])
{
    char *p = buffer + CRASH_NUMBER_SIZE - 1;

    *p = '\0';
    do
        *--p = "0123456789abcdef"[value % base];
    while (value /= base);
    return p;
}

void
crash_say_number (uint64_t number)
{
    char buffer[CRASH_NUMBER_SIZE];

    crash_say (crash_number_text (number, 10, buffer));
}

void
crash_say_hex (uint64_t number)
{
    char buffer[CRASH_NUMBER_SIZE];

    crash_say (crash_number_text (number, 16, buffer));
}

/* GlusterFS's names of operations, which its users know. */
static void
say_op (enum fop op)
{
    char text[32];
    size_t i = 0;

    if (op == FOP_readv || op == FOP_writev || op == FOP_flock) {
        crash_say (op == FOP_readv ? "READ" : op == FOP_writev ? "WRITE" : "FLOCK");
        return;
    }
    for (const char *p = op < FOP_MAX ? fop_name (op) : "?"; *p && i < sizeof text - 1; p++)
        text[i++] = *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p;
    text[i] = '\0';
    crash_say (text);
}

/* Names may contain any bytes. */
void
crash_say_safely (const char *text)
{
    static const char digits[] = "0123456789abcdef";

    bool plain = true;

    for (const unsigned char *p = (const unsigned char *) text, *end = p; *p; p++) {
        char one[5] = { (char) *p };

        if (p == end)
            end += printable_next ((const char *) p, &plain);
        if (!plain)
            memcpy (one, (char[]){ '\\', 'x', digits[*p >> 4], digits[*p & 15], '\0' }, 5);
        crash_say (one);
    }
}

/* "  1: 'posix' (storage/posix) WRITE, from rot13.c:120 (rot13_writev)" */
static void
say_frame (const struct seen_frame *frame, unsigned number)
{
    crash_say ("  ");
    crash_say_number (number);
    crash_say (": ");
    crash_say_safely (frame->xl->name);
    crash_say (" (");
    crash_say (frame->xl->type);
    crash_say (") ");
    say_op (frame->op);
    if (frame->from) {
        crash_say (" from ");
        crash_say (frame->from->file);
        crash_say (":");
        crash_say_number (frame->from->line);
        crash_say (" (");
        crash_say (frame->from->function);
        crash_say (")");
    }
    crash_say ("\n");
}

/* Prints the translator that has the request now, and the way it took. The path is only printed if
 * the lock of the names is free. */
static void
say_request (const call_stack_t *root, void *data)
{
    static struct seen_request seen; /* only one thread reports */
    unsigned *listed = data;

    if (++*listed > LISTED_MAX || !stack_see (root, false, &seen))
        return;
    crash_say ("frame : type(1) op(");
    say_op (seen.op);
    crash_say (") unique(");
    crash_say_number (seen.unique);
    crash_say (") at(");
    crash_say_safely (seen.n       ? seen.frames[seen.n - 1].xl->name
                      : seen.maker ? seen.maker->name
                                   : "?");
    crash_say (")\n");
    if (*seen.path) {
        crash_say ("  path: ");
        crash_say_safely (seen.path);
        crash_say ("\n");
    }
    crash_say ("  pid: ");
    crash_say_number (seen.pid);
    crash_say (" uid: ");
    crash_say_number (seen.uid);
    crash_say ("\n");
    for (unsigned i = 0; i < seen.n; i++)
        say_frame (&seen.frames[i], i + 1);
}

static void
say_time (void)
{
    char text[32];
    struct timespec now;
    struct tm tm;

    clock_gettime (CLOCK_REALTIME, &now);
    if (gmtime_r (&now.tv_sec, &tm) && strftime (text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm))
        crash_say (text);
    crash_say (" +0000\n");
}

static void
crash_report (int number, const siginfo_t *info, const void *context)
{
    void *frames[FRAMES_MAX];
    unsigned listed = 0;
    int n;

    crash_say ("pending frames:\n");
    stack_foreach (say_request, &listed);
    if (listed > LISTED_MAX)
        crash_say ("... and more\n");
    crash_say ("patchset: none\nsignal received: ");
    crash_say_number (number);
    crash_say ("\n");
    crash_say_sender (info);
    crash_say ("time of crash:\n");
    say_time ();
    crash_say ("configuration details:\npackage-string: windlass " PACKAGE_VERSION "\n");
    n = backtrace (frames, FRAMES_MAX);
    backtrace_symbols_fd (frames, n, log_fd ());
    crash_say_lines (frames, n, context);
    crash_say_core (number);
    crash_say ("---------\n");
}

/* A core dump is owned by the user that this thread acts as, and contains other users' data. The
 * child of crash-lines.c opens files as that user, too. So the thread becomes the daemon's user
 * again. */
static void
act_as_oneself (void)
{
    int dumpable = prctl (PR_GET_DUMPABLE);

    syscall (SYS_setfsuid, geteuid ());
    syscall (SYS_setfsgid, getegid ());
    prctl (PR_SET_DUMPABLE, dumpable);
}

static int abort_file = -1;

void
crash_aborts (int file)
{
    abort_file = file;
}

void
crash_abort (void)
{
    if (abort_file >= 0 && write (abort_file, "1", 1) < 0)
        crash_say ("the connection to the kernel can't be aborted\n");
}

/* The first thread that comes here reports, aborts the connection, and then raises the default
 * action, which leaves a core once all threads have ended. Another thread waits for that. If the
 * same thread comes again, the report itself has crashed. */
static void
crash (int number, siginfo_t *info, void *context)
{
    static pid_t reporting; /* atomic */
    pid_t nobody = 0, me = gettid ();

    act_as_oneself ();
    if (__atomic_compare_exchange_n (&reporting, &nobody, me, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        crash_report (number, info, context);
    else if (nobody != me)
        sleep (10);
    crash_abort ();
    signal (number, SIG_DFL);
    raise (number);
}

void
crash_init (void)
{
    static char stack[64 * 1024] __attribute__ ((aligned (16)));
    const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = crash,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    void *frame;

    /* Loads the library that backtrace needs, while that is still permitted. */
    backtrace (&frame, 1);
    crash_lines_init ();
    crash_core_init ();
    sigaltstack (&alternate, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS (crash_signals); i++)
        sigaction (crash_signals[i], &action, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals come to the main thread, which does not serve requests. It runs the default main context
 * while it waits. Signals are not blocked, so that Ctrl-C in a debugger still stops the program.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* In the order of priority. A signal that comes again before it is handled counts once. */
static const int events[] = { SIGTERM, SIGINT, EVENT_UNMOUNTED,
                              SIGHUP, SIGUSR1, SIGUSR2, EVENT_VOLFILE };

static unsigned signals_pending; /* atomic: a bit for each of events */
static int bell = -1;    /* an eventfd that signal handlers write to */

void
signals_post (int event)
{
    const uint64_t one = 1;
    int saved = errno;

    for (unsigned i = 0; i < G_N_ELEMENTS (events); i++)
        if (events[i] == event)
            __atomic_fetch_or (&signals_pending, 1U << i, __ATOMIC_SEQ_CST);
    if (write (bell, &one, sizeof one) < 0)
        (void) errno; /* it was written to 2^64 - 1 times */
    errno = saved;
}

static void
catch (int number)
{
    struct sigaction action = { .sa_handler = signals_post, .sa_flags = SA_RESTART };

    sigemptyset (&action.sa_mask);
    sigaction (number, &action, NULL);
}

/* signals_wait takes the pending events. */
static gboolean
signals_wake (gint fd, GIOCondition condition, gpointer data)
{
    return G_SOURCE_CONTINUE;
}

int
signals_init (void)
{
    bell = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell < 0)
        return -errno;
    g_unix_fd_add (bell, G_IO_IN, signals_wake, NULL);
    signal (SIGPIPE, SIG_IGN);
    signal (SIGXFSZ, SIG_IGN); /* a write beyond the limit of sizes fails with EFBIG */
    catch (SIGHUP);
    catch (SIGUSR1);
    catch (SIGUSR2);
    return 0;
}

void
signals_catch_end (void)
{
    catch (SIGTERM);
    catch (SIGINT);
}

/* -1: no event is pending. */
static int
signals_take (void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (events); i++)
        if (__atomic_fetch_and (&signals_pending, ~(1U << i), __ATOMIC_SEQ_CST) & 1U << i)
            return events[i];
    return -1;
}

int
signals_wait (void)
{
    uint64_t rung;
    int event;

    g_main_context_iteration (NULL, FALSE); /* serves the control socket between two signals */
    while ((event = signals_take ()) < 0) {
        g_main_context_iteration (NULL, TRUE);
        if (read (bell, &rung, sizeof rung) < 0)
            (void) errno; /* another event came */
    }
    return event;
}

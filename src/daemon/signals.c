/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals come to the main thread, which is not in the way of requests, and serves the default main context while it waits. They aren't blocked, so that Ctrl-C in a
 * debugger still stops the program.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <unistd.h>

static int ends[2] = { -1, -1 }; /* written by handlers */

void
signals_post (int event)
{
    unsigned char byte = event;
    int saved = errno;

    if (write (ends[1], &byte, 1) < 0)
        (void) errno; /* full: there is enough to do already */
    errno = saved;
}

static void
catch (int number)
{
    struct sigaction action = { .sa_handler = signals_post, .sa_flags = SA_RESTART };

    sigemptyset (&action.sa_mask);
    sigaction (number, &action, NULL);
}

/* What is there is read by signals_wait. */
static gboolean
wake (gint fd, GIOCondition condition, gpointer data)
{
    return G_SOURCE_CONTINUE;
}

int
signals_init (void)
{
    if (pipe2 (ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    g_unix_fd_add (ends[0], G_IO_IN, wake, NULL);
    signal (SIGPIPE, SIG_IGN);
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

int
signals_wait (void)
{
    unsigned char byte;

    while (read (ends[0], &byte, 1) != 1)
        g_main_context_iteration (NULL, TRUE);
    return byte;
}

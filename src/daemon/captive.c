/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A daemon that belongs to the process which started it (--captive=FD): `windlass run`. FD is one
 * end of a socket. The daemon says on it where its log is, and when it has mounted. It ends when
 * the other end is closed, which the kernel does even for a process that is killed. A signal for
 * the death of the parent (PR_SET_PDEATHSIG) is in force only until the view is mounted, since a
 * start may hang: the kernel forgets it when the thread takes the ids of a caller, and a SIGKILL
 * would lose what is not written yet.
 */
#include "daemon/daemon.h"

#include "core/base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int captive_fd = -1;

int
captive_parse (const char *text, struct captive *ret_captive, char **ret_error)
{
    g_auto (GStrv) words = g_strsplit (text, ",", 2);
    guint64 fd;

    if (words[0] && g_ascii_string_to_unsigned (words[0], 10, 3, G_MAXINT, &fd, NULL)
        && fcntl ((int) fd, F_GETFD) >= 0 && (!words[1] || strcmp (words[1], "stays") == 0)) {
        *ret_captive = (struct captive){ .fd = (int) fd, .stays = words[1] };
        return 0;
    }
    *ret_error = g_strdup_printf ("option 'captive' must be an open descriptor, got '%s'; it is "
                                  "for 'windlass run' alone",
                                  text);
    return -EINVAL;
}

int
captive_begin (const struct captive *captive)
{
    captive_fd = captive->fd;
    background_close_inherited (captive_fd);
    return fcntl (captive_fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
}

/* If the other process has ended, this fails, and captive_watch sees it. */
static void
captive_say (const char *text)
{
    if (captive_fd >= 0)
        (void) send (captive_fd, text, strlen (text), MSG_NOSIGNAL);
}

void
captive_tell_log (const char *path)
{
    g_autofree char *line = g_strdup_printf ("log %s\n", path);

    captive_say (line);
}

static gboolean
captive_watch (gint fd, GIOCondition condition, gpointer data)
{
    char byte;

    if (recv (fd, &byte, 1, MSG_DONTWAIT) != 0)
        return G_SOURCE_CONTINUE;
    gf_log (NULL, GF_LOG_INFO, "the process that started this daemon has ended, or the command of "
                               "the view");
    signals_post (SIGTERM);
    return G_SOURCE_REMOVE;
}

void
captive_ready (void)
{
    if (captive_fd < 0)
        return;
    prctl (PR_SET_PDEATHSIG, 0); /* of daemon_become */
    captive_say ("ready\n");
    g_unix_fd_add (captive_fd, G_IO_IN | G_IO_HUP, captive_watch, NULL);
}

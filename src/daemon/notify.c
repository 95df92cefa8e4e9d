/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells a service manager how far the daemon is: the protocol of sd_notify(3), which is a promised
 * interface of systemd. Each message is a datagram of lines KEY=VALUE to the socket that
 * NOTIFY_SOCKET names. By hand, since all of libsystemd would be a dependency for these lines.
 *
 * The daemon also tells its process: systemd knows only the one that it started, and that is not
 * the daemon unless --no-daemon is given.
 */
#include "daemon/daemon.h"

#include "core/time/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int notify_fd = -1; /* of the main thread */

/* A manager that waits for this mount must not hold the daemon for ever. */
static int
notify_connect (const struct sockaddr_un *address, socklen_t size)
{
    const struct timeval patience = { .tv_sec = 5 };
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect (fd, (const struct sockaddr *) address, size) == 0)
        return fd;
    close (fd);
    return -1;
}

void
notify_begin (void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = g_getenv ("NOTIFY_SOCKET");
    const size_t length = path ? strlen (path) : 0;

    if (length < 2 || length >= sizeof address.sun_path || !strchr ("/@", *path))
        return;
    memcpy (address.sun_path, path, length);
    if (*path == '@') /* an abstract name */
        address.sun_path[0] = '\0';
    notify_fd = notify_connect (&address, offsetof (struct sockaddr_un, sun_path) + length);
    g_unsetenv ("NOTIFY_SOCKET"); /* programs that the daemon starts are other services' */
}

static void G_GNUC_PRINTF (1, 2)
notify_send (const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;
    ssize_t n;

    if (notify_fd < 0)
        return;
    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    while ((n = send (notify_fd, text, strlen (text), MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    if (n < 0)
        gf_log (NULL, GF_LOG_WARNING, "the service manager can't be told '%.*s': %s",
                (int) strcspn (text, "\n"), text, g_strerror (errno));
}

/* The name of the mount point may have bytes that would begin another line. */
void
notify_ready (const char *mountpoint)
{
    g_autoptr (GString) safe = g_string_new (NULL);

    log_append_safely (safe, mountpoint);
    notify_send ("READY=1\nMAINPID=%d\nSTATUS=Mounted on %s", (int) getpid (), safe->str);
}

void
notify_reloading (void)
{
    notify_send ("RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT "\nSTATUS=Reading the volfile",
                 clock_now () / 1000);
}

void
notify_stopping (void)
{
    notify_send ("STOPPING=1\nSTATUS=Unmounting");
}

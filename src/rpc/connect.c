/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connects a socket, on a thread of core/work, since the name lookup and the TLS handshake
 * block. */
#include "rpc/internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 10000 /* longest time to connect to one address of a host, in milliseconds */

/* Stores the socket in the connection, so that rpc_hang_up on another thread can shut it down.
 * Returns false if rpc_hang_up was called before; the caller then has to close the socket. */
static bool
socket_publish (struct rpc_connection *c, int fd)
{
    bool wanted;

    pthread_mutex_lock (&c->lock);
    wanted = !c->reason;
    if (wanted)
        c->watch.fd = fd;
    pthread_mutex_unlock (&c->lock);
    return wanted;
}

static void
socket_withdraw (struct rpc_connection *c)
{
    pthread_mutex_lock (&c->lock);
    close (c->watch.fd);
    c->watch.fd = -1;
    pthread_mutex_unlock (&c->lock);
}

static int
socket_wait (int fd)
{
    struct pollfd pollfd = { .fd = fd, .events = POLLOUT };
    socklen_t size = sizeof (int);
    int n, error = 0;

    do
        n = poll (&pollfd, 1, PATIENCE);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return -ETIMEDOUT;
    if (n < 0 || getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        return -errno;
    return -error;
}

/* Sets options of the socket. With TCP_NODELAY the kernel sends a small call at once, also while
 * the server has not acknowledged earlier bytes. */
static void
socket_tune (int fd, int family)
{
    const int on = 1;

    if (family == AF_UNIX)
        return;
    (void) setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void) setsockopt (fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* Returns 0 with the connected socket in c->watch.fd, or a negative errno. */
static int
connect_address (struct rpc_connection *c, int family, const struct sockaddr *to, socklen_t size)
{
    int fd = socket (family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r;

    if (fd < 0)
        return -errno;
    socket_tune (fd, family);
    if (!socket_publish (c, fd)) {
        close (fd);
        return -ECANCELED;
    }
    r = connect (fd, to, size) < 0 ? -errno : 0;
    if (r == -EINPROGRESS)
        r = socket_wait (fd);
    loop_stir ();
    if (r < 0)
        socket_withdraw (c);
    return r;
}

static int
connect_path (struct rpc_connection *c)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    if (strlen (c->path) >= sizeof to.sun_path)
        return -ENAMETOOLONG;
    strcpy (to.sun_path, c->path);
    return connect_address (c, AF_UNIX, (struct sockaddr *) &to, sizeof to);
}

static int
connect_host (struct rpc_connection *c, char **ret_reason)
{
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM };
    g_autofree char *port = g_strdup_printf ("%u", c->port);
    struct addrinfo *addresses = NULL;
    int r = getaddrinfo (c->host, port, &wanted, &addresses);

    if (r != 0) {
        *ret_reason = g_strdup_printf ("there is no address of '%s': %s", c->host,
                                       gai_strerror (r));
        return -EHOSTUNREACH;
    }
    r = -EHOSTUNREACH;
    for (const struct addrinfo *at = addresses; at && r < 0 && r != -ECANCELED; at = at->ai_next)
        r = connect_address (c, at->ai_family, at->ai_addr, at->ai_addrlen);
    freeaddrinfo (addresses);
    return r;
}

static char *
connect_reason (const struct rpc_connection *c, int r)
{
    g_autofree char *place = c->path ? g_strdup_printf ("'%s'", c->path)
                                     : g_strdup_printf ("%s, port %u", c->host, c->port);

    if (r == -ECONNREFUSED || r == -ENOENT)
        return g_strdup_printf ("no server listens at %s", place);
    if (r == -ETIMEDOUT)
        return g_strdup_printf ("%s does not answer", place);
    return g_strdup_printf ("%s can't be reached: %s", place, g_strerror (-r));
}

/* Shakes hands, if the connection is encrypted. Returns 0, or -EPROTO with *ret_reason set. */
static int
connect_stream (struct rpc_connection *c, char **ret_reason)
{
    c->stream.fd = c->watch.fd;
    if (!c->tls_context)
        return 0;
    c->stream.tls = tls_new (c->tls_context, c->watch.fd, c->host);
    return tls_handshake (c->stream.tls, ret_reason) ? 0 : -EPROTO;
}

void
connection_connect (struct work_item *work)
{
    struct rpc_connection *c =
        (void *) ((char *) work - offsetof (struct rpc_connection, connecting));
    g_autofree char *reason = NULL;
    int r = c->path ? connect_path (c) : connect_host (c, &reason);

    if (r == 0)
        r = connect_stream (c, &reason);
    if (r == 0) {
        loop_post (&c->connected);
        return;
    }
    if (!reason)
        reason = connect_reason (c, r);
    rpc_hang_up (c, reason);
    loop_post (&c->connect_failed);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/stream.h"
#include "rpc/loop.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

ssize_t
stream_read (const struct stream *stream, void *to, size_t size)
{
    ssize_t n;

    if (stream->tls)
        return tls_read (stream->tls, to, size);
    do
        n = recv (stream->fd, to, size, 0);
    while (n < 0 && errno == EINTR);
    loop_stir ();
    return n < 0 ? -errno : n;
}

ssize_t
stream_write (const struct stream *stream, const struct iovec *parts, int n_parts)
{
    const struct msghdr message = { .msg_iov = (struct iovec *) parts,
                                    .msg_iovlen = (size_t) n_parts };
    ssize_t n;

    if (stream->tls)
        return tls_write (stream->tls, parts, n_parts);
    do
        n = sendmsg (stream->fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    loop_stir ();
    return n < 0 ? -errno : n;
}

char *
stream_reason (const struct stream *stream, int r)
{
    return stream->tls && r == -EPROTO ? tls_problem (stream->tls) : g_strdup (g_strerror (-r));
}

bool
stream_is_alert (const void *bytes, size_t size)
{
    return size >= 2 && memcmp (bytes, "\x15\x03", 2) == 0;
}

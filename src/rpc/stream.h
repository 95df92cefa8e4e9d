/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes over a connected socket, plain or encrypted. */
#ifndef WINDLASS_RPC_STREAM_H
#define WINDLASS_RPC_STREAM_H

#include "rpc/tls/tls.h"

struct stream {
    int fd;
    struct tls *tls; /* NULL: the stream is not encrypted */
};

/* Like recv(2) and sendmsg(2), but they return a negative errno, restart after EINTR, and raise no
 * SIGPIPE. */
ssize_t stream_read (const struct stream *stream, void *to, size_t size);
ssize_t stream_write (const struct stream *stream, const struct iovec *parts, int n);

/* Returns a text for the error r of stream_read or stream_write, to be freed with g_free. */
char *stream_reason (const struct stream *stream, int r);

/* Returns whether bytes begin a TLS alert: a server that demands TLS sends one to a client that
 * doesn't use TLS. */
bool stream_is_alert (const void *bytes, size_t size);

#define STREAM_WANTS_TLS                                                                           \
    "the server demands TLS; 'option transport.socket.ssl-enabled on', which the volume option "   \
    "client.ssl sets, is missing"

#endif

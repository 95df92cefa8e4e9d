/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes over a connected socket, plain or encrypted. */
#ifndef WINDLASS_RPC_STREAM_H
#define WINDLASS_RPC_STREAM_H

#include "rpc/tls/tls.h"

struct stream {
    int fd;
    struct tls *tls; /* NULL: plain */
};

/* As recv(2) and sendmsg(2), without flags and signals, but they return a negative errno. */
ssize_t stream_read (const struct stream *stream, void *to, size_t size);
ssize_t stream_write (const struct stream *stream, const struct iovec *parts, int n);

/* Returns the reason of an error that one of them returned. g_free it. */
char *stream_reason (const struct stream *stream, int r);

/* Returns whether bytes are the beginning of an alert of TLS: what a server with TLS answers to a
 * client without. */
bool stream_is_alert (const void *bytes, size_t size);

#define STREAM_WANTS_TLS                                                                           \
    "the server demands TLS; 'option transport.socket.ssl-enabled on', which the volume option "   \
    "client.ssl sets, is missing"

#endif

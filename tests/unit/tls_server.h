/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TLS for a server of a test: a thread that encrypts what goes over another socket. */
#ifndef WINDLASS_TESTS_TLS_SERVER_H
#define WINDLASS_TESTS_TLS_SERVER_H

#include "rpc/tls/tls.h"

#ifdef HAVE_OPENSSL
#define TLS_MODES 2 /* plain, and with TLS */
#else
#define TLS_MODES 1
#endif

/* A context of a client that trusts the server below. The test fails if there can be none. */
struct tls_context *tls_server_client (void);

/* Shakes hands with a server of TLS 1.2 that has only these ciphers, as the client that may use
 * only them. Returns why the client refuses, or NULL. g_free it. */
char *tls_server_refused (const char *ciphers);

/* Accepts a connection of TLS on fd, which becomes this thread's. Returns a socket that has the
 * plain bytes in both directions, in small pieces. */
int tls_server_accept (int fd);

/* Waits until all such connections have ended, with their threads: OpenSSL frees what it keeps for
 * a thread at its end. */
void tls_server_wait (void);

#endif

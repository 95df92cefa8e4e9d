/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the source files of TLS share. */
#ifndef WINDLASS_RPC_TLS_INTERNAL_H
#define WINDLASS_RPC_TLS_INTERNAL_H

#include "rpc/tls/tls.h"

#include <glib.h>
#include <openssl/ssl.h>
#include <pthread.h>

#define TLS_RECORD 16384 /* bytes of plain text in a record, at most */

struct tls_context {
    int refs; /* atomic */
    char *certificate, *key, *ca_list, *crl_path, *ciphers, *curves;
    int depth;
    bool check_name;
    pthread_mutex_t lock; /* a leaf */
    SSL_CTX *ssl;         /* made from the files; guarded by `lock` */
    char *stamp;          /* files_stamp when the files were last read; guarded by `lock` */
};

/* Returns OpenSSL's context, with a reference. Reads the files again if they have changed. */
SSL_CTX *tls_context_now (struct tls_context *context);

struct tls {
    struct tls_context *context;
    int fd;
    char *host;           /* name or address of the server; NULL: the socket is a UNIX socket */
    pthread_mutex_t lock; /* a leaf; held while OpenSSL reads or writes one record */
    SSL *ssl;             /* guarded by `lock`, except during the handshake */
    bool more;            /* the caller will write another record, so send with MSG_MORE; lock */
    bool ended;           /* recv(2) has returned 0; lock */
    int error;            /* errno of the socket in the last read or write; lock */
    char *problem;        /* reason of the first error of TLS, or NULL; lock */
    int alert;            /* code of the last alert from the server; -1: none; lock */
    uint8_t gathered[TLS_RECORD]; /* small parts to write, copied together; of the writing thread */
};

/* tls-reasons.c: sentences for users, to be freed with g_free. tls_reason_of_* read the queue of
 * OpenSSL's errors of this thread, and empty it. tls_reason_of_library returns the oldest of them,
 * in OpenSSL's words. */
char *tls_reason_of_handshake (struct tls *tls, bool timed_out);
char *tls_reason_of_stream (struct tls *tls);
char *tls_reason_of_library (void);
char *tls_certificate_name (X509 *certificate); /* its common name; without one, its subject */
char *tls_certificate_time (const ASN1_TIME *time);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the source files of TLS share. */
#ifndef WINDLASS_RPC_TLS_INTERNAL_H
#define WINDLASS_RPC_TLS_INTERNAL_H

#include "rpc/tls/tls.h"

#include <glib.h>
#include <openssl/ssl.h>
#include <pthread.h>

#define TLS_RECORD 16384 /* most bytes of plain text in a record of TLS */

struct tls_context {
    int refs; /* number of references; atomic */
    char *certificate, *key, *ca_list, *crl_path, *ciphers, *curves;
    int depth;
    bool check_name;
    pthread_mutex_t lock; /* no other lock of rpc/tls is taken while it is held */
    SSL_CTX *ssl;         /* OpenSSL's context, made from the files; guarded by `lock` */
    char *stamp;          /* result of files_stamp when the files were last read; guarded by
                           * `lock` */
};

/* Returns OpenSSL's context, with a reference. Reads the files again if they have changed. */
SSL_CTX *tls_context_now (struct tls_context *context);

struct tls {
    struct tls_context *context;
    int fd;
    char *host;           /* name or address of the server; NULL: the socket is a UNIX socket */
    pthread_mutex_t lock; /* held while OpenSSL reads or writes one record; no other lock of
                           * rpc/tls is taken while it is held */
    SSL *ssl;             /* guarded by `lock`, except during the handshake */
    bool more;            /* the caller will write another record, so send with MSG_MORE; guarded by
                           * `lock` */
    bool ended;           /* recv(2) has returned 0: the server has closed the connection; guarded
                           * by `lock` */
    int error;            /* errno of the socket in the last read or write; guarded by `lock` */
    char *problem;        /* reason of the first error of TLS, or NULL; guarded by `lock` */
    int alert;            /* code of the last alert from the server; -1: none; guarded by `lock` */
    uint8_t gathered[TLS_RECORD]; /* copies of several small parts that one SSL_write writes; used
                                   * by the thread that writes only */
};

/* tls-reasons.c: sentences for users, to be freed with g_free. tls_reason_of_* read the queue of
 * OpenSSL's errors of this thread, and empty it. tls_reason_of_library returns the oldest of them,
 * in OpenSSL's words. */
char *tls_reason_of_handshake (struct tls *tls, bool timed_out);
char *tls_reason_of_stream (struct tls *tls);
char *tls_reason_of_library (void);
char *tls_certificate_name (X509 *certificate); /* its common name, else its subject */
char *tls_certificate_time (const ASN1_TIME *time);

#endif

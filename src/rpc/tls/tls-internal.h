/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of TLS share. */
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
    SSL_CTX *ssl;         /* lock */
    char *stamp;          /* of the files that were read last: file_stamp; lock */
};

/* Returns what the files say now, with a reference: reads them if they have changed. */
SSL_CTX *tls_context_now (struct tls_context *context);

struct tls {
    struct tls_context *context;
    int fd;
    char *host;           /* NULL: a socket in the file system */
    pthread_mutex_t lock; /* a leaf; held during one record and its system call */
    SSL *ssl;             /* lock; the handshake has it for itself */
    bool more;            /* another record follows: the kernel may wait for it; lock */
    bool ended;           /* the server sends no more; lock */
    int error;            /* errno of the socket in the last operation; lock */
    char *problem;        /* of the first error of TLS; lock */
    int alert;            /* the last one that the server sent; -1: none; lock */
    uint8_t gathered[TLS_RECORD]; /* small parts of what is written; the writing thread's */
};

/* tls-reasons.c: sentences for users, g_free them. They take the errors of OpenSSL that this thread
 * has queued. */
char *tls_reason_of_handshake (struct tls *tls, bool timed_out);
char *tls_reason_of_stream (struct tls *tls);
char *tls_reason_of_library (void); /* the newest error, in OpenSSL's own words */
char *tls_certificate_name (X509 *certificate); /* its subject's common name, or all of it */
char *tls_certificate_time (const ASN1_TIME *time);

#endif

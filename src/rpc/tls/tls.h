/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TLS 1.2 and 1.3 for connections to servers, by OpenSSL.
 *
 *   settings --tls_context_new--> context: certificate, key, trusted CAs; one for many connections
 *   context, socket --tls_new, tls_handshake--> tls --tls_read, tls_write--> the socket
 *
 * As in GlusterFS, both sides show certificates. The server's must be signed by a CA of ca_list. It
 * may be made out to any name, unless check_name is set.
 *
 * Without OpenSSL tls_context_new fails, and says so.
 */
#ifndef WINDLASS_RPC_TLS_H
#define WINDLASS_RPC_TLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define TLS_CIPHERS "EECDH:EDH:HIGH:!3DES:!RC4:!DES:!MD5:!aNULL:!eNULL"
#define TLS_CURVES "prime256v1:X25519:secp384r1:secp521r1"
#define TLS_DEPTH 1

/* The file that turns on TLS for connections to glusterd. */
#define TLS_SECURE_ACCESS "/var/lib/glusterd/secure-access"

struct tls_settings {
    /* PEM files. NULL: glusterfs.pem, .key and .ca in OpenSSL's folder, or else in /etc/ssl. */
    const char *certificate, *key, *ca_list;
    const char *crl_path; /* a directory of revocation lists; NULL, "" or "NULL": none */
    const char *ciphers;  /* of TLS 1.2; NULL: TLS_CIPHERS */
    const char *curves;   /* NULL: TLS_CURVES */
    int64_t depth;        /* CAs between the server's certificate and one of ca_list */
    bool check_name;      /* the certificate must be made out to the server's host */
};

/* For the row of an option: accepts a list of ciphers, as in tls_settings, of which each one
 * encrypts and makes the server show a certificate. Returns 0, or -EINVAL with the allowed values
 * in *ret_allowed (g_free it). A list of unknown names is tls_context_new's to refuse. */
int tls_check_ciphers (const char *text, char **ret_allowed);

/* Returns whether a path leads below a folder for certificates and keys: OpenSSL's own, or
 * /etc/ssl. */
bool tls_is_usual_path (const char *path);

struct tls_context;

/* Reads the files. NULL, with a sentence for the user in *ret_error (g_free it). */
struct tls_context *tls_context_new (const struct tls_settings *settings, char **ret_error);
struct tls_context *tls_context_ref (struct tls_context *context);
void tls_context_unref (struct tls_context *context); /* takes NULL */

/* Returns whether connections to glusterd are encrypted; then *ret_depth is the least depth for all
 * connections, else 0. */
bool tls_for_glusterd (int64_t *ret_depth);

struct tls;

/* For a connected socket, which stays the caller's. host: for check_name. Reads files that have
 * changed. */
struct tls *tls_new (struct tls_context *context, int fd, const char *host);
void tls_free (struct tls *tls); /* takes NULL */

/* Waits for the handshake, at most ten seconds; shutdown(2) of the socket ends it earlier. Returns
 * false, with the reason in *ret_reason (g_free it). A server without a certificate, and a cipher
 * that does not encrypt, are refused whatever the settings allow. */
bool tls_handshake (struct tls *tls, char **ret_reason);

/* As recv(2) and sendmsg(2) on the socket, but they return a negative errno; -EPROTO for what
 * tls_problem tells. A thread may read while another one writes. After -EAGAIN from tls_write the
 * next one begins with the same bytes. */
ssize_t tls_read (struct tls *tls, void *to, size_t size);
ssize_t tls_write (struct tls *tls, const struct iovec *parts, int n);

char *tls_problem (struct tls *tls);     /* g_free it */
char *tls_description (struct tls *tls); /* "TLSv1.3, TLS_AES_256_GCM_SHA384, ..."; g_free it */

#endif

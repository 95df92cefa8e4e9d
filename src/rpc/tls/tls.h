/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TLS 1.2 and 1.3 for connections to servers, by OpenSSL.
 *
 *   settings --tls_context_new--> context: certificate, key, trusted CAs; one for many connections
 *   context, socket --tls_new, tls_handshake--> tls --tls_read, tls_write--> the socket
 *
 * As in GlusterFS, both sides show certificates. The server's certificate must be signed by a CA of
 * ca_list. It may be made out to any name, unless check_name is set.
 *
 * In a program built without OpenSSL, tls_context_new fails, with that reason.
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

/* The file whose existence turns on TLS for connections to glusterd. */
#define TLS_SECURE_ACCESS "/var/lib/glusterd/secure-access"

struct tls_settings {
    /* Paths of PEM files. NULL: glusterfs.pem, glusterfs.key, glusterfs.ca in OpenSSL's folder for
     * certificates if they exist there, else in /etc/ssl. */
    const char *certificate, *key, *ca_list;
    const char *crl_path; /* a directory of revocation lists; NULL, "" or "NULL": none */
    const char *ciphers;  /* list of ciphers for TLS 1.2; NULL: TLS_CIPHERS */
    const char *curves;   /* list of curves; NULL: TLS_CURVES */
    int64_t depth;        /* largest number of CAs between the server's certificate and ca_list */
    bool check_name;      /* the server's certificate must be made out to the server's host */
};

/* Checks the value of an option that is a list of ciphers: each of them must encrypt, and must make
 * the server show a certificate. Returns 0, or -EINVAL with the allowed values in *ret_allowed, to
 * be freed with g_free. Names of unknown ciphers pass; tls_context_new refuses them. */
int tls_check_ciphers (const char *text, char **ret_allowed);

/* Returns whether a path lies below a usual folder for certificates and keys: OpenSSL's own folder,
 * or /etc/ssl. */
bool tls_is_usual_path (const char *path);

struct tls_context;

/* Reads the files of the settings. Returns NULL if that fails, with a sentence for the user in
 * *ret_error, to be freed with g_free. */
struct tls_context *tls_context_new (const struct tls_settings *settings, char **ret_error);
struct tls_context *tls_context_ref (struct tls_context *context);
void tls_context_unref (struct tls_context *context); /* takes NULL */

/* Returns whether TLS_SECURE_ACCESS exists, so that connections to glusterd are encrypted.
 * *ret_depth is the depth that the file sets, at least TLS_DEPTH; 0 without the file. */
bool tls_for_glusterd (int64_t *ret_depth);

struct tls;

/* Prepares TLS on a connected socket, which the caller closes after tls_free. host is the name that
 * check_name demands. Files of the context that have changed are read again. */
struct tls *tls_new (struct tls_context *context, int fd, const char *host);
void tls_free (struct tls *tls); /* takes NULL */

/* Shakes hands with the server, and blocks for at most ten seconds; another thread can end that by
 * shutdown(2) of the socket. Returns true; or false with the reason in *ret_reason, to be freed
 * with g_free. It fails if the server shows no certificate, or if the cipher does not encrypt, even
 * if the settings allow that. */
bool tls_handshake (struct tls *tls, char **ret_reason);

/* Like recv(2) and sendmsg(2) on the socket, but they return a negative errno. -EPROTO means that
 * tls_problem returns the reason. One thread may read while another one writes. After tls_write has
 * returned -EAGAIN, the next tls_write must begin with the same bytes. */
ssize_t tls_read (struct tls *tls, void *to, size_t size);
ssize_t tls_write (struct tls *tls, const struct iovec *parts, int n);

/* Return texts, to be freed with g_free: the first error of TLS; the version, the cipher and the
 * server's certificate ("TLSv1.3, TLS_AES_256_GCM_SHA384, ..."). */
char *tls_problem (struct tls *tls);
char *tls_description (struct tls *tls);

#endif

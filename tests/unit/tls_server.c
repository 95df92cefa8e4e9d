/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "../program.h"
#include "tls_server.h"

#ifdef HAVE_OPENSSL

#include <fcntl.h>
#include <glib.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE 1000 /* bytes of a record of the server; no answer's size is a multiple */

/* --- one certificate for both sides ----------------------------------------------------------- */

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
};

static struct identity
identity_new (void)
{
    struct identity made = { EVP_EC_gen ("P-256"), X509_new () };
    X509_NAME *name = X509_get_subject_name (made.certificate);

    ASN1_INTEGER_set (X509_get_serialNumber (made.certificate), 1);
    X509_gmtime_adj (X509_getm_notBefore (made.certificate), -3600);
    X509_gmtime_adj (X509_getm_notAfter (made.certificate), 3600);
    X509_NAME_add_entry_by_txt (name, "CN", MBSTRING_ASC, (const uint8_t *) "test", -1, -1, 0);
    X509_set_issuer_name (made.certificate, name);
    X509_set_pubkey (made.certificate, made.key);
    ck_assert_int_gt (X509_sign (made.certificate, made.key, EVP_sha256 ()), 0);
    return made;
}

/* The same in each process of the test program, which forks for each test. */
static const struct identity *
identity (void)
{
    static struct identity one;

    if (!one.key)
        one = identity_new ();
    return &one;
}

static struct tls_context *
tls_server_client_of (const char *ciphers)
{
    g_autofree char *file = g_strdup_printf ("%s/tls-%d.pem", g_get_tmp_dir (), getpid ()),
                    *error = NULL;
    const struct tls_settings settings = { .certificate = file,
                                           .key = file,
                                           .ca_list = file,
                                           .ciphers = ciphers };
    struct tls_context *context;
    const int fd = open (file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *out = fdopen (fd, "w");

    ck_assert_ptr_nonnull (out);
    PEM_write_X509 (out, identity ()->certificate);
    PEM_write_PrivateKey (out, identity ()->key, NULL, NULL, 0, NULL, NULL);
    fclose (out);
    context = tls_context_new (&settings, &error);
    unlink (file);
    ck_assert_msg (context != NULL, "%s", error);
    return context;
}

struct tls_context *
tls_server_client (void)
{
    return tls_server_client_of (NULL);
}

static SSL_CTX *
server_of (void)
{
    SSL_CTX *context = SSL_CTX_new (TLS_server_method ());

    SSL_CTX_use_certificate (context, identity ()->certificate);
    SSL_CTX_use_PrivateKey (context, identity ()->key);
    return context;
}

static void *
shake_hands (void *ssl)
{
    (void) SSL_accept (ssl);
    return NULL;
}

char *
tls_server_refused (const char *ciphers)
{
    struct tls_context *context = tls_server_client_of (ciphers);
    SSL_CTX *server = server_of ();
    SSL *ssl;
    struct tls *tls;
    pthread_t thread;
    char *reason = NULL;
    int ends[2];

    SSL_CTX_set_max_proto_version (server, TLS1_2_VERSION);
    ck_assert_int_eq (SSL_CTX_set_cipher_list (server, ciphers), 1);
    ck_assert_int_eq (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ssl = SSL_new (server);
    SSL_set_fd (ssl, ends[1]);
    pthread_create (&thread, NULL, shake_hands, ssl);
    (void) fcntl (ends[0], F_SETFL, O_NONBLOCK);
    tls = tls_new (context, ends[0], NULL);
    ck_assert_int_eq (tls_handshake (tls, &reason), reason == NULL);
    shutdown (ends[0], SHUT_RDWR);
    pthread_join (thread, NULL);
    tls_free (tls);
    tls_context_unref (context);
    SSL_free (ssl);
    SSL_CTX_free (server);
    close (ends[0]);
    close (ends[1]);
    return reason;
}

/* --- the pump --------------------------------------------------------------------------------- */

static GSList *pumps; /* of pthread_t */

struct pump {
    SSL *ssl;
    int link, plain;
    GByteArray *unsent; /* to the server, which may write rather than read */
};

static void
pump_flush (struct pump *pump)
{
    const ssize_t n = send (pump->plain, pump->unsent->data, pump->unsent->len,
                            MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n > 0)
        g_byte_array_remove_range (pump->unsent, 0, (guint) n);
}

/* Moves bytes one way. Returns whether more may come. */
static bool
pump_in (struct pump *pump)
{
    uint8_t bytes[PIECE];
    int n;

    do {
        n = SSL_read (pump->ssl, bytes, sizeof bytes);
        if (n > 0)
            g_byte_array_append (pump->unsent, bytes, (guint) n);
    } while (n > 0 && SSL_pending (pump->ssl) > 0);
    pump_flush (pump);
    return n > 0;
}

static bool
pump_out (struct pump *pump)
{
    char bytes[PIECE];
    const ssize_t n = read (pump->plain, bytes, sizeof bytes);

    return n > 0 && SSL_write (pump->ssl, bytes, (int) n) > 0;
}

static void *
pump_run (void *data)
{
    struct pump *pump = data;
    struct pollfd ends[] = { { pump->link, POLLIN, 0 }, { pump->plain, POLLIN, 0 } };
    bool go_on = true;

    while (go_on && poll (ends, 2, -1) > 0) {
        if (ends[1].revents & POLLOUT)
            pump_flush (pump);
        go_on = (!ends[0].revents || pump_in (pump))
             && (!(ends[1].revents & ~POLLOUT) || pump_out (pump));
        ends[1].events = pump->unsent->len > 0 ? POLLIN | POLLOUT : POLLIN;
    }
    SSL_free (pump->ssl);
    close (pump->link);
    close (pump->plain);
    g_byte_array_unref (pump->unsent);
    g_free (pump);
    return NULL;
}

int
tls_server_accept (int fd)
{
    SSL_CTX *context = server_of ();
    struct pump *pump = g_new0 (struct pump, 1);
    pthread_t *thread = g_new0 (pthread_t, 1);
    int ends[2];

    pump->ssl = SSL_new (context);
    SSL_CTX_free (context);
    SSL_set_fd (pump->ssl, fd);
    ck_assert_int_eq (SSL_accept (pump->ssl), 1);
    ck_assert_int_eq (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pump->link = fd;
    pump->unsent = g_byte_array_new ();
    pump->plain = ends[0];
    pthread_create (thread, NULL, pump_run, pump);
    pumps = g_slist_prepend (pumps, thread);
    return ends[1];
}

void
tls_server_wait (void)
{
    for (; pumps; pumps = g_slist_delete_link (pumps, pumps)) {
        pthread_join (*(pthread_t *) pumps->data, NULL);
        g_free (pumps->data);
    }
}

#else

struct tls_context *
tls_server_client (void)
{
    return NULL;
}

char *
tls_server_refused (const char *ciphers)
{
    return NULL;
}

int
tls_server_accept (int fd)
{
    return fd;
}

void
tls_server_wait (void)
{
}

#endif

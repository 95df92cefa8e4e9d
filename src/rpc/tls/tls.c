/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TLS of one connection. OpenSSL reads and writes the socket through the BIO of this file, a record
 * at a time, without blocking. It allows only one thread at a time to use a connection, hence the
 * lock.
 */
#include "config.h"
#include "rpc/tls/tls.h"

#ifdef HAVE_OPENSSL

#include "core/time/clock.h"
#include "rpc/tls/tls-internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE 10000000000LL /* nanoseconds for the handshake */
#define SMALL 4096 /* bytes; parts up to this size are copied together into one record */

/* --- the socket, as OpenSSL sees it ----------------------------------------------------------- */

/* A BIO of our own, since OpenSSL's BIO of sockets raises SIGPIPE, and never sets MSG_MORE. */
static int
tls_socket_write (BIO *bio, const char *bytes, int size)
{
    struct tls *tls = BIO_get_data (bio);
    ssize_t n;

    do
        n = send (tls->fd, bytes, (size_t) size, MSG_NOSIGNAL | (tls->more ? MSG_MORE : 0));
    while (n < 0 && errno == EINTR);
    BIO_clear_retry_flags (bio);
    if (n < 0 && errno == EAGAIN)
        BIO_set_retry_write (bio);
    else if (n < 0)
        tls->error = errno;
    return (int) n;
}

static int
tls_socket_read (BIO *bio, char *to, int size)
{
    struct tls *tls = BIO_get_data (bio);
    ssize_t n;

    do
        n = recv (tls->fd, to, (size_t) size, 0);
    while (n < 0 && errno == EINTR);
    BIO_clear_retry_flags (bio);
    if (n < 0 && errno == EAGAIN)
        BIO_set_retry_read (bio);
    else if (n < 0)
        tls->error = errno;
    else if (n == 0)
        tls->ended = true;
    return (int) n;
}

static long
tls_socket_control (BIO *bio, int command, long number, void *pointer)
{
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *
tls_socket_method (void)
{
    static BIO_METHOD *method;

    if (g_once_init_enter (&method)) {
        BIO_METHOD *made = BIO_meth_new (BIO_get_new_index () | BIO_TYPE_SOURCE_SINK, "socket");

        BIO_meth_set_write (made, tls_socket_write);
        BIO_meth_set_read (made, tls_socket_read);
        BIO_meth_set_ctrl (made, tls_socket_control);
        g_once_init_leave (&method, made);
    }
    return method;
}

/* --- life ------------------------------------------------------------------------------------- */

/* OpenSSL's callback for events. Records alerts of both levels, which is the second byte of the
 * value: OpenSSL reports those of the level "warning" as no error, but one may be the only reason
 * that the server sends. */
static void
tls_note_alert (const SSL *ssl, int where, int value)
{
    struct tls *tls = SSL_get_app_data (ssl);

    if (where & SSL_CB_ALERT && where & SSL_CB_READ)
        tls->alert = value & 0xff;
}

static void
tls_check_name (struct tls *tls)
{
    X509_VERIFY_PARAM *param = SSL_get0_param (tls->ssl);

    if (tls->context->check_name && tls->host
        && X509_VERIFY_PARAM_set1_ip_asc (param, tls->host) != 1)
        X509_VERIFY_PARAM_set1_host (param, tls->host, 0);
}

struct tls *
tls_new (struct tls_context *context, int fd, const char *host)
{
    struct tls *tls = g_new0 (struct tls, 1);
    BIO *bio = BIO_new (tls_socket_method ());
    SSL_CTX *ssl = tls_context_now (context);

    tls->context = tls_context_ref (context);
    tls->fd = fd;
    tls->host = g_strdup (host);
    pthread_mutex_init (&tls->lock, NULL);
    tls->ssl = SSL_new (ssl);
    SSL_CTX_free (ssl);
    if (!tls->ssl || !bio)
        g_error ("there is no memory for a TLS connection");
    BIO_set_data (bio, tls);
    BIO_set_init (bio, 1);
    SSL_set_bio (tls->ssl, bio, bio);
    tls->alert = -1;
    SSL_set_app_data (tls->ssl, tls);
    SSL_set_info_callback (tls->ssl, tls_note_alert);
    tls_check_name (tls);
    return tls;
}

void
tls_free (struct tls *tls)
{
    if (!tls)
        return;
    SSL_free (tls->ssl);
    pthread_mutex_destroy (&tls->lock);
    tls_context_unref (tls->context);
    g_free (tls->host);
    g_free (tls->problem);
    g_free (tls);
}

/* --- handshake -------------------------------------------------------------------------------- */

/* Waits until OpenSSL can continue the handshake. Returns 1; 0 after `until`; -1 if the handshake
 * has failed. */
static int
handshake_wait (struct tls *tls, int r, int64_t until)
{
    const int wants = SSL_get_error (tls->ssl, r);
    struct pollfd pollfd = { .fd = tls->fd };
    int64_t left;

    if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE)
        return -1;
    left = until - clock_now ();
    if (left <= 0)
        return 0;
    pollfd.events = wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    return poll (&pollfd, 1, (int) (left / 1000000) + 1) < 0 && errno != EINTR ? -1 : 1;
}

/* Returns NULL if the connection is encrypted and the server has shown a certificate, else the
 * reason to refuse the connection. */
static char *
unsafe_reason (struct tls *tls)
{
    X509 *certificate = SSL_get1_peer_certificate (tls->ssl);

    X509_free (certificate);
    if (!certificate)
        return g_strdup ("the server showed no certificate, so it could be anybody "
                         "(ssl-cipher-list has to leave out aNULL)");
    if (SSL_get_cipher_bits (tls->ssl, NULL) > 0)
        return NULL;
    return g_strdup_printf ("the cipher %s does not encrypt (ssl-cipher-list has to leave out "
                            "eNULL)",
                            SSL_get_cipher_name (tls->ssl));
}

bool
tls_handshake (struct tls *tls, char **ret_reason)
{
    const int64_t until = clock_now () + PATIENCE;
    int r, state;

    do {
        ERR_clear_error ();
        r = SSL_connect (tls->ssl);
        state = r == 1 ? 1 : handshake_wait (tls, r, until);
    } while (r != 1 && state > 0);
    *ret_reason = r == 1 ? unsafe_reason (tls) : tls_reason_of_handshake (tls, state == 0);
    return !*ret_reason;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Returns 0 or a negative errno for a read or write that moved no bytes. A write never has to wait
 * for bytes from the server: only renegotiation would need that, and it is disabled. */
static ssize_t
tls_failed_locked (struct tls *tls, int r, bool reads)
{
    const int wants = SSL_get_error (tls->ssl, r);

    if (wants == SSL_ERROR_WANT_WRITE || (wants == SSL_ERROR_WANT_READ && reads))
        return -EAGAIN;
    if (wants == SSL_ERROR_ZERO_RETURN || (tls->ended && reads))
        return 0;
    if (tls->error)
        return -tls->error;
    if (!tls->problem)
        tls->problem = tls_reason_of_stream (tls);
    return -EPROTO;
}

/* Forgets the error of the operation before: after a write has failed with ECONNRESET, a read may
 * still find the server's alert, which has the reason. */
static void
operation_begin_locked (struct tls *tls)
{
    ERR_clear_error ();
    tls->error = 0;
}

static ssize_t
read_record (struct tls *tls, void *to, size_t size)
{
    ssize_t n;

    pthread_mutex_lock (&tls->lock);
    operation_begin_locked (tls);
    n = SSL_read (tls->ssl, to, (int) MIN (size, TLS_RECORD));
    if (n <= 0)
        n = tls_failed_locked (tls, (int) n, true);
    pthread_mutex_unlock (&tls->lock);
    return n;
}

/* Reads records until `to` is full or no more bytes have come. So, as with a socket, a result below
 * `size` means that the caller need not read again before epoll reports more. */
ssize_t
tls_read (struct tls *tls, void *to, size_t size)
{
    size_t done = 0;
    ssize_t n;

    do {
        n = read_record (tls, (uint8_t *) to + done, size - done);
        done += (size_t) MAX (n, 0);
    } while (n > 0 && done < size);
    return done > 0 ? (ssize_t) done : n;
}

static ssize_t
write_record (struct tls *tls, const void *bytes, size_t size, bool more)
{
    ssize_t n;

    pthread_mutex_lock (&tls->lock);
    operation_begin_locked (tls);
    tls->more = more || size > TLS_RECORD;
    n = SSL_write (tls->ssl, bytes, (int) MIN (size, INT_MAX));
    tls->more = false;
    if (n <= 0)
        n = tls_failed_locked (tls, (int) n, false);
    pthread_mutex_unlock (&tls->lock);
    return n;
}

/* Sets *ret_piece to the bytes for the next SSL_write, and returns how many parts they are of.
 * Consecutive small parts are copied together, since a record costs more than the copy; a large
 * part is encrypted in place. After a record that the socket took only in part, OpenSSL demands the
 * same bytes again; the same parts always make the same piece. */
static int
tls_gather (struct tls *tls, const struct iovec *parts, int n, struct iovec *ret_piece)
{
    size_t size = 0;
    int used = 0;

    for (; used < n && parts[used].iov_len <= MIN (SMALL, TLS_RECORD - size); used++) {
        memcpy (tls->gathered + size, parts[used].iov_base, parts[used].iov_len);
        size += parts[used].iov_len;
    }
    *ret_piece = used > 1 ? (struct iovec){ tls->gathered, size } : parts[0];
    return MAX (used, 1);
}

ssize_t
tls_write (struct tls *tls, const struct iovec *parts, int n)
{
    ssize_t done = 0, r = 1;
    struct iovec piece;

    for (int used; n > 0 && r > 0; parts += used, n -= used) {
        used = tls_gather (tls, parts, n, &piece);
        while (r > 0 && piece.iov_len > 0) {
            r = write_record (tls, piece.iov_base, piece.iov_len, used < n);
            done += MAX (r, 0);
            piece.iov_base = (uint8_t *) piece.iov_base + MAX (r, 0);
            piece.iov_len -= (size_t) MAX (r, 0);
        }
    }
    return done > 0 ? done : r;
}

/* --- reports ---------------------------------------------------------------------------------- */

char *
tls_problem (struct tls *tls)
{
    char *problem;

    pthread_mutex_lock (&tls->lock);
    problem = g_strdup (tls->problem ? tls->problem : "TLS failed");
    pthread_mutex_unlock (&tls->lock);
    return problem;
}

char *
tls_description (struct tls *tls)
{
    g_autofree char *name = NULL, *end = NULL;
    char *text = NULL;
    X509 *certificate;

    pthread_mutex_lock (&tls->lock);
    certificate = SSL_get1_peer_certificate (tls->ssl);
    if (certificate) {
        name = tls_certificate_name (certificate);
        end = tls_certificate_time (X509_get0_notAfter (certificate));
        text = g_strdup_printf ("%s, %s, the server's certificate is of '%s', valid until %s",
                                SSL_get_version (tls->ssl), SSL_get_cipher_name (tls->ssl), name,
                                end);
    }
    X509_free (certificate);
    pthread_mutex_unlock (&tls->lock);
    return text;
}

#else

#include <errno.h>
#include <glib.h>

int
tls_check_ciphers (const char *text, char **ret_allowed)
{
    return 0;
}

bool
tls_is_usual_path (const char *path)
{
    return false;
}

struct tls_context *
tls_context_new (const struct tls_settings *settings, char **ret_error)
{
    *ret_error = g_strdup ("this windlass was built without OpenSSL, and can't encrypt "
                           "connections; install OpenSSL's development files (libssl-dev, "
                           "openssl-devel), and run configure and make again");
    return NULL;
}

struct tls_context *
tls_context_ref (struct tls_context *context)
{
    return context;
}

void
tls_context_unref (struct tls_context *context)
{
}

struct tls *
tls_new (struct tls_context *context, int fd, const char *host)
{
    return NULL;
}

void
tls_free (struct tls *tls)
{
}

bool
tls_handshake (struct tls *tls, char **ret_reason)
{
    return false;
}

ssize_t
tls_read (struct tls *tls, void *to, size_t size)
{
    return -ENOSYS;
}

ssize_t
tls_write (struct tls *tls, const struct iovec *parts, int n)
{
    return -ENOSYS;
}

char *
tls_problem (struct tls *tls)
{
    return NULL;
}

char *
tls_description (struct tls *tls)
{
    return NULL;
}

#endif

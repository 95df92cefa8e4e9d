/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sentences for users that state why TLS failed. */
#include "config.h"
#include "rpc/tls/tls.h"

#ifdef HAVE_OPENSSL

#include "rpc/tls/tls-internal.h"

#include <openssl/decodererr.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

#define REASON_OF_ALERT(reason_) ((reason_) - SSL_AD_REASON_OFFSET)

/* --- certificates ----------------------------------------------------------------------------- */

/* Returns the text in a BIO, and frees the BIO. The text comes from the server, so all characters
 * but printable ASCII are replaced: control characters must not reach a log. */
static char *
text_of_bio (BIO *bio)
{
    char *bytes;
    const long size = BIO_get_mem_data (bio, &bytes);
    g_autofree char *raw = g_strndup (bytes, (gsize) MIN (size, 256));

    BIO_free (bio);
    g_strcanon (g_strdelimit (raw, "\r\n\t", ' '), " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKL"
                "MNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~", '?');
    return g_steal_pointer (&raw);
}

char *
tls_certificate_time (const ASN1_TIME *time)
{
    BIO *bio = BIO_new (BIO_s_mem ());

    ASN1_TIME_print_ex (bio, time, ASN1_DTFLGS_ISO8601);
    return text_of_bio (bio);
}

char *
tls_certificate_name (X509 *certificate)
{
    X509_NAME *name = X509_get_subject_name (certificate);
    BIO *bio = BIO_new (BIO_s_mem ());
    const int at = X509_NAME_get_index_by_NID (name, NID_commonName, -1);

    if (at >= 0)
        ASN1_STRING_print_ex (bio, X509_NAME_ENTRY_get_data (X509_NAME_get_entry (name, at)),
                              ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT);
    else
        X509_NAME_print_ex (bio, name, 0, XN_FLAG_ONELINE);
    return text_of_bio (bio);
}

/* --- OpenSSL's words -------------------------------------------------------------------------- */

/* Returns whether the error means that a file has nothing in PEM format. */
static bool
is_no_pem (unsigned long error)
{
    const int library = ERR_GET_LIB (error), reason = ERR_GET_REASON (error);

    return (library == ERR_LIB_PEM && reason == PEM_R_NO_START_LINE)
        || (library == ERR_LIB_OSSL_DECODER && reason == ERR_R_UNSUPPORTED)
        || (library == ERR_LIB_X509 && reason == X509_R_NO_CERTIFICATE_OR_CRL_FOUND);
}

char *
tls_reason_of_library (void)
{
    const unsigned long error = ERR_peek_error ();
    const char *reason = error ? ERR_reason_error_string (error) : NULL;

    ERR_clear_error ();
    if (error && is_no_pem (error))
        return g_strdup ("it is not in PEM format");
    return reason ? g_strdup_printf ("OpenSSL says '%s'", reason)
                  : g_strdup ("OpenSSL gives no reason");
}

/* --- the server's certificate ----------------------------------------------------------------- */

static char *
reason_of_dates (X509 *certificate, const char *name, bool expired)
{
    g_autofree char *time = tls_certificate_time (expired ? X509_get0_notAfter (certificate)
                                                          : X509_get0_notBefore (certificate));

    return expired ? g_strdup_printf ("the server's certificate, of '%s', has expired, on %s; it "
                                      "must be renewed on the server",
                                      name, time)
                   : g_strdup_printf ("the server's certificate, of '%s', is not valid before %s; "
                                      "are the clocks of both machines right?",
                                      name, time);
}

/* Returns a sentence for an error of X509_verify_cert(3). */
static char *
reason_of_certificate (const struct tls *tls, X509 *certificate, long error)
{
    g_autofree char *name = certificate ? tls_certificate_name (certificate) : g_strdup ("?");
    const struct tls_context *context = tls->context;

    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        if (certificate)
            return reason_of_dates (certificate, name, error == X509_V_ERR_CERT_HAS_EXPIRED);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return g_strdup_printf ("the server's certificate, of '%s', is signed by no CA in '%s' "
                                "(ssl-ca-list); if the server is the right one, the CA's "
                                "certificate belongs into that file",
                                name, context->ca_list);
    case X509_V_ERR_CERT_CHAIN_TOO_LONG:
        return g_strdup_printf ("between the server's certificate, of '%s', and a CA in '%s' are "
                                "more CAs than ssl-cert-depth, %d, allows",
                                name, context->ca_list, context->depth);
    case X509_V_ERR_CERT_REVOKED:
        return g_strdup_printf ("the server's certificate, of '%s', has been revoked: a list in "
                                "ssl-crl-path names it",
                                name);
    case X509_V_ERR_CRL_HAS_EXPIRED:
        return g_strdup ("a revocation list in ssl-crl-path has expired; a newer one is needed");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return g_strdup_printf ("the server's certificate is of '%s', and not of '%s' "
                                "(remote-host), as ssl-check-name demands",
                                name, tls->host);
    }
    return g_strdup_printf ("the server's certificate, of '%s', is refused: OpenSSL says '%s'",
                            name, X509_verify_cert_error_string (error));
}

/* Returns a sentence for an error of verification. It names the server's own certificate, though
 * the error may concern a CA's certificate in its chain. */
static char *
reason_of_verification (const struct tls *tls, long error)
{
    X509 *certificate = SSL_get1_peer_certificate (tls->ssl);
    STACK_OF (X509) *chain = SSL_get_peer_cert_chain (tls->ssl);
    char *reason;

    if (!certificate && chain && sk_X509_num (chain) > 0) {
        certificate = sk_X509_value (chain, 0);
        X509_up_ref (certificate);
    }
    reason = reason_of_certificate (tls, certificate, error);
    X509_free (certificate);
    return reason;
}

/* --- alerts: the server's reasons ------------------------------------------------------------- */

/* Returns why the server refused this client's certificate; NULL if the alert isn't about that. */
static const char *
refused_certificate (int alert)
{
    switch (alert) {
    case SSL_AD_UNKNOWN_CA:
        return "the server doesn't know its CA, which must be in the server's ssl-ca-list";
    case SSL_AD_CERTIFICATE_EXPIRED:
        return "the server finds that it has expired";
    case SSL_AD_CERTIFICATE_REVOKED:
        return "it has been revoked";
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_ACCESS_DENIED:
        return "the server's log has the reason";
    }
    return NULL;
}

static char *
reason_of_alert (const struct tls *tls, int alert)
{
    const char *refused = refused_certificate (alert);

    if (refused)
        return g_strdup_printf ("the server refused this client's certificate '%s' "
                                "(ssl-own-cert): %s",
                                tls->context->certificate, refused);
    if (alert == SSL_AD_PROTOCOL_VERSION)
        return g_strdup ("the server speaks no version of TLS that is safe: 1.2 or newer is "
                         "needed");
    if (alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_INSUFFICIENT_SECURITY)
        return g_strdup ("the server and this client have no cipher or no curve in common "
                         "(ssl-cipher-list, ssl-ec-curve)");
    return g_strdup_printf ("the server ended TLS with alert %d, '%s'; its log may have the reason",
                            alert, SSL_alert_desc_string_long (alert));
}

/* --- reasons ---------------------------------------------------------------------------------- */

static char *
reason_of_error (const struct tls *tls, unsigned long error)
{
    const int reason = ERR_GET_REASON (error);

    if (ERR_GET_LIB (error) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET)
        return reason_of_alert (tls, REASON_OF_ALERT (reason));
    switch (ERR_GET_LIB (error) == ERR_LIB_SSL ? reason : 0) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        return g_strdup ("the server did not answer by TLS; is TLS on there (server.ssl)?");
    case SSL_R_UNSUPPORTED_PROTOCOL:
        return reason_of_alert (tls, SSL_AD_PROTOCOL_VERSION);
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
        return g_strdup ("bytes were changed on their way from the server: a record of TLS is "
                         "damaged");
    }
    return g_strdup_printf ("TLS failed: OpenSSL says '%s'%s%s%s", ERR_reason_error_string (error),
                            tls->alert < 0 ? "" : "; the server's last alert is '",
                            tls->alert < 0 ? "" : SSL_alert_desc_string_long (tls->alert),
                            tls->alert < 0 ? "" : "'");
}

char *
tls_reason_of_stream (struct tls *tls)
{
    const unsigned long error = ERR_peek_error ();

    ERR_clear_error ();
    if (error)
        return reason_of_error (tls, error);
    return tls->alert >= 0 ? reason_of_alert (tls, tls->alert)
                           : g_strdup ("TLS failed, and OpenSSL gives no reason");
}

char *
tls_reason_of_handshake (struct tls *tls, bool timed_out)
{
    const long verified = SSL_get_verify_result (tls->ssl);

    if (timed_out)
        return g_strdup ("the server did not finish the TLS handshake in 10 seconds; is TLS on "
                         "there (server.ssl)?");
    if (verified != X509_V_OK)
        return reason_of_verification (tls, verified);
    if (tls->ended)
        return g_strdup ("the server closed the connection during the TLS handshake; is TLS on "
                         "there (server.ssl)?");
    if (tls->error)
        return g_strdup_printf ("the TLS handshake failed: %s", g_strerror (tls->error));
    return tls_reason_of_stream (tls);
}

#endif

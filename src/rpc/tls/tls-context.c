/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context that all TLS connections with the same settings share. It has the contents of the
 * certificate files, and reads them again when they have changed. Each error message names the
 * file, its option, and the remedy.
 */
#include "config.h"
#include "rpc/tls/tls.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

/* --- secure-access ---------------------------------------------------------------------------- */

#define SECURE_DEPTH "option transport.socket.ssl-cert-depth"

bool
tls_for_glusterd (int64_t *ret_depth)
{
    g_autofree char *text = NULL;
    g_auto (GStrv) lines = NULL;

    *ret_depth = 0;
    if (access (TLS_SECURE_ACCESS, F_OK) < 0)
        return false;
    *ret_depth = TLS_DEPTH;
    if (!g_file_get_contents (TLS_SECURE_ACCESS, &text, NULL, NULL))
        return true;
    lines = g_strsplit (text, "\n", -1);
    for (char **line = lines; *line; line++)
        if (g_str_has_prefix (*line, SECURE_DEPTH))
            *ret_depth = g_ascii_strtoll (*line + strlen (SECURE_DEPTH), NULL, 10);
    if (*ret_depth <= 0)
        *ret_depth = TLS_DEPTH;
    return true;
}

#ifdef HAVE_OPENSSL

#include "core/base/log.h"
#include "rpc/tls/tls-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

/* --- files ------------------------------------------------------------------------------------ */

/* The folder in which GlusterFS's documentation puts certificates and keys. */
#define DOCUMENTED "/etc/ssl"

static bool
path_is_below_folder (const char *path, const char *folder)
{
    const size_t size = strlen (folder);

    return strncmp (path, folder, size) == 0 && path[size] == '/';
}

/* Returns whether the path stays below DOCUMENTED or OpenSSL's own folder. Symbolic links in these
 * folders are trusted, since the folder's owner made them. A path with ".." is refused: behind a
 * symbolic link, ".." leaves the folder. */
bool
tls_is_usual_path (const char *path)
{
    return !strstr (path, "..")
        && (path_is_below_folder (path, DOCUMENTED)
            || path_is_below_folder (path, X509_get_default_cert_area ()));
}

/* The functions below that return int return 0, or -1 with a sentence in *ret_error. */

static int G_GNUC_PRINTF (2, 3)
tls_refuse (char **ret_error, const char *format, ...)
{
    va_list values;

    va_start (values, format);
    *ret_error = g_strdup_vprintf (format, values);
    va_end (values);
    return -1;
}

/* Returns `file`, or, if it is NULL, the path of the default file `name`. The default of GlusterFS
 * is the folder of the OpenSSL that it was built with; distributions differ in that. */
static char *
file_or_default (const char *file, const char *name)
{
    g_autofree char *here = g_build_filename (X509_get_default_cert_area (), name, NULL),
                    *documented = g_build_filename (DOCUMENTED, name, NULL);

    if (file)
        return g_strdup (file);
    return !g_file_test (here, G_FILE_TEST_EXISTS)
                && g_file_test (documented, G_FILE_TEST_EXISTS)
             ? g_steal_pointer (&documented)
             : g_steal_pointer (&here);
}

static const char *
unreadable_hint (int error)
{
    if (error == ENOENT)
        return "; a client of a server with TLS needs a certificate, its key, and the certificates "
               "of the CAs that it trusts";
    if (error == EACCES)
        return "; the user of the daemon must be able to read it";
    return "";
}

/* Checks that a file can be read. what and option are words for the message, such as "the
 * certificate" and "ssl-own-cert". */
static int
tls_file_check (const char *what, const char *file, const char *option, char **ret_error)
{
    const int fd = open (file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat stat;
    int r = fd < 0 || fstat (fd, &stat) < 0 ? errno : 0;

    if (fd >= 0)
        close (fd);
    if (r != 0)
        return tls_refuse (ret_error, "%s '%s' (%s) can't be read: %s%s", what, file, option,
                           g_strerror (r), unreadable_hint (r));
    if (!S_ISREG (stat.st_mode))
        return tls_refuse (ret_error, "%s '%s' (%s) must be a PEM file, and is no file",
                           what, file, option);
    return 0;
}

/* OpenSSL's callback for a private key with a passphrase. It gives no passphrase, because a daemon
 * can't ask a user for it. */
static int
passphrase_refuse (char *to, int size, int writing, void *ret_asked)
{
    *(bool *) ret_asked = true;
    return -1;
}

static int
certificate_check_time (const X509 *certificate, const char *file, char **ret_error)
{
    g_autofree char *from = tls_certificate_time (X509_get0_notBefore (certificate)),
                    *until = tls_certificate_time (X509_get0_notAfter (certificate));

    if (X509_cmp_current_time (X509_get0_notAfter (certificate)) < 0)
        return tls_refuse (ret_error,
                           "the certificate '%s' (ssl-own-cert) has expired, on %s; it must be "
                           "renewed",
                           file, until);
    if (X509_cmp_current_time (X509_get0_notBefore (certificate)) > 0)
        return tls_refuse (ret_error,
                           "the certificate '%s' (ssl-own-cert) is not valid before %s; is this "
                           "machine's clock right?",
                           file, from);
    return 0;
}

static int
certificate_read (SSL_CTX *ssl, const char *file, char **ret_error)
{
    g_autofree char *why = NULL;

    if (tls_file_check ("the certificate", file, "ssl-own-cert", ret_error) < 0)
        return -1;
    if (SSL_CTX_use_certificate_chain_file (ssl, file) == 1)
        return certificate_check_time (SSL_CTX_get0_certificate (ssl), file, ret_error);
    why = tls_reason_of_library ();
    return tls_refuse (ret_error,
                       "the certificate '%s' (ssl-own-cert) can't be used: %s; it must be a "
                       "certificate in PEM format, followed by those of its CAs",
                       file, why);
}

/* Warns if every user can read or write the private key: the daemon can use it, but so can they. */
static void
key_warn (const char *file)
{
    struct stat stat_of;

    if (stat (file, &stat_of) == 0 && stat_of.st_mode & (S_IROTH | S_IWOTH))
        gf_log (NULL, GF_LOG_WARNING,
                "any user can read the private key '%s' (ssl-private-key), and so act as this "
                "client: 'chmod 600 %s'",
                file, file);
}

static int
key_read (SSL_CTX *ssl, const char *file, const char *certificate, char **ret_error)
{
    g_autofree char *why = NULL;
    bool passphrase = false;

    if (tls_file_check ("the private key", file, "ssl-private-key", ret_error) < 0)
        return -1;
    key_warn (file);
    SSL_CTX_set_default_passwd_cb (ssl, passphrase_refuse);
    SSL_CTX_set_default_passwd_cb_userdata (ssl, &passphrase);
    if (SSL_CTX_use_PrivateKey_file (ssl, file, SSL_FILETYPE_PEM) == 1)
        return 0;
    if (ERR_GET_LIB (ERR_peek_error ()) == ERR_LIB_X509)
        return tls_refuse (ret_error,
                           "the private key '%s' (ssl-private-key) does not belong to the "
                           "certificate '%s' (ssl-own-cert)",
                           file, certificate);
    if (passphrase)
        return tls_refuse (ret_error,
                           "the private key '%s' (ssl-private-key) is protected by a passphrase, "
                           "which a daemon can't ask for; 'openssl pkey -in %s' writes it without",
                           file, file);
    why = tls_reason_of_library ();
    return tls_refuse (ret_error,
                       "the private key '%s' (ssl-private-key) can't be used: %s; it must be a key "
                       "in PEM format",
                       file, why);
}

static int
ca_list_read (SSL_CTX *ssl, const char *file, char **ret_error)
{
    g_autofree char *why = NULL;

    if (tls_file_check ("the list of trusted CAs", file, "ssl-ca-list", ret_error) < 0)
        return -1;
    if (SSL_CTX_load_verify_locations (ssl, file, NULL) == 1)
        return 0;
    why = tls_reason_of_library ();
    return tls_refuse (ret_error,
                       "the list of trusted CAs '%s' (ssl-ca-list) can't be used: %s; it must have "
                       "certificates in PEM format, one after the other",
                       file, why);
}

/* --- revoked certificates --------------------------------------------------------------------- */

/* OpenSSL's callback for each certificate that it has checked. Unlike GlusterFS's clients, this
 * client obeys revocation lists, but it also accepts the certificates of a CA without a list. */
static int
certificate_verified (int ok, X509_STORE_CTX *store)
{
    if (!ok && X509_STORE_CTX_get_error (store) == X509_V_ERR_UNABLE_TO_GET_CRL) {
        X509_STORE_CTX_set_error (store, X509_V_OK);
        return 1;
    }
    return ok;
}

static int
crl_path_use (SSL_CTX *ssl, const char *folder, char **ret_error)
{
    if (!folder || !*folder || g_ascii_strcasecmp (folder, "NULL") == 0)
        return 0;
    if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
        return tls_refuse (ret_error,
                           "there is no directory '%s' (ssl-crl-path); it must have revocation "
                           "lists, with the names that 'openssl rehash %s' makes",
                           folder, folder);
    if (SSL_CTX_load_verify_locations (ssl, NULL, folder) != 1)
        return tls_refuse (ret_error, "the directory '%s' (ssl-crl-path) can't be used", folder);
    X509_VERIFY_PARAM_set_flags (SSL_CTX_get0_param (ssl),
                                 X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return 0;
}

/* --- the context ------------------------------------------------------------------------------ */

/* Sets the rules by which OpenSSL verifies the server's certificate. Certificates for any purpose
 * are accepted (X509_PURPOSE_ANY), because a machine with GlusterFS uses one certificate both as
 * server and as client. */
static void
tls_rules_set (SSL_CTX *ssl, int depth)
{
    SSL_CTX_set_min_proto_version (ssl, TLS1_2_VERSION);
    SSL_CTX_set_options (ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode (ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode (ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead (ssl, 1);
    SSL_CTX_set_verify (ssl, SSL_VERIFY_PEER, certificate_verified);
    SSL_CTX_set_verify_depth (ssl, depth);
    SSL_CTX_set_purpose (ssl, X509_PURPOSE_ANY);
}

/* Returns the name of a cipher of the context's list that is unsafe: it does not encrypt, or it
 * accepts a server without a certificate. Returns NULL if every cipher is safe. */
static const char *
unsafe_cipher (const SSL_CTX *ssl)
{
    const STACK_OF (SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers (ssl);

    for (int i = 0; i < sk_SSL_CIPHER_num (ciphers); i++) {
        const SSL_CIPHER *cipher = sk_SSL_CIPHER_value (ciphers, i);

        if (SSL_CIPHER_get_bits (cipher, NULL) == 0
            || SSL_CIPHER_get_auth_nid (cipher) == NID_auth_null)
            return SSL_CIPHER_get_name (cipher);
    }
    return NULL;
}

int
tls_check_ciphers (const char *text, char **ret_allowed)
{
    SSL_CTX *ssl = SSL_CTX_new (TLS_client_method ());
    const char *unsafe = ssl && SSL_CTX_set_cipher_list (ssl, text) == 1 ? unsafe_cipher (ssl)
                                                                         : NULL;

    ERR_clear_error ();
    SSL_CTX_free (ssl);
    if (!unsafe)
        return 0;
    *ret_allowed = g_strdup_printf ("must be ciphers that encrypt and make the server show a "
                                    "certificate, and %s is none; append ':!eNULL:!aNULL'",
                                    unsafe);
    return -EINVAL;
}

static int
algorithms_set (SSL_CTX *ssl, const char *ciphers, const char *curves, char **ret_error)
{
    if (SSL_CTX_set_cipher_list (ssl, ciphers) != 1)
        return tls_refuse (ret_error,
                           "OpenSSL has no cipher of the list '%s' (ssl-cipher-list); 'openssl "
                           "ciphers' prints all",
                           ciphers);
    if (SSL_CTX_set1_groups_list (ssl, curves) != 1)
        return tls_refuse (ret_error,
                           "OpenSSL lacks a curve of '%s' (ssl-ec-curve); 'openssl ecparam "
                           "-list_curves' prints the names",
                           curves);
    return 0;
}

static int
files_read (SSL_CTX *ssl, const struct tls_context *from, char **ret_error)
{
    tls_rules_set (ssl, from->depth);
    if (algorithms_set (ssl, from->ciphers, from->curves, ret_error) < 0
        || certificate_read (ssl, from->certificate, ret_error) < 0
        || key_read (ssl, from->key, from->certificate, ret_error) < 0
        || ca_list_read (ssl, from->ca_list, ret_error) < 0)
        return -1;
    return crl_path_use (ssl, from->crl_path, ret_error);
}

/* Returns NULL, with a sentence in *ret_error, if a file can't be used. */
static SSL_CTX *
context_read (const struct tls_context *from, char **ret_error)
{
    SSL_CTX *ssl;

    ERR_clear_error ();
    ssl = SSL_CTX_new (TLS_client_method ());
    if (!ssl) {
        *ret_error = tls_reason_of_library ();
        return NULL;
    }
    if (files_read (ssl, from, ret_error) == 0)
        return ssl;
    SSL_CTX_free (ssl);
    return NULL;
}

static void
stamp_add (GString *stamp, const char *file)
{
    struct stat now;

    if (stat (file, &now) < 0)
        memset (&now, 0, sizeof now);
    g_string_append_printf (stamp, "%ju %jd.%09ld %jd ", (uintmax_t) now.st_ino,
                            (intmax_t) now.st_mtim.tv_sec, now.st_mtim.tv_nsec,
                            (intmax_t) now.st_size);
}

/* Returns a text of the inodes, times and sizes of the files, to be freed with g_free. If two such
 * texts differ, a file has changed between them. */
static char *
files_stamp (const struct tls_context *context)
{
    GString *stamp = g_string_new (NULL);

    stamp_add (stamp, context->certificate);
    stamp_add (stamp, context->key);
    stamp_add (stamp, context->ca_list);
    return g_string_free (stamp, FALSE);
}

struct tls_context *
tls_context_new (const struct tls_settings *from, char **ret_error)
{
    struct tls_context *context = g_new0 (struct tls_context, 1);

    pthread_mutex_init (&context->lock, NULL);
    context->refs = 1;
    context->certificate = file_or_default (from->certificate, "glusterfs.pem");
    context->key = file_or_default (from->key, "glusterfs.key");
    context->ca_list = file_or_default (from->ca_list, "glusterfs.ca");
    context->crl_path = g_strdup (from->crl_path);
    context->ciphers = g_strdup (from->ciphers ? from->ciphers : TLS_CIPHERS);
    context->curves = g_strdup (from->curves ? from->curves : TLS_CURVES);
    context->depth = (int) from->depth;
    context->check_name = from->check_name;
    context->stamp = files_stamp (context);
    context->ssl = context_read (context, ret_error);
    if (!context->ssl)
        g_clear_pointer (&context, tls_context_unref);
    return context;
}

/* Reads the files again if they have changed: an administrator renews certificates while the mount
 * runs. If the new files can't be used, the old context stays. */
static void
context_renew_locked (struct tls_context *context)
{
    g_autofree char *stamp = files_stamp (context), *error = NULL;
    SSL_CTX *ssl;

    if (strcmp (stamp, context->stamp) == 0)
        return;
    g_free (context->stamp);
    context->stamp = g_steal_pointer (&stamp);
    ssl = context_read (context, &error);
    if (!ssl) {
        gf_log (NULL, GF_LOG_WARNING,
                "the TLS files have changed and can't be used, so the earlier ones stay in use: %s",
                error);
        return;
    }
    SSL_CTX_free (context->ssl);
    context->ssl = ssl;
}

SSL_CTX *
tls_context_now (struct tls_context *context)
{
    SSL_CTX *ssl;

    pthread_mutex_lock (&context->lock);
    context_renew_locked (context);
    ssl = context->ssl;
    SSL_CTX_up_ref (ssl);
    pthread_mutex_unlock (&context->lock);
    return ssl;
}

struct tls_context *
tls_context_ref (struct tls_context *context)
{
    __atomic_add_fetch (&context->refs, 1, __ATOMIC_RELAXED);
    return context;
}

void
tls_context_unref (struct tls_context *context)
{
    if (!context || __atomic_sub_fetch (&context->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    SSL_CTX_free (context->ssl);
    pthread_mutex_destroy (&context->lock);
    g_free (context->certificate);
    g_free (context->key);
    g_free (context->ca_list);
    g_free (context->crl_path);
    g_free (context->ciphers);
    g_free (context->curves);
    g_free (context->stamp);
    g_free (context);
}

#endif

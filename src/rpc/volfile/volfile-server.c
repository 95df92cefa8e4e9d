/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fetches a volfile by one call, GETSPEC. The program does this before it forks into the
 * background, when it must not have threads; so these functions block, and don't use the event
 * loop.
 */
#include "rpc/volfile/volfile-server.h"

#include "core/time/clock.h"
#include "rpc/call.h"
#include "rpc/stream.h"
#include "rpc/text-dict.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Longest time in seconds for each of three steps: to connect, the TLS handshake, and the call. */
#define PATIENCE 10
#define LAST_FRAGMENT 0x80000000u
#define RECORD_MAX (16 << 20)
#define XID 1
#define MESSAGE_REPLY 1
#define OTHERS_MAX 100 /* most records before the reply, such as calls that glusterd makes */

struct volfile_server {
    const char *host;
    uint16_t port;
};

/* --- the socket ------------------------------------------------------------------------------- */

/* Returns 0 or a negative errno. SO_SNDTIMEO limits the time of connect(2), as socket(7) says. Then
 * the socket becomes non-blocking: with a limit for each read alone, a server that sends single
 * bytes slowly could keep the program for ever. */
static int
volfile_connect_address (const struct addrinfo *address, int *ret_fd)
{
    const struct timeval patience = { .tv_sec = PATIENCE };
    int fd = socket (address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    (void) setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect (fd, address->ai_addr, address->ai_addrlen) < 0) {
        const int r = errno == EINPROGRESS ? -ETIMEDOUT : -errno;

        close (fd);
        return r;
    }
    (void) fcntl (fd, F_SETFL, O_NONBLOCK);
    *ret_fd = fd;
    return 0;
}

/* Returns a connected socket, or -1 with the reason in *ret_error. */
static int
volfile_connect (const struct volfile_server *server, char **ret_error)
{
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *addresses = NULL;
    g_autofree char *port = g_strdup_printf ("%u", server->port);
    int r = getaddrinfo (server->host, port, &wanted, &addresses), fd = -1;

    if (r != 0) {
        *ret_error = g_strdup_printf ("there is no address of '%s': %s", server->host,
                                      gai_strerror (r));
        return -1;
    }
    r = -EHOSTUNREACH;
    for (const struct addrinfo *at = addresses; at && r < 0; at = at->ai_next)
        r = volfile_connect_address (at, &fd);
    freeaddrinfo (addresses);
    if (r == -ECONNREFUSED)
        *ret_error = g_strdup_printf ("no glusterd listens at %s, port %u", server->host,
                                      server->port);
    else if (r < 0)
        *ret_error = g_strdup_printf ("%s, port %u, can't be reached: %s", server->host,
                                      server->port, g_strerror (-r));
    return fd;
}

/* Waits until the socket is ready, or until a time of clock_now. Returns 0 or a negative errno. */
static int
volfile_await (const struct stream *stream, short events, int64_t until)
{
    struct pollfd pollfd = { .fd = stream->fd, .events = events };
    const int64_t left = until - clock_now ();

    if (left <= 0)
        return -ETIMEDOUT;
    return poll (&pollfd, 1, (int) (left / 1000000) + 1) < 0 && errno != EINTR ? -errno : 0;
}

static int
volfile_send (const struct stream *stream, const uint8_t *bytes, size_t size, int64_t until)
{
    while (size > 0) {
        const struct iovec part = { (void *) bytes, size };
        const ssize_t n = stream_write (stream, &part, 1);
        const int r = n == -EAGAIN ? volfile_await (stream, POLLOUT, until) : n < 0 ? (int) n : 0;

        if (r < 0)
            return r;
        bytes += MAX (n, 0);
        size -= (size_t) MAX (n, 0);
    }
    return 0;
}

static int
volfile_receive (const struct stream *stream, uint8_t *bytes, size_t size, int64_t until)
{
    while (size > 0) {
        const ssize_t n = stream_read (stream, bytes, size);
        const int r = n == -EAGAIN ? volfile_await (stream, POLLIN, until) : n < 0 ? (int) n : 0;

        if (n == 0)
            return -ECONNRESET;
        if (r < 0)
            return r;
        bytes += MAX (n, 0);
        size -= (size_t) MAX (n, 0);
    }
    return 0;
}

/* --- call and reply --------------------------------------------------------------------------- */

/* Writes the arguments of GETSPEC. They include the range of op-versions (versions of the volfile)
 * that this program accepts, because glusterd refuses a call without one. */
void
volfile_put_getspec (struct xdr_out *out, const char *volume)
{
    g_autoptr (dict_t) dict = dict_new ();

    dict_set_str (dict, "min-op-version", "1");
    dict_set_str (dict, "max-op-version", "100000");
    xdr_put_u32 (out, 0);
    xdr_put_string (out, volume);
    text_dict_put (out, dict);
}

char *
volfile_get_reply (struct xdr_in *in, const char *server, const char *volume, char **ret_error)
{
    const int32_t op_ret = xdr_get_i32 (in);
    g_autofree char *text = NULL;

    xdr_get_u32 (in); /* op_errno */
    text = xdr_get_string (in, RECORD_MAX);
    if (in->failed)
        *ret_error = g_strdup_printf ("%s did not answer as a glusterd does", server);
    else if (op_ret < 0 || !*text)
        *ret_error = g_strdup_printf ("%s has no volume '%s', or the volume is not started; "
                                      "'gluster volume info' there lists the volumes",
                                      server, volume);
    else
        return g_steal_pointer (&text);
    return NULL;
}

static int
volfile_send_getspec (const struct stream *stream, const char *volume, int64_t until)
{
    struct rpc_call call = { 0 };
    int r;

    rpc_call_begin (&call, RPC_HANDSHAKE, 2, RPC_GETSPEC, NULL);
    volfile_put_getspec (&call.out, volume);
    xdr_set_u32 (&call.out, 0, LAST_FRAGMENT | (uint32_t) (call.out.used - 4));
    xdr_set_u32 (&call.out, 4, XID);
    r = volfile_send (stream, call.out.bytes, call.out.used, until);
    xdr_out_clear (&call.out);
    return r;
}

/* Receives a record with all its fragments. Returns 0, or a negative errno, such as
 * -EPROTONOSUPPORT: the server demands TLS; -EBADMSG: the record is too large. */
static int
volfile_receive_record (const struct stream *stream, GByteArray *record, int64_t until)
{
    uint32_t mark = 0;
    int r = 0;

    while (r == 0 && !(mark & LAST_FRAGMENT)) {
        const guint before = record->len;

        r = clock_now () < until ? volfile_receive (stream, (uint8_t *) &mark, sizeof mark, until)
                                 : -ETIMEDOUT; /* for a server that sends empty fragments without
                                                * end */
        if (r == 0 && !stream->tls && stream_is_alert (&mark, sizeof mark))
            r = -EPROTONOSUPPORT;
        mark = GUINT32_FROM_BE (mark);
        if (r == 0 && before + (mark & ~LAST_FRAGMENT) > RECORD_MAX)
            r = -EBADMSG;
        if (r < 0)
            return r;
        g_byte_array_set_size (record, before + (mark & ~LAST_FRAGMENT));
        r = volfile_receive (stream, record->data + before, record->len - before, until);
    }
    return r;
}

/* Receives records until one is the reply, and sets *ret_in behind its XID and message type. Skips
 * other records, since glusterd also calls its clients. Returns 0, or a negative errno; -EBADMSG if
 * a record is too short, or if too many records are not the reply. */
static int
volfile_receive_reply (const struct stream *stream, GByteArray *record, struct xdr_in *ret_in,
                int64_t until)
{
    for (int i = 0; i <= OTHERS_MAX; i++) {
        uint32_t xid, message;
        int r;

        g_byte_array_set_size (record, 0);
        r = volfile_receive_record (stream, record, until);
        if (r < 0)
            return r;
        *ret_in = xdr_in_of (record->data, record->len);
        xid = xdr_get_u32 (ret_in);
        message = xdr_get_u32 (ret_in);
        if (ret_in->failed)
            return -EBADMSG;
        if (xid == XID && message == MESSAGE_REPLY)
            return 0;
    }
    return -EBADMSG;
}

static char *
volfile_read_reply (struct xdr_in *in, const char *server, const char *volume, char **ret_error)
{
    if (!rpc_reply_header (in))
        return volfile_get_reply (in, server, volume, ret_error);
    *ret_error = g_strdup_printf ("%s did not answer as a glusterd does", server);
    return NULL;
}

static char *
volfile_reason (const struct stream *stream, const struct volfile_server *server, int r)
{
    g_autofree char *reason = stream_reason (stream, r);

    if (r == -EPROTONOSUPPORT || (r == -ECONNRESET && !stream->tls))
        return g_strdup_printf ("%s, port %u, has closed the connection; if it demands TLS, it has "
                                "a file %s, and that must be here, too",
                                server->host, server->port, TLS_SECURE_ACCESS);
    if (r == -EBADMSG)
        return g_strdup_printf ("%s did not answer as a glusterd does", server->host);
    if (r == -ETIMEDOUT)
        return g_strdup_printf ("%s has not sent all of its reply within %d seconds",
                                server->host, PATIENCE);
    return g_strdup_printf ("%s did not answer: %s", server->host, reason);
}

/* Makes the TLS handshake with the server, if `tls` is not NULL. Otherwise does nothing. */
static bool
volfile_handshake (struct stream *stream, struct tls_context *tls,
                   const struct volfile_server *server, char **ret_error)
{
    g_autofree char *reason = NULL;

    if (!tls)
        return true;
    stream->tls = tls_new (tls, stream->fd, server->host);
    if (tls_handshake (stream->tls, &reason))
        return true;
    *ret_error = g_strdup_printf ("no TLS with %s, port %u, as %s demands: %s", server->host,
                                  server->port, TLS_SECURE_ACCESS, reason);
    return false;
}

static char *
volfile_call (const struct stream *stream, const struct volfile_server *server, const char *volume,
              char **ret_error)
{
    const int64_t until = clock_now () + PATIENCE * 1000000000LL;
    g_autoptr (GByteArray) record = g_byte_array_new ();
    struct xdr_in in;
    int r = volfile_send_getspec (stream, volume, until);

    if (r == 0)
        r = volfile_receive_reply (stream, record, &in, until);
    if (r == 0)
        return volfile_read_reply (&in, server->host, volume, ret_error);
    *ret_error = volfile_reason (stream, server, r);
    return NULL;
}

static char *
volfile_fetch_from (const char *text, struct tls_context *tls, const char *volume, char **ret_error)
{
    uint16_t port;
    g_autofree char *host = volfile_server_host (text, &port);
    const struct volfile_server server = { host, port };
    struct stream stream = { .fd = -1 };
    char *spec = NULL;

    if (port == 0)
        *ret_error = g_strdup_printf ("the port of '%s' must be 1 to 65535", text);
    else
        stream.fd = volfile_connect (&server, ret_error);
    if (stream.fd < 0)
        return NULL;
    if (volfile_handshake (&stream, tls, &server, ret_error))
        spec = volfile_call (&stream, &server, volume, ret_error);
    tls_free (stream.tls);
    close (stream.fd);
    return spec;
}

bool
volfile_tls (struct tls_context **ret_tls, char **ret_error)
{
    struct tls_settings settings = { 0 };
    g_autofree char *why = NULL;

    *ret_tls = NULL;
    if (!tls_for_glusterd (&settings.depth))
        return true;
    *ret_tls = tls_context_new (&settings, &why);
    if (!*ret_tls)
        *ret_error = g_strdup_printf ("no TLS with glusterd, as the file %s demands: %s",
                                      TLS_SECURE_ACCESS, why);
    return *ret_tls != NULL;
}

char *
volfile_fetch (const char *text, char **ret_error)
{
    g_auto (GStrv) servers = volfile_servers (text);
    g_autofree char *volume = volfile_name_volume (text);
    g_autoptr (GString) reasons = g_string_new (NULL);
    struct tls_context *tls;
    char *spec = NULL;

    if (!volfile_tls (&tls, ret_error))
        return NULL;
    for (char **server = servers; *server && !spec; server++) {
        g_autofree char *reason = NULL;

        spec = volfile_fetch_from (*server, tls, volume, &reason);
        if (reason)
            g_string_append_printf (reasons, "%s%s", reasons->len ? "; " : "", reason);
    }
    tls_context_unref (tls);
    if (!spec)
        *ret_error = g_strdup_printf ("the volfile of '%s' can't be fetched: %s", volume,
                                      reasons->str);
    return spec;
}

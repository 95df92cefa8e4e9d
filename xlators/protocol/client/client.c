/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options, init, fini and events of the translator protocol/client. */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum client_transport { TRANSPORT_TCP, TRANSPORT_UNIX };

static const struct option_choice client_transports[] = {
    { "tcp", TRANSPORT_TCP }, { "unix", TRANSPORT_UNIX }, { "socket", TRANSPORT_TCP },
    { "tcp/client", TRANSPORT_TCP }, {},
};

static const struct xlator_option client_options[] = {
    { OPTION ("transport-type", ENUM, client_private_t, transport, "tcp"),
      .values = client_transports, .local_value = "unix",
      .help = "how the server is reached: tcp, or unix for a socket in the file system" },
    { OPTION ("remote-host", STRING, client_private_t, host, NULL), .from_server = SERVER_MAY,
      .help = "the server's name or address" },
    { OPTION ("remote-port", INT, client_private_t, port, "0"), .min = 0, .max = 65535,
      .help = "the brick's port; 0: ask the server's glusterd, port 24007, for it" },
    { OPTION ("transport.socket.connect-path", PATH, client_private_t, path, NULL),
      .key[1] = "connect-path", .help = "the socket of the server, with transport-type unix" },
    { OPTION ("remote-subvolume", STRING, client_private_t, subvolume, NULL), .required = true,
      .from_server = SERVER_MAY,
      .help = "the brick: the name of a volume in the server's volfile; glusterd names it by the "
              "brick's directory" },
    { OPTION ("subdir-mount", PATH, client_private_t, directory, NULL), .from_server = SERVER_MAY,
      .help = "a directory of the volume, \"/DIR\", that is to be the root; SERVER:/VOLUME/DIR "
              "sets it" },
    { OPTION ("username", STRING, client_private_t, username, NULL), .from_server = SERVER_MAY,
      .help = "for a server that asks for it (auth.login)" },
    { OPTION ("password", STRING, client_private_t, password, NULL), .secret = true,
      .from_server = SERVER_MAY, .help = "for a server that asks for it (auth.login)" },
    { OPTION ("volume-id", STRING, client_private_t, volume_id, NULL), .from_server = SERVER_MAY,
      .help = "the identity of the volume; the server refuses if its brick is of another" },
    { OPTION ("frame-timeout", TIME, client_private_t, frame_timeout, "1800"),
      .key[1] = "rpc-timeout", .min = 0, .max = 86400, .online = true,
      .help = "an operation that the server does not answer within this time fails with ETIMEDOUT, "
              "whether the server did it or not; 0: never" },
    { OPTION ("ping-timeout", TIME, client_private_t, ping_timeout, "42"), .min = 0, .max = 1013,
      .online = true,
      .help = "a server that says nothing for this time, while operations wait for it, is given "
              "up, and connected to anew; 0: never" },
    { OPTION ("send-gids", BOOL, client_private_t, send_gids, "on"), .online = true,
      .help = "tells the server the caller's supplementary groups; off: the server looks them up "
              "by itself (server.manage-gids)" },
    { OPTION ("strict-locks", BOOL, client_private_t, strict_locks, "off"), .online = true,
      .help = "on: a file with a record lock fails with EBADFD after the connection was lost, "
              "since another client may have had the lock meanwhile; off: the lock is taken again, "
              "and the file fails only if that fails" },
    { OPTION ("filter-O_DIRECT", BOOL, client_private_t, filter_o_direct, "off"), .online = true,
      .help = "opens files on the server without O_DIRECT" },
    { OPTION_INERT ("transport.address-family", STRING,
                    "no effect: the address decides"), .key[1] = "address-family" },
    { OPTION_INERT ("transport.tcp-user-timeout", TIME,
                    "no effect: ping-timeout finds a server that is gone") },
    { OPTION_INERT ("transport.socket.keepalive-time", TIME,
                    "no effect: ping-timeout finds a server that is gone") },
    { OPTION_INERT ("transport.socket.keepalive-interval", TIME,
                    "no effect: ping-timeout finds a server that is gone") },
    { OPTION_INERT ("transport.socket.keepalive-count", INT,
                    "no effect: ping-timeout finds a server that is gone") },
    { OPTION_INERT ("transport.socket.own-thread", BOOL,
                    "no effect: one thread serves all connections") },
    { OPTION ("transport.socket.ssl-enabled", BOOL, client_private_t, encrypted, "off"),
      .help = "encrypts the connection to the brick by TLS, and verifies the server's certificate; "
              "ignored with transport-type unix" },
    { OPTION ("transport.socket.ssl-own-cert", PATH, client_private_t, tls_certificate, NULL),
      .key[1] = "ssl-own-cert", .from_server = SERVER_MAY_IN_TLS_FOLDER,
      .help = "the certificate that this client shows, of the form PEM, with those of its CAs "
              "behind it; if not set, glusterfs.pem in OpenSSL's folder ('openssl version -d'), or "
              "else in /etc/ssl" },
    { OPTION ("transport.socket.ssl-private-key", PATH, client_private_t, tls_key, NULL),
      .key[1] = "ssl-private-key", .from_server = SERVER_MAY_IN_TLS_FOLDER,
      .help = "the private key of ssl-own-cert, without a passphrase; if not set, glusterfs.key in "
              "the same folders" },
    { OPTION ("transport.socket.ssl-ca-list", PATH, client_private_t, tls_ca_list, NULL),
      .key[1] = "ssl-ca-list", .from_server = SERVER_MAY_IN_TLS_FOLDER,
      .help = "certificates of the CAs that are trusted: one must have signed the server's; if not "
              "set, glusterfs.ca in the same folders" },
    { OPTION ("transport.socket.ssl-crl-path", STRING, client_private_t, tls_crl_path, NULL),
      .key[1] = "ssl-crl-path", .from_server = SERVER_MAY_IN_TLS_FOLDER,
      .help = "a directory with revocation lists, named by 'openssl rehash'; a server whose "
              "certificate one of them names is refused; NULL: none" },
    { OPTION ("transport.socket.ssl-cert-depth", INT, client_private_t, tls_depth,
              G_STRINGIFY (TLS_DEPTH)), .key[1] = "ssl-cert-depth", .min = 0, .max = 100,
      .help = "how many CAs may be between the server's certificate and one of ssl-ca-list" },
    { OPTION ("transport.socket.ssl-cipher-list", STRING, client_private_t, tls_ciphers,
              TLS_CIPHERS), .key[1] = "ssl-cipher-list", .check = tls_check_ciphers,
      .from_server = SERVER_MAY,
      .help = "ciphers for TLS 1.2, as 'openssl ciphers' takes them; each must encrypt, and make "
              "the server show a certificate" },
    { OPTION ("transport.socket.ssl-ec-curve", STRING, client_private_t, tls_curves, TLS_CURVES),
      .key[1] = "ssl-ec-curve", .from_server = SERVER_MAY,
      .help = "curves for the exchange of keys, the preferred one first" },
    { OPTION_INERT ("transport.socket.ssl-dh-param", STRING,
                    "no effect: the server chooses these parameters"), .key[1] = "ssl-dh-param" },
    { OPTION ("ssl-check-name", BOOL, client_private_t, tls_check_name, "off"),
      .help = "on: the server's certificate must be made out to remote-host; off: to any name, as "
              "in GlusterFS, so every holder of a certificate of a trusted CA can pose as the "
              "server" },
    { OPTION_INERT ("event-threads", INT, "no effect: one thread serves all connections") },
    { OPTION_INERT ("tcp-window-size", SIZE, "no effect: the system chooses the size") },
    { OPTION_INERT ("client-bind-insecure", BOOL, "no effect: the system chooses the port") },
    { OPTION_INERT ("testing.old-protocol", BOOL,
                    "no effect: only version 400 of the protocol is spoken") },
    {},
};

/* --- init, fini ------------------------------------------------------------------------------- */

static int
client_check (xlator_t *this)
{
    const client_private_t *priv = this->private;

    if (priv->transport == TRANSPORT_UNIX && !priv->path)
        gf_log (this, GF_LOG_ERROR,
                "transport-type unix needs 'option transport.socket.connect-path PATH'");
    else if (priv->transport != TRANSPORT_UNIX && !priv->host)
        gf_log (this, GF_LOG_ERROR, "there is no 'option remote-host HOST': which server has '%s'?",
                priv->subvolume);
    else
        return 0;
    return -EINVAL;
}

/* Reads the certificates and keys for TLS. The option transport.socket.ssl-enabled decides whether
 * connections to the brick are encrypted. As in GlusterFS, connections to glusterd, which reports
 * the brick's port, are encrypted if the file TLS_SECURE_ACCESS exists on this machine. That file
 * can also set the greatest depth of certificate chains; connections to the brick then allow that
 * depth too, if it is greater than their own option. */
static int
client_init_tls (xlator_t *this)
{
    client_private_t *priv = this->private;
    int64_t depth;
    const bool glusterd = tls_for_glusterd (&depth) && priv->port == 0;
    const struct tls_settings settings = {
        .certificate = priv->tls_certificate,
        .key = priv->tls_key,
        .ca_list = priv->tls_ca_list,
        .crl_path = priv->tls_crl_path,
        .ciphers = priv->tls_ciphers,
        .curves = priv->tls_curves,
        .depth = MAX (depth, priv->tls_depth),
        .check_name = priv->tls_check_name,
    };
    g_autofree char *error = NULL;

    if (priv->transport == TRANSPORT_UNIX || !(priv->encrypted || glusterd))
        return 0;
    priv->tls = tls_context_new (&settings, &error);
    if (!priv->tls) {
        gf_log (this, GF_LOG_ERROR, "no TLS, as %s demands: %s",
                priv->encrypted ? "'option transport.socket.ssl-enabled on'"
                                : "the file " TLS_SECURE_ACCESS,
                error);
        return -EINVAL;
    }
    if (glusterd)
        priv->tls_of_glusterd = tls_context_ref (priv->tls);
    if (!priv->encrypted)
        g_clear_pointer (&priv->tls, tls_context_unref);
    return 0;
}

/* Makes the name by which the server knows this client, of a random number, the process id, and the
 * names of the host and of the volume. */
static void
client_name (xlator_t *this)
{
    client_private_t *priv = this->private;
    char host[64] = "localhost";

    (void) gethostname (host, sizeof host - 1);
    snprintf (priv->process, sizeof priv->process,
              "CTX_ID:%016" G_GINT64_MODIFIER "x-GRAPH_ID:0-PID:%d-HOST:%.40s-PC_NAME:%.24s",
              random_next (&priv->random), getpid (), host, this->name);
}

static int
client_init (xlator_t *this)
{
    client_private_t *priv = this->private;
    int r = client_check (this);

    if (r == 0)
        r = client_init_tls (this);
    if (r < 0)
        return r;
    if (priv->transport != TRANSPORT_UNIX)
        g_clear_pointer (&priv->path, g_free);
    priv->random.state = random_seed ();
    client_name (this);
    priv->brick = client_brick (priv);
    pthread_mutex_init (&priv->held_lock, NULL);
    g_queue_init (&priv->held);
    client_session_init (this);
    client_upcalls_init (this);
    work_use ();
    priv->ready = true;
    priv->looping = loop_use () == 0;
    return priv->looping ? 0 : -EAGAIN;
}

static void
client_fini (xlator_t *this)
{
    client_private_t *priv = this->private;

    tls_context_unref (priv->tls);
    tls_context_unref (priv->tls_of_glusterd);
    if (!priv->ready)
        return;
    if (priv->looping)
        loop_leave ();
    work_leave ();
    client_upcalls_fini (this);
    client_session_fini (this);
    histogram_clear (&priv->round_trips);
    pthread_mutex_destroy (&priv->held_lock);
}

static int
client_reconfigure (xlator_t *this, const void *new_private)
{
    client_private_t *priv = this->private;
    const client_private_t *options_now = new_private;

    __atomic_store_n (&priv->frame_timeout, options_now->frame_timeout, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->ping_timeout, options_now->ping_timeout, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->send_gids, options_now->send_gids, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->strict_locks, options_now->strict_locks, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->filter_o_direct, options_now->filter_o_direct, __ATOMIC_RELAXED);
    client_session_set_timeouts (this, 0);
    return 0;
}

#define PATIENCE_AT_THE_END 3000000000LL /* longest ping-timeout while the mount ends,
                                          * nanoseconds */

/* Called when the mount begins to end. Limits ping-timeout to PATIENCE_AT_THE_END, so that a server
 * that no longer responds delays the end of the mount by no more than that. */
static void
client_ending (xlator_t *this)
{
    client_session_set_timeouts (this, PATIENCE_AT_THE_END);
    client_upcalls_end (this);
    client_end_waiting (this);
}

static void
client_down (xlator_t *this)
{
    client_session_end (this);
    client_upcalls_wait (this);
}

/* Starts to connect at CHILD_UP, and waits for the connection at PARENT_UP. Every translator
 * without children gets CHILD_UP before the first one gets PARENT_UP, so a graph connects to all
 * its bricks at the same time. The session passes CHILD_UP on to the parents when it is up. */
static void
client_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_CHILD_UP)
        client_session_begin (this);
    else if (event == XLATOR_PARENT_UP)
        client_session_wait (this);
    else if (event == XLATOR_ENDING)
        client_ending (this);
    else if (event == XLATOR_PARENT_DOWN)
        client_down (this);
    else
        xlator_pass_on (this, event, data);
}

/* Sets the member of xlator_api.fops for one row of rpc/wire/wire.def. A row with NONE in the
 * column "in the client" sets no member, because its procedure belongs to no operation. */
#define CLIENT_FOP(name_, number_, text_, client_, brick_) CLIENT_FOP_##client_ (name_)
#define CLIENT_FOP_FILE(name_) .name_ = client_##name_,
#define CLIENT_FOP_OPEN CLIENT_FOP_FILE
#define CLIENT_FOP_NAME CLIENT_FOP_FILE
#define CLIENT_FOP_NEW CLIENT_FOP_FILE
#define CLIENT_FOP_LINK CLIENT_FOP_FILE
#define CLIENT_FOP_HAND CLIENT_FOP_FILE
#define CLIENT_FOP_NONE(name_)

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "protocol/client",
    .about = "connects to a brick of a GlusterFS volume, on this machine or another",
    .children = { .min = 0, .max = 0 },
    .remote = true,
    .touches = TOUCHES_NOTHING,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (client_private_t),
    .options = client_options,
    .init = client_init,
    .fini = client_fini,
    .reconfigure = client_reconfigure,
    .notify = client_notify,
    .fops = {
        WIRE_LIST (CLIENT_FOP)
        .readdir = client_readdir, .flock = client_flock,
    },
    .cbks = { .forget = client_forget, .release = client_release, .releasedir = client_release },
    .dumpops = { .priv = client_dump,
                 .waits_for = client_waits_for,
                 .explain = client_explain,
                 .why_failed = client_why_failed,
                 .server = client_server },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handshake: the calls at the beginning of a connection. The event loop's thread makes them.
 *
 *   DUMP         asks for the server's programs
 *   PORTBYBRICK  asks the portmapper (glusterd) for the brick's port; the session then ends this
 *                connection, and connects to that port
 *   SETVOLUME    sends the names of the brick and of this client; the server accepts or refuses
 */
#include "client.h"

#include "rpc/text-dict.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { DUMP_DUMP = 1, HANDSHAKE_SETVOLUME = 1, PORTMAP_PORTBYBRICK = 1 };

#define TEXT_MAX 4096

/* Ends the connection because the handshake failed. The formatted text is the reason in the log and
 * in reports. */
static void G_GNUC_PRINTF (2, 3)
handshake_refuse (struct client_call *call, const char *format, ...)
{
    g_autofree char *reason = NULL;
    va_list values;

    va_start (values, format);
    reason = g_strdup_vprintf (format, values);
    va_end (values);
    rpc_hang_up (call->connection, reason);
}

/* Returns true if the server has replied to the call. question: the name of its procedure. If the
 * call has failed, ends the connection with a reason that names the procedure; but if the call
 * failed because the connection was lost, does nothing, because the session reports the loss. */
static bool
handshake_is_answered (struct client_call *call, const struct rpc_reply *reply,
                       const char *question)
{
    if (reply->error == ETIMEDOUT)
        handshake_refuse (call, "the server did not answer %s", question);
    else if (reply->error != 0 && reply->error != ENOTCONN)
        handshake_refuse (call, "the server rejected %s; is it a GlusterFS server?", question);
    return reply->error == 0;
}

/* --- SETVOLUME -------------------------------------------------------------------------------- */

static const char *
setvolume_hint (int error)
{
    if (error == ENOENT)
        return "; remote-subvolume must name a volume directly below the server's";
    if (error == EACCES)
        return "; the server allows a client by its address (auth.addr), by username and password "
               "(auth.login), or by the name in its certificate (auth.ssl-allow)";
    return "";
}

static void
setvolume_reply (struct client_call *call, struct rpc_reply *reply)
{
    const client_private_t *priv = call->this->private;
    struct xdr_in *in = &reply->results;
    g_autoptr (dict_t) dict = NULL;
    const char *text, *child_up;
    int32_t op_ret, op_errno;

    if (!handshake_is_answered (call, reply, "SETVOLUME"))
        return;
    op_ret = xdr_get_i32 (in);
    op_errno = xdr_get_i32 (in);
    dict = text_dict_get (in);
    text = dict_get_str (dict, "ERROR");
    child_up = dict_get_str (dict, "child_up");
    if (in->failed)
        handshake_refuse (call, "the server's answer to SETVOLUME is no answer");
    else if (op_ret < 0 && op_errno == ENOENT && priv->directory)
        handshake_refuse (call, "the volume has no directory '%s' (subdir-mount), or it has no "
                                "brick '%s'",
                          priv->directory, priv->subvolume);
    else if (op_ret < 0)
        handshake_refuse (call, "the server refused '%s': %s (%s)%s", priv->subvolume,
                          text ? text : "no reason given", g_strerror (wire_errno (op_errno)),
                          setvolume_hint (op_errno));
    else if (g_strcmp0 (child_up, "0") == 0)
        handshake_refuse (call, "the brick's own storage is not up");
    else
        client_session_agreed (call->this, call->connection);
}

/* Returns the name of the client for SETVOLUME on this connection. If a new connection had the name
 * of an old one, a server would hand over to it the open files and locks of the old one, so each
 * connection gets another name. */
static char *
connection_name (client_private_t *priv)
{
    unsigned number;

    pthread_mutex_lock (&priv->session.lock);
    number = priv->session.connections;
    pthread_mutex_unlock (&priv->session.lock);
    return g_strdup_printf ("%s-RECON_NO:-%u", priv->process, number - 1);
}

static void
setvolume_send (struct client_call *dumped)
{
    xlator_t *this = dumped->this;
    client_private_t *priv = this->private;
    g_autoptr (dict_t) dict = dict_new ();
    g_autofree char *process = connection_name (priv);
    struct client_call *call = client_begin_program (this, dumped->connection, RPC_HANDSHAKE, 2,
                                                     HANDSHAKE_SETVOLUME, setvolume_reply);

    dict_set_str (dict, "remote-subvolume", priv->subvolume);
    dict_set_str (dict, "process-uuid", process);
    dict_set_str (dict, "process-name", "windlass");
    dict_set_str (dict, "fops-version", G_STRINGIFY (1298437));
    dict_set_str (dict, "client-version", "windlass");
    dict_set_str (dict, "opversion", "100000");
    dict_set_str (dict, "clnt-lk-version", "1");
    if (priv->directory)
        dict_set_str (dict, "subdir-mount", priv->directory);
    if (priv->username)
        dict_set_str (dict, "username", priv->username);
    if (priv->password)
        dict_set_str (dict, "password", priv->password);
    if (priv->volume_id)
        dict_set_str (dict, "volume-id", priv->volume_id);
    text_dict_put (&call->rpc.out, dict);
    client_send_now (call);
}

/* --- PORTBYBRICK ------------------------------------------------------------------------------ */

static void
portbybrick_reply (struct client_call *call, struct rpc_reply *reply)
{
    const client_private_t *priv = call->this->private;
    struct xdr_in *in = &reply->results;
    int32_t op_ret, port;

    if (!handshake_is_answered (call, reply, "PORTBYBRICK"))
        return;
    op_ret = xdr_get_i32 (in);
    xdr_get_i32 (in);
    xdr_get_i32 (in);
    port = xdr_get_i32 (in);
    if (in->failed || (op_ret >= 0 && (port <= 0 || port > 65535)))
        handshake_refuse (call, "the portmapper's answer is no answer");
    else if (op_ret < 0)
        handshake_refuse (call, "the portmapper knows no port of '%s': the brick does not run, or "
                      "remote-subvolume is wrong",
                          priv->subvolume);
    else
        client_session_move (call->this, call->connection, (unsigned) port);
}

static void
portbybrick_send (struct client_call *dumped)
{
    const client_private_t *priv = dumped->this->private;
    struct client_call *call =
        client_begin_program (dumped->this, dumped->connection, RPC_PORTMAP, 1,
                              PORTMAP_PORTBYBRICK, portbybrick_reply);

    xdr_put_string (&call->rpc.out, priv->subvolume);
    client_send_now (call);
}

/* --- DUMP ------------------------------------------------------------------------------------- */

/* For each of the programs RPC_FILES and RPC_PORTMAP: whether the server has it, in the version
 * that this client uses. */
struct programs {
    bool files, portmap;
};

static struct programs
get_programs (struct xdr_in *in)
{
    struct programs found = { 0 };
    uint64_t program, version;
    size_t size;

    while (xdr_get_u32 (in) != 0 && !in->failed) {
        xdr_get_opaque (in, TEXT_MAX, &size);
        program = xdr_get_u64 (in);
        version = xdr_get_u64 (in);
        if (program == RPC_FILES && version == WIRE_VERSION)
            found.files = true;
        if (program == RPC_PORTMAP && version == 1)
            found.portmap = true;
    }
    return found;
}

static void
dump_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct xdr_in *in = &reply->results;
    struct programs programs;
    int32_t op_ret;

    if (!handshake_is_answered (call, reply, "DUMP"))
        return;
    xdr_get_u64 (in);
    op_ret = xdr_get_i32 (in);
    xdr_get_i32 (in);
    programs = get_programs (in);
    if (in->failed || op_ret < 0)
        handshake_refuse (call, "the server's answer to DUMP is no answer");
    else if (call->flags && programs.portmap)
        portbybrick_send (call);
    else if (programs.files)
        setvolume_send (call);
    else if (programs.portmap)
        handshake_refuse (call, "this is a portmapper (glusterd), not a brick; leave out "
                                "remote-port to ask it for the brick's port");
    else
        handshake_refuse (call, "the server has no program %u version %u: GlusterFS 4.1 or newer "
                                "is needed",
                          RPC_FILES, WIRE_VERSION);
}

void
client_handshake_begin (xlator_t *this, struct rpc_connection *connection, bool is_portmapper)
{
    struct client_call *call =
        client_begin_program (this, connection, RPC_DUMP, 1, DUMP_DUMP, dump_reply);

    call->flags = is_portmapper;
    xdr_put_u64 (&call->rpc.out, 0xcaed);
    client_send_now (call);
}

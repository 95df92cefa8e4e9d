/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What users see of the connection. */
#include "client.h"

#include <string.h>

char *
client_place (const client_private_t *priv)
{
    if (priv->path)
        return g_strdup_printf ("%s of %s", priv->subvolume, priv->path);
    if (priv->port)
        return g_strdup_printf ("%s of %s, port %u", priv->subvolume, priv->host,
                                (unsigned) priv->port);
    return g_strdup_printf ("%s of %s", priv->subvolume, priv->host);
}

static const char *
state_text (enum session_state state)
{
    static const char *const texts[] = { "down", "connecting", "opening files again", "up" };

    return texts[state];
}

static void
dump_numbers (struct rpc_connection *connection, GString *out)
{
    const struct rpc_numbers numbers = rpc_numbers_of (connection);
    g_autofree char *encryption = rpc_encryption_of (connection);

    g_string_append_printf (out, "encryption=%s\n", encryption ? encryption : "none");
    g_string_append_printf (out, "calls_under_way=%u\ncalls_waiting=%u\n", numbers.asked,
                            numbers.waiting);
    g_string_append_printf (out,
                            "bytes_sent=%" G_GUINT64_FORMAT "\nbytes_received=%" G_GUINT64_FORMAT
                            "\n",
                            numbers.sent, numbers.received);
    g_string_append_printf (out, "round_trip_us=%" G_GINT64_FORMAT "\n",
                            numbers.round_trip / 1000);
    if (numbers.heard)
        g_string_append_printf (out, "last_heard_s=%.1f\n", (clock_now () - numbers.heard) / 1e9);
}

void
client_dump (xlator_t *this, GString *out)
{
    client_private_t *priv = this->private;
    struct session *session = &priv->session;
    struct rpc_connection *connection = session_connection_now (this);
    g_autofree char *place = client_place (priv);

    g_string_append_printf (out, "brick=%s\n", place);
    pthread_mutex_lock (&session->lock);
    g_string_append_printf (out, "state=%s\n", state_text (session->state));
    if (session->problem)
        g_string_append_printf (out, "problem=%s\n", session->problem);
    pthread_mutex_unlock (&session->lock);
    pthread_mutex_lock (&session->files_lock);
    g_string_append_printf (out, "open_files=%u\n", session->files.length);
    pthread_mutex_unlock (&session->files_lock);
    if (connection)
        dump_numbers (connection, out);
    rpc_connection_unref (connection);
}

struct waiting {
    const call_frame_t *frame;
    int64_t asked; /* 0: not found */
};

static bool
waiting_see (struct rpc_call *rpc, int64_t asked, void *data)
{
    struct waiting *waiting = data;

    if (((struct client_call *) rpc)->frame != waiting->frame)
        return false;
    waiting->asked = asked;
    return true;
}

void
client_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    client_private_t *priv = this->private;
    struct rpc_connection *connection = session_connection_now (this);
    struct waiting waiting = { .frame = frame };
    g_autofree char *place = client_place (priv);
    int64_t heard;

    if (!connection)
        return;
    rpc_each_call (connection, waiting_see, &waiting);
    heard = rpc_numbers_of (connection).heard;
    rpc_connection_unref (connection);
    if (waiting.asked)
        g_string_append_printf (out, "brick %s, asked %.1f s ago, last heard %.1f s ago", place,
                                (clock_now () - waiting.asked) / 1e9,
                                (clock_now () - heard) / 1e9);
}

void
client_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    client_private_t *priv = this->private;
    struct session *session = &priv->session;
    g_autofree char *place = client_place (priv);

    pthread_mutex_lock (&session->lock);
    if (session->state == SESSION_UP)
        g_string_append_printf (out, "is on brick %s (remote-host, remote-subvolume)\n", place);
    else
        g_string_append_printf (out, "is on brick %s, which can't be used now: %s\n", place,
                                session->problem ? session->problem
                                                 : state_text (session->state));
    pthread_mutex_unlock (&session->lock);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The session with the brick: one connection after the other.
 *
 *   DOWN --connect--> CONNECTING --handshake--> REOPENING --all files open--> UP
 *     ^---------------------- the connection ends, in any state --------------'
 *
 * The session tries to connect again at once after a connection that was up has ended. The pauses
 * between further attempts grow.
 */
#include "client.h"

#include <errno.h>
#include <string.h>

#define PORTMAPPER 24007

static void session_connect_locked (xlator_t *this);

/* --- events of a connection, on the loop's thread --------------------------------------------- */

static void
session_connected (void *data)
{
    xlator_t *this = data;
    client_private_t *priv = this->private;
    struct client_session *session = &priv->session;
    struct rpc_connection *connection;
    bool is_portmapper;

    pthread_mutex_lock (&session->lock);
    connection = session->connection;
    is_portmapper = !priv->path && priv->port == 0 && session->port == 0;
    pthread_mutex_unlock (&session->lock);
    client_handshake_begin (this, connection, is_portmapper);
}

static void
session_again (void *data)
{
    xlator_t *this = data;
    struct client_session *session = &((client_private_t *) this->private)->session;

    pthread_mutex_lock (&session->lock);
    session->again = NULL;
    if (!session->ending)
        session_connect_locked (this);
    thread_cond_broadcast (&session->changed);
    pthread_mutex_unlock (&session->lock);
}

/* Logs the reason why a connection ended or an attempt to connect failed. If several attempts in a
 * row fail for the same reason, only the first is logged as an error. */
static void
session_tell (xlator_t *this, bool was_up, bool news, const char *reason)
{
    const char *place = ((client_private_t *) this->private)->brick;

    if (was_up)
        gf_log (this, GF_LOG_WARNING,
                "lost the connection to brick %s: %s; operations fail with ENOTCONN until it is "
                "back",
                place, reason);
    else
        gf_log (this, news ? GF_LOG_ERROR : GF_LOG_DEBUG, "brick %s can't be used: %s", place,
                reason);
}

/* The state of the session at the end of a connection. */
struct ended {
    /* was_up: client_session.state was SESSION_UP; moving, ending: as in client_session */
    bool was_up, moving, ending;
    bool news; /* the reason of this failure differs from that of the failure before */
};

static struct ended
session_leave (struct client_session *session, const char *reason)
{
    struct ended ended;

    pthread_mutex_lock (&session->lock);
    ended = (struct ended){ session->state == SESSION_UP, session->moving, session->ending,
                            g_strcmp0 (session->problem, reason) != 0 };
    session->state = SESSION_DOWN;
    if (ended.was_up)
        session->since = clock_now ();
    if (!ended.moving) {
        session->port = 0;
        session->attempts = ended.was_up ? 1 : session->attempts + 1;
        g_free (session->problem);
        session->problem = g_strdup (reason);
    }
    pthread_mutex_unlock (&session->lock);
    return ended;
}

static void
session_sum_locked (struct client_session *session)
{
    const struct rpc_numbers ended = rpc_numbers_of (session->connection);

    session->past.calls += ended.calls;
    session->past.sent += ended.sent;
    session->past.received += ended.received;
}

/* Drops the connection, and starts the timer of the next attempt to connect. The function does not
 * use the session after it has released the session's lock, because client_session_end may then
 * return, and the session be freed. */
static void
session_try_again (xlator_t *this, const struct ended *ended)
{
    struct client_session *session = &((client_private_t *) this->private)->session;
    struct rpc_connection *connection;

    pthread_mutex_lock (&session->lock);
    session_sum_locked (session);
    connection = g_steal_pointer (&session->connection);
    session->moving = false;
    session->attempted |= !ended->moving;
    if (!session->ending)
        session->again = timer_after (ended->moving ? 0 : rpc_pause (session->attempts),
                                      session_again, this);
    thread_cond_broadcast (&session->changed);
    pthread_mutex_unlock (&session->lock);
    rpc_connection_unref (connection);
}

static void
session_closed (void *data, const char *reason)
{
    xlator_t *this = data;
    const struct ended ended = session_leave (&((client_private_t *) this->private)->session,
                                              reason);

    if (!ended.moving && !ended.ending)
        session_tell (this, ended.was_up, ended.news, reason);
    if (ended.was_up && !ended.ending)
        xlator_pass_on (this, XLATOR_CHILD_DOWN, NULL);
    session_try_again (this, &ended);
}

static void
session_called (void *data, uint32_t program, uint32_t procedure, struct xdr_in *arguments)
{
    client_upcall_heard (data, program, procedure, arguments);
}

static const struct rpc_events session_events = {
    .connected = session_connected,
    .closed = session_closed,
    .called = session_called,
};

/* --- connecting ------------------------------------------------------------------------------- */

static struct rpc_timeouts
session_timeouts (const client_private_t *priv)
{
    return (struct rpc_timeouts){
        .frame = __atomic_load_n (&priv->frame_timeout, __ATOMIC_RELAXED),
        .ping = __atomic_load_n (&priv->ping_timeout, __ATOMIC_RELAXED),
    };
}

static void
session_connect_locked (xlator_t *this)
{
    client_private_t *priv = this->private;
    struct client_session *session = &priv->session;
    const struct rpc_timeouts timeouts = session_timeouts (priv);
    const unsigned port = priv->port ? (unsigned) priv->port : session->port;
    const struct rpc_address address = {
        .host = priv->host,
        .port = port ? port : PORTMAPPER,
        .path = priv->path,
        .tls = port || priv->path ? priv->tls : priv->tls_of_glusterd,
    };

    session->state = SESSION_CONNECTING;
    session->connections++;
    session->connection = rpc_connect (&address, &timeouts, &session_events, this);
}

void
client_session_move (xlator_t *this, struct rpc_connection *connection, unsigned port)
{
    struct client_session *session = &((client_private_t *) this->private)->session;

    pthread_mutex_lock (&session->lock);
    session->port = port;
    session->moving = true;
    pthread_mutex_unlock (&session->lock);
    rpc_hang_up (connection, "the portmapper has told the brick's port");
}

void
client_session_agreed (xlator_t *this, struct rpc_connection *connection)
{
    struct client_session *session = &((client_private_t *) this->private)->session;

    pthread_mutex_lock (&session->lock);
    session->state = SESSION_REOPENING;
    pthread_mutex_unlock (&session->lock);
    client_reopen_begin (this, connection);
}

void
client_session_up (xlator_t *this)
{
    client_private_t *priv = this->private;
    struct client_session *session = &priv->session;
    bool again;

    gf_log (this, GF_LOG_INFO, "connected to brick %s", priv->brick);
    pthread_mutex_lock (&session->lock);
    again = session->attempted;
    session->state = SESSION_UP;
    session->since = clock_now ();
    session->attempts = 0;
    g_clear_pointer (&session->problem, g_free);
    pthread_mutex_unlock (&session->lock);
    xlator_pass_on (this, XLATOR_CHILD_UP, NULL);
    if (again)
        client_upcalls_missed (this);
    pthread_mutex_lock (&session->lock);
    /* client_session_wait returns when `attempted` is true, and must not return before CHILD_UP has
     * been passed on. */
    session->attempted = true;
    thread_cond_broadcast (&session->changed);
    pthread_mutex_unlock (&session->lock);
}

/* --- use -------------------------------------------------------------------------------------- */

struct rpc_connection *
client_session_connection (xlator_t *this)
{
    struct client_session *session = &((client_private_t *) this->private)->session;
    struct rpc_connection *connection = NULL;

    pthread_mutex_lock (&session->lock);
    if (session->state == SESSION_UP)
        connection = rpc_connection_ref (session->connection);
    pthread_mutex_unlock (&session->lock);
    return connection;
}

struct rpc_connection *
client_session_connection_now (xlator_t *this)
{
    struct client_session *session = &((client_private_t *) this->private)->session;
    struct rpc_connection *connection = NULL;

    pthread_mutex_lock (&session->lock);
    if (session->connection)
        connection = rpc_connection_ref (session->connection);
    pthread_mutex_unlock (&session->lock);
    return connection;
}

struct rpc_connection *
client_session_connection_of (const struct client_file *file)
{
    struct client_session *session = &((client_private_t *) file->this->private)->session;
    struct rpc_connection *connection = NULL;

    pthread_mutex_lock (&session->lock);
    if (session->connection && file->connection == session->connections)
        connection = rpc_connection_ref (session->connection);
    pthread_mutex_unlock (&session->lock);
    return connection;
}

void
client_session_number_file (struct client_file *file, int64_t number)
{
    struct client_session *session = &((client_private_t *) file->this->private)->session;

    pthread_mutex_lock (&session->lock);
    file->connection = session->connections;
    __atomic_store_n (&file->number, number, __ATOMIC_RELEASE);
    pthread_mutex_unlock (&session->lock);
}

void
client_session_set_timeouts (xlator_t *this, int64_t ping_max)
{
    client_private_t *priv = this->private;
    struct rpc_timeouts timeouts = session_timeouts (priv);

    if (ping_max > 0 && (timeouts.ping == 0 || timeouts.ping > ping_max))
        timeouts.ping = ping_max;
    pthread_mutex_lock (&priv->session.lock);
    if (priv->session.connection)
        rpc_set_timeouts (priv->session.connection, &timeouts);
    pthread_mutex_unlock (&priv->session.lock);
}

/* --- beginning and end ------------------------------------------------------------------------ */

void
client_session_init (xlator_t *this)
{
    struct client_session *session = &((client_private_t *) this->private)->session;

    pthread_mutex_init (&session->lock, NULL);
    pthread_mutex_init (&session->files_lock, NULL);
    thread_cond_init (&session->changed);
    session->since = clock_now ();
    g_queue_init (&session->files);
}

void
client_session_fini (xlator_t *this)
{
    struct client_session *session = &((client_private_t *) this->private)->session;

    g_clear_pointer (&session->problem, g_free);
    pthread_cond_destroy (&session->changed);
    pthread_mutex_destroy (&session->files_lock);
    pthread_mutex_destroy (&session->lock);
}

void
client_session_begin (xlator_t *this)
{
    struct client_session *session = &((client_private_t *) this->private)->session;

    pthread_mutex_lock (&session->lock);
    session_connect_locked (this);
    pthread_mutex_unlock (&session->lock);
}

void
client_session_wait (xlator_t *this)
{
    struct client_session *session = &((client_private_t *) this->private)->session;

    pthread_mutex_lock (&session->lock);
    while (!session->attempted)
        thread_cond_wait (&session->changed, &session->lock);
    pthread_mutex_unlock (&session->lock);
}

void
client_session_end (xlator_t *this)
{
    struct client_session *session = &((client_private_t *) this->private)->session;

    pthread_mutex_lock (&session->lock);
    session->ending = true;
    if (session->again && timer_cancel (session->again))
        session->again = NULL;
    if (session->connection)
        rpc_hang_up (session->connection, "the mount ends");
    while (session->connection || session->again)
        thread_cond_wait (&session->changed, &session->lock);
    pthread_mutex_unlock (&session->lock);
}

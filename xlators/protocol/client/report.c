/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports for users: the state of the brick, the call that an operation waits for, and the reason
 * why an operation failed. */
#include "client.h"

#include <errno.h>
#include <string.h>

/* Returns the number of whole seconds since `then`, a time of clock_now. */
static int
seconds_since (int64_t then)
{
    return (int) ((clock_now () - then) / 1000000000);
}

const char *
client_brick (const client_private_t *priv)
{
    g_autofree char *name =
        g_strdup_printf ("%s:%s", priv->path ? priv->path : priv->host, priv->subvolume);

    return g_intern_string (name);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Returns the state of the server for reports. While the server cannot be reached, the session
 * alternates between SESSION_CONNECTING and SESSION_DOWN. Users see SERVER_CONNECTING only during
 * the first attempt to connect and the one after a single failure, and SERVER_DOWN otherwise. */
static enum server_state
state_locked (const struct client_session *session)
{
    if (session->state == SESSION_UP)
        return SERVER_UP;
    return session->connection && session->attempts <= 1 ? SERVER_CONNECTING : SERVER_DOWN;
}

static void
add_connection (struct server_report *report, struct rpc_connection *connection)
{
    const struct rpc_numbers numbers = rpc_numbers_of (connection);
    report->outstanding = numbers.asked;
    report->waiting = numbers.waiting;
    report->calls += numbers.calls;
    report->sent += numbers.sent;
    report->received += numbers.received;
    if (numbers.heard)
        report->silent = clock_now () - numbers.heard;
}

void
client_server (xlator_t *this, struct server_report *report)
{
    client_private_t *priv = this->private;
    struct client_session *session = &priv->session;

    report->name = g_strdup (priv->brick);
    pthread_mutex_lock (&session->lock);
    report->state = state_locked (session);
    report->problem = g_strdup (session->problem);
    report->since = clock_now () - session->since;
    report->calls = session->past.calls;
    report->sent = session->past.sent;
    report->received = session->past.received;
    if (session->connection)
        add_connection (report, session->connection);
    pthread_mutex_unlock (&session->lock);
    histogram_merge (&report->round_trips, &priv->round_trips);
}

void
client_dump (xlator_t *this, GString *out)
{
    struct client_session *session = &((client_private_t *) this->private)->session;
    struct rpc_connection *connection = client_session_connection_now (this);
    g_autofree char *encryption = connection ? rpc_encryption_of (connection) : NULL;
    struct server_report report;

    rpc_connection_unref (connection);
    if (xlator_server (this, &report)) {
        server_report_dump (&report, out);
        server_report_clear (&report);
    }
    g_string_append_printf (out, "encryption=%s\n", encryption ? encryption : "none");
    pthread_mutex_lock (&session->files_lock);
    g_string_append_printf (out, "open_files=%u\n", session->files.length);
    pthread_mutex_unlock (&session->files_lock);
}

/* --- why an operation waits ------------------------------------------------------------------- */

struct waiting {
    const call_frame_t *frame;
    bool found, lock;
    int64_t since, asked; /* rpc_call.since and rpc_call.asked; asked 0: the call waits for one of
                           * the connection's RPC_WINDOW slots, and is not sent yet */
};

static bool
waiting_see (struct rpc_call *rpc, void *data)
{
    struct waiting *waiting = data;
    const struct client_call *call = client_call_of (rpc);

    /* If call->answers is above 0, an interrupt or a timeout has answered the call's frame. The
     * memory of that frame may then be in use for another request, so equal addresses do not mean
     * the same frame. */
    if (call->frame != waiting->frame || __atomic_load_n (&call->answers, __ATOMIC_ACQUIRE) > 0)
        return false;
    waiting->found = true;
    waiting->lock = call->waits;
    waiting->since = rpc->since;
    waiting->asked = rpc->asked;
    return true;
}

static void
append_heard (const struct rpc_numbers *numbers, GString *out)
{
    if (numbers->heard)
        g_string_append_printf (out, ", last heard %d s ago", seconds_since (numbers->heard));
    else
        g_string_append (out, ", nothing heard yet");
}

static void
append_waiting (const client_private_t *priv, const struct waiting *waiting,
                const struct rpc_numbers *numbers, GString *out)
{
    g_string_append_printf (out, "%sbrick %s, %d s", waiting->lock ? "a lock of " : "",
                            priv->brick, seconds_since (waiting->since));
    append_heard (numbers, out);
    if (!waiting->asked)
        g_string_append_printf (out, "; not sent yet, since %u calls have no answer",
                                numbers->asked);
}

/* Appends the name of the brick that the frame waits for, if its call has been passed to rpc_send.
 * The call may not be on the network yet, because the connection limits the number of calls without
 * a reply. */
static void
append_sent (xlator_t *this, const call_frame_t *frame, GString *out)
{
    struct rpc_connection *connection = client_session_connection_now (this);
    struct waiting waiting = { .frame = frame };
    struct rpc_numbers numbers;

    if (!connection)
        return;
    rpc_each_call (connection, waiting_see, &waiting);
    numbers = rpc_numbers_of (connection);
    rpc_connection_unref (connection);
    if (waiting.found)
        append_waiting (this->private, &waiting, &numbers, out);
}

/* If order.c holds the frame's call back, appends that the frame waits for an earlier call on the
 * same bytes. */
static void
append_held (xlator_t *this, const call_frame_t *frame, GString *out)
{
    client_private_t *priv = this->private;
    int64_t since = 0;

    pthread_mutex_lock (&priv->held_lock);
    for (const GList *at = priv->held.head; at && !since; at = at->next)
        if (((struct client_call *) at->data)->frame == frame)
            since = ((struct client_call *) at->data)->held_since;
    pthread_mutex_unlock (&priv->held_lock);
    if (since)
        g_string_append_printf (
            out, "an earlier operation on the same bytes, which waits for brick %s, %d s",
            priv->brick, seconds_since (since));
}

void
client_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    const gsize before = out->len;

    append_sent (this, frame, out);
    if (out->len == before)
        append_held (this, frame, out);
}

/* --- why an operation failed ------------------------------------------------------------------ */

/* The reason why a call failed, kept in frame->local of the operation's frame. */
struct client_failure {
    enum wire_procedure procedure;
    int error;      /* rpc_reply.error; 0: the server has replied, and `op_errno` is its errno */
    int op_errno;
    bool no_answer; /* the reply was malformed */
};

void
client_note_failure (struct client_call *call, const struct rpc_reply *reply, int32_t op_errno)
{
    struct client_failure *failure = frame_local_new (call->frame, sizeof *failure);

    *failure = (struct client_failure){ .procedure = call->procedure,
                                        .error = reply->error,
                                        .op_errno = op_errno,
                                        .no_answer = reply->results.failed };
}

static void
append_error (const client_private_t *priv, const struct client_failure *failure, GString *out)
{
    const char *name = wire_procedure_name (failure->procedure);

    if (failure->no_answer)
        g_string_append_printf (out, "what %s sent is no answer to %s", priv->brick, name);
    else if (failure->error == ETIMEDOUT)
        g_string_append_printf (out, "%s did not answer %s within frame-timeout", priv->brick,
                                name);
    else if (failure->error == ENOTCONN)
        g_string_append_printf (out,
                                "the connection to %s ended before it answered %s, which it may "
                                "have done or not",
                                priv->brick, name);
    else if (failure->error != 0)
        g_string_append_printf (out, "%s refused the call of %s", priv->brick, name);
    else if (error_is_known (failure->op_errno))
        g_string_append_printf (out, "%s answered %s to %s", priv->brick,
                                error_name (failure->op_errno), name);
    else
        g_string_append_printf (out, "%s answered %s with the number %d, which is no error",
                                priv->brick, name, failure->op_errno);
}

void
client_why_failed (xlator_t *this, const call_frame_t *frame, GString *out)
{
    const client_private_t *priv = this->private;

    if (frame->local)
        append_error (priv, frame->local, out);
    else if (frame->op_errno == ENOTCONN)
        g_string_append_printf (out, "there was no connection to %s, so it was not asked",
                                priv->brick);
    else
        g_string_append_printf (out, "no answer of %s, but this translator's own", priv->brick);
}

/* --- one call --------------------------------------------------------------------------------- */

static struct server_call
server_call_of (const struct client_call *call)
{
    return (struct server_call){ .xl = call->this,
                                 .server = ((client_private_t *) call->this->private)->brick,
                                 .name = wire_procedure_name (call->procedure),
                                 .request = call->request };
}

void
client_note_sent (struct client_call *call)
{
    const struct server_call sent = server_call_of (call);

    server_call_sent (&sent);
}

/* Leaves calls that may wait for a lock out of priv->round_trips, because the time of such a call
 * depends on the client that holds the lock, not on the server. */
void
client_note_answer (struct client_call *call, const call_frame_t *frame, int error)
{
    client_private_t *priv = call->this->private;
    struct server_call answered = server_call_of (call);

    if (!call->rpc.asked)
        return; /* the call was never sent */
    answered.frame = frame;
    answered.took = clock_now () - call->rpc.asked;
    answered.error = error;
    if (error == 0 && !call->waits)
        histogram_add_alone (&priv->round_trips, (uint64_t) answered.took);
    server_call_answered (&answered);
}

void
client_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    struct server_report report;

    if (!xlator_server (this, &report))
        return;
    if (report.state == SERVER_UP)
        g_string_append_printf (out, "is on brick %s (remote-host, remote-subvolume)\n",
                                report.name);
    else
        g_string_append_printf (out, "is on brick %s, which can't be used for %d s: %s\n",
                                report.name, (int) (report.since / 1000000000),
                                report.problem ? report.problem
                                               : server_state_name (report.state));
    server_report_clear (&report);
}

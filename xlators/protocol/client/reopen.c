/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reopen: after the handshake of a new connection, the client opens all files and directories
 * again that were open on the previous one, and sets their record locks again. Operations may use
 * the connection afterwards. This runs on the event loop's thread. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>

/* Marks an open file as lost, because it could not be opened again on the new connection, or has a
 * record lock that was not set again there. Another client may have held that lock meanwhile, and
 * may have changed the file, so operations on the file's descriptors fail from now on. */
static void
file_lose (xlator_t *this, struct client_file *file, const char *reason)
{
    char text[GFID_TEXT_SIZE];

    __atomic_store_n (&file->lost, true, __ATOMIC_RELEASE);
    gf_log (this, GF_LOG_WARNING, "an open file (gfid %s) could not be kept over the loss of the "
                                  "connection: %s; its descriptors fail with EBADFD",
            gfid_text (&file->gfid, text), reason);
}

/* Called when a call of the reopen has its reply. After the last reply, operations may use the
 * session. */
static void
reopen_done (struct client_call *call)
{
    client_private_t *priv = call->this->private;

    if (--priv->session.reopening == 0)
        client_session_up (call->this);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Receives the reply to a call that sets a record lock again. If the connection was lost
 * (ENOTCONN), does nothing, because the session opens all files again on its next connection. */
static void
relock_reply (struct client_call *call, struct rpc_reply *reply)
{
    if (reply->error == ENOTCONN)
        return;
    if (reply->error != 0 || xdr_get_i32 (&reply->results) < 0)
        file_lose (call->this, call->file, "another client has taken a lock");
    reopen_done (call);
}

static void
relock (struct client_call *opened)
{
    client_private_t *priv = opened->this->private;
    struct client_file *file = opened->file;
    const struct wire_fd fd = { file->gfid, file->number };
    g_autoptr (GArray) locks = NULL;

    pthread_mutex_lock (&priv->session.files_lock);
    if (file->locks)
        locks = g_array_copy (file->locks);
    pthread_mutex_unlock (&priv->session.files_lock);
    for (guint i = 0; locks && i < locks->len; i++) {
        struct client_call *call =
            client_lock_own (opened->this, opened->connection, &fd,
                             &g_array_index (locks, struct gf_flock, i), relock_reply);

        call->file = client_file_ref (file);
        priv->session.reopening++;
        client_send_now (call);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static void
reopen_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct client_file *file = call->file;
    struct wire_open_reply got = { 0 };

    if (reply->error == ENOTCONN)
        return;
    if (reply->error == 0)
        wire_get_reply (&reply->results, WIRE_open, &got);
    if (reply->error != 0 || got.head.op_ret < 0 || reply->results.failed) {
        file_lose (call->this, file, g_strerror (wire_errno (got.head.op_errno)));
    } else {
        client_session_number_file (file, (int64_t) got.number);
        relock (call);
    }
    wire_clear_reply (WIRE_open, &got);
    reopen_done (call);
}

static void
reopen (xlator_t *this, struct rpc_connection *connection, struct client_file *file)
{
    const enum wire_procedure procedure = file->directory ? WIRE_opendir : WIRE_open;
    const struct wire_opendir directory = { .loc = file->gfid };
    const struct wire_open open = { .loc = file->gfid,
                                    .flags = client_open_flags (this, file->flags) };
    struct client_call *call =
        client_begin_own (this, connection, procedure, NULL, 0, reopen_reply);

    call->file = file;
    wire_put_call (&call->rpc.out, procedure,
                   file->directory ? (const void *) &directory : &open);
    client_send_now (call);
}

/* Returns the files that have to be opened again on the new connection, each with a reference. With
 * the option strict-locks, files that have a record lock are left out, and operations on their
 * descriptors fail from now on. */
static GPtrArray *
files_to_open (xlator_t *this)
{
    client_private_t *priv = this->private;
    const bool strict = __atomic_load_n (&priv->strict_locks, __ATOMIC_RELAXED);
    GPtrArray *files = g_ptr_array_new ();

    pthread_mutex_lock (&priv->session.files_lock);
    for (GList *link = priv->session.files.head; link; link = link->next) {
        struct client_file *file = link->data;

        if (strict && file->locks && file->locks->len > 0 && !file->lost)
            file_lose (this, file, "it has a lock (strict-locks)");
        if (!file->lost)
            g_ptr_array_add (files, client_file_ref (file));
    }
    pthread_mutex_unlock (&priv->session.files_lock);
    return files;
}

void
client_reopen_begin (xlator_t *this, struct rpc_connection *connection)
{
    client_private_t *priv = this->private;
    g_autoptr (GPtrArray) files = files_to_open (this);

    priv->session.reopening = files->len;
    for (guint i = 0; i < files->len; i++)
        reopen (this, connection, files->pdata[i]);
    if (files->len == 0)
        client_session_up (this);
}

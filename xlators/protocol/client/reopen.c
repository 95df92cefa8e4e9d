/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens files and directories again on a new connection, and takes their record locks again, before
 * operations may use it. On the loop's thread. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>

/* A file that could not be opened again, or lost a lock. Other clients may have had the lock
 * meanwhile, so nothing that its holder does with this descriptor is safe any more. */
static void
file_lose (xlator_t *this, struct client_file *file, const char *reason)
{
    char text[GFID_TEXT_SIZE];

    __atomic_store_n (&file->lost, true, __ATOMIC_RELEASE);
    gf_log (this, GF_LOG_WARNING, "an open file (gfid %s) could not be kept over the loss of the "
                                  "connection: %s; its descriptors fail with EBADFD",
            gfid_text (&file->gfid, text), reason);
}

/* One call less; the last one brings the session up. */
static void
reopen_done (struct client_call *call)
{
    client_private_t *priv = call->this->private;

    if (--priv->session.reopening == 0)
        session_up (call->this);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* With the connection gone, the session starts anew with the next. */
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
    g_autoptr (GArray) locks = NULL;

    pthread_mutex_lock (&priv->session.files_lock);
    if (file->locks)
        locks = g_array_copy (file->locks);
    pthread_mutex_unlock (&priv->session.files_lock);
    for (guint i = 0; locks && i < locks->len; i++) {
        struct client_call *call =
            client_lock_own (opened->this, opened->connection, &file->gfid, file->number,
                             &g_array_index (locks, struct gf_flock, i), relock_reply);

        call->file = file_ref (file);
        priv->session.reopening++;
        client_send_now (call);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static void
reopen_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct client_file *file = call->file;
    g_autoptr (dict_t) xdata = NULL;
    int32_t op_ret = -1, op_errno = 0;
    int64_t number;

    if (reply->error == ENOTCONN)
        return;
    if (reply->error == 0) {
        op_ret = xdr_get_i32 (&reply->results);
        op_errno = xdr_get_i32 (&reply->results);
        xdata = get_dict (&reply->results);
    }
    number = (int64_t) xdr_get_u64 (&reply->results);
    if (op_ret < 0 || reply->results.failed) {
        file_lose (call->this, file, g_strerror (wire_errno (op_errno)));
    } else {
        session_number_file (file, number);
        relock (call);
    }
    reopen_done (call);
}

static void
reopen (xlator_t *this, struct rpc_connection *connection, struct client_file *file)
{
    struct client_call *call =
        client_begin_own (this, connection, file->directory ? WIRE_OPENDIR : WIRE_OPEN, NULL, 0,
                          reopen_reply);

    call->file = file;
    put_gfid (&call->rpc.out, &file->gfid);
    if (!file->directory)
        xdr_put_u32 (&call->rpc.out, client_open_flags (this, file->flags));
    put_no_dict (&call->rpc.out);
    client_send_now (call);
}

/* Returns the files to open, each with a reference. A file whose lock must not be taken again is
 * lost instead. */
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
            g_ptr_array_add (files, file_ref (file));
    }
    pthread_mutex_unlock (&priv->session.files_lock);
    return files;
}

void
reopen_begin (xlator_t *this, struct rpc_connection *connection)
{
    client_private_t *priv = this->private;
    g_autoptr (GPtrArray) files = files_to_open (this);

    priv->session.reopening = files->len;
    for (guint i = 0; i < files->len; i++)
        reopen (this, connection, files->pdata[i]);
    if (files->len == 0)
        session_up (this);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that are open on the server, the numbers by which calls name them, and the record locks
 * that were set through them. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>

/* --- opening and closing ---------------------------------------------------------------------- */

uint32_t
client_open_flags (xlator_t *this, uint32_t flags)
{
    const client_private_t *priv = this->private;

    if (__atomic_load_n (&priv->filter_o_direct, __ATOMIC_RELAXED))
        flags &= ~(uint32_t) O_DIRECT;
    return wire_of_open_flags (flags);
}

static bool
client_file_is_open (xlator_t *this, fd_t *fd)
{
    const struct client_file *file = fd_ctx_get (fd, this);

    return file && !__atomic_load_n (&file->lost, __ATOMIC_ACQUIRE);
}

void
client_file_opened (struct client_call *call, const gfid_t *gfid, int64_t number)
{
    client_private_t *priv = call->this->private;
    struct client_file *file = g_new0 (struct client_file, 1);
    struct client_inode *kept = client_inode_of (call->this, call->fd->inode);

    file->refs = 1;
    file->this = call->this;
    file->gfid = *gfid;
    file->flags = call->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    client_session_number_file (file, number);
    file->directory = call->flags & O_DIRECTORY;
    file->end = -1;
    file->inode = inode_ref (call->fd->inode);
    file->link.data = file->of_inode.data = file;
    if (client_file_is_open (call->this, call->fd)) {
        client_file_unref (file);
        return;
    }
    pthread_mutex_lock (&priv->session.files_lock);
    g_queue_push_tail_link (&priv->session.files, &file->link);
    g_queue_push_tail_link (&kept->files, &file->of_inode);
    pthread_mutex_unlock (&priv->session.files_lock);
    fd_ctx_set (call->fd, call->this, file);
}

struct client_file *
client_file_ref (struct client_file *file)
{
    __atomic_add_fetch (&file->refs, 1, __ATOMIC_RELAXED);
    return file;
}

static void
client_file_close (const struct client_file *file)
{
    struct rpc_connection *connection = client_session_connection_of (file);
    const enum wire_procedure procedure = file->directory ? WIRE_releasedir : WIRE_release;
    const struct wire_release put = { .fd = { file->gfid, file->number } };
    struct client_call *call;

    if (connection) {
        call = client_begin_own (file->this, connection, procedure, NULL, 0, client_ignore_reply);
        wire_put_call (&call->rpc.out, WIRE_release, &put);
        client_send (call);
    }
    rpc_connection_unref (connection);
}

/* Drops a reference to the open file. If that was the last reference, has the server close the
 * file. A call keeps a reference in client_call.file, so the server gets the RELEASE only after it
 * has replied to that call. */
void
client_file_unref (struct client_file *file)
{
    if (!file || __atomic_sub_fetch (&file->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (!file->lost)
        client_file_close (file);
    g_clear_pointer (&file->locks, g_array_unref);
    inode_unref (file->inode);
    g_free (file);
}

void
client_release (xlator_t *this, fd_t *fd)
{
    client_private_t *priv = this->private;
    struct client_file *file = fd_ctx_get (fd, this);

    if (!file)
        return;
    fd_ctx_set (fd, this, NULL);
    pthread_mutex_lock (&priv->session.files_lock);
    g_queue_unlink (&priv->session.files, &file->link);
    g_queue_unlink (&client_inode_of (this, file->inode)->files, &file->of_inode);
    pthread_mutex_unlock (&priv->session.files_lock);
    client_file_unref (file);
}

/* --- numbers ---------------------------------------------------------------------------------- */

int
client_file_number (xlator_t *this, fd_t *fd, enum wire_procedure procedure, int64_t *ret_number)
{
    const struct client_file *file = fd_ctx_get (fd, this);

    if (!file)
        return EBADFD;
    if (!__atomic_load_n (&file->lost, __ATOMIC_ACQUIRE))
        *ret_number = __atomic_load_n (&file->number, __ATOMIC_ACQUIRE);
    else if (client_manner_of (procedure)->anonymous && !file->locks)
        *ret_number = WIRE_ANONYMOUS;
    else
        return EBADFD;
    return 0;
}

/* Returns one of the inode's open files, with a reference, or NULL if the inode has no open file
 * that calls can use. */
static struct client_file *
client_file_of_inode (xlator_t *this, inode_t *inode)
{
    client_private_t *priv = this->private;
    struct client_inode *kept = inode_ctx_get (inode, this);
    struct client_file *file;

    if (!kept)
        return NULL;
    pthread_mutex_lock (&priv->session.files_lock);
    file = g_queue_peek_head (&kept->files);
    if (file && !__atomic_load_n (&file->lost, __ATOMIC_ACQUIRE))
        client_file_ref (file);
    else
        file = NULL;
    pthread_mutex_unlock (&priv->session.files_lock);
    return file;
}

/* --- beginning a call with its file ----------------------------------------------------------- */

struct client_call *
client_begin_gfid (call_frame_t *frame, xlator_t *this, const gfid_t *gfid,
                   enum wire_procedure procedure, client_reply_fn *reply)
{
    struct client_call *call = client_call_begin (frame, this, procedure, reply);

    if (!call)
        return NULL;
    call->by_gfid = true;
    wire_put_gfid (&call->rpc.out, gfid);
    return call;
}

static struct client_call *
client_begin_number (call_frame_t *frame, xlator_t *this, const gfid_t *gfid, int64_t number,
                     enum wire_procedure procedure, client_reply_fn *reply)
{
    struct client_call *call = client_begin_gfid (frame, this, gfid, procedure, reply);

    if (call)
        xdr_put_u64 (&call->rpc.out, (uint64_t) number);
    return call;
}

struct client_call *
client_begin_anonymous (call_frame_t *frame, xlator_t *this, fd_t *fd,
                        enum wire_procedure procedure, client_reply_fn *reply)
{
    return client_begin_number (frame, this, &fd->inode->gfid, WIRE_ANONYMOUS, procedure, reply);
}

/* Makes a call that names an open file by its number. The caller's reference to the file passes to
 * the call. */
static struct client_call *
client_begin_open (call_frame_t *frame, xlator_t *this, struct client_file *file,
                   enum wire_procedure procedure, client_reply_fn *reply)
{
    const int64_t number = __atomic_load_n (&file->number, __ATOMIC_ACQUIRE);
    struct client_call *call =
        client_begin_number (frame, this, &file->gfid, number, procedure, reply);

    if (call)
        call->file = file;
    else
        client_file_unref (file);
    return call;
}

struct client_call *
client_begin_fd (call_frame_t *frame, xlator_t *this, fd_t *fd, enum wire_procedure procedure,
                 client_reply_fn *reply)
{
    struct client_call *call = client_begin_gfid (frame, this, &fd->inode->gfid, procedure, reply);
    int64_t number = 0;
    int error;

    if (!call)
        return NULL;
    error = client_file_number (this, fd, procedure, &number);
    if (error) {
        client_drop (call);
        frame_fail (frame, error);
        return NULL;
    }
    xdr_put_u64 (&call->rpc.out, (uint64_t) number);
    return call;
}

struct client_call *
client_begin_file (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                   enum wire_procedure procedure, client_reply_fn *reply)
{
    const struct client_manner *manner = client_manner_of (procedure);
    struct client_file *file =
        manner->when_open && loc->inode ? client_file_of_inode (this, loc->inode) : NULL;
    struct client_call *call;

    if (file)
        return client_begin_open (frame, this, file, manner->when_open, reply);
    call = client_begin_gfid (frame, this, loc_gfid (loc), procedure, reply);
    if (!call || !manner->when_gone)
        return call;
    call->inode = inode_ref (loc->inode);
    call->after_file = call->rpc.out.used;
    return call;
}

bool
client_ask_again (struct client_call *call, const struct rpc_reply *reply)
{
    const enum wire_procedure procedure = client_manner_of (call->procedure)->when_gone;
    const struct xdr_out *sent = &call->rpc.out;
    struct client_file *file = NULL;
    struct client_call *again;

    if (procedure && call->inode && client_reply_is_gone (reply))
        file = client_file_of_inode (call->this, call->inode);
    if (!file)
        return false;
    again = client_begin_open (call->frame, call->this, file, procedure, call->reply);
    if (!again)
        return true;
    xdr_put_fixed (&again->rpc.out, sent->bytes + call->after_file, sent->used - call->after_file);
    client_send (again);
    return true;
}

/* --- record locks ----------------------------------------------------------------------------- */

static off_t
client_lock_end (const struct gf_flock *lock)
{
    return lock->l_len > 0 ? lock->l_start + lock->l_len : INT64_MAX;
}

static void
client_lock_add (GArray *locks, const struct gf_flock *like, off_t from, off_t to)
{
    struct gf_flock lock = *like;

    if (from >= to)
        return;
    lock.l_start = from;
    lock.l_len = to == INT64_MAX ? 0 : to - from;
    g_array_append_val (locks, lock);
}

/* Removes the range of `cut` from those of the locks that have the owner of `cut`. The parts of a
 * lock outside that range stay. */
static void
client_locks_cut (GArray *locks, const struct gf_flock *cut)
{
    for (guint i = locks->len; i-- > 0;) {
        const struct gf_flock old = g_array_index (locks, struct gf_flock, i);

        if (old.l_owner != cut->l_owner || client_lock_end (&old) <= cut->l_start
            || client_lock_end (cut) <= old.l_start)
            continue;
        g_array_remove_index_fast (locks, i);
        client_lock_add (locks, &old, old.l_start, cut->l_start);
        client_lock_add (locks, &old, client_lock_end (cut), client_lock_end (&old));
    }
}

/* Removes the range of `cut` from the locks that its owner has in any open file of the inode. A
 * record lock belongs to the inode and the owner, so the owner may set it through one open file and
 * unlock it through another. */
static void
client_locks_cut_locked (client_private_t *priv, const inode_t *inode, const struct gf_flock *cut)
{
    for (GList *link = priv->session.files.head; link; link = link->next) {
        struct client_file *file = link->data;

        if (gfid_equal (&file->gfid, &inode->gfid) && file->locks)
            client_locks_cut (file->locks, cut);
    }
}

void
client_file_note_lock (xlator_t *this, fd_t *fd, const struct gf_flock *lock)
{
    client_private_t *priv = this->private;
    struct client_file *file = fd_ctx_get (fd, this);

    pthread_mutex_lock (&priv->session.files_lock);
    client_locks_cut_locked (priv, fd->inode, lock);
    if (lock->l_type != F_UNLCK && !file->locks)
        file->locks = g_array_new (FALSE, FALSE, sizeof (struct gf_flock));
    if (lock->l_type != F_UNLCK)
        g_array_append_val (file->locks, *lock);
    pthread_mutex_unlock (&priv->session.files_lock);
}

void
client_file_forget_locks (xlator_t *this, inode_t *inode, uint64_t owner)
{
    client_private_t *priv = this->private;
    const struct gf_flock all = { .l_owner = owner };

    pthread_mutex_lock (&priv->session.files_lock);
    client_locks_cut_locked (priv, inode, &all);
    pthread_mutex_unlock (&priv->session.files_lock);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on an open file or directory, without those on its data. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>

/* --- open, opendir ---------------------------------------------------------------------------- */

/* Returns whether the file was opened; if not, the frame has been answered. */
static bool
open_read (struct client_call *call, struct rpc_reply *reply, client_answer_t *answer)
{
    int64_t number;

    if (!client_answer_begin (call, reply, answer))
        return false;
    number = (int64_t) xdr_get_u64 (&reply->results);
    if (!client_answer_is_whole (call, reply))
        return false;
    file_opened (call, &call->fd->inode->gfid, number);
    return true;
}

static void
open_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;

    if (open_read (call, reply, &answer))
        STACK_UNWIND (open, call->frame, 0, 0, call->fd, answer.xdata);
}

void
client_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
             dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_OPEN, 0, open_reply);

    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->flags = flags;
    client_put_subject (call, loc_gfid (loc));
    xdr_put_u32 (&call->rpc.out, client_open_flags (this, flags));
    put_dict (&call->rpc.out, xdata);
    if (flags & O_TRUNC)
        client_claims (call, loc->inode, 0, 0, true);
    client_send (call);
}

static void
opendir_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;

    if (open_read (call, reply, &answer))
        STACK_UNWIND (opendir, call->frame, 0, 0, call->fd, answer.xdata);
}

void
client_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_OPENDIR, 0, opendir_reply);

    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->flags = O_DIRECTORY;
    client_put_subject (call, loc_gfid (loc));
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

/* --- calls with the file's number ------------------------------------------------------------- */

struct client_call *
client_begin_gfid (call_frame_t *frame, xlator_t *this, fd_t *fd, enum procedure procedure,
                   uint32_t times, client_reply_fn *reply)
{
    struct client_call *call = client_begin (frame, this, procedure, times, reply);

    if (call) {
            client_put_subject (call, &fd->inode->gfid);
        xdr_put_u64 (&call->rpc.out, (uint64_t) WIRE_ANONYMOUS);
    }
    return call;
}

struct client_call *
client_begin_fd (call_frame_t *frame, xlator_t *this, fd_t *fd, enum procedure procedure,
                 uint32_t times, client_reply_fn *reply)
{
    struct client_call *call = client_begin (frame, this, procedure, times, reply);
    int64_t number;
    int error;

    if (!call)
        return NULL;
    error = file_number (this, fd, procedure, &number);
    if (error) {
        client_drop (call);
        frame_fail (frame, error);
        return NULL;
    }
    client_put_subject (call, &fd->inode->gfid);
    xdr_put_u64 (&call->rpc.out, (uint64_t) number);
    return call;
}

void
client_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_FSTAT, 0, client_fstat_reply);

    if (!call)
        return;
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    struct client_call *call =
        client_begin_fd (frame, this, fd, WIRE_FTRUNCATE, RPC_CHANGES_CTIME | RPC_CHANGES_MTIME,
                         client_ftruncate_reply);

    if (!call)
        return;
    xdr_put_u64 (&call->rpc.out, (uint64_t) offset);
    put_dict (&call->rpc.out, xdata);
    client_claims (call, fd->inode, 0, 0, true);
    client_send (call);
}

void
client_fsetattr (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iatt *stbuf, uint32_t valid,
                 dict_t *xdata)
{
    struct client_call *call;

    if (valid & IATT_SIZE) {
        frame_fail (frame, EOPNOTSUPP);
        return;
    }
    call = client_begin_fd (frame, this, fd, WIRE_FSETATTR, RPC_CHANGES_CTIME,
                            client_fsetattr_reply);
    if (!call)
        return;
    put_changes (&call->rpc.out, stbuf, valid);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

/* --- flush, fsync, fsyncdir ------------------------------------------------------------------- */

/* A brick's flush does nothing but release the owner's record locks. So the server is asked only if
 * one was ever taken on this file. */
void
client_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct client_inode *kept = inode_ctx_get (fd->inode, this);
    struct client_call *call;

    if (!kept || !__atomic_load_n (&kept->locked, __ATOMIC_ACQUIRE)) {
        STACK_UNWIND (flush, frame, 0, 0, NULL);
        return;
    }
    file_forget_locks (this, fd->inode, frame->root->lk_owner);
    call = client_begin_fd (frame, this, fd, WIRE_FLUSH, 0, client_flush_reply);
    if (!call)
        return;
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_fsync (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_FSYNC, 0, client_fsync_reply);

    if (!call)
        return;
    xdr_put_u32 (&call->rpc.out, datasync ? 1 : 0);
    put_dict (&call->rpc.out, xdata);
    client_claims (call, fd->inode, 0, 0, false);
    client_send (call);
}

void
client_fsyncdir (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    struct client_call *call =
        client_begin_fd (frame, this, fd, WIRE_FSYNCDIR, 0, client_fsyncdir_reply);

    if (!call)
        return;
    xdr_put_u32 (&call->rpc.out, datasync ? 1 : 0);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

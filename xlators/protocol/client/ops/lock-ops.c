/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Record locks. The server keeps them for this connection, and drops them when it ends. flock(2) is
 * a record lock on the whole file, as GlusterFS's clients have it. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

enum { WIRE_GETLK, WIRE_SETLK, WIRE_SETLKW };

static uint32_t
wire_command (int cmd)
{
    return cmd == F_GETLK ? WIRE_GETLK : cmd == F_SETLKW ? WIRE_SETLKW : WIRE_SETLK;
}

void
put_lock_arguments (struct client_call *call, int cmd, const struct gf_flock *lock)
{
    const uint64_t owner = GUINT64_TO_LE (lock->l_owner);
    struct xdr_out *out = &call->rpc.out;

    xdr_put_u32 (out, wire_command (cmd));
    put_lock_type (out, lock);
    put_flock (out, lock, &owner, sizeof owner);
}

/* --- locks without a caller ------------------------------------------------------------------- */

static void
own_lock_reply (struct client_call *call, struct rpc_reply *reply)
{
}

struct client_call *
client_lock_own (xlator_t *this, struct rpc_connection *connection, const gfid_t *gfid,
                 int64_t number, const struct gf_flock *lock, client_reply_fn *reply)
{
    const uint64_t owner = GUINT64_TO_LE (lock->l_owner);
    struct client_call *call = client_begin_own (this, connection, WIRE_LK, &owner, sizeof owner,
                                                 reply);

    put_gfid (&call->rpc.out, gfid);
    xdr_put_u64 (&call->rpc.out, (uint64_t) number);
    put_lock_arguments (call, F_SETLK, lock);
    put_no_dict (&call->rpc.out);
    return call;
}

static void
lock_undo (struct client_call *call)
{
    struct gf_flock lock = call->lock;
    int64_t number;

    if (file_number (call->this, call->fd, WIRE_LK, &number) != 0)
        return;
    lock.l_type = F_UNLCK;
    client_send (client_lock_own (call->this, call->connection, &call->fd->inode->gfid, number,
                                  &lock, own_lock_reply));
}

/* --- lk, flock -------------------------------------------------------------------------------- */

/* Returns whether the lock was set or found; *ret_lock is the server's. */
static bool
lock_read (struct client_call *call, struct rpc_reply *reply, client_answer_t *answer,
           struct gf_flock *ret_lock)
{
    if (!client_answer_begin (call, reply, answer))
        return false;
    get_flock (&reply->results, ret_lock);
    if (!client_answer_is_whole (call, reply))
        return false;
    if (call->cmd != F_GETLK)
        file_note_lock (call->this, call->fd, &call->lock);
    return true;
}

static void
lk_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;
    struct gf_flock lock;

    if (lock_read (call, reply, &answer, &lock))
        STACK_UNWIND (lk, call->frame, 0, 0, call->cmd == F_GETLK ? &lock : &call->lock,
                      answer.xdata);
}

static void
flock_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;
    struct gf_flock lock;

    if (lock_read (call, reply, &answer, &lock))
        STACK_UNWIND (flock, call->frame, 0, 0, answer.xdata);
}

/* A lock that is given up while the connection is gone is not taken again with the next one. */
static void
lock_ask (call_frame_t *frame, xlator_t *this, fd_t *fd, int cmd, struct gf_flock *lock,
          dict_t *xdata, client_reply_fn *reply)
{
    struct client_call *call;

    lock->l_owner = frame->root->lk_owner;
    if (cmd != F_GETLK && lock->l_type == F_UNLCK)
        file_note_lock (this, fd, lock);
    call = client_begin_fd (frame, this, fd, WIRE_LK, 0, reply);
    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->cmd = cmd;
    call->lock = *lock;
    put_lock_arguments (call, cmd, lock);
    put_dict (&call->rpc.out, xdata);
    __atomic_store_n (&client_inode_of (this, fd->inode)->locked, true, __ATOMIC_RELEASE);
    call->rpc.patient = cmd == F_SETLKW;
    if (cmd == F_SETLKW)
        client_send_lock (call, true, lock_undo);
    else
        client_send (call);
}

void
client_lk (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t cmd, struct gf_flock *lock,
           dict_t *xdata)
{
    struct gf_flock asked = *lock;

    lock_ask (frame, this, fd, cmd, &asked, xdata, lk_reply);
}

void
client_flock (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t operation, dict_t *xdata)
{
    struct gf_flock lock = { .l_type = operation & LOCK_UN   ? F_UNLCK
                                     : operation & LOCK_EX ? F_WRLCK
                                                           : F_RDLCK,
                             .l_pid = frame->root->pid };

    lock_ask (frame, this, fd, operation & (LOCK_NB | LOCK_UN) ? F_SETLK : F_SETLKW, &lock,
              xdata, flock_reply);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations lk and flock, which set record locks. A lock belongs to the connection on which it
 * was set, and the server drops the lock when that connection ends. A flock(2) is sent as a record
 * lock on the whole file, as in GlusterFS's clients. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

enum { COMMAND_GETLK, COMMAND_SETLK, COMMAND_SETLKW };

uint32_t
client_lock_command (int cmd)
{
    return cmd == F_GETLK ? COMMAND_GETLK : cmd == F_SETLKW ? COMMAND_SETLKW : COMMAND_SETLK;
}

/* --- calls of the translator's own ------------------------------------------------------------ */

struct client_call *
client_lock_own (xlator_t *this, struct rpc_connection *connection, const struct wire_fd *fd,
                 const struct gf_flock *lock, client_reply_fn *reply)
{
    const uint64_t owner = GUINT64_TO_LE (lock->l_owner);
    struct client_call *call = client_begin_own (this, connection, WIRE_lk, &owner, sizeof owner,
                                                 reply);
    const struct wire_lk put = { .fd = *fd, .cmd = COMMAND_SETLK, .type = wire_lock_type (lock),
                                 .lock = *lock };

    wire_put_call (&call->rpc.out, WIRE_lk, &put);
    return call;
}

static void
lk_undo (struct client_call *call)
{
    struct gf_flock lock = call->lock;
    struct wire_fd fd = { .gfid = call->fd->inode->gfid };

    if (client_file_number (call->this, call->fd, WIRE_lk, &fd.number) != 0)
        return;
    lock.l_type = F_UNLCK;
    client_send (client_lock_own (call->this, call->connection, &fd, &lock, client_ignore_reply));
}

/* --- lk, flock -------------------------------------------------------------------------------- */

/* Reads the reply to an LK. Returns true if the server has set or tested the lock. Returns false
 * after it has answered the frame with an error. */
static bool
lk_get (struct client_call *call, struct rpc_reply *reply, struct wire_lk_reply *got)
{
    if (!client_get (call, reply, WIRE_lk, got))
        return false;
    if (call->cmd != F_GETLK)
        client_file_note_lock (call->this, call->fd, &call->lock);
    return true;
}

static void
lk_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_lk_reply got = { 0 };

    if (lk_get (call, reply, &got))
        STACK_UNWIND (lk, call->frame, 0, 0, call->cmd == F_GETLK ? &got.lock : &call->lock,
                      got.xdata);
    wire_clear_reply (WIRE_lk, &got);
}

static void
flock_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_lk_reply got = { 0 };

    if (lk_get (call, reply, &got))
        STACK_UNWIND (flock, call->frame, 0, 0, got.xdata);
    wire_clear_reply (WIRE_lk, &got);
}

/* Sends an LK. For an unlock, first removes the range from the record locks that reopen.c sets
 * again on a new connection. If the session is down, the unlock fails, but the server has dropped
 * the lock with the old connection, and reopen.c must not set it again. */
static void
lk_ask (call_frame_t *frame, xlator_t *this, fd_t *fd, int cmd, struct gf_flock lock,
        dict_t *xdata, client_reply_fn *reply)
{
    const bool waits = cmd == F_SETLKW;
    struct wire_lk put = { .cmd = client_lock_command (cmd), .type = wire_lock_type (&lock),
                           .xdata = xdata };
    struct client_call *call;

    put.lock = lock;
    put.lock.l_owner = frame->root->lk_owner;
    if (cmd != F_GETLK && lock.l_type == F_UNLCK)
        client_file_note_lock (this, fd, &put.lock);
    call = client_begin_fd (frame, this, fd, WIRE_lk, reply);
    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->cmd = cmd;
    call->lock = put.lock;
    wire_put_arguments (&call->rpc.out, WIRE_lk, &put);
    __atomic_store_n (&client_inode_of (this, fd->inode)->locked, true, __ATOMIC_RELEASE);
    call->rpc.patient = waits;
    if (waits)
        client_send_lock (call, true, lk_undo);
    else
        client_send (call);
}

void
client_lk (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t cmd, struct gf_flock *lock,
           dict_t *xdata)
{
    lk_ask (frame, this, fd, cmd, *lock, xdata, lk_reply);
}

void
client_flock (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t operation, dict_t *xdata)
{
    const struct gf_flock lock = { .l_type = operation & LOCK_UN   ? F_UNLCK
                                             : operation & LOCK_EX ? F_WRLCK
                                                                   : F_RDLCK,
                                   .l_pid = frame->root->pid };

    lk_ask (frame, this, fd, operation & (LOCK_NB | LOCK_UN) ? F_SETLK : F_SETLKW, lock, xdata,
            flock_reply);
}

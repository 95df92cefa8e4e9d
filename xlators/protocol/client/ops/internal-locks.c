/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations inodelk and entrylk, by which translators such as cluster/replicate lock bytes of
 * a file and names in a directory. A lock belongs to the connection on which it was taken, as a
 * record lock does, and the server drops the lock when that connection ends. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>

#define CLIENT_LOCK_REPLY(op_)                                                                     \
    static void op_##_reply (struct client_call *call, struct rpc_reply *reply)                    \
    {                                                                                              \
        struct wire_##op_##_reply got = { 0 };                                                     \
                                                                                                   \
        if (client_get (call, reply, WIRE_##op_, &got))                                            \
            STACK_UNWIND (op_, call->frame, 0, 0, got.xdata);                                      \
        wire_clear_reply (WIRE_##op_, &got);                                                       \
    }

CLIENT_LOCK_REPLY (inodelk)
CLIENT_LOCK_REPLY (finodelk)
CLIENT_LOCK_REPLY (entrylk)
CLIENT_LOCK_REPLY (fentrylk)

/* --- inodelk, finodelk ------------------------------------------------------------------------ */

static struct wire_inodelk
inodelk_put_of (const struct client_call *call, dict_t *xdata)
{
    return (struct wire_inodelk){
        .loc = call->inode->gfid,
        .cmd = client_lock_command (call->cmd),
        .type = wire_lock_type (&call->lock),
        .lock = call->lock,
        .volume = call->volume,
        .xdata = xdata,
    };
}

static void
inodelk_undo (struct client_call *call)
{
    struct client_call *undo = client_begin_undo (call, WIRE_inodelk);
    struct wire_inodelk put = inodelk_put_of (call, NULL);

    put.lock.l_type = F_UNLCK;
    put.type = wire_lock_type (&put.lock);
    put.cmd = client_lock_command (F_SETLK);
    wire_put_call (&undo->rpc.out, WIRE_inodelk, &put);
    client_send (undo);
}

static void
inodelk_ask (struct client_call *call, inode_t *inode, const char *volume, int cmd,
             const struct gf_flock *lock, dict_t *xdata)
{
    struct wire_inodelk put;

    if (!call)
        return;
    call->inode = inode_ref (inode);
    call->volume = g_strdup (volume);
    call->cmd = cmd;
    call->lock = *lock;
    call->lock.l_owner = call->frame->root->lk_owner;
    put = inodelk_put_of (call, xdata);
    wire_put_arguments (&call->rpc.out, WIRE_inodelk, &put);
    if (lock->l_type != F_UNLCK)
        client_send_lock (call, cmd == F_SETLKW, inodelk_undo);
    else
        client_send (call);
}

void
client_inodelk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc, int32_t cmd,
                struct gf_flock *lock, dict_t *xdata)
{
    inodelk_ask (client_begin_file (frame, this, loc, WIRE_inodelk, inodelk_reply), loc->inode,
                 volume, cmd, lock, xdata);
}

void
client_finodelk (call_frame_t *frame, xlator_t *this, const char *volume, fd_t *fd, int32_t cmd,
                 struct gf_flock *lock, dict_t *xdata)
{
    inodelk_ask (client_begin_fd (frame, this, fd, WIRE_finodelk, finodelk_reply), fd->inode,
                 volume, cmd, lock, xdata);
}

/* --- entrylk, fentrylk ------------------------------------------------------------------------ */

static void
entrylk_undo (struct client_call *call)
{
    struct client_call *undo = client_begin_undo (call, WIRE_entrylk);
    const struct wire_entrylk put = {
        .loc = call->inode->gfid,
        .cmd = ENTRYLK_UNLOCK,
        .type = (uint32_t) call->cmd,
        .basename = call->name,
        .volume = call->volume,
    };

    wire_put_call (&undo->rpc.out, WIRE_entrylk, &put);
    client_send (undo);
}

/* Completes and sends an entrylk. Stores the type of the lock in call->cmd, where entrylk_undo
 * needs it. */
static void
entrylk_ask (struct client_call *call, inode_t *inode, const struct wire_entrylk *put)
{
    if (!call)
        return;
    call->inode = inode_ref (inode);
    call->volume = g_strdup (put->volume);
    call->name = g_strdup (put->basename);
    call->cmd = (int) put->type;
    wire_put_arguments (&call->rpc.out, WIRE_entrylk, put);
    if (put->cmd != ENTRYLK_UNLOCK)
        client_send_lock (call, put->cmd == ENTRYLK_LOCK, entrylk_undo);
    else
        client_send (call);
}

void
client_entrylk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc,
                const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    const struct wire_entrylk put = { .cmd = (uint32_t) cmd, .type = (uint32_t) type,
                                      .basename = basename, .volume = volume, .xdata = xdata };

    entrylk_ask (client_begin_file (frame, this, loc, WIRE_entrylk, entrylk_reply), loc->inode,
                 &put);
}

void
client_fentrylk (call_frame_t *frame, xlator_t *this, const char *volume, fd_t *fd,
                 const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    const struct wire_entrylk put = { .cmd = (uint32_t) cmd, .type = (uint32_t) type,
                                      .basename = basename, .volume = volume, .xdata = xdata };

    entrylk_ask (client_begin_fd (frame, this, fd, WIRE_fentrylk, fentrylk_reply), fd->inode,
                 &put);
}

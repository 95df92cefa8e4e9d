/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks of the file system's own parts, on inodes and on names. As with record locks, the server
 * keeps them for this connection, and drops them when it ends. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>

/* --- inodelk, finodelk ------------------------------------------------------------------------ */

static void
put_inodelk (struct client_call *call, dict_t *xdata)
{
    put_lock_arguments (call, call->cmd, &call->lock);
    xdr_put_string (&call->rpc.out, call->volume);
    put_dict (&call->rpc.out, xdata);
}

static void
inodelk_undo (struct client_call *call)
{
    struct client_call *undo = client_begin_undo (call, WIRE_INODELK);

    undo->lock = call->lock;
    undo->lock.l_type = F_UNLCK;
    undo->cmd = F_SETLK;
    undo->volume = g_strdup (call->volume);
    put_gfid (&undo->rpc.out, &call->inode->gfid);
    put_inodelk (undo, NULL);
    client_send (undo);
}

static void
inodelk_ask (struct client_call *call, inode_t *inode, const char *volume, int cmd,
             const struct gf_flock *lock, dict_t *xdata)
{
    if (!call)
        return;
    call->inode = inode_ref (inode);
    call->volume = g_strdup (volume);
    call->cmd = cmd;
    call->lock = *lock;
    call->lock.l_owner = call->frame->root->lk_owner;
    put_inodelk (call, xdata);
    if (lock->l_type != F_UNLCK)
        client_send_lock (call, cmd == F_SETLKW, inodelk_undo);
    else
        client_send (call);
}

void
client_inodelk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc, int32_t cmd,
                struct gf_flock *lock, dict_t *xdata)
{
    struct client_call *call =
        client_begin (frame, this, WIRE_INODELK, 0, client_inodelk_reply);

    if (call)
        client_put_subject (call, loc_gfid (loc));
    inodelk_ask (call, loc->inode, volume, cmd, lock, xdata);
}

void
client_finodelk (call_frame_t *frame, xlator_t *this, const char *volume, fd_t *fd, int32_t cmd,
                 struct gf_flock *lock, dict_t *xdata)
{
    struct client_call *call =
        client_begin_fd (frame, this, fd, WIRE_FINODELK, 0, client_finodelk_reply);

    inodelk_ask (call, fd->inode, volume, cmd, lock, xdata);
}

/* --- entrylk, fentrylk ------------------------------------------------------------------------ */

static void
put_entrylk (struct client_call *call, int cmd, int type, dict_t *xdata)
{
    struct xdr_out *out = &call->rpc.out;

    xdr_put_u32 (out, (uint32_t) cmd);
    xdr_put_u32 (out, (uint32_t) type);
    xdr_put_u64 (out, call->name ? 1 : 0);
    xdr_put_string (out, call->name ? call->name : "");
    xdr_put_string (out, call->volume);
    put_dict (out, xdata);
}

static void
entrylk_undo (struct client_call *call)
{
    struct client_call *undo = client_begin_undo (call, WIRE_ENTRYLK);

    undo->name = g_strdup (call->name);
    undo->volume = g_strdup (call->volume);
    put_gfid (&undo->rpc.out, &call->inode->gfid);
    put_entrylk (undo, ENTRYLK_UNLOCK, call->cmd, NULL);
    client_send (undo);
}

/* The type is kept in call->cmd. */
static void
entrylk_ask (struct client_call *call, inode_t *inode, const char *volume, const char *basename,
             int cmd, int type, dict_t *xdata)
{
    if (!call)
        return;
    call->inode = inode_ref (inode);
    call->volume = g_strdup (volume);
    call->name = g_strdup (basename);
    call->cmd = type;
    put_entrylk (call, cmd, type, xdata);
    if (cmd != ENTRYLK_UNLOCK)
        client_send_lock (call, cmd == ENTRYLK_LOCK, entrylk_undo);
    else
        client_send (call);
}

void
client_entrylk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc,
                const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_ENTRYLK, 0, client_entrylk_reply);

    if (call)
        client_put_subject (call, loc_gfid (loc));
    entrylk_ask (call, loc->inode, volume, basename, cmd, type, xdata);
}

void
client_fentrylk (call_frame_t *frame, xlator_t *this, const char *volume, fd_t *fd,
                 const char *basename, int32_t cmd, int32_t type, dict_t *xdata)
{
    struct client_call *call =
        client_begin_fd (frame, this, fd, WIRE_FENTRYLK, 0, client_fentrylk_reply);

    entrylk_ask (call, fd->inode, volume, basename, cmd, type, xdata);
}

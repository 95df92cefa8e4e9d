/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that open a file or a directory, and flush. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>

/* --- open, opendir ---------------------------------------------------------------------------- */

static void
open_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_open_reply got = { 0 };

    if (!client_get (call, reply, WIRE_open, &got))
        return;
    client_file_opened (call, &call->fd->inode->gfid, (int64_t) got.number);
    STACK_UNWIND (open, call->frame, 0, 0, call->fd, got.xdata);
    wire_clear_reply (WIRE_open, &got);
}

void
client_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
             dict_t *xdata)
{
    struct client_call *call = client_begin_file (frame, this, loc, WIRE_open, open_reply);
    const struct wire_open put = { .flags = client_open_flags (this, flags), .xdata = xdata };
    const struct client_range all = { .inode = loc->inode };

    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->flags = flags;
    client_ask (call, WIRE_open, &put, flags & O_TRUNC ? &all : NULL);
}

static void
opendir_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_opendir_reply got = { 0 };

    if (!client_get (call, reply, WIRE_opendir, &got))
        return;
    client_file_opened (call, &call->fd->inode->gfid, (int64_t) got.number);
    STACK_UNWIND (opendir, call->frame, 0, 0, call->fd, got.xdata);
    wire_clear_reply (WIRE_opendir, &got);
}

void
client_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    struct client_call *call = client_begin_file (frame, this, loc, WIRE_opendir, opendir_reply);
    const struct wire_opendir put = { .xdata = xdata };

    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->flags = O_DIRECTORY;
    client_ask (call, WIRE_opendir, &put, NULL);
}

/* --- flush ------------------------------------------------------------------------------------ */

static void
flush_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_flush_reply got = { 0 };

    if (client_get (call, reply, WIRE_flush, &got))
        STACK_UNWIND (flush, call->frame, 0, 0, got.xdata);
    wire_clear_reply (WIRE_flush, &got);
}

/* Flushes an open file. All that a server does on FLUSH is to release the owner's record locks, so
 * the client sends FLUSH only if an operation has ever requested a record lock on this file. */
void
client_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    const struct client_inode *kept = inode_ctx_get (fd->inode, this);
    const struct wire_flush put = { .xdata = xdata };

    if (!kept || !__atomic_load_n (&kept->locked, __ATOMIC_ACQUIRE)) {
        STACK_UNWIND (flush, frame, 0, 0, NULL);
        return;
    }
    client_file_forget_locks (this, fd->inode, frame->root->lk_owner);
    client_ask (client_begin_fd (frame, this, fd, WIRE_flush, flush_reply), WIRE_flush, &put,
                NULL);
}

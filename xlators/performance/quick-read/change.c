/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What changes a file, or who may read it. Its content goes before the change goes down, and until that was answered nothing is served or kept.
 * A file that isn't linked in the table, since somebody found it at the same time and was first, is known there by another inode: then all
 * that is kept is suspect.
 */
#include "quick-read.h"

static create_cbk qr_create_cbk;

static inode_t *
changed (const struct call *call)
{
    if (call->op == FOP_copy_file_range)
        return call->fd_out->inode;
    return call->fd ? call->fd->inode : call->loc->inode;
}

void
qr_every (const struct call *call)
{
    inode_t *inode = changed (call);
    struct qr_local *local;

    if (call->op == FOP_unlink && !qr_has_content (qr_inode_get (call->this, inode))) {
        call_pass (call);
        return;
    }
    if (inode && inode->ia_type != IA_IFREG && inode->ia_type != IA_INVAL) { /* a directory, say */
        call_pass (call);
        return;
    }
    local = frame_local_new (call->frame, sizeof *local);
    local->begun = true;
    local->any = inode && gfid_is_null (&inode->gfid);
    local->inode = inode_ref (inode);
    if (inode)
        qr_change_begin (call->this, qr_inode_make (call->this, inode));
    if (local->any)
        qr_change_begin (call->this, NULL);
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

void
qr_every_cbk (const struct answer *answer)
{
    const struct qr_local *local = answer->frame->local;

    if (local->inode)
        qr_change_end (answer->this, qr_inode_get (answer->this, local->inode));
    if (local->any)
        qr_change_end (answer->this, NULL);
    answer_pass (answer);
}

/* It may open a file that is there, and cut it off. */
void
qr_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode, mode_t umask, fd_t *fd, dict_t *xdata)
{
    if (flags & O_EXCL || !(flags & O_TRUNC))
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
    else
        STACK_WIND (frame, qr_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

static void
qr_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd, inode_t *inode,
               struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    if (op_ret >= 0)
        qr_drop (this, qr_inode_of_answer (this, inode, buf, true));
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

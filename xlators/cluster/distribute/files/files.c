/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations on files: each is wound to the cached subvolume. The mode in the answer shows whether
 * a rebalance moves the file:
 *
 *   sticky and setgid   (the marks of a move) the rebalance copies the file: the copy must get the
 *                       change, too
 *   01000, or no file   (01000 is the mode of a linkto) the file has moved: the client looks it up,
 *                       and repeats the operation on its new subvolume
 *
 * A stub keeps the arguments of the call, since the steps in rebalance.c may repeat the call.
 */
#include "file-op.h"

#include <fcntl.h>
#include <sys/file.h>

static bool
op_changes_xattrs (enum fop op)
{
    return op == FOP_setxattr || op == FOP_fsetxattr || op == FOP_removexattr
        || op == FOP_fremovexattr;
}

/* --- calls ------------------------------------------------------------------------------------ */

int
inode_home (xlator_t *this, inode_t *inode)
{
    const dht_private_t *priv = this->private;
    int home;

    if (inode->ia_type != IA_IFDIR)
        return inode_cached (this, inode);
    home = inode_mds (this, inode);
    return home != NO_CHILD && child_is_up (priv, (unsigned) home) ? home : child_first_up (priv);
}

static void
file_clear (struct op *op)
{
    struct file_op *file = (struct file_op *) op;

    if (file->call)
        call_stub_destroy (file->call);
    if (file->answer)
        answer_stub_destroy (file->answer);
    inode_unref (file->inode);
    fd_unref (file->fd);
}

static struct file_op *
file_op_new (const struct call *call)
{
    struct file_op *file = op_new (call->frame, call->this, sizeof *file, NULL, NULL, NULL);

    file->op.clear = file_clear;
    file->answered = NO_CHILD;
    file->inode = inode_ref (call->fd ? call->fd->inode : call->loc->inode);
    file->fd = call->op == FOP_open ? NULL : fd_ref (call->fd);
    return file;
}

/* Returns whether the call copies data between files on different subvolumes. The caller then gets
 * EXDEV, and copies the data itself. */
static bool
call_spans (const struct call *call, const struct file_op *file)
{
    return call->fd_out && inode_cached (call->this, call->fd_out->inode) != file->child;
}

/* Returns whether FILE_CHECK must follow if the call succeeds. It must after changes of xattrs
 * and after locks, since their answers have no mode that would show a move. A file with locks
 * does not move, so an unlock needs no check. */
static bool
call_checks (const struct call *call)
{
    const struct lk_call *lk = call->op == FOP_lk ? call->args : NULL;
    const struct flock_call *flock = call->op == FOP_flock ? call->args : NULL;

    return op_changes_xattrs (call->op) || (lk && lk->lock->l_type != F_UNLCK)
        || (flock && !(flock->operation & LOCK_UN));
}

/* Returns a set of IATT_* with those of owner, group and mode that the call sets. */
static uint32_t
call_rights (const struct call *call)
{
    const uint32_t rights = IATT_MODE | IATT_UID | IATT_GID;

    if (call->op == FOP_setattr)
        return ((const struct setattr_call *) call->args)->valid & rights;
    if (call->op == FOP_fsetattr)
        return ((const struct fsetattr_call *) call->args)->valid & rights;
    return 0;
}

void
file_any_fop (const struct call *call)
{
    struct file_op *file = call->frame->local ? OP_OF (call->frame) : file_op_new (call);
    dht_private_t *priv = call->this->private;

    if (!file->chosen)
        file->child = inode_home (call->this, file->inode);
    file->chosen = file->settled = false;
    file->target = NO_CHILD;
    file->rights = call_rights (call);
    file->checks = priv->n > 1 && call_checks (call);
    file->call = call_keep (call);
    if (!file->call) {
        call_fail (call, ENOMEM);
    } else if (file->child == NO_CHILD) {
        file_find (file, ENOTCONN);
    } else if (call_spans (call, file)) {
        call_stub_destroy (g_steal_pointer (&file->call));
        call_fail (call, EXDEV);
    } else if (file->fd && file->inode->ia_type != IA_IFDIR && fd_ctx_get (file->fd, call->this)
               && !fd_is_open_on (call->this, file->fd, file->child)) {
        file_go (file, file->child); /* the file has moved since the fd was opened */
    } else {
        call_wind (call, priv->children[file->child], NULL);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns whether the operation must be repeated on the copy that a rebalance is making. That is
 * so for an fsync, since the copy's data must be synced, too, and for a setattr, since the copy
 * needs the new attributes. */
static bool
op_is_for_both (enum fop op)
{
    return op == FOP_fsync || op == FOP_setattr || op == FOP_fsetattr;
}

/* Returns whether the operation has changed data, owner, group or mode of the file. A rebalance
 * that copies the file may have read the old data before, and sets the old owner, group and mode
 * on the copy. */
static bool
file_op_changes (const struct file_op *file, const struct answer *answer)
{
    return file->rights
        || (opset_has (OPS_CHANGE_DATA, answer->op) && answer->op != FOP_open
            && answer->op != FOP_create);
}

static const struct iatt *
answer_attributes (const struct answer *answer)
{
    return answer->post ? answer->post : answer->buf;
}

/* Returns whether the answer has an error that a subvolume returns if it no longer has the file,
 * or the open file. */
static bool
error_may_be_of_move (const struct answer *answer)
{
    return answer->op_ret < 0
        && (is_missing (answer->op_errno) || answer->op_errno == EBADF
            || answer->op_errno == EBADFD
            || (op_locks (answer->op) && answer->op_errno == EREMOTE)); /* its locks moved, too */
}

static bool
became_shorter (const struct answer *answer)
{
    return op_truncates (answer->op) && answer->pre && answer->post
        && answer->post->ia_size < answer->pre->ia_size;
}

static bool
lost_marks (const struct answer *answer)
{
    return (answer->op == FOP_setattr || answer->op == FOP_fsetattr) && answer->pre
        && iatt_is_moving (answer->pre) && !iatt_is_moving (answer->post);
}

/* Returns whether the call has changed the mode of a linkto: the file had moved before the call.
 * Clients recognise a linkto by its mode, so they no longer recognise this one. */
static bool
lost_linkto (const struct answer *answer)
{
    return (answer->op == FOP_setattr || answer->op == FOP_fsetattr) && answer->pre
        && iatt_may_be_linkto (answer->pre) && !iatt_may_be_linkto (answer->post);
}

static void
answer_strip (const struct answer *answer)
{
    if (answer->buf)
        marks_strip (answer->buf);
    if (answer->pre)
        marks_strip (answer->pre);
    if (answer->post)
        marks_strip (answer->post);
}

static void
file_pass (struct file_op *file, const struct answer *answer)
{
    call_stub_destroy (g_steal_pointer (&file->call));
    if (answer->op == FOP_open && answer->op_ret >= 0)
        fd_set_open_on (answer->this, answer->fd, file->child);
    if (inode_target (answer->this, file->inode) != NO_CHILD)
        answer_strip (answer);
    answer_pass (answer);
}

/* Keeps the answer while steps run. Returns false if there is no memory. */
static bool
file_keep (struct file_op *file, const struct answer *answer)
{
    if (file->rights && answer->op_ret >= 0)
        file->changed = *answer->post;
    file->answer = answer_keep (answer);
    file->answered = file->child;
    return file->answer;
}

/* Handles the answer of the copy's subvolume, after the operation was done on the file and then
 * on the copy. If both succeeded, the caller gets the answer of the file's subvolume. If the
 * copy is missing, either the rebalance has abandoned the move, or the file has moved once more:
 * a lookup finds the file. */
static void
file_both_answered (struct file_op *file, const struct answer *answer)
{
    struct answer_stub *first;

    if (answer->op_ret < 0 && is_missing (answer->op_errno) && file->op.tries < TRIES) {
        file_find (file, answer->op_errno);
        return;
    }
    first = g_steal_pointer (&file->answer);
    call_stub_destroy (g_steal_pointer (&file->call));
    if (answer->op_ret >= 0 || answer->op_errno == ENODATA) {
        answer_resume (first);
        return;
    }
    gf_log (answer->this, GF_LOG_ERROR,
            "gfid %s, which a rebalance copies: %s on the copy on %s: %s", GFID_OF (file->inode),
            fop_name (answer->op), file->op.priv->children[file->child]->name,
            g_strerror (answer->op_errno));
    answer_stub_destroy (first);
    answer_fail (answer, answer->op_errno);
}

/* Returns which steps of rebalance.c (a set of FILE_*) must run first before the answer is
 * passed on; 0: none. */
static unsigned
file_todo_after (const struct file_op *file, const struct answer *answer)
{
    const struct iatt *buf = answer->op_ret < 0 ? NULL : answer_attributes (answer);

    if (file->checks && answer->op_ret >= 0)
        return FILE_CHECK;
    if (!buf)
        return 0;
    if (lost_linkto (answer))
        return FILE_RESTORE;
    if (lost_marks (answer))
        return FILE_ASK_FOR_MARK;
    if (iatt_is_moving (buf) && file_op_changes (file, answer))
        return FILE_ASK_FOR_END;
    if (iatt_is_moving (buf) && op_is_for_both (answer->op))
        return FILE_ASK_FOR_BOTH;
    return became_shorter (answer) && file->op.priv->n > 1 ? FILE_WAIT : 0;
}

static bool
answer_may_be_of_move (const struct answer *answer, const struct iatt *buf)
{
    return error_may_be_of_move (answer) || (buf && iatt_may_be_linkto (buf));
}

void
file_any_fop_cbk (const struct answer *answer)
{
    struct file_op *file = OP_OF (answer->frame);
    const struct iatt *buf = answer->op_ret < 0 ? NULL : answer_attributes (answer);
    const bool may_move = file->inode->ia_type == IA_IFREG && file->op.tries < TRIES;
    const unsigned todo = may_move ? file_todo_after (file, answer) : 0;

    if (file->both) {
        file_both_answered (file, answer);
    } else if (may_move && answer_may_be_of_move (answer, buf)) {
        file->dirty = buf && buf->ia_size > 0 && file_op_changes (file, answer);
        file_keep (file, answer);
        file_find (file, answer->op_ret < 0 ? answer->op_errno : ESTALE);
    } else if (todo && file_keep (file, answer)) {
        file_do (file, todo);
    } else if (todo) {
        answer_fail (answer, ENOMEM);
    } else {
        file_pass (file, answer);
    }
}

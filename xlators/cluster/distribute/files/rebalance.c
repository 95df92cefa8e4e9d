/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that a rebalance moves, or has moved, while they are in use. */
#include "../distribute.h"

#include <fcntl.h>
#include <string.h>

#define MARKS (S_ISVTX | S_ISGID)

bool
iatt_is_moving (const struct iatt *buf)
{
    return buf->ia_type == IA_IFREG && (buf->ia_prot & MARKS) == MARKS;
}

void
marks_strip (struct iatt *buf)
{
    if (iatt_is_moving (buf))
        buf->ia_prot &= ~(uint32_t) MARKS;
}

static void file_wait (call_frame_t *own);

/* --- asking another subvolume ----------------------------------------------------------------- */

static void
file_resume (struct file_op *file)
{
    struct op *op = &file->op;
    struct call_stub *call = g_steal_pointer (&file->call);

    file->chosen = true;
    if (op->seq.own) {
        stack_done (op->seq.own->root);
        op->seq.own = NULL;
        fan_clear (&op->own_fan);
    }
    call_resume (call);
}

/* The operation ends with the answer that it had. */
static void
file_keep_answer (struct op *op)
{
    struct file_op *file = (struct file_op *) op;
    struct answer_stub *answer = g_steal_pointer (&file->answer);

    if (file->call)
        call_stub_destroy (g_steal_pointer (&file->call));
    if (answer)
        answer_resume (answer);
    else
        frame_fail (op->frame, op->op_errno);
}

/* What the first subvolume did is lost with what remained there of the file, or is not in the copy,
 * so even a success fails now. */
static void
file_fail (struct file_op *file, int op_errno)
{
    if (file->answer)
        answer_stub_destroy (g_steal_pointer (&file->answer));
    file->op.op_errno = op_errno;
    op_end (&file->op, file_keep_answer);
}

static void
file_follow_on (struct file_op *file)
{
    if (!file->both && file->answer)
        answer_stub_destroy (g_steal_pointer (&file->answer));
    file_resume (file);
}

static void
file_followed (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;

    if (!file->fd || fd_is_open_on (op->this, file->fd, file->child))
        file_follow_on (file);
    else if (is_missing (op->op_errno) && op->tries < TRIES)
        file_find (file, op->op_errno); /* it has moved on, or the rebalance has given it up */
    else
        file_fail (file, op->op_errno);
}

void
file_go (struct file_op *file, int child)
{
    file->child = child;
    if (file->fd)
        fds_follow (&file->op, file->inode, file->fd, (unsigned) child, file_followed);
    else
        file_follow_on (file);
}

/* --- remains that were written ---------------------------------------------------------------- */

static void
file_clean (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);

    file_go (file, inode_cached (file->op.this, file->inode));
}

static void
file_emptied (call_frame_t *own)
{
    locks_drop (own->local, file_clean);
}

/* Is what remains on that subvolume really no file? Its data would be lost. */
static bool
file_is_remains (const struct file_op *file)
{
    const struct op *op = &file->op;
    const struct fan_answer *target = &op->own_fan.answers[file->answered];
    const struct fan_answer *mode = &op->own_fan.answers[SELF (op)];

    return target->op_ret >= 0 && mode->op_ret >= 0
        && iatt_may_be_linkto (mode->op == FOP_fstat ? &mode->fstat.buf : &mode->stat.buf);
}

static void
file_dirt_told (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    if (!file_is_remains (file))
        file_emptied (own);
    else if (file->fd)
        OWN_ONE (op, file_emptied, (unsigned) file->answered, ftruncate, file->fd, 0, NULL);
    else
        OWN_ONE (op, file_emptied, (unsigned) file->answered, truncate, &loc, 0, NULL);
    loc_wipe_path (&loc);
}

/* It may have no name: then it is there for the fd alone. */
static void
file_dirt_locked (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    xlator_t *child = op->priv->children[file->answered];
    loc_t loc = { .inode = file->inode };

    own_begin (op, file_dirt_told);
    if (file->fd) {
        OWN (op, (unsigned) file->answered, fgetxattr, file->fd, op->priv->linkto_key, NULL);
        FAN_WIND (&op->own_fan, SELF (op), child, fstat, file->fd, NULL);
    } else {
        OWN (op, (unsigned) file->answered, getxattr, &loc, op->priv->linkto_key, NULL);
        FAN_WIND (&op->own_fan, SELF (op), child, stat, &loc, NULL);
    }
    own_end (op);
    loc_wipe_path (&loc);
}

/* A file that has moved away from a brick where it is still open becomes a linkto there again, when
 * a client gives it a name with a hash of that brick. The linkto then has what was written to the
 * fd, and the next move would begin with it. The lock keeps moves away, which write linktos. */
static void
file_empty_remains (struct file_op *file)
{
    struct op *op = &file->op;

    file->dirty = false;
    locks_clear (op);
    lock_data (op, (unsigned) inode_cached (op->this, file->inode), file->inode, true);
    locks_take (op, file_dirt_locked);
}

/* --- a file that has moved -------------------------------------------------------------------- */

/* Has it been removed after it has moved, and is the fd open there? */
static bool
file_lives_on (const struct file_op *file)
{
    return file->fd && file->target != NO_CHILD && file->target != file->answered
        && fd_is_open_on (file->op.this, file->fd, file->target);
}

static void
file_found (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    const struct lookup_reply *reply = &op->own_fan.answers[SELF (op)].lookup;
    const int cached = inode_cached (op->this, file->inode);

    inode_set_target (op->this, file->inode, NO_CHILD);
    if (reply->op_ret < 0 && file_lives_on (file)) {
        inode_set_cached (op->this, file->inode, file->target);
        file_go (file, file->target);
    } else if (reply->op_ret < 0) {
        file_fail (file, is_missing (reply->op_errno) ? op->op_errno : reply->op_errno);
    } else if (cached == NO_CHILD || cached == file->answered) {
        op_end (op, file_keep_answer);
    } else if (file->dirty) {
        file_empty_remains (file);
    } else {
        file_go (file, cached);
    }
}

void
file_find (struct file_op *file, int op_errno)
{
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    op->tries++;
    op->op_errno = op_errno;
    file->both = false;
    own_lookup (op, &loc, file_found);
    loc_wipe_path (&loc);
}

/* --- a file that is being copied -------------------------------------------------------------- */

static int
child_of_name (const dht_private_t *priv, const char *name, size_t size)
{
    for (unsigned i = 0; name && i < priv->n; i++)
        if (strnlen (name, size) == strlen (priv->children[i]->name)
            && strncmp (priv->children[i]->name, name, size) == 0)
            return (int) i;
    return NO_CHILD;
}

/* While the copy has this attribute, the server refuses what the rebalance writes there, and the
 * rebalance gives this file up: it may have read the data before they changed. */
#define PROTECT "trusted.glusterfs.protect.writes"

/* The open files go on there even if another client removes the file as soon as it has moved. */
static void
file_protected (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);

    if (file->fd)
        fds_follow (&file->op, file->inode, file->fd, (unsigned) file->target, file_wait);
    else
        file_wait (own);
}

static void
file_protect (struct file_op *file)
{
    struct op *op = &file->op;
    g_autoptr (dict_t) mark = dict_new ();
    loc_t loc = { .inode = file->inode };

    dict_set_str (mark, PROTECT, "1");
    OWN_ONE (op, file_protected, (unsigned) file->target, setxattr, &loc, mark, 0, NULL);
    loc_wipe_path (&loc);
}

static void
file_ask_target (struct file_op *file, void (*next) (call_frame_t *own))
{
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    OWN_ONE (op, next, (unsigned) file->child, getxattr, &loc, op->priv->linkto_key, NULL);
    loc_wipe_path (&loc);
}

/* The file tells where to. Returns 0 or an errno: ENODATA if it isn't being copied (any more),
 * ENOENT or ESTALE if it has moved. */
static int
file_read_target (struct file_op *file)
{
    const struct op *op = &file->op;
    const struct getxattr_reply *reply = &op->own_fan.answers[file->child].getxattr;
    size_t size = 0;
    const char *name = reply->op_ret < 0 ? NULL
                                         : dict_get (reply->dict, op->priv->linkto_key, &size);

    file->target = child_of_name (op->priv, name, size);
    if (file->target == file->child)
        file->target = NO_CHILD;
    inode_set_target (op->this, file->inode, file->target);
    if (reply->op_ret < 0)
        return reply->op_errno;
    return file->target == NO_CHILD ? ENODATA : 0;
}

static void
file_target_told (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    const int error = file_read_target (file);

    if (is_missing (error)) {
        file_find (file, error);
    } else if (error) {
        op_end (&file->op, file_keep_answer);
    } else {
        file->both = true;
        file_go (file, file->target);
    }
}

void
file_do_both (struct file_op *file)
{
    file_ask_target (file, file_target_told);
}

/* Without a target the rebalance has given the file up, or the marks are its user's; another move
 * may just begin. */
static void
file_copy_told (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    const int error = file_read_target (file);

    if (error == 0)
        file_protect (file);
    else if (error == ENODATA && !op_truncates (call_stub_op (file->call)) && !file->rights)
        op_end (&file->op, file_keep_answer);
    else
        file_wait (own);
}

void
file_end_copy (struct file_op *file)
{
    file_ask_target (file, file_copy_told);
}

/* --- operations whose answer has no attributes ------------------------------------------------ */

static void
file_is_elsewhere (call_frame_t *own)
{
    file_find (OP_OF (own), ESTALE);
}

/* The lock is on what remains of the file: it would keep no other owner away. */
static void
file_unlock (struct file_op *file)
{
    struct op *op = &file->op;
    struct gf_flock all = { .l_type = F_UNLCK, .l_owner = op->frame->root->lk_owner };

    op_own (op)->root->lk_owner = op->frame->root->lk_owner;
    OWN_ONE (op, file_is_elsewhere, (unsigned) file->child, lk, file->fd, F_SETLK, &all, NULL);
}

static bool
rights_differ (const struct file_op *file, const struct iatt *buf)
{
    const struct iatt *changed = &file->changed;

    return !iatt_may_be_linkto (buf)
        && ((file->rights & IATT_MODE && buf->ia_prot != changed->ia_prot)
            || (file->rights & IATT_UID && buf->ia_uid != changed->ia_uid)
            || (file->rights & IATT_GID && buf->ia_gid != changed->ia_gid));
}

/* A rebalance that gave the file up has set back what it had read before, or the marks came after
 * it had taken its own away. */
static void
file_repeat (struct file_op *file)
{
    file->op.tries++;
    file_go (file, file->child);
}

static void
file_checked (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    const struct fan_answer *answer = &op->own_fan.answers[file->child];
    const struct iatt *buf = answer->op == FOP_fstat ? &answer->fstat.buf : &answer->stat.buf;
    const bool locks = op_locks (call_stub_op (file->call));

    if (answer->op_ret >= 0 && file->settled && rights_differ (file, buf) && op->tries < TRIES)
        file_repeat (file);
    else if (answer->op_ret >= 0 && iatt_is_moving (buf) && !locks && !file->settled)
        file_do_both (file);
    else if (answer->op_ret >= 0 && !iatt_may_be_linkto (buf))
        op_end (op, file_keep_answer);
    else if (locks)
        file_unlock (file);
    else
        file_find (file, ESTALE);
}

void
file_check (struct file_op *file)
{
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    if (file->fd)
        OWN_ONE (op, file_checked, (unsigned) file->child, fstat, file->fd, NULL);
    else
        OWN_ONE (op, file_checked, (unsigned) file->child, stat, &loc, NULL);
    loc_wipe_path (&loc);
}

/* --- a new mode ------------------------------------------------------------------------------- */

static void
file_set_mode (struct file_op *file, uint32_t prot, void (*next) (call_frame_t *own))
{
    struct op *op = &file->op;
    struct iatt mode = { .ia_type = IA_IFREG, .ia_prot = prot };
    loc_t loc = { .inode = file->inode };

    OWN_ONE (op, next, (unsigned) file->child, setattr, &loc, &mode, IATT_MODE, NULL);
    loc_wipe_path (&loc);
}

void
file_is_linkto_again (struct file_op *file)
{
    file_set_mode (file, S_ISVTX, file_is_elsewhere);
}

static void
file_marked (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    const struct setattr_reply *reply = &file->op.own_fan.answers[file->child].setattr;

    if (reply->op_ret >= 0 && iatt_may_be_linkto (&reply->statpre))
        file_is_linkto_again (file);
    else
        file_protect (file);
}

/* Any file may have had the bits of the marks; the target tells. */
static void
file_mark_told (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    const int error = file_read_target (file);

    if (error)
        file_wait (own);
    else
        file_set_mode (file, file->changed.ia_prot | MARKS, file_marked);
}

void
file_mark_again (struct file_op *file)
{
    file_ask_target (file, file_mark_told);
}

/* --- a change that waits for the end of a move ------------------------------------------------ */

static void
file_quiet (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);

    file->settled = true;
    file_check (file);
}

static void
file_unprotected (call_frame_t *own)
{
    locks_drop (OP_OF (own), file_quiet);
}

/* Under the lock nothing moves the file, so the protection has no use. If it stayed, and the copy
 * has become the file, no rebalance could move that again. */
static void
file_stays (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    if (file->target == NO_CHILD)
        file_unprotected (own);
    else
        OWN_ONE (op, file_unprotected, (unsigned) file->target, removexattr, &loc, PROTECT, NULL);
    loc_wipe_path (&loc);
}

static void
file_wait (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;

    locks_clear (op);
    lock_data (op, (unsigned) file->child, file->inode, true);
    locks_take (op, file_stays);
}

void
file_settle (struct file_op *file)
{
    file_wait (op_own (&file->op));
}

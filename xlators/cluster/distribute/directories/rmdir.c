/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rmdir: the directory must be empty on all subvolumes, but for linktos without a file. Under the
 * lock of its name it is removed on all others first, and last on the hashed subvolume: as long as
 * that one has it, a lookup makes it again where it is missing.
 */
#include "../distribute.h"

struct rmdir {
    struct emptying emptying;
    int32_t flags;
    unsigned hashed;
    int error; /* of one of the others */
    struct iatt preparent, postparent;
    dict_t *xdata;
};

static void
rmdir_clear (struct op *op)
{
    struct rmdir *rmdir = (struct rmdir *) op;

    emptying_clear (&rmdir->emptying);
    dict_unref (rmdir->xdata);
}

static void
rmdir_answer (struct op *op)
{
    struct rmdir *rmdir = (struct rmdir *) op;
    inode_t *parent = op->loc.parent;

    STACK_UNWIND (rmdir, op->frame, 0, 0,
                  directory_attributes_of_one (op->this, parent, &rmdir->preparent),
                  directory_attributes_of_one (op->this, parent, &rmdir->postparent),
                  rmdir->xdata);
}

/* --- removing --------------------------------------------------------------------------------- */

static void
rmdir_healed (call_frame_t *own)
{
    struct rmdir *rmdir = OP_OF (own);

    op_fail (&rmdir->emptying.op, rmdir->error);
}

/* What was removed already is made again. */
static void
rmdir_undo (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    own_lookup (op, &op->loc, rmdir_healed);
}

static void
rmdir_failed (struct rmdir *rmdir, int op_errno)
{
    rmdir->error = op_errno;
    locks_drop (&rmdir->emptying.op, rmdir_undo);
}

static void
rmdir_hashed_removed (call_frame_t *frame)
{
    struct rmdir *rmdir = OP_OF (frame);
    struct op *op = &rmdir->emptying.op;
    const struct rmdir_reply *reply = &op->fan.answers[rmdir->hashed].rmdir;

    if (reply->op_ret < 0 && !is_missing (reply->op_errno)) {
        rmdir_failed (rmdir, reply->op_errno);
        return;
    }
    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    rmdir->preparent = reply->preparent;
    rmdir->postparent = reply->postparent;
    rmdir->xdata = dict_ref (reply->xdata);
    op_end (op, rmdir_answer);
}

static void
rmdir_others_removed (call_frame_t *frame)
{
    struct rmdir *rmdir = OP_OF (frame);
    struct op *op = &rmdir->emptying.op;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->fan.answers[i];

        if (answer->op != FOP_NONE && answer->op_ret < 0 && !is_missing (answer->op_errno)) {
            rmdir_failed (rmdir, answer->op_errno);
            return;
        }
    }
    ASK_ONE (op, rmdir_hashed_removed, rmdir->hashed, rmdir, &op->loc, rmdir->flags, op->xdata);
}

static void
rmdir_locked (call_frame_t *own)
{
    struct rmdir *rmdir = OP_OF (own);
    struct op *op = &rmdir->emptying.op;

    step_begin (op, rmdir_others_removed);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (i != rmdir->hashed)
            ASK (op, i, rmdir, &op->loc, rmdir->flags, op->xdata);
    step_end (op);
}

static void
rmdir_remove (struct op *op)
{
    struct rmdir *rmdir = (struct rmdir *) op;

    lock_name (op, rmdir->hashed, &op->loc);
    locks_take (op, rmdir_locked);
}

static void
rmdir_looked (call_frame_t *own)
{
    struct rmdir *rmdir = OP_OF (own);
    struct op *op = &rmdir->emptying.op;
    const struct lookup_reply *reply = &op->own_fan.answers[SELF (op)].lookup;

    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
    } else if (reply->buf.ia_type != IA_IFDIR) {
        op_fail (op, ENOTDIR);
    } else {
        inode_unref (op->loc.inode);
        op->loc.inode = inode_link (reply->inode, op->loc.parent, op->loc.name,
                                    (struct iatt *) &reply->buf);
        empty_directory (&rmdir->emptying, op->loc.inode, rmdir_remove);
    }
}

/* The caller may know less than the subvolumes: a directory that one lacks is made again first. */
void
dht_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    struct rmdir *rmdir;
    struct op *op;
    const dht_private_t *priv = this->private;
    const int hashed = name_hashed (this, loc->parent, loc->name);

    if (priv->n == 1) {
        STACK_WIND_TAIL (frame, priv->children[0], rmdir, loc, flags, xdata);
        return;
    }
    rmdir = op_new (frame, this, sizeof *rmdir, loc, NULL, xdata);
    op = &rmdir->emptying.op;
    op->clear = rmdir_clear;
    rmdir->flags = flags;
    rmdir->hashed = (unsigned) MAX (hashed, 0);
    if (!op->loc.inode)
        op->loc.inode = inode_new (loc->parent->table);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (!child_is_up (op->priv, i)) {
            op_fail (op, ENOTCONN);
            return;
        }
    own_lookup (op, &op->loc, rmdir_looked);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rmdir: the directory must be empty on all subvolumes; only linktos may be in it, and are removed.
 * Under the lock of its name the directory is removed from the hashed subvolume last, after all
 * others. If one of the others fails, the hashed subvolume still has the directory, and a lookup
 * makes it again on the subvolumes that have removed it.
 */
#include "../distribute.h"

struct rmdir {
    struct emptying emptying;
    int32_t flags;
    unsigned hashed;
    bool failed; /* a subvolume failed the rmdir: the undo remakes the directory on the others */
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

/* --- look ------------------------------------------------------------------------------------- */

/* Winds a lookup of the directory to distribute itself. The lookup heals: it makes the directory on
 * each subvolume that lacks it. */
static void
rmdir_look (void *local)
{
    struct op *op = local;

    op_look (op, &op->loc);
}

static int
rmdir_looked (void *local)
{
    struct rmdir *rmdir = local;
    struct op *op = &rmdir->emptying.op;
    struct lookup_reply *reply = &op->seq.fan.answers[SELF (op)].lookup;

    if (reply->op_ret < 0)
        return -reply->op_errno;
    if (reply->buf.ia_type != IA_IFDIR)
        return -ENOTDIR;
    op_link_found (op);
    rmdir->emptying.directory = op->loc.inode;
    return 0;
}

/* --- plan ------------------------------------------------------------------------------------- */

static int
rmdir_plan (void *local)
{
    struct rmdir *rmdir = local;

    lock_name (&rmdir->emptying.op, rmdir->hashed, &rmdir->emptying.op.loc);
    return 0;
}

/* The undo of the step "plan". If a subvolume failed the rmdir, winds a lookup, whose heal makes
 * the directory again on the subvolumes that have removed it. The heal takes the locks of the name,
 * so this undo runs after that of the step "lock", which has released them. */
static void
rmdir_heal (void *local)
{
    if (((const struct rmdir *) local)->failed)
        rmdir_look (local);
}

/* --- remove ----------------------------------------------------------------------------------- */

static void
rmdir_remove_on_others (void *local)
{
    struct rmdir *rmdir = local;
    struct op *op = &rmdir->emptying.op;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (i != rmdir->hashed)
            AS_CALLER (op, i, rmdir, &op->loc, rmdir->flags, op->xdata);
}

static int
rmdir_removed_on_others (void *local)
{
    struct rmdir *rmdir = local;
    struct op *op = &rmdir->emptying.op;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->seq.fan.answers[i];

        if (answer->op == FOP_NONE || answer->op_ret >= 0 || is_missing (answer->op_errno))
            continue;
        rmdir->failed = true;
        return -answer->op_errno;
    }
    return 0;
}

static void
rmdir_remove (void *local)
{
    struct rmdir *rmdir = local;
    struct op *op = &rmdir->emptying.op;

    AS_CALLER (op, rmdir->hashed, rmdir, &op->loc, rmdir->flags, op->xdata);
}

static int
rmdir_removed (void *local)
{
    struct rmdir *rmdir = local;
    const struct rmdir_reply *reply =
        &rmdir->emptying.op.seq.fan.answers[rmdir->hashed].rmdir;

    rmdir->failed = reply->op_ret < 0 && !is_missing (reply->op_errno);
    if (reply->op_ret < 0)
        return -reply->op_errno;
    rmdir->preparent = reply->preparent;
    rmdir->postparent = reply->postparent;
    rmdir->xdata = dict_ref (reply->xdata);
    return 0;
}

static void
rmdir_answer (void *local)
{
    struct rmdir *rmdir = local;
    struct op *op = &rmdir->emptying.op;
    inode_t *parent = op->loc.parent;

    STACK_UNWIND (rmdir, op->frame, 0, 0,
                  directory_attributes_of_one (op->this, parent, &rmdir->preparent),
                  directory_attributes_of_one (op->this, parent, &rmdir->postparent),
                  rmdir->xdata);
}

static const struct step rmdir_steps[] = {
    STEP ("look", rmdir_look, rmdir_looked),
    STEP ("open", empty_open, NULL),
    STEP ("list", empty_list, empty_listed),
    STEP ("unlink linktos", empty_unlink, empty_unlinked, .when = empty_has_linktos),
    STEP ("plan", NULL, rmdir_plan, .undo = rmdir_heal),
    STEP_LOCK ("lock", .interruptible = true),
    STEP ("remove on others", rmdir_remove_on_others, rmdir_removed_on_others),
    STEP ("remove", rmdir_remove, rmdir_removed),
    {},
};

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
    if (!children_are_up (priv)) {
        frame_fail (frame, ENOTCONN);
        return;
    }
    rmdir = op_new (frame, this, sizeof *rmdir, loc, NULL, xdata);
    op = &rmdir->emptying.op;
    op->clear = rmdir_clear;
    rmdir->flags = flags;
    rmdir->hashed = (unsigned) MAX (hashed, 0);
    if (!op->loc.inode)
        op->loc.inode = inode_new (loc->parent->table);
    op_run (op, rmdir_steps, rmdir_answer);
}

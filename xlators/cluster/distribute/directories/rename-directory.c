/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rename of a directory: under the locks of both names, on the new name's hashed subvolume, which
 * decides, and then on all others. If one fails, those that have renamed it rename it back. */
#include "../distribute.h"

struct moving {
    struct emptying emptying;
    unsigned hashed, new_hashed;
    bool *moved;
    struct iatt buf, old_pre, old_post, new_pre, new_post;
    dict_t *xdata;
};

static void
moving_clear (struct op *op)
{
    struct moving *moving = (struct moving *) op;

    emptying_clear (&moving->emptying);
    dict_unref (moving->xdata);
    g_free (moving->moved);
}

static void
moving_answer (struct op *op)
{
    struct moving *moving = (struct moving *) op;
    inode_t *old = op->loc.parent, *new = op->newloc.parent;
    xlator_t *this = op->this;

    directory_attributes (this, op->loc.inode, &moving->buf);
    STACK_UNWIND (rename, op->frame, 0, 0, &moving->buf,
                  directory_attributes_of_one (this, old, &moving->old_pre),
                  directory_attributes_of_one (this, old, &moving->old_post),
                  directory_attributes_of_one (this, new, &moving->new_pre),
                  directory_attributes_of_one (this, new, &moving->new_post), moving->xdata);
}

static void
moving_undone (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    op_fail (op, op->op_errno);
}

static void
moving_undo (struct moving *moving, unsigned failed, int op_errno)
{
    struct op *op = &moving->emptying.op;

    gf_log (op->this, GF_LOG_WARNING, "directory '%s' could not be renamed on %s: %s; renamed back "
            "on all others", loc_path (&op->loc), op->priv->children[failed]->name,
            g_strerror (op_errno));
    op->op_errno = op_errno;
    own_begin (op, moving_undone);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (moving->moved[i])
            OWN (op, i, rename, &op->newloc, &op->loc, 0, NULL);
    own_end (op);
}

static void
moving_take (struct moving *moving, const struct rename_reply *reply)
{
    iatt_merge (&moving->buf, &reply->buf);
    iatt_merge (&moving->old_pre, &reply->preoldparent);
    iatt_merge (&moving->old_post, &reply->postoldparent);
    iatt_merge (&moving->new_pre, &reply->prenewparent);
    iatt_merge (&moving->new_post, &reply->postnewparent);
}

static void moving_on_others (struct moving *moving);

static void
moving_cleared (call_frame_t *own)
{
    moving_on_others (OP_OF (own));
}

/* A subvolume answers ENOTDIR if it has a stale linkto of the new name. A subvolume with a file of
 * that name refuses the unlink, and the second rename fails with ENOTDIR again. */
static void
moving_clear_linktos (struct moving *moving)
{
    struct op *op = &moving->emptying.op;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    op->tries++;
    own_begin (op, moving_cleared);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (!moving->moved[i])
            OWN (op, i, unlink, &op->newloc, 0, only);
    own_end (op);
}

static void
moving_others_moved (call_frame_t *frame)
{
    struct moving *moving = OP_OF (frame);
    struct op *op = &moving->emptying.op;
    int failed = NO_CHILD;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct rename_reply *reply = &op->fan.answers[i].rename;

        if (moving->moved[i])
            continue;
        moving->moved[i] = reply->op_ret >= 0;
        if (moving->moved[i])
            moving_take (moving, reply);
        else
            failed = (int) i;
    }
    if (failed == NO_CHILD)
        op_end (op, moving_answer);
    else if (op->fan.answers[failed].op_errno == ENOTDIR && op->tries == 0)
        moving_clear_linktos (moving);
    else
        moving_undo (moving, (unsigned) failed, op->fan.answers[failed].op_errno);
}

static void
moving_on_others (struct moving *moving)
{
    struct op *op = &moving->emptying.op;

    step_begin (op, moving_others_moved);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (!moving->moved[i])
            ASK (op, i, rename, &op->loc, &op->newloc, 0, op->xdata);
    step_end (op);
}

static void
moving_hashed_moved (call_frame_t *frame)
{
    struct moving *moving = OP_OF (frame);
    struct op *op = &moving->emptying.op;
    const struct rename_reply *reply = &op->fan.answers[moving->new_hashed].rename;

    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    moving->moved[moving->new_hashed] = true;
    moving->xdata = dict_ref (reply->xdata);
    moving_take (moving, reply);
    moving_on_others (moving);
}

static void
moving_do (struct op *op)
{
    struct moving *moving = (struct moving *) op;

    ASK_ONE (op, moving_hashed_moved, moving->new_hashed, rename, &op->loc, &op->newloc, 0,
             op->xdata);
}

/* Under the locks. */
static void
moving_looked_again (call_frame_t *own)
{
    struct moving *moving = OP_OF (own);
    struct op *op = &moving->emptying.op;
    struct lookup_reply *old = &op->own_fan.answers[SELF (op)].lookup,
                        *new = &op->own_fan.answers[SELF (op) + 1].lookup;
    g_autoptr (inode_t) replaced = NULL;

    if (old->op_ret < 0) {
        op_fail (op, old->op_errno);
    } else if (!gfid_equal (&old->buf.ia_gfid, &op->loc.inode->gfid)) {
        op_fail (op, ESTALE);
    } else if (new->op_ret < 0 && is_missing (new->op_errno)) {
        moving_do (op);
    } else if (new->op_ret < 0) {
        op_fail (op, new->op_errno);
    } else if (new->buf.ia_type != IA_IFDIR) {
        op_fail (op, ENOTDIR);
    } else {
        replaced = inode_link (new->inode, op->newloc.parent, op->newloc.name, &new->buf);
        empty_directory (&moving->emptying, replaced, moving_do);
    }
}

static void
moving_locked (call_frame_t *own)
{
    rename_look (OP_OF (own), true, moving_looked_again);
}

/* The lookups heal what a subvolume lacks. They may take locks of the names, so they come before
 * ours. */
static void
moving_looked (call_frame_t *own)
{
    struct moving *moving = OP_OF (own);
    struct op *op = &moving->emptying.op;
    const struct lookup_reply *old = &op->own_fan.answers[SELF (op)].lookup,
                              *new = &op->own_fan.answers[SELF (op) + 1].lookup;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name),
              new_hashed = name_hashed (op->this, op->newloc.parent, op->newloc.name);

    if (old->op_ret < 0 || hashed == NO_CHILD || new_hashed == NO_CHILD) {
        op_fail (op, old->op_ret < 0 ? old->op_errno : EIO);
        return;
    }
    if (new->op_ret >= 0 && gfid_equal (&new->buf.ia_gfid, &old->buf.ia_gfid)) {
        moving->buf = old->buf;
        op_end (op, moving_answer); /* both names are the same: nothing is to be done */
        return;
    }
    moving->hashed = (unsigned) hashed;
    moving->new_hashed = (unsigned) new_hashed;
    rename_note_name_locks (op, moving->hashed, moving->new_hashed);
    locks_take (op, moving_locked);
}

void
rename_directory (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc,
                  dict_t *xdata)
{
    struct moving *moving = op_new (frame, this, sizeof *moving, oldloc, newloc, xdata);
    struct op *op = &moving->emptying.op;

    op->clear = moving_clear;
    moving->moved = g_new0 (bool, op->priv->n);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (!child_is_up (op->priv, i)) {
            op_fail (op, ENOTCONN);
            return;
        }
    if (rename_is_below (newloc->parent, &oldloc->inode->gfid)) {
        op_fail (op, EINVAL);
        return;
    }
    rename_look (op, false, moving_looked);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unlink: first the file on its cached subvolume, as the caller; then the linkto. */
#include "distribute.h"

struct removal {
    struct op op;
    int32_t xflag;
    unsigned cached;
    struct iatt preparent, postparent;
    dict_t *xdata;
};

static void
removal_clear (struct op *op)
{
    dict_unref (((struct removal *) op)->xdata);
}

static void
removal_answer (struct op *op)
{
    struct removal *removal = (struct removal *) op;
    inode_t *parent = op->loc.parent;

    STACK_UNWIND (unlink, op->frame, 0, 0,
                  directory_attributes_of_one (op->this, parent, &removal->preparent),
                  directory_attributes_of_one (op->this, parent, &removal->postparent),
                  removal->xdata);
}

static void
linkto_removed (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    op_end (op, removal_answer);
}

static void removal_look (struct removal *removal);

static void
removal_removed (call_frame_t *frame)
{
    struct removal *removal = OP_OF (frame);
    struct op *op = &removal->op;
    const struct unlink_reply *reply = &op->fan.answers[removal->cached].unlink;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name);
    g_autoptr (dict_t) only = NULL;

    if (reply->op_ret < 0 && is_missing (reply->op_errno) && op->tries++ == 0) {
        removal_look (removal); /* a rebalance may have moved it */
        return;
    }
    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    removal->preparent = reply->preparent;
    removal->postparent = reply->postparent;
    removal->xdata = dict_ref (reply->xdata);
    if (hashed == NO_CHILD || hashed == (int) removal->cached) {
        op_end (op, removal_answer);
        return;
    }
    only = xdata_only_linkto ();
    OWN_ONE (op, linkto_removed, (unsigned) hashed, unlink, &op->loc, 0, only);
}

static void
removal_ask (struct removal *removal, int cached)
{
    struct op *op = &removal->op;

    removal->cached = (unsigned) cached;
    ASK_ONE (op, removal_removed, removal->cached, unlink, &op->loc, removal->xflag, op->xdata);
}

static void
removal_looked (call_frame_t *own)
{
    struct removal *removal = OP_OF (own);
    struct op *op = &removal->op;
    const struct lookup_reply *reply = &op->own_fan.answers[SELF (op)].lookup;
    int cached;

    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    cached = inode_cached (op->this, reply->inode);
    if (reply->buf.ia_type == IA_IFDIR || cached == NO_CHILD)
        op_fail (op, EISDIR);
    else
        removal_ask (removal, cached);
}

static void
removal_look (struct removal *removal)
{
    struct op *op = &removal->op;
    loc_t loc = { .inode = op->loc.inode, .parent = op->loc.parent, .name = op->loc.name };
    g_autoptr (inode_t) any = loc.inode ? NULL : inode_new (op->loc.parent->table);

    if (any)
        loc.inode = any;
    own_lookup (op, &loc, removal_looked);
    loc_wipe_path (&loc);
}

void
dht_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    const dht_private_t *priv = this->private;
    const int cached = loc->inode ? inode_cached (this, loc->inode) : NO_CHILD;
    struct removal *removal;

    if (priv->n == 1) {
        STACK_WIND_TAIL (frame, priv->children[0], unlink, loc, xflag, xdata);
        return;
    }
    removal = op_new (frame, this, sizeof *removal, loc, NULL, xdata);
    removal->op.clear = removal_clear;
    removal->xflag = xflag;
    if (cached == NO_CHILD)
        removal_look (removal);
    else
        removal_ask (removal, cached);
}

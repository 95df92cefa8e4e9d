/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* link: the new name goes to the subvolume that has the file. If its hash is another's, that one
 * gets a linkto first: a name must never be without one. */
#include "../distribute.h"

struct linking {
    struct op op;
    unsigned cached;
    int hashed;
    inode_t *inode;
    struct iatt buf, preparent, postparent;
    dict_t *xdata;
};

static void
linking_clear (struct op *op)
{
    struct linking *linking = (struct linking *) op;

    inode_unref (linking->inode);
    dict_unref (linking->xdata);
}

static void
linking_answer (struct op *op)
{
    struct linking *linking = (struct linking *) op;
    inode_t *parent = op->newloc.parent;

    STACK_UNWIND (link, op->frame, 0, 0, linking->inode, &linking->buf,
                  directory_attributes_of_one (op->this, parent, &linking->preparent),
                  directory_attributes_of_one (op->this, parent, &linking->postparent),
                  linking->xdata);
}

static void
linking_sure (call_frame_t *own)
{
    op_end (OP_OF (own), linking_answer);
}

static void
linking_unlinked (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    op_fail (op, op->op_errno);
}

static void linking_look (struct linking *linking);

static void
linking_failed (struct linking *linking, int op_errno)
{
    struct op *op = &linking->op;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    op->op_errno = op_errno;
    if (linking->hashed == (int) linking->cached)
        op_fail (op, op_errno);
    else
        OWN_ONE (op, linking_unlinked, (unsigned) linking->hashed, unlink, &op->newloc, 0, only);
}

/* A lookup by a stock client in between takes the linkto for one without a file, and removes it. So
 * it is looked for once more. */
static void
linking_linked (call_frame_t *frame)
{
    struct linking *linking = OP_OF (frame);
    struct op *op = &linking->op;
    const struct link_reply *reply = &op->fan.answers[linking->cached].link;

    if (reply->op_ret < 0) {
        linking_failed (linking, reply->op_errno);
        return;
    }
    linking->inode = inode_ref (reply->inode);
    linking->buf = reply->buf;
    linking->preparent = reply->preparent;
    linking->postparent = reply->postparent;
    linking->xdata = dict_ref (reply->xdata);
    if (linking->hashed == (int) linking->cached)
        op_end (op, linking_answer);
    else
        linkto_keep (op, (unsigned) linking->hashed, linking->cached, &op->newloc,
                     &linking->buf.ia_gfid, &linking->buf, linking_sure);
}

/* A stale linkto of the new name is replaced; a file is not. */
static void
linking_ask (struct linking *linking)
{
    struct op *op = &linking->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);

    dict_set_str (xdata, "force-replace", "yes");
    ASK_ONE (op, linking_linked, linking->cached, link, &op->loc, &op->newloc, xdata);
}

static void
linking_led (call_frame_t *own)
{
    struct linking *linking = OP_OF (own);

    if (linking->op.op_errno != 0)
        op_fail (&linking->op, linking->op.op_errno);
    else
        linking_ask (linking);
}

static void
linking_locked (call_frame_t *own)
{
    struct linking *linking = OP_OF (own);
    struct op *op = &linking->op;

    linkto_make (op, (unsigned) linking->hashed, linking->cached, &op->newloc,
                 &op->loc.inode->gfid, &linking->buf, linking_led);
}

static void
linking_begin (struct linking *linking)
{
    struct op *op = &linking->op;

    linking->cached = (unsigned) inode_cached (op->this, op->loc.inode);
    linking->hashed = name_hashed (op->this, op->newloc.parent, op->newloc.name);
    if (linking->hashed == NO_CHILD) {
        op_fail (op, name_unhashed (op->this, &op->newloc));
    } else if (linking->hashed == (int) linking->cached) {
        linking_ask (linking);
    } else {
        lock_name (op, (unsigned) linking->hashed, &op->newloc);
        locks_take (op, linking_locked);
    }
}

static void
linking_looked (call_frame_t *own)
{
    struct linking *linking = OP_OF (own);
    struct op *op = &linking->op;
    const struct lookup_reply *reply = &op->own_fan.answers[SELF (op)].lookup;

    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    linking->buf = reply->buf;
    if (inode_cached (op->this, op->loc.inode) == NO_CHILD)
        op_fail (op, ESTALE);
    else
        linking_begin (linking);
}

/* A rebalance may have moved the file, or changed the layout, since the caller looked. */
static void
linking_look (struct linking *linking)
{
    struct op *op = &linking->op;
    loc_t loc = { .inode = op->loc.inode }, parent = { .inode = op->newloc.parent };

    own_begin (op, linking_looked);
    FAN_WIND (&op->own_fan, SELF (op), op->this, lookup, &loc, NULL);
    if (!layout_is_fresh (op->this, op->newloc.parent))
        FAN_WIND (&op->own_fan, SELF (op) + 1, op->this, lookup, &parent, NULL);
    own_end (op);
    loc_wipe_path (&loc);
    loc_wipe_path (&parent);
}

void
dht_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    const dht_private_t *priv = this->private;
    struct linking *linking;

    if (priv->n == 1) {
        STACK_WIND_TAIL (frame, priv->children[0], link, oldloc, newloc, xdata);
        return;
    }
    linking = op_new (frame, this, sizeof *linking, oldloc, newloc, xdata);
    linking->op.clear = linking_clear;
    linking_look (linking);
}

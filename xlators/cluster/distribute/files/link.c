/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* link: the new name is made on the subvolume that has the file. If the hashed subvolume of the
 * new name is another one, the operation first makes a linkto there, so that lookups find the
 * new name at once. */
#include "../distribute.h"

struct linking {
    struct op op;
    unsigned cached, hashed;
    bool linkto_made;
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

/* --- look, plan ------------------------------------------------------------------------------- */

/* Looks up the file, and the directory of the new name: since the caller's lookup, a rebalance
 * may have moved the file, or changed the layout. */
static void
linking_look (void *local)
{
    struct op *op = local;
    loc_t loc = { .inode = op->loc.inode }, parent = { .inode = op->newloc.parent };

    op_look (op, &loc);
    if (!layout_is_fresh (op->this, op->newloc.parent))
        AS_SELF_AT (op, SELF (op) + 1, op->this, lookup, &parent, NULL);
    loc_wipe_path (&loc);
    loc_wipe_path (&parent);
}

static int
linking_plan (void *local)
{
    struct linking *linking = local;
    struct op *op = &linking->op;
    const struct lookup_reply *reply = &op->seq.fan.answers[SELF (op)].lookup;
    const int cached = inode_cached (op->this, op->loc.inode),
              hashed = name_hashed (op->this, op->newloc.parent, op->newloc.name);

    if (reply->op_ret < 0)
        return -reply->op_errno;
    if (cached == NO_CHILD)
        return -ESTALE;
    if (hashed == NO_CHILD)
        return -name_unhashed (op->this, &op->newloc);
    linking->buf = reply->buf;
    linking->cached = (unsigned) cached;
    linking->hashed = (unsigned) hashed;
    if (hashed != cached)
        lock_name (op, linking->hashed, &op->newloc);
    return 0;
}

/* --- make linkto ------------------------------------------------------------------------------ */

static bool
linking_crosses (void *local)
{
    const struct linking *linking = local;

    return linking->hashed != linking->cached;
}

static void
linking_make_linkto (void *local)
{
    struct linking *linking = local;
    struct op *op = &linking->op;

    linkto_run (op, linking->hashed, linking->cached, &op->newloc, &op->loc.inode->gfid,
                &linking->buf);
}

static int
linking_linkto_made (void *local)
{
    struct linking *linking = local;
    const int r = linkto_judge (local);

    linking->linkto_made = r == 0;
    return r;
}

static void
linking_undo_linkto (void *local)
{
    struct linking *linking = local;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    if (linking->linkto_made)
        AS_SELF (&linking->op, linking->hashed, unlink, &linking->op.newloc, 0, only);
}

/* --- link ------------------------------------------------------------------------------------- */

/* The key "force-replace" makes the brick replace a stale linkto of the new name. It does not
 * make the brick replace a file. */
static void
linking_link (void *local)
{
    struct linking *linking = local;
    struct op *op = &linking->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);

    dict_set_str (xdata, "force-replace", "yes");
    AS_CALLER (op, linking->cached, link, &op->loc, &op->newloc, xdata);
}

static int
linking_linked (void *local)
{
    struct linking *linking = local;
    const struct link_reply *reply = &linking->op.seq.fan.answers[linking->cached].link;

    if (reply->op_ret < 0)
        return -reply->op_errno;
    linking->inode = inode_ref (reply->inode);
    linking->buf = reply->buf;
    linking->preparent = reply->preparent;
    linking->postparent = reply->postparent;
    linking->xdata = dict_ref (reply->xdata);
    return 0;
}

/* --- check linkto, and the answer ------------------------------------------------------------- */

/* Makes the linkto again if it has vanished: a client of GlusterFS that looked the new name up
 * before the link found a linkto without a file, and may have removed that linkto. */
static void
linking_check_linkto (void *local)
{
    struct linking *linking = local;

    linkto_keep_run (&linking->op, linking->hashed, linking->cached, &linking->op.newloc,
                     &linking->buf.ia_gfid, &linking->buf);
}

static void
linking_answer (void *local)
{
    struct linking *linking = local;
    struct op *op = &linking->op;
    inode_t *parent = op->newloc.parent;

    STACK_UNWIND (link, op->frame, 0, 0, linking->inode, &linking->buf,
                  directory_attributes_of_one (op->this, parent, &linking->preparent),
                  directory_attributes_of_one (op->this, parent, &linking->postparent),
                  linking->xdata);
}

static const struct step linking_steps[] = {
    STEP ("look", linking_look, linking_plan),
    STEP_LOCK ("lock", .interruptible = true),
    STEP ("make linkto", linking_make_linkto, linking_linkto_made, .undo = linking_undo_linkto,
          .when = linking_crosses),
    STEP ("link", linking_link, linking_linked),
    STEP ("check linkto", linking_check_linkto, linkto_try, .when = linking_crosses),
    {},
};

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
    op_run (&linking->op, linking_steps, linking_answer);
}

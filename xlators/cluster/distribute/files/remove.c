/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * unlink: first the file on its cached subvolume, as the caller; then the linkto on the hashed one.
 *
 * A rebalance may be copying the file, and takes no lock that keeps an unlink away. It made the
 * copy before it began, under the same name, and would finish it although the file is gone. So if
 * the file was under way when it was removed, all other subvolumes are asked for the name: a copy
 * is removed as a linkto, or as the file that it is once the rebalance is done with it. A copy that
 * is made later comes to nothing, as its file is gone.
 *
 * The attributes that the file had when it was removed tell. Its hash does not: the layout of the
 * directory may have changed.
 */
#include "../distribute.h"

#include <string.h>

/* With this key in the request, a brick adds a removed file's attributes to the answer, with the
 * same key. It opens the file for it, as the caller. */
#define LAST_ATTRIBUTES "dht-get-iatt-in-xattr"

struct removal {
    struct op op;
    bool removed; /* the name on one subvolume */
    bool blind;   /* the caller may not open the file: its last attributes aren't known */
    bool *copies; /* subvolumes that have a copy, which is to be removed */
    int32_t xflag;
    unsigned cached;
    struct iatt preparent, postparent;
    dict_t *xdata;
};

static void
removal_clear (struct op *op)
{
    struct removal *removal = (struct removal *) op;

    dict_unref (removal->xdata);
    g_free (removal->copies);
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

static void removal_look (struct removal *removal);
static void removal_sweep (struct removal *removal);

/* --- what remains ----------------------------------------------------------------------------- */

static void
removal_copies_removed (call_frame_t *own)
{
    removal_sweep (OP_OF (own));
}

/* The server removes no copy that has become the file meanwhile. */
static void
removal_remove_copies (struct removal *removal)
{
    struct op *op = &removal->op;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    own_begin (op, removal_copies_removed);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (removal->copies[i])
            OWN (op, i, unlink, &op->loc, 0, only);
    own_end (op);
}

static bool
answer_is_copy (const struct op *op, const struct fan_answer *answer)
{
    return answer->op == FOP_lookup && answer->op_ret >= 0
        && gfid_equal (&answer->lookup.buf.ia_gfid, &op->loc.inode->gfid);
}

static void
removal_swept (call_frame_t *own)
{
    struct removal *removal = OP_OF (own);
    struct op *op = &removal->op;
    unsigned copies = 0, files = 0;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->own_fan.answers[i];
        const bool is_copy = answer_is_copy (op, answer);

        removal->copies[i] = is_copy && iatt_may_be_linkto (&answer->lookup.buf);
        copies += removal->copies[i];
        files += is_copy && !removal->copies[i];
        files += answer->op == FOP_unlink && answer->op_ret < 0 && answer->op_errno == EBUSY;
    }
    if (copies + files == 0 || op->tries++ > TRIES)
        op_end (op, removal_answer);
    else if (copies > 0)
        removal_remove_copies (removal);
    else
        removal_look (removal);
}

static bool
removal_was_moving (const struct removal *removal)
{
    struct iatt last;
    size_t size = 0;
    const void *value = removal->xdata ? dict_get (removal->xdata, LAST_ATTRIBUTES, &size) : NULL;

    if (!value || size != sizeof last)
        return removal->blind;
    memcpy (&last, value, size);
    return iatt_is_moving (&last) || iatt_may_be_linkto (&last);
}

static void
removal_sweep (struct removal *removal)
{
    struct op *op = &removal->op;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name);
    const bool was_moving = removal_was_moving (removal);
    g_autoptr (dict_t) only = xdata_only_linkto (), wanted = xdata_lookup (op->priv, NULL, NULL);
    g_autoptr (inode_t) any = inode_new (op->loc.parent->table);
    loc_t loc = { .inode = any, .parent = op->loc.parent, .name = op->loc.name };

    if (!was_moving && hashed == (int) removal->cached) {
        op_end (op, removal_answer);
        return;
    }
    if (!removal->copies)
        removal->copies = g_new0 (bool, op->priv->n);
    own_begin (op, removal_swept);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (i == removal->cached || !child_is_up (op->priv, i))
            continue;
        else if ((int) i == hashed)
            OWN (op, i, unlink, &op->loc, 0, only);
        else if (was_moving)
            OWN (op, i, lookup, &loc, wanted);
    own_end (op);
    loc_wipe_path (&loc);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Once something of the file is removed, the name is gone if the file is. */
static void
removal_fail (struct removal *removal, int op_errno)
{
    if (removal->removed && is_missing (op_errno))
        op_end (&removal->op, removal_answer);
    else
        op_fail (&removal->op, op_errno);
}

static void
removal_take (struct removal *removal, const struct unlink_reply *reply)
{
    dict_unref (removal->xdata);
    removal->removed = true;
    removal->preparent = reply->preparent;
    removal->postparent = reply->postparent;
    removal->xdata = dict_ref (reply->xdata);
}

static void removal_followed (call_frame_t *own);

static void
removal_removed (call_frame_t *frame)
{
    struct removal *removal = OP_OF (frame);
    struct op *op = &removal->op;
    const struct unlink_reply *reply = &op->fan.answers[removal->cached].unlink;

    if (reply->op_ret < 0 && is_missing (reply->op_errno) && op->tries++ < TRIES) {
        removal_look (removal);
        return;
    }
    if (reply->op_ret < 0 && reply->op_errno == EACCES && !removal->blind) {
        removal->blind = true;
        removal_followed (op_own (op));
        return;
    }
    if (reply->op_ret < 0) {
        removal_fail (removal, reply->op_errno);
        return;
    }
    removal_take (removal, reply);
    removal_sweep (removal);
}

static void
removal_followed (call_frame_t *own)
{
    struct removal *removal = OP_OF (own);
    struct op *op = &removal->op;
    g_autoptr (dict_t) xdata = op->xdata ? dict_copy (op->xdata) : dict_new ();

    if (!removal->blind)
        dict_set_u64 (xdata, LAST_ATTRIBUTES, 1);
    ASK_ONE (op, removal_removed, removal->cached, unlink, &op->loc, removal->xflag, xdata);
}

/* Open fds need the file there first: without its name it can't be opened any more. */
static void
removal_ask (struct removal *removal, int cached)
{
    struct op *op = &removal->op;

    removal->cached = (unsigned) cached;
    if (op->loc.inode)
        fds_follow (op, op->loc.inode, NULL, removal->cached, removal_followed);
    else
        removal_followed (op_own (op));
}

static void
removal_looked (call_frame_t *own)
{
    struct removal *removal = OP_OF (own);
    struct op *op = &removal->op;
    const struct lookup_reply *reply = &op->own_fan.answers[SELF (op)].lookup;
    int cached;

    if (reply->op_ret < 0) {
        removal_fail (removal, reply->op_errno);
        return;
    }
    cached = inode_cached (op->this, reply->inode);
    if (removal->removed && op->loc.inode
        && !gfid_equal (&reply->buf.ia_gfid, &op->loc.inode->gfid))
        op_end (op, removal_answer); /* another client has made a file of that name */
    else if (reply->buf.ia_type == IA_IFDIR || cached == NO_CHILD)
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

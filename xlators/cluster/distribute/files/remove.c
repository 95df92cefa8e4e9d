/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * unlink: removes first the file on its cached subvolume, as the caller; then the linkto on the
 * hashed subvolume.
 *
 * A rebalance that copies the file takes no lock that keeps an unlink away. It has made the copy
 * under the same name, and would finish the move although the file is gone. So if the file was
 * being moved when it was removed, the client looks the name up on all other subvolumes. While the
 * move is unfinished, the copy is a linkto, and is removed as a linkto. If the rebalance has
 * finished the move, the copy has become the file, and is removed as a file. If the rebalance makes
 * the copy later, the rebalance itself removes the copy, since the file is gone.
 *
 * The attributes that the file had when it was removed show whether it was being moved. The hash of
 * its name does not: the layout of the directory may have changed.
 */
#include "../distribute.h"

#include <string.h>

/* Key in the xdata of the unlink and of its answer. The key makes the brick add the last
 * attributes of the removed file to the answer. To read them, the brick opens the file with the
 * caller's rights. */
#define LAST_ATTRIBUTES "dht-get-iatt-in-xattr"

struct removal {
    struct op op;
    bool removed; /* an unlink of the name has succeeded on a subvolume */
    bool blind;   /* LAST_ATTRIBUTES isn't used: the caller has no right to open the file */
    bool *copies; /* by subvolume: it has a copy that a rebalance made, which is to be removed */
    unsigned n_copies;
    int32_t xflag;
    int cached;   /* cached subvolume, or NO_CHILD */
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

/* Returns what the judge of a step returns for a call that failed with op_errno. If an unlink of
 * the name has succeeded before, and op_errno means that the file is missing, the operation ends
 * with success. Else it fails. */
static int
removal_failed (const struct removal *removal, int op_errno)
{
    return removal->removed && is_missing (op_errno) ? STEP_END : -op_errno;
}

/* --- look ------------------------------------------------------------------------------------- */

static bool
removal_is_lost (void *local)
{
    return ((const struct removal *) local)->cached == NO_CHILD;
}

static void
removal_look (void *local)
{
    struct op *op = local;
    g_autoptr (inode_t) any = op->loc.inode ? NULL : inode_new (op->loc.parent->table);
    loc_t loc = { .inode = any ? any : op->loc.inode, .parent = op->loc.parent,
                  .name = op->loc.name };

    op_look (op, &loc);
    loc_wipe_path (&loc);
}

/* Judges the lookup of the name. If this operation has removed the file, and the name now stands
 * for a file with another gfid, another client has made that file, and the unlink ends with
 * success. */
static int
removal_looked (void *local)
{
    struct removal *removal = local;
    struct op *op = &removal->op;
    const struct lookup_reply *reply = &op->seq.fan.answers[SELF (op)].lookup;

    if (reply->op_ret < 0)
        return removal_failed (removal, reply->op_errno);
    if (removal->removed && op->loc.inode
        && !gfid_equal (&reply->buf.ia_gfid, &op->loc.inode->gfid))
        return STEP_END;
    removal->cached = inode_cached (op->this, reply->inode);
    return reply->buf.ia_type == IA_IFDIR || removal->cached == NO_CHILD ? -EISDIR : 0;
}

/* --- follow ----------------------------------------------------------------------------------- */

static bool
removal_has_inode (void *local)
{
    return ((const struct op *) local)->loc.inode;
}

/* Opens the fds of the file on its cached subvolume, unless they are open there already: once
 * the file's name is removed, the file can't be opened there. */
static void
removal_follow (void *local)
{
    struct removal *removal = local;

    follow_run (&removal->op, removal->op.loc.inode, NULL, (unsigned) removal->cached);
}

/* --- unlink ----------------------------------------------------------------------------------- */

static void
removal_unlink (void *local)
{
    struct removal *removal = local;
    struct op *op = &removal->op;
    g_autoptr (dict_t) xdata = op->xdata ? dict_copy (op->xdata) : dict_new ();

    if (!removal->blind)
        dict_set_u64 (xdata, LAST_ATTRIBUTES, 1);
    AS_CALLER (op, (unsigned) removal->cached, unlink, &op->loc, removal->xflag, xdata);
}

static int
removal_unlinked (void *local)
{
    struct removal *removal = local;
    struct op *op = &removal->op;
    const struct unlink_reply *reply = &op->seq.fan.answers[removal->cached].unlink;

    if (reply->op_ret < 0 && is_missing (reply->op_errno) && op->seq.tries < STEPS_TRIES) {
        removal->cached = NO_CHILD;
        return STEP_AGAIN (reply->op_errno);
    }
    if (reply->op_ret < 0 && reply->op_errno == EACCES && !removal->blind) {
        removal->blind = true;
        return STEP_REPEAT;
    }
    if (reply->op_ret < 0)
        return removal_failed (removal, reply->op_errno);
    dict_unref (removal->xdata);
    removal->removed = true;
    removal->preparent = reply->preparent;
    removal->postparent = reply->postparent;
    removal->xdata = dict_ref (reply->xdata);
    return 0;
}

/* --- sweep ------------------------------------------------------------------------------------ */

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

/* Removes the linkto on the hashed subvolume. If the file was being moved, also looks the name
 * up on all other subvolumes, to find copies. */
static void
removal_sweep (void *local)
{
    struct removal *removal = local;
    struct op *op = &removal->op;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name);
    const bool was_moving = removal_was_moving (removal);
    g_autoptr (dict_t) only = NULL, wanted = NULL;
    g_autoptr (inode_t) any = NULL;
    loc_t loc = { .parent = op->loc.parent, .name = op->loc.name };

    if (!was_moving && hashed == removal->cached)
        return;
    only = xdata_only_linkto ();
    wanted = xdata_lookup (op->priv, NULL, NULL);
    loc.inode = any = inode_new (op->loc.parent->table);
    for (unsigned i = 0; i < op->priv->n; i++)
        if ((int) i == removal->cached || !child_is_up (op->priv, i))
            continue;
        else if ((int) i == hashed)
            AS_SELF (op, i, unlink, &op->loc, 0, only);
        else if (was_moving)
            AS_SELF (op, i, lookup, &loc, wanted);
    loc_wipe_path (&loc);
}

static bool
answer_is_copy (const struct op *op, const struct fan_answer *answer)
{
    return answer->op == FOP_lookup && answer->op_ret >= 0 && op->loc.inode
        && gfid_equal (&answer->lookup.buf.ia_gfid, &op->loc.inode->gfid);
}

/* Records which subvolumes have a copy that a rebalance was making: the next step removes these
 * copies as distribute itself. If there is none, but the rebalance has finished the move, a copy
 * has become the file. The operation then begins again with its first step, so that this file is
 * unlinked with the caller's identity. */
static int
removal_swept (void *local)
{
    struct removal *removal = local;
    struct op *op = &removal->op;
    unsigned files = 0;

    removal->n_copies = 0;
    if (!removal->copies)
        removal->copies = g_new0 (bool, op->priv->n);
    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->seq.fan.answers[i];
        const bool is_copy = answer_is_copy (op, answer);

        removal->copies[i] = is_copy && iatt_may_be_linkto (&answer->lookup.buf);
        removal->n_copies += removal->copies[i];
        files += is_copy && !removal->copies[i];
        files += answer->op == FOP_unlink && answer->op_ret < 0 && answer->op_errno == EBUSY;
    }
    if (removal->n_copies > 0)
        return 0;
    if (files == 0 || op->seq.tries == STEPS_TRIES)
        return STEP_END;
    removal->cached = NO_CHILD;
    return STEP_AGAIN (EBUSY);
}

/* --- unlink copies, and the answer ------------------------------------------------------------ */

/* Removes the copies. A brick refuses the unlink if its copy has meanwhile become the file. */
static void
removal_unlink_copies (void *local)
{
    struct removal *removal = local;
    struct op *op = &removal->op;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    for (unsigned i = 0; i < op->priv->n; i++)
        if (removal->copies[i])
            AS_SELF (op, i, unlink, &op->loc, 0, only);
}

static int
removal_copies_unlinked (void *local)
{
    const struct op *op = local;

    return op->seq.tries < STEPS_TRIES ? STEP_AGAIN (EBUSY) : 0;
}

static void
removal_answer (void *local)
{
    struct removal *removal = local;
    struct op *op = &removal->op;
    inode_t *parent = op->loc.parent;

    STACK_UNWIND (unlink, op->frame, 0, 0,
                  directory_attributes_of_one (op->this, parent, &removal->preparent),
                  directory_attributes_of_one (op->this, parent, &removal->postparent),
                  removal->xdata);
}

static const struct step removal_steps[] = {
    STEP ("look", removal_look, removal_looked, .when = removal_is_lost),
    STEP ("follow", removal_follow, follow_judge, .when = removal_has_inode),
    STEP ("unlink", removal_unlink, removal_unlinked, .again = "look"),
    STEP ("sweep", removal_sweep, removal_swept, .again = "look"),
    STEP ("unlink copies", removal_unlink_copies, removal_copies_unlinked, .again = "sweep"),
    {},
};

void
dht_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    const dht_private_t *priv = this->private;
    struct removal *removal;

    if (priv->n == 1) {
        STACK_WIND_TAIL (frame, priv->children[0], unlink, loc, xflag, xdata);
        return;
    }
    removal = op_new (frame, this, sizeof *removal, loc, NULL, xdata);
    removal->op.clear = removal_clear;
    removal->xflag = xflag;
    removal->cached = loc->inode ? inode_cached (this, loc->inode) : NO_CHILD;
    op_run (&removal->op, removal_steps, removal_answer);
}

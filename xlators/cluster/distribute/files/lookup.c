/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lookup of a name, or of an inode.
 *
 *   the hashed subvolume has    a file       the lookup ends
 *                               a linkto     a lookup on the subvolume that the linkto names
 *                               a directory  a lookup on all subvolumes: lookup-directory.c
 *                               nothing      a lookup on all subvolumes, unless the layout proves
 *                                            that no other subvolume has the file
 *
 * What the lookup finds wrong with the name, it mends: lookup-heals.c.
 */
#include "../distribute.h"

#include <string.h>

static void
lookup_clear (struct op *op)
{
    struct distribute_lookup *lookup = (struct distribute_lookup *) op;

    dict_unref (lookup->wanted);
    dict_unref (lookup->found);
    inode_unref (lookup->inode);
    layout_unref (lookup->layout);
    for (unsigned i = 0; lookup->dicts && i < op->priv->n; i++)
        dict_unref (lookup->dicts[i]);
    g_free (lookup->dicts);
    g_free (lookup->bufs);
    g_free (lookup->made);
    g_free (lookup->leftovers);
}

/* --- the answer ------------------------------------------------------------------------------- */

void
lookup_answer (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    struct iatt *parent = &lookup->postparent;

    parent = op->loc.parent ? directory_attributes_of_one (op->this, op->loc.parent, parent) : NULL;
    if (iatt_is_moving (&lookup->buf) && dict_has (lookup->found, op->priv->linkto_key))
        marks_strip (&lookup->buf);
    STACK_UNWIND (lookup, op->frame, 0, 0, lookup->inode, &lookup->buf, lookup->found, parent);
}

/* Copies the answer of subvolume `child`, which has the data of the file, into `lookup`, and
 * stores `child` as the file's cached subvolume. */
static void
lookup_take (struct distribute_lookup *lookup, int child, const struct lookup_reply *reply)
{
    lookup->inode = inode_ref (reply->inode);
    lookup->buf = reply->buf;
    lookup->postparent = reply->postparent;
    lookup->found = dict_ref (reply->xdata);
    inode_set_cached (lookup->op.this, lookup->inode, child);
}

/* --- a file that only the lookup on all subvolumes found -------------------------------------- */

/* Returns whether the next lookup of the name will find the file without a lookup on all
 * subvolumes: the hashed subvolume has the file, or has the right linkto of it. Also returns
 * true if there can be no linkto: the lookup is not of a name, or no subvolume has the hash of
 * the name. */
static bool
lookup_leads (const struct distribute_lookup *lookup, int cached)
{
    return lookup->hashed == NO_CHILD || lookup->hashed == cached || !lookup->by_name
        || (lookup->has_linkto && lookup->linked == cached
            && gfid_equal (&lookup->linkto_gfid, &lookup->buf.ia_gfid));
}

static void
lookup_found (struct distribute_lookup *lookup, int cached, const struct lookup_reply *reply)
{
    struct op *op = &lookup->op;

    lookup_take (lookup, cached, reply);
    if (!lookup->heals || lookup_leads (lookup, cached)
        || !child_is_up (op->priv, (unsigned) lookup->hashed)) {
        lookup_answer (lookup);
        return;
    }
    gf_log (op->this, GF_LOG_DEBUG, "'%s' is on %s; its hashed subvolume %s gets a linkto",
            loc_path (&op->loc), op->priv->children[cached]->name,
            op->priv->children[lookup->hashed]->name);
    lookup_link (lookup);
}

/* --- no file ---------------------------------------------------------------------------------- */

static void lookup_fresh (struct distribute_lookup *lookup);

void
lookup_retry (void *local)
{
    struct distribute_lookup *lookup = local;

    lookup->op.tries++;
    lookup_fresh (lookup);
}

static bool
lookup_may_name (const struct distribute_lookup *lookup, int chosen)
{
    return lookup->no_gfid && chosen == NO_CHILD && !lookup->named && lookup->by_name
        && lookup->heals && lookup->hashed != NO_CHILD;
}

static bool
lookup_linkto_is_foreign (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;

    if (!lookup->has_linkto || lookup->linked != NO_CHILD)
        return false;
    gf_log (op->this, GF_LOG_ERROR,
            "the linkto '%s' on %s must name a subvolume of this volume: bricks were added or "
            "renamed since the volfile was read; windlass reload reads it again",
            loc_path (&op->loc), op->priv->children[lookup->hashed]->name);
    return true;
}

/* Repeats the lookup, or fails it, after no subvolume's answer had the file. One round of
 * answers proves nothing. At the end of a move, the rebalance turns the linkto on the new
 * subvolume into the file, and removes the old file. If the new subvolume answered before that
 * moment, and the old one after it, neither answer has the file. If the name does not exist on
 * the hashed subvolume, the lookup fails with ENOENT even if other subvolumes are down, as in
 * GlusterFS: a file on another subvolume would have a linkto. */
static void
lookup_lost (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;
    const bool was_there = lookup->any_linkto || lookup->asked != NO_CHILD;

    if (lookup_linkto_is_foreign (lookup))
        op_fail (op, EIO);
    else if (lookup->down && !lookup->absent)
        op_fail (op, lookup->down);
    else if (lookup->by_name ? was_there && op->tries < LOOKUP_TRIES : op->tries == 0)
        lookup_retry (lookup);
    else if (!lookup->by_name)
        op_fail (op, ESTALE);
    else if (!lookup->has_linkto || !lookup->heals)
        op_fail (op, ENOENT);
    else
        lookup_unlink (lookup);
}

/* --- asking all ------------------------------------------------------------------------------- */

static void
lookup_log_copies (const struct distribute_lookup *lookup, const char *what)
{
    const struct op *op = &lookup->op;
    g_autoptr (GString) copies = g_string_new (NULL);
    char gfid[GFID_TEXT_SIZE];

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct lookup_reply *reply = &op->fan.answers[i].lookup;

        if (reply->op_ret >= 0)
            g_string_append_printf (copies, "%s%s on %s (gfid %s)", copies->len ? ", " : "",
                                    reply->buf.ia_type == IA_IFDIR ? "a directory"
                                    : iatt_may_be_linkto (&reply->buf) ? "a linkto" : "a file",
                                    op->priv->children[i]->name,
                                    gfid_text (&reply->buf.ia_gfid, gfid));
    }
    gf_log (op->this, GF_LOG_ERROR, "'%s' %s: %s; remove the wrong ones on the bricks",
            loc_path ((loc_t *) &op->loc), what, copies->str);
}

/* Returns the subvolume that has the file: the hashed one if it has the file, or else the first
 * one that does; NO_CHILD: none. For a moment, two subvolumes may have the file with the same
 * gfid: while it is renamed, or while a rebalance moves it. */
static int
lookup_choose (const struct distribute_lookup *lookup, const struct fan_answer *answers,
               bool *ret_one_gfid)
{
    int chosen = NO_CHILD;

    *ret_one_gfid = true;
    for (unsigned i = 0; i < lookup->op.priv->n; i++) {
        const struct lookup_reply *reply = &answers[i].lookup;

        if (!lookup_reply_is_file (lookup->op.this, reply))
            continue;
        if (chosen != NO_CHILD
            && !gfid_equal (&reply->buf.ia_gfid, &answers[chosen].lookup.buf.ia_gfid))
            *ret_one_gfid = false;
        if (chosen == NO_CHILD || (int) i == lookup->hashed)
            chosen = (int) i;
    }
    return chosen;
}

static void
lookup_count (struct distribute_lookup *lookup, unsigned *ret_directories)
{
    struct op *op = &lookup->op;

    *ret_directories = 0;
    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct lookup_reply *reply = &op->fan.answers[i].lookup;
        bool is_linkto = false;
        int target = NO_CHILD;

        if (reply->op_ret >= 0)
            target = linkto_target (op->this, &reply->buf, reply->xdata, &is_linkto);
        else if (!is_missing (reply->op_errno))
            lookup->down = reply->op_errno;
        lookup->no_gfid |= reply->op_ret < 0 && reply->op_errno == ENODATA;
        *ret_directories += reply->op_ret >= 0 && reply->buf.ia_type == IA_IFDIR;
        lookup->any_linkto |= is_linkto;
        if ((int) i != lookup->hashed)
            continue;
        lookup->absent = reply->op_ret < 0 && is_missing (reply->op_errno);
        lookup->has_linkto = is_linkto;
        lookup->linked = target;
        lookup->linkto_gfid = reply->buf.ia_gfid;
    }
}

static void
lookup_all_answered (call_frame_t *frame)
{
    struct distribute_lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    unsigned directories;
    bool one_gfid;
    int chosen;

    lookup->has_linkto = lookup->any_linkto = lookup->no_gfid = false;
    lookup->down = 0;
    lookup_count (lookup, &directories);
    chosen = lookup_choose (lookup, op->fan.answers, &one_gfid);
    if (lookup_may_name (lookup, chosen)) {
        lookup_give_gfids (lookup);
    } else if (directories > 0 && chosen != NO_CHILD) {
        lookup_log_copies (lookup, "is a directory and a file");
        op_fail (op, EIO);
    } else if (!one_gfid) {
        lookup_log_copies (lookup, "stands for several files");
        op_fail (op, EIO);
    } else if (directories > 0) {
        lookup_directory (lookup);
    } else if (chosen != NO_CHILD) {
        lookup_found (lookup, chosen, &op->fan.answers[chosen].lookup);
    } else {
        lookup_lost (lookup);
    }
}

void
lookup_all (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;

    step_begin (op, lookup_all_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        ASK (op, i, lookup, &op->loc, lookup->wanted);
    step_end (op);
}

/* --- asking one ------------------------------------------------------------------------------- */

static void
lookup_linked_answered (call_frame_t *frame)
{
    struct distribute_lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->fan.answers[lookup->linked].lookup;

    if (reply->op_ret < 0 && !is_missing (reply->op_errno)) {
        op_fail (op, reply->op_errno);
    } else if (lookup_reply_is_file (op->this, reply)
               && gfid_equal (&reply->buf.ia_gfid, &lookup->linkto_gfid)) {
        lookup_take (lookup, lookup->linked, reply);
        lookup_answer (lookup);
    } else {
        lookup_all (lookup);
    }
}

/* Returns whether a name that is missing on its hashed subvolume exists on no other either. With
 * the option lookup-optimize, that is so if the layout of the directory has the commit hash of
 * the volume: since the last rebalance, each file on another subvolume has a linkto. Without
 * lookup-optimize, the option lookup-unhashed decides. A file whose cached subvolume is known is
 * always searched on all subvolumes. */
static bool
lookup_trusts_absence (const struct distribute_lookup *lookup)
{
    const struct op *op = &lookup->op;
    const dht_private_t *priv = op->priv;
    struct layout *layout;
    bool trusts;

    if (priv->n == 1)
        return true;
    if (lookup->asked != NO_CHILD)
        return false;
    if (!__atomic_load_n (&priv->lookup_optimize, __ATOMIC_RELAXED))
        return __atomic_load_n (&priv->lookup_unhashed, __ATOMIC_RELAXED) == UNHASHED_OFF;
    layout = inode_layout (op->this, op->loc.parent);
    trusts = layout && layout->commit != LAYOUT_UNSURE && layout_is_whole (layout)
          && layout->commit == __atomic_load_n (&priv->commit, __ATOMIC_RELAXED);
    layout_unref (layout);
    return trusts;
}

static void
lookup_ask_layout (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    loc_t parent = { .inode = op->loc.parent };

    AS_SELF (op, (unsigned) lookup->hashed, lookup, &parent, lookup->wanted);
    loc_wipe_path (&parent);
}

static int
lookup_layout_told (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->seq.fan.answers[lookup->hashed].lookup;

    return layout_is_still (op->this, op->loc.parent, (unsigned) lookup->hashed, reply) ? -ENOENT
                                                                                        : 0;
}

static void
lookup_refreshed (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;

    lookup->hashed = name_hashed (op->this, op->loc.parent, op->loc.name);
    lookup_fresh (lookup);
}

static const struct step lookup_layout_steps[] = {
    STEP ("ask layout", lookup_ask_layout, lookup_layout_told),
    STEP ("refresh", op_refresh, step_ignore),
    {},
};

/* Fails the lookup with ENOENT. First checks that the hashed subvolume still has the range of
 * hashes that this client knows. If not, a rebalance may have given the hash to another
 * subvolume, and the lookup is repeated with the new layout. */
static void
lookup_absent (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;

    if (op->priv->n == 1 || lookup->sure || !lookup->heals
        || layout_is_fresh (op->this, op->loc.parent)) {
        op_fail (op, ENOENT);
        return;
    }
    lookup->sure = true;
    op_run (op, lookup_layout_steps, lookup_refreshed);
}

static void
lookup_hashed_failed (struct distribute_lookup *lookup, int op_errno)
{
    if (is_missing (op_errno) && lookup_trusts_absence (lookup))
        lookup_absent (lookup);
    else if (is_missing (op_errno) || op_errno == ENOTCONN || op_errno == ENODATA)
        lookup_all (lookup);
    else
        op_fail (&lookup->op, op_errno);
}

static void
lookup_hashed_answered (call_frame_t *frame)
{
    struct distribute_lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->fan.answers[lookup->hashed].lookup;

    if (reply->op_ret < 0) {
        lookup_hashed_failed (lookup, reply->op_errno);
        return;
    }
    if (lookup_reply_is_file (op->this, reply)) {
        lookup_take (lookup, lookup->hashed, reply);
        lookup_answer (lookup);
        return;
    }
    lookup->linked = linkto_target (op->this, &reply->buf, reply->xdata, &lookup->has_linkto);
    lookup->linkto_gfid = reply->buf.ia_gfid;
    if (lookup->linked == NO_CHILD)
        lookup_all (lookup);
    else
        ASK_ONE (op, lookup_linked_answered, (unsigned) lookup->linked, lookup, &op->loc,
                 lookup->wanted);
}

static void
lookup_fresh (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;

    if (lookup->hashed == NO_CHILD)
        lookup_all (lookup);
    else
        ASK_ONE (op, lookup_hashed_answered, (unsigned) lookup->hashed, lookup, &op->loc,
                 lookup->wanted);
}

/* Takes the answer of the subvolume that was the file's cached subvolume when the lookup began.
 * If that no longer has the file, looks it up on other subvolumes. */
static void
lookup_cached_answered (call_frame_t *frame)
{
    struct distribute_lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->fan.answers[lookup->asked].lookup;

    if (lookup_reply_is_file (op->this, reply)
        && gfid_equal (&reply->buf.ia_gfid, &op->loc.inode->gfid)) {
        lookup_take (lookup, lookup->asked, reply);
        lookup_answer (lookup);
    } else if (lookup->by_name) {
        lookup_fresh (lookup);
    } else {
        lookup_all (lookup);
    }
}

void
dht_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct distribute_lookup *lookup = op_new (frame, this, sizeof *lookup, loc, NULL, xdata);
    struct op *op = &lookup->op;

    op->clear = lookup_clear;
    op->names_at = names_now ();
    if (!op->loc.inode)
        op->loc.inode = inode_new (loc->parent->table);
    lookup->asked = inode_cached (this, op->loc.inode);
    lookup->hashed = lookup->linked = lookup->mds = NO_CHILD;
    lookup->wanted = xdata_lookup (op->priv, xdata, op->loc.inode);
    lookup->heals = !dict_has (xdata, WITHOUT_HEALING);
    lookup->by_name = loc->name && loc->parent && !name_is_dots (loc->name);
    if (lookup->by_name)
        lookup->hashed = name_hashed (this, loc->parent, loc->name);
    if (lookup->asked != NO_CHILD)
        ASK_ONE (op, lookup_cached_answered, (unsigned) lookup->asked, lookup, &op->loc,
                 lookup->wanted);
    else if (lookup->by_name)
        lookup_fresh (lookup);
    else
        lookup_all (lookup);
}

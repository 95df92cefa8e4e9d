/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lookup of a name, or of an inode.
 *
 *   the hashed subvolume has    a file       that is it
 *                               a linkto     the subvolume that it names is asked
 *                               a directory  all are asked: lookup-directory.c
 *                               nothing      all are asked, unless the layout promises that files
 *                                            elsewhere have a linkto
 *
 * What all subvolumes were asked for is a file without a linkto, or with a wrong one: it gets one
 * here. A linkto without a file is removed.
 *
 * Objects that were made on the bricks themselves have no gfid. They are given one, under the lock
 * of the name, by lookups that bring it; a directory gets the same on all.
 */
#include "../distribute.h"

#include <string.h>

static void
lookup_clear (struct op *op)
{
    struct lookup *lookup = (struct lookup *) op;

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
lookup_answer (struct op *op)
{
    struct lookup *lookup = (struct lookup *) op;
    struct iatt *parent = &lookup->postparent;

    parent = op->loc.parent ? directory_attributes_of_one (op->this, op->loc.parent, parent) : NULL;
    if (iatt_is_moving (&lookup->buf) && dict_has (lookup->found, op->priv->linkto_key))
        marks_strip (&lookup->buf);
    STACK_UNWIND (lookup, op->frame, 0, 0, lookup->inode, &lookup->buf, lookup->found, parent);
}

/* A file with its data. */
static void
lookup_take (struct lookup *lookup, int child, const struct lookup_reply *reply)
{
    lookup->inode = inode_ref (reply->inode);
    lookup->buf = reply->buf;
    lookup->postparent = reply->postparent;
    lookup->found = dict_ref (reply->xdata);
    inode_set_cached (lookup->op.this, lookup->inode, child);
}

static bool
reply_is_file (xlator_t *this, const struct lookup_reply *reply)
{
    bool is_linkto = true;

    if (reply->op_ret < 0 || reply->buf.ia_type == IA_IFDIR)
        return false;
    linkto_target (this, &reply->buf, reply->xdata, &is_linkto);
    return !is_linkto;
}

/* --- a file that was found by asking all ------------------------------------------------------ */

static void
lookup_linked (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    if (op->op_errno != 0)
        gf_log (op->this, GF_LOG_WARNING,
                "'%s' (gfid %s) has no linkto on its hashed subvolume: %s", loc_path (&op->loc),
                GFID_OF (((struct lookup *) op)->inode), g_strerror (op->op_errno));
    op_end (op, lookup_answer);
}

static void
lookup_link (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    struct lookup *lookup = (struct lookup *) op;
    const int cached = inode_cached (op->this, lookup->inode);

    linkto_make (op, (unsigned) lookup->hashed, (unsigned) cached, &op->loc, &lookup->buf.ia_gfid,
                 &lookup->buf, lookup_linked);
}

/* Does the hashed subvolume lead to the file? */
static bool
lookup_leads (const struct lookup *lookup, int cached)
{
    return lookup->hashed == NO_CHILD || lookup->hashed == cached || !lookup->by_name
        || (lookup->has_linkto && lookup->linked == cached
            && gfid_equal (&lookup->linkto_gfid, &lookup->buf.ia_gfid));
}

static void
lookup_found (struct lookup *lookup, int cached, const struct lookup_reply *reply)
{
    struct op *op = &lookup->op;

    lookup_take (lookup, cached, reply);
    if (!lookup->heals || lookup_leads (lookup, cached)
        || !child_is_up (op->priv, (unsigned) lookup->hashed)) {
        op_end (op, lookup_answer);
        return;
    }
    gf_log (op->this, GF_LOG_DEBUG, "'%s' is on %s; its hashed subvolume %s gets a linkto",
            loc_path (&op->loc), op->priv->children[cached]->name,
            op->priv->children[lookup->hashed]->name);
    lock_name (op, (unsigned) lookup->hashed, &op->loc);
    locks_take (op, lookup_link);
}

/* --- a linkto without a file ------------------------------------------------------------------ */

static void lookup_fresh (struct lookup *lookup);

#define AGAIN 3

static void
lookup_again (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);

    lookup->op.tries++;
    lookup_fresh (lookup);
}

/* The server refuses (EBUSY) if a rebalance has made the linkto the file meanwhile. */
static void
lookup_unlinked (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    const struct fan_answer *answer = &op->own_fan.answers[lookup->hashed];

    if (answer->op_ret < 0 && !is_missing (answer->op_errno) && op->tries < AGAIN) {
        locks_drop (op, lookup_again);
        return;
    }
    if (answer->op_ret >= 0)
        gf_log (op->this, GF_LOG_INFO, "'%s' on %s was a linkto without a file; removed",
                loc_path (&op->loc), op->priv->children[lookup->hashed]->name);
    op_fail (op, ENOENT);
}

/* Under the lock of the name: no client of ours makes the file now. */
static void
lookup_checked (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    struct lookup *lookup = (struct lookup *) op;
    g_autoptr (dict_t) xdata = xdata_only_linkto ();

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct lookup_reply *reply = &op->own_fan.answers[i].lookup;

        if (reply->op_ret < 0 && !is_missing (reply->op_errno)) {
            op_fail (op, reply->op_errno);
            return;
        }
        if (reply_is_file (op->this, reply)) {
            locks_drop (op, lookup_again);
            return;
        }
    }
    OWN_ONE (op, lookup_unlinked, (unsigned) lookup->hashed, unlink, &op->loc, 0, xdata);
}

/* Asks all as distribute itself. */
static void
lookup_own (struct op *op, dict_t *wanted, void (*next) (call_frame_t *own))
{
    g_autoptr (inode_t) any = inode_new (op->loc.parent->table);
    loc_t loc = { .inode = any, .parent = op->loc.parent, .name = op->loc.name };

    own_begin (op, next);
    for (unsigned i = 0; i < op->priv->n; i++)
        OWN (op, i, lookup, &loc, wanted);
    own_end (op);
    loc_wipe_path (&loc);
}

static void
lookup_check (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    lookup_own (op, ((struct lookup *) op)->wanted, lookup_checked);
}

/* --- objects without a gfid ------------------------------------------------------------------- */

static void
lookup_named (call_frame_t *own)
{
    locks_drop (OP_OF (own), lookup_again);
}

/* A directory that other subvolumes have with a gfid gets that. */
static void
lookup_name (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    g_autoptr (dict_t) wanted = dict_copy (((struct lookup *) op)->wanted);
    gfid_t gfid = gfid_new (op->priv);

    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->fan.answers[i].op == FOP_lookup && op->fan.answers[i].op_ret >= 0)
            gfid = op->fan.answers[i].lookup.buf.ia_gfid;
    dict_set (wanted, "gfid-req", gfid.b, sizeof gfid.b);
    lookup_own (op, wanted, lookup_named);
}

static bool
lookup_may_name (const struct lookup *lookup, int chosen)
{
    return lookup->no_gfid && chosen == NO_CHILD && !lookup->named && lookup->by_name
        && lookup->heals && lookup->hashed != NO_CHILD;
}

static void
lookup_begin_name (struct lookup *lookup)
{
    struct op *op = &lookup->op;

    lookup->named = true;
    lock_name (op, (unsigned) lookup->hashed, &op->loc);
    locks_take (op, lookup_name);
}

static bool
lookup_linkto_is_foreign (struct lookup *lookup)
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

/* A rebalance that ends with this file makes the linkto the file, and removes the old one: between
 * two answers the file was on neither subvolume, so one round of answers proves nothing. If the
 * hashed subvolume says that there is nothing, that is so even if others are down, as in GlusterFS:
 * a file of theirs would have a linkto. */
static void
lookup_lost (struct lookup *lookup)
{
    struct op *op = &lookup->op;
    const bool was_there = lookup->any_linkto || lookup->asked != NO_CHILD;

    if (lookup_linkto_is_foreign (lookup))
        op_fail (op, EIO);
    else if (lookup->down && !lookup->absent)
        op_fail (op, lookup->down);
    else if (lookup->by_name ? was_there && op->tries < AGAIN : op->tries == 0)
        lookup_again (op_own (op));
    else if (!lookup->by_name)
        op_fail (op, ESTALE);
    else if (!lookup->has_linkto || !lookup->heals)
        op_fail (op, ENOENT);
    else {
        lock_name (op, (unsigned) lookup->hashed, &op->loc);
        locks_take (op, lookup_check);
    }
}

/* --- asking all ------------------------------------------------------------------------------- */

static void
lookup_log_copies (const struct lookup *lookup, const char *what)
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

/* Chooses among copies with data: the hashed subvolume's, or else the first. Two are there for a
 * moment while a file is renamed or moved by a rebalance, with one gfid. */
static int
lookup_choose (const struct lookup *lookup, const struct fan_answer *answers, bool *ret_one_gfid)
{
    int chosen = NO_CHILD;

    *ret_one_gfid = true;
    for (unsigned i = 0; i < lookup->op.priv->n; i++) {
        const struct lookup_reply *reply = &answers[i].lookup;

        if (!reply_is_file (lookup->op.this, reply))
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
lookup_count (struct lookup *lookup, unsigned *ret_directories)
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
    struct lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    unsigned directories;
    bool one_gfid;
    int chosen;

    lookup->has_linkto = lookup->any_linkto = lookup->no_gfid = false;
    lookup->down = 0;
    lookup_count (lookup, &directories);
    chosen = lookup_choose (lookup, op->fan.answers, &one_gfid);
    if (lookup_may_name (lookup, chosen)) {
        lookup_begin_name (lookup);
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
lookup_all (struct lookup *lookup)
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
    struct lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->fan.answers[lookup->linked].lookup;

    if (reply->op_ret < 0 && !is_missing (reply->op_errno)) {
        op_fail (op, reply->op_errno);
    } else if (reply_is_file (op->this, reply)
               && gfid_equal (&reply->buf.ia_gfid, &lookup->linkto_gfid)) {
        lookup_take (lookup, lookup->linked, reply);
        op_end (op, lookup_answer);
    } else {
        lookup_all (lookup);
    }
}

/* Files that are not on their hashed subvolume have a linkto there if the layout is as old as the
 * volume's last rebalance. A file that was known a moment ago is looked for everywhere. */
static bool
lookup_trusts_absence (const struct lookup *lookup)
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
lookup_refreshed (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;

    lookup->hashed = name_hashed (op->this, op->loc.parent, op->loc.name);
    lookup_fresh (lookup);
}

static void
lookup_layout_answered (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->own_fan.answers[lookup->hashed].lookup;
    loc_t parent = { .inode = op->loc.parent };

    if (layout_is_still (op->this, op->loc.parent, (unsigned) lookup->hashed, reply)) {
        op_fail (op, ENOENT);
        return;
    }
    own_lookup (op, &parent, lookup_refreshed);
    loc_wipe_path (&parent);
}

/* The layout that this client knows must still be the one that the subvolume has: a rebalance may
 * have given the hash to another one. */
static void
lookup_absent (struct lookup *lookup)
{
    struct op *op = &lookup->op;
    loc_t parent = { .inode = op->loc.parent };

    if (op->priv->n == 1 || lookup->sure || !lookup->heals
        || layout_is_fresh (op->this, op->loc.parent)) {
        op_fail (op, ENOENT);
        return;
    }
    lookup->sure = true;
    OWN_ONE (op, lookup_layout_answered, (unsigned) lookup->hashed, lookup, &parent,
             lookup->wanted);
    loc_wipe_path (&parent);
}

static void
lookup_hashed_failed (struct lookup *lookup, int op_errno)
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
    struct lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->fan.answers[lookup->hashed].lookup;

    if (reply->op_ret < 0) {
        lookup_hashed_failed (lookup, reply->op_errno);
        return;
    }
    if (reply_is_file (op->this, reply)) {
        lookup_take (lookup, lookup->hashed, reply);
        op_end (op, lookup_answer);
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
lookup_fresh (struct lookup *lookup)
{
    struct op *op = &lookup->op;

    if (lookup->hashed == NO_CHILD)
        lookup_all (lookup);
    else
        ASK_ONE (op, lookup_hashed_answered, (unsigned) lookup->hashed, lookup, &op->loc,
                 lookup->wanted);
}

/* The subvolume that had the file before. */
static void
lookup_cached_answered (call_frame_t *frame)
{
    struct lookup *lookup = OP_OF (frame);
    struct op *op = &lookup->op;
    const struct lookup_reply *reply = &op->fan.answers[lookup->asked].lookup;

    if (reply_is_file (op->this, reply)
        && gfid_equal (&reply->buf.ia_gfid, &op->loc.inode->gfid)) {
        lookup_take (lookup, lookup->asked, reply);
        op_end (op, lookup_answer);
    } else if (lookup->by_name) {
        lookup_fresh (lookup);
    } else {
        lookup_all (lookup);
    }
}

static bool
is_dots (const char *name)
{
    return strcmp (name, ".") == 0 || strcmp (name, "..") == 0;
}

void
dht_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct lookup *lookup = op_new (frame, this, sizeof *lookup, loc, NULL, xdata);
    struct op *op = &lookup->op;

    op->clear = lookup_clear;
    if (!op->loc.inode)
        op->loc.inode = inode_new (loc->parent->table);
    lookup->asked = inode_cached (this, op->loc.inode);
    lookup->hashed = lookup->linked = lookup->mds = NO_CHILD;
    lookup->wanted = xdata_lookup (op->priv, xdata, op->loc.inode);
    lookup->heals = !dict_has (xdata, WITHOUT_HEALING);
    lookup->by_name = loc->name && loc->parent && !is_dots (loc->name);
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rename of a file. C has the data; Hs and Hd are the hashed subvolumes of the old and of the new
 * name; Cd has the data of a file that the new name stood for. The file stays on C:
 *
 *   C = Cd            unlink the linkto of the new name on Hd; rename on C; make its linkto on Hd
 *   C = Hd            rename on C
 *   else              make a linkto of the old name on Hd, if it has none; link the new name on C;
 *                     rename the linkto on Hd, which is the moment of the change
 *   then remove       the old name on C, its linkto on Hs, the replaced data on Cd
 *
 * Until the change, the old name leads to the file; after it, the new one; both do in between.
 * Locks keep other clients' renames and a rebalance away: of the data of both files, and of both
 * names. They are chosen by what is known of the files, and checked by lookups once they are held.
 */
#include "../distribute.h"

#include <string.h>

struct renaming {
    struct op op;
    unsigned cached, hashed, new_hashed;
    int new_cached;     /* or NO_CHILD */
    inode_t *replaced;  /* the file there; with a reference */
    unsigned where;     /* the subvolume of the rename */
    bool linkto_made, linked;
    struct iatt buf, old_pre, old_post, new_pre, new_post;
    dict_t *xdata;
};

static void
renaming_clear (struct op *op)
{
    struct renaming *renaming = (struct renaming *) op;

    dict_unref (renaming->xdata);
    inode_unref (renaming->replaced);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void
renaming_answer (struct op *op)
{
    struct renaming *renaming = (struct renaming *) op;
    inode_t *old = op->loc.parent, *new = op->newloc.parent;
    xlator_t *this = op->this;

    STACK_UNWIND (rename, op->frame, 0, 0, &renaming->buf,
                  directory_attributes_of_one (this, old, &renaming->old_pre),
                  directory_attributes_of_one (this, old, &renaming->old_post),
                  directory_attributes_of_one (this, new, &renaming->new_pre),
                  directory_attributes_of_one (this, new, &renaming->new_post), renaming->xdata);
}

static void
renaming_seen (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    const struct stat_reply *reply = &renaming->op.own_fan.answers[renaming->cached].stat;

    if (reply->op_ret >= 0)
        renaming->buf = reply->buf;
    op_end (&renaming->op, renaming_answer);
}

/* The answer has the attributes of the file, not of a linkto. */
static void
renaming_see (struct renaming *renaming)
{
    struct op *op = &renaming->op;

    OWN_ONE (op, renaming_seen, renaming->cached, stat, &op->loc, NULL);
}

/* --- what remains ----------------------------------------------------------------------------- */

static void
renaming_cleaned (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    struct op *op = &renaming->op;

    for (unsigned i = 0; i < 2 * op->priv->n; i++) {
        const struct fan_answer *answer = &op->own_fan.answers[i];

        if (answer->op != FOP_NONE && answer->op_ret < 0 && !is_missing (answer->op_errno))
            gf_log (op->this, GF_LOG_WARNING, "'%s' was renamed; an old copy of a name remains on "
                    "%s: %s", loc_path (&op->loc), op->priv->children[i % op->priv->n]->name,
                    g_strerror (answer->op_errno));
    }
    renaming_see (renaming);
}

/* Linktos of the old name, and of a file that was replaced, that lie where the names' hashes were
 * before a rebalance. On one subvolume all linktos of a file are names of one inode: if the file
 * moves there, all become names of it. */
static void
renaming_clean_linktos (struct renaming *renaming, dict_t *only)
{
    struct op *op = &renaming->op;
    const unsigned n = op->priv->n;

    for (unsigned i = 0; i < n; i++) {
        if (i == renaming->cached || i == renaming->where || !child_is_up (op->priv, i))
            continue;
        if (i != renaming->hashed)
            OWN (op, i, unlink, &op->loc, 0, only);
        if (renaming->replaced && i != renaming->new_hashed && (int) i != renaming->new_cached)
            FAN_WIND (&op->own_fan, n + i, op->priv->children[i], unlink, &op->newloc, 0, only);
    }
}

/* The old name's answers are in the first n slots, the new name's in the next n. */
static void
renaming_clean (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    struct op *op = &renaming->op;
    const unsigned n = op->priv->n, cached = renaming->cached, hashed = renaming->hashed;
    const int new_cached = renaming->new_cached;
    g_autoptr (dict_t) internal = xdata_internal (), only = xdata_only_linkto ();

    own_begin (op, renaming_cleaned);
    if (cached != renaming->where)
        OWN (op, cached, unlink, &op->loc, 0, internal);
    if (hashed != renaming->where && hashed != cached)
        OWN (op, hashed, unlink, &op->loc, 0, only);
    if (new_cached != NO_CHILD && new_cached != (int) renaming->new_hashed
        && new_cached != (int) cached)
        FAN_WIND (&op->own_fan, n + (unsigned) new_cached, op->priv->children[new_cached], unlink,
                  &op->newloc, 0, internal);
    renaming_clean_linktos (renaming, only);
    own_end (op);
}

static void
renaming_led (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    if (op->op_errno != 0)
        gf_log (op->this, GF_LOG_WARNING, "'%s' has no linkto on its hashed subvolume: %s",
                loc_path (&op->newloc), g_strerror (op->op_errno));
    renaming_clean (own);
}

/* --- undoing ---------------------------------------------------------------------------------- */

static void
renaming_undone (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    op_fail (op, op->op_errno);
}

/* The new name on C is a second name of the same file, so it may go. If the answer was lost, both
 * names stay: one of them leads to the file. */
static void
renaming_undo (struct renaming *renaming, int op_errno)
{
    struct op *op = &renaming->op;
    g_autoptr (dict_t) internal = xdata_internal (), only = xdata_only_linkto ();

    op->op_errno = op_errno;
    if (op_errno == ENOTCONN || op_errno == ETIMEDOUT) {
        op_fail (op, op_errno);
        return;
    }
    own_begin (op, renaming_undone);
    if (renaming->linkto_made)
        OWN (op, renaming->new_hashed, unlink, &op->loc, 0, only);
    if (renaming->linked)
        OWN (op, renaming->cached, unlink, &op->newloc, 0, internal);
    own_end (op);
}

/* --- renaming --------------------------------------------------------------------------------- */

static void
renaming_renamed (call_frame_t *frame)
{
    struct renaming *renaming = OP_OF (frame);
    struct op *op = &renaming->op;
    const struct rename_reply *reply = &op->fan.answers[renaming->where].rename;

    if (reply->op_ret < 0) {
        renaming_undo (renaming, reply->op_errno);
        return;
    }
    renaming->buf = reply->buf;
    renaming->old_pre = reply->preoldparent;
    renaming->old_post = reply->postoldparent;
    renaming->new_pre = reply->prenewparent;
    renaming->new_post = reply->postnewparent;
    renaming->xdata = dict_ref (reply->xdata);
    if (renaming->where == renaming->cached && renaming->new_hashed != renaming->where)
        linkto_make (op, renaming->new_hashed, renaming->cached, &op->newloc,
                     &op->loc.inode->gfid, &renaming->buf, renaming_led);
    else
        renaming_clean (op_own (op));
}

static void
renaming_rename (struct renaming *renaming)
{
    struct op *op = &renaming->op;

    ASK_ONE (op, renaming_renamed, renaming->where, rename, &op->loc, &op->newloc, 0, op->xdata);
}

static void
renaming_linked (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    const struct link_reply *reply = &renaming->op.own_fan.answers[renaming->cached].link;

    renaming->linked = reply->op_ret >= 0;
    if (renaming->linked)
        renaming_rename (renaming);
    else
        renaming_undo (renaming, reply->op_errno);
}

/* A stale linkto of the new name on C is replaced. The brick's rules for a link are stricter than
 * those for a rename, which Hd checks for the caller. */
static void
renaming_link (struct renaming *renaming)
{
    struct op *op = &renaming->op;
    g_autoptr (dict_t) xdata = xdata_internal ();

    dict_set_str (xdata, "force-replace", "yes");
    OWN_ONE (op, renaming_linked, renaming->cached, link, &op->loc, &op->newloc, xdata);
}

static void
renaming_prepared (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);

    if (renaming->op.op_errno != 0) {
        op_fail (&renaming->op, renaming->op.op_errno);
        return;
    }
    renaming->linkto_made = renaming->hashed != renaming->new_hashed;
    renaming_link (renaming);
}

static void
renaming_unlinked (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    const struct fan_answer *answer = &renaming->op.own_fan.answers[renaming->new_hashed];

    if (answer->op_ret < 0 && !is_missing (answer->op_errno))
        op_fail (&renaming->op, answer->op_errno);
    else
        renaming_rename (renaming);
}

static void
renaming_followed (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    struct op *op = &renaming->op;
    g_autoptr (dict_t) only = xdata_only_linkto ();
    const unsigned cached = renaming->cached, new_hashed = renaming->new_hashed;
    const bool in_place = renaming->new_cached == (int) cached;

    renaming->where = in_place ? cached : new_hashed;
    if (in_place && new_hashed != cached)
        OWN_ONE (op, renaming_unlinked, new_hashed, unlink, &op->newloc, 0, only);
    else if (in_place || new_hashed == cached)
        renaming_rename (renaming);
    else /* also where the old name has its linkto, which may be missing after a rebalance */
        linkto_make (op, new_hashed, cached, &op->loc, &op->loc.inode->gfid, &renaming->buf,
                     renaming_prepared);
}

/* The replaced file may be open: its fds need it where it is now, before it loses its name. */
static void
renaming_do (struct renaming *renaming)
{
    struct op *op = &renaming->op;

    if (renaming->replaced)
        fds_follow (op, renaming->replaced, NULL, (unsigned) renaming->new_cached,
                    renaming_followed);
    else
        renaming_followed (op->own);
}

/* --- locking and looking ---------------------------------------------------------------------- */

static void renaming_begin (call_frame_t *own);

static void
renaming_refresh (call_frame_t *own)
{
    rename_refresh (OP_OF (own), renaming_begin);
}

/* What is known of the files and the layouts. Returns 0 or an errno. */
static int
renaming_know (struct renaming *renaming)
{
    struct op *op = &renaming->op;
    xlator_t *this = op->this;
    const int cached = inode_cached (this, op->loc.inode),
              hashed = name_hashed (this, op->loc.parent, op->loc.name),
              new_hashed = name_hashed (this, op->newloc.parent, op->newloc.name);

    if (cached == NO_CHILD || hashed == NO_CHILD || new_hashed == NO_CHILD)
        return EIO;
    renaming->cached = (unsigned) cached;
    renaming->hashed = (unsigned) hashed;
    renaming->new_hashed = (unsigned) new_hashed;
    renaming->new_cached =
        renaming->replaced ? inode_cached (this, renaming->replaced) : NO_CHILD;
    if (renaming->new_cached == NO_CHILD)
        g_clear_pointer (&renaming->replaced, inode_unref);
    return 0;
}

/* Takes over what the lookups found. Returns 0 or an errno. */
static int
renaming_find (struct renaming *renaming)
{
    struct op *op = &renaming->op;
    const struct lookup_reply *old = &op->own_fan.answers[SELF (op)].lookup;
    struct lookup_reply *new = &op->own_fan.answers[SELF (op) + 1].lookup;

    if (old->op_ret < 0)
        return old->op_errno;
    if (!gfid_equal (&old->buf.ia_gfid, &op->loc.inode->gfid))
        return ESTALE;
    if (new->op_ret < 0 && !is_missing (new->op_errno))
        return new->op_errno;
    if (new->op_ret >= 0 && new->buf.ia_type == IA_IFDIR)
        return rename_is_below (op->loc.parent, &new->buf.ia_gfid) ? ENOTEMPTY : EISDIR;
    renaming->buf = old->buf;
    g_clear_pointer (&renaming->replaced, inode_unref);
    if (new->op_ret >= 0)
        renaming->replaced =
            inode_link (new->inode, op->newloc.parent, op->newloc.name, &new->buf);
    return renaming_know (renaming);
}

/* Under the locks. If they were the wrong ones, all begins anew. */
static void
renaming_looked (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    struct op *op = &renaming->op;
    const struct renaming before = *renaming;
    g_autoptr (inode_t) replaced = inode_ref (before.replaced);
    const int error = renaming_find (renaming);
    const bool same = before.cached == renaming->cached && before.hashed == renaming->hashed
                   && before.new_hashed == renaming->new_hashed
                   && before.new_cached == renaming->new_cached
                   && replaced == renaming->replaced
                   && rename_layouts_are_still (op, renaming->hashed, renaming->new_hashed);

    if (error)
        op_fail (op, error);
    else if (renaming->replaced == op->loc.inode)
        op_end (op, renaming_answer); /* two names of one file: nothing is to be done */
    else if (same)
        renaming_do (renaming);
    else if (op->tries++ < TRIES)
        locks_drop (op, renaming_refresh);
    else
        op_fail (op, EBUSY);
}

static void
renaming_locked (call_frame_t *own)
{
    rename_look (OP_OF (own), true, renaming_looked);
}

static bool
data_lock_is_first (const struct op *op, unsigned a, const gfid_t *gfid_a, unsigned b,
                    const gfid_t *gfid_b)
{
    const int order = strcmp (op->priv->children[a]->name, op->priv->children[b]->name);

    return order < 0 || (order == 0 && memcmp (gfid_a, gfid_b, sizeof *gfid_a) < 0);
}

static void
renaming_lock_data (struct renaming *renaming)
{
    struct op *op = &renaming->op;
    inode_t *replaced = renaming->replaced;
    const unsigned new_cached = (unsigned) renaming->new_cached;
    const bool after = replaced
                    && data_lock_is_first (op, new_cached, &replaced->gfid, renaming->cached,
                                           &op->loc.inode->gfid);

    if (!after)
        lock_data (op, renaming->cached, op->loc.inode, false);
    if (replaced && replaced != op->loc.inode)
        lock_data (op, new_cached, replaced, true);
    if (after)
        lock_data (op, renaming->cached, op->loc.inode, false);
}

static void
renaming_begin (call_frame_t *own)
{
    struct renaming *renaming = OP_OF (own);
    struct op *op = &renaming->op;
    const int error = renaming_know (renaming);

    if (error && op->tries++ == 0) {
        renaming_refresh (own);
        return;
    }
    if (error) {
        op_fail (op, error);
        return;
    }
    renaming_lock_data (renaming);
    rename_lock_names (op, renaming->hashed, renaming->new_hashed);
    locks_take (op, renaming_locked);
}

/* --- a name that the caller does not know ----------------------------------------------------- */

static bool
is_known (xlator_t *this, inode_t *inode)
{
    return inode->ia_type == IA_IFDIR || inode_cached (this, inode) != NO_CHILD;
}

static void
unknown_answer (struct op *op)
{
    struct rename_reply *reply = &op->fan.answers[0].rename;

    STACK_UNWIND (rename, op->frame, 0, 0, &reply->buf, &reply->preoldparent,
                  &reply->postoldparent, &reply->prenewparent, &reply->postnewparent,
                  reply->xdata);
}

static void
unknown_renamed (call_frame_t *frame)
{
    struct op *op = OP_OF (frame);
    const struct fan_answer *answer = &op->fan.answers[0];

    if (answer->op_ret < 0)
        op_fail (op, answer->op_errno);
    else
        op_end (op, unknown_answer);
}

static void
unknown_looked (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    struct lookup_reply *reply = &op->own_fan.answers[SELF (op)].lookup;

    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    inode_unref (op->loc.inode);
    op->loc.inode = inode_link (reply->inode, op->loc.parent, op->loc.name, &reply->buf);
    if (!is_known (op->this, op->loc.inode)) {
        op_fail (op, EIO);
        return;
    }
    step_begin (op, unknown_renamed);
    FAN_WIND (&op->fan, 0, op->this, rename, &op->loc, &op->newloc, 0, op->xdata);
    step_end (op);
}

void
dht_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
            dict_t *xdata)
{
    const dht_private_t *priv = this->private;
    struct renaming *renaming;
    struct op *unknown;

    if (priv->n == 1) {
        STACK_WIND_TAIL (frame, priv->children[0], rename, oldloc, newloc, flags, xdata);
    } else if (flags != 0) {
        frame_fail (frame, EINVAL);
    } else if (!oldloc->inode || !is_known (this, oldloc->inode)) {
        unknown = op_new (frame, this, sizeof *unknown, oldloc, newloc, xdata);
        own_lookup (unknown, &unknown->loc, unknown_looked);
    } else if (oldloc->inode->ia_type == IA_IFDIR) {
        rename_directory (frame, this, oldloc, newloc, xdata);
    } else {
        renaming = op_new (frame, this, sizeof *renaming, oldloc, newloc, xdata);
        renaming->op.clear = renaming_clear;
        renaming->replaced = inode_ref (newloc->inode);
        renaming_begin (op_own (&renaming->op));
    }
}

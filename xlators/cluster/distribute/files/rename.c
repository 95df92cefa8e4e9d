/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rename of a file. C is the cached subvolume, which has the file; Hs and Hd are the hashed
 * subvolumes of the old and of the new name; Cd is the cached subvolume of a file that the new name
 * replaces. The file stays on C:
 *
 *   C = Cd            unlink the linkto of the new name on Hd; rename on C; make a new linkto of
 *                     the new name on Hd
 *   C = Hd            rename on C
 *   else              make a linkto of the old name on Hd, if it has none; link the new name on C;
 *                     rename the linkto on Hd: from this moment on, the new name has the file
 *   then remove       the old name on C, its linkto on Hs, the replaced file on Cd
 *
 * Locks on the data of both files, and on both names, keep other clients' renames and a rebalance
 * away. The contexts of the inodes decide which locks are taken. Lookups under the locks check that
 * the right locks were taken; if not, the operation begins again.
 */
#include "../distribute.h"

#include <string.h>

struct renaming {
    struct op op;
    struct renaming_plan {
        unsigned cached, hashed, new_hashed;
        int new_cached; /* cached subvolume of the replaced file, or NO_CHILD */
    } plan;
    inode_t *replaced; /* inode of the file that is replaced, with a reference; or NULL */
    unsigned where;    /* subvolume to which the rename is wound */
    bool linkto_unlinked; /* the operation has removed the linkto on the hashed subvolume of the new
                           * name */
    bool linkto_made;  /* a linkto of the old name was made on the new name's hashed subvolume */
    bool linked;       /* the file has the new name, too, on its cached subvolume */
    bool link_exists;  /* the cached subvolume has a file of the new name: link failed (EEXIST) */
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

/* --- refresh, plan ---------------------------------------------------------------------------- */

/* Sets `plan` to the cached and hashed subvolumes that follow from the contexts of the inodes.
 * Returns 0 or a negative errno. */
static int
renaming_read (struct renaming *renaming)
{
    struct op *op = &renaming->op;
    xlator_t *this = op->this;
    const int cached = inode_cached (this, op->loc.inode),
              hashed = name_hashed (this, op->loc.parent, op->loc.name),
              new_hashed = name_hashed (this, op->newloc.parent, op->newloc.name),
              new_cached =
                  renaming->replaced ? inode_cached (this, renaming->replaced) : NO_CHILD;

    if (cached == NO_CHILD || hashed == NO_CHILD || new_hashed == NO_CHILD)
        return -EIO;
    renaming->plan = (struct renaming_plan){ .cached = (unsigned) cached,
                                             .hashed = (unsigned) hashed,
                                             .new_hashed = (unsigned) new_hashed,
                                             .new_cached = new_cached };
    if (new_cached == NO_CHILD)
        g_clear_pointer (&renaming->replaced, inode_unref);
    return 0;
}

static bool
data_lock_is_first (const struct op *op, unsigned a, const gfid_t *gfid_a, unsigned b,
                    const gfid_t *gfid_b)
{
    const int order = strcmp (op->priv->children[a]->name, op->priv->children[b]->name);

    return order < 0 || (order == 0 && memcmp (gfid_a, gfid_b, sizeof *gfid_a) < 0);
}

static void
renaming_note_data_locks (struct renaming *renaming)
{
    struct op *op = &renaming->op;
    inode_t *replaced = renaming->replaced;
    const unsigned cached = renaming->plan.cached,
                   new_cached = (unsigned) renaming->plan.new_cached;
    const bool after = replaced
                    && data_lock_is_first (op, new_cached, &replaced->gfid, cached,
                                           &op->loc.inode->gfid);

    if (!after)
        lock_data (op, cached, op->loc.inode, false);
    if (replaced && replaced != op->loc.inode)
        lock_data (op, new_cached, replaced, true);
    if (after)
        lock_data (op, cached, op->loc.inode, false);
}

static int
renaming_plan (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;

    if (renaming_read (renaming) < 0)
        return op->seq.tries == 0 ? STEP_AGAIN (EIO) : -EIO;
    renaming_note_data_locks (renaming);
    rename_note_name_locks (op, renaming->plan.hashed, renaming->plan.new_hashed);
    return 0;
}

/* --- check ------------------------------------------------------------------------------------ */

/* Stores the results of the lookups of both names, and sets `plan` (struct renaming) again,
 * since the lookups have updated the contexts of the inodes. Returns 0 or a negative errno. */
static int
renaming_find (struct renaming *renaming)
{
    struct op *op = &renaming->op;
    const struct lookup_reply *old = &op->seq.fan.answers[SELF (op)].lookup;
    struct lookup_reply *new = &op->seq.fan.answers[SELF (op) + 1].lookup;

    if (old->op_ret < 0)
        return -old->op_errno;
    if (!gfid_equal (&old->buf.ia_gfid, &op->loc.inode->gfid))
        return -ESTALE;
    if (new->op_ret < 0 && !is_missing (new->op_errno))
        return -new->op_errno;
    if (new->op_ret >= 0 && new->buf.ia_type == IA_IFDIR)
        return rename_is_below (op->loc.parent, &new->buf.ia_gfid) ? -ENOTEMPTY : -EISDIR;
    renaming->buf = old->buf;
    g_clear_pointer (&renaming->replaced, inode_unref);
    if (new->op_ret >= 0)
        renaming->replaced =
            inode_link (new->inode, op->newloc.parent, op->newloc.name, &new->buf);
    return renaming_read (renaming);
}

static bool
plan_is_same (const struct renaming_plan *a, const struct renaming_plan *b)
{
    return a->cached == b->cached && a->hashed == b->hashed && a->new_hashed == b->new_hashed
        && a->new_cached == b->new_cached;
}

/* Judges the lookups that were done under the locks. If they show other cached or hashed
 * subvolumes than before, the wrong locks were taken, and the operation begins again. If both
 * names are names of one file, a rename does nothing, as POSIX demands. */
static int
renaming_check (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;
    const struct renaming_plan before = renaming->plan;
    g_autoptr (inode_t) replaced = inode_ref (renaming->replaced);
    const int r = renaming_find (renaming);

    if (r < 0)
        return r;
    if (renaming->replaced == op->loc.inode)
        return STEP_END;
    if (!plan_is_same (&before, &renaming->plan) || replaced != renaming->replaced
        || !rename_layouts_are_still (op, before.hashed, before.new_hashed))
        return STEP_AGAIN (EBUSY);
    renaming->where = before.new_cached == (int) before.cached ? before.cached : before.new_hashed;
    return 0;
}

/* --- follow ----------------------------------------------------------------------------------- */

static bool
renaming_replaces (void *local)
{
    return ((const struct renaming *) local)->replaced;
}

/* The file that the rename replaces may be open. Opens its fds on its cached subvolume before
 * the rename removes its name there: afterwards the file could not be opened. */
static void
renaming_follow (void *local)
{
    struct renaming *renaming = local;

    follow_run (&renaming->op, renaming->replaced, NULL,
                (unsigned) renaming->plan.new_cached);
}

/* --- both files on one subvolume: unlink the linkto of the new name --------------------------- */

static bool
renaming_is_in_place (void *local)
{
    const struct renaming *renaming = local;

    return renaming->where == renaming->plan.cached
        && renaming->plan.new_hashed != renaming->where;
}

static void
renaming_unlink_linkto (void *local)
{
    struct renaming *renaming = local;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    AS_SELF (&renaming->op, renaming->plan.new_hashed, unlink, &renaming->op.newloc, 0, only);
}

static int
renaming_linkto_unlinked (void *local)
{
    struct renaming *renaming = local;
    const struct fan_answer *answer =
        &renaming->op.seq.fan.answers[renaming->plan.new_hashed];

    renaming->linkto_unlinked = answer->op_ret >= 0;
    return answer->op_ret < 0 && !is_missing (answer->op_errno) ? -answer->op_errno : 0;
}

/* Undo: makes again the linkto that the step has removed. The new name still stands for the file
 * that the rename was to replace, and a lookup would not find that file without the linkto. */
static void
renaming_restore_linkto (void *local)
{
    struct renaming *renaming = local;

    if (renaming->linkto_unlinked)
        linkto_put_back (&renaming->op, renaming->plan.new_hashed, renaming->plan.cached,
                         &renaming->op.newloc, &renaming->replaced->gfid);
}

/* --- new name hashed elsewhere: linkto of the old name, link of the new name ------------------ */

static bool
renaming_crosses (void *local)
{
    const struct renaming *renaming = local;

    return renaming->where != renaming->plan.cached;
}

/* Makes a linkto of the old name on the new name's hashed subvolume. Runs even if both names
 * have the same hashed subvolume: after a rebalance, the linkto may be missing there. */
static void
renaming_make_linkto (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;

    linkto_run (op, renaming->plan.new_hashed, renaming->plan.cached, &op->loc,
                &op->loc.inode->gfid, &renaming->buf);
}

static int
renaming_linkto_made (void *local)
{
    struct renaming *renaming = local;
    const int r = linkto_judge (local);

    renaming->linkto_made = r == 0 && renaming->plan.hashed != renaming->plan.new_hashed;
    return r;
}

static void
renaming_undo_linkto (void *local)
{
    struct renaming *renaming = local;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    if (renaming->linkto_made)
        AS_SELF (&renaming->op, renaming->plan.new_hashed, unlink, &renaming->op.loc, 0, only);
}

/* Makes the link with distribute's own rights, since a brick has stricter rules for a caller's
 * link than for a rename. The rename on the new name's hashed subvolume, a later step, checks
 * that the caller may rename. With "force-replace", the link replaces a stale linkto of the new
 * name. */
static void
renaming_link (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;
    g_autoptr (dict_t) xdata = xdata_internal ();

    dict_set_str (xdata, "force-replace", "yes");
    AS_SELF (op, renaming->plan.cached, link, &op->loc, &op->newloc, xdata);
}

static int
renaming_linked (void *local)
{
    struct renaming *renaming = local;
    const struct fan_answer *answer = &renaming->op.seq.fan.answers[renaming->plan.cached];

    renaming->linked = answer->op_ret >= 0;
    renaming->link_exists = answer->op_ret < 0 && answer->op_errno == EEXIST;
    return renaming->linked || renaming->link_exists ? 0 : -answer->op_errno;
}

/* For the undo of the link: returns whether the new name on the file's cached subvolume may be
 * removed. That name is a second name of the file. But if the connection to the new name's
 * hashed subvolume was lost, the linkto may have been renamed there. The new name must then stay
 * in two cases: the renamed linkto was the only linkto of the old name, since both names have
 * the same hashed subvolume; or the renamed linkto has replaced the old file of the new name,
 * which was on that subvolume. */
static bool
renaming_may_unlink (const struct renaming *renaming)
{
    const struct renaming_plan *plan = &renaming->plan;
    const int error = renaming->op.seq.error;

    return (error != ENOTCONN && error != ETIMEDOUT)
        || (plan->hashed != plan->new_hashed && plan->new_cached != (int) plan->new_hashed);
}

static void
renaming_unlink (void *local)
{
    struct renaming *renaming = local;
    g_autoptr (dict_t) internal = xdata_internal ();

    if (renaming->linked && renaming_may_unlink (renaming))
        AS_SELF (&renaming->op, renaming->plan.cached, unlink, &renaming->op.newloc, 0, internal);
}

static bool
renaming_link_exists (void *local)
{
    return ((const struct renaming *) local)->link_exists;
}

static void
renaming_look_at_link (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;
    g_autoptr (inode_t) any = inode_new (op->newloc.parent->table);
    loc_t loc = { .inode = any, .parent = op->newloc.parent, .name = op->newloc.name };

    AS_SELF (op, renaming->plan.cached, lookup, &loc, NULL);
    loc_wipe_path (&loc);
}

/* Judges the lookup of the new name on the cached subvolume, where the link failed with EEXIST.
 * The existing file may be the link of an earlier rename that lost its connection to the hashed
 * subvolume. It has the gfid of the renamed file then, and serves as the link. */
static int
renaming_link_told (void *local)
{
    struct renaming *renaming = local;
    const struct lookup_reply *reply =
        &renaming->op.seq.fan.answers[renaming->plan.cached].lookup;

    renaming->linked = reply->op_ret >= 0
                    && gfid_equal (&reply->buf.ia_gfid, &renaming->op.loc.inode->gfid);
    return renaming->linked ? 0 : -EEXIST;
}

/* --- rename ----------------------------------------------------------------------------------- */

static void
renaming_rename (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;

    AS_CALLER (op, renaming->where, rename, &op->loc, &op->newloc, 0, op->xdata);
}

static int
renaming_renamed (void *local)
{
    struct renaming *renaming = local;
    const struct rename_reply *reply = &renaming->op.seq.fan.answers[renaming->where].rename;

    if (reply->op_ret < 0)
        return -reply->op_errno;
    renaming->buf = reply->buf;
    renaming->old_pre = reply->preoldparent;
    renaming->old_post = reply->postoldparent;
    renaming->new_pre = reply->prenewparent;
    renaming->new_post = reply->postnewparent;
    renaming->xdata = dict_ref (reply->xdata);
    return 0;
}

/* --- both files on one subvolume: make the linkto of the new name ----------------------------- */

static void
renaming_make_new_linkto (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;

    linkto_run (op, renaming->plan.new_hashed, renaming->plan.cached, &op->newloc,
                &op->loc.inode->gfid, &renaming->buf);
}

/* --- clean ------------------------------------------------------------------------------------ */

/* Removes linktos of the old name, and those of the new name that belonged to the replaced file,
 * on all other subvolumes: after a rebalance there may be some on the former hashed subvolumes.
 * All linktos of a file on one subvolume are names of one inode. So if the file moved to that
 * subvolume, a stale linkto would become a name of the file. */
static void
renaming_clean_linktos (struct renaming *renaming, dict_t *only)
{
    struct op *op = &renaming->op;
    const struct renaming_plan *plan = &renaming->plan;
    const unsigned n = op->priv->n;

    for (unsigned i = 0; i < n; i++) {
        if (i == plan->cached || i == renaming->where || !child_is_up (op->priv, i))
            continue;
        if (i != plan->hashed)
            AS_SELF (op, i, unlink, &op->loc, 0, only);
        if (renaming->replaced && i != plan->new_hashed && (int) i != plan->new_cached)
            AS_SELF_AT (op, n + i, op->priv->children[i], unlink, &op->newloc, 0, only);
    }
}

/* Removes the names that must not remain after the rename. The answer to the unlink of the old
 * name on subvolume i is in slot i, that to the unlink of the new name in slot n + i. */
static void
renaming_clean (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;
    const unsigned n = op->priv->n, cached = renaming->plan.cached,
                   hashed = renaming->plan.hashed;
    const int new_cached = renaming->plan.new_cached;
    g_autoptr (dict_t) internal = xdata_internal (), only = xdata_only_linkto ();

    if (cached != renaming->where)
        AS_SELF (op, cached, unlink, &op->loc, 0, internal);
    if (hashed != renaming->where && hashed != cached)
        AS_SELF (op, hashed, unlink, &op->loc, 0, only);
    if (new_cached != NO_CHILD && new_cached != (int) renaming->plan.new_hashed
        && new_cached != (int) cached)
        AS_SELF_AT (op, n + (unsigned) new_cached, op->priv->children[new_cached], unlink,
                    &op->newloc, 0, internal);
    renaming_clean_linktos (renaming, only);
}

static int
renaming_cleaned (void *local)
{
    struct op *op = local;

    for (unsigned i = 0; i < 2 * op->priv->n; i++) {
        const struct fan_answer *answer = &op->seq.fan.answers[i];

        if (answer->op != FOP_NONE && answer->op_ret < 0 && !is_missing (answer->op_errno))
            gf_log (op->this, GF_LOG_WARNING, "'%s' was renamed; an old copy of a name remains on "
                    "%s: %s", loc_path (&op->loc), op->priv->children[i % op->priv->n]->name,
                    g_strerror (answer->op_errno));
    }
    return 0;
}

/* --- stat, and the answer --------------------------------------------------------------------- */

/* Reads the attributes of the file for the answer: if the linkto was renamed, the answer to that
 * rename has the attributes of the linkto. */
static void
renaming_stat (void *local)
{
    struct renaming *renaming = local;

    AS_SELF (&renaming->op, renaming->plan.cached, stat, &renaming->op.loc, NULL);
}

static int
renaming_seen (void *local)
{
    struct renaming *renaming = local;
    const struct stat_reply *reply = &renaming->op.seq.fan.answers[renaming->plan.cached].stat;

    if (reply->op_ret >= 0)
        renaming->buf = reply->buf;
    return 0;
}

static void
renaming_answer (void *local)
{
    struct renaming *renaming = local;
    struct op *op = &renaming->op;
    inode_t *old = op->loc.parent, *new = op->newloc.parent;
    xlator_t *this = op->this;

    STACK_UNWIND (rename, op->frame, 0, 0, &renaming->buf,
                  directory_attributes_of_one (this, old, &renaming->old_pre),
                  directory_attributes_of_one (this, old, &renaming->old_post),
                  directory_attributes_of_one (this, new, &renaming->new_pre),
                  directory_attributes_of_one (this, new, &renaming->new_post), renaming->xdata);
}

static const struct step renaming_steps[] = {
    STEP ("refresh", rename_refresh, step_ignore, .when = op_is_again),
    STEP ("plan", NULL, renaming_plan, .again = "refresh"),
    STEP_LOCK ("lock", .interruptible = true),
    STEP ("check", rename_look_locked, renaming_check, .again = "refresh"),
    STEP ("follow", renaming_follow, follow_judge, .when = renaming_replaces),
    STEP ("unlink linkto of new name", renaming_unlink_linkto, renaming_linkto_unlinked,
          .undo = renaming_restore_linkto, .when = renaming_is_in_place),
    STEP ("make linkto of old name", renaming_make_linkto, renaming_linkto_made,
          .undo = renaming_undo_linkto, .when = renaming_crosses),
    STEP ("link", renaming_link, renaming_linked, .undo = renaming_unlink,
          .when = renaming_crosses),
    STEP ("look at link", renaming_look_at_link, renaming_link_told, .when = renaming_link_exists),
    STEP ("rename", renaming_rename, renaming_renamed),
    STEP ("make linkto of new name", renaming_make_new_linkto, linkto_try,
          .when = renaming_is_in_place),
    STEP ("clean", renaming_clean, renaming_cleaned),
    STEP ("stat", renaming_stat, renaming_seen),
    {},
};

/* --- rename of a name whose cached subvolume is not known: look it up first ------------------- */

static bool
renaming_knows (xlator_t *this, inode_t *inode)
{
    return inode->ia_type == IA_IFDIR || inode_cached (this, inode) != NO_CHILD;
}

static void
unknown_look (void *local)
{
    struct op *op = local;

    op_look (op, &op->loc);
}

static int
unknown_found (void *local)
{
    struct op *op = local;
    struct lookup_reply *reply = &op->seq.fan.answers[SELF (op)].lookup;

    if (reply->op_ret < 0)
        return -reply->op_errno;
    op_link_found (op);
    return renaming_knows (op->this, op->loc.inode) ? 0 : -EIO;
}

static void
unknown_rename (void *local)
{
    struct op *op = local;

    STEP_WIND (&op->seq, op->frame, 0, op->this, rename, &op->loc, &op->newloc, 0, op->xdata);
}

static void
unknown_answer (void *local)
{
    struct op *op = local;
    struct rename_reply *reply = &op->seq.fan.answers[0].rename;

    STACK_UNWIND (rename, op->frame, 0, 0, &reply->buf, &reply->preoldparent,
                  &reply->postoldparent, &reply->prenewparent, &reply->postnewparent,
                  reply->xdata);
}

static const struct step unknown_steps[] = {
    STEP ("look", unknown_look, unknown_found),
    STEP ("rename", unknown_rename, NULL),
    {},
};

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
    } else if (!oldloc->inode || !renaming_knows (this, oldloc->inode)) {
        unknown = op_new (frame, this, sizeof *unknown, oldloc, newloc, xdata);
        op_run (unknown, unknown_steps, unknown_answer);
    } else if (oldloc->inode->ia_type == IA_IFDIR) {
        rename_directory (frame, this, oldloc, newloc, xdata);
    } else {
        renaming = op_new (frame, this, sizeof *renaming, oldloc, newloc, xdata);
        renaming->op.clear = renaming_clear;
        renaming->replaced = inode_ref (newloc->inode);
        op_run (&renaming->op, renaming_steps, renaming_answer);
    }
}

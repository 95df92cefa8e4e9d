/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Heal of a directory that is not the same on all subvolumes. A lookup finds the difference, and is
 * answered after the heal. The heal has four parts:
 *
 *   make         makes the directory on subvolumes that lack it, under the lock of its name. A
 *                stale linkto with that name is removed first
 *   ranges       writes a new layout, under the locks of the layout, if the ranges have holes or
 *                overlaps. If they have none, a subvolume without a range gets an empty one; only a
 *                rebalance gives it hashes
 *   attributes   sets owner, group and mode to those on the MDS
 *   xattrs       sets the extended attributes to those on the MDS
 *
 * After the first two parts have taken their locks, they look the directory up again. If a
 * subvolume fails a change, the next lookup of the directory heals it again.
 */
#include "../distribute.h"

#include <string.h>

/* --- what several steps need ------------------------------------------------------------------ */

static void
heal_log (struct distribute_lookup *lookup, const char *what)
{
    struct op *op = &lookup->op;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->seq.fan.answers[i];

        if (answer->op != FOP_NONE && answer->op_ret < 0 && answer->op_errno != EEXIST)
            gf_log (op->this, GF_LOG_WARNING, "directory '%s' (gfid %s): %s on %s: %s; the next "
                    "lookup tries again", loc_path (&op->loc), GFID_OF (lookup->inode), what,
                    op->priv->children[i]->name, g_strerror (answer->op_errno));
    }
}

static void
heal_look (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    g_autoptr (dict_t) wanted = dict_copy (lookup->wanted);
    loc_t loc = { .inode = lookup->inode };

    if (lookup->by_name)
        loc.parent = op->loc.parent, loc.name = op->loc.name;
    dict_set_u64 (wanted, "list-xattr", 1);
    for (unsigned i = 0; i < op->priv->n; i++)
        AS_SELF (op, i, lookup, &loc, wanted);
    loc_wipe_path (&loc);
}

static int
heal_looked (void *local)
{
    struct distribute_lookup *lookup = local;

    return directory_gather (lookup, &lookup->op.seq.fan) ? 0 : -lookup->op.op_errno;
}

/* --- subvolumes without the directory --------------------------------------------------------- */

static bool
heal_lacks_some (void *local)
{
    return ((const struct distribute_lookup *) local)->lacks;
}

static void
heal_unlink_linktos (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    g_autoptr (dict_t) only = xdata_only_linkto ();
    loc_t loc = { .parent = op->loc.parent, .name = op->loc.name };

    for (unsigned i = 0; i < op->priv->n; i++)
        if (lookup->leftovers[i])
            AS_SELF (op, i, unlink, &loc, 0, only);
    loc_wipe_path (&loc);
}

static int
heal_linktos_unlinked (void *local)
{
    heal_log (local, "a linkto of its name could not be removed");
    return 0;
}

/* Makes the directory on the subvolumes that lack it. The step before has unlinked stale linktos
 * with the directory's name. If such a linkto has become a file, the brick has refused the unlink,
 * and refuses the mkdir, too. */
static void
heal_make (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    const struct iatt *right = &lookup->bufs[lookup->source];
    loc_t loc = { .inode = lookup->inode, .parent = op->loc.parent, .name = op->loc.name };

    dict_set (xdata, "gfid-req", right->ia_gfid.b, sizeof right->ia_gfid.b);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (lookup->layout->ranges[i].state == RANGE_MISSING)
            AS_SELF (op, i, mkdir, &loc, right->ia_prot, 0, xdata);
    loc_wipe_path (&loc);
}

static int
heal_made (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;

    heal_log (lookup, "it could not be made");
    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->seq.fan.answers[i];

        lookup->made[i] = answer->op != FOP_NONE && answer->op_ret >= 0;
    }
    return 0;
}

/* --- ranges ----------------------------------------------------------------------------------- */

dict_t *
layout_value (xlator_t *this, const struct layout *layout, unsigned i)
{
    const dht_private_t *priv = this->private;
    dict_t *value = dict_new ();
    uint8_t bytes[LAYOUT_DISK_SIZE];

    layout_write (layout, i, bytes);
    dict_set (value, priv->layout_key, bytes, sizeof bytes);
    return value;
}

void
layout_assign (xlator_t *this, struct layout *layout, loc_t *loc, const gfid_t *gfid,
               uint32_t commit)
{
    const dht_private_t *priv = this->private;
    g_autofree uint32_t *weights = g_new (uint32_t, priv->n);
    const char *seed = priv->by_gfid ? gfid_text (gfid, (char[GFID_TEXT_SIZE]){ 0 })
                                     : loc_path (loc);
    const unsigned first = hash_name (&priv->rules, seed) % priv->n;
    bool all_known = __atomic_load_n (&priv->weighted, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < priv->n; i++)
        all_known &= space_chunks (this, i) > 0;
    for (unsigned i = 0; i < priv->n; i++)
        weights[i] = child_is_leaving (priv, i) ? 0 : all_known ? space_chunks (this, i) : 1;
    layout_divide (layout, weights, first, (unsigned) priv->spread, commit);
}

/* If the layout must change, adds a write lock of the layout on each subvolume that has the
 * directory to the operation's list of locks. A subvolume on which the heal could not make the
 * directory has nothing to lock. */
static int
heal_note_layout_locks (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    const struct layout_faults *faults = &lookup->faults;

    lookup->divides = faults->holes || faults->overlaps || faults->unset || faults->missing;
    for (unsigned i = 0; i < op->priv->n && lookup->divides; i++) {
        const unsigned child = op->priv->by_name[i];

        if (lookup->bufs[child].ia_type == IA_IFDIR || lookup->made[child])
            lock_layout (op, child, lookup->inode, true);
    }
    return 0;
}

static bool
heal_divides (void *local)
{
    return ((const struct distribute_lookup *) local)->divides;
}

/* Returns whether the holes of the layout may be the ranges of bricks that were added to the volume
 * after this client had read the volfile. That may be so if each subvolume in this client's graph
 * has a range, and no ranges overlap. A new layout would leave out the added bricks, and so hide
 * their files from all clients. */
static bool
heal_range_is_elsewhere (const struct distribute_lookup *lookup)
{
    const struct layout_faults *faults = &lookup->faults;

    if (faults->holes == 0 || faults->unset || faults->overlaps || faults->used == 0)
        return false;
    gf_log (lookup->op.this, GF_LOG_WARNING,
            "directory '%s' (gfid %s): all subvolumes have a range of hashes, but %u ranges are of "
            "none: bricks were added since the volfile was read; windlass reload reads it again",
            loc_path ((loc_t *) &lookup->op.loc), GFID_OF (lookup->inode), faults->holes);
    return true;
}

static int
heal_plan_ranges (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    const struct layout_faults *faults = &lookup->faults;
    const int r = heal_looked (lookup);

    if (r < 0)
        return r;
    lookup->divides = !faults->down && !faults->unknown && !faults->missing
                   && !heal_range_is_elsewhere (lookup);
    lookup->divides_anew = faults->holes || faults->overlaps;
    if (!lookup->divides || !lookup->divides_anew)
        return 0;
    gf_log (op->this, GF_LOG_INFO,
            "directory '%s' (gfid %s) gets a layout: it had %u holes, %u overlaps, and %u "
            "subvolumes without a range",
            loc_path (&op->loc), GFID_OF (lookup->inode), faults->holes, faults->overlaps,
            faults->unset);
    layout_assign (op->this, lookup->layout, &op->loc, &lookup->inode->gfid, LAYOUT_UNSURE);
    return 0;
}

/* Writes the ranges of the new layout to all subvolumes. If the old layout had no hole and no
 * overlap, it is kept, and each subvolume without a range gets an empty one. */
static void
heal_set_ranges (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    loc_t loc = { .inode = lookup->inode };

    for (unsigned i = 0; i < op->priv->n; i++) {
        g_autoptr (dict_t) value = NULL;
        struct layout_range *range = &lookup->layout->ranges[i];

        if (!lookup->divides_anew && range->state != RANGE_UNSET)
            continue;
        if (!lookup->divides_anew)
            *range = (struct layout_range){ .state = RANGE_SET, .commit = LAYOUT_UNSURE };
        value = layout_value (op->this, lookup->layout, i);
        AS_SELF (op, i, setxattr, &loc, value, 0, xdata);
    }
    loc_wipe_path (&loc);
}

static int
heal_ranges_set (void *local)
{
    heal_log (local, "its range of hashes could not be set");
    return 0;
}

/* --- owner, group, mode ----------------------------------------------------------------------- */

static void
heal_set_attributes (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    struct iatt right = lookup->bufs[lookup->source];
    loc_t loc = { .inode = lookup->inode };

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct iatt *buf = &lookup->bufs[i];
        const bool differs = buf->ia_type == IA_IFDIR
                          && (buf->ia_uid != right.ia_uid || buf->ia_gid != right.ia_gid
                              || buf->ia_prot != right.ia_prot);

        if (differs || lookup->made[i])
            AS_SELF (op, i, setattr, &loc, &right, IATT_MODE | IATT_UID | IATT_GID, xdata);
    }
    loc_wipe_path (&loc);
}

static int
heal_attributes_set (void *local)
{
    heal_log (local, "owner and mode could not be set");
    return 0;
}

/* --- extended attributes ---------------------------------------------------------------------- */

static bool
xattr_is_users (const char *key)
{
    return g_str_has_prefix (key, "user.") || g_str_has_prefix (key, "security.")
        || strcmp (key, "system.posix_acl_access") == 0
        || strcmp (key, "system.posix_acl_default") == 0;
}

static dict_t *
xattrs_of_users (dict_t *dict)
{
    dict_t *users = dict_new ();
    const char *key;
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        if (xattr_is_users (key))
            dict_set (users, key, value, size);
    }
    return users;
}

static void
heal_set_xattrs (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    g_autoptr (dict_t) users = xattrs_of_users (lookup->dicts[lookup->source]);
    g_autoptr (dict_t) xdata = xdata_internal ();
    loc_t loc = { .inode = lookup->inode };

    for (unsigned i = 0; i < op->priv->n && dict_count (users) > 0; i++)
        if ((int) i != lookup->source && (lookup->made[i] || lookup->xattrs_differ))
            AS_SELF (op, i, setxattr, &loc, users, 0, xdata);
    loc_wipe_path (&loc);
}

static int
heal_xattrs_set (void *local)
{
    struct distribute_lookup *lookup = local;
    const struct op *op = &lookup->op;

    heal_log (lookup, "extended attributes could not be set");
    return fan_error (&op->seq.fan) < 0
                || gfid_equal (&lookup->inode->gfid, &gfid_root)
                || (lookup->mds != NO_CHILD && !lookup->xattrs_differ) || op->priv->n == 1
             ? STEP_END
             : 0;
}

/* Sets the counter of the MDS to 0, since all subvolumes have the same extended attributes now. If
 * the directory has no MDS, the subvolume whose attributes were copied gets the counter, and so
 * becomes the MDS. */
static void
heal_clear_mds (void *local)
{
    static const uint8_t none[4];
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal (), value = dict_new ();
    loc_t loc = { .inode = lookup->inode };

    dict_set (value, op->priv->mds_key, none, sizeof none);
    AS_SELF (op, (unsigned) lookup->source, setxattr, &loc, value, 0, xdata);
    loc_wipe_path (&loc);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void
heal_answer (void *local)
{
    struct distribute_lookup *lookup = local;

    inode_set_layout (lookup->op.this, lookup->inode, lookup->layout, lookup->source);
    lookup_answer (lookup);
}

static const struct step heal_steps[] = {
    STEP_LOCK ("lock name", .when = heal_lacks_some),
    STEP ("look", heal_look, heal_looked, .when = heal_lacks_some),
    STEP ("unlink linktos", heal_unlink_linktos, heal_linktos_unlinked, .when = heal_lacks_some),
    STEP ("make", heal_make, heal_made, .when = heal_lacks_some),
    STEP ("unlock name", locks_undo, heal_note_layout_locks),
    STEP_LOCK ("lock layout", .when = heal_divides),
    STEP ("plan ranges", heal_look, heal_plan_ranges, .when = heal_divides),
    STEP ("set ranges", heal_set_ranges, heal_ranges_set, .when = heal_divides),
    STEP ("unlock layout", locks_undo, step_ignore),
    STEP ("set attributes", heal_set_attributes, heal_attributes_set),
    STEP ("look again", heal_look, heal_looked),
    STEP ("set xattrs", heal_set_xattrs, heal_xattrs_set),
    STEP ("clear mds", heal_clear_mds, step_ignore),
    {},
};

void
heal_directory (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;
    inode_t *linked;

    if (lookup->by_name) { /* the calls of the heal need an inode that has its gfid */
        linked = inode_link_asked (lookup->inode, op->loc.parent, op->loc.name, &lookup->buf,
                                   op->names_at);
        inode_unref (lookup->inode);
        lookup->inode = linked;
    }
    lookup->lacks = lookup->faults.missing > 0;
    if (lookup->lacks && lookup->hashed == NO_CHILD) {
        lookup_answer (lookup); /* no heal: without a hashed subvolume the name can't be locked */
        return;
    }
    if (lookup->lacks)
        lock_name (op, (unsigned) lookup->hashed, &op->loc);
    op_run (op, heal_steps, heal_answer);
}

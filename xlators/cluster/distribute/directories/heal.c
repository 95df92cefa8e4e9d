/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Healing of a directory that a lookup found incomplete, before the lookup is answered:
 *
 *   heal_make        subvolumes that lack the directory make it, under the lock of its name. A
 *                    stale linkto of that name is removed first
 *   heal_ranges      hashes without a subvolume get one, under the locks of its layout. A subvolume
 *                    that is new to a complete layout gets no hash: a rebalance gives it some
 *   heal_attributes  owner, group and mode become those of the subvolume that decides
 *   heal_xattrs      and so do the extended attributes
 *
 * Each step looks again after it has its locks. One that fails leaves the rest to the next lookup.
 */
#include "../distribute.h"

#include <string.h>

/* --- what the steps need ---------------------------------------------------------------------- */

static void
heal_end (struct lookup *lookup)
{
    struct op *op = &lookup->op;

    inode_set_layout (op->this, lookup->inode, lookup->layout, lookup->source);
    op_end (op, lookup_answer);
}

static void
heal_log (struct lookup *lookup, const char *what)
{
    struct op *op = &lookup->op;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->own_fan.answers[i];

        if (answer->op != FOP_NONE && answer->op_ret < 0 && answer->op_errno != EEXIST)
            gf_log (op->this, GF_LOG_WARNING, "directory '%s' (gfid %s): %s on %s: %s; the next "
                    "lookup tries again", loc_path (&op->loc), GFID_OF (lookup->inode), what,
                    op->priv->children[i]->name, g_strerror (answer->op_errno));
    }
}

static void
heal_look (struct lookup *lookup, void (*next) (call_frame_t *own))
{
    struct op *op = &lookup->op;
    g_autoptr (dict_t) wanted = dict_copy (lookup->wanted);
    loc_t loc = { .inode = lookup->inode, .parent = op->loc.parent, .name = op->loc.name };

    if (!lookup->by_name)
        loc.parent = NULL, loc.name = NULL;
    dict_set_u64 (wanted, "list-xattr", 1);
    own_begin (op, next);
    for (unsigned i = 0; i < op->priv->n; i++)
        OWN (op, i, lookup, &loc, wanted);
    own_end (op);
    loc_wipe_path (&loc);
}

/* --- extended attributes ---------------------------------------------------------------------- */

static void
heal_marked (call_frame_t *own)
{
    heal_end (OP_OF (own));
}

/* The subvolume that decides says that all have the same now. */
static void
heal_mark (struct lookup *lookup)
{
    static const uint8_t none[4];
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal (), value = dict_new ();
    loc_t loc = { .inode = lookup->inode };

    dict_set (value, op->priv->mds_key, none, sizeof none);
    OWN_ONE (op, heal_marked, (unsigned) lookup->source, setxattr, &loc, value, 0, xdata);
}

static void
heal_xattrs_set (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    bool failed = false;

    heal_log (lookup, "extended attributes could not be set");
    for (unsigned i = 0; i < op->priv->n; i++)
        failed |= op->own_fan.answers[i].op_ret < 0;
    if (!failed && !gfid_equal (&lookup->inode->gfid, &gfid_root)
        && (lookup->mds == NO_CHILD || lookup->xattrs_differ) && op->priv->n > 1)
        heal_mark (lookup);
    else
        heal_end (lookup);
}

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
heal_xattrs (struct lookup *lookup)
{
    struct op *op = &lookup->op;
    g_autoptr (dict_t) users = xattrs_of_users (lookup->dicts[lookup->source]);
    g_autoptr (dict_t) xdata = xdata_internal ();
    loc_t loc = { .inode = lookup->inode };

    own_begin (op, heal_xattrs_set);
    for (unsigned i = 0; i < op->priv->n && dict_count (users) > 0; i++)
        if ((int) i != lookup->source && (lookup->made[i] || lookup->xattrs_differ))
            OWN (op, i, setxattr, &loc, users, 0, xdata);
    own_end (op);
}

static void
heal_xattrs_looked (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);

    if (directory_gather (lookup, &lookup->op.own_fan))
        heal_xattrs (lookup);
    else
        op_fail (&lookup->op, lookup->op.op_errno);
}

/* --- owner, group, mode ----------------------------------------------------------------------- */

static void
heal_attributes_set (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);

    heal_log (lookup, "owner and mode could not be set");
    heal_look (lookup, heal_xattrs_looked);
}

static void
heal_attributes (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    struct iatt right = lookup->bufs[lookup->source];
    loc_t loc = { .inode = lookup->inode };

    own_begin (op, heal_attributes_set);
    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct iatt *buf = &lookup->bufs[i];
        const bool differs = buf->ia_type == IA_IFDIR
                          && (buf->ia_uid != right.ia_uid || buf->ia_gid != right.ia_gid
                              || buf->ia_prot != right.ia_prot);

        if (differs || lookup->made[i])
            OWN (op, i, setattr, &loc, &right, IATT_MODE | IATT_UID | IATT_GID, xdata);
    }
    own_end (op);
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

static void
heal_ranges_set (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);

    heal_log (lookup, "its range of hashes could not be set");
    locks_drop (&lookup->op, heal_attributes);
}

static void
heal_ranges_write (struct lookup *lookup, bool all)
{
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    loc_t loc = { .inode = lookup->inode };

    own_begin (op, heal_ranges_set);
    for (unsigned i = 0; i < op->priv->n; i++) {
        g_autoptr (dict_t) value = NULL;
        struct layout_range *range = &lookup->layout->ranges[i];

        if (!all && range->state != RANGE_UNSET)
            continue;
        if (!all)
            *range = (struct layout_range){ .state = RANGE_SET, .commit = LAYOUT_UNSURE };
        value = layout_value (op->this, lookup->layout, i);
        OWN (op, i, setxattr, &loc, value, 0, xdata);
    }
    own_end (op);
}

/* Bricks that were added since the volfile was read have ranges that this client can't see. To
 * divide the hashes anew would hide their files from all clients. */
static bool
range_is_elsewhere (const struct layout_faults *faults)
{
    return faults->holes > 0 && faults->unset == 0 && faults->overlaps == 0 && faults->used > 0;
}

static void
heal_ranges_looked (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    const struct layout_faults *faults = &lookup->faults;

    if (!directory_gather (lookup, &op->own_fan)) {
        op_fail (op, op->op_errno);
        return;
    }
    if (faults->down || faults->unknown || faults->missing) {
        locks_drop (op, heal_attributes);
        return;
    }
    if (range_is_elsewhere (faults)) {
        gf_log (op->this, GF_LOG_WARNING,
                "directory '%s' (gfid %s): all subvolumes have a range of hashes, but %u ranges "
                "are of none: bricks were added since the volfile was read; windlass reload reads "
                "it again",
                loc_path (&op->loc), GFID_OF (lookup->inode), faults->holes);
        locks_drop (op, heal_attributes);
        return;
    }
    if (faults->holes || faults->overlaps) {
        gf_log (op->this, GF_LOG_INFO,
                "directory '%s' (gfid %s) gets a layout: it had %u holes, %u overlaps, and %u "
                "subvolumes without a range",
                loc_path (&op->loc), GFID_OF (lookup->inode), faults->holes, faults->overlaps,
                faults->unset);
        layout_assign (op->this, lookup->layout, &op->loc, &lookup->inode->gfid, LAYOUT_UNSURE);
    }
    heal_ranges_write (lookup, faults->holes || faults->overlaps);
}

static void
heal_ranges_locked (call_frame_t *own)
{
    heal_look (OP_OF (own), heal_ranges_looked);
}

/* A subvolume on which the directory could not be made has nothing to lock. */
static void
heal_ranges (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    const struct layout_faults *faults = &lookup->faults;

    if (!faults->holes && !faults->overlaps && !faults->unset && !faults->missing) {
        heal_attributes (op_own (op));
        return;
    }
    for (unsigned i = 0; i < op->priv->n; i++) {
        const unsigned child = op->priv->by_name[i];

        if (lookup->bufs[child].ia_type == IA_IFDIR || lookup->made[child])
            lock_layout (op, child, lookup->inode, true);
    }
    locks_take (op, heal_ranges_locked);
}

/* --- subvolumes without the directory --------------------------------------------------------- */

static void
heal_made (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;

    heal_log (lookup, "it could not be made");
    for (unsigned i = 0; i < op->priv->n; i++)
        lookup->made[i] =
            op->own_fan.answers[i].op != FOP_NONE && op->own_fan.answers[i].op_ret >= 0;
    locks_drop (op, heal_ranges);
}

/* If the linkto has become a file, the subvolume refuses both the unlink and the mkdir. */
static void
heal_make_unlinked (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    const struct iatt *right = &lookup->bufs[lookup->source];
    loc_t loc = { .inode = lookup->inode, .parent = op->loc.parent, .name = op->loc.name };

    heal_log (lookup, "a linkto of its name could not be removed");
    dict_set (xdata, "gfid-req", right->ia_gfid.b, sizeof right->ia_gfid.b);
    own_begin (op, heal_made);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (lookup->layout->ranges[i].state == RANGE_MISSING)
            OWN (op, i, mkdir, &loc, right->ia_prot, 0, xdata);
    own_end (op);
    loc_wipe_path (&loc);
}

static void
heal_make_looked (call_frame_t *own)
{
    struct lookup *lookup = OP_OF (own);
    struct op *op = &lookup->op;
    g_autoptr (dict_t) only = xdata_only_linkto ();
    loc_t loc = { .parent = op->loc.parent, .name = op->loc.name };

    if (!directory_gather (lookup, &op->own_fan)) {
        op_fail (op, op->op_errno);
        return;
    }
    own_begin (op, heal_make_unlinked);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (lookup->leftovers[i])
            OWN (op, i, unlink, &loc, 0, only);
    own_end (op);
    loc_wipe_path (&loc);
}

static void
heal_make (call_frame_t *own)
{
    heal_look (OP_OF (own), heal_make_looked);
}

void
heal_directory (struct lookup *lookup)
{
    struct op *op = &lookup->op;
    inode_t *linked;

    if (lookup->by_name) { /* operations on the inode need its gfid */
        linked = inode_link (lookup->inode, op->loc.parent, op->loc.name, &lookup->buf);
        inode_unref (lookup->inode);
        lookup->inode = linked;
    }
    if (lookup->faults.missing == 0) {
        heal_ranges (op_own (op));
    } else if (lookup->hashed == NO_CHILD) {
        op_end (op, lookup_answer); /* there is no subvolume to lock the name on */
    } else {
        lock_name (op, (unsigned) lookup->hashed, &op->loc);
        locks_take (op, heal_make);
    }
}

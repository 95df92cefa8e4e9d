/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookup of a directory: merges the answers of all subvolumes into one answer. */
#include "../distribute.h"

#include <string.h>

/* --- taking over answers ---------------------------------------------------------------------- */

static void
gather_begin (struct distribute_lookup *lookup)
{
    const unsigned n = lookup->op.priv->n;

    if (!lookup->bufs) {
        lookup->bufs = g_new (struct iatt, n);
        lookup->dicts = g_new0 (dict_t *, n);
        lookup->made = g_new0 (bool, n);
        lookup->leftovers = g_new (bool, n);
    }
    memset (lookup->bufs, 0, n * sizeof *lookup->bufs);
    memset (lookup->leftovers, 0, n * sizeof *lookup->leftovers);
    for (unsigned i = 0; i < n; i++)
        g_clear_pointer (&lookup->dicts[i], dict_unref);
    layout_unref (lookup->layout);
    lookup->layout = layout_new (n);
    lookup->mds = NO_CHILD;
    lookup->xattrs_differ = false;
}

/* Reads the xattr trusted.glusterfs.dht.mds (mds_key) in the answer of subvolume i. The subvolume
 * that has this xattr on the directory is the MDS of the directory: its owner, mode and xattrs are
 * right if those on other subvolumes differ. The value is a counter, which is not 0 while other
 * subvolumes may lack a change of xattrs. */
static void
gather_mds (struct distribute_lookup *lookup, unsigned i, dict_t *xdata)
{
    size_t size;
    const uint8_t *value = dict_get (xdata, lookup->op.priv->mds_key, &size);

    if (!value || size != 4)
        return;
    lookup->mds = (int) i;
    lookup->xattrs_differ = value[0] | value[1] | value[2] | value[3];
}

static void
gather_commit (dht_private_t *priv, dict_t *xdata)
{
    size_t size;
    const uint8_t *value = dict_get (xdata, priv->commit_key, &size);

    if (value && size == 4 && priv->forced_commit == 0)
        __atomic_store_n (&priv->commit,
                          (uint32_t) value[0] << 24 | (uint32_t) value[1] << 16
                              | (uint32_t) value[2] << 8 | value[3],
                          __ATOMIC_RELAXED);
}

/* Takes the answer of a subvolume on which the directory's name is a file. If the file is a stale
 * linkto, the subvolume counts as one that lacks the directory, and the heal removes the linkto.
 * Any other file prevents the heal (RANGE_UNKNOWN). */
static void
gather_not_directory (struct distribute_lookup *lookup, unsigned i,
                      const struct lookup_reply *reply)
{
    linkto_target (lookup->op.this, &reply->buf, reply->xdata, &lookup->leftovers[i]);
    layout_fail (lookup->layout, i, lookup->leftovers[i] ? RANGE_MISSING : RANGE_UNKNOWN);
}

static void
gather_one (struct distribute_lookup *lookup, unsigned i, const struct lookup_reply *reply)
{
    dht_private_t *priv = lookup->op.priv;
    const void *range;
    size_t size = 0;

    if (reply->op_ret < 0) {
        layout_fail (lookup->layout, i,
                     is_missing (reply->op_errno)      ? RANGE_MISSING
                     : reply->op_errno == ENOTCONN ? RANGE_DOWN
                                                       : RANGE_UNKNOWN);
        return;
    }
    if (reply->buf.ia_type != IA_IFDIR) {
        gather_not_directory (lookup, i, reply);
        return;
    }
    lookup->bufs[i] = reply->buf;
    lookup->dicts[i] = dict_ref (reply->xdata);
    range = dict_get (reply->xdata, priv->layout_key, &size);
    layout_read (lookup->layout, i, range, size);
    gather_mds (lookup, i, reply->xdata);
    if (gfid_equal (&reply->buf.ia_gfid, &gfid_root))
        gather_commit (priv, reply->xdata);
    iatt_merge (&lookup->postparent, &reply->postparent);
}

/* Returns the subvolume whose owner, mode and xattrs are the right ones: the MDS; if there is none,
 * the hashed subvolume; if that lacks the directory, or for the root directory, which has neither,
 * the subvolume with the latest ctime. */
static int
gather_source (const struct distribute_lookup *lookup)
{
    const struct iatt *bufs = lookup->bufs;
    int source = NO_CHILD;

    if (lookup->mds != NO_CHILD)
        return lookup->mds;
    if (lookup->hashed != NO_CHILD && bufs[lookup->hashed].ia_type == IA_IFDIR)
        return lookup->hashed;
    for (unsigned i = 0; i < lookup->op.priv->n; i++)
        if (bufs[i].ia_type == IA_IFDIR
            && (source == NO_CHILD || bufs[i].ia_ctime > bufs[source].ia_ctime))
            source = (int) i;
    return source;
}

static bool
gather_has_one_gfid (const struct distribute_lookup *lookup)
{
    const struct op *op = &lookup->op;
    g_autoptr (GString) copies = g_string_new (NULL);
    const gfid_t *first = &lookup->bufs[lookup->source].ia_gfid;
    bool same = true;
    char gfid[GFID_TEXT_SIZE];

    for (unsigned i = 0; i < op->priv->n; i++) {
        if (lookup->bufs[i].ia_type != IA_IFDIR)
            continue;
        same &= gfid_equal (&lookup->bufs[i].ia_gfid, first);
        g_string_append_printf (copies, "%s%s on %s", copies->len ? ", " : "",
                                gfid_text (&lookup->bufs[i].ia_gfid, gfid),
                                op->priv->children[i]->name);
    }
    if (!same)
        gf_log (op->this, GF_LOG_ERROR,
                "the directory '%s' must have one gfid on all subvolumes, got %s; remove the wrong "
                "ones on the bricks",
                loc_path ((loc_t *) &op->loc), copies->str);
    return same;
}

/* --- all of it -------------------------------------------------------------------------------- */

bool
directory_gather (struct distribute_lookup *lookup, struct fan_out *fan)
{
    struct op *op = &lookup->op;

    gather_begin (lookup);
    for (unsigned i = 0; i < op->priv->n; i++)
        gather_one (lookup, i, &fan->answers[i].lookup);
    lookup->source = gather_source (lookup);
    if (lookup->source == NO_CHILD) {
        op->op_errno = ENOENT;
        return false;
    }
    op->op_errno = EIO;
    if (!gather_has_one_gfid (lookup)
        || !servers_are_of_one_volume (op->this, op->priv->children, fan))
        return false;
    layout_seal (lookup->layout);
    layout_check (lookup->layout, &lookup->faults);
    if (!lookup->inode)
        lookup->inode = inode_ref (fan->answers[lookup->source].lookup.inode);
    return true;
}

/* --- does it need healing? -------------------------------------------------------------------- */

static bool
attributes_differ (const struct distribute_lookup *lookup)
{
    const struct iatt *source = &lookup->bufs[lookup->source];

    for (unsigned i = 0; i < lookup->op.priv->n; i++) {
        const struct iatt *buf = &lookup->bufs[i];

        if (buf->ia_type == IA_IFDIR
            && (buf->ia_uid != source->ia_uid || buf->ia_gid != source->ia_gid
                || buf->ia_prot != source->ia_prot))
            return true;
    }
    return false;
}

/* Returns whether a replicated subvolume reports that no copy has reliable attributes. The layout,
 * owner and ACL in its answer may then be old, so the directory must not be healed with these. */
static bool
attributes_are_doubtful (const struct distribute_lookup *lookup)
{
    for (unsigned i = 0; i < lookup->op.priv->n; i++)
        if (dict_has (lookup->dicts[i], XDATA_NO_GOOD_METADATA))
            return true;
    return false;
}

/* Returns whether the directory needs a heal, and may get one. Nothing is healed while a subvolume
 * is down, since the state of the directory there is unknown. If the volume has a single subvolume,
 * there is nothing to heal. */
bool
directory_ails (const struct distribute_lookup *lookup)
{
    const struct layout_faults *faults = &lookup->faults;
    const bool is_root = gfid_equal (&lookup->bufs[lookup->source].ia_gfid, &gfid_root);

    if (lookup->op.priv->n == 1 || !lookup->heals || faults->down || faults->unknown
        || (!lookup->by_name && !is_root) || attributes_are_doubtful (lookup))
        return false;
    return faults->missing || faults->unset || faults->holes || faults->overlaps
        || lookup->xattrs_differ || attributes_differ (lookup)
        || (lookup->mds == NO_CHILD && !is_root);
}

void
lookup_directory (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;

    if (!directory_gather (lookup, &op->fan)) {
        op_fail (op, op->op_errno);
        return;
    }
    lookup->found = dict_ref (lookup->dicts[lookup->source]);
    lookup->buf = lookup->bufs[lookup->source];
    for (unsigned i = 0; i < op->priv->n; i++)
        iatt_merge (&lookup->buf, &lookup->bufs[i]);
    directory_attributes (op->this, lookup->inode, &lookup->buf);
    inode_set_layout (op->this, lookup->inode, lookup->layout, lookup->source);
    if (directory_ails (lookup))
        heal_directory (lookup);
    else
        lookup_answer (lookup);
}

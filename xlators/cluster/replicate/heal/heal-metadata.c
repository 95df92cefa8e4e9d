/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Heals attributes and extended attributes: makes those of the sinks equal to those of the
 * source. */
#include "heal.h"

#include <errno.h>
#include <string.h>

/* First byte of the range that clients lock, as in GlusterFS, while they change the attributes of
 * an object. */
#define METADATA_LOCK (INT64_MAX - 1)

/* Returns whether a heal must leave an extended attribute alone, since it belongs to one copy or to
 * its brick. */
static bool
xattr_is_of_copy (const char *name)
{
    static const char *const prefixes[] = {
        "trusted.afr.", "trusted.gfid", "trusted.pgfid.", "trusted.glusterfs.volume-id",
        "trusted.glusterfs.mdata", "trusted.glusterfs.quota.", "glusterfs.", "security.selinux",
    };

    for (size_t i = 0; i < G_N_ELEMENTS (prefixes); i++)
        if (g_str_has_prefix (name, prefixes[i]))
            return true;
    return strchr (name, '.') == NULL;
}

/* Returns, with a reference, those extended attributes of a copy that a heal compares and writes;
 * NULL: they can't be read. */
static dict_t *
xattrs_read (struct heal *heal, unsigned child, loc_t *loc)
{
    struct getxattr_reply reply = { 0 };
    dict_t *all = NULL;
    const char *key;
    const void *value;
    size_t size;

    if (sync_getxattr (heal->children[child], loc, NULL, NULL, &reply) >= 0) {
        all = dict_new ();
        for (size_t i = 0; i < dict_count (reply.dict); i++) {
            dict_nth (reply.dict, i, &key, &value, &size);
            if (!xattr_is_of_copy (key))
                dict_set (all, key, value, size);
        }
    }
    getxattr_reply_drop (&reply);
    return all;
}

/* Removes the extended attributes of a sink that the source doesn't have. */
static int
xattrs_remove (struct heal *heal, unsigned child, loc_t *loc, const dict_t *from,
               const dict_t *present)
{
    const char *key;
    const void *value;
    size_t size;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < dict_count (present); i++) {
        dict_nth (present, i, &key, &value, &size);
        if (!dict_has (from, key))
            r = sync_removexattr (heal->children[child], loc, key, NULL, NULL);
    }
    return r;
}

/* Returns a dict with the extended attributes of `from` that are not in `present` or have another
 * value there; with a reference. */
static dict_t *
xattrs_missing (const dict_t *from, const dict_t *present)
{
    dict_t *missing = dict_new ();
    const char *key;
    const void *value, *other;
    size_t size, other_size = 0;

    for (size_t i = 0; i < dict_count (from); i++) {
        dict_nth (from, i, &key, &value, &size);
        other = dict_get (present, key, &other_size);
        if (!other || other_size != size || memcmp (other, value, size) != 0)
            dict_set (missing, key, value, size);
    }
    return missing;
}

static int
xattrs_heal (struct heal *heal, unsigned child, loc_t *loc, const dict_t *from)
{
    g_autoptr (dict_t) present = xattrs_read (heal, child, loc);
    g_autoptr (dict_t) missing = NULL;
    int r;

    if (!present)
        return -EIO;
    r = xattrs_remove (heal, child, loc, from, present);
    missing = xattrs_missing (from, present);
    if (r >= 0 && dict_count (missing) > 0)
        r = sync_setxattr (heal->children[child], loc, missing, 0, NULL, NULL);
    return r;
}

static int
metadata_heal_sink (struct heal *heal, unsigned child, loc_t *loc, const struct iatt *from,
                    const dict_t *xattrs)
{
    const bool link = loc->inode->ia_type == IA_IFLNK;
    struct iatt iatt = *from;
    int r = sync_setattr (heal->children[child], loc, &iatt,
                          (link ? 0 : IATT_MODE) | IATT_UID | IATT_GID | IATT_ATIME | IATT_MTIME,
                          NULL, NULL);

    return r < 0 ? r : xattrs_heal (heal, child, loc, xattrs);
}

/* Heals the attributes of the sinks. Returns those sinks that could not be healed. */
static copies_t
metadata_heal_sinks (struct heal *heal, loc_t *loc, unsigned source, copies_t sinks)
{
    const replicate_t *priv = heal->this->private;
    g_autoptr (dict_t) xattrs = xattrs_read (heal, source, loc);
    copies_t unhealed = xattrs ? 0 : sinks;

    for (unsigned i = 0; xattrs && i < priv->n; i++) {
        int r;

        if (!(sinks & COPY (i)))
            continue;
        r = metadata_heal_sink (heal, i, loc, &heal->copies[source].iatt, xattrs);
        if (r < 0) {
            heal_tell (heal, "%s: attributes on %s can't be healed: %s", loc_path (loc),
                       priv->names[i], g_strerror (-r));
            unhealed |= COPY (i);
        }
    }
    return unhealed;
}

static int
metadata_heal_locked (struct heal *heal, inode_t *inode)
{
    const replicate_t *priv = heal->this->private;
    loc_t loc = { .inode = inode };
    struct heal_direction direction;
    g_autofree char *names = NULL;
    copies_t unhealed;
    int source, r = heal_refresh (heal, inode);

    source = r < 0 ? -1 : heal_direct (heal, inode, COUNTER_METADATA, &direction);
    if (r < 0 || source < 0)
        return r < 0 ? r : source == -1 ? 0 : source;
    unhealed = metadata_heal_sinks (heal, &loc, (unsigned) source, direction.sinks);
    r = heal_clear_counters (heal, inode, COUNTER_METADATA, unhealed);
    names = copies_text (priv, direction.sinks & ~unhealed);
    if (direction.sinks & ~unhealed)
        heal_tell (heal, "%s: attributes healed on %s, from %s", loc_path (&loc), names,
                   priv->names[source]);
    loc_wipe_path (&loc);
    return unhealed ? -EIO : r < 0 ? r : 1;
}

int
heal_metadata (struct heal *heal, inode_t *inode)
{
    struct heal_lock lock = { .inode = inode, .from = METADATA_LOCK };
    int r = heal_lock (heal, &lock, true);

    if (r < 0) {
        g_autofree char *path = inode_path (inode, NULL);

        heal_tell (heal, "%s: attributes can't be locked: %s", path, g_strerror (-r));
        return r;
    }
    r = metadata_heal_locked (heal, inode);
    heal_unlock (heal, &lock);
    return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports about distribute: state dumps, `windlass explain`, and the virtual attribute whose value
 * is the hashed subvolume of a name. */
#include "distribute.h"

#include <string.h>

#define HASHED_PREFIX "dht.file.hashed-subvol."

static const char *
child_name (const dht_private_t *priv, int child)
{
    return child == NO_CHILD ? "none" : priv->children[child]->name;
}

void
dht_dump (xlator_t *this, GString *out)
{
    dht_private_t *priv = this->private;
    struct space *space = &priv->space;

    g_string_append_printf (out, "commit-hash=0x%08x\n",
                            __atomic_load_n (&priv->commit, __ATOMIC_RELAXED));
    pthread_mutex_lock (&space->lock);
    for (unsigned i = 0; i < priv->n; i++) {
        const struct subvolume_space *at = &space->of[i];

        g_string_append_printf (out, "subvolume.%s=%s%s", priv->children[i]->name,
                                child_is_up (priv, i) ? "up" : "down",
                                child_is_leaving (priv, i) ? ", gets no new files" : "");
        if (at->known)
            g_string_append_printf (out, ", %.0f%% free, %.0f%% of its inodes free",
                                    at->free_percent, at->free_inodes);
        g_string_append_c (out, '\n');
    }
    pthread_mutex_unlock (&space->lock);
}

static const char *
range_state_text (enum range_state state)
{
    static const char *const texts[] = {
        [RANGE_MISSING] = "no directory", [RANGE_UNSET] = "no range", [RANGE_SET] = "",
        [RANGE_DOWN] = "down", [RANGE_UNKNOWN] = "unknown",
    };
    return texts[state];
}

static void
range_print (const struct layout_range *range, GString *out)
{
    if (range->state == RANGE_SET)
        g_string_append_printf (out, "0x%08x-0x%08x, commit hash 0x%08x", range->start,
                                range->stop, range->commit);
    else
        g_string_append (out, range_state_text (range->state));
}

void
dht_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    const dht_private_t *priv = this->private;
    struct layout *layout = inode_layout (this, inode);

    if (!layout) {
        g_string_append_printf (out, "subvolume=%s\n",
                                child_name (priv, inode_cached (this, inode)));
        return;
    }
    g_string_append_printf (out, "decides=%s\n", child_name (priv, inode_mds (this, inode)));
    for (unsigned i = 0; i < layout->n; i++) {
        g_string_append_printf (out, "layout.%s=", priv->children[i]->name);
        range_print (&layout->ranges[i], out);
        g_string_append_c (out, '\n');
    }
    layout_unref (layout);
}

/* --- explain ---------------------------------------------------------------------------------- */

static void
explain_directory (xlator_t *this, struct layout *layout, GString *out)
{
    const dht_private_t *priv = this->private;

    g_string_append (out, "a directory: all subvolumes have it\n");
    for (unsigned i = 0; i < layout->n; i++) {
        g_string_append_printf (out, "names with these hashes are on %s: ",
                                priv->children[i]->name);
        range_print (&layout->ranges[i], out);
        g_string_append_c (out, '\n');
    }
    if (!layout_is_whole (layout))
        g_string_append (out, "the ranges have holes, or overlap: the next lookup heals them\n");
}

static void
explain_name (xlator_t *this, inode_t *inode, int cached, GString *out)
{
    const dht_private_t *priv = this->private;
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    int hashed;

    if (!inode_a_name (inode, &parent, &name))
        return;
    hashed = name_hashed (this, parent, name);
    g_string_append_printf (out, "the hash of '%s' is 0x%08x (rsync-hash-regex, extra-hash-regex), "
                            "which is on %s\n", name, hash_name (&priv->rules, name),
                            child_name (priv, hashed));
    if (hashed != cached && hashed != NO_CHILD)
        g_string_append_printf (out, "%s has a linkto: an empty file that names %s\n",
                                child_name (priv, hashed), child_name (priv, cached));
}

void
dht_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const dht_private_t *priv = this->private;
    struct layout *layout = inode ? inode_layout (this, inode) : NULL;
    const int cached = inode ? inode_cached (this, inode) : NO_CHILD;

    if (layout) {
        explain_directory (this, layout, out);
    } else if (cached == NO_CHILD) {
        g_string_append (out, "not looked up yet, so its subvolume is not known\n");
    } else {
        g_string_append_printf (out, "the file is on %s%s\n", child_name (priv, cached),
                                child_is_up (priv, (unsigned) cached) ? "" : ", which is down");
        if (inode_target (this, inode) != NO_CHILD)
            g_string_append_printf (out, "a rebalance copies it to %s\n",
                                    child_name (priv, inode_target (this, inode)));
        explain_name (this, inode, cached, out);
    }
    layout_unref (layout);
}

/* --- a virtual attribute ---------------------------------------------------------------------- */

dict_t *
virtual_xattr (xlator_t *this, inode_t *directory, const char *name)
{
    const dht_private_t *priv = this->private;
    dict_t *dict;
    int hashed;

    if (!name || !directory || directory->ia_type != IA_IFDIR
        || !g_str_has_prefix (name, HASHED_PREFIX))
        return NULL;
    hashed = name_hashed (this, directory, name + strlen (HASHED_PREFIX));
    if (hashed == NO_CHILD)
        return NULL;
    dict = dict_new ();
    dict_set_str (dict, name, priv->children[hashed]->name);
    return dict;
}

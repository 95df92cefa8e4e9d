/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cut: undoes changes that are not durable, and reports the losses. */
#include "power-cut.h"

#include <errno.h>

/* --- attributes --- */

static int
undo_attributes (xlator_t *this, const struct cut_node *node)
{
    const struct cut_meta_log *meta = node->meta;
    GHashTableIter iter;
    gpointer name, value;
    uint32_t valid = 0;
    int r = 0;

    if (meta->changed & CUT_META_OWNER)
        valid |= IATT_UID | IATT_GID;
    if (meta->changed & (CUT_META_MODE | CUT_META_OWNER))
        valid |= IATT_MODE;
    if (meta->xattrs) {
        g_hash_table_iter_init (&iter, meta->xattrs);
        while (r == 0 && g_hash_table_iter_next (&iter, &name, &value))
            r = cut_set_xattr (this, node->inode, name, value);
    }
    return r < 0 ? r
                 : cut_set_meta (this, node->inode, &meta->old, valid | IATT_ATIME | IATT_MTIME);
}

void
cut_undo_meta (xlator_t *this, struct cut_losses *losses)
{
    power_cut_private_t *priv = cut_priv (this);

    for (GList *at = priv->disk->log.dirty.head; at; at = at->next) {
        const struct cut_node *node = at->data;
        g_autofree char *path = NULL;
        int r;

        if (!node->meta || node->gone
            || (priv->rules.metadata == CUT_METADATA_RANDOM
                && random_once_in (&priv->disk->log.chance, 2)))
            continue;
        path = inode_path (node->inode, NULL);
        r = undo_attributes (this, node);
        if (r == -ENOENT || r == -ESTALE)
            continue; /* removed with its name */
        if (r < 0)
            cut_losses_fail (this, losses, path, r);
        if (!(node->meta->changed & ~CUT_META_TIMES))
            continue;
        losses->metadata++;
        cut_losses_say (losses, "%s: attributes", path);
    }
}

/* --- the whole cut --- */

void
cut_undo (xlator_t *this, GString *answer)
{
    struct cut_losses losses = { .lines = g_string_new (NULL) };

    cut_undo_data (this, &losses);
    cut_undo_names (this, &losses);
    cut_undo_meta (this, &losses);
    cut_losses_report (this, &losses, answer);
    g_string_free (losses.lines, TRUE);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Old attributes: mode, owner, times and extended attributes. */
#include "power-cut.h"

#include <errno.h>

static void
value_unref (gpointer bytes)
{
    if (bytes)
        g_bytes_unref (bytes);
}

static bool
is_tracked (const xlator_t *this, const struct cut_node *node)
{
    const ia_type_t type = node->inode->ia_type;

    /* No other type can be opened, so it could never be synced. */
    return cut_priv (this)->rules.metadata != CUT_METADATA_KEEP
        && (type == IA_IFREG || type == IA_IFDIR);
}

int
cut_meta_touch (xlator_t *this, struct cut_node *node, fd_t *fd, unsigned what)
{
    struct iatt buf;
    int r;

    if (!is_tracked (this, node))
        return 0;
    if (!node->meta) {
        r = cut_stat (this, node->inode, fd, &buf);
        if (r < 0 || (buf.ia_nlink == 0 && !node->nameless))
            return r;
        node->meta = g_new0 (struct cut_meta_log, 1);
        node->meta->old = buf;
        cut_node_dirty (this, node);
    }
    node->meta->changed |= what;
    return 0;
}

int
cut_meta_touch_xattr (xlator_t *this, struct cut_node *node, const char *name)
{
    GBytes *value;
    /* an ACL changes the mode as well */
    int r = cut_meta_touch (this, node, NULL, CUT_META_XATTRS | CUT_META_MODE);

    if (r < 0 || !node->meta)
        return r;
    if (!node->meta->xattrs)
        node->meta->xattrs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, value_unref);
    if (g_hash_table_contains (node->meta->xattrs, name))
        return 0;
    r = cut_get_xattr (this, node->inode, name, &value);
    if (r == 0)
        g_hash_table_insert (node->meta->xattrs, g_strdup (name), value);
    /* the change will fail as well, or the attribute is outside of the model */
    return r == -EOPNOTSUPP || r == -EPERM || r == -EACCES ? 0 : r;
}

void
cut_meta_durable (xlator_t *this, struct cut_node *node, unsigned what)
{
    if (!node->meta)
        return;
    node->meta->changed &= ~what;
    if (node->meta->changed)
        return;
    g_clear_pointer (&node->meta->xattrs, g_hash_table_unref);
    g_clear_pointer (&node->meta, g_free);
    cut_node_cleaned (this, node);
}

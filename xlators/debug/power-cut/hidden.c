/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hidden folder. A file whose last name may have to come back at a cut gets a second name in it
 * before the first one is removed. The folder is made on demand and removed at the end. If a daemon
 * was killed, the next one removes what it left. Translators above see neither the folder nor the
 * links that it adds.
 */
#include "power-cut.h"

#include <errno.h>
#include <string.h>

char *
cut_aside_name (uint64_t number)
{
    return g_strdup_printf ("%" G_GUINT64_FORMAT, number);
}

/* --- content --- */

int
cut_hidden_need (xlator_t *this)
{
    struct cut_log *log = &cut_disk (this)->log;

    return log->hidden ? 0 : cut_mkdir (this, log->root, CUT_HIDDEN, 0700, &log->hidden);
}

void
cut_hidden_sweep (xlator_t *this)
{
    struct cut_log *log = &cut_disk (this)->log;
    int r = cut_remove_tree (this, log->root, CUT_HIDDEN);

    g_clear_pointer (&log->hidden, inode_unref);
    log->swept = true;
    if (r < 0 && r != -ENOENT)
        gf_log (this, GF_LOG_WARNING, "can't remove '/" CUT_HIDDEN "': %s", g_strerror (-r));
}

static void
aside_count (xlator_t *this, const gfid_t *gfid, bool add)
{
    power_cut_private_t *priv = cut_priv (this);

    pthread_mutex_lock (&priv->disk->asides_lock);
    if (add)
        g_hash_table_add (priv->disk->asides, g_memdup2 (gfid, sizeof *gfid));
    else
        g_hash_table_remove (priv->disk->asides, gfid);
    __atomic_store_n (&priv->disk->aside_count, g_hash_table_size (priv->disk->asides),
                      __ATOMIC_RELAXED);
    pthread_mutex_unlock (&priv->disk->asides_lock);
}

int
cut_aside_make (xlator_t *this, struct cut_node *node)
{
    struct cut_log *log = &cut_disk (this)->log;
    g_autofree char *name = NULL;
    int r = node->aside ? 0 : cut_hidden_need (this);

    if (r < 0 || node->aside)
        return r;
    name = cut_aside_name (++log->numbers);
    aside_count (this, &node->gfid, true); /* before the link exists: a caller may briefly see one
                                              link too few, but never one too many */
    r = cut_link (this, node->inode, log->hidden, name);
    if (r == 0)
        node->aside = log->numbers;
    else
        aside_count (this, &node->gfid, false);
    return r;
}

int
cut_aside_move (xlator_t *this, struct cut_node *node, inode_t *dir, const char *name)
{
    struct cut_log *log = &cut_disk (this)->log;
    g_autofree char *aside = cut_aside_name (++log->numbers);
    int r = cut_hidden_need (this);

    if (r == 0)
        r = cut_rename (this, node->inode, dir, name, log->hidden, aside);
    if (r == 0)
        node->aside = log->numbers;
    return r;
}

/* If this was the last name, the file is gone, and so is its log. */
void
cut_aside_drop (xlator_t *this, struct cut_node *node)
{
    struct cut_log *log = &cut_disk (this)->log;
    g_autofree char *name = NULL;
    struct iatt buf = { .ia_nlink = 2 };
    int r;

    if (!node->aside)
        return;
    name = cut_aside_name (node->aside);
    cut_stat (this, node->inode, NULL, &buf);
    r = cut_remove (this, log->hidden, name, node->inode);
    if (r < 0)
        gf_log (this, GF_LOG_WARNING, "can't remove '/" CUT_HIDDEN "/%s': %s", name,
                g_strerror (-r));
    node->aside = 0;
    aside_count (this, &node->gfid, false);
    if (buf.ia_nlink == 1) {
        node->refs++;
        cut_data_durable (this, node);
        cut_meta_durable (this, node, ~0u);
        cut_node_unref (this, node);
    }
}

/* --- view from above --- */

bool
cut_hides (xlator_t *this, inode_t *directory, const char *name)
{
    return gfid_equal (&directory->gfid, &gfid_root) && strcmp (name, CUT_HIDDEN) == 0;
}

void
cut_uncount (xlator_t *this, struct iatt *buf)
{
    power_cut_private_t *priv = cut_priv (this);

    if (!buf || __atomic_load_n (&priv->disk->aside_count, __ATOMIC_RELAXED) == 0)
        return;
    pthread_mutex_lock (&priv->disk->asides_lock);
    if (buf->ia_nlink > 0 && g_hash_table_contains (priv->disk->asides, &buf->ia_gfid))
        buf->ia_nlink--;
    pthread_mutex_unlock (&priv->disk->asides_lock);
}

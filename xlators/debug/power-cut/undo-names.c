/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cut of names. First, all lost names are moved out of the way, to the hidden folder. Then
 * durable names are put back. At last, the rest of the hidden folder is removed. So changes need
 * not be undone in reverse order, and no name is in the way of another.
 */
#include "power-cut.h"

#include <errno.h>

/* --- selection --- */

static bool
group_is_lost (xlator_t *this, struct cut_group *group)
{
    power_cut_private_t *priv = cut_priv (this);

    if (!group->decided)
        group->lost = priv->rules.names != CUT_NAMES_RANDOM
                   || random_once_in (&priv->disk->log.chance, 2);
    group->decided = true;
    return group->lost;
}

static void
say_lost (const struct cut_slot *slot, struct cut_losses *losses)
{
    g_autofree char *path = inode_path (slot->dir->inode, slot->name);

    losses->names++;
    if (!slot->durable)
        cut_losses_say (losses, "%s: the name is gone", path);
    else if (!slot->current)
        cut_losses_say (losses, "%s: the name is back", path);
    else
        cut_losses_say (losses, "%s: the name stands for what it stood for", path);
}

/* In the order in which they became dirty, so that a seed always selects the same. */
static GPtrArray *
choose_lost (xlator_t *this, struct cut_losses *losses)
{
    GPtrArray *lost = g_ptr_array_new ();

    for (GList *at = cut_disk (this)->log.slots.head; at; at = at->next) {
        struct cut_slot *slot = at->data;
        if (!group_is_lost (this, slot->group))
            continue;
        say_lost (slot, losses);
        g_ptr_array_add (lost, slot);
    }
    return lost;
}

/* --- moving away --- */

static int
vacate (xlator_t *this, struct cut_slot *slot)
{
    struct cut_node *node = slot->current;
    int r = 0;

    if (node->inode->ia_type == IA_IFDIR)
        return cut_aside_move (this, node, slot->dir->inode, slot->name);
    if (node->durable_refs > 0)
        r = cut_aside_make (this, node);
    return r < 0 ? r : cut_remove (this, slot->dir->inode, slot->name, node->inode);
}

/* --- putting back --- */

/* Makes a removed directory again: it was empty. */
static int
revive (xlator_t *this, struct cut_node *node, inode_t *dir, const char *name)
{
    inode_t *inode;
    int r = cut_mkdir (this, dir, name, node->old.ia_prot, &inode);

    if (r < 0)
        return r;
    inode_unref (node->inode);
    node->inode = inode;
    node->gone = false;
    for (size_t i = 0; i < dict_count (node->xattrs); i++) {
        g_autoptr (GBytes) bytes = NULL;
        const char *key;
        const void *value;
        size_t size;

        dict_nth (node->xattrs, i, &key, &value, &size);
        bytes = g_bytes_new (value, size);
        cut_set_xattr (this, inode, key, bytes); /* errors are ignored */
    }
    return cut_set_meta (this, inode, &node->old, IATT_MODE | IATT_UID | IATT_GID);
}

static int
put_back (xlator_t *this, struct cut_slot *slot)
{
    struct cut_node *node = slot->durable;
    inode_t *dir = slot->dir->inode;
    g_autofree char *aside = cut_aside_name (node->aside);
    int r;

    if (node->inode->ia_type != IA_IFDIR)
        return cut_link (this, node->inode, dir, slot->name);
    if (node->gone)
        return revive (this, node, dir, slot->name);
    if (!node->aside)
        return -ESTALE;
    r = cut_rename (this, node->inode, cut_disk (this)->log.hidden, aside, dir, slot->name);
    if (r == 0)
        node->aside = 0;
    return r;
}

struct restoring {
    GHashTable *places; /* removed directory -> the lost slot that it comes back to */
    GHashTable *done;   /* slots */
    struct cut_losses *losses;
};

/* Restores a removed directory before names in it. If a directory does not come back, names in it
 * don't either. */
static void
restore (xlator_t *this, struct restoring *restoring, struct cut_slot *slot)
{
    struct cut_slot *first = slot->dir->gone ? g_hash_table_lookup (restoring->places, slot->dir)
                                             : NULL;
    int r;

    if (!slot->durable || !g_hash_table_add (restoring->done, slot))
        return;
    if (first)
        restore (this, restoring, first);
    if (slot->dir->gone)
        return;
    r = put_back (this, slot);
    if (r < 0)
        cut_losses_fail (this, restoring->losses, slot->name, r);
}

static void
forget_asides (xlator_t *this)
{
    power_cut_private_t *priv = cut_priv (this);
    GHashTableIter iter;
    gpointer node;

    g_hash_table_iter_init (&iter, priv->disk->log.nodes);
    while (g_hash_table_iter_next (&iter, NULL, &node))
        ((struct cut_node *) node)->aside = 0;
    pthread_mutex_lock (&priv->disk->asides_lock);
    g_hash_table_remove_all (priv->disk->asides);
    __atomic_store_n (&priv->disk->aside_count, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&priv->disk->asides_lock);
}

void
cut_undo_names (xlator_t *this, struct cut_losses *losses)
{
    g_autoptr (GPtrArray) lost = choose_lost (this, losses);
    g_autoptr (GHashTable) places = g_hash_table_new (NULL, NULL),
                           done = g_hash_table_new (NULL, NULL);
    struct restoring restoring = { places, done, losses };

    for (guint i = 0; i < lost->len; i++) {
        struct cut_slot *slot = lost->pdata[i];
        int r = slot->current ? vacate (this, slot) : 0;

        if (r < 0)
            cut_losses_fail (this, losses, slot->name, r);
        if (slot->durable && slot->durable->gone)
            g_hash_table_insert (places, slot->durable, slot);
    }
    for (guint i = 0; i < lost->len; i++)
        restore (this, &restoring, lost->pdata[i]);
    if (cut_disk (this)->log.hidden)
        cut_hidden_sweep (this);
    forget_asides (this);
}

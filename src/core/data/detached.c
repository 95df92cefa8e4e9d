/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inodes that were taken out of the table (inode_detach), and the walks that find them all the
 * same. */
#include "core/data/itable.h"

/* --- detaching -------------------------------------------------------------------------------- */

/* Drops a directory's known names. An inode without another name follows: todo gets it, with a
 * reference. */
static void
children_drop_locked (inode_t *directory, GQueue *todo, GSList **gone)
{
    while (directory->children) {
        inode_t *child = inode_ref_locked (directory->children->inode);

        dentry_drop_locked (directory->children, gone);
        if (child->names)
            inode_unref_locked (child, gone);
        else
            g_queue_push_tail (todo, child);
    }
}

static void
inode_detach_locked (inode_t *inode, GSList **gone)
{
    struct itable *table = inode->table;

    while (inode->names)
        dentry_drop_locked (inode->names, gone);
    if (inode->detached)
        return;
    __atomic_store_n (&inode->detached, true, __ATOMIC_RELAXED);
    g_hash_table_add (table->detached, inode);
    if (g_hash_table_lookup (table->by_gfid, &inode->gfid) == &inode->gfid)
        g_hash_table_remove (table->by_gfid, &inode->gfid);
}

void
inode_detach (inode_t *inode)
{
    struct itable *table = inode->table;
    GQueue todo = G_QUEUE_INIT;
    GSList *gone = NULL;

    g_assert (inode != table->root);
    pthread_mutex_lock (&table->lock);
    g_queue_push_tail (&todo, inode_ref_locked (inode));
    while ((inode = g_queue_pop_head (&todo))) {
        children_drop_locked (inode, &todo, &gone);
        inode_detach_locked (inode, &gone);
        inode_unref_locked (inode, &gone);
    }
    itable_unlock (table, gone);
}

/* --- walks over all inodes -------------------------------------------------------------------- */

/* Calls see for each inode, linked or detached, until it returns false. */
static void
itable_walk_locked (struct itable *table, bool (*see) (inode_t *inode, void *data), void *data)
{
    GHashTableIter iter;
    gpointer key;
    bool more = true;

    g_hash_table_iter_init (&iter, table->by_gfid);
    while (more && g_hash_table_iter_next (&iter, &key, NULL))
        more = see (inode_of_gfid_key (key), data);
    g_hash_table_iter_init (&iter, table->detached);
    while (more && g_hash_table_iter_next (&iter, &key, NULL))
        more = see (key, data);
}

static bool
inode_hold_locked (inode_t *inode, void *data)
{
    g_ptr_array_add (data, inode_ref_locked (inode));
    return true;
}

void
itable_foreach (struct itable *table, void (*fn) (inode_t *inode, void *data), void *data)
{
    g_autoptr (GPtrArray) inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);

    pthread_mutex_lock (&table->lock);
    itable_walk_locked (table, inode_hold_locked, inodes);
    pthread_mutex_unlock (&table->lock);
    for (guint i = 0; i < inodes->len; i++)
        fn (inodes->pdata[i], data);
}

struct entries {
    GArray *list; /* of struct itable_entry */
    unsigned max;
};

static bool
entry_add_locked (inode_t *inode, void *data)
{
    const struct entries *entries = data;
    const struct itable_entry entry = { inode, inode->nlookup,
                                        __atomic_load_n (&inode->refs, __ATOMIC_RELAXED),
                                        inode->forgotten != NULL };

    if (entries->list->len >= entries->max)
        return false;
    inode_ref_locked (inode);
    g_array_append_val (entries->list, entry);
    return true;
}

GArray *
itable_some (struct itable *table, unsigned max)
{
    struct entries entries = { g_array_new (FALSE, FALSE, sizeof (struct itable_entry)), max };

    pthread_mutex_lock (&table->lock);
    itable_walk_locked (table, entry_add_locked, &entries);
    pthread_mutex_unlock (&table->lock);
    return entries.list;
}

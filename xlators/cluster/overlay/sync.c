/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names of copies after a power cut. A program that has changed a lower's file and synced it
 * relies on the change. So the copy's name has to be on the disk, and those of the directories that
 * were copied on the way to it; the program did not make these names, and will not sync them.
 *
 * To sync each directory at each copy would cost a second wait for the disk. Instead the overlay
 * notes the directories of the upper in which copies got names. A sync of a file or directory
 * first syncs those of them that lie above it.
 */
#include "overlay.h"

#define UNSYNCED_MAX 1000 /* directories; with one more, all are synced at once */

static unsigned
unsynced_count (const struct overlay_shared *parts)
{
    return __atomic_load_n (&parts->n_unsynced, __ATOMIC_RELAXED);
}

static void
unsynced_add (struct overlay_shared *parts, inode_t *directory)
{
    pthread_mutex_lock (&parts->lock);
    g_hash_table_add (parts->unsynced, inode_ref (directory));
    __atomic_store_n (&parts->n_unsynced, g_hash_table_size (parts->unsynced), __ATOMIC_RELEASE);
    pthread_mutex_unlock (&parts->lock);
}

/* Returns whether the directory was noted; it is noted no longer. */
static bool
unsynced_take (struct overlay_shared *parts, inode_t *directory)
{
    G_GNUC_UNUSED g_autoptr (inode_t) kept = inode_ref (directory);
    bool noted;

    pthread_mutex_lock (&parts->lock);
    noted = g_hash_table_remove (parts->unsynced, directory);
    __atomic_store_n (&parts->n_unsynced, g_hash_table_size (parts->unsynced), __ATOMIC_RELEASE);
    pthread_mutex_unlock (&parts->lock);
    return noted;
}

/* --- directories ------------------------------------------------------------------------------ */

int
overlay_sync_inode (struct overlay_act *act, unsigned slot, inode_t *directory)
{
    return sync_name_fsyncdir (overlay_daemon (act, slot), overlay_fds (act, slot), directory);
}

/* A name that comes while the directory is synced notes it again. */
int
overlay_sync_directory (struct overlay_act *act, inode_t *directory)
{
    struct overlay_shared *parts = overlay_priv (act->this)->parts;
    int r;

    if (!unsynced_take (parts, directory))
        return 0;
    r = overlay_sync_inode (act, OVERLAY_UPPER, directory);
    if (r == -ENOENT || r == -ESTALE)
        return 0; /* removed meanwhile */
    if (r < 0)
        unsynced_add (parts, directory);
    return r;
}

static void
sync_each_parent (inode_t *parent, const char *name, void *parents)
{
    g_ptr_array_add (parents, inode_ref (parent));
}

/* The way from a directory of the upper to the table's root. */
static int
sync_up (struct overlay_act *act, inode_t *directory)
{
    g_autoptr (inode_t) at = inode_ref (directory);
    int r = overlay_sync_directory (act, at);

    while (r == 0 && unsynced_count (overlay_priv (act->this)->parts) > 0) {
        g_autofree char *name = NULL;
        inode_t *parent;

        if (!inode_a_name (at, &parent, &name))
            break;
        inode_unref (at);
        at = parent;
        r = overlay_sync_directory (act, at);
    }
    return r;
}

/* Syncs the names of copies on the way to an inode above. */
static int
overlay_sync_way (struct overlay_act *act, inode_t *inode)
{
    g_autoptr (GPtrArray) parents = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);
    const unsigned slot = overlay_slot (act->this, inode);
    inode_t *below = NULL;
    int r = 0;

    if (slot <= overlay_priv (act->this)->frozen) /* before the freeze it was in the upper */
        below = realm_below (act->this, inode, slot);
    if (below)
        inode_each_name (below, sync_each_parent, parents);
    for (guint i = 0; r == 0 && i < parents->len; i++)
        r = sync_up (act, parents->pdata[i]);
    return r;
}

int
overlay_sync_all (struct overlay_act *act)
{
    struct overlay_shared *parts = overlay_priv (act->this)->parts;
    g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);
    GHashTableIter at;
    gpointer directory;
    int r = 0;

    pthread_mutex_lock (&parts->lock);
    g_hash_table_iter_init (&at, parts->unsynced);
    while (g_hash_table_iter_next (&at, &directory, NULL))
        g_ptr_array_add (all, inode_ref (directory));
    pthread_mutex_unlock (&parts->lock);
    for (guint i = 0; i < all->len; i++) {
        const int one = overlay_sync_directory (act, all->pdata[i]);

        r = r == 0 ? one : r;
    }
    return r;
}

void
overlay_unsynced (xlator_t *this, inode_t *directory)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    struct overlay_act act;

    unsynced_add (parts, directory);
    if (unsynced_count (parts) <= UNSYNCED_MAX)
        return;
    overlay_act_begin (&act, this, NULL, realm_root_above (this));
    (void) overlay_sync_all (&act);
    overlay_act_end (&act);
}

/* The tables end with the last graph, so nothing in them is noted any more. */
static void
unsynced_forget (struct overlay_shared *parts)
{
    pthread_mutex_lock (&parts->lock);
    if (__atomic_load_n (&parts->shared.refs, __ATOMIC_ACQUIRE) == 1)
        g_hash_table_remove_all (parts->unsynced);
    pthread_mutex_unlock (&parts->lock);
}

void
overlay_sync_ending (xlator_t *this)
{
    struct overlay_act act;
    int r;

    overlay_act_begin (&act, this, NULL, realm_root_above (this));
    r = overlay_sync_all (&act);
    overlay_act_end (&act);
    if (r < 0)
        gf_log (this, GF_LOG_WARNING, "a directory of '%s' can't be synced: %s",
                overlay_priv (this)->upper, g_strerror (-r));
    unsynced_forget (overlay_priv (this)->parts);
}

/* --- operations ------------------------------------------------------------------------------- */

void
overlay_sync (const struct call *call)
{
    struct overlay_act act;
    int r;

    overlay_act_begin (&act, call->this, call->frame, call->fd->inode);
    r = overlay_sync_way (&act, call->fd->inode);
    overlay_act_end (&act);
    if (r < 0)
        call_fail (call, -r);
    else
        overlay_pass (call);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "temporaries.h"

/* --- the store -------------------------------------------------------------------------------- */

void
overlay_temporary_add (xlator_t *this, const char *path)
{
    g_autofree char *key = g_strconcat (TEMPORARY_KEY, path, NULL);

    store_set (overlay_priv (this)->records, key, "", 0);
}

static void
temporary_list (const char *key, GBytes *value, void *paths)
{
    g_ptr_array_add (paths, g_strdup (key + strlen (TEMPORARY_KEY)));
}

static void
temporaries_forget (xlator_t *this, const GPtrArray *paths)
{
    for (guint i = 0; i < paths->len; i++) {
        g_autofree char *key = g_strconcat (TEMPORARY_KEY, (const char *) paths->pdata[i], NULL);

        store_remove (overlay_priv (this)->records, key);
    }
}

bool
overlay_is_temporary (xlator_t *this, unsigned slot, inode_t *directory, const char *name)
{
    const overlay_private_t *priv = overlay_priv (this);
    g_autofree char *path = NULL, *key = NULL;
    g_autoptr (GBytes) value = NULL;

    if (slot + 1 != priv->n || !priv->records || !g_str_has_prefix (name, TEMPORARY_NAME))
        return false;
    path = inode_path (directory, name);
    key = g_strconcat (TEMPORARY_KEY, path, NULL);
    value = store_get (priv->records, key);
    return value != NULL;
}

/* --- removal ---------------------------------------------------------------------------------- */

/* Removes the object of a path in the base, if it is there, and adds its directory to a set. */
static int
temporary_remove (struct overlay_act *act, const char *path, GHashTable *directories)
{
    const unsigned base = overlay_priv (act->this)->n - 1;
    g_auto (GStrv) names = g_strsplit (path + 1, "/", -1);
    const guint last = g_strv_length (names) - 1;
    inode_t *root = realm_below (act->this, itable_root (act->above), base);
    g_autoptr (inode_t) at = NULL;
    struct iatt buf;
    int r = g_str_has_prefix (names[last], TEMPORARY_NAME) ? 0 : -EINVAL;

    if (r == 0)
        r = overlay_walk (act, base, root, names, last, false, &at, &buf);
    if (r == 0)
        r = sync_name_remove_tree (overlay_daemon (act, base), overlay_fds (act, base), at,
                                   names[last]);
    if (at)
        g_hash_table_add (directories, inode_ref (at));
    return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* A power cut may not bring a name back that the store has forgotten. */
static int
temporaries_sync (struct overlay_act *act, GHashTable *directories)
{
    const unsigned base = overlay_priv (act->this)->n - 1;
    GHashTableIter at;
    void *directory;
    int r = 0;

    g_hash_table_iter_init (&at, directories);
    while (r == 0 && g_hash_table_iter_next (&at, &directory, NULL))
        r = overlay_sync_inode (act, base, directory);
    return r;
}

int
overlay_temporaries_remove (struct overlay_act *act, char **ret_failed)
{
    g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GHashTable) directories =
        g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL);
    int r = 0;

    *ret_failed = NULL;
    store_each (overlay_priv (act->this)->records, TEMPORARY_KEY, temporary_list, paths);
    for (guint i = 0; r == 0 && i < paths->len; i++) {
        r = temporary_remove (act, paths->pdata[i], directories);
        if (r < 0)
            *ret_failed = g_strdup (paths->pdata[i]);
    }
    if (r == 0)
        r = temporaries_sync (act, directories);
    if (r == 0)
        temporaries_forget (act->this, paths);
    return r;
}

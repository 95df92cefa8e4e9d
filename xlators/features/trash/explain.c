/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports: numbers, and what a removal of a file would do. No file system is asked. */
#include "gluster/gluster.h"

#include <string.h>

static void
dump_number (GString *out, const char *name, const uint64_t *number)
{
    g_string_append_printf (out, "%s=%" G_GUINT64_FORMAT "\n", name,
                            __atomic_load_n (number, __ATOMIC_RELAXED));
}

void
trash_dump (xlator_t *this, GString *out)
{
    const trash_private_t *priv = this->private;

    g_string_append_printf (out, "stages=%u\n", __atomic_load_n (&priv->count, __ATOMIC_RELAXED));
    dump_number (out, "kept", &priv->kept);
    dump_number (out, "entries", &priv->made);
    dump_number (out, "evicted", &priv->evicted);
    dump_number (out, "removed_for_good", &priv->for_good);
    dump_number (out, "refused", &priv->refused);
    dump_number (out, "not_copied", &priv->uncopied);
}

/* The conditions that only the removal itself finds out, as the file is not accessed here. */
static void
explain_conditions (const trash_private_t *priv, enum trash_fate fate, const inode_t *inode,
                    GString *out)
{
    const uint64_t most = __atomic_load_n (&priv->max_filesize, __ATOMIC_RELAXED);

    if (most > 0 && !(inode && inode->ia_type == IA_IFDIR))
        g_string_append_printf (out,
                                "but is removed for good if it has more than %" G_GUINT64_FORMAT
                                " bytes (max-filesize)\n",
                                most);
    if (fate == TRASH_MAY_BE_ELIMINATED)
        g_string_append (out, "but is removed for good if a rule below that eliminates is for the "
                              "removal (rules)\n");
}

static void
explain_other_content (const trash_private_t *priv, const inode_t *inode, GString *out)
{
    const unsigned keep = __atomic_load_n (&priv->keep, __ATOMIC_RELAXED);

    if (inode && inode->ia_type == IA_IFDIR)
        return;
    if (keep & TRASH_OVERWRITTEN)
        g_string_append (out, "goes there, too, when a rename replaces it (keep)\n");
    if (priv->layout == TRASH_GLUSTER)
        g_string_append (out, "is copied there when it becomes shorter (layout gluster)\n");
    else if (keep & TRASH_TRUNCATED)
        g_string_append (out, "has its content copied there when it is cut or opened for writing "
                              "(keep)\n");
}

static void
explain_kept (const trash_private_t *priv, enum trash_fate fate, const inode_t *inode, GString *out)
{
    if (priv->layout == TRASH_GLUSTER)
        g_string_append_printf (out, "goes to '/%s' when it is removed (layout gluster)\n",
                                priv->directory);
    else if (inode && inode->ia_type == IA_IFDIR)
        g_string_append (out, "goes to the trash of the user who removes it, with what was removed "
                              "in it just before; if that is nothing, it is removed for good "
                              "(trash)\n");
    else
        g_string_append (out, "goes to the trash of the user who removes it (trash)\n");
    explain_conditions (priv, fate, inode, out);
    explain_other_content (priv, inode, out);
}

/* Returns why nothing of this type is kept, or NULL. */
static const char *
reason_of_type (const trash_private_t *priv, const inode_t *inode)
{
    const ia_type_t type = inode ? inode->ia_type : IA_INVAL;

    if (priv->layout == TRASH_GLUSTER)
        return type == IA_IFDIR ? "layout gluster keeps no directories" : NULL;
    return type == IA_INVAL || type == IA_IFREG || type == IA_IFLNK || type == IA_IFDIR
               ? NULL : "it has no content";
}

/* Returns the mount point of another file system that has the path, below the directory of the
 * storage; NULL: none is known. g_free it. */
static char *
mount_inside (const xlator_t *this, const char *path)
{
    const xlator_t *xl = this;
    char *point = NULL;

    while (xl->children && !xl->children->next && !xl->api->realms)
        xl = FIRST_CHILD (xl);
    for (guint i = 0; !xl->children && !point && xl->settings && i < xl->settings->len; i++) {
        const struct xlator_option *option =
            ((const struct option_setting *) xl->settings->pdata[i])->option;
        const struct root *root = option->root ? xlator_root (xl, option->key[0]) : NULL;

        point = root ? root_mount_inside (root, path) : NULL;
    }
    return point;
}

static void
explain_lack (const trash_private_t *priv, int lacks, GString *out)
{
    const bool refuses =
        __atomic_load_n (&priv->no_trash, __ATOMIC_RELAXED) == TRASH_LACK_REFUSE;

    g_string_append_printf (out, "%s, as no trash can be made: %s (no-trash)\n",
                            refuses ? "can't be removed" : "is removed for good",
                            error_name (lacks));
}

/* What a removal does. */
static void
explain_fate (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const trash_private_t *priv = this->private;
    const int lacks = __atomic_load_n (&priv->lacks, __ATOMIC_RELAXED);
    const char *pattern, *reason = reason_of_type (priv, inode);
    const enum trash_fate fate = trash_fate (this, path, inode, &pattern);
    g_autofree char *point = mount_inside (this, path);

    if (reason)
        g_string_append_printf (out, "is removed for good, as %s\n", reason);
    else if (pattern)
        g_string_append_printf (out, "is removed for good: '%s' names it (eliminate)\n", pattern);
    else if (fate == TRASH_IS_ELIMINATED)
        g_string_append (out, "is removed for good: a rule below eliminates it (rules)\n");
    else if (point)
        g_string_append_printf (out,
                                "is removed for good: it is in the mount '%s', and a file is not "
                                "moved out of a mount (EXDEV)\n",
                                point);
    else if (lacks)
        explain_lack (priv, lacks, out);
    else
        explain_kept (priv, fate, inode, out);
}

/* Removals that are no removals, or final ones. Returns false: the path is of another file. */
static bool
explain_place (const trash_private_t *priv, const char *path, GString *out)
{
    if (strcmp (path, "/") == 0 && !__atomic_load_n (&priv->lacks, __ATOMIC_RELAXED))
        g_string_append (out, "is the root, which can't be removed\n");
    else if (priv->layout == TRASH_GLUSTER && __atomic_load_n (&priv->on, __ATOMIC_RELAXED)
             && strcmp (path + 1, priv->directory) == 0)
        g_string_append (out, "is the trash: it can't be removed or renamed (trash-dir)\n");
    else if (trash_has (path) || trash_gluster_has (priv, path))
        g_string_append (out, "lies in a trash: removing it is final\n");
    else if (!__atomic_load_n (&priv->on, __ATOMIC_RELAXED))
        g_string_append (out, "keeps nothing that is removed (trash)\n");
    else
        return false;
    return true;
}

void
trash_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const trash_private_t *priv = this->private;
    const uint64_t lost = __atomic_load_n (&priv->for_good, __ATOMIC_RELAXED);
    const uint64_t refused = __atomic_load_n (&priv->refused, __ATOMIC_RELAXED);
    const uint64_t uncopied = __atomic_load_n (&priv->uncopied, __ATOMIC_RELAXED);
    const uint64_t evicted = __atomic_load_n (&priv->evicted, __ATOMIC_RELAXED);

    if (!explain_place (priv, path, out))
        explain_fate (this, path, inode, out);
    trash_rules_explain (this, path, inode, out);
    if (lost > 0)
        g_string_append_printf (
            out, "%" G_GUINT64_FORMAT " names were removed for good instead, lastly for %s\n", lost,
            error_name (__atomic_load_n (&priv->for_good_error, __ATOMIC_RELAXED)));
    if (evicted > 0)
        g_string_append_printf (out, "entries that limits have removed for good: %" G_GUINT64_FORMAT
                                     " (max-total, max-age, min-free)\n", evicted);
    if (refused > 0)
        g_string_append_printf (out, "%" G_GUINT64_FORMAT " removals failed, since no trash can be "
                                     "made (no-trash)\n", refused);
    if (uncopied > 0)
        g_string_append_printf (
            out, "%" G_GUINT64_FORMAT " files were cut or opened for writing without a copy, "
                 "lastly for %s\n",
            uncopied, error_name (__atomic_load_n (&priv->uncopied_error, __ATOMIC_RELAXED)));
}

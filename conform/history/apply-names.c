/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Applies operations on names to the model. If several errors are possible, the model gives the one
 * that the kernel and the file system check for first. */
#include "conform/history/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define UMASK 022

/* Returns whether the directory has not been removed. No name can be made in a removed
 * directory. */
static bool
directory_exists (const struct judge *judge, int directory)
{
    const struct model_node *node = model_node (judge->model, directory);

    return node && node->nlink > 0;
}

static bool
is_dir (const struct judge *judge, int number)
{
    const struct model_node *node = model_node (judge->model, number);

    return node && node->type == IA_IFDIR;
}

void
apply_lookup (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const int node = model_find (judge->model, seen->parent, seen->name);

    if (judge_goes_on (judge, node < 0 ? ENOENT : 0, directory_exists (judge, seen->parent)))
        judge_found (judge, node);
}

/* --- making --------------------------------------------------------------------------------- */

static int
new_error (const struct judge *judge, int directory, const char *name)
{
    if (model_find (judge->model, directory, name) >= 0)
        return EEXIST;
    return directory_exists (judge, directory) ? 0 : ENOENT;
}

/* Makes a file, directory or symbolic link in the model. It gets the number of the file in the
 * recorded answer, which must not be the number of another file. */
static void
apply_make (struct judge *judge, ia_type_t type, mode_t mode)
{
    const struct operation *seen = judge->seen;
    struct model_node *node;

    if (seen->found < 0 || !model_is_dead (judge->model, seen->found)) {
        judge_number (judge, "the new file's number is another's; it", seen->found, -1);
        return;
    }
    node = model_make (judge->model, seen->found, type, mode & ~UMASK);
    node->unseen = judge->unseen;
    model_name (judge->model, seen->parent, seen->name, seen->found);
    if (type == IA_IFLNK) {
        g_bytes_unref (node->bytes);
        node->bytes = g_bytes_ref (seen->bytes);
    }
    judge_iatt (judge, seen->found);
}

static void
apply_new (struct judge *judge, ia_type_t type)
{
    const struct operation *seen = judge->seen;

    if (judge_goes_on (judge, new_error (judge, seen->parent, seen->name),
                       directory_exists (judge, seen->parent)))
        apply_make (judge, type, seen->mode);
}

void
apply_mkdir (struct judge *judge)
{
    apply_new (judge, IA_IFDIR);
}

void
apply_symlink (struct judge *judge)
{
    apply_new (judge, IA_IFLNK);
}

/* Applies a create without O_EXCL of a name that exists. It opens the file that has the name
 * (there), or fails as an open of it would. */
static void
create_opens (struct judge *judge, int there)
{
    const struct model_node *node = model_node (judge->model, there);
    const int want = node->type == IA_IFDIR ? EISDIR : node->type == IA_IFLNK ? ELOOP : 0;

    if (!judge_goes_on (judge, want, true))
        return;
    if (judge->seen->flags & O_TRUNC) {
        struct model_node *change = model_change (judge->model, there);
        change->mtime = g_bytes_get_size (change->bytes) ? TIME_MOVED : TIME_UNKNOWN;
        node_resize (change, 0);
    }
    judge_found (judge, there);
    if (!judge->unseen)
        model_open (judge->model, judge->seen->fd, judge->seen->found, judge->seen->flags);
}

void
apply_create (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const int there = model_find (judge->model, seen->parent, seen->name);

    if (there >= 0 && !(seen->flags & O_EXCL)) {
        create_opens (judge, there);
        return;
    }
    if (!judge_goes_on (judge, new_error (judge, seen->parent, seen->name),
                        directory_exists (judge, seen->parent)))
        return;
    apply_make (judge, IA_IFREG, seen->mode);
    if (!judge->unseen && !judge->wrong)
        model_open (judge->model, seen->fd, seen->found, seen->flags);
}

/* A file that lies in the trash has a link, so it may get a name again. */
static bool
node_is_linkable (const struct judge *judge, const struct model_node *node)
{
    const struct operation *seen = judge->seen;

    return node
        && (node->nlink > 0
            || (seen->keeps_removed && node->kept && seen->ret >= 0 && !judge->unseen));
}

void
apply_link (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const struct model_node *node = model_node (judge->model, seen->node);
    const bool linkable = node_is_linkable (judge, node);
    int want = new_error (judge, seen->newparent, seen->newname);

    if (want == 0 && is_dir (judge, seen->node))
        want = EPERM;
    else if (want == 0 && !linkable)
        want = ENOENT;
    if (!judge_goes_on (judge, want, directory_exists (judge, seen->newparent) && linkable))
        return;
    model_name (judge->model, seen->newparent, seen->newname, seen->node);
    judge_iatt (judge, seen->node);
}

/* --- removing ------------------------------------------------------------------------------- */

static int
remove_error (const struct judge *judge, int node, bool directory)
{
    if (node < 0)
        return ENOENT;
    if (is_dir (judge, node) != directory)
        return directory ? ENOTDIR : EISDIR;
    return directory && model_node (judge->model, node)->entries->len ? ENOTEMPTY : 0;
}

static void
apply_remove (struct judge *judge, bool directory)
{
    const struct operation *seen = judge->seen;
    const int node = model_find (judge->model, seen->parent, seen->name);

    if (judge_goes_on (judge, remove_error (judge, node, directory),
                       directory_exists (judge, seen->parent)))
        model_unname (judge->model, seen->parent, seen->name);
}

void
apply_unlink (struct judge *judge)
{
    apply_remove (judge, false);
}

void
apply_rmdir (struct judge *judge)
{
    apply_remove (judge, true);
}

/* --- renaming ------------------------------------------------------------------------------- */

/* Returns whether `directory` is the same directory as `other`, or is somewhere below it. */
static bool
directory_is_below (const struct judge *judge, int directory, int other)
{
    const struct model_node *node;

    while (directory > 0 && directory != other && (node = model_node (judge->model, directory)))
        directory = node->parent;
    return directory == other;
}

/* Returns the errno of a rename of the file `from` to a name that the file `to` has, or 0. A
 * negative number means that no file has the name. The checks are in the order of Linux:
 * do_renameat2, vfs_rename, the file system. */
static int
rename_error (const struct judge *judge, int from, int to)
{
    const struct operation *seen = judge->seen;
    const bool exchange = seen->flags & RENAME_EXCHANGE;

    if (from < 0)
        return ENOENT;
    if (seen->flags & RENAME_NOREPLACE && to >= 0)
        return EEXIST;
    if (exchange && to < 0)
        return ENOENT;
    if (is_dir (judge, from) && directory_is_below (judge, seen->newparent, from))
        return EINVAL;
    if (to >= 0 && is_dir (judge, to) && directory_is_below (judge, seen->parent, to))
        return exchange ? EINVAL : ENOTEMPTY;
    if (from == to || exchange)
        return 0;
    if (to < 0)
        return directory_exists (judge, seen->newparent) ? 0 : ENOENT;
    if (is_dir (judge, from) != is_dir (judge, to))
        return is_dir (judge, from) ? ENOTDIR : EISDIR;
    return is_dir (judge, to) && model_node (judge->model, to)->entries->len ? ENOTEMPTY : 0;
}

void
apply_rename (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    struct model *model = judge->model;
    const int from = model_find (model, seen->parent, seen->name),
              to = model_find (model, seen->newparent, seen->newname);

    if (!judge_goes_on (judge, rename_error (judge, from, to),
                        directory_exists (judge, seen->parent)
                            && directory_exists (judge, seen->newparent)))
        return;
    if (from != to) {
        model_unname (model, seen->parent, seen->name);
        if (to >= 0)
            model_unname (model, seen->newparent, seen->newname);
        model_name (model, seen->newparent, seen->newname, from);
        if (seen->flags & RENAME_EXCHANGE)
            model_name (model, seen->parent, seen->name, to);
    }
}

/* --- listing -------------------------------------------------------------------------------- */

static char
node_letter (ia_type_t type)
{
    return type == IA_IFDIR ? 'd' : type == IA_IFLNK ? 'l' : 'f';
}

void
apply_readdir (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const struct model_node *node = model_node (judge->model, seen->node);

    if (!judge_goes_on (judge, 0, node && node->nlink > 0) || seen->inexact || judge->unseen
        || !node)
        return;
    GString *want = g_string_new (NULL), *is = g_string_new (NULL);
    for (guint i = 0; i < node->entries->len; i++) {
        const struct model_entry *entry = &g_array_index (node->entries, struct model_entry, i);
        g_string_append_printf (want, "%s%c ", entry->name,
                                node_letter (model_node (judge->model, entry->node)->type));
    }
    for (guint i = 0; seen->names && i < seen->names->len; i++)
        g_string_append_printf (is, "%s ", (const char *) seen->names->pdata[i]);
    g_autoptr (GBytes) a = g_string_free_to_bytes (is), b = g_string_free_to_bytes (want);
    judge_bytes (judge, "its names", a, b);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model: a file system in memory. To copy a model costs little, since a copy shares each file
 * with the original until one of the two models changes the file. */
#include "conform/history/model.h"

#include <string.h>

/* --- files ---------------------------------------------------------------------------------- */

static void
model_entry_clear (void *entry)
{
    g_free (((struct model_entry *) entry)->name);
}

static GArray *
entries_new (void)
{
    GArray *entries = g_array_new (FALSE, FALSE, sizeof (struct model_entry));

    g_array_set_clear_func (entries, model_entry_clear);
    return entries;
}

static struct model_node *
node_copy (const struct model_node *node)
{
    struct model_node *copy = g_memdup2 (node, sizeof *node);

    copy->refs = 1;
    copy->bytes = g_bytes_ref (node->bytes);
    for (int i = 0; i < XATTRS; i++)
        copy->xattrs[i] = node->xattrs[i] ? g_bytes_ref (node->xattrs[i]) : NULL;
    if (!node->entries)
        return copy;
    copy->entries = entries_new ();
    for (guint i = 0; i < node->entries->len; i++) {
        const struct model_entry *from = &g_array_index (node->entries, struct model_entry, i);
        const struct model_entry entry = { g_strdup (from->name), from->node };
        g_array_append_val (copy->entries, entry);
    }
    return copy;
}

static void
node_unref (void *data)
{
    struct model_node *node = data;

    if (!node || --node->refs > 0)
        return;
    g_bytes_unref (node->bytes);
    for (int i = 0; i < XATTRS; i++)
        g_clear_pointer (&node->xattrs[i], g_bytes_unref);
    if (node->entries)
        g_array_unref (node->entries);
    g_free (node);
}

static bool
node_bytes_equal (GBytes *a, GBytes *b)
{
    return a == b || (a && b && g_bytes_equal (a, b));
}

static bool
entries_equal (const GArray *a, const GArray *b)
{
    if (!a || !b || a->len != b->len)
        return a == b;
    for (guint i = 0; i < a->len; i++) {
        const struct model_entry *one = &g_array_index (a, struct model_entry, i),
                           *other = &g_array_index (b, struct model_entry, i);
        if (one->node != other->node || strcmp (one->name, other->name) != 0)
            return false;
    }
    return true;
}

static bool
node_equal (const struct model_node *a, const struct model_node *b)
{
    if (a == b || !a || !b)
        return a == b;
    bool same = a->type == b->type && a->mode == b->mode && a->nlink == b->nlink
             && a->kept == b->kept && a->mtime == b->mtime && a->parent == b->parent
             && node_bytes_equal (a->bytes, b->bytes) && entries_equal (a->entries, b->entries);
    for (int i = 0; i < XATTRS; i++)
        same = same && node_bytes_equal (a->xattrs[i], b->xattrs[i]);
    return same;
}

/* --- models --------------------------------------------------------------------------------- */

struct model *
model_new (void)
{
    struct model *model = g_new0 (struct model, 1);

    model->nodes = g_ptr_array_new_with_free_func (node_unref);
    model->fds = g_array_new (FALSE, TRUE, sizeof (struct model_fd));
    model_make (model, 0, IA_IFDIR, 0755)->nlink = 1;
    return model;
}

struct model *
model_copy (const struct model *model)
{
    struct model *copy = g_new0 (struct model, 1);

    copy->nodes = g_ptr_array_new_full (model->nodes->len, node_unref);
    copy->fds = g_array_copy (model->fds);
    for (guint i = 0; i < model->nodes->len; i++) {
        struct model_node *node = model->nodes->pdata[i];
        if (node)
            node->refs++;
        g_ptr_array_add (copy->nodes, node);
    }
    return copy;
}

void
model_free (struct model *model)
{
    g_ptr_array_unref (model->nodes);
    g_array_unref (model->fds);
    g_free (model);
}

static bool
fds_equal (const struct model *a, const struct model *b)
{
    for (guint i = 0; i < MAX (a->fds->len, b->fds->len); i++) {
        const struct model_fd *one = model_fd (a, i), *other = model_fd (b, i);
        if ((one ? one->node : -1) != (other ? other->node : -1))
            return false;
    }
    return true;
}

bool
model_equal (const struct model *a, const struct model *b)
{
    if (!fds_equal (a, b))
        return false;
    for (guint i = 0; i < MAX (a->nodes->len, b->nodes->len); i++)
        if (!node_equal (model_node (a, i), model_node (b, i)))
            return false;
    return true;
}

struct model_node *
model_node (const struct model *model, int number)
{
    return number >= 0 && (guint) number < model->nodes->len ? model->nodes->pdata[number] : NULL;
}

struct model_node *
model_change (struct model *model, int number)
{
    struct model_node *node = model_node (model, number);

    if (node->refs == 1)
        return node;
    model->nodes->pdata[number] = node_copy (node);
    node->refs--;
    return model->nodes->pdata[number];
}

struct model_node *
model_make (struct model *model, int number, ia_type_t type, mode_t mode)
{
    struct model_node *node = g_new0 (struct model_node, 1);

    *node = (struct model_node){ .refs = 1, .type = type, .mode = mode };
    node->bytes = g_bytes_new_static ("", 0);
    if (type == IA_IFDIR)
        node->entries = entries_new ();
    if ((guint) number >= model->nodes->len)
        g_ptr_array_set_size (model->nodes, number + 1);
    node_unref (model->nodes->pdata[number]);
    model->nodes->pdata[number] = node;
    return node;
}

/* --- open files ----------------------------------------------------------------------------- */

struct model_fd *
model_fd (const struct model *model, int number)
{
    struct model_fd *fd;

    if (number < 0 || (guint) number >= model->fds->len)
        return NULL;
    fd = &g_array_index (model->fds, struct model_fd, number);
    return fd->node >= 0 ? fd : NULL;
}

void
model_open (struct model *model, int number, int node, uint32_t flags)
{
    const struct model_fd none = { .node = -1 };

    while (model->fds->len <= (guint) number)
        g_array_append_val (model->fds, none);
    g_array_index (model->fds, struct model_fd, number) = (struct model_fd){ node, flags };
}

void
model_close (struct model *model, int number)
{
    struct model_fd *fd = model_fd (model, number);

    if (fd)
        fd->node = -1;
}

bool
model_is_dead (const struct model *model, int number)
{
    const struct model_node *node = model_node (model, number);
    bool dead = !node || node->nlink == 0;

    for (guint i = 0; i < model->fds->len && dead; i++)
        dead = !node || g_array_index (model->fds, struct model_fd, i).node != number;
    return dead;
}

/* --- names ---------------------------------------------------------------------------------- */

static guint
entries_place (const GArray *entries, const char *name)
{
    guint i = 0;

    while (i < entries->len
           && strcmp (g_array_index (entries, struct model_entry, i).name, name) < 0)
        i++;
    return i;
}

static struct model_entry *
model_entry (const struct model *model, int directory, const char *name)
{
    const struct model_node *dir = model_node (model, directory);
    const guint i = dir && dir->entries ? entries_place (dir->entries, name) : 0;
    struct model_entry *entry = dir && dir->entries && i < dir->entries->len
                            ? &g_array_index (dir->entries, struct model_entry, i)
                            : NULL;

    return entry && strcmp (entry->name, name) == 0 ? entry : NULL;
}

int
model_find (const struct model *model, int directory, const char *name)
{
    const struct model_entry *entry = model_entry (model, directory, name);

    return entry ? entry->node : -1;
}

void
model_name (struct model *model, int directory, const char *name, int number)
{
    struct model_node *dir = model_change (model, directory), *node = model_change (model, number);
    const struct model_entry entry = { g_strdup (name), number };

    g_array_insert_val (dir->entries, entries_place (dir->entries, name), entry);
    dir->mtime = TIME_MOVED;
    node->nlink++;
    if (node->entries)
        node->parent = directory;
}

void
model_unname (struct model *model, int directory, const char *name)
{
    const int number = model_find (model, directory, name);
    struct model_node *dir = model_change (model, directory), *node = model_change (model, number);

    g_array_remove_index (dir->entries, entries_place (dir->entries, name));
    dir->mtime = TIME_MOVED;
    node->nlink--;
    node->kept |= node->nlink == 0 && !node->entries;
}

static void
entries_renumber (struct model *model, int directory, int from, int to)
{
    const struct model_node *dir = model_node (model, directory);

    for (guint i = 0; dir && dir->entries && i < dir->entries->len; i++)
        if (g_array_index (dir->entries, struct model_entry, i).node == from)
            g_array_index (model_change (model, directory)->entries, struct model_entry, i).node
                = to;
    if (dir && dir->entries && dir->parent == from)
        model_change (model, directory)->parent = to;
}

void
model_renumber (struct model *model, int from, int to)
{
    if ((guint) to >= model->nodes->len)
        g_ptr_array_set_size (model->nodes, to + 1);
    node_unref (model->nodes->pdata[to]);
    model->nodes->pdata[to] = g_steal_pointer (&model->nodes->pdata[from]);
    for (guint i = 0; i < model->nodes->len; i++)
        entries_renumber (model, i, from, to);
    for (guint i = 0; i < model->fds->len; i++)
        if (g_array_index (model->fds, struct model_fd, i).node == from)
            g_array_index (model->fds, struct model_fd, i).node = to;
}

int
xattr_index (const char *name)
{
    return strcmp (name, "user.x") == 0 ? 0 : strcmp (name, "user.y") == 0 ? 1 : -1;
}

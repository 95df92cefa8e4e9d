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
             && a->kept == b->kept && a->stored == b->stored && a->mtime == b->mtime
             && a->parent == b->parent
             && node_bytes_equal (a->bytes, b->bytes) && entries_equal (a->entries, b->entries);
    for (int i = 0; i < XATTRS; i++)
        same = same && node_bytes_equal (a->xattrs[i], b->xattrs[i]);
    return same;
}

/* --- models --------------------------------------------------------------------------------- */

/* Returns an array of the same files. */
static GPtrArray *
nodes_share (const GPtrArray *nodes)
{
    GPtrArray *copy = g_ptr_array_new_full (nodes->len, node_unref);

    for (guint i = 0; i < nodes->len; i++) {
        struct model_node *node = nodes->pdata[i];
        if (node)
            node->refs++;
        g_ptr_array_add (copy, node);
    }
    return copy;
}

static struct model_node *
nodes_get (const GPtrArray *nodes, int number)
{
    return number >= 0 && (guint) number < nodes->len ? nodes->pdata[number] : NULL;
}

/* Replaces a file of the array; takes over the reference to node, which may be NULL. */
static void
nodes_set (GPtrArray *nodes, int number, struct model_node *node)
{
    if ((guint) number >= nodes->len)
        g_ptr_array_set_size (nodes, number + 1);
    node_unref (nodes->pdata[number]);
    nodes->pdata[number] = node;
}

static bool
nodes_equal (const GPtrArray *a, const GPtrArray *b)
{
    for (guint i = 0; a != b && i < MAX (a->len, b->len); i++)
        if (!node_equal (nodes_get (a, i), nodes_get (b, i)))
            return false;
    return true;
}

/* Returns the file with that number as a struct that no other array has. */
static struct model_node *
nodes_change (GPtrArray *nodes, int number)
{
    struct model_node *node = nodes_get (nodes, number);

    if (node->refs == 1)
        return node;
    nodes->pdata[number] = node_copy (node);
    node->refs--;
    return nodes->pdata[number];
}

struct model *
model_new (void)
{
    struct model *model = g_new0 (struct model, 1);

    model->nodes = g_ptr_array_new_with_free_func (node_unref);
    model->fds = g_array_new (FALSE, TRUE, sizeof (struct model_fd));
    model_make (model, 0, IA_IFDIR, 0755)->nlink = 1;
    model->base = nodes_share (model->nodes);
    return model;
}

struct model *
model_copy (const struct model *model)
{
    struct model *copy = g_new0 (struct model, 1);

    copy->nodes = nodes_share (model->nodes);
    copy->fds = g_array_copy (model->fds);
    copy->base = g_ptr_array_ref (model->base);
    return copy;
}

void
model_free (struct model *model)
{
    g_ptr_array_unref (model->nodes);
    g_ptr_array_unref (model->base);
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
    return fds_equal (a, b) && nodes_equal (a->nodes, b->nodes) && nodes_equal (a->base, b->base);
}

struct model_node *
model_node (const struct model *model, int number)
{
    return nodes_get (model->nodes, number);
}

struct model_node *
model_change (struct model *model, int number)
{
    return nodes_change (model->nodes, number);
}

struct model_node *
model_make (struct model *model, int number, ia_type_t type, mode_t mode)
{
    struct model_node *node = g_new0 (struct model_node, 1);

    *node = (struct model_node){ .refs = 1, .type = type, .mode = mode };
    node->bytes = g_bytes_new_static ("", 0);
    if (type == IA_IFDIR)
        node->entries = entries_new ();
    nodes_set (model->nodes, number, node);
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

/* --- numbers -------------------------------------------------------------------------------- */

static void
entries_renumber (GPtrArray *nodes, int directory, int from, int to)
{
    const struct model_node *dir = nodes_get (nodes, directory);

    for (guint i = 0; dir && dir->entries && i < dir->entries->len; i++)
        if (g_array_index (dir->entries, struct model_entry, i).node == from)
            g_array_index (nodes_change (nodes, directory)->entries, struct model_entry, i).node
                = to;
    if (dir && dir->entries && dir->parent == from)
        nodes_change (nodes, directory)->parent = to;
}

static void
nodes_renumber (GPtrArray *nodes, int from, int to)
{
    nodes_set (nodes, to, g_steal_pointer (&nodes->pdata[from]));
    for (guint i = 0; i < nodes->len; i++)
        entries_renumber (nodes, i, from, to);
}

void
model_renumber (struct model *model, int from, int to)
{
    if (nodes_get (model->base, from)) {
        GPtrArray *base = nodes_share (model->base);

        nodes_renumber (base, from, to);
        g_ptr_array_unref (model->base);
        model->base = base;
    }
    nodes_renumber (model->nodes, from, to);
    for (guint i = 0; i < model->fds->len; i++)
        if (g_array_index (model->fds, struct model_fd, i).node == from)
            g_array_index (model->fds, struct model_fd, i).node = to;
}

/* --- the base ------------------------------------------------------------------------------- */

void
model_keep (struct model *model, bool renumbers)
{
    for (guint i = 1; renumbers && i < model->nodes->len; i++)
        if (model->nodes->pdata[i] && model_node (model, i)->nlink > 0)
            model_change (model, i)->unseen = true;
    g_ptr_array_unref (model->base);
    model->base = nodes_share (model->nodes);
    for (guint i = 0; i < model->base->len; i++)
        if (model->base->pdata[i] && model_node (model, i)->nlink == 0)
            nodes_set (model->base, i, NULL);
}

/* Returns whether a client that has one of the files can't tell that it is the other, but for its
 * links. */
static bool
node_looks_like (const struct model_node *a, const struct model_node *b)
{
    bool same = a && b && a->type == b->type && a->mode == b->mode
             && (a->mtime <= 0 || b->mtime <= 0 || a->mtime == b->mtime)
             && node_bytes_equal (a->bytes, b->bytes);

    for (int i = 0; same && i < XATTRS; i++)
        same = node_bytes_equal (a->xattrs[i], b->xattrs[i]);
    return same;
}

/* Gives the file a number of its own, as a file that has no name; and its open files with it. */
static void
model_detach (struct model *model, const struct detached_file *file)
{
    const struct model_node *node = model_node (model, file->was),
                            *base = nodes_get (model->base, file->was);
    struct model_node *removed = node ? node_copy (node) : NULL;

    if (!removed)
        return;
    removed->stored = node_looks_like (node, base) ? base->nlink : MAX (node->nlink, 1);
    removed->nlink = 0;
    removed->unseen = false;
    if (removed->entries)
        g_array_set_size (removed->entries, 0);
    nodes_set (model->nodes, file->now, removed);
    for (guint i = 0; i < model->fds->len; i++)
        if (g_array_index (model->fds, struct model_fd, i).node == file->was)
            g_array_index (model->fds, struct model_fd, i).node = file->now;
}

/* Returns the number of an open file that was changed and is not detached, or -1. */
static int
model_changed_open (const struct model *model)
{
    for (guint i = 0; i < model->fds->len; i++) {
        const int number = g_array_index (model->fds, struct model_fd, i).node;
        const struct model_node *node = model_node (model, number);
        const struct model_node *base = nodes_get (model->base, number);

        if (node && (base || node->nlink > 0) && !node_looks_like (node, base))
            return number;
    }
    return -1;
}

char *
model_restore (struct model *model, const GArray *detached)
{
    int changed;

    for (guint i = 0; detached && i < detached->len; i++)
        model_detach (model, &g_array_index (detached, struct detached_file, i));
    changed = model_changed_open (model);
    if (changed >= 0)
        return g_strdup_printf ("the open file #%d goes on as a removed one", changed);
    for (guint i = 0; i < MAX (model->nodes->len, model->base->len); i++) {
        struct model_node *base = nodes_get (model->base, i), *node = model_node (model, i);

        if (base) {
            base->refs++;
            nodes_set (model->nodes, i, base);
        } else if (node && node->nlink > 0) {
            nodes_set (model->nodes, i, NULL);
        }
    }
    return NULL;
}

int
xattr_index (const char *name)
{
    return strcmp (name, "user.x") == 0 ? 0 : strcmp (name, "user.y") == 0 ? 1 : -1;
}

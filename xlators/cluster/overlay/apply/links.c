/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files with several names in the base. A change of such a file is one of all its names, though the
 * upper may have only one of them (names/links.c). So the plan gets an item for each further name
 * that the view shows: it becomes a name of the new object, too.
 *
 * The names are found by a walk of the whole base, which is made only if a file of the index has
 * changed.
 * An apply that was killed may have left some names with the new object of then. Those are found as
 * well, by the record of that apply, and all get one object again.
 */
#include "apply.h"
#include "../names/links.h"

/* A file of the upper, and the items that are names of it. */
struct apply_file {
    gfid_t before, after; /* in the base: as the view has copied it, and as an apply has made it; or
                           * null */
    GPtrArray *items;     /* those of the upper, not owned */
    GPtrArray *others;    /* those that the walk has made; owned until they are in the plan */
    unsigned names;       /* that the base has of the first */
    bool indexed;         /* the index has it */
    bool changes;         /* one of the items needs a new object */
    bool differs;         /* one of the others is not what its first item is in the base */
};

struct apply_links {
    struct apply *apply;
    GHashTable *by_upper; /* inode -> struct apply_file, owned */
    GHashTable *by_gfid;  /* gfid in the base -> struct apply_file */
    bool any_path;        /* a path of the order has no item: it may be a name of any file */
};

static void
file_free (void *data)
{
    struct apply_file *file = data;

    g_ptr_array_unref (file->items);
    g_ptr_array_unref (file->others);
    g_free (file);
}

/* --- the upper's files ------------------------------------------------------------------------ */

static int
file_add_item (struct apply_links *links, struct apply_item *item)
{
    struct apply_file *file = g_hash_table_lookup (links->by_upper, item->upper);
    int r = 0;

    if (!file) {
        file = g_new0 (struct apply_file, 1);
        file->items = g_ptr_array_new ();
        file->others = g_ptr_array_new_with_free_func (apply_item_free);
        g_hash_table_insert (links->by_upper, item->upper, file);
        r = apply_origin (links->apply, item, &file->before);
        if (r == 0 && !gfid_is_null (&file->before))
            r = overlay_index_has (&links->apply->act, &file->before, item->upper,
                                   &file->indexed);
    }
    g_ptr_array_add (file->items, item);
    file->changes |= apply_makes (item);
    if (gfid_is_null (&file->after))
        file->after = overlay_record_applied (links->apply->act.this, item->path);
    return r;
}

static int
files_collect (struct apply_links *links)
{
    int r = 0;

    for (guint i = 0; r == 0 && i < links->apply->items->len; i++) {
        struct apply_item *item = links->apply->items->pdata[i];

        if (item->upper && item->kind != 'D' && item->upper_buf.ia_type != IA_IFDIR
            && item->upper_buf.ia_nlink > 1)
            r = file_add_item (links, item);
    }
    return r;
}

/* Returns a name of the file that the order names; NULL: none. */
static const char *
file_chosen_path (const struct apply_file *file)
{
    const GPtrArray *const both[] = { file->items, file->others };

    for (size_t side = 0; side < G_N_ELEMENTS (both); side++)
        for (guint i = 0; i < both[side]->len; i++) {
            const struct apply_item *item = both[side]->pdata[i];

            if (item->chosen)
                return item->path;
        }
    return NULL;
}

/* Whether the base may have names of the file that have to change. The index has no file that had
 * one name when it was copied. */
static bool
file_needs_walk (const struct apply_links *links, const struct apply_file *file)
{
    bool applied = false;

    for (guint i = 0; i < file->items->len; i++) {
        const struct apply_item *item = file->items->pdata[i];

        applied |= item->base && !gfid_equal (&item->base->gfid, &file->before);
    }
    return file->indexed && (file->changes || applied)
        && (links->any_path || file_chosen_path (file));
}

/* --- the walk of the base --------------------------------------------------------------------- */

static struct apply_item *
items_above (const struct apply *apply, const char *path)
{
    g_autofree char *above = g_path_get_dirname (path);
    struct apply_item *item;

    while (!(item = g_hash_table_lookup (apply->by_path, above)) && above[1]) {
        char *next = g_path_get_dirname (above);

        g_free (above);
        above = next;
    }
    return item;
}

static bool
name_is_renamed (const struct apply *apply, const char *path)
{
    bool renamed = false;

    for (guint i = 0; !renamed && i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        renamed = item->from && apply_path_is_below (path, item->from);
    }
    return renamed;
}

/* Whether the view shows the base's name at its path. */
static bool
name_is_shown (const struct apply *apply, const char *path)
{
    const struct apply_item *above = items_above (apply, path);

    return !above || (above->kind == 'M' && !above->opaque);
}

static bool
links_are_wanted (const struct apply *apply, const char *path)
{
    bool wanted = false;

    for (char **one = apply->order->paths; *one; one++)
        wanted |= apply_path_is_below (path, *one);
    return wanted;
}

static void
file_add_other (struct apply *apply, struct apply_file *file, inode_t *directory, char *path,
                inode_t *inode, const struct iatt *buf)
{
    struct apply_item *item = g_new0 (struct apply_item, 1), *first = file->items->pdata[0];
    g_autofree char *above = g_path_get_dirname (path);

    *item = (struct apply_item){
        .kind = 'M', .what = DIFF_CONTENT, .path = path, .name = g_path_get_basename (path),
        .link_of = first, .parent = g_hash_table_lookup (apply->by_path, above),
        .upper = inode_ref (first->upper), .upper_buf = first->upper_buf,
        .chosen = links_are_wanted (apply, path),
        .base_directory = inode_ref (directory), .base = inode_ref (inode), .base_buf = *buf,
    };
    item->moved = name_is_renamed (apply, path) || (item->parent && item->parent->moved);
    file->differs |= !first->base || first->base != inode;
    g_ptr_array_add (file->others, item);
}

static int
links_meet (const struct sync_tree *tree, inode_t *directory, const char *name, inode_t *inode,
            const struct iatt *buf)
{
    struct apply_links *links = tree->data;
    struct apply_file *file = buf->ia_type == IA_IFDIR
                                  ? NULL : g_hash_table_lookup (links->by_gfid, &buf->ia_gfid);
    g_autofree char *path = file ? inode_path (directory, name) : NULL;

    if (!job_next (links->apply->job))
        return -EINTR;
    if (!file)
        return 0;
    file->names += gfid_equal (&buf->ia_gfid, &file->before);
    if (!g_hash_table_contains (links->apply->by_path, path)
        && (name_is_shown (links->apply, path) || name_is_renamed (links->apply, path)))
        file_add_other (links->apply, file, directory, g_steal_pointer (&path), inode, buf);
    return 0;
}

static int
links_walk (struct apply_links *links)
{
    struct apply *apply = links->apply;
    inode_t *root = realm_below (apply->act.this, itable_root (apply->act.above), apply->base);
    const struct sync_tree tree = { apply_client (apply), overlay_fds (&apply->act, apply->base),
                                    NULL, links_meet, links };
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r = sync_names_list (tree.client, tree.fds, root, names);

    for (guint i = 0; r == 0 && i < names->len; i++)
        r = sync_tree_each (&tree, root, names->pdata[i]);
    return r;
}

/* --- into the plan ---------------------------------------------------------------------------- */

/* All names become names of the new object. */
static void
file_prepare (struct apply *apply, struct apply_file *file)
{
    const char *path = file->changes || file->differs ? file_chosen_path (file) : NULL;

    if (!path)
        return;
    while (file->others->len > 0) {
        struct apply_item *item = g_ptr_array_steal_index (file->others, 0);

        g_ptr_array_add (apply->items, item);
        g_hash_table_insert (apply->by_path, item->path, item);
        g_ptr_array_add (file->items, item);
    }
    for (guint i = 0; i < file->items->len; i++) {
        struct apply_item *item = file->items->pdata[i];

        apply_need (apply, item, path, "another name of the file");
        item->names = file->names;
        if (item->kind == 'M')
            item->what |= DIFF_CONTENT;
    }
}

static void
links_add_gfid (struct apply_links *links, struct apply_file *file, gfid_t *gfid)
{
    if (!gfid_is_null (gfid))
        g_hash_table_insert (links->by_gfid, gfid, file);
}

static int
links_find (struct apply_links *links)
{
    GHashTableIter at;
    void *file;

    g_hash_table_iter_init (&at, links->by_upper);
    while (g_hash_table_iter_next (&at, NULL, &file))
        if (file_needs_walk (links, file)) {
            links_add_gfid (links, file, &((struct apply_file *) file)->before);
            links_add_gfid (links, file, &((struct apply_file *) file)->after);
        }
    return g_hash_table_size (links->by_gfid) > 0 ? links_walk (links) : 0;
}

int
apply_plan_links (struct apply *apply)
{
    struct apply_links links = { apply, g_hash_table_new_full (NULL, NULL, NULL, file_free),
                                 g_hash_table_new (gfid_hash, gfid_same), false };
    GHashTableIter at;
    void *file;
    int r = files_collect (&links);

    for (char **path = apply->order->paths; *path; path++)
        links.any_path |= !apply_chooses (apply, *path);
    if (r == 0)
        r = links_find (&links);
    g_hash_table_iter_init (&at, links.by_gfid);
    while (r == 0 && g_hash_table_iter_next (&at, NULL, &file))
        file_prepare (apply, file);
    g_hash_table_unref (links.by_gfid);
    g_hash_table_unref (links.by_upper);
    return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files with several names in the view or in the base.
 *
 * A name that the view has given a file of the base, or by which it has renamed one, becomes a name
 * of the base's own file, unless that has changed.
 *
 * A change of such a file is one of all its names, though the upper may have only one of them
 * (names/links.c). So the plan gets an item for each further name that the view shows: it becomes a
 * name of the new object, too.
 *
 * The names are found by a walk of the whole base. It is made if a file of the index has changed,
 * or if the base's file has more names than the plan knows.
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
    bool indexed;         /* the index has it */
    bool unchanged;       /* the base has it, and it gets further names there */
    bool changes;         /* one of the items needs a new object */
    bool differs;         /* one of the others is not what its first item is in the base */
};

struct apply_links {
    struct apply *apply;
    GHashTable *by_upper; /* inode -> struct apply_file, owned */
    GHashTable *by_gfid;  /* gfid in the base -> struct apply_file, of those that need the walk */
    GHashTable *names;    /* gfid in the base -> how many of its names are known, of files with
                           * several names */
    GHashTable *paths;    /* set of the items' paths in the base, of files with several names */
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

/* --- names of the base's files ---------------------------------------------------------------- */

static void
links_add_name (struct apply_links *links, const gfid_t *gfid)
{
    const guint known = GPOINTER_TO_UINT (g_hash_table_lookup (links->names, gfid));

    g_hash_table_replace (links->names, g_memdup2 (gfid, sizeof *gfid),
                          GUINT_TO_POINTER (known + 1));
}

/* The name goes, or gets another object. */
static void
links_count (struct apply_links *links, const struct apply_item *item)
{
    if (!item->base || item->base_buf.ia_type == IA_IFDIR || item->base_buf.ia_nlink < 2)
        return;
    g_hash_table_add (links->paths, apply_base_path (item));
    if (item->kind != 'M' || item->what != 0)
        links_add_name (links, &item->base->gfid);
}

static unsigned
links_known (const struct apply_links *links, const struct apply_item *item)
{
    return item->base ? GPOINTER_TO_UINT (g_hash_table_lookup (links->names, &item->base->gfid))
                      : 0;
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

int
apply_is_of_base (struct apply *apply, const struct apply_item *item, const struct apply_item *from)
{
    const struct diff_layer layers[] = {
        { apply_client (apply), overlay_fds (&apply->act, apply->base), NULL, false },
        { apply_upper_client (apply), overlay_fds (&apply->act, apply->from), NULL, false },
    };
    const struct diff_object before = { &layers[0], from->base, from->base_buf };
    const struct diff_object after = { &layers[1], item->upper, item->upper_buf };
    unsigned what;
    int r;

    if (from->base_buf.ia_type != item->upper_buf.ia_type
        || diff_times_differ (&from->base_buf, &item->upper_buf))
        return 0;
    r = diff_compare (&before, &after, &what);
    return r < 0 ? r : what == 0;
}

/* Finds an item without differences, whose name the base's file has: not that which a killed apply
 * has made while other names of the file still have the one before. Layers between may have what it
 * was compared with. */
static int
file_find_same (struct apply *apply, const struct apply_file *file, struct apply_item **ret_same)
{
    int r = 0;

    *ret_same = NULL;
    for (guint i = 0; r == 0 && i < file->items->len; i++) {
        struct apply_item *item = file->items->pdata[i];

        if (item->kind != 'M' || item->what != 0 || !item->base
            || (file->indexed && !gfid_equal (&item->base->gfid, &file->before)))
            continue;
        r = apply->base > apply->from + 1 ? apply_is_of_base (apply, item, item) : 1;
        if (r > 0)
            *ret_same = item;
    }
    return MIN (r, 0);
}

/* An item under whose name the view has what the base has under one that the view has removed. */
static int
item_find_original (struct apply *apply, struct apply_item *item)
{
    struct apply_item *from;
    gfid_t origin;
    int r = apply_origin (apply, item, &origin);

    from = r == 0 && !gfid_is_null (&origin) ? apply_removed_with (apply, &origin) : NULL;
    r = from ? apply_is_of_base (apply, item, from) : r;
    if (r > 0)
        item->original = from;
    return MIN (r, 0);
}

/* Finds the base's file for the new names of one that has not changed. */
static int
file_find_originals (struct apply *apply, struct apply_file *file)
{
    struct apply_item *same;
    int r = file_find_same (apply, file, &same);

    for (guint i = 0; r == 0 && i < file->items->len; i++) {
        struct apply_item *item = file->items->pdata[i];

        if (!apply_makes (item))
            continue;
        item->original = same;
        if (!same)
            r = item_find_original (apply, item);
        file->unchanged |= item->original != NULL;
    }
    return r;
}

static int
files_collect (struct apply_links *links)
{
    int r = 0;

    for (guint i = 0; r == 0 && i < links->apply->items->len; i++) {
        struct apply_item *item = links->apply->items->pdata[i];

        links_count (links, item);
        if (!item->upper || item->kind == 'D' || item->upper_buf.ia_type == IA_IFDIR)
            continue;
        if (item->upper_buf.ia_nlink > 1)
            r = file_add_item (links, item);
        else if (apply_makes (item))
            r = item_find_original (links->apply, item);
    }
    return r;
}

static int
files_find_originals (struct apply_links *links)
{
    GHashTableIter at;
    void *file;
    int r = 0;

    g_hash_table_iter_init (&at, links->by_upper);
    while (r == 0 && g_hash_table_iter_next (&at, NULL, &file))
        r = file_find_originals (links->apply, file);
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

/* Whether the base may have names of the file that the plan does not have. The index has no file
 * that had one name when it was copied, and a frozen layer has all names that the view shows, but
 * not those in directories that the view has removed. */
static bool
file_lacks_names (const struct apply_links *links, const struct apply_file *file)
{
    bool applied = false, lacks = false;

    for (guint i = 0; i < file->items->len; i++) {
        const struct apply_item *item = file->items->pdata[i];

        applied |= item->base && !gfid_equal (&item->base->gfid, &file->before);
        lacks |= item->kind == 'M' && item->what != 0
                 && item->base_buf.ia_nlink > MAX (links_known (links, item), 1);
    }
    return file->indexed ? file->changes || applied : lacks;
}

static bool
file_needs_walk (const struct apply_links *links, const struct apply_file *file)
{
    return !(file->unchanged && file->indexed) && file_lacks_names (links, file)
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

/* Returns 1 if a layer hides the base's name at its path; 0 or a negative errno. */
static int
name_is_hidden_in (struct apply *apply, const char *path, unsigned slot)
{
    const struct diff_layer layer = { overlay_daemon (&apply->act, slot),
                                      overlay_fds (&apply->act, slot), NULL,
                                      overlay_priv (apply->act.this)->layers[slot].wh };
    g_auto (GStrv) names = g_strsplit (path + 1, "/", -1);
    inode_t *root = realm_below (apply->act.this, itable_root (apply->act.above), slot), *next;
    struct diff_object at = { .layer = &layer, .inode = inode_ref (root) };
    int r = 0;

    for (char **name = names; r == 0 && *name; name++) {
        g_autofree char *redirect = NULL;

        r = sync_name_look (layer.client, at.inode, *name, &next, &at.buf);
        if (r < 0)
            break;
        inode_unref (at.inode);
        at.inode = next;
        r = at.buf.ia_type == IA_IFDIR ? diff_is_opaque (&at) : 1;
        if (r == 0)
            r = diff_redirect (&at, &redirect);
        if (r == 0 && redirect)
            r = 1;
    }
    inode_unref (at.inode);
    return r == -ENOENT ? 0 : r;
}

/* The plan of a layer is made, and checked, before the older layers are committed. */
static int
name_is_hidden_between (struct apply *apply, const char *path)
{
    int r = 0;

    for (unsigned slot = apply->from + 1; r == 0 && slot < apply->base; slot++)
        r = name_is_hidden_in (apply, path, slot);
    return r;
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

/* A name that is not in the plan is one of an indexed file, which the view shows with the copy; or
 * somebody has made it below the view. */
static int
links_meet (const struct sync_tree *tree, inode_t *directory, const char *name, inode_t *inode,
            const struct iatt *buf)
{
    struct apply_links *links = tree->data;
    struct apply_file *file = buf->ia_type == IA_IFDIR
                                  ? NULL : g_hash_table_lookup (links->by_gfid, &buf->ia_gfid);
    g_autofree char *path = file ? inode_path (directory, name) : NULL;
    bool other;
    int hidden = 0;

    if (!job_next (links->apply->job))
        return -EINTR;
    if (!file)
        return 0;
    other = !g_hash_table_contains (links->apply->by_path, path)
            && !g_hash_table_contains (links->paths, path)
            && (name_is_shown (links->apply, path) || name_is_renamed (links->apply, path));
    if (other && !file->indexed)
        hidden = name_is_hidden_between (links->apply, path);
    if (hidden < 0)
        return hidden;
    other &= !hidden;
    if (file->indexed || !other)
        links_add_name (links, &buf->ia_gfid);
    if (file->indexed && other)
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

static bool
file_is_of_base (const struct apply_file *file)
{
    bool is = file->indexed || file->unchanged;

    for (guint i = 0; !is && i < file->items->len; i++)
        is = ((const struct apply_item *) file->items->pdata[i])->kind == 'M';
    return is;
}

static void
file_take_others (struct apply *apply, struct apply_file *file)
{
    while (file->others->len > 0) {
        struct apply_item *item = g_ptr_array_steal_index (file->others, 0);

        g_ptr_array_add (apply->items, item);
        g_hash_table_insert (apply->by_path, item->path, item);
        g_ptr_array_add (file->items, item);
    }
}

/* All names become names of the new object, or of the base's file that has not changed. */
static void
file_prepare (struct apply *apply, struct apply_file *file)
{
    const char *path = file->changes || file->differs ? file_chosen_path (file) : NULL;

    if (!path || !file_is_of_base (file))
        return;
    file_take_others (apply, file);
    for (guint i = 0; i < file->items->len; i++) {
        struct apply_item *item = file->items->pdata[i];

        if (file->unchanged && !apply_makes (item))
            continue;
        apply_need (apply, item, path, "another name of the file");
        if (item->kind == 'M' && file->indexed && !file->unchanged)
            item->what |= DIFF_CONTENT;
    }
}

static void
links_add_gfid (struct apply_links *links, struct apply_file *file, gfid_t *gfid)
{
    if (gfid_is_null (gfid))
        return;
    g_hash_table_insert (links->by_gfid, gfid, file);
    g_hash_table_remove (links->names, gfid); /* the walk counts anew */
}

/* The second layer of a commit finds in the base what the first one has made. */
static void
file_add_gfids (struct apply_links *links, struct apply_file *file)
{
    links_add_gfid (links, file, &file->before);
    links_add_gfid (links, file, &file->after);
    for (guint i = 0; i < file->items->len; i++) {
        struct apply_item *item = file->items->pdata[i];

        if (item->kind == 'M' && item->what != 0 && item->base)
            links_add_gfid (links, file, &item->base->gfid);
    }
}

static int
links_find (struct apply_links *links)
{
    GHashTableIter at;
    void *file;

    g_hash_table_iter_init (&at, links->by_upper);
    while (g_hash_table_iter_next (&at, NULL, &file))
        if (file_needs_walk (links, file))
            file_add_gfids (links, file);
    return g_hash_table_size (links->by_gfid) > 0 ? links_walk (links) : 0;
}

static void
links_prepare (struct apply_links *links)
{
    struct apply *apply = links->apply;
    GHashTableIter at;
    void *file;

    g_hash_table_iter_init (&at, links->by_upper);
    while (g_hash_table_iter_next (&at, NULL, &file))
        file_prepare (apply, file);
    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];

        item->names = links_known (links, item);
    }
}

int
apply_plan_links (struct apply *apply)
{
    struct apply_links links = { apply, g_hash_table_new_full (NULL, NULL, NULL, file_free),
                                 g_hash_table_new (gfid_hash, gfid_same),
                                 g_hash_table_new_full (gfid_hash, gfid_same, g_free, NULL),
                                 g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                                 false };
    int r = files_collect (&links);

    for (char **path = apply->order->paths; *path; path++)
        links.any_path |= !apply_chooses (apply, *path);
    if (r == 0)
        r = files_find_originals (&links);
    if (r == 0)
        r = links_find (&links);
    if (r == 0)
        links_prepare (&links);
    g_hash_table_unref (links.paths);
    g_hash_table_unref (links.names);
    g_hash_table_unref (links.by_gfid);
    g_hash_table_unref (links.by_upper);
    return r;
}

/* Whether the upper's object leaves the upper by itself. */
static bool
item_leaves_alone (const struct apply_item *item)
{
    return item->kind == 'M' && !(item->parent && item->parent->opaque && !item->parent->chosen);
}

/* If an item becomes a further name of a file of the base, the upper's copies of that file leave
 * the upper as well, under each name that has no change of its own: else one name would show the
 * base's file, and another one the copy. */
void
apply_choose_originals (struct apply *apply)
{
    g_autoptr (GHashTable) copies = g_hash_table_new (NULL, NULL);

    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i], *original = item->original;

        if (original && item->chosen && item_leaves_alone (original)) {
            original->chosen = true;
            g_hash_table_add (copies, original->upper);
        }
        if (original && !original->chosen)
            item->original = NULL;
    }
    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];

        if (item->what == 0 && item->upper && g_hash_table_contains (copies, item->upper)
            && item_leaves_alone (item))
            item->chosen = true;
    }
}

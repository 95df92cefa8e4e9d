/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which changes an apply makes. */
#include "apply.h"

/* --- the changes of the view ------------------------------------------------------------------ */

/* Where the layers below have a renamed directory. merged: as struct diff_change has it. */
static void
item_add_source (struct apply *apply, struct apply_item *item, inode_t *const *merged)
{
    const unsigned first = apply->from + 1;

    item->moves = merged[apply->base - first] ? inode_ref (merged[apply->base - first]) : NULL;
    for (unsigned slot = apply->between; slot < apply->base; slot++)
        if (merged[slot - first])
            item->between = slot;
}

static struct apply_item *
item_new (struct apply *apply, const struct diff_change *change)
{
    struct apply_item *item = g_new0 (struct apply_item, 1);
    g_autofree char *above = g_path_get_dirname (change->path);

    item->kind = change->kind;
    item->what = change->what;
    item->path = g_strdup (change->path);
    item->name = g_path_get_basename (change->path);
    item->from = g_strdup (change->from);
    item->upper_directory = inode_ref (change->directory);
    item->base_directory = inode_ref (change->last);
    item->parent = g_hash_table_lookup (apply->by_path, above);
    if (change->kind == 'R')
        item_add_source (apply, item, change->merged);
    item->moved = change->kind == 'R' || (item->parent && item->parent->moved);
    g_ptr_array_add (apply->items, item);
    g_hash_table_insert (apply->by_path, item->path, item);
    return item;
}

int
apply_look_base (struct apply *apply, struct apply_item *item, inode_t **ret_inode,
                 struct iatt *ret_buf)
{
    int r = item->base_directory ? sync_name_look (apply_client (apply), item->base_directory,
                                                   item->name, ret_inode, ret_buf) : -ENOENT;

    item->vacated = !item->base_directory && item->parent && item->parent->vacated;
    if (r == 0 && apply->moved && g_hash_table_contains (apply->moved, *ret_inode)) {
        item->vacated = true;
        g_clear_pointer (ret_inode, inode_unref);
        r = -ENOENT;
    }
    return r;
}

char *
apply_base_path (const struct apply_item *item)
{
    g_autofree char *above = NULL;

    if (item->base_directory)
        return inode_path (item->base_directory, item->name);
    if (!item->parent)
        return g_strdup (item->path);
    above = apply_base_path (item->parent);
    return g_build_filename (above, item->name, NULL);
}

static int
item_look (struct apply *apply, struct apply_item *item)
{
    struct client *client = apply_upper_client (apply);
    int r = sync_name_look (client, item->upper_directory, item->name, &item->upper,
                            &item->upper_buf);

    if (r == -ENOENT)
        r = 0;
    if (r == 0)
        r = apply_look_base (apply, item, &item->base, &item->base_buf);
    if (r == -ENOENT)
        r = 0;
    if (r == 0 && item->moves)
        r = sync_name_stat (apply_client (apply), item->moves, &item->moves_buf);
    return r;
}

/* A renamed directory of which nothing is left below the view. */
static int
plan_tell_lost (struct apply *apply, const struct diff_change *change)
{
    g_autofree char *redirect = NULL;
    const int r = diff_redirect (change->after, &redirect);

    if (r == 0 && redirect && !apply->order->force)
        apply_hinder (apply, "'%s' is a directory that the view has renamed, and somebody has "
                             "moved or removed what was in it below the view: --force takes what "
                             "the view still shows of it", change->path);
    return r;
}

static int
plan_add (const struct diff_change *change, void *data)
{
    struct apply *apply = data;
    const bool directory = change->after && change->after->buf.ia_type == IA_IFDIR;
    struct apply_item *item;
    int r;

    if (apply->moved && change->kind == 'D' && g_str_has_prefix (change->path, "/" STAGED_NAME))
        return 0;
    item = item_new (apply, change);
    r = directory ? diff_is_opaque (change->after) : 0;
    item->opaque = r > 0 || (directory && !item->moved && item->parent && item->parent->opaque);
    if (r >= 0 && directory && change->kind == 'A' && apply->moved)
        r = plan_tell_lost (apply, change);
    if (r >= 0)
        r = item_look (apply, item);
    if (r == 0)
        apply_look_time (apply, item);
    return r;
}

/* --- which of them are meant ------------------------------------------------------------------ */

bool
apply_path_is_below (const char *path, const char *wanted)
{
    const size_t length = strlen (wanted);

    return length == 1 || (strncmp (path, wanted, length) == 0
                           && (path[length] == '\0' || path[length] == '/'));
}

static void
plan_choose (struct apply *apply, const char *wanted)
{
    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];

        if (apply_path_is_below (item->path, wanted))
            item->chosen = true;
    }
}

static void
plan_choose_all (struct apply *apply)
{
    for (char **path = apply->order->paths; *path; path++)
        plan_choose (apply, *path);
}

bool
apply_chooses (const struct apply *apply, const char *path)
{
    bool chooses = strcmp (path, "/") == 0;

    for (guint i = 0; !chooses && i < apply->items->len; i++)
        chooses = apply_path_is_below (((struct apply_item *) apply->items->pdata[i])->path, path);
    return chooses;
}

static void
plan_tell_unchanged (struct apply *apply)
{
    for (char **path = apply->order->paths; *path; path++)
        if (!apply_chooses (apply, *path))
            apply_hinder (apply, "the view has changed nothing at '%s'", *path);
}

/* A directory above that is new, or another kind of object in the base. */
static bool
plan_needs (const struct apply_item *parent)
{
    return parent->kind == 'A' || parent->kind == 'T';
}

void
apply_need (struct apply *apply, struct apply_item *needed, const char *path, const char *reason)
{
    if (needed->chosen)
        return;
    if (apply->order->with) {
        needed->chosen = true;
        return;
    }
    apply_hinder (apply, "'%s' needs '%s', %s: add that, or give --with", path, needed->path,
                  reason);
}

/* An opaque directory is applied as a whole: without its mark it would show names that it hides. */
static void
plan_add_opaque (struct apply *apply, struct apply_item *directory, const char *path)
{
    if (directory->chosen)
        return;
    apply_need (apply, directory, path, "which has replaced a directory");
    if (apply->order->with)
        plan_choose (apply, directory->path);
}

/* From the end on, so that an item which is added meets its own directory later. */
static void
plan_add_ancestors (struct apply *apply)
{
    for (guint i = apply->items->len; i-- > 0;) {
        struct apply_item *item = apply->items->pdata[i];

        if (!item->chosen || !item->parent)
            continue;
        if (item->parent->opaque && item->parent->kind == 'M')
            plan_add_opaque (apply, item->parent, item->path);
        else if (plan_needs (item->parent))
            apply_need (apply, item->parent, item->path, "which is new");
    }
}

/* --- renames ---------------------------------------------------------------------------------- */

int
apply_origin (struct apply *apply, const struct apply_item *item, gfid_t *ret_origin)
{
    struct overlay_marks marks = { 0 };
    g_autofree char *value = NULL, *origin = NULL;
    size_t size;
    int r = overlay_mark_get (&apply->act, item->upper, OVERLAY_IDENTITY, &value, &size);

    if (r == 0 && value)
        overlay_marks_read (&marks, OVERLAY_IDENTITY, value, size);
    *ret_origin = marks.gfid;
    if (r < 0 || value)
        return r;
    r = overlay_mark_get (&apply->act, item->upper, OVERLAY_ORIGIN, &origin, &size);
    return r == 0 && origin && size > 0
               ? overlay_origin_find (&apply->act, apply->base, origin, size, ret_origin) : r;
}

static void
plan_add_half (struct apply *apply, struct apply_item *from, struct apply_item *to)
{
    if (from->chosen)
        apply_need (apply, to, from->path, "its new name");
    if (to->chosen)
        apply_need (apply, from, to->path, "its old name");
}

struct apply_item *
apply_removed_with (const struct apply *apply, const gfid_t *gfid)
{
    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];

        if (item->kind == 'D' && item->base && gfid_equal (&item->base->gfid, gfid))
            return item;
    }
    return NULL;
}

/* A copy whose original has another name, which the view has removed, was renamed. */
static int
plan_add_halves (struct apply *apply)
{
    int r = 0;

    for (guint i = 0; r == 0 && i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i], *from;
        gfid_t origin;

        if (item->kind == 'D' || !item->upper || item->upper_buf.ia_type == IA_IFDIR)
            continue;
        r = apply_origin (apply, item, &origin);
        if (r < 0 || gfid_is_null (&origin)
            || (item->base && gfid_equal (&item->base->gfid, &origin)))
            continue;
        from = apply_removed_with (apply, &origin);
        if (from)
            plan_add_half (apply, from, item);
    }
    return r;
}

/* --- the plan --------------------------------------------------------------------------------- */

static void
plan_forget_others (struct apply *apply)
{
    for (guint i = apply->items->len; i-- > 0;) {
        struct apply_item *item = apply->items->pdata[i];

        if (item->parent && !item->parent->chosen)
            item->parent = NULL;
    }
    for (guint i = apply->items->len; i-- > 0;)
        if (!((struct apply_item *) apply->items->pdata[i])->chosen)
            g_ptr_array_remove_index (apply->items, i);
}

int
apply_plan (struct apply *apply)
{
    int r;

    clock_gettime (CLOCK_REALTIME, &apply->planned);
    r = overlay_order_walk (apply->order, apply->job, plan_add, apply);
    if (r == 0) {
        plan_choose_all (apply);
        r = plan_add_halves (apply);
    }
    if (r == 0)
        r = apply_plan_links (apply);
    if (r < 0)
        return r;
    plan_tell_unchanged (apply);
    plan_add_ancestors (apply);
    apply_choose_originals (apply);
    if (apply->n_hindrances == 0)
        r = apply_check (apply);
    if (r < 0)
        return r;
    if (apply->n_hindrances > 0)
        return apply_refuse_hindered (apply);
    plan_forget_others (apply);
    return 0;
}

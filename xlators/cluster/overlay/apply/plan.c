/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which changes an apply makes, and what hinders it. */
#include "apply.h"

#define HINDRANCES_MAX 20 /* sentences that are printed */

static void
apply_hinder (struct apply *apply, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
apply_hinder (struct apply *apply, const char *format, ...)
{
    va_list args;

    if (++apply->n_hindrances > HINDRANCES_MAX)
        return;
    if (apply->hindrances->len > 0)
        g_string_append (apply->hindrances, "; ");
    va_start (args, format);
    g_string_append_vprintf (apply->hindrances, format, args);
    va_end (args);
}

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
    item->opaque = r > 0;
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

/* --- conflicts -------------------------------------------------------------------------------- */

static void
conflict_tell (struct apply *apply, const char *path, enum overlay_verdict verdict, bool is_there)
{
    if (verdict == RECORD_SAME || apply->order->force)
        return;
    if (verdict == RECORD_CHANGED)
        apply_hinder (apply, "'%s' was %s below the view since the view changed it: --force "
                             "applies the view's change all the same", path,
                      is_there ? "changed" : "removed");
    else
        apply_hinder (apply, "'%s' is there below the view, and there is no record of how it was "
                             "when the view changed it: --force replaces it", path);
}

/* Whether an object of the base is a directory that the view has renamed, or below one: it
 * stays. */
static bool
conflict_is_moved (const struct apply *apply, inode_t *inode, inode_t *directory)
{
    const bool any = apply->moved && g_hash_table_size (apply->moved) > 0;
    g_autoptr (inode_t) at = inode_ref (directory);
    bool is = any && g_hash_table_contains (apply->moved, inode);

    while (any && !is && at) {
        g_autofree char *name = NULL;
        inode_t *parent = NULL;

        is = g_hash_table_contains (apply->moved, at);
        if (gfid_equal (&at->gfid, &gfid_root) || !inode_a_name (at, &parent, &name))
            parent = NULL;
        inode_unref (at);
        at = parent;
    }
    return is;
}

static int
conflict_in_tree (const struct sync_tree *tree, inode_t *directory, const char *name,
                  inode_t *inode, const struct iatt *buf)
{
    struct apply *apply = tree->data;
    g_autofree char *path = inode_path (directory, name);

    if (conflict_is_moved (apply, inode, directory))
        return 0;
    if (overlay_is_folder (apply->act.this, apply->base, directory, name, buf->ia_dev, buf->ia_ino))
        apply_hinder (apply, "'%s' has the changes of this view, so it can't be removed", path);
    else
        conflict_tell (apply, path, overlay_record_judge (apply->act.this, path, buf), true);
    return 0;
}

/* All that is below a directory which goes was removed by the view. */
static int
conflict_below (struct apply *apply, const struct apply_item *item)
{
    const struct sync_tree tree = { apply_client (apply), overlay_fds (&apply->act, apply->base),
                                    NULL, conflict_in_tree, apply };

    return sync_tree_each (&tree, item->base_directory, item->name);
}

/* Returns the path of the record that tells how the base's object was; g_free it. That of a file
 * stands under the name by which it was changed, and a name that was renamed is a removed one as
 * well. */
static char *
item_recorded (const struct apply *apply, const struct apply_item *item)
{
    const struct apply_item *removed =
        item->link_of ? apply_removed_with (apply, &item->base->gfid) : NULL;

    return apply_base_path (removed ? removed : item->link_of ? item->link_of : item);
}

/* A directory that stays is compared by its own attributes alone. */
static int
item_conflicts (struct apply *apply, const struct apply_item *item)
{
    const bool goes = item->kind == 'D' || item->kind == 'R';
    g_autofree char *recorded = NULL;

    if (item->kind == 'M' && item->what == 0)
        return 0;
    if ((goes || item->kind == 'T') && item->base && item->base_buf.ia_type == IA_IFDIR)
        return conflict_below (apply, item);
    if (!item->base && (goes || item->vacated))
        return 0;
    recorded = item_recorded (apply, item);
    conflict_tell (apply, item->path,
                   overlay_record_judge (apply->act.this, recorded,
                                         item->base ? &item->base_buf : NULL),
                   item->base != NULL);
    return 0;
}

/* Looks up the item's path in a layer. */
static int
item_look_in (struct apply *apply, const struct apply_item *item, unsigned slot,
              struct iatt *ret_buf)
{
    g_auto (GStrv) names = g_strsplit (item->path + 1, "/", -1);
    const guint last = g_strv_length (names) - 1;
    inode_t *root = realm_below (apply->act.this, itable_root (apply->act.above), slot);
    g_autoptr (inode_t) directory = NULL, found = NULL;
    const int r = overlay_walk (&apply->act, slot, root, names, last, false, &directory, ret_buf);

    return r < 0 ? r : sync_name_look (overlay_daemon (&apply->act, slot), directory, names[last],
                                       &found, ret_buf);
}

static void
item_tell_between (struct apply *apply, const struct apply_item *item, unsigned slot)
{
    const struct overlay_layer *layer = &overlay_priv (apply->act.this)->layers[slot];

    if (layer->path)
        apply_hinder (apply, "'%s' is also in the frozen layer '%s'", item->path, layer->path);
    else
        apply_hinder (apply, "'%s' is also in a layer between: volume '%s'", item->path,
                      layer->xlator->name);
}

/* A further layer between upper and base would show its own object once the upper's is gone. */
static int
item_is_between (struct apply *apply, const struct apply_item *item)
{
    struct iatt buf;

    for (unsigned slot = apply->between; slot < apply->base; slot++) {
        const int r = item_look_in (apply, item, slot, &buf);

        if (r < 0 && r != -ENOENT && r != -ENOTDIR)
            return r;
        if (r == 0 && (buf.ia_type != IA_IFDIR || item->kind != 'M')) {
            item_tell_between (apply, item, slot);
            break;
        }
    }
    return 0;
}

/* A file with other names, which were not found in the base, would be one file no longer. */
static void
item_has_links (struct apply *apply, const struct apply_item *item)
{
    if (item->kind == 'M' && item->what != 0 && item->base
        && item->base_buf.ia_nlink > MAX (item->names, 1)
        && item->base_buf.ia_type != IA_IFDIR && !apply->order->force)
        apply_hinder (apply, "'%s' is one of %u names of a file below the view, and %u of them "
                             "would keep the old content: --force applies it all the same",
                      item->path, item->base_buf.ia_nlink,
                      item->base_buf.ia_nlink - MAX (item->names, 1));
}

/* A renamed directory shows what the base has at its old path, so that must stay, also by force. */
static void
item_is_shown_elsewhere (struct apply *apply, const struct apply_item *item)
{
    for (guint i = 0; item->kind != 'M' && i < apply->items->len; i++) {
        const struct apply_item *renamed = apply->items->pdata[i];

        if (renamed->from && apply_path_is_below (renamed->from, item->path))
            apply_hinder (apply, "'%s' has what the view shows at '%s', a renamed directory, which "
                                 "can't be %s", item->path, renamed->path, apply->done);
    }
}

/* The directory of the base that is to get the item's name. */
static int
item_check_source (struct apply *apply, const struct apply_item *item)
{
    inode_t *root = realm_below (apply->act.this, itable_root (apply->act.above), apply->base);
    struct iatt buf = { 0 };
    const int r = sync_name_stat (apply_client (apply), root, &buf);
    g_autofree char *path = inode_path (item->moves, NULL);

    if (r < 0)
        return r;
    if (item->moves_buf.ia_dev != buf.ia_dev)
        apply_hinder (apply, "'%s', which the view has renamed to '%s', is on a file system that "
                             "is mounted in the last subvolume, so its directories can't be "
                             "moved: copy the directory in the view and remove the old one", path,
                      item->path);
    if (item->what != 0)
        conflict_tell (apply, path, overlay_record_judge (apply->act.this, path, &item->moves_buf),
                       true);
    return 0;
}

static int
item_check_renamed (struct apply *apply, const struct apply_item *item)
{
    const struct overlay_layer *between = &overlay_priv (apply->act.this)->layers[item->between];
    struct iatt buf = { 0 };
    int r = 0;

    if (item->between > 0)
        apply_hinder (apply, "'%s' is a renamed directory that a layer between has, too: volume "
                             "'%s'", item->path, between->xlator->name);
    if (item->base_directory)
        r = sync_name_stat (apply_client (apply), item->base_directory, &buf);
    if (r == 0 && item->base_directory && item->moves && buf.ia_dev != item->moves_buf.ia_dev)
        apply_hinder (apply, "'%s' was renamed to another file system that is mounted in the last "
                             "subvolume, where it can't be moved: copy the directory in the view "
                             "and remove the old one", item->path);
    else if (r == 0 && item->moves)
        r = item_check_source (apply, item);
    return r;
}

static int
item_check (struct apply *apply, const struct apply_item *item)
{
    int r = 0;

    if (!apply->moved)
        item_is_shown_elsewhere (apply, item);
    if (item->moved && !apply->moved) {
        apply_hinder (apply, "'%s' is, or is in, a directory that the view has renamed, which "
                             "can't be %s: 'windlass overlay commit' moves it", item->path,
                      apply->done);
        return 0;
    }
    if (item->kind == 'R')
        r = item_check_renamed (apply, item);
    if (r < 0)
        return r;
    item_has_links (apply, item);
    r = item_is_between (apply, item);
    return r < 0 ? r : item_conflicts (apply, item);
}

static int
plan_check (struct apply *apply)
{
    int r = 0;

    for (guint i = 0; r == 0 && i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (item->chosen)
            r = item_check (apply, item);
        if (r < 0)
            job_refuse (apply->job, "'%s': %s; %s", item->path, g_strerror (-r), apply->nothing);
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

static int
plan_refuse (struct apply *apply)
{
    if (apply->n_hindrances > HINDRANCES_MAX)
        g_string_append_printf (apply->hindrances, "; and %u more",
                                apply->n_hindrances - HINDRANCES_MAX);
    job_refuse (apply->job, "%s; %s", apply->hindrances->str, apply->nothing);
    return -EBUSY;
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
        r = plan_check (apply);
    if (r < 0)
        return r;
    if (apply->n_hindrances > 0)
        return plan_refuse (apply);
    plan_forget_others (apply);
    return 0;
}

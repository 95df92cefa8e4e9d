/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What hinders an apply or a commit. All of it is told at once, before anything is done. */
#include "apply.h"

#define HINDRANCES_MAX 20 /* sentences that are printed */

void
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

int
apply_refuse_hindered (struct apply *apply)
{
    if (apply->n_hindrances > HINDRANCES_MAX)
        g_string_append_printf (apply->hindrances, "; and %u more",
                                apply->n_hindrances - HINDRANCES_MAX);
    job_refuse (apply->job, "%s; %s", apply->hindrances->str, apply->nothing);
    return -EBUSY;
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

/* Whether an item changes or removes something that the base has at a path or below. */
static bool
item_touches (const struct apply_item *item, const char *path)
{
    return apply_path_is_below (item->path, path)
        || ((item->kind != 'M' || item->opaque) && apply_path_is_below (path, item->path));
}

/* A renamed directory shows what the base has at its old path, so all of that must stay as it is,
 * also by force. An item tells it for those that are in it. */
static void
item_is_shown_elsewhere (struct apply *apply, const struct apply_item *item)
{
    const struct apply_item *above = item->parent && item->parent->chosen ? item->parent : NULL;

    for (guint i = 0; i < apply->items->len; i++) {
        const struct apply_item *renamed = apply->items->pdata[i];

        if (renamed->from && item_touches (item, renamed->from)
            && !(above && item_touches (above, renamed->from)))
            apply_hinder (apply, "'%s' has what the view shows at '%s', a renamed directory, which "
                                 "can't be %s: 'windlass overlay commit' moves it", item->path,
                          renamed->path, apply->done);
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

    if (item->moved && !apply->moved) {
        apply_hinder (apply, "'%s' is, or is in, a directory that the view has renamed, which "
                             "can't be %s: 'windlass overlay commit' moves it", item->path,
                      apply->done);
        return 0;
    }
    if (!apply->moved)
        item_is_shown_elsewhere (apply, item);
    if (item->kind == 'R')
        r = item_check_renamed (apply, item);
    if (r < 0)
        return r;
    item_has_links (apply, item);
    r = item_is_between (apply, item);
    return r < 0 ? r : item_conflicts (apply, item);
}

int
apply_check (struct apply *apply)
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

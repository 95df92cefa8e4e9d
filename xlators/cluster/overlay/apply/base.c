/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The base changes: new objects get their names, and take the places of those before; then what the
 * view has removed goes. Everything is durable when apply_to_base returns. An error ends it: what
 * was done until then stays, and is no change of the view any more.
 */
#include "apply.h"
#include "../names/links.h"

/* --- what the records accept ------------------------------------------------------------------ */

/* Of a directory that stays, owner and mode become those of the upper. */
static struct iatt
directory_after (const struct apply_item *item)
{
    struct iatt after = *apply_stays_buf (item);

    after.ia_prot = item->upper_buf.ia_prot;
    after.ia_uid = item->upper_buf.ia_uid;
    after.ia_gid = item->upper_buf.ia_gid;
    return after;
}

/* A record of two states may be one of an apply or a commit before, of which the base has the
 * second: it is to tell that one before it gets another. */
static void
base_settle (struct apply *apply, const struct apply_item *item, const char *path)
{
    const struct iatt *now = apply_stays_buf (item);

    if (apply_stays_inode (item)
        && overlay_record_judge (apply->act.this, path, now) == RECORD_SAME)
        overlay_record_settle (apply->act.this, path, now);
}

static int
base_announce (struct apply *apply)
{
    for (guint i = 0; i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];
        const struct iatt after = item->made ? item->made_buf : directory_after (item);
        g_autofree char *path = item->kind == 'R' ? inode_path (item->moves, NULL)
                                                  : apply_base_path (item);

        if ((item->kind == 'M' || item->kind == 'R') && item->what == 0)
            continue;
        base_settle (apply, item, path);
        overlay_record_applies (apply->act.this, path, item->kind == 'D' ? NULL : &after);
    }
    return store_sync (overlay_priv (apply->act.this)->records);
}

/* --- one item --------------------------------------------------------------------------------- */

static int
base_rename (struct apply *apply, const struct apply_item *item, uint32_t flags)
{
    loc_t from = { .name = item->temporary, .parent = item->base_directory, .inode = item->made };
    loc_t to = { .name = item->name, .parent = item->base_directory, .inode = item->base };
    const int r = sync_rename (apply_client (apply), &from, &to, flags, NULL, NULL);

    if (r >= 0)
        inode_rename (item->base_directory, item->temporary, item->base_directory, item->name,
                      flags & RENAME_EXCHANGE);
    loc_wipe_path (&from);
    loc_wipe_path (&to);
    return error_or_0 (r);
}

/* Gives the new object a name that the base does not have. */
static int
base_name (struct apply *apply, const struct apply_item *item)
{
    return sync_name_move (apply_client (apply), item->made, item->base_directory, item->temporary,
                           item->base_directory, item->name, NULL);
}

/* A directory can't be replaced by a rename, nor replace a file: both change places, and
 * apply_clean removes the old one. A base without such renames has nothing there for a moment. */
static int
base_place (struct apply *apply, const struct apply_item *item)
{
    const bool directory = item->base && (item->base->ia_type == IA_IFDIR
                                          || item->made->ia_type == IA_IFDIR);
    int r;

    if (!item->base)
        return base_name (apply, item);
    if (!directory)
        return base_rename (apply, item, 0);
    r = base_rename (apply, item, RENAME_EXCHANGE);
    apply->untidy |= r == 0;
    if (r != -EINVAL && r != -EOPNOTSUPP)
        return r;
    r = sync_name_remove_tree (apply_client (apply), overlay_fds (&apply->act, apply->base),
                               item->base_directory, item->name);
    return r < 0 ? r : base_name (apply, item);
}

/* Nothing goes that the view has not seen. */
static int
base_remove_one (const struct sync_tree *tree, inode_t *directory, const char *name,
                   inode_t *inode, const struct iatt *buf)
{
    const struct apply *apply = tree->data;
    g_autofree char *path = inode_path (directory, name);
    int r;

    if (!apply->order->force
        && overlay_record_judge (apply->act.this, path, buf) != RECORD_SAME)
        return -EBUSY;
    r = sync_name_remove (tree->client, directory, name, inode);
    if (r == 0 && buf->ia_nlink > 1)
        overlay_name_applied (apply->act.this, apply->act.above, &buf->ia_gfid);
    return r;
}

static int
base_removal (struct apply *apply, const struct apply_item *item)
{
    const struct sync_tree tree = { apply_client (apply), overlay_fds (&apply->act, apply->base),
                                    NULL, base_remove_one, apply };
    int r = item->base ? sync_tree_each (&tree, item->base_directory, item->name) : 0;

    return r == -ENOENT ? 0 : r;
}

/* Extended attributes that the upper's directory has lost. */
static int
base_drop_xattrs (struct apply *apply, const struct apply_item *item)
{
    loc_t before = { .inode = apply_stays_inode (item) }, after = { .inode = item->upper };
    struct getxattr_reply old, new;
    const void *value;
    const char *name;
    size_t size;
    int r = sync_getxattr (apply_client (apply), &before, NULL, NULL, &old);
    int s = sync_getxattr (apply_upper_client (apply), &after, NULL, NULL, &new);

    for (size_t i = 0; r >= 0 && s >= 0 && i < dict_count (old.dict); i++) {
        dict_nth (old.dict, i, &name, &value, &size);
        if (!dict_has (new.dict, name) && !overlay_attribute_is_mark (name))
            r = sync_removexattr (apply_client (apply), &before, name, NULL, NULL);
        r = r == -ENODATA ? 0 : r;
    }
    getxattr_reply_drop (&old);
    getxattr_reply_drop (&new);
    loc_wipe_path (&before);
    loc_wipe_path (&after);
    r = r < 0 ? r : s;
    return r == -EOPNOTSUPP ? 0 : error_or_0 (r);
}

/* If somebody has changed names in a directory below the view, it keeps the time that tells so,
 * unless the view has set one. */
static struct iatt
base_attributes_wanted (const struct apply_item *item)
{
    struct iatt wanted = item->upper_buf;

    if (!item->restores_time && !(item->what & DIFF_TIMES)) {
        wanted.ia_mtime = apply_stays_buf (item)->ia_mtime;
        wanted.ia_mtime_nsec = apply_stays_buf (item)->ia_mtime_nsec;
    }
    return wanted;
}

/* With option owner daemon the copy has another owner than the base's object because it had to:
 * that is no change, where the base refuses it. */
static int
base_attributes (struct apply *apply, const struct apply_item *item)
{
    const struct iatt wanted = base_attributes_wanted (item);
    const bool forced = item->what == DIFF_OWNER
                        && overlay_priv (apply->act.this)->owner == OVERLAY_OWNER_DAEMON;
    int r = base_drop_xattrs (apply, item);

    if (r == 0)
        r = overlay_copy_attributes_to (&apply->act, apply->from, item->upper, &wanted,
                                        apply->base, apply_stays_inode (item));
    return r == -EPERM && forced ? 0 : r;
}

static int
base_item (struct apply *apply, const struct apply_item *item)
{
    if (item->kind == 'D')
        return base_removal (apply, item);
    if (item->made && apply_is_inside (item))
        return item->parent->done ? 0 : -ECANCELED;
    if (item->made)
        return base_place (apply, item);
    return item->what != 0 ? base_attributes (apply, item) : 0;
}

/* What a renamed directory replaces. Afterwards the records there are those of that directory. */
static int
base_make_room (struct apply *apply, const struct apply_item *item)
{
    g_autofree char *path = apply_base_path (item);
    const int r = base_removal (apply, item);

    if (r == 0 && item->base)
        overlay_records_drop_below (apply->act.this, path);
    return r;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* New objects and attributes come first; then what goes. A renamed directory has both. */
static int
base_items (struct apply *apply, bool removals)
{
    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];
        int r;

        if (item->kind != 'R' && (item->kind == 'D') != removals)
            continue;
        r = item->kind == 'R' && removals ? base_make_room (apply, item) : base_item (apply, item);
        if (r < 0) {
            job_refuse (apply->job, "'%s': %s; changes before it were %s", item->path,
                        r == -EBUSY || r == -EEXIST ? "it was changed below the view meanwhile"
                                                    : g_strerror (-r), apply->done);
            return r;
        }
        item->done = true;
    }
    return 0;
}

/* --- times of directories --------------------------------------------------------------------- */

/* Others may have changed names of the directory below the view since: then its time tells that. */
void
apply_look_time (struct apply *apply, struct apply_item *item)
{
    g_autofree char *path = NULL;

    if (!apply_stays_inode (item) || item->upper_buf.ia_type != IA_IFDIR
        || (item->kind != 'M' && item->kind != 'R'))
        return;
    path = item->kind == 'R' ? inode_path (item->moves, NULL) : apply_base_path (item);
    item->restores_time = overlay_record_has_time (apply->act.this, path, apply_stays_buf (item));
}

/* Storage may refuse it to a user who may change names in a directory of somebody else. */
static int
base_time (struct apply *apply, inode_t *directory, const struct iatt *wanted)
{
    loc_t loc = { .inode = directory };
    struct iatt now, times = *wanted;
    int r = sync_name_stat (apply_client (apply), directory, &now);

    if (r == 0 && diff_times_differ (&now, wanted))
        r = error_or_0 (sync_setattr (apply_client (apply), &loc, &times, IATT_MTIME, NULL, NULL));
    loc_wipe_path (&loc);
    return r == -EPERM || r == -EACCES ? 0 : r;
}

int
apply_times (struct apply *apply)
{
    int r = 0;

    for (guint i = 0; r == 0 && i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (item->done && item->restores_time)
            r = base_time (apply, apply_stays_inode (item), &item->upper_buf);
        if (r < 0)
            job_refuse (apply->job, "the time of the directory '%s' can't be set: %s; changes "
                        "before it were %s", item->path, g_strerror (-r), apply->done);
    }
    return r;
}

/* --- all of them, durably --------------------------------------------------------------------- */

static int
base_sync_one (struct apply *apply, GHashTable *synced, inode_t *directory)
{
    return directory && g_hash_table_add (synced, directory)
               ? overlay_sync_inode (&apply->act, apply->base, directory) : 0;
}

/* A name is durable with its directory, an attribute of a directory with that one itself. */
static int
base_sync (struct apply *apply)
{
    g_autoptr (GHashTable) synced = g_hash_table_new (NULL, NULL);
    int r = 0;

    for (guint i = 0; r == 0 && i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (item->done)
            r = base_sync_one (apply, synced, item->base_directory);
        if (r == 0 && item->done && (item->kind == 'M' || item->kind == 'R') && !item->made
            && (item->what != 0 || item->restores_time))
            r = base_sync_one (apply, synced, apply_stays_inode (item));
    }
    if (r < 0)
        job_refuse (apply->job, "directories of the base can't be synced: %s; the view keeps its "
                                "changes", g_strerror (-r));
    return r;
}

int
apply_times_again (struct apply *apply)
{
    g_autoptr (GHashTable) synced = g_hash_table_new (NULL, NULL);
    const bool moves = apply->moved && g_hash_table_size (apply->moved) > 0;
    int r = apply->untidy || moves ? apply_times (apply) : 0;

    for (guint i = 0; r == 0 && (apply->untidy || moves) && i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (item->done && item->restores_time)
            r = base_sync_one (apply, synced, apply_stays_inode (item));
        if (r < 0)
            job_refuse (apply->job, "the changes were %s, and the time of the directory '%s' can't "
                        "be synced: %s", apply->done, item->path, g_strerror (-r));
    }
    return r;
}

int
apply_to_base (struct apply *apply)
{
    int r = base_announce (apply), s;

    if (r < 0) {
        job_refuse (apply->job, "the records can't be written: %s; %s", g_strerror (-r),
                    apply->nothing);
        return r;
    }
    r = base_items (apply, false);
    if (r == 0)
        r = base_items (apply, true);
    if (r == 0)
        r = apply_times (apply);
    s = base_sync (apply);
    for (guint i = 0; s < 0 && i < apply->items->len; i++)
        ((struct apply_item *) apply->items->pdata[i])->done = false;
    apply->complete = r == 0 && s == 0;
    return r < 0 ? r : s;
}

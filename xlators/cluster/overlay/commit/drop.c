/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The base has all changes of a frozen layer, durably: now the layer goes. What each of its objects
 * is in the base is looked up before the pause, since nothing changes a frozen layer. In the pause
 * the inodes above that have an object of the layer get that of the base in its place, with their
 * numbers, gfids and open files; and the layer loses all its names by one rename. Renamed
 * directories get their new names just before, and need no other redirects, if the layer goes.
 */
#include "commit.h"
#include "../names/links.h"
#include "../start/layers.h"

#define DROP_TRIES 10
#define DROP_OUTCOME                                                                               \
    "the base has the changes, and the view still has the layer: give the command again"

struct layer_drop {
    struct apply *apply;
    inode_t *root;      /* of the layer; lent */
    GHashTable *below;  /* object of the layer -> that of the base; references */
    GHashTable *numbers; /* object of the layer -> struct apply_item */
    struct overlay_clearing clearing; /* of the layer */
    bool unsynced;      /* what lies in work may be the layer again after a power cut */
    bool last;          /* no layer above has a change of the base */
    bool unsettled;     /* the pause found a file in the index */
    struct overlay_moves moves; /* renamed directories get their new names */
    struct pause *pause;
};

/* --- before the pause ------------------------------------------------------------------------- */

/* Something other than the layer's names hinders the drop. */
static int
layer_drop_refuse (struct layer_drop *drop, const char *what, int r)
{
    if (r < 0)
        job_refuse (drop->apply->job, "%s: %s; the base has the changes, and the view still has "
                    "the layer: give the command again", what, g_strerror (-r));
    return r;
}

/* Returns what the base has of an item, with a reference; NULL: nothing. item->base_buf: as it is
 * now. */
static inode_t *
layer_drop_look (struct layer_drop *drop, struct apply_item *item)
{
    struct apply *apply = drop->apply;
    inode_t *directory = item->base_directory, *found = NULL;

    if (item->kind == 'R') {
        item->base_buf = item->moves_buf;
        return item->moves ? inode_ref (item->moves) : NULL;
    }
    if (item->parent && g_hash_table_contains (drop->below, item->parent->upper))
        directory = g_hash_table_lookup (drop->below, item->parent->upper);
    if (!directory
        || sync_name_look (apply_client (apply), directory, item->name, &found,
                           &item->base_buf) < 0)
        return NULL;
    return found;
}

static int
layer_drop_learn (struct layer_drop *drop)
{
    const GPtrArray *items = drop->apply->items;

    for (guint i = 0; i < items->len; i++) {
        struct apply_item *item = items->pdata[i];
        inode_t *below;

        if (item->kind == 'D' || !item->upper)
            continue;
        if (!job_next (drop->apply->job))
            return layer_drop_refuse (drop, "the commit was stopped", -EINTR);
        below = layer_drop_look (drop, item);
        if (!below) {
            job_refuse (drop->apply->job, "'%s' was removed below the view meanwhile: the layer "
                        "'%s' stays; give the command again", item->path,
                        overlay_priv (drop->apply->act.this)->layers[drop->apply->from].path);
            return -EBUSY;
        }
        g_hash_table_replace (drop->below, inode_ref (item->upper), below);
        g_hash_table_replace (drop->numbers, item->upper, item);
    }
    return 0;
}

/* The emptied layer has a root like that of before. */
static int
layer_drop_make (struct layer_drop *drop)
{
    struct apply *apply = drop->apply;
    struct iatt buf;
    const struct overlay_model model = { apply->from, drop->root, &buf };
    int r = sync_name_stat (apply_upper_client (apply), drop->root, &buf);

    if (r == 0)
        r = overlay_clearing_begin (&apply->act, apply->from, &model, &drop->clearing);
    return layer_drop_refuse (drop, "an empty layer can't be made", r);
}

/* --- in the pause ----------------------------------------------------------------------------- */

/* The inode above keeps the number that the layer's object has there. */
static void
layer_drop_number (const struct layer_drop *drop, inode_t *inode, const struct apply_item *item)
{
    xlator_t *this = drop->apply->act.this;
    struct overlay_inode *ctx = overlay_inode_get (this, inode);

    if (overlay_slot (this, inode) == drop->apply->from
        && __atomic_load_n (&ctx->number, __ATOMIC_RELAXED) == 0)
        __atomic_store_n (&ctx->number,
                          overlay_number (this, drop->apply->from, item->upper_buf.ia_ino),
                          __ATOMIC_RELAXED);
}

static void
layer_drop_inode (inode_t *inode, void *data)
{
    const struct layer_drop *drop = data;
    xlator_t *this = drop->apply->act.this;
    inode_t *object = realm_below (this, inode, drop->apply->from);
    inode_t *below = object && object != drop->root
                         ? g_hash_table_lookup (drop->below, object) : NULL;

    if (!below)
        return;
    layer_drop_number (drop, inode, g_hash_table_lookup (drop->numbers, object));
    overlay_inode_applied (this, inode, drop->apply->from, below);
    pause_invalidate (drop->pause, &(struct invalidation){ .inode = inode,
                                                           .what = INVALIDATE_ATTRIBUTES });
}

/* A record stays, as the base is now, where a layer above may have a change of the path as well. */
static void
layer_drop_records (const struct layer_drop *drop)
{
    xlator_t *this = drop->apply->act.this;
    const GPtrArray *items = drop->apply->items;

    if (drop->last)
        overlay_records_drop_below (this, "/");
    for (guint i = 0; !drop->last && i < items->len; i++) {
        const struct apply_item *item = items->pdata[i];

        if (item->kind == 'D')
            overlay_records_drop_below (this, item->path);
        else if (overlay_record_judge (this, item->path, &item->base_buf) == RECORD_SAME)
            overlay_record_settle (this, item->path, &item->base_buf);
    }
}

static int
layer_drop_find_last (struct layer_drop *drop)
{
    struct apply *apply = drop->apply;
    inode_t *root = itable_root (apply->act.above);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r = 0;

    for (unsigned slot = 0; r == 0 && slot < apply->from; slot++)
        r = sync_names_list (overlay_daemon (&apply->act, slot), overlay_fds (&apply->act, slot),
                             realm_below (apply->act.this, root, slot), names);
    drop->last = r == 0 && names->len == 0;
    return layer_drop_refuse (drop, "the names of the layers above can't be read", r);
}

static int
layer_drop_place (struct layer_drop *drop)
{
    struct apply *apply = drop->apply;
    const struct overlay_move_of *failed;
    const int r = overlay_moves_run (&apply->act, &drop->moves, &failed);

    if (r < 0)
        commit_tell_moves (apply, &drop->moves, failed, r,
                           "the base has the other changes, and the view still has the layer: give "
                           "the command again");
    return r;
}

/* If that fails, the layer needs the redirects. */
static int
layer_drop_empty (struct layer_drop *drop)
{
    struct apply *apply = drop->apply;
    const int r = overlay_clearing_run (&apply->act, &drop->clearing);

    if (r < 0)
        overlay_moves_mark (&apply->act, &drop->moves);
    return layer_drop_refuse (drop, "an empty layer can't take the place of the layer", r);
}

/* The index knows a copy that was made since the freeze by the gfid of the layer's object. After
 * the drop the other names of the file show the base's object, which has another gfid, and would
 * not find the copy. So the index has to be empty. */
static int
layer_drop_check_index (struct layer_drop *drop)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    const int r = overlay_index_list (&drop->apply->act, names);

    drop->unsettled = r == 0 && names->len > 0;
    return drop->unsettled ? -EAGAIN : layer_drop_refuse (drop, "the index can't be read", r);
}

static int
layer_drop_in_pause (struct pause *pause, void *data)
{
    struct layer_drop *drop = data;
    struct apply *apply = drop->apply;
    int r = overlay_refuse_old_graphs (apply->act.this, apply->job,
                                       "the base has the changes, and the view still has the "
                                       "layer: close the files and give the command again");

    if (r == 0)
        r = layer_drop_check_index (drop);
    if (r == 0)
        r = layer_drop_find_last (drop);
    if (r == 0)
        r = layer_drop_place (drop);
    if (r == 0)
        r = layer_drop_empty (drop);
    if (r < 0)
        return r;
    drop->pause = pause;
    itable_foreach (apply->act.above, layer_drop_inode, drop);
    layer_drop_records (drop);
    return 0;
}

/* The store forgets the moves once the layer, whose redirects are those of before, can't come back.
 * What lies in work is removed then, too; if it can't be synced, that is left to the next start.
 * r: of the pause. */
static int
layer_drop_sync (struct layer_drop *drop, int r)
{
    struct apply *apply = drop->apply;
    int synced = overlay_clearing_sync (&apply->act, &drop->clearing);

    drop->unsynced = synced < 0;
    if (synced == 0)
        synced = overlay_moves_end (&apply->act, &drop->moves);
    if (synced < 0 && r == 0)
        job_refuse (apply->job, "the base has the changes, and the layer '%s' is dropped, but that "
                    "can't be synced: %s; after a power cut the layer may be there again: give the "
                    "command again then",
                    overlay_priv (apply->act.this)->layers[apply->from].path,
                    g_strerror (-synced));
    return r < 0 ? r : synced;
}

/* --- the layer -------------------------------------------------------------------------------- */

static int
layer_drop_try (struct layer_drop *drop, struct overlay_pause *wanted)
{
    struct apply *apply = drop->apply;
    int r = overlay_pause_run (apply->act.this, wanted);

    for (unsigned tries = 1; drop->unsettled && tries < DROP_TRIES; tries++) {
        drop->unsettled = false;
        r = overlay_names_settle (&apply->act, apply->job, DROP_OUTCOME);
        if (r == 0)
            r = overlay_pause_run (apply->act.this, wanted);
    }
    if (drop->unsettled)
        job_refuse (apply->job, "programs change files with several names (hard links) all the "
                    "time; " DROP_OUTCOME);
    return drop->unsettled ? -EBUSY : r;
}

static int
layer_drop_carry_out (struct layer_drop *drop)
{
    struct apply *apply = drop->apply;
    struct overlay_pause wanted = {
        .job = apply->job, .fn = layer_drop_in_pause, .data = drop,
        .outcome = DROP_OUTCOME,
    };
    int r = layer_drop_learn (drop);

    if (r == 0)
        r = layer_drop_make (drop);
    commit_place (apply, &drop->moves);
    if (r == 0)
        r = layer_drop_refuse (drop, "renamed directories can't be noted in the view's folder",
                               overlay_moves_write (apply->act.this, &drop->moves));
    overlay_moves_find (&apply->act, &drop->moves);
    if (r == 0)
        r = layer_drop_try (drop, &wanted);
    apply->held += wanted.held;
    return layer_drop_sync (drop, r);
}

int
commit_drop (struct apply *apply)
{
    struct layer_drop drop = {
        .apply = apply,
        .root = realm_below (apply->act.this, itable_root (apply->act.above), apply->from),
        .below = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref,
                                        (GDestroyNotify) inode_unref),
        .numbers = g_hash_table_new (NULL, NULL),
    };
    int r;

    overlay_moves_begin (&drop.moves);
    drop.moves.unmarked = true;
    r = layer_drop_carry_out (&drop);
    overlay_moves_clear (&drop.moves);
    g_hash_table_unref (drop.below);
    g_hash_table_unref (drop.numbers);
    overlay_clearing_end (&apply->act, &drop.clearing, !drop.unsynced);
    return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The base has what was applied: now the upper's objects go, in a pause. Before it the kernel has
 * written back what programs have changed in mapped files. An object that is not as it was copied
 * stays in the upper, as a further change of the view.
 *
 * The inode above of an object that goes stays, with its number, its gfid and its open files: in
 * the place of the upper's inode it gets that of the base, and a file that is changed again is
 * copied to the upper again.
 */
#include "apply.h"
#include "../names/links.h"

/* Looks the object up in the base again: its directory may be a new one. */
static inode_t *
drop_find (struct apply *apply, const struct apply_item *item, inode_t *parent)
{
    inode_t *directory = realm_below (apply->act.this, parent, apply->base), *found = NULL;
    struct iatt buf;

    if (!directory
        || sync_name_look (apply_client (apply), directory, item->name, &found, &buf) < 0)
        return NULL;
    return found;
}

/* Numbers of an upper's object above stay what they were. */
static void
drop_keep_number (struct apply *apply, const struct apply_item *item, inode_t *inode)
{
    struct overlay_inode *ctx = overlay_inode_get (apply->act.this, inode);

    if (__atomic_load_n (&ctx->number, __ATOMIC_RELAXED) == 0)
        __atomic_store_n (&ctx->number,
                          overlay_number (apply->act.this, OVERLAY_UPPER, item->upper_buf.ia_ino),
                          __ATOMIC_RELAXED);
}

/* Gives the inode above, if it is known, the base's inode. Its directory comes first. */
static void
drop_swap (struct apply *apply, const struct apply_item *item, bool gone)
{
    inode_t *parent;
    g_autoptr (inode_t) inode = overlay_known_inode (itable_root (apply->act.above), item->path,
                                                     &parent);
    g_autoptr (inode_t) below = inode ? drop_find (apply, item, parent) : NULL;

    if (below && realm_below (apply->act.this, inode, OVERLAY_UPPER) == item->upper) {
        drop_keep_number (apply, item, inode);
        if (gone)
            overlay_inode_applied (apply->act.this, inode, OVERLAY_UPPER, below);
        else
            realm_replace (apply->act.this, inode, apply->base, below);
        pause_invalidate (apply->pause, &(struct invalidation){ .inode = inode,
                                                                .what = INVALIDATE_ATTRIBUTES });
    }
    inode_unref (parent);
}

/* --- one item --------------------------------------------------------------------------------- */

/* A directory in which something has changed meanwhile stays, and is merged with the base's. */
static int
drop_directory (struct apply *apply, struct apply_item *item)
{
    struct client *client = overlay_daemon (&apply->act, OVERLAY_UPPER);
    int r = sync_name_remove (client, item->upper_directory, item->name, item->upper);

    if (r == 0 || r == -ENOTEMPTY) {
        drop_swap (apply, item, r == 0);
        if (r == 0)
            overlay_record_drop (apply->act.this, item->path);
        apply->dropped += r == 0 && (item->kind != 'M' || item->what != 0);
    }
    return r == -ENOTEMPTY ? 0 : r;
}

/* The base has the names now that the upper's file had in the index. */
static int
drop_indexed (struct apply *apply, const struct apply_item *item)
{
    gfid_t gfid;
    const int r = item->upper_buf.ia_nlink > 1 ? apply_origin (apply, item, &gfid) : 0;

    return r < 0 || item->upper_buf.ia_nlink < 2 || gfid_is_null (&gfid)
               ? r : overlay_index_remove (&apply->act, &gfid, item->upper);
}

static int
drop_object (struct apply *apply, struct apply_item *item)
{
    int r = item->link_of ? 0 : overlay_move_to_work (&apply->act, item->upper_directory,
                                                      item->name, item->upper, 0, &item->away);

    if (r == 0 && item->kind != 'D')
        r = drop_indexed (apply, item);
    if (r < 0)
        return r;
    apply->dropped += item->kind != 'M' || item->what != 0;
    if (item->kind == 'D' || item->kind == 'T')
        overlay_records_drop_below (apply->act.this, item->path);
    else
        overlay_record_drop (apply->act.this, item->path);
    if (item->kind != 'D')
        drop_swap (apply, item, true);
    return 0;
}

/* If the base does not have all items, directories stay as they are, and with them what would be
 * hidden by them; and files with several names. */
static bool
drop_may (const struct apply *apply, const struct apply_item *item)
{
    const struct apply_item *parent = item->parent;

    if (!item->done || !item->upper || item->restless)
        return false;
    return apply->complete
        || (item->upper_buf.ia_type != IA_IFDIR
            && (item->upper_buf.ia_nlink == 1 || overlay_is_whiteout (&item->upper_buf))
            && (!parent || (parent->kind == 'M' && !parent->opaque)));
}

/* --- in the pause ----------------------------------------------------------------------------- */

/* Directories of the view get the base's first, from the top, so that what is in them is found. */
static int
drop_prepare (struct apply *apply)
{
    int r = 0;

    for (guint i = 0; r == 0 && i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];

        if (!drop_may (apply, item) || item->upper_buf.ia_type != IA_IFDIR)
            continue;
        if (item->opaque)
            r = overlay_mark_remove (&apply->act, item->upper, OVERLAY_OPAQUE);
        drop_swap (apply, item, false);
    }
    return r;
}

/* Before any of them goes, which changes the time of a file that has another name. */
static void
drop_choose (struct apply *apply)
{
    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];

        item->drops = drop_may (apply, item) && apply_is_same (apply, item) == 0;
    }
}

static int
drop_in_pause (struct pause *pause, void *data)
{
    struct apply *apply = data;
    int r;

    apply->pause = pause;
    r = drop_prepare (apply);
    drop_choose (apply);
    for (guint i = apply->items->len; r == 0 && i-- > 0;) {
        struct apply_item *item = apply->items->pdata[i];

        apply->dropped += item->done && !item->upper;
        if (!item->drops)
            continue;
        r = item->upper_buf.ia_type == IA_IFDIR ? drop_directory (apply, item)
                                                : drop_object (apply, item);
    }
    return r;
}

/* --- afterwards ------------------------------------------------------------------------------- */

static void
drop_finish (struct apply *apply)
{
    for (guint i = 0; i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (item->away)
            overlay_work_remove (&apply->act, item->away);
    }
}

int
apply_drop (struct apply *apply)
{
    struct overlay_pause wanted = {
        .job = apply->job, .fn = drop_in_pause, .data = apply,
        .outcome = "the changes were applied, and the view still has them",
    };
    const int r = overlay_pause_run (apply->act.this, &wanted);

    apply->held = wanted.held;
    drop_finish (apply);
    return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * New objects of an apply, in the base. Each is made in the directory where it will be, under a
 * temporary name; a new directory is made with all that belongs in it. When apply_make_objects
 * returns they are durable, and nothing of the base has changed but for those names.
 */
#include "apply.h"
#include "../formats/temporaries.h"

#include <sys/stat.h>

#define SETTLE_TRIES 7 /* of 20 ms */

/* ESTALE: a program has removed or replaced the file since it was looked at. */
static int
apply_refuse (struct apply *apply, const struct apply_item *item, int r)
{
    const bool changed = r == -EBUSY || r == -ESTALE;

    if (r < 0)
        job_refuse (apply->job, "'%s'%s%s; %s", item->path,
                    changed ? " was changed meanwhile" : ": ", changed ? "" : g_strerror (-r),
                    apply->nothing);
    return r;
}

/* --- temporary names -------------------------------------------------------------------------- */

int
apply_clean (struct apply *apply)
{
    g_autofree char *path = NULL;
    const int r = overlay_temporaries_remove (&apply->act, &path);

    if (r < 0 && path)
        job_refuse (apply->job, "the temporary name '%s', which a killed apply or commit has "
                    "left, can't be removed: %s; remove it by hand and give the command again",
                    path, g_strerror (-r));
    else if (r < 0)
        job_refuse (apply->job, "directories of the base, from which names that an apply has left "
                    "were removed, can't be synced: %s", g_strerror (-r));
    return r;
}

static int
temporaries_plan (struct apply *apply)
{
    struct random_source source = { random_seed () };

    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];
        g_autofree char *path = NULL;

        if (!apply_makes (item) || apply_is_inside (item))
            continue;
        if (!item->base_directory)
            return apply_refuse (apply, item, -ENOENT);
        item->temporary = g_strdup_printf (TEMPORARY_NAME "%016" G_GINT64_MODIFIER "x",
                                           random_next (&source));
        path = inode_path (item->base_directory, item->temporary);
        overlay_temporary_add (apply->act.this, path);
    }
    return store_sync (overlay_priv (apply->act.this)->records);
}

/* --- the upper's object as it is now ---------------------------------------------------------- */

/* Names that come and go change a directory's times, and the ctime of a file: of the base's files
 * the apply makes names itself. All whiteouts are the same. */
static bool
iatt_same (const struct iatt *one, const struct iatt *other, bool is_base)
{
    const bool named = is_base && one->ia_nlink != other->ia_nlink;

    if (!is_base && overlay_is_whiteout (one) && overlay_is_whiteout (other))
        return true;
    return gfid_equal (&one->ia_gfid, &other->ia_gfid) && one->ia_prot == other->ia_prot
        && one->ia_uid == other->ia_uid && one->ia_gid == other->ia_gid
        && (one->ia_type == IA_IFDIR
            || (one->ia_size == other->ia_size && one->ia_mtime == other->ia_mtime
                && one->ia_mtime_nsec == other->ia_mtime_nsec
                && (named || (one->ia_ctime == other->ia_ctime
                              && one->ia_ctime_nsec == other->ia_ctime_nsec))));
}

/* found: the error of a look at the name, or 0. */
static int
same_judge (int found, const struct iatt *now, const inode_t *was, const struct iatt *buf,
            bool is_base)
{
    if (found < 0)
        return found == -ENOENT ? (was ? -EBUSY : 0) : found;
    return was && iatt_same (buf, now, is_base) ? 0 : -EBUSY;
}

int
apply_is_same (struct apply *apply, const struct apply_item *item)
{
    const struct apply_item *at = item->link_of ? item->link_of : item;
    g_autoptr (inode_t) now = NULL;
    struct iatt buf;
    const int r = at->upper_directory ? sync_name_look (apply_upper_client (apply),
                                                        at->upper_directory, at->name, &now, &buf)
                                      : -ENOENT;

    return same_judge (r, &buf, item->upper, &item->upper_buf, false);
}

static int
base_is_same (struct apply *apply, struct apply_item *item)
{
    g_autoptr (inode_t) now = NULL;
    struct iatt buf;
    const int r = apply_look_base (apply, item, &now, &buf);

    return same_judge (r, &buf, item->base, &item->base_buf, true);
}

/* A change in the tick of the file system's clock in which the last one was would not be seen. A
 * file that changes all the time stays in the upper as well. */
static int
upper_settle (struct apply *apply, struct apply_item *item)
{
    struct client *client = apply_upper_client (apply);
    struct timespec now;
    int r = -EBUSY;

    for (int i = 0; r == -EBUSY && i < SETTLE_TRIES; i++) {
        clock_gettime (CLOCK_REALTIME, &now);
        r = sync_name_stat (client, item->upper, &item->upper_buf);
        item->restless = r == 0 && item->upper_buf.ia_type == IA_IFREG
                         && !iatt_is_settled (&item->upper_buf, now);
        if (item->restless && i + 1 < SETTLE_TRIES) {
            g_usleep (20000);
            r = -EBUSY;
        }
    }
    return r;
}

/* --- making ----------------------------------------------------------------------------------- */

static struct overlay_model
item_model (const struct apply *apply, const struct apply_item *item)
{
    return (struct overlay_model){ apply->from, item->upper, &item->upper_buf };
}

/* What the base's directory passes on to new objects is no part of the upper's one. */
static void
make_bare (struct apply *apply, inode_t *inode)
{
    loc_t loc = { .inode = inode };

    (void) sync_removexattr (apply_client (apply), &loc, "system.posix_acl_access", NULL, NULL);
    if (inode->ia_type == IA_IFDIR)
        (void) sync_removexattr (apply_client (apply), &loc, "system.posix_acl_default", NULL,
                                 NULL);
    loc_wipe_path (&loc);
}

static int
make_attributes (struct apply *apply, struct apply_item *item)
{
    const int r = overlay_copy_attributes_to (&apply->act, apply->from, item->upper,
                                              &item->upper_buf, apply->base, item->made);

    return r < 0 ? r : sync_name_stat (apply_client (apply), item->made, &item->made_buf);
}

static int
make_regular (struct apply *apply, struct apply_item *item)
{
    const struct overlay_model model = item_model (apply, item);
    g_autoptr (fd_t) fd = NULL;
    int r = sync_name_open (apply_client (apply), overlay_fds (&apply->act, apply->base),
                            item->made, O_WRONLY, &fd);

    if (r == 0)
        r = overlay_copy_data (&apply->act, &model, apply->base, fd);
    if (r == 0)
        r = make_attributes (apply, item);
    return r < 0 ? r : error_or_0 (sync_fsync (apply_client (apply), fd, 0, NULL, NULL));
}

static int
make_object (struct apply *apply, struct apply_item *item, inode_t *directory, const char *name)
{
    const struct overlay_model model = item_model (apply, item);
    const int r = overlay_make_like (&apply->act, &model, apply->base, directory, name,
                                     &item->made);

    if (r < 0)
        return r;
    make_bare (apply, item->made);
    if (item->upper_buf.ia_type == IA_IFDIR)
        return 0; /* its attributes come last: apply_finish */
    return item->upper_buf.ia_type == IA_IFREG ? make_regular (apply, item)
                                               : make_attributes (apply, item);
}

static bool
link_error_is_refusal (int r)
{
    return r == -EXDEV || r == -EPERM || r == -EMLINK || r == -EOPNOTSUPP;
}

/* The plan has compared the upper's file with that of the base, perhaps within the tick of the
 * clock in which it was changed. */
static int
make_is_original (struct apply *apply, const struct apply_item *item, const struct iatt *planned)
{
    int r;

    if (apply->from != OVERLAY_UPPER
        || (iatt_is_settled (planned, apply->planned)
            && iatt_same (planned, &item->upper_buf, false)))
        return 0;
    r = apply_is_of_base (apply, item, item->original);
    return r < 0 ? r : r > 0 ? 0 : -EBUSY;
}

/* Returns 1 if the base's file has got the name; 0 if storage makes no link of it, as where its
 * directory is on another file system; or a negative errno. */
static int
make_name (struct apply *apply, struct apply_item *item, inode_t *directory, const char *name)
{
    struct apply_item *original = item->original;
    struct iatt now;
    int r = sync_name_stat (apply_client (apply), original->base, &now);

    if (r == 0 && !iatt_same (&original->base_buf, &now, true))
        r = -EBUSY;
    if (r == 0)
        r = sync_name_link (apply_client (apply), original->base, directory, name);
    if (r < 0)
        return link_error_is_refusal (r) ? 0 : r;
    item->made = inode_ref (original->base);
    if (original->upper == item->upper) { /* both names leave the upper, or none */
        original->upper_buf = item->upper_buf;
        original->restless = item->restless;
    }
    r = sync_name_stat (apply_client (apply), original->base, &item->made_buf);
    return r < 0 ? r : 1;
}

/* Further names of one file in the upper become further names of one file in the base. */
static int
make_item (struct apply *apply, struct apply_item *item)
{
    const bool inside = apply_is_inside (item);
    inode_t *directory = inside ? item->parent->made : item->base_directory;
    const char *name = inside ? item->name : item->temporary;
    const bool linked = item->upper_buf.ia_nlink > 1 && item->upper_buf.ia_type != IA_IFDIR;
    inode_t *known = linked ? g_hash_table_lookup (apply->links, &item->upper->gfid) : NULL;
    const struct iatt planned = item->upper_buf;
    int r = upper_settle (apply, item);

    if (r == 0 && item->original)
        r = make_is_original (apply, item, &planned);
    if (r == 0 && item->original)
        r = make_name (apply, item, directory, name);
    if (r != 0)
        return MIN (r, 0);
    if (known) {
        item->made = inode_ref (known);
        r = sync_name_link (apply_client (apply), known, directory, name);
        return r < 0 ? r : make_attributes (apply, item);
    }
    r = make_object (apply, item, directory, name);
    if (r == 0 && linked)
        g_hash_table_insert (apply->links, &item->upper->gfid, item->made);
    return r;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* New directories get their attributes when nothing is made in them any more. */
static int
apply_finish (struct apply *apply)
{
    int r = 0;

    for (guint i = apply->items->len; r == 0 && i-- > 0;) {
        struct apply_item *item = apply->items->pdata[i];

        if (!item->made || item->made->ia_type != IA_IFDIR)
            continue;
        r = overlay_sync_inode (&apply->act, apply->base, item->made);
        if (r == 0)
            r = make_attributes (apply, item);
        if (r == 0)
            r = overlay_sync_inode (&apply->act, apply->base, item->made);
        if (r < 0)
            return apply_refuse (apply, item, r);
    }
    return r;
}

/* The view, or somebody below it, may have changed something while the objects were made. */
static int
apply_compare (struct apply *apply)
{
    for (guint i = 0; i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];
        int r = apply_is_same (apply, item);

        if (r == 0)
            r = base_is_same (apply, item);
        if (r == -EBUSY)
            job_refuse (apply->job, "'%s' was changed meanwhile; %s", item->path, apply->nothing);
        else if (r < 0)
            return apply_refuse (apply, item, r);
        if (r < 0)
            return r;
    }
    return 0;
}

int
apply_make_objects (struct apply *apply)
{
    int r = temporaries_plan (apply);

    for (guint i = 0; r == 0 && i < apply->items->len; i++) {
        struct apply_item *item = apply->items->pdata[i];

        job_progress (apply->job, i, apply->items->len);
        if (!job_next (apply->job))
            return -EINTR;
        if (apply_makes (item))
            r = apply_refuse (apply, item, make_item (apply, item));
    }
    if (r == 0)
        r = apply_finish (apply);
    return r < 0 ? r : apply_compare (apply);
}

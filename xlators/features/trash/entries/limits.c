/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits of what lies in trashes. An entry is as old as its information file, which is made with
 * it. Its owner can make it older, and not younger than the last change of that file. The size of a
 * tree is that of its files, counted when it is looked at.
 *
 * The owner of a trash may have moved there what others own. So entries are removed with the rights
 * of the owner, and what he can't remove stays.
 */
#include "removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct trashed {
    char *name;       /* without the suffix */
    int64_t since;    /* nanoseconds since 1970 */
    struct trash_info seen;
    uint64_t size;    /* bytes; only if there is a limit of them */
    uid_t uid;        /* of the trash */
    inode_t *info, *files; /* folders, with references */
};

/* A part of a file system. */
struct room {
    uint64_t bytes, inodes;
};

struct limits_look {
    xlator_t *this;
    struct trash_work *work;
    struct client *client; /* of work */
    bool sizes;         /* are wanted */
    GPtrArray *trashed; /* struct trashed */
    struct room lack;   /* what has to become free */
    struct room gone;   /* what was removed for that */
    struct room last;   /* what was missing at the last look */
    struct room shown;  /* the sum of what less was missing at a look than at the one before it */
};

#define LATE_SPACE (30 * G_GINT64_CONSTANT (1000000000)) /* nanoseconds: a file system may tell this
                                                          * late that space is free, as btrfs */

static void
trashed_free (gpointer data)
{
    struct trashed *trashed = data;

    inode_unref (trashed->info);
    inode_unref (trashed->files);
    g_free (trashed->name);
    g_free (trashed);
}

bool
trash_has_limits (const trash_private_t *priv)
{
    return __atomic_load_n (&priv->max_total, __ATOMIC_RELAXED)
        || __atomic_load_n (&priv->max_age, __ATOMIC_RELAXED)
        || __atomic_load_n (&priv->min_free, __ATOMIC_RELAXED);
}

/* --- what lies there -------------------------------------------------------------------------- */

/* Between two pieces of the work, so that neither a hold nor a user's look at a trash need wait for
 * all of a large one. Returns 0, or -EINTR: the job must stop. */
static int
limits_next (const struct limits_look *look)
{
    if (!trash_work_next (look->work))
        return -EINTR;
    trash_line_others (&trash_priv (look->this)->entries);
    return 0;
}

/* The room of a tree. */
struct tree_counted {
    struct limits_look *look;
    struct room *room;
};

static int
tree_add_room (const struct sync_tree *tree, inode_t *directory, const char *name, inode_t *inode,
               const struct iatt *buf)
{
    const struct tree_counted *counted = tree->data;
    struct room *room = counted->room;

    room->bytes += buf->ia_blocks * 512;
    room->inodes += buf->ia_nlink <= 1 || buf->ia_type == IA_IFDIR;
    return limits_next (counted->look);
}

/* Adds what a name and all below take. */
static void
tree_room (struct limits_look *look, inode_t *directory, const char *name, struct room *room)
{
    struct tree_counted counted = { look, room };
    const struct sync_tree tree = { look->client, look->this->fd_maker, NULL, tree_add_room,
                                    &counted };

    sync_tree_each (&tree, directory, name);
}

static void
look_at_entry (struct limits_look *look, inode_t *info, inode_t *files, uid_t uid,
               const char *name)
{
    g_autoptr (inode_t) inode = NULL;
    struct trashed *trashed;
    struct room room = {};
    struct iatt buf;

    if (!g_str_has_suffix (name, TRASH_INFO_SUFFIX)
        || sync_name_look (look->client, info, name, &inode, &buf) < 0)
        return;
    trashed = g_new0 (struct trashed, 1);
    trashed->name = g_strndup (name, strlen (name) - strlen (TRASH_INFO_SUFFIX));
    trashed->since = MIN (trash_nanoseconds (buf.ia_mtime, buf.ia_mtime_nsec),
                          trash_nanoseconds (buf.ia_ctime, buf.ia_ctime_nsec));
    trash_info_note (&trashed->seen, &buf);
    trashed->uid = uid;
    trashed->info = inode_ref (info);
    trashed->files = inode_ref (files);
    if (look->sizes)
        tree_room (look, files, trashed->name, &room);
    trashed->size = room.bytes;
    g_ptr_array_add (look->trashed, trashed);
}

/* Looks a folder up that must be a user's own, and no link. */
static bool
look_at_folder (struct limits_look *look, inode_t *parent, const char *name, uid_t uid,
                inode_t **ret_inode)
{
    struct iatt buf;

    return sync_name_look (look->client, parent, name, ret_inode, &buf) == 0
        && buf.ia_type == IA_IFDIR && buf.ia_uid == uid;
}

/* The name ends with the user's number, as this writes it. */
static bool
is_number_of_user (const char *text, uid_t *ret_uid)
{
    char again[16];
    guint64 number;

    if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32 - 1, &number, NULL))
        return false;
    snprintf (again, sizeof again, "%" G_GUINT64_FORMAT, number);
    *ret_uid = number;
    return strcmp (again, text) == 0;
}

static bool
limits_go_on (void *look)
{
    return limits_next (look) == 0;
}

/* The removal of names in a trash as its owner, without the name. client_free its client. */
static struct trash_removal
removal_as_owner (struct limits_look *look, inode_t *info, inode_t *files, uid_t uid)
{
    const gid_t group = uid == 0 ? 0 : trash_priv (look->this)->no_group;
    const struct trash_who who = { uid, group, 0 };

    return (struct trash_removal){ look->this, trash_owner_new (look->this, look->client, &who),
                                   info, files, NULL, limits_go_on, look };
}

/* Removes what a removal that was stopped, or a daemon that was killed, has left of an entry. */
static void
look_at_rest (struct limits_look *look, inode_t *info, inode_t *files, uid_t uid, const char *name)
{
    struct trash_removal removal;

    if (!g_str_has_suffix (name, TRASH_GONE_SUFFIX))
        return;
    removal = removal_as_owner (look, info, files, uid);
    trash_entry_remove_rest (&removal, name);
    client_free (removal.client);
}

static void
look_at_trash (struct limits_look *look, inode_t *parent, const char *name, const char *number)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) top = NULL, info = NULL, files = NULL;
    uid_t uid;

    if (!is_number_of_user (number, &uid) || !look_at_folder (look, parent, name, uid, &top)
        || !look_at_folder (look, top, "files", uid, &files)
        || !look_at_folder (look, top, "info", uid, &info))
        return;
    sync_names_list (look->client, look->this->fd_maker, info, names);
    for (guint i = 0; i < names->len && limits_next (look) == 0; i++) {
        look_at_rest (look, info, files, uid, names->pdata[i]);
        look_at_entry (look, info, files, uid, names->pdata[i]);
    }
}

/* Looks at the trashes in a directory: those whose names are the prefix and a user's number, as in
 * /.Trash-UID. hold, or NULL, is called for the entries of each, which are dropped then. */
static void
trashes_each (struct limits_look *look, inode_t *parent, const char *prefix,
              void (*hold) (struct limits_look *look))
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

    sync_names_list (look->client, look->this->fd_maker, parent, names);
    for (guint i = 0; i < names->len && limits_next (look) == 0; i++) {
        if (!g_str_has_prefix (names->pdata[i], prefix))
            continue;
        look_at_trash (look, parent, names->pdata[i],
                       (const char *) names->pdata[i] + strlen (prefix));
        if (hold) {
            hold (look);
            g_ptr_array_set_size (look->trashed, 0);
        }
    }
}

/* Looks at all trashes: those in the root, those in its folder /.Trash, and those that only
 * `windlass trash` shows. hold: as in trashes_each. */
static void
trashes_all (struct limits_look *look, inode_t *root, void (*hold) (struct limits_look *look))
{
    g_autoptr (inode_t) shared = NULL, refuges = NULL;

    trashes_each (look, root, TRASH_OWN, hold);
    shared = trash_shared (look->client, root);
    if (shared)
        trashes_each (look, shared, "", hold);
    refuges = trash_refuges (look->client, root, trash_priv (look->this)->top_name);
    if (refuges)
        trashes_each (look, refuges, "", hold);
}

/* --- removing --------------------------------------------------------------------------------- */

static gint
older_first (gconstpointer a, gconstpointer b)
{
    const struct trashed *one = *(struct trashed *const *) a;
    const struct trashed *other = *(struct trashed *const *) b;

    if (one->since != other->since)
        return one->since < other->since ? -1 : 1;
    return strcmp (one->name, other->name);
}

static bool
trashed_remove (struct limits_look *look, const struct trashed *trashed)
{
    struct trash_removal removal = removal_as_owner (look, trashed->info, trashed->files,
                                                     trashed->uid);

    bool removed;

    removal.name = trashed->name;
    removed = trash_entry_remove (&removal, &trashed->seen) == 0;
    if (removed)
        __atomic_add_fetch (&trash_priv (look->this)->evicted, 1, __ATOMIC_RELAXED);
    client_free (removal.client);
    return removed;
}

/* The limits of one trash. What can't be removed pushes no other entry out. */
static void
hold_total_and_age (struct limits_look *look)
{
    const trash_private_t *priv = trash_priv (look->this);
    const uint64_t most = __atomic_load_n (&priv->max_total, __ATOMIC_RELAXED);
    const int64_t age = __atomic_load_n (&priv->max_age, __ATOMIC_RELAXED);
    const struct timespec today = clock_today ();
    const int64_t now = trash_nanoseconds (today.tv_sec, (uint32_t) today.tv_nsec);
    uint64_t total = 0;

    g_ptr_array_sort (look->trashed, older_first);
    for (guint i = 0; i < look->trashed->len; i++)
        total += ((struct trashed *) look->trashed->pdata[i])->size;
    for (guint i = 0; i < look->trashed->len && limits_next (look) == 0; i++) {
        struct trashed *one = look->trashed->pdata[i];

        if (!(most > 0 && total > most) && !(age > 0 && now - one->since > age))
            break;
        trashed_remove (look, one);
        total -= one->size;
    }
}

static uint64_t
missing (uint64_t least, uint64_t there)
{
    return there < least ? least - there : 0;
}

/* Returns what is missing of min-free: of the bytes, and of the same share of the inodes, but at
 * least one. A file system that makes them as they are needed, as btrfs, says that it has 0. */
static struct room
room_missing (const struct statvfs *buf, uint64_t least)
{
    const double all = (double) buf->f_blocks * (double) buf->f_frsize;
    const double share = (double) least < all ? (double) least / all : 1;

    if (least == 0)
        return (struct room){};
    return (struct room){ missing (least, (uint64_t) buf->f_bavail * buf->f_frsize),
                          missing (MIN ((uint64_t) (share * (double) buf->f_files) + 1,
                                        buf->f_files),
                                   buf->f_favail) };
}

static struct room
free_lacks (struct limits_look *look, inode_t *root)
{
    const uint64_t least = __atomic_load_n (&trash_priv (look->this)->min_free, __ATOMIC_RELAXED);
    loc_t loc = { .inode = root };
    struct room lack = {};
    struct statfs_reply reply;

    if (sync_statfs (look->client, &loc, NULL, &reply) >= 0)
        lack = room_missing (&reply.buf, least);
    statfs_reply_drop (&reply);
    loc_wipe_path (&loc);
    return lack;
}

static bool
room_is_none (const struct room *room)
{
    return room->bytes == 0 && room->inodes == 0;
}

/* Whether enough was removed, yet something is missing, and most of what was removed has not shown
 * as free. */
static bool
free_is_hidden (const struct limits_look *look)
{
    const struct room *lack = &look->lack, *gone = &look->gone, *shown = &look->shown;

    return gone->bytes >= lack->bytes && gone->inodes >= lack->inodes
        && ((look->last.bytes > 0 && shown->bytes < gone->bytes / 2)
            || (look->last.inodes > 0 && shown->inodes < gone->inodes / 2));
}

/* Syncs the file system, which then tells what is free. Returns whether that was done. */
static bool
free_sync (struct limits_look *look, inode_t *root)
{
    g_autoptr (dict_t) asked = dict_new ();
    g_autoptr (fd_t) fd = NULL;
    struct fsyncdir_reply reply;
    size_t size;
    bool done;

    if (sync_name_open (look->client, look->this->fd_maker, root, O_RDONLY | O_DIRECTORY, &fd) < 0)
        return false;
    dict_set_u64 (asked, XDATA_SYNC_ALL, 1);
    done = sync_fsyncdir (look->client, fd, 0, asked, &reply) >= 0
        && dict_get (reply.xdata, XDATA_SYNC_ALL, &size) != NULL;
    fsyncdir_reply_drop (&reply);
    return done;
}

/* Begins to count anew what is missing. Returns whether anything is. */
static bool
free_count (struct limits_look *look, inode_t *root)
{
    look->lack = look->last = free_lacks (look, root);
    look->gone = look->shown = (struct room){};
    return !room_is_none (&look->lack);
}

/* If what was removed does not show as free, others have taken it, or the file system tells late. A
 * sync decides; without one, min-free waits until the file system must have told. */
static bool
free_is_short (struct limits_look *look, inode_t *root)
{
    const struct room lack = free_lacks (look, root);

    look->shown.bytes += missing (look->last.bytes, lack.bytes);
    look->shown.inodes += missing (look->last.inodes, lack.inodes);
    look->last = lack;
    if (room_is_none (&lack))
        return false;
    if (!free_is_hidden (look))
        return true;
    if (free_sync (look, root))
        return free_count (look, root);
    __atomic_store_n (&trash_priv (look->this)->space_is_late, clock_now () + LATE_SPACE,
                      __ATOMIC_RELAXED);
    return false;
}

/* Removes what lies in a stage, and its folder. Returns 0 or a negative errno: then some of it is
 * left. -EINTR: the job must stop. */
static int
stage_discard (struct limits_look *look, struct trash_stage *stage)
{
    xlator_t *this = look->this;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) user = NULL;
    g_autofree char *name = NULL;
    int r = sync_names_list (look->client, this->fd_maker, stage->folder, names);

    for (guint i = 0; r == 0 && i < names->len; i++) {
        tree_room (look, stage->folder, names->pdata[i], &look->gone);
        r = limits_next (look);
        if (r == 0)
            r = sync_name_remove_tree (look->client, this->fd_maker, stage->folder,
                                       names->pdata[i]);
        if (r == 0)
            trash_count_for_good (this, ENOSPC, names->pdata[i]);
    }
    if (r == 0 && inode_a_name (stage->folder, &user, &name))
        r = sync_name_remove (look->client, user, name, stage->folder);
    return r;
}

/* What has no entry yet: it is younger than all that has one, and an entry needs space, too. So it
 * stays if the job was stopped before the entries were gone. */
static void
hold_free_of_stages (struct limits_look *look, inode_t *root)
{
    struct trash_stage *stage;
    int r = limits_next (look);

    while (r == 0 && free_is_short (look, root)
           && (stage = trash_stage_next (look->this, TRASH_ALL, ALL_USERS))) {
        r = stage_discard (look, stage);
        if (r < 0)
            trash_stage_again (look->this, stage, TRASH_OLDEST);
        trash_stage_done (look->this, stage);
    }
}

static uint64_t
entries_made (const struct limits_look *look)
{
    return __atomic_load_n (&trash_priv (look->this)->made, __ATOMIC_RELAXED);
}

/* Removes entries that were seen, the oldest first. Returns how many. */
static unsigned
hold_free_of_entries (struct limits_look *look, inode_t *root)
{
    unsigned removed = 0;

    g_ptr_array_sort (look->trashed, older_first);
    for (guint i = 0; i < look->trashed->len && limits_next (look) == 0
                      && free_is_short (look, root); i++) {
        const struct trashed *one = look->trashed->pdata[i];

        tree_room (look, one->files, one->name, &look->gone);
        look->gone.inodes++; /* the information file */
        removed += trashed_remove (look, one);
    }
    return removed;
}

/* The oldest entries of all trashes. What has become an entry meanwhile, and was not seen, goes
 * before what has none, at another look. */
static void
hold_free (struct limits_look *look, inode_t *root)
{
    const uint64_t made = entries_made (look);

    if (clock_now () < __atomic_load_n (&trash_priv (look->this)->space_is_late, __ATOMIC_RELAXED))
        return;
    if (!free_count (look, root))
        return;
    look->sizes = false;
    trashes_all (look, root, NULL);
    if (limits_next (look) < 0)
        return; /* what was not looked at may be older */
    if (hold_free_of_entries (look, root) > 0 && entries_made (look) != made)
        trash_limits_soon (look->this);
    else
        hold_free_of_stages (look, root);
}

void
trash_limits_hold (xlator_t *this, bool free_alone)
{
    trash_private_t *priv = this->private;
    inode_t *root = __atomic_load_n (&priv->root, __ATOMIC_ACQUIRE);
    const bool by_size = __atomic_load_n (&priv->max_total, __ATOMIC_RELAXED) > 0;
    const bool by_age = __atomic_load_n (&priv->max_age, __ATOMIC_RELAXED) > 0;
    struct limits_look look = { .this = this, .work = &priv->entries.work,
                                .client = priv->entries.client, .sizes = by_size };

    if (!root || !trash_has_limits (priv) || xlator_is_read_only (this))
        return;
    look.trashed = g_ptr_array_new_with_free_func (trashed_free);
    if (!free_alone && (by_size || by_age))
        trashes_all (&look, root, hold_total_and_age);
    hold_free (&look, root);
    g_ptr_array_unref (look.trashed);
}

static void
limits_task (xlator_t *this, struct trash_task *task)
{
    g_free (task);
    __atomic_store_n (&trash_priv (this)->limits_are_due, false, __ATOMIC_RELAXED);
    trash_limits_hold (this, false);
}

void
trash_limits_soon (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct trash_task *task;

    if (!trash_has_limits (priv)
        || __atomic_exchange_n (&priv->limits_are_due, true, __ATOMIC_RELAXED))
        return;
    task = g_new (struct trash_task, 1);
    *task = (struct trash_task){ limits_task, .background = true };
    pthread_mutex_lock (&priv->lock);
    if (priv->settled)
        g_free (task);
    else
        trash_line_add (&priv->entries, task);
    pthread_mutex_unlock (&priv->lock);
}

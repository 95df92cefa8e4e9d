/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy of a lower's object to the upper, before its first change. One thread copies, whatever
 * graph it belongs to; changes of the object wait for it (wait.c), and reads go on below. The
 * copy is made in the work directory, gets the bytes, owner, mode, extended attributes and times,
 * is synced, and then gets its name; its directory keeps its times. The name itself is synced when
 * a program syncs the file or a directory (sync.c). A file that has lost its name in the view gets
 * a copy without one. A file with other names gets one in the index, too (names/links.c).
 */
#include "up.h"
#include "../names/links.h"
#include "../names/names.h"
#include "../formats/records.h"

#include <linux/stat.h>
#include <sys/stat.h>

#define SYNC_PIECES 64 /* pieces of a job between two syncs */

/* A copy. */
struct overlay_copy {
    struct overlay_act *act;
    inode_t *inode;    /* above */
    inode_t *parent;   /* above, with a reference; NULL: the object has no name */
    char *name;        /* in parent; owned */
    unsigned slot;     /* of the lower */
    inode_t *from;     /* below in it */
    struct iatt buf;   /* of it */
    char *work_name;   /* owned */
    inode_t *made;     /* the copy, with a reference */
    fd_t *opened;      /* of a file or directory: the copy, open, with a reference */
    bool indexed;      /* the copy has a name in the index */
    struct overlay_emptying *emptying; /* NULL: the copy gets the bytes */
    struct job *job;   /* that copies; NULL: a thread of a call */
    uint64_t pieces;   /* of the bytes, that were begun */
    int synced;        /* of a job: 0, or a negative errno of a sync between two pieces */
};

static int
overlay_copy_stat (struct overlay_copy *copy, struct iatt *ret_buf)
{
    return sync_name_stat (overlay_daemon (copy->act, copy->slot), copy->from, ret_buf);
}

/* --- making ----------------------------------------------------------------------------------- */

static int
overlay_copy_make (struct overlay_copy *copy)
{
    const struct overlay_model model = { copy->slot, copy->from, &copy->buf };

    return overlay_make_like (copy->act, &model, OVERLAY_UPPER, overlay_work (copy->act),
                              copy->work_name, &copy->made);
}

/* A lower that changes while it is copied is not copied. */
static int
overlay_copy_is_same (struct overlay_copy *copy)
{
    struct iatt now;
    int r = overlay_copy_stat (copy, &now);

    if (r < 0)
        return r;
    return now.ia_size == copy->buf.ia_size && now.ia_mtime == copy->buf.ia_mtime
                   && now.ia_mtime_nsec == copy->buf.ia_mtime_nsec
                   && now.ia_ctime == copy->buf.ia_ctime
                   && now.ia_ctime_nsec == copy->buf.ia_ctime_nsec
               ? 0 : -EBUSY;
}

/* The copy is opened before it gets its mode, which may forbid that to an ordinary user. */
static int
overlay_copy_open (struct overlay_copy *copy)
{
    const bool directory = copy->buf.ia_type == IA_IFDIR;

    if (!directory && copy->buf.ia_type != IA_IFREG)
        return 0;
    return sync_name_open (overlay_daemon (copy->act, OVERLAY_UPPER),
                           overlay_fds (copy->act, OVERLAY_UPPER), copy->made,
                           directory ? O_RDONLY | O_DIRECTORY : O_WRONLY, &copy->opened);
}

static int
overlay_copy_sync (struct overlay_copy *copy)
{
    struct client *client = overlay_daemon (copy->act, OVERLAY_UPPER);

    if (!copy->opened)
        return 0;
    if (copy->buf.ia_type == IA_IFDIR)
        return error_or_0 (sync_fsyncdir (client, copy->opened, 0, NULL, NULL));
    return error_or_0 (sync_fsync (client, copy->opened, 0, NULL, NULL));
}

/* Empties the copy as the caller, who has to have the right to: storage gives the file new times,
 * and clears the set-user-ID bit and the like. */
static int
overlay_copy_empty (struct overlay_copy *copy)
{
    const struct call *call = copy->emptying->call;
    const uint32_t flags = call->flags & (O_ACCMODE | O_TRUNC);
    struct client *client = overlay_caller (copy->act);
    loc_t loc = { .inode = copy->made };
    g_autoptr (fd_t) fd = NULL;
    int r;

    copy->emptying->before = copy->buf;
    overlay_iatt_above (copy->act->this, copy->inode, copy->slot, &copy->emptying->before);
    if (call->op == FOP_ftruncate) {
        r = sync_ftruncate (client, copy->opened, 0, NULL, NULL);
    } else if (call->op == FOP_truncate) {
        r = sync_truncate (client, &loc, 0, NULL, NULL);
    } else {
        fd = fd_new (overlay_fds (copy->act, OVERLAY_UPPER), copy->made, flags, call->fd->pid);
        r = sync_open (client, &loc, flags, fd, NULL, NULL);
    }
    loc_wipe_path (&loc);
    copy->emptying->done = r >= 0;
    return error_or_0 (r);
}

static int
overlay_copy_fill (struct overlay_copy *copy)
{
    xlator_t *this = copy->act->this;
    struct overlay_inode *ctx = overlay_inode_get (this, copy->inode);
    const unsigned data = overlay_data_slot (this, copy->inode, copy->slot);
    const uint64_t number =
        ctx->number ? ctx->number : overlay_number (this, copy->slot, copy->buf.ia_ino);
    const struct overlay_model model = { data, realm_below (this, copy->inode, data), &copy->buf };
    const gfid_t gfid = overlay_gfid_below (this, copy->inode);
    int r = 0;

    __atomic_store_n (&ctx->number, number, __ATOMIC_RELAXED);
    __atomic_store_n (&ctx->copied, true, __ATOMIC_RELAXED);
    if (copy->buf.ia_type == IA_IFREG && !copy->emptying)
        r = overlay_copy_data (copy->act, &model, OVERLAY_UPPER, copy->opened);
    if (copy->synced < 0)
        r = copy->synced;
    if (r == 0)
        r = overlay_origin_set (copy->act, copy->slot, copy->from, copy->made, &gfid, number);
    if (r == 0)
        r = overlay_copy_attributes (copy->act, copy->slot, copy->from, &copy->buf, copy->made);
    if (r == 0 && copy->buf.ia_type == IA_IFREG)
        r = overlay_copy_is_same (copy);
    if (r == 0 && copy->emptying)
        r = overlay_copy_empty (copy);
    if (r == 0 && !overlay_copy_is_wanted (ctx))
        r = -ECANCELED;
    return r < 0 ? r : overlay_copy_sync (copy);
}

/* --- the name --------------------------------------------------------------------------------- */

static int
overlay_copy_rename (struct overlay_copy *copy)
{
    struct client *client = overlay_daemon (copy->act, OVERLAY_UPPER);
    inode_t *directory = realm_below (copy->act->this, copy->parent, OVERLAY_UPPER);
    loc_t loc = { .inode = directory };
    struct iatt times;
    int r = overlay_stat_upper (copy->act, copy->parent, &times);

    if (r == 0)
        r = sync_name_rename (client, copy->made, overlay_work (copy->act), copy->work_name,
                              directory, copy->name, RENAME_NOREPLACE);
    if (r == 0) {
        overlay_unsynced (copy->act->this, directory);
        overlay_name_copied (copy->act->this, copy->inode);
    }
    if (r == 0 && sync_setattr (client, &loc, &times, IATT_ATIME | IATT_MTIME, NULL, NULL) < 0)
        gf_log (copy->act->this, GF_LOG_DEBUG, "the directory of a copy has a new time");
    loc_wipe_path (&loc);
    return r;
}

static int
overlay_copy_remove (struct overlay_copy *copy)
{
    return sync_name_remove (overlay_daemon (copy->act, OVERLAY_UPPER), overlay_work (copy->act),
                             copy->work_name, copy->made);
}

/* A copy without a name: what is written goes with the last descriptor. */
static int
overlay_copy_unname (struct overlay_copy *copy)
{
    return copy->buf.ia_type == IA_IFDIR ? -ENOENT : overlay_copy_remove (copy);
}

/* Records the copy in this graph, and for the others that know the inode. */
static void
overlay_copy_join (struct overlay_copy *copy)
{
    struct overlay_inode *state = overlay_inode_get (copy->act->this, copy->inode);

    realm_join (copy->act->this, copy->inode, OVERLAY_UPPER, copy->made);
    if (!state->copy)
        __atomic_store_n (&state->copy, inode_ref (copy->made), __ATOMIC_RELEASE);
}

/* Returns 1 if an object of the upper is a copy of the same file, 0 if not, or a negative errno. */
static int
overlay_copy_is_alike (struct overlay_copy *copy, inode_t *there)
{
    static const enum overlay_mark marks[] = { OVERLAY_ORIGIN, OVERLAY_IDENTITY };

    if (there->ia_type != copy->made->ia_type)
        return 0;
    for (size_t i = 0; i < G_N_ELEMENTS (marks); i++) {
        g_autofree char *mine = NULL, *other = NULL;
        size_t mine_size = 0, other_size = 0;
        int r = overlay_mark_get (copy->act, copy->made, marks[i], &mine, &mine_size);

        if (r == 0)
            r = overlay_mark_get (copy->act, there, marks[i], &other, &other_size);
        if (r < 0)
            return r;
        if (mine && other)
            return mine_size == other_size && memcmp (mine, other, mine_size) == 0;
    }
    return 0;
}

/* The upper has an object at the name. A program may have removed or replaced the name in the view
 * meanwhile: the copy then has no name. Otherwise the object is a copy that this daemon did not
 * know of, which is used; any other object was put there behind the view. */
static int
overlay_copy_taken (struct overlay_copy *copy)
{
    struct overlay_inode *state = overlay_inode_get (copy->act->this, copy->inode);
    inode_t *directory = realm_below (copy->act->this, copy->parent, OVERLAY_UPPER);
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;
    int r;

    if (__atomic_load_n (&state->lost_names, __ATOMIC_RELAXED) > 0
        || __atomic_load_n (&state->dead, __ATOMIC_RELAXED))
        return overlay_copy_unname (copy);
    if (copy->indexed)
        return -ESTALE;
    r = sync_name_look (overlay_daemon (copy->act, OVERLAY_UPPER), directory, copy->name, &there,
                        &buf);
    if (r == 0)
        r = overlay_copy_is_alike (copy, there);
    if (r <= 0)
        return r < 0 ? r : -ESTALE;
    r = overlay_copy_remove (copy);
    inode_unref (copy->made);
    copy->made = g_steal_pointer (&there);
    return r;
}

static int
overlay_copy_place (struct overlay_copy *copy)
{
    int r = overlay_impure_set (copy->act, copy->parent);

    if (r == 0)
        r = overlay_copy_rename (copy);
    return r == -EEXIST ? overlay_copy_taken (copy) : r;
}

/* Nobody else changes names of the directory meanwhile. A copy that is in the index may have been
 * found there by another name: it stays, also if it doesn't get this name. */
static int
overlay_copy_publish (struct overlay_copy *copy)
{
    xlator_t *this = copy->act->this;
    int r;

    if (copy->parent)
        overlay_turns_take (this, copy->parent, NULL);
    r = overlay_index_add (copy->act, copy->inode, &copy->buf, copy->parent != NULL, copy->made,
                           &copy->indexed);
    if (r == 0)
        r = copy->parent ? overlay_copy_place (copy) : overlay_copy_unname (copy);
    if (r == 0 || copy->indexed)
        overlay_copy_join (copy);
    if (copy->parent)
        overlay_turns_give (this, copy->parent, NULL);
    return r;
}

/* --- the copy --------------------------------------------------------------------------------- */

/* A copy of one piece is as short as a rest. The sync at the end of the copy, in which it does not
 * rest, is not long either: most of the copy is synced then. */
static bool
overlay_copy_stops (void *data, off_t at)
{
    struct overlay_copy *copy = data;
    struct overlay_inode *state = overlay_inode_get (copy->act->this, copy->inode);

    if (copy->job && copy->pieces++ > 1) {
        job_progress (copy->job, (uint64_t) at, copy->buf.ia_size);
        if (copy->pieces % SYNC_PIECES == 0)
            copy->synced = overlay_copy_sync (copy);
        overlay_copy_rest (state, copy->job);
    }
    return copy->synced < 0 || !overlay_copy_is_wanted (state);
}

static int
overlay_copy_object (struct overlay_copy *copy)
{
    xlator_t *this = copy->act->this;
    int r;

    copy->slot = overlay_slot (this, copy->inode);
    if (copy->slot == overlay_priv (this)->n)
        return -ESTALE;
    copy->from = realm_below (this, copy->inode, copy->slot);
    copy->work_name = overlay_work_name (this);
    r = overlay_copy_stat (copy, &copy->buf);
    if (r == 0 && copy->buf.ia_nlink > 1) /* an error would come when other names show the copy */
        copy->emptying = NULL;
    if (r == 0 && copy->buf.ia_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
        r = -EPERM;
    if (r == 0)
        r = overlay_copy_make (copy);
    if (r < 0)
        return r;
    r = overlay_copy_open (copy);
    if (r == 0)
        r = overlay_copy_fill (copy);
    if (r == 0 && copy->parent)
        r = overlay_record_copy (copy->act, copy->parent, copy->name, copy->slot, &copy->buf);
    if (r == 0)
        r = overlay_copy_publish (copy);
    if (r < 0)
        overlay_copy_remove (copy);
    return r;
}

/* copy: with the members that the caller knows. */
static int
overlay_copy_now (xlator_t *this, struct overlay_copy *copy)
{
    const struct overlay_emptying *emptying = copy->emptying;
    struct overlay_act act;
    int r;

    overlay_act_begin (&act, this, emptying ? emptying->call->frame : NULL, copy->inode);
    act.stops = overlay_copy_stops;
    act.stops_data = copy;
    copy->act = &act;
    r = overlay_copy_object (copy);
    fd_unref (copy->opened);
    overlay_act_end (&act);
    g_free (copy->work_name);
    inode_unref (copy->made);
    return r;
}

/* --- one copy at a time ----------------------------------------------------------------------- */

/* Returns whether the caller has to copy: no other thread has done so, of this graph or of another;
 * nor does so now, if the caller doesn't wait. */
static bool
overlay_copy_begin (xlator_t *this, inode_t *inode, bool waits)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    struct overlay_inode *state = overlay_inode_get (this, inode);
    bool mine;

    pthread_mutex_lock (&parts->lock);
    while (waits && state->copying)
        thread_cond_wait (&parts->changed, &parts->lock);
    mine = !state->copying && !state->copy && !realm_below (this, inode, OVERLAY_UPPER);
    state->copying |= mine;
    pthread_mutex_unlock (&parts->lock);
    return mine;
}

static void
overlay_copy_end (struct overlay_inode *state)
{
    pthread_mutex_lock (&state->parts->lock);
    state->copying = false;
    thread_cond_broadcast (&state->parts->changed);
    pthread_mutex_unlock (&state->parts->lock);
}

static int
overlay_copy_up_as (xlator_t *this, inode_t *inode, struct overlay_emptying *emptying,
                    struct job *job)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    int r;

    if (realm_below (this, inode, OVERLAY_UPPER))
        return 0;
    r = overlay_name_of (this, inode, &parent, &name);
    if (r > 0)
        r = overlay_copy_up (this, parent);
    if (r < 0)
        return r;
    if (!overlay_copy_begin (this, inode, !emptying))
        return emptying ? 0 : overlay_inherit (this, inode);
    r = overlay_copy_now (this, &(struct overlay_copy){ .inode = inode, .parent = parent,
                                                        .name = name, .emptying = emptying,
                                                        .job = job });
    overlay_copy_end (overlay_inode_get (this, inode));
    return r;
}

int
overlay_copy_up_wanted (xlator_t *this, inode_t *inode, struct job *job)
{
    return overlay_copy_up_as (this, inode, NULL, job);
}

int
overlay_copy_up_empty (xlator_t *this, inode_t *inode, struct overlay_emptying *emptying)
{
    struct overlay_inode *state = overlay_inode_get (this, inode);
    int r;

    overlay_copy_want (state, 1);
    r = overlay_copy_up_as (this, inode, emptying, NULL);
    overlay_copy_want (state, -1);
    return r;
}

int
overlay_copy_up (xlator_t *this, inode_t *inode)
{
    struct overlay_inode *state;
    int r;

    if (realm_below (this, inode, OVERLAY_UPPER))
        return 0;
    state = overlay_inode_get (this, inode);
    overlay_copy_want (state, 1);
    r = overlay_copy_up_wanted (this, inode, NULL);
    overlay_copy_want (state, -1);
    return r;
}

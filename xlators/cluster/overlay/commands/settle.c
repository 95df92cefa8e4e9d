/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Before a layer is frozen, the upper gets all names of the files in the index: those that only a
 * lower has are linked to the copy, as at the first change of the name. So a frozen layer has the
 * names of its files, and the index those of the upper alone.
 *
 * The names are found by a walk of the view. Programs go on meanwhile. A name that they remove need
 * not be found, and one that they move is in the upper from then on; but a renamed directory takes
 * names past the walk, and a discard brings names back: then the walk is repeated. Once the names
 * are durable, the files leave the index in a pause, since the index counts in their link counts.
 *
 * A kill at any time leaves a view that shows the same.
 */
#include "commands.h"
#include "../formats/records.h"
#include "../names/links.h"
#include "../names/names.h"

struct settling {
    struct overlay_act *act;
    struct job *job;
    const char *outcome;
    GPtrArray *names;  /* in the index, when the walk began */
    char *path;        /* where the walk failed; owned */
    bool again;        /* the walk may have missed a name */
    unsigned moves, discards; /* as of struct overlay_shared, when it began */
};

/* --- a name ----------------------------------------------------------------------------------- */

/* The directory keeps its times. */
static int
settle_link (struct settling *settling, inode_t *directory, const char *name, inode_t *inode)
{
    struct overlay_act *act = settling->act;
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    loc_t loc = { .inode = realm_below (act->this, directory, OVERLAY_UPPER) };
    struct iatt times;
    int r = overlay_stat_upper (act, directory, &times);

    if (r == 0)
        r = sync_name_link (client, realm_below (act->this, inode, OVERLAY_UPPER), loc.inode, name);
    if (r == 0) {
        overlay_unsynced (act->this, loc.inode);
        overlay_name_copied (act->this, inode);
        r = error_or_0 (sync_setattr (client, &loc, &times, IATT_ATIME | IATT_MTIME, NULL, NULL));
    }
    loc_wipe_path (&loc);
    return r;
}

/* With the turn of the directory. */
static int
settle_at (struct settling *settling, inode_t *directory, const char *name, inode_t *inode)
{
    struct overlay_act *act = settling->act;
    g_auto (overlay_name_t) at = { 0 };
    int r = overlay_name_look (act, directory, name, &at);

    if (r < 0 || at.upper || !overlay_name_is (act->this, &at, inode))
        return r;
    r = overlay_record_name (act, directory, name, &at);
    if (r == 0)
        r = overlay_impure_set (act, directory);
    return r < 0 ? r : settle_link (settling, directory, name, inode);
}

/* A program has removed or moved something meanwhile. */
static int
settle_vanished (struct settling *settling, int r)
{
    const bool vanished = r == -ENOENT || r == -ESTALE;

    settling->again |= vanished;
    return vanished ? 0 : r;
}

static int
settle_name (struct settling *settling, inode_t *directory, const char *name, inode_t *inode)
{
    xlator_t *this = settling->act->this;
    int r = overlay_copy_up (this, directory);

    if (r == 0) {
        overlay_turns_take (this, directory, NULL);
        r = settle_at (settling, directory, name, inode);
        overlay_turns_give (this, directory, NULL);
    }
    return settle_vanished (settling, r);
}

/* Of a file in the index. A graph before this one may have made the copy. */
static int
settle_name_of (struct settling *settling, inode_t *directory, const char *name, inode_t *inode)
{
    xlator_t *this = settling->act->this;
    const struct overlay_inode *state = overlay_inode_known (this, inode);
    int r;

    if (!state || !__atomic_load_n (&state->indexed, __ATOMIC_RELAXED))
        return 0;
    r = overlay_inherit (this, inode);
    return r < 0 || !realm_below (this, inode, OVERLAY_UPPER)
               ? settle_vanished (settling, r) : settle_name (settling, directory, name, inode);
}

/* --- the walk --------------------------------------------------------------------------------- */

static int
settle_meet (const struct sync_tree *tree, inode_t *directory, const char *name, inode_t *inode,
             const struct iatt *buf)
{
    struct settling *settling = tree->data;
    int r = 0;

    if (!job_next (settling->job))
        return -EINTR;
    if (buf->ia_type != IA_IFDIR)
        r = settle_name_of (settling, directory, name, inode);
    if (r < 0)
        settling->path = inode_path (directory, name);
    return r;
}

static int
settle_walk (struct settling *settling)
{
    xlator_t *this = settling->act->this;
    struct client *client = client_new_internal (this, this);
    const struct sync_tree tree = { client, this->fd_maker, NULL, settle_meet, settling };
    inode_t *root = itable_root (settling->act->above);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r;

    client->checked = true;
    r = sync_names_list (client, tree.fds, root, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        r = sync_tree_each (&tree, root, names->pdata[i]);
    client_free (client);
    r = settle_vanished (settling, r);
    if (r < 0 && r != -EINTR && settling->path)
        job_refuse (settling->job, "'%s' is to get a name in the upper, since it is one of several "
                    "names of a changed file (hard links): %s; %s",
                    settling->path, g_strerror (-r), settling->outcome);
    else if (r < 0 && r != -EINTR)
        job_refuse (settling->job, "a directory of the view can't be read: %s; all names are "
                    "needed, since files with several names (hard links) were changed; %s",
                    g_strerror (-r), settling->outcome);
    return r;
}

/* --- the index -------------------------------------------------------------------------------- */

static void
settle_begin (struct settling *settling)
{
    const struct overlay_shared *parts = overlay_priv (settling->act->this)->parts;

    settling->again = false;
    settling->moves = overlay_moves (settling->act->this);
    settling->discards = __atomic_load_n (&parts->discards, __ATOMIC_ACQUIRE);
}

static bool
settle_missed (const struct settling *settling)
{
    const struct overlay_shared *parts = overlay_priv (settling->act->this)->parts;

    return settling->again || overlay_moved_since (settling->act->this, settling->moves)
           || settling->discards != __atomic_load_n (&parts->discards, __ATOMIC_ACQUIRE);
}

static int
settle_in_pause (struct pause *pause, void *data)
{
    struct settling *settling = data;
    int r = overlay_refuse_old_graphs (settling->act->this, settling->job, settling->outcome);

    if (r < 0)
        return r;
    if (settle_missed (settling)) {
        settling->again = true;
        return 0;
    }
    for (guint i = 0; r == 0 && i < settling->names->len; i++)
        r = overlay_index_settled (settling->act, settling->names->pdata[i]);
    if (r < 0)
        job_refuse (settling->job, "the index of hard links can't be emptied: %s; %s",
                    g_strerror (-r), settling->outcome);
    return r;
}

static int
settle_sync (struct settling *settling)
{
    const int r = overlay_sync_all (settling->act);

    if (r < 0)
        job_refuse (settling->job, "names in the upper can't be synced: %s; %s", g_strerror (-r),
                    settling->outcome);
    return r;
}

/* The names are durable before the index has the file no longer, and that is before the layer is
 * frozen: the index would be that of the next upper. */
static int
settle_leave (struct settling *settling)
{
    struct overlay_pause wanted = { .job = settling->job, .fn = settle_in_pause, .data = settling,
                                    .outcome = settling->outcome };
    int r = settle_sync (settling);

    if (r == 0)
        r = overlay_pause_run (settling->act->this, &wanted);
    return r < 0 ? r : settle_sync (settling);
}

static int
settle_once (struct settling *settling)
{
    int r;

    settle_begin (settling);
    r = settle_walk (settling);
    if (r == 0 && settle_missed (settling))
        return 0;
    return r < 0 ? r : settle_leave (settling);
}

/* Returns how many names the index has, or a negative errno after job_refuse. */
static int
settle_list (struct settling *settling)
{
    int r;

    g_ptr_array_set_size (settling->names, 0);
    r = overlay_index_list (settling->act, settling->names);
    if (r < 0)
        job_refuse (settling->job, "the index of hard links can't be read: %s; %s",
                    g_strerror (-r), settling->outcome);
    return r < 0 ? r : (int) settling->names->len;
}

int
overlay_names_settle (struct overlay_act *act, struct job *job, const char *outcome)
{
    struct settling settling = { .act = act, .job = job, .outcome = outcome };
    int r;

    settling.names = g_ptr_array_new_with_free_func (g_free);
    r = settle_list (&settling);
    for (unsigned tries = 0; r > 0 && tries < OVERLAY_MOVES_TRIES; tries++) {
        r = settle_once (&settling);
        if (r == 0)
            r = settle_list (&settling);
    }
    if (r > 0)
        job_refuse (job, "programs rename directories, or change files with several names (hard "
                    "links), all the time; %s", outcome);
    g_ptr_array_unref (settling.names);
    g_free (settling.path);
    return r > 0 ? -EBUSY : r;
}

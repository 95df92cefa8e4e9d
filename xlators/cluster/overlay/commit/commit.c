/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command: the parts of a commit in their order, and what it prints. */
#include "commit.h"
#include "../start/layers.h"

#include <sys/stat.h>

struct commit {
    struct overlay_act act;
    struct job *job;
    struct overlay_order *order;
    unsigned layers;  /* that were committed */
    unsigned changes; /* of the base, that were made */
    char *nothing;    /* ends the sentence of a failure that has changed nothing more; owned */
    GHashTable *moved; /* as struct apply has it, of all layers that were looked at */
    int64_t held;     /* nanoseconds for which requests waited, in the longest pause */
};

/* --- what hinders ----------------------------------------------------------------------------- */

/* Something of the view's folder can't be read. */
static int
commit_refuse (struct commit *commit, const char *what, int r)
{
    if (r < 0)
        job_refuse (commit->job, "'%s' of volume '%s' can't be read: %s; %s", what,
                    FIRST_CHILD (commit->act.this)->name, g_strerror (-r), commit->nothing);
    return r;
}

/* A layer that another program made may have what the view shows otherwise than the replay makes
 * it. */
static int
commit_check_made (struct commit *commit, unsigned slot)
{
    const struct overlay_layer *layer = &overlay_priv (commit->act.this)->layers[slot];
    g_autofree char *mark = NULL;
    size_t size;
    const int r = overlay_mark_get (&commit->act,
                                    realm_below (commit->act.this,
                                                 itable_root (commit->act.above), slot),
                                    OVERLAY_LAYER, &mark, &size);

    if (r < 0)
        return commit_refuse (commit, layer->path, r);
    if (mark)
        return 0;
    job_refuse (commit->job, "'%s' of volume '%s' was there before the overlay first used it, so "
                "another program has made it, such as the kernel's overlayfs: it can't be "
                "committed%s; nothing was committed",
                layer->path, layer->xlator->name,
                slot == OVERLAY_UPPER ? "; 'windlass overlay apply' makes its changes" : "");
    return -EPERM;
}

/* Whether a view is gone: the directory that its link leads to was removed by hand, and not with
 * the one that it is in, which may be a file system that is not mounted now. */
static bool
commit_user_is_gone (struct commit *commit, inode_t *users, const char *name)
{
    struct client *client = overlay_daemon (&commit->act, OVERLAY_UPPER);
    g_autofree char *above = NULL;
    g_autoptr (inode_t) link = NULL;
    loc_t loc = { 0 };
    struct readlink_reply reply;
    struct stat st;
    struct iatt buf;
    bool gone = false;

    if (xlator_is_remote (FIRST_CHILD (commit->act.this))
        || sync_name_look (client, users, name, &link, &buf) < 0 || buf.ia_type != IA_IFLNK)
        return false;
    loc.inode = link;
    if (sync_readlink (client, &loc, PATH_MAX, NULL, &reply) >= 0
        && g_path_is_absolute (reply.path)) {
        above = g_path_get_dirname (reply.path);
        gone = stat (reply.path, &st) < 0 && errno == ENOENT && stat (above, &st) == 0;
    }
    readlink_reply_drop (&reply);
    loc_wipe_path (&loc);
    return gone;
}

static int
commit_check_users (struct commit *commit, const char *outcome)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) users = NULL;
    const int r = overlay_users_list (&commit->act, &users, names);

    if (r < 0)
        return r == -ENOENT || r == -ENOTDIR ? 0 : commit_refuse (commit, OVERLAY_USERS, r);
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];

        if (commit_user_is_gone (commit, users, name))
            continue;
        job_refuse (commit->job, "the view '%s' was begun with the frozen layers of this one "
                    "(--from), and needs them: remove that view first, and if it is gone, its name "
                    "in the directory '" OVERLAY_USERS "' beside 'layers'; %s", name, outcome);
        return -EBUSY;
    }
    return 0;
}

/* Returns 1 if the layer of a slot has a name; 0, or a negative errno. */
static int
commit_has_names (struct commit *commit, unsigned slot)
{
    inode_t *root = realm_below (commit->act.this, itable_root (commit->act.above), slot);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    const int r = sync_names_list (overlay_daemon (&commit->act, slot),
                                   overlay_fds (&commit->act, slot), root, names);

    return r < 0 ? commit_refuse (commit, overlay_priv (commit->act.this)->layers[slot].path, r)
                 : names->len > 0;
}

static void
commit_apply_begin (struct commit *commit, struct apply *apply, unsigned slot)
{
    commit->order->from = slot;
    commit->order->moved = commit->moved;
    apply_begin (apply, commit->job, commit->order);
    apply->done = "committed";
    apply->nothing = commit->nothing;
    apply->moved = commit->moved;
    apply->between = overlay_priv (commit->act.this)->frozen + 1;
}

static int
commit_plan (struct apply *apply)
{
    const int r = commit_renames_find (apply);

    if (r < 0)
        job_refuse (apply->job, "the changes can't be read: %s; %s", g_strerror (-r),
                    apply->nothing);
    return r < 0 ? r : apply_plan (apply);
}

/* Conflicts of each layer, before anything is done. The frozen layers are compared with the base as
 * it is: it is to be as it was when the view changed it first. */
static int
commit_check_layer (struct commit *commit, unsigned slot)
{
    struct apply apply;
    int r;

    commit_apply_begin (commit, &apply, slot);
    r = commit_plan (&apply);
    apply_end (&apply);
    return r;
}

/* A walk of the upper may find a hindrance that was never there, if a directory is renamed
 * meanwhile. Then the check is made again. */
static int
commit_check_upper (struct commit *commit)
{
    const xlator_t *this = commit->act.this;
    int r = -EBUSY;

    for (unsigned tries = 0; r < 0 && tries < OVERLAY_MOVES_TRIES; tries++) {
        const unsigned moves = overlay_moves (this);

        r = commit_check_layer (commit, OVERLAY_UPPER);
        if (r < 0 && !overlay_moved_since (this, moves))
            return r;
    }
    return r;
}

static int
commit_check (struct commit *commit, bool *ret_freezes)
{
    const unsigned frozen = overlay_priv (commit->act.this)->frozen;
    int r = commit_check_users (commit, commit->nothing), has = 0;

    *ret_freezes = false;
    for (unsigned i = 0; r == 0 && i <= frozen; i++) {
        const unsigned slot = frozen - i;

        has = commit_has_names (commit, slot);
        if (has <= 0) {
            r = has;
            continue;
        }
        r = commit_check_made (commit, slot);
        if (r == 0 && slot == OVERLAY_UPPER)
            r = overlay_freeze_check (commit->job, commit->order);
        if (r == 0)
            r = slot == OVERLAY_UPPER ? commit_check_upper (commit)
                                      : commit_check_layer (commit, slot);
        *ret_freezes |= slot == OVERLAY_UPPER;
    }
    return r;
}

/* --- the replay ------------------------------------------------------------------------------- */

static int
commit_replay (struct commit *commit, struct apply *apply)
{
    int r = apply_clean (apply), cleaned;

    if (r == 0)
        r = commit_plan (apply);
    if (r == 0)
        r = apply_make_objects (apply);
    if (r == 0)
        r = commit_stage (apply);
    if (r < 0) {
        (void) apply_clean (apply);
        return r;
    }
    r = apply_to_base (apply);
    cleaned = apply_clean (apply);
    if (r == 0)
        r = cleaned;
    if (r == 0)
        r = commit_check_users (commit, "the base has the changes, and the view still has the "
                                        "layer");
    if (r == 0)
        r = commit_drop (apply);
    if (r == 0)
        r = apply_times_again (apply);
    (void) store_write (overlay_priv (commit->act.this)->records);
    return r;
}

static unsigned
commit_count (const struct apply *apply)
{
    unsigned n = 0;

    for (guint i = 0; i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        n += item->kind == 'D' ? item->base != NULL : item->kind != 'M' || item->what != 0;
    }
    return n;
}

/* Of the failures from now on. */
static void
commit_tell_layers (struct commit *commit)
{
    if (commit->layers == 0)
        return;
    g_free (commit->nothing);
    commit->nothing = commit->layers == 1
                          ? g_strdup ("an older layer was committed, and this one was not")
                          : g_strdup_printf ("%u older layers were committed, and this one was not",
                                             commit->layers);
}

static int
commit_layer (struct commit *commit, unsigned slot)
{
    struct apply apply;
    int r = commit_has_names (commit, slot);

    if (r <= 0)
        return r;
    commit_tell_layers (commit);
    g_hash_table_remove_all (commit->moved);
    commit_apply_begin (commit, &apply, slot);
    r = commit_replay (commit, &apply);
    commit->held = MAX (commit->held, apply.held);
    commit->layers += r == 0;
    commit->changes += r == 0 ? commit_count (&apply) : 0;
    apply_end (&apply);
    return r;
}

/* --- the command ------------------------------------------------------------------------------ */

static void
commit_print (const struct commit *commit)
{
    struct json json = { .out = g_string_new (NULL) };

    if (commit->order->json) {
        json_open (&json, NULL, '{');
        json_number (&json, "committed", commit->changes);
        json_number (&json, "layers", commit->layers);
        json_number (&json, "held_us", (uint64_t) commit->held / 1000);
        json_close (&json, '}');
        job_print (commit->job, "%s\n", json.out->str);
    } else if (commit->layers == 0) {
        job_print (commit->job, "the view has changed nothing\n");
    } else {
        job_print (commit->job, "%u changes committed, of %u layers; requests waited for %.1f ms\n",
                   commit->changes, commit->layers, (double) commit->held / 1e6);
    }
    g_string_free (json.out, TRUE);
}

static int
commit_carry_out (struct commit *commit)
{
    bool freezes;
    int r = commit_renames_finish (&commit->act, commit->job);

    if (r == 0)
        r = commit_check (commit, &freezes);
    if (r == 0 && freezes)
        r = overlay_freeze_now (commit->job, commit->order, &commit->held);
    for (unsigned slot = overlay_priv (commit->act.this)->frozen; r == 0 && slot > 0; slot--)
        r = commit_layer (commit, slot);
    return r;
}

int
overlay_commit (struct job *job, struct overlay_order *order)
{
    static const char *const all[] = { "/", NULL };
    struct commit commit = { .job = job, .order = order,
                             .nothing = g_strdup ("nothing was committed") };
    int r;

    if (*order->paths) {
        job_refuse (job, "a commit is of all changes, and takes no path: 'windlass overlay apply' "
                    "takes some");
        return -EINVAL;
    }
    g_strfreev (order->paths);
    order->paths = g_strdupv ((char **) all);
    overlay_act_begin (&commit.act, order->this, NULL, realm_root_above (order->this));
    commit.moved = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL);
    r = commit_carry_out (&commit);
    if (r == 0)
        commit_print (&commit);
    order->moved = NULL;
    g_hash_table_unref (commit.moved);
    g_free (commit.nothing);
    overlay_act_end (&commit.act);
    return r;
}

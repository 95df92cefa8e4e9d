/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories of the base that the layer has renamed. The layer has each under its new name, with a
 * redirect to its old one, where the base still has it:
 *
 *             layer                 base           view
 *   at first  b (redirect /a), a    a              b, and a if that was made anew
 *   staged    b (redirect /T)       T              the same
 *   replayed  b (redirect /T), a    T, a
 *   placed    b                     b, a
 *
 * In a pause after the new objects were made, and before the base changes otherwise, all of them
 * move to temporary names in the base's root, the deepest first; the layer has a whiteout there, so
 * that no listing shows them. Then their old names are free, and so are their new ones once the
 * replay has removed what the view has removed: two directories may have changed places. In the
 * pause that drops the layer they get their new names, those at the top first. Each of these moves
 * changes a redirect, too: formats/moves.h has how that is safe.
 *
 * A layer with directories that a killed commit has staged is one with other redirects, and is
 * replayed like any other.
 */
#include "commit.h"

static char *
staged_path (const inode_t *inode)
{
    char text[GFID_TEXT_SIZE];

    return g_strconcat ("/" STAGED_NAME, gfid_text (&inode->gfid, text), NULL);
}

/* --- which there are -------------------------------------------------------------------------- */

static int
renames_add (const struct diff_change *change, void *data)
{
    struct apply *apply = data;
    const unsigned n = overlay_priv (apply->act.this)->n - apply->from - 1;

    for (unsigned i = 0; i < n; i++)
        if (change->merged[i])
            g_hash_table_add (apply->moved, inode_ref (change->merged[i]));
    return 0;
}

int
commit_renames_find (struct apply *apply)
{
    struct overlay_order order = *apply->order;

    order.renames = true;
    order.moved = NULL;
    return overlay_order_walk (&order, apply->job, renames_add, apply);
}

/* --- to temporary names ----------------------------------------------------------------------- */

struct staging {
    struct apply *apply;
    struct overlay_moves moves;
};

static int
staging_add (struct staging *staging, const struct apply_item *item)
{
    struct apply *apply = staging->apply;
    g_autofree char *from = inode_path (item->moves, NULL), *to = staged_path (item->moves);
    g_autofree char *before = NULL;
    size_t size;
    const int r = overlay_mark_get (&apply->act, item->upper, OVERLAY_REDIRECT, &before, &size);
    const struct overlay_move_of move = {
        .gfid = item->moves->gfid, .from = from, .to = to, .path = item->path,
        .layer = (char *) overlay_priv (apply->act.this)->layers[apply->from].path,
        .redirect = to, .before = before ? before : from,
    };

    if (r == 0 && strcmp (from, to) != 0)
        overlay_moves_add (&staging->moves, &move);
    return r;
}

static unsigned
path_depth (const char *path)
{
    unsigned depth = 0;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

static gint
deepest_first (gconstpointer a, gconstpointer b)
{
    const struct overlay_move_of *const *one = a, *const *other = b;
    const unsigned left = path_depth ((*one)->from), right = path_depth ((*other)->from);

    return (left < right) - (left > right);
}

/* Hides the temporary names from the view, also after a power cut. */
static int
staging_hide (struct staging *staging)
{
    struct apply *apply = staging->apply;
    inode_t *root = realm_below (apply->act.this, itable_root (apply->act.above), apply->from);
    int r = 0;

    for (guint i = 0; (r == 0 || r == -EEXIST) && i < staging->moves.all->len; i++) {
        const struct overlay_move_of *move = staging->moves.all->pdata[i];
        g_autoptr (inode_t) made = NULL;

        r = sync_name_mknod (apply_upper_client (apply), root, move->to + 1, S_IFCHR, 0, &made);
    }
    return r == 0 || r == -EEXIST ? overlay_sync_inode (&apply->act, OVERLAY_UPPER, root) : r;
}

void
commit_tell_moves (struct apply *apply, const struct overlay_moves *moves,
                   const struct overlay_move_of *failed, int r, const char *outcome)
{
    const char *reason = r == -ENOENT   ? "somebody has moved or removed it below the view"
                         : r == -EEXIST ? "somebody has made that below the view meanwhile"
                                        : g_strerror (-r);

    job_refuse (apply->job, "the directory '%s' of the last subvolume can't be moved to '%s': %s; "
                "%s%s", failed->from, failed->to, reason, outcome,
                moves->stuck ? "; it could not be moved back, so the view does not show it until "
                               "the command is given again, or the view is mounted again" : "");
}

static int
staging_in_pause (struct pause *pause, void *data)
{
    struct staging *staging = data;
    struct apply *apply = staging->apply;
    const struct overlay_move_of *failed;
    int r = overlay_refuse_old_graphs (apply->act.this, apply->job, apply->nothing);

    if (r < 0)
        return r;
    r = overlay_moves_run (&apply->act, &staging->moves, &failed);
    if (r < 0)
        commit_tell_moves (apply, &staging->moves, failed, r, apply->nothing);
    return r;
}

static int
staging_move (struct staging *staging)
{
    struct apply *apply = staging->apply;
    struct overlay_pause wanted = { .job = apply->job, .fn = staging_in_pause, .data = staging,
                                    .outcome = apply->nothing };
    int r = staging_hide (staging), s;

    if (r == 0)
        r = overlay_moves_write (apply->act.this, &staging->moves);
    if (r < 0) {
        job_refuse (apply->job, "renamed directories can't be noted in the view's folder: %s; %s",
                    g_strerror (-r), apply->nothing);
        return r;
    }
    overlay_moves_find (&apply->act, &staging->moves);
    r = overlay_pause_run (apply->act.this, &wanted);
    apply->held = MAX (apply->held, wanted.held);
    s = overlay_moves_end (&apply->act, &staging->moves);
    if (r == 0 && s < 0)
        job_refuse (apply->job, "directories that were moved can't be synced: %s; %s, but renamed "
                    "directories have temporary names ('/" STAGED_NAME "...') in the last "
                    "subvolume until the command is given again", g_strerror (-s), apply->nothing);
    return r < 0 ? r : s;
}

int
commit_stage (struct apply *apply)
{
    struct staging staging = { .apply = apply };
    bool any = false;
    int r = 0;

    overlay_moves_begin (&staging.moves);
    for (guint i = 0; r == 0 && i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (item->kind == 'R')
            r = staging_add (&staging, item);
        any |= item->kind == 'R';
    }
    if (r < 0)
        job_refuse (apply->job, "marks of renamed directories can't be read: %s; %s",
                    g_strerror (-r), apply->nothing);
    g_ptr_array_sort (staging.moves.all, deepest_first);
    if (r == 0 && staging.moves.all->len > 0)
        r = staging_move (&staging);
    if (r == 0 && any)
        apply->nothing = "the layer is not committed, and its renamed directories have temporary "
                         "names ('/" STAGED_NAME "...') in the last subvolume until the command is "
                         "given again";
    overlay_moves_clear (&staging.moves);
    return r;
}

/* --- to their new names ----------------------------------------------------------------------- */

void
commit_place (struct apply *apply, struct overlay_moves *moves)
{
    for (guint i = 0; i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];
        g_autofree char *staged = NULL;

        if (item->kind != 'R')
            continue;
        staged = staged_path (item->moves);
        overlay_moves_add (moves, &(struct overlay_move_of){
            .gfid = item->moves->gfid, .from = staged, .to = item->path, .path = item->path,
            .layer = (char *) overlay_priv (apply->act.this)->layers[apply->from].path,
            .redirect = "", .before = staged });
    }
}

/* --- what a commit has left ------------------------------------------------------------------- */

struct renames_finish {
    struct overlay_act *act;
    struct job *job;
};

static int
renames_finish_in_pause (struct pause *pause, void *data)
{
    const struct renames_finish *finish = data;
    const int r = overlay_moves_finish (finish->act);

    if (r < 0)
        job_refuse (finish->job, "the moves of directories that an earlier commit has begun can't "
                    "be finished: %s; nothing was committed", g_strerror (-r));
    return r;
}

int
commit_renames_finish (struct overlay_act *act, struct job *job)
{
    struct renames_finish finish = { act, job };
    struct overlay_pause wanted = { .job = job, .fn = renames_finish_in_pause, .data = &finish,
                                    .outcome = "nothing was committed" };

    return overlay_moves_pend (act->this) ? overlay_pause_run (act->this, &wanted) : 0;
}

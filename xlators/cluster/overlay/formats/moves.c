/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "moves.h"
#include "records.h"

#define MOVE "move:" /* begins keys of the store; the new path follows */
#define MOVE_TEXTS 4 /* of a value, behind the gfid, each with a NUL: from, layer, path, redirect */

static void
move_unfind (struct overlay_move_of *move)
{
    g_clear_pointer (&move->left, inode_unref);
    g_clear_pointer (&move->entered, inode_unref);
    g_clear_pointer (&move->inode, inode_unref);
    g_clear_pointer (&move->marked, inode_unref);
    move->found = false;
}

static void
move_free (void *data)
{
    struct overlay_move_of *move = data;

    g_free (move->from);
    g_free (move->to);
    g_free (move->layer);
    g_free (move->path);
    g_free (move->redirect);
    g_free (move->before);
    move_unfind (move);
    g_free (move);
}

void
overlay_moves_begin (struct overlay_moves *moves)
{
    *moves = (struct overlay_moves){ .all = g_ptr_array_new_with_free_func (move_free) };
}

void
overlay_moves_clear (struct overlay_moves *moves)
{
    g_ptr_array_unref (moves->all);
}

void
overlay_moves_add (struct overlay_moves *moves, const struct overlay_move_of *move)
{
    struct overlay_move_of *copy = g_new0 (struct overlay_move_of, 1);

    *copy = (struct overlay_move_of){
        .gfid = move->gfid, .from = g_strdup (move->from), .to = g_strdup (move->to),
        .layer = g_strdup (move->layer), .path = g_strdup (move->path),
        .redirect = g_strdup (move->redirect), .before = g_strdup (move->before),
    };
    g_ptr_array_add (moves->all, copy);
}

/* --- the store -------------------------------------------------------------------------------- */

static void
move_store (xlator_t *this, const struct overlay_move_of *move)
{
    const char *texts[MOVE_TEXTS] = { move->from, move->layer, move->path, move->redirect };
    g_autofree char *key = g_strconcat (MOVE, move->to, NULL);
    g_autoptr (GByteArray) value = g_byte_array_new ();

    g_byte_array_append (value, move->gfid.b, sizeof move->gfid.b);
    for (size_t i = 0; i < MOVE_TEXTS; i++)
        g_byte_array_append (value, (const guint8 *) texts[i], (guint) strlen (texts[i]) + 1);
    store_set (overlay_priv (this)->records, key, value->data, value->len);
}

static void
move_unstore (xlator_t *this, const struct overlay_move_of *move)
{
    g_autofree char *key = g_strconcat (MOVE, move->to, NULL);

    store_remove (overlay_priv (this)->records, key);
}

/* A value that another program has written counts for nothing. */
static void
move_load (const char *key, GBytes *value, void *data)
{
    struct overlay_move_of move = { .to = (char *) key + strlen (MOVE), .before = "" };
    char **const texts[MOVE_TEXTS] = { &move.from, &move.layer, &move.path, &move.redirect };
    gsize size;
    const char *at = g_bytes_get_data (value, &size), *const end = at + size;
    size_t i = 0;

    if (size <= sizeof move.gfid.b)
        return;
    memcpy (move.gfid.b, at, sizeof move.gfid.b);
    for (at += sizeof move.gfid.b; i < MOVE_TEXTS && memchr (at, '\0', (size_t) (end - at)); i++) {
        *texts[i] = (char *) at;
        at += strlen (at) + 1;
    }
    if (i == MOVE_TEXTS)
        overlay_moves_add (data, &move);
}

bool
overlay_moves_pend (xlator_t *this)
{
    struct overlay_moves moves;
    bool pend;

    overlay_moves_begin (&moves);
    store_each (overlay_priv (this)->records, MOVE, move_load, &moves);
    pend = moves.all->len > 0;
    overlay_moves_clear (&moves);
    return pend;
}

static void
moves_forget (xlator_t *this, const struct overlay_moves *moves)
{
    for (guint i = 0; i < moves->all->len; i++)
        move_unstore (this, moves->all->pdata[i]);
}

int
overlay_moves_write (xlator_t *this, const struct overlay_moves *moves)
{
    int r;

    for (guint i = 0; i < moves->all->len; i++)
        move_store (this, moves->all->pdata[i]);
    r = store_sync (overlay_priv (this)->records);
    if (r < 0)
        moves_forget (this, moves);
    return r;
}

/* --- a directory of the base ------------------------------------------------------------------ */

struct moved_place {
    inode_t *directory; /* NULL: not there. With a reference */
    inode_t *inode;     /* what it has under the name, with a reference; NULL: nothing */
};

static void
moved_place_clear (struct moved_place *place)
{
    inode_unref (place->directory);
    inode_unref (place->inode);
    *place = (struct moved_place){ 0 };
}

typedef struct moved_place moved_place_t;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (moved_place_t, moved_place_clear)

/* Also before the first call, when the roots of the slots are not known. */
static int
moved_place_look (struct overlay_act *act, const char *path, struct moved_place *place)
{
    const unsigned base = overlay_priv (act->this)->n - 1;
    inode_t *root = itable_root (overlay_priv (act->this)->layers[base].xlator->realm->itable);
    g_auto (GStrv) names = g_strsplit (path + 1, "/", -1);
    const guint last = g_strv_length (names) - 1;
    struct iatt buf;
    int r = overlay_walk (act, base, root, names, last, false, &place->directory, &buf);

    if (r == 0)
        r = sync_name_look (overlay_daemon (act, base), place->directory, names[last],
                            &place->inode, &buf);
    return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static bool
moved_place_has (const struct moved_place *place, const gfid_t *gfid)
{
    return place->inode && gfid_equal (&place->inode->gfid, gfid);
}

static bool
moved_is_below (const char *path, const char *above)
{
    return g_str_has_prefix (path, above) && path[strlen (above)] == '/';
}

/* Finds the directory that a move is about. A directory above it may have been moved already. */
static int
move_find (struct overlay_act *act, const struct overlay_moves *moves,
           const struct overlay_move_of *move, struct moved_place *place)
{
    int r = moved_place_look (act, move->from, place);

    for (guint i = 0; r == 0 && !moved_place_has (place, &move->gfid) && i < moves->all->len; i++) {
        const struct overlay_move_of *other = moves->all->pdata[i];
        g_autofree char *path = NULL;

        if (!moved_is_below (move->from, other->from))
            continue;
        path = g_strconcat (other->to, move->from + strlen (other->from), NULL);
        moved_place_clear (place);
        r = moved_place_look (act, path, place);
    }
    return r;
}

/* --- a move ----------------------------------------------------------------------------------- */

/* Returns the slot of a layer; 0: it is gone. */
static unsigned
move_slot (const xlator_t *this, const struct overlay_move_of *move)
{
    const overlay_private_t *priv = overlay_priv (this);

    for (unsigned slot = 1; slot <= priv->frozen; slot++)
        if (strcmp (priv->layers[slot].path, move->layer) == 0)
            return slot;
    return 0;
}

/* Finds the directory with the redirect. NULL: the layer was dropped meanwhile, as a whole or in
 * part. Also before the first call. */
static int
move_layer_look (struct overlay_act *act, const struct overlay_move_of *move, inode_t **ret_inode)
{
    const unsigned slot = move_slot (act->this, move);
    inode_t *root = itable_root (FIRST_CHILD (act->this)->realm->itable);
    g_autofree char *path = g_strconcat (move->layer, move->path, NULL);
    g_auto (GStrv) names = g_strsplit (path, "/", -1);
    struct iatt buf;
    const int r = slot > 0 ? overlay_walk (act, slot, root, names, g_strv_length (names), false,
                                           ret_inode, &buf)
                           : -ENOENT;

    return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* Also before the pause: then a directory to which an earlier move leads is not there yet. */
static int
move_look (struct overlay_act *act, const struct overlay_moves *moves,
           struct overlay_move_of *move)
{
    g_auto (moved_place_t) from = { 0 }, to = { 0 };
    int r = moved_place_look (act, move->to, &to);

    move_unfind (move);
    if (r == 0)
        r = move_find (act, moves, move, &from);
    if (r == 0)
        r = move_layer_look (act, move, &move->marked);
    if (r < 0)
        return r;
    move->there = moved_place_has (&to, &move->gfid);
    if (moved_place_has (&from, &move->gfid))
        move->inode = g_steal_pointer (&from.inode);
    move->left = g_steal_pointer (&from.directory);
    move->entered = g_steal_pointer (&to.directory);
    move->found = move->there || (move->inode && move->entered);
    return 0;
}

/* Gives the directory its new name in the base, unless it has it. Somebody may have put another one
 * in its place below the view since it was found: that one gets its name back. */
static int
move_rename (struct overlay_act *act, const struct overlay_move_of *move)
{
    struct client *client = overlay_daemon (act, overlay_priv (act->this)->n - 1);
    const char *from = strrchr (move->from, '/') + 1, *to = strrchr (move->to, '/') + 1;
    struct iatt buf;
    int r;

    if (move->there || !move->found)
        return move->there ? 0 : -ENOENT;
    r = sync_name_move (client, move->inode, move->left, from, move->entered, to, &buf);
    if (r < 0 || gfid_equal (&buf.ia_gfid, &move->gfid))
        return r;
    (void) sync_name_move (client, move->inode, move->entered, to, move->left, from, NULL);
    return -ENOENT;
}

/* A layer that was dropped needs no redirect. */
static int
move_mark (struct overlay_act *act, const struct overlay_move_of *move)
{
    if (!move->marked)
        return 0;
    return *move->redirect ? overlay_mark_set (act, move->marked, OVERLAY_REDIRECT, move->redirect,
                                               strlen (move->redirect))
                           : overlay_mark_remove (act, move->marked, OVERLAY_REDIRECT);
}

static int
move_make (struct overlay_act *act, const struct overlay_moves *moves, struct overlay_move_of *move)
{
    int r = move->found ? 0 : move_look (act, moves, move);

    if (r == 0)
        r = move_rename (act, move);
    if (r < 0)
        return r;
    move->made = true;
    r = moves->unmarked ? 0 : move_mark (act, move);
    if (r == 0)
        overlay_records_move (act->this, move->from, move->to);
    return r;
}

static int
move_undo (struct overlay_act *act, const struct overlay_moves *moves,
           const struct overlay_move_of *move)
{
    struct overlay_move_of back = {
        .gfid = move->gfid, .from = move->to, .to = move->from, .layer = move->layer,
        .path = move->path, .redirect = move->before,
    };
    const int r = move_make (act, moves, &back);

    move_unfind (&back);
    return r;
}

void
overlay_moves_find (struct overlay_act *act, const struct overlay_moves *moves)
{
    for (guint i = 0; i < moves->all->len; i++)
        (void) move_look (act, moves, moves->all->pdata[i]);
}

int
overlay_moves_run (struct overlay_act *act, struct overlay_moves *moves,
                   const struct overlay_move_of **ret_failed)
{
    guint i = 0;
    int r = 0;

    for (; r == 0 && i < moves->all->len; i++) {
        *ret_failed = moves->all->pdata[i];
        r = move_make (act, moves, moves->all->pdata[i]);
    }
    for (; r < 0 && !moves->stuck && i-- > 0;) {
        const struct overlay_move_of *move = moves->all->pdata[i];

        moves->stuck = move->made && move_undo (act, moves, move) < 0;
    }
    return r;
}

void
overlay_moves_mark (struct overlay_act *act, struct overlay_moves *moves)
{
    moves->unmarked = false;
    for (guint i = 0; i < moves->all->len; i++)
        moves->stuck |= move_mark (act, moves->all->pdata[i]) < 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int
move_sync (struct overlay_act *act, const struct overlay_moves *moves,
           const struct overlay_move_of *move)
{
    const unsigned base = overlay_priv (act->this)->n - 1;
    int r = move->left ? overlay_sync_inode (act, base, move->left) : 0;

    if (r == 0 && move->entered)
        r = overlay_sync_inode (act, base, move->entered);
    if (r == 0 && move->marked && !moves->unmarked)
        r = overlay_sync_inode (act, OVERLAY_UPPER, move->marked);
    return r;
}

int
overlay_moves_end (struct overlay_act *act, struct overlay_moves *moves)
{
    int r = moves->stuck ? -EIO : 0;

    /* First, since a read-only mount after a kill can't finish them. */
    (void) store_write (overlay_priv (act->this)->records);
    for (guint i = 0; r == 0 && i < moves->all->len; i++)
        r = move_sync (act, moves, moves->all->pdata[i]);
    if (r == 0)
        moves_forget (act->this, moves);
    (void) store_write (overlay_priv (act->this)->records);
    return r;
}

/* --- what a kill or a power cut has left ------------------------------------------------------ */

/* Makes those that can be made. One may wait for another, which makes the directory that it goes
 * to. Without the layer nothing needs a temporary name. */
static int
moves_finish_some (struct overlay_act *act, struct overlay_moves *moves, guint *ret_n)
{
    *ret_n = 0;
    for (guint i = 0; i < moves->all->len; i++) {
        struct overlay_move_of *move = moves->all->pdata[i];
        const bool needless = *move->redirect && move_slot (act->this, move) == 0;
        const int r = move->made || needless ? 0 : move_make (act, moves, move);

        move->made |= needless;
        if (r < 0 && r != -ENOENT && r != -EEXIST)
            return r;
        *ret_n += r < 0;
    }
    return 0;
}

static void
moves_tell_lost (xlator_t *this, const struct overlay_moves *moves)
{
    for (guint i = 0; i < moves->all->len; i++) {
        const struct overlay_move_of *move = moves->all->pdata[i];

        if (!move->made)
            gf_log (this, GF_LOG_WARNING, "a commit that was interrupted was about to move the "
                    "directory '%s' of the last subvolume to '%s', but somebody has moved or "
                    "removed one of them since: that is left as it is", move->from, move->to);
    }
}

int
overlay_moves_finish (struct overlay_act *act)
{
    struct overlay_moves moves;
    guint left = 0, before;
    int r = 0;

    overlay_moves_begin (&moves);
    store_each (overlay_priv (act->this)->records, MOVE, move_load, &moves);
    left = moves.all->len;
    do {
        before = left;
        r = moves_finish_some (act, &moves, &left);
    } while (r == 0 && left > 0 && left < before);
    if (r == 0)
        moves_tell_lost (act->this, &moves);
    if (r == 0)
        r = overlay_moves_end (act, &moves);
    overlay_moves_clear (&moves);
    return r;
}

/* --- a read-only mount ------------------------------------------------------------------------ */

/* Looks where the redirect that the directory has now leads to. */
static int
move_is_shown (struct overlay_act *act, const struct overlay_move_of *move, bool *ret_shown)
{
    g_auto (moved_place_t) place = { 0 };
    g_autoptr (inode_t) at = NULL;
    g_autofree char *mark = NULL;
    size_t size;
    int r = move_layer_look (act, move, &at);

    *ret_shown = true;
    if (r < 0 || !at)
        return r;
    r = overlay_mark_get (act, at, OVERLAY_REDIRECT, &mark, &size);
    if (r == 0)
        r = moved_place_look (act, strcmp (mark ? mark : "", move->redirect) == 0 ? move->to
                                                                                  : move->from,
                              &place);
    *ret_shown = moved_place_has (&place, &move->gfid);
    return r;
}

int
overlay_moves_check (struct overlay_act *act, char **ret_path)
{
    struct overlay_moves moves;
    bool shown = true;
    int r = 0;

    *ret_path = NULL;
    overlay_moves_begin (&moves);
    store_each (overlay_priv (act->this)->records, MOVE, move_load, &moves);
    for (guint i = 0; r == 0 && !*ret_path && i < moves.all->len; i++) {
        const struct overlay_move_of *move = moves.all->pdata[i];

        r = move_is_shown (act, move, &shown);
        if (r == 0 && !shown)
            *ret_path = g_strdup (move->from);
    }
    overlay_moves_clear (&moves);
    return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moves a mount to another graph while files stay open.
 *
 *   1. The new graph looks up all inodes that the kernel knows, while the present one serves. Both
 *      use one table of inodes, so the kernel's numbers, names and open files stay valid; each has
 *      contexts of its own in an inode.
 *   2. New requests are held. The present graph writes what it holds back, and answers the requests
 *      that are under way.
 *   3. Inodes that came since step 1 are looked up, and each open file is opened in the new graph.
 *      The kernel knows an open file by its fd of the present graph: that one is released, and from
 *      then on stands for the new one (fd.moved).
 *   4. The bridge takes the new graph as its child, and the requests go on.
 *
 * An inode stays with the present graph, with all of its open files, if one of them can't be opened
 * in the new graph (a file that was removed), if a lock may be held through it, which the server
 * would give away, or if the kernel reads and writes it by itself. Requests for such an inode enter
 * the present graph at an entrance of their own, struct past_graph.
 *
 * Reasons:
 *
 * - Both graphs have one table of inodes: with two, each inode, number and name would be there
 *   twice.
 * - Requests are held before libfuse sees them: nothing has to be queued, and the threads' own
 *   memory holds the requests.
 * - Files are opened during the pause, not at their next use: no handler then waits for an open.
 * - Locks are not taken again: between unlock and lock another client could have them.
 */
#include "fuse/internal.h"

#include "core/data/itable.h"
#include "core/edge/sync.h"
#include "trace/metrics/numbers.h"

#include <fcntl.h>

#define PATIENCE (10LL * 1000000000) /* nanoseconds for what is under way */
#define PATIENCE_CALL (30LL * 1000000000)

struct move {
    struct bridge *bridge;
    struct graph *old, *fresh;
    struct client *in_old, *in_fresh;
    GHashTable *known; /* inodes that were looked up, with references */
    GHashTable *opens; /* inode_t to GPtrArray of fd_t: open files of the old graph */
    GHashTable *again; /* inode_t to GPtrArray of fd_t: the same, opened in the new graph */
    GHashTable *stay;  /* inodes that stay with the old graph, to the number of their fds */
    unsigned n_lost, n_moved;
    bool timed_out; /* the new graph did not answer: it may still use what it was called with */
};

/* --- whether it can be done ------------------------------------------------------------------- */

static bool
graph_has (const struct graph *graph, const char *type)
{
    for (guint i = 0; i < graph->xlators->len; i++)
        if (strcmp (((xlator_t *) graph->xlators->pdata[i])->type, type) == 0)
            return true;
    return false;
}

/* The kernel was told at the mount what these decide. */
static int
move_check (const struct bridge *bridge, const struct graph *fresh, GString *answer)
{
    static const char decider[] = "system/posix-acl";

    if (xlator_is_remote (bridge->graph->top) != xlator_is_remote (fresh->top))
        g_string_append (answer, "the volume's new shape needs a new mount: its files are on a "
                                 "server, and were not, or the other way round\n");
    else if (graph_has (bridge->graph, decider) != graph_has (fresh, decider))
        g_string_append_printf (answer,
                                "the volume's new shape needs a new mount: a volume of type '%s' "
                                "decides about rights only from the mount on\n",
                                decider);
    else
        return 0;
    return -EINVAL;
}

/* --- inodes ----------------------------------------------------------------------------------- */

static void move_know (struct move *move, inode_t *inode);

static int
called_fresh (struct move *move, int r)
{
    move->timed_out |= r == -ETIMEDOUT;
    return r;
}

/* By its name, since not every translator finds a file without one. */
static int
look_up_name (struct move *move, inode_t *inode, inode_t *parent, const char *name)
{
    loc_t loc = { .parent = parent, .name = name, .inode = inode };
    struct lookup_reply reply = { 0 };
    int r = called_fresh (move, sync_lookup (move->in_fresh, &loc, NULL, &reply));

    if (r >= 0 && !gfid_equal (&reply.buf.ia_gfid, &inode->gfid))
        r = -ESTALE;
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r;
}

static int
look_up_inode (struct move *move, inode_t *inode)
{
    loc_t loc = { .inode = inode };
    int r = called_fresh (move, sync_lookup (move->in_fresh, &loc, NULL, NULL));

    loc_wipe_path (&loc);
    return r;
}

/* Directories first, up to the root. */
static int
look_up (struct move *move, inode_t *inode)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (inode == itable_root (inode->table) || !inode_a_name (inode, &parent, &name))
        return look_up_inode (move, inode);
    move_know (move, parent);
    return look_up_name (move, inode, parent, name);
}

static void
move_know (struct move *move, inode_t *inode)
{
    if (move->timed_out || g_hash_table_contains (move->known, inode))
        return;
    g_hash_table_add (move->known, inode_ref (inode));
    if (look_up (move, inode) < 0)
        move->n_lost++;
}

static void
move_know_all (struct move *move)
{
    GArray *entries = itable_some (move->fresh->itable, UINT_MAX);

    for (guint i = 0; i < entries->len; i++) {
        const struct itable_entry *entry = &g_array_index (entries, struct itable_entry, i);

        if (entry->nlookup > 0 || entry->inode == itable_root (entry->inode->table))
            move_know (move, entry->inode);
        inode_unref (entry->inode);
    }
    g_array_unref (entries);
}

/* --- open files ------------------------------------------------------------------------------- */

static void
note_open (fd_t *fd, void *data)
{
    struct move *move = data;
    GPtrArray *fds;

    if (fd->data != move->old)
        return;
    fds = g_hash_table_lookup (move->opens, fd->inode);
    if (!fds) {
        fds = g_ptr_array_new ();
        g_hash_table_insert (move->opens, fd->inode, fds);
    }
    g_ptr_array_add (fds, fd);
}

/* Has the old graph write what it holds back of a file, and keeps an error for the next caller. The
 * owner has no locks, so none are dropped. */
static void
write_out (struct move *move, fd_t *fd)
{
    int r;

    if (fd->inode->ia_type != IA_IFREG || (fd->flags & O_ACCMODE) == O_RDONLY)
        return;
    r = sync_flush (move->in_old, fd, NULL, NULL);
    if (r >= 0 || r == -ENOSYS || r == -ETIMEDOUT)
        return; /* or it is still under way, and nothing moves */
    __atomic_store_n (&fd->owed, -r, __ATOMIC_RELAXED);
    gf_log (&move->bridge->xlator, GF_LOG_WARNING,
            "data of an open file could not be written before the mount moves to its new graph: "
            "%s; the next close or fsync of the file tells its program",
            g_strerror (-r));
}

static void
write_out_all (struct move *move)
{
    GHashTableIter at;
    gpointer fds;

    g_hash_table_iter_init (&at, move->opens);
    while (g_hash_table_iter_next (&at, NULL, &fds))
        for (guint i = 0; i < ((GPtrArray *) fds)->len; i++)
            write_out (move, ((GPtrArray *) fds)->pdata[i]);
}

/* Returns the file opened in the new graph; NULL if it can't be. */
static fd_t *
open_again (struct move *move, const fd_t *fd)
{
    const uint32_t flags = fd->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    g_autoptr (fd_t) fresh = fd_new (&move->fresh->fd_maker, fd->inode, flags, fd->pid);
    loc_t loc = { .inode = fd->inode };
    int r = fd->inode->ia_type == IA_IFDIR
              ? sync_opendir (move->in_fresh, &loc, fresh, NULL, NULL)
              : sync_open (move->in_fresh, &loc, flags, fresh, NULL, NULL);

    loc_wipe_path (&loc);
    fresh->owed = fd->owed;
    return called_fresh (move, r) < 0 ? NULL : g_steal_pointer (&fresh);
}

/* References beside the kernel's belong to translators of the old graph. */
static bool
fd_is_free (const fd_t *fd)
{
    return !__atomic_load_n (&fd->locked, __ATOMIC_RELAXED)
        && __atomic_load_n (&fd->refs, __ATOMIC_RELAXED) == 1;
}

/* Opens all files of an inode in the new graph, or none. */
static bool
inode_opens (struct move *move, inode_t *inode, const GPtrArray *fds, GPtrArray *fresh)
{
    if (passthrough_has (move->bridge, inode))
        return false;
    for (guint i = 0; i < fds->len; i++) {
        fd_t *again = NULL;

        if (fd_is_free (fds->pdata[i]) && !move->timed_out)
            again = open_again (move, fds->pdata[i]);
        if (!again)
            return false;
        g_ptr_array_add (fresh, again);
    }
    return true;
}

static void
inode_open_again (struct move *move, inode_t *inode, const GPtrArray *fds)
{
    GPtrArray *fresh = g_ptr_array_new_with_free_func ((GDestroyNotify) fd_unref);

    if (inode_opens (move, inode, fds, fresh)) {
        g_hash_table_insert (move->again, inode, fresh);
        return;
    }
    g_hash_table_insert (move->stay, inode, GUINT_TO_POINTER (fds->len));
    g_ptr_array_unref (fresh);
}

static void
open_all_again (struct move *move)
{
    GHashTableIter at;
    gpointer inode, fds;

    g_hash_table_iter_init (&at, move->opens);
    while (g_hash_table_iter_next (&at, &inode, &fds))
        inode_open_again (move, inode, fds);
}

/* From here on there is no way back. */
static void
move_opens (struct move *move)
{
    GHashTableIter at;
    gpointer inode, again;

    g_hash_table_iter_init (&at, move->again);
    while (g_hash_table_iter_next (&at, &inode, &again)) {
        const GPtrArray *fds = g_hash_table_lookup (move->opens, inode), *fresh = again;

        for (guint i = 0; i < fds->len; i++)
            fd_move (fds->pdata[i], fresh->pdata[i]);
        move->n_moved += fds->len;
    }
}

/* --- the graph that was left ------------------------------------------------------------------ */

xlator_t *
bridge_entrance (struct bridge *bridge, const struct graph *graph)
{
    if (graph == bridge->graph)
        return &bridge->xlator;
    return graph == bridge->hidden.graph ? &bridge->hidden : bridge_past (bridge);
}

xlator_t *
bridge_past (struct bridge *bridge)
{
    return &__atomic_load_n (&bridge->past, __ATOMIC_RELAXED)->xlator;
}

bool
bridge_stays_slow (struct bridge *bridge, inode_t *inode)
{
    bool stays;

    pthread_mutex_lock (&bridge->fds_lock);
    stays = bridge->past && g_hash_table_contains (bridge->past->inodes, inode);
    pthread_mutex_unlock (&bridge->fds_lock);
    return stays;
}

void
past_count_locked (struct bridge *bridge, fd_t *given, int by)
{
    const fd_t *fd = fd_now (given);
    GHashTable *inodes;
    guint n;

    if (G_LIKELY (!bridge->past || fd->data != bridge->past->graph))
        return;
    inodes = bridge->past->inodes;
    n = GPOINTER_TO_UINT (g_hash_table_lookup (inodes, fd->inode)) + (guint) by;
    if (n > 0)
        g_hash_table_insert (inodes, fd->inode, GUINT_TO_POINTER (n));
    else
        g_hash_table_remove (inodes, fd->inode);
}

bool
bridge_past_is_used (struct bridge *bridge)
{
    bool used;

    pthread_mutex_lock (&bridge->fds_lock);
    used = bridge->past && g_hash_table_size (bridge->past->inodes) > 0;
    pthread_mutex_unlock (&bridge->fds_lock);
    return used;
}

/* Lets no more requests enter it. Those that did before its last file was closed may be under
 * way. */
static bool
past_close (struct bridge *bridge)
{
    const int64_t until = clock_now () + PATIENCE;
    bool idle = hold_begin (bridge, until) && hold_idle (until);

    if (idle && !bridge_past_is_used (bridge))
        __atomic_store_n (&bridge->past, NULL, __ATOMIC_RELAXED);
    hold_end (bridge);
    return !bridge->past;
}

bool
bridge_past_end (struct bridge *bridge)
{
    struct past_graph *past = bridge->pasts ? bridge->pasts->data : NULL;

    if (!past || past->ended)
        return true;
    if (bridge->past && bridge->mounted && !past_close (bridge))
        return false;
    past->ended = true;
    xlator_notify (past->graph->top, XLATOR_ENDING, NULL);
    graph_deactivate (past->graph);
    return true;
}

void
pasts_free (struct bridge *bridge)
{
    for (GSList *at = bridge->pasts; at; at = at->next) {
        struct past_graph *past = at->data;

        past->graph->top->parents = NULL;
        past->graph->top->gate = NULL;
        numbers_free (past->graph->xlators);
        graph_free (past->graph);
        g_hash_table_unref (past->inodes);
        g_free (past);
    }
    g_slist_free (bridge->pasts);
}

/* --- the move --------------------------------------------------------------------------------- */

/* The old graph's files changed since the new one looked them up. */
static void
forget_looked_up (struct graph *fresh)
{
    struct invalidation all = { .what = INVALIDATE_ALL };

    for (guint i = 0; i < fresh->xlators->len; i++) {
        xlator_t *xl = fresh->xlators->pdata[i];

        if (!xl->children)
            xlator_pass_on (xl, XLATOR_INVALIDATE, &all);
    }
}

static void
bridge_take (struct move *move)
{
    struct bridge *bridge = move->bridge;
    struct past_graph *past = g_new0 (struct past_graph, 1);

    past->graph = move->old;
    past->inodes = g_hash_table_ref (move->stay);
    past->xlator = xlator_init ("fuse", bridge->xlator.api, move->old, bridge);
    past->xlator.children = &past->child;
    past->xlator.ready = true;
    past->child.xlator = move->old->top;
    past->parent.xlator = &past->xlator;
    move->old->top->parents = &past->parent;
    bridge->pasts = g_slist_prepend (bridge->pasts, past);
    if (g_hash_table_size (past->inodes) > 0)
        __atomic_store_n (&bridge->past, past, __ATOMIC_RELAXED);
    bridge->graph = bridge->xlator.graph = move->fresh;
    bridge->child.xlator = move->fresh->top;
    move->fresh->top->parents = &bridge->parent;
    __atomic_store_n (&move->old->past, true, __ATOMIC_RELEASE);
}

/* The kernel's pages and attributes may differ from what the new graph's translators make of the
 * files. */
static void
kernel_forgets (inode_t *inode, void *data)
{
    const struct bridge *bridge = data;

    fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (inode), 0, 0);
}

static int
under_way (struct bridge *bridge, GString *answer)
{
    g_string_append_printf (answer,
                            "requests were under way for more than %d s; 'windlass inflight %s' "
                            "lists them\n",
                            (int) (PATIENCE / 1000000000), bridge->mountpoint);
    return -EAGAIN;
}

static int
gave_up (GString *answer)
{
    g_string_append_printf (answer,
                            "the new graph did not answer within %d s; it is given up, and there "
                            "can be no other without a new mount\n",
                            (int) (PATIENCE_CALL / 1000000000));
    return -ETIMEDOUT;
}

/* While requests are held. */
static int
move_held (struct move *move, void (*moved) (void *data), void *data, GString *answer)
{
    const int64_t until = clock_now () + PATIENCE;

    if (!hold_begin (move->bridge, until))
        return under_way (move->bridge, answer);
    bridge_foreach_open (move->bridge, note_open, move);
    write_out_all (move);
    if (!hold_idle (until))
        return under_way (move->bridge, answer);
    move_know_all (move);
    open_all_again (move);
    if (move->timed_out)
        return gave_up (answer);
    move_opens (move);
    forget_looked_up (move->fresh);
    bridge_take (move);
    moved (data);
    return 0;
}

static int
move_root (struct move *move, GString *answer)
{
    inode_t *root = itable_root (move->fresh->itable);
    int r = look_up_inode (move, root);

    if (move->timed_out)
        return gave_up (answer);
    if (r < 0)
        g_string_append_printf (answer, "can't look up the root of '%s' in its new shape: %s\n",
                                move->fresh->top->name, g_strerror (-r));
    return MIN (r, 0);
}

static void
move_tell (const struct move *move, int64_t took, GString *answer)
{
    g_string_append_printf (answer,
                            "the mount has moved to its new graph: %u inodes, %u open files; "
                            "requests waited for %.1f ms\n",
                            g_hash_table_size (move->known) - move->n_lost, move->n_moved,
                            took / 1e6);
    if (g_hash_table_size (move->stay) > 0)
        g_string_append_printf (answer,
                                "%u files stay with the graph before until they are closed: they "
                                "were removed, or a lock is held, or the kernel reads and writes "
                                "them itself\n",
                                g_hash_table_size (move->stay));
}

static int
move_run (struct move *move, void (*moved) (void *data), void *data, GString *answer)
{
    struct bridge *bridge = move->bridge;
    int64_t since;
    int r = move_root (move, answer);

    if (r < 0)
        return r;
    move_know_all (move);
    if (move->timed_out)
        return gave_up (answer);
    since = clock_now ();
    r = move_held (move, moved, data, answer);
    hold_end (bridge);
    if (r < 0)
        return r;
    move_tell (move, clock_now () - since, answer);
    itable_foreach (move->fresh->itable, kernel_forgets, bridge);
    return 0;
}

static struct client *
client_of (xlator_t *top)
{
    struct client *client = client_new (top);

    client->patience = PATIENCE_CALL;
    client->lk_owner = UINT64_MAX; /* no process has it */
    client->checked = true;
    return client;
}

int
bridge_move (struct bridge *bridge, struct graph *fresh, void (*moved) (void *data), void *data,
             GString *answer)
{
    struct move move = { .bridge = bridge, .old = bridge->graph, .fresh = fresh };
    int r = move_check (bridge, fresh, answer);

    if (r < 0)
        return r;
    fresh->top->gate = bridge->graph->top->gate;
    xlator_route (fresh->top);
    move.in_old = client_of (move.old->top);
    move.in_fresh = client_of (fresh->top);
    move.known = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL);
    move.opens = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
    move.again = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
    move.stay = g_hash_table_new (NULL, NULL);
    r = move_run (&move, moved, data, answer);
    g_hash_table_unref (move.known);
    g_hash_table_unref (move.opens);
    g_hash_table_unref (move.again);
    g_hash_table_unref (move.stay);
    client_free (move.in_old);
    client_free (move.in_fresh);
    return r;
}

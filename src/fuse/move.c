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
 * in the new graph (a file that was removed), if a lock is held through it, which the server gave
 * to the present graph's connection, or if the kernel reads and writes it by itself. Requests for
 * such an inode enter the present graph at an entrance of their own: past.c.
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
#include "fuse/past.h"

#include "core/base/errors.h"
#include "core/data/itable.h"
#include "core/edge/sync.h"

#include <fcntl.h>

#define PATIENCE (10LL * 1000000000) /* nanoseconds for what is under way */
#define PATIENCE_CALL (30LL * 1000000000)

/* The open files of an inode. */
struct opens {
    inode_t *inode;
    GPtrArray *fds;   /* fd_t of the old graph, without references */
    GPtrArray *fresh; /* the same in the new graph */
    bool stays;
};

struct move {
    struct bridge *bridge;
    struct graph *old, *fresh;
    GHashTable *known;  /* inodes that were looked up, with references, to their depth */
    GPtrArray *unknown; /* of GPtrArray of inode_t, by depth: to be looked up */
    GHashTable *opens;  /* inode_t to struct opens */
    GHashTable *stay;   /* inodes that stay with the old graph, to the number of their fds */
    unsigned n_lost;    /* atomic */
    unsigned n_moved;
    bool timed_out; /* the new graph did not answer: it may still use what it was called with;
                     * atomic */
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

/* --- calls in the new graph, by several threads ----------------------------------------------- */

#define HANDS 16 /* calls at a time: each waits for a server */

typedef void move_fn (struct move *move, struct client *client, void *item);

struct hands {
    struct move *move;
    move_fn *fn;
    const GPtrArray *items;
    unsigned next; /* atomic */
};

static struct client *
client_of (xlator_t *top)
{
    struct client *client = client_new (top);

    client->patience = PATIENCE_CALL;
    client->lk_owner = UINT64_MAX; /* no process has it */
    client->checked = true;
    return client;
}

static bool
has_timed_out (const struct move *move)
{
    return __atomic_load_n (&move->timed_out, __ATOMIC_RELAXED);
}

static int
called (struct move *move, int r)
{
    if (r == -ETIMEDOUT)
        __atomic_store_n (&move->timed_out, true, __ATOMIC_RELAXED);
    return r;
}

static void *
hand_run (void *data)
{
    struct hands *hands = data;
    struct client *client = client_of (hands->move->fresh->top);
    unsigned i;

    while ((i = __atomic_fetch_add (&hands->next, 1, __ATOMIC_RELAXED)) < hands->items->len
           && !has_timed_out (hands->move))
        hands->fn (hands->move, client, hands->items->pdata[i]);
    client_free (client);
    return NULL;
}

/* Calls fn for all items. If no thread can be started, this one does all. */
static void
move_each (struct move *move, const GPtrArray *items, move_fn *fn)
{
    struct hands hands = { .move = move, .fn = fn, .items = items };
    pthread_t threads[HANDS];
    unsigned n = 0;

    while (n + 1 < MIN (HANDS, items->len)
           && thread_new (&threads[n], "move", hand_run, &hands) == 0)
        n++;
    hand_run (&hands);
    while (n > 0)
        thread_join (threads[--n]);
}

/* --- inodes ----------------------------------------------------------------------------------- */

/* By its name, since not every translator finds a file without one. */
static int
look_up_name (struct client *client, inode_t *inode, inode_t *parent, const char *name)
{
    loc_t loc = { .parent = parent, .name = name, .inode = inode };
    struct lookup_reply reply = { 0 };
    int r = sync_lookup (client, &loc, NULL, &reply);

    if (r >= 0 && !gfid_equal (&reply.buf.ia_gfid, &inode->gfid))
        r = -ESTALE;
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r;
}

static int
look_up_inode (struct client *client, inode_t *inode)
{
    loc_t loc = { .inode = inode };
    int r = sync_lookup (client, &loc, NULL, NULL);

    loc_wipe_path (&loc);
    return r;
}

static void
look_up (struct move *move, struct client *client, void *item)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    inode_t *inode = item;
    const bool named = inode != itable_root (inode->table)
                    && inode_a_name (inode, &parent, &name);
    int r = named ? look_up_name (client, inode, parent, name) : look_up_inode (client, inode);

    if (called (move, r) < 0)
        __atomic_add_fetch (&move->n_lost, 1, __ATOMIC_RELAXED);
}

/* Has the inode looked up, after the directories above it. Returns its depth. */
static guint
move_want (struct move *move, inode_t *inode)
{
    guint depth = GPOINTER_TO_UINT (g_hash_table_lookup (move->known, inode));
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (depth > 0)
        return depth;
    depth = 1;
    if (inode != itable_root (inode->table) && inode_a_name (inode, &parent, &name))
        depth += move_want (move, parent);
    g_hash_table_insert (move->known, inode_ref (inode), GUINT_TO_POINTER (depth));
    while (move->unknown->len < depth)
        g_ptr_array_add (move->unknown, g_ptr_array_new ());
    g_ptr_array_add (move->unknown->pdata[depth - 1], inode);
    return depth;
}

static void
move_know_all (struct move *move)
{
    GArray *entries = itable_some (move->fresh->itable, UINT_MAX);

    for (guint i = 0; i < entries->len; i++) {
        const struct itable_entry *entry = &g_array_index (entries, struct itable_entry, i);

        if (entry->nlookup > 0)
            move_want (move, entry->inode);
        inode_unref (entry->inode);
    }
    g_array_unref (entries);
    for (guint i = 0; i < move->unknown->len; i++) {
        move_each (move, move->unknown->pdata[i], look_up);
        g_ptr_array_set_size (move->unknown->pdata[i], 0);
    }
}

/* --- open files ------------------------------------------------------------------------------- */

static struct opens *
opens_new (inode_t *inode)
{
    struct opens *opens = g_new0 (struct opens, 1);

    opens->inode = inode;
    opens->fds = g_ptr_array_new ();
    opens->fresh = g_ptr_array_new_with_free_func ((GDestroyNotify) fd_unref);
    return opens;
}

static void
opens_free (void *data)
{
    struct opens *opens = data;

    g_ptr_array_unref (opens->fds);
    g_ptr_array_unref (opens->fresh);
    g_free (opens);
}

static void
note_open (fd_t *fd, void *data)
{
    struct move *move = data;
    struct opens *opens;

    if (fd->data != move->old)
        return;
    opens = g_hash_table_lookup (move->opens, fd->inode);
    if (!opens) {
        opens = opens_new (fd->inode);
        g_hash_table_insert (move->opens, fd->inode, opens);
    }
    g_ptr_array_add (opens->fds, fd);
}

/* Has the old graph write what it holds back of a file, and keeps an error for the next caller. The
 * owner has no locks, so none are dropped. */
static void
write_out (struct move *move, struct client *in_old, fd_t *fd)
{
    int r;

    if (fd->inode->ia_type != IA_IFREG || (fd->flags & O_ACCMODE) == O_RDONLY)
        return;
    r = sync_flush (in_old, fd, NULL, NULL);
    if (r >= 0 || r == -ENOSYS || r == -ETIMEDOUT)
        return; /* or it is still under way, and nothing moves */
    __atomic_store_n (&fd->owed, -r, __ATOMIC_RELAXED);
    gf_log (&move->bridge->xlator, GF_LOG_WARNING,
            "data of an open file could not be written before the mount moves to its new graph: "
            "%s; the next close or fsync of the file tells its program",
            g_strerror (-r));
}

/* A record lock belongs to a process, which may have taken it through one fd and dropped it through
 * another: so the server is asked. Locks of other clients count, too. */
static bool
holds_locks (struct client *in_old, fd_t *fd)
{
    struct gf_flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct lk_reply reply = { 0 };

    return __atomic_load_n (&fd->flocked, __ATOMIC_RELAXED)
        || (__atomic_load_n (&fd->locked, __ATOMIC_RELAXED)
            && (sync_lk (in_old, fd, F_GETLK, &all, NULL, &reply) < 0
                || reply.lock.l_type != F_UNLCK));
}

/* What of the files needs the old graph, or is to be told to it. */
static void
opens_settle (struct move *move, struct client *in_old, struct opens *opens)
{
    for (guint i = 0; i < opens->fds->len; i++) {
        fd_t *fd = opens->fds->pdata[i];

        write_out (move, in_old, fd);
        opens->stays |= holds_locks (in_old, fd);
    }
}

static void
settle_all (struct move *move)
{
    struct client *in_old = client_of (move->old->top);
    GHashTableIter at;
    gpointer opens;

    g_hash_table_iter_init (&at, move->opens);
    while (g_hash_table_iter_next (&at, NULL, &opens))
        opens_settle (move, in_old, opens);
    client_free (in_old);
}

/* Returns the file opened in the new graph; NULL if it can't be. */
static fd_t *
open_again (struct move *move, struct client *client, const fd_t *fd)
{
    const uint32_t flags = fd->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    g_autoptr (fd_t) fresh = fd_new (&move->fresh->fd_maker, fd->inode, flags, fd->pid);
    loc_t loc = { .inode = fd->inode };
    int r = fd->inode->ia_type == IA_IFDIR ? sync_opendir (client, &loc, fresh, NULL, NULL)
                                           : sync_open (client, &loc, flags, fresh, NULL, NULL);

    loc_wipe_path (&loc);
    fresh->owed = fd->owed;
    return called (move, r) < 0 ? NULL : g_steal_pointer (&fresh);
}

/* References beside the kernel's belong to translators of the old graph. */
static bool
fd_is_free (const fd_t *fd)
{
    return __atomic_load_n (&fd->refs, __ATOMIC_RELAXED) == 1;
}

/* Opens all files of an inode in the new graph, or the inode stays. */
static void
opens_again (struct move *move, struct client *client, void *item)
{
    struct opens *opens = item;

    opens->stays |= passthrough_has (move->bridge, opens->inode);
    for (guint i = 0; i < opens->fds->len && !opens->stays; i++) {
        const fd_t *fd = opens->fds->pdata[i];
        fd_t *fresh = fd_is_free (fd) ? open_again (move, client, fd) : NULL;

        if (fresh)
            g_ptr_array_add (opens->fresh, fresh);
        else
            opens->stays = true;
    }
}

static void
open_all_again (struct move *move)
{
    g_autoptr (GPtrArray) all = g_ptr_array_new ();
    GHashTableIter at;
    gpointer opens;

    g_hash_table_iter_init (&at, move->opens);
    while (g_hash_table_iter_next (&at, NULL, &opens))
        g_ptr_array_add (all, opens);
    move_each (move, all, opens_again);
}

/* From here on there is no way back. */
static void
move_opens (struct move *move)
{
    GHashTableIter at;
    gpointer data;

    g_hash_table_iter_init (&at, move->opens);
    while (g_hash_table_iter_next (&at, NULL, &data)) {
        const struct opens *opens = data;

        if (opens->stays) {
            g_hash_table_insert (move->stay, opens->inode, GUINT_TO_POINTER (opens->fds->len));
            continue;
        }
        for (guint i = 0; i < opens->fds->len; i++)
            fd_move (opens->fds->pdata[i], opens->fresh->pdata[i]);
        move->n_moved += opens->fds->len;
    }
}

/* A file that stays open over many moves stands for its newest fd alone. */
static void
shorten_all (struct bridge *bridge)
{
    GHashTableIter iter;
    gpointer fd;

    pthread_mutex_lock (&bridge->fds_lock);
    g_hash_table_iter_init (&iter, bridge->fds);
    while (g_hash_table_iter_next (&iter, &fd, NULL))
        fd_shorten (fd);
    pthread_mutex_unlock (&bridge->fds_lock);
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

    past_new (bridge, move->stay);
    bridge->graph = bridge->xlator.graph = move->fresh;
    bridge->child.xlator = move->fresh->top;
    move->fresh->top->parents = &bridge->parent;
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

    /* An open under way adds its file when it is answered. */
    if (!hold_begin (move->bridge, until) || !hold_answered (until))
        return under_way (move->bridge, answer);
    bridge_foreach_open (move->bridge, note_open, move);
    settle_all (move);
    if (!hold_idle (until))
        return under_way (move->bridge, answer);
    move_know_all (move);
    open_all_again (move);
    if (has_timed_out (move))
        return gave_up (answer);
    move_opens (move);
    shorten_all (move->bridge);
    forget_looked_up (move->fresh);
    bridge_take (move);
    moved (data);
    return 0;
}

static int
move_root (struct move *move, GString *answer)
{
    struct client *client = client_of (move->fresh->top);
    int r = called (move, look_up_inode (client, itable_root (move->fresh->itable)));

    client_free (client);
    if (has_timed_out (move))
        return gave_up (answer);
    if (r < 0)
        g_string_append_printf (answer, "can't look up the root of '%s' in its new shape: %s\n",
                                move->fresh->top->name, g_strerror (-r));
    return error_or_0 (r);
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
    if (has_timed_out (move))
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
    move.known = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL);
    move.unknown = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
    move.opens = g_hash_table_new_full (NULL, NULL, NULL, opens_free);
    move.stay = g_hash_table_new (NULL, NULL);
    r = move_run (&move, moved, data, answer);
    g_hash_table_unref (move.known);
    g_ptr_array_unref (move.unknown);
    g_hash_table_unref (move.opens);
    g_hash_table_unref (move.stay);
    return r;
}

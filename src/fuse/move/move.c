/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moves a mount to another graph while files stay open (GlusterFS: graph switch).
 *
 *   1. The new graph looks up all inodes that the kernel knows, while the present graph serves.
 *      Both use one table of inodes, so the kernel's numbers, names and open files stay valid; each
 *      graph has its own contexts in an inode.
 *   2. New requests of the kernel are held (hold.h). The present graph answers the requests that
 *      are under way, but waits for locks, and writes the data that its translators keep.
 *   3. The new graph looks up the inodes that came since step 1, and opens each open file again.
 *      The kernel goes on to use the fd_t of the present graph. That graph releases this fd_t, and
 *      fd_t.moved refers to the fd_t of the new graph from then on.
 *   4. The bridge takes the new graph as its child, and requests go on.
 *
 * An inode stays with the present graph, with all of its open files, in five cases. The new graph
 * can't open the file, for example since it was removed. A translator of the present graph holds a
 * reference to an fd of the file. A process holds a lock on the file, or waits for one, and the
 * server would drop it when the present graph disconnects. The kernel itself reads and writes the
 * file (fuse/passthrough.h). A request about the inode, open or not, waits for a job that rests, as
 * a copy of cluster/overlay does (stack_rest_waits). After the move the present graph becomes an
 * old graph. Requests for an inode that stays go to its top translator (old-graphs.h).
 *
 * Reasons:
 *
 * - Both graphs share one table of inodes. With two tables each inode and name would exist twice.
 * - The new graph opens files while requests are held, so that no later request waits for an open.
 * - Locks stay in the old graph. If it unlocked, so that the new graph could lock, another client
 *   could take the lock between the two.
 */
#include "core/base/errors.h"
#include "core/data/itable.h"
#include "core/edge/sync.h"
#include "fuse/move/hold.h"
#include "fuse/move/old-graphs.h"
#include "fuse/passthrough.h"

#include <fcntl.h>

#define PATIENCE_CALL (30LL * 1000000000) /* maximum nanoseconds to wait for an own call's answer */
#define PATIENCE_HOLD (10LL * 1000000000) /* maximum nanoseconds of all tries to hold requests */

/* An inode, and its files that are open at the move. */
struct move_files {
    inode_t *inode;
    GPtrArray *fds;   /* of fd_t in the old graph, without references */
    GPtrArray *fresh; /* of fd_t in the new graph, in the order of fds, with references */
    bool stays;       /* whether the inode and its open files stay with the old graph */
};

struct move {
    struct bridge *bridge;
    struct graph *old, *fresh; /* graph that the mount leaves, graph to which it moves */
    GHashTable *known;  /* inode, with a reference -> its depth (root: 1): all listed for look-up */
    GPtrArray *unknown; /* by depth - 1, of arrays of inodes that the new graph has to look up */
    GHashTable *files;  /* inode with open files -> its struct move_files */
    GHashTable *lockers; /* set of addresses of fds on which a request for a lock is under way */
    GHashTable *waiting; /* set of inodes, with references, whose requests wait for a job */
    GHashTable *stay;   /* inode that stays with the old graph -> number of its open fds */
    unsigned n_lost;    /* number of inodes that the new graph could not look up; atomic */
    unsigned n_moved;   /* number of open fds that moved to the new graph */
    unsigned n_stay;    /* number of inodes that stay with the old graph, open or not */
    bool timed_out; /* whether a call in the new graph had no answer within PATIENCE_CALL, so that
                     * the graph may still use the call's arguments; atomic */
};

/* --- whether the mount can move --------------------------------------------------------------- */

static bool
move_graph_has (const struct graph *graph, const char *type)
{
    for (guint i = 0; i < graph->xlators->len; i++)
        if (strcmp (((xlator_t *) graph->xlators->pdata[i])->type, type) == 0)
            return true;
    return false;
}

/* Returns 0, or a negative errno if the graphs differ in a property that the kernel learns only at
 * the mount: whether servers have the files, and whether system/posix-acl checks access rights. */
static int
move_check (const struct bridge *bridge, const struct graph *fresh, GString *answer)
{
    static const char decider[] = "system/posix-acl";

    if (xlator_is_remote (bridge->graph->top) != xlator_is_remote (fresh->top))
        g_string_append (answer, "the volume's new shape needs a new mount: its files are on a "
                                 "server, and were not, or the other way round\n");
    else if (move_graph_has (bridge->graph, decider) != move_graph_has (fresh, decider))
        g_string_append_printf (answer,
                                "the volume's new shape needs a new mount: a volume of type '%s' "
                                "decides about rights only from the mount on\n",
                                decider);
    else
        return 0;
    return -EINVAL;
}

/* --- calls in the new graph, on several threads ----------------------------------------------- */

#define MOVE_THREADS 16 /* maximum number of threads, each with one call under way */

typedef void move_fn (struct move *move, struct client *client, void *item);

struct move_work {
    struct move *move;
    move_fn *fn;
    const GPtrArray *items;
    unsigned next; /* index in items of the next item that a thread takes; atomic */
};

static struct client *
move_client (const struct move *move, xlator_t *top)
{
    struct client *client = client_new_internal (&move->bridge->xlator, top);

    client->patience = PATIENCE_CALL;
    client->lk_owner = UINT64_MAX; /* no process has this lock owner */
    client->checked = true;
    return client;
}

static bool
move_timed_out (const struct move *move)
{
    return __atomic_load_n (&move->timed_out, __ATOMIC_RELAXED);
}

/* Sets move->timed_out if the result r of a call in the new graph is -ETIMEDOUT. Returns r. */
static int
move_called (struct move *move, int r)
{
    if (r == -ETIMEDOUT)
        __atomic_store_n (&move->timed_out, true, __ATOMIC_RELAXED);
    return r;
}

static void *
move_work_run (void *data)
{
    struct move_work *work = data;
    struct client *client = move_client (work->move, work->move->fresh->top);
    unsigned i;

    while ((i = __atomic_fetch_add (&work->next, 1, __ATOMIC_RELAXED)) < work->items->len
           && !move_timed_out (work->move))
        work->fn (work->move, client, work->items->pdata[i]);
    client_free (client);
    return NULL;
}

/* Calls fn for each item, on this and on other threads, until a call in the new graph times out.
 * Returns when all calls of fn have returned. */
static void
move_each (struct move *move, const GPtrArray *items, move_fn *fn)
{
    struct move_work work = { .move = move, .fn = fn, .items = items };
    pthread_t threads[MOVE_THREADS];
    unsigned n = 0;

    while (n + 1 < MIN (MOVE_THREADS, items->len)
           && thread_new (&threads[n], "move", move_work_run, &work) == 0)
        n++;
    move_work_run (&work);
    while (n > 0)
        thread_join (threads[--n]);
}

/* --- inodes ----------------------------------------------------------------------------------- */

/* Has the new graph look the inode up by its parent and name: some translators can't find a file by
 * its inode alone. Returns -ESTALE if the name belongs to another file by now. */
static int
move_look_up_name (struct client *client, inode_t *inode, inode_t *parent, const char *name)
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
move_look_up_inode (struct client *client, inode_t *inode)
{
    loc_t loc = { .inode = inode };
    int r = sync_lookup (client, &loc, NULL, NULL);

    loc_wipe_path (&loc);
    return r;
}

static void
move_look_up (struct move *move, struct client *client, void *item)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    inode_t *inode = item;
    const bool named = inode != itable_root (inode->table)
                    && inode_a_name (inode, &parent, &name);
    int r = named ? move_look_up_name (client, inode, parent, name)
                  : move_look_up_inode (client, inode);

    if (move_called (move, r) < 0)
        __atomic_add_fetch (&move->n_lost, 1, __ATOMIC_RELAXED);
}

/* Adds the inode and the directories above it to move->unknown, unless they are in move->known.
 * Returns the inode's depth: 1 for the root. */
static guint
move_list_inode (struct move *move, inode_t *inode)
{
    guint depth = GPOINTER_TO_UINT (g_hash_table_lookup (move->known, inode));
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (depth > 0)
        return depth;
    depth = 1;
    if (inode != itable_root (inode->table) && inode_a_name (inode, &parent, &name))
        depth += move_list_inode (move, parent);
    g_hash_table_insert (move->known, inode_ref (inode), GUINT_TO_POINTER (depth));
    while (move->unknown->len < depth)
        g_ptr_array_add (move->unknown, g_ptr_array_new ());
    g_ptr_array_add (move->unknown->pdata[depth - 1], inode);
    return depth;
}

/* Has the new graph look up each inode that the kernel knows, unless an earlier call did so. */
static void
move_look_up_all (struct move *move)
{
    GArray *entries = itable_some (move->fresh->itable, UINT_MAX);

    for (guint i = 0; i < entries->len; i++) {
        const struct itable_entry *entry = &g_array_index (entries, struct itable_entry, i);

        if (entry->nlookup > 0 && !inode_is_detached (entry->inode))
            move_list_inode (move, entry->inode);
        inode_unref (entry->inode);
    }
    g_array_unref (entries);
    for (guint i = 0; i < move->unknown->len; i++) {
        move_each (move, move->unknown->pdata[i], move_look_up);
        g_ptr_array_set_size (move->unknown->pdata[i], 0);
    }
}

/* --- open files ------------------------------------------------------------------------------- */

static struct move_files *
move_files_new (inode_t *inode)
{
    struct move_files *files = g_new0 (struct move_files, 1);

    files->inode = inode;
    files->fds = g_ptr_array_new ();
    files->fresh = g_ptr_array_new_with_free_func ((GDestroyNotify) fd_unref);
    return files;
}

static void
move_files_free (void *data)
{
    struct move_files *files = data;

    g_ptr_array_unref (files->fds);
    g_ptr_array_unref (files->fresh);
    g_free (files);
}

/* bridge_foreach_open calls it for each open fd. Adds an fd of the old graph to move->files. */
static void
move_note_file (fd_t *fd, void *data)
{
    struct move *move = data;
    struct move_files *files;

    if (fd->data != move->old)
        return;
    files = g_hash_table_lookup (move->files, fd->inode);
    if (!files) {
        files = move_files_new (fd->inode);
        g_hash_table_insert (move->files, fd->inode, files);
    }
    g_ptr_array_add (files->fds, fd);
}

/* Returns whether a process holds a lock on the file. fd->locked tells only that a record lock was
 * once taken through this fd: the process may have dropped it through another fd. So this function
 * then asks storage with F_GETLK, which reports locks of other clients, too. */
static bool
move_has_locks (struct client *in_old, fd_t *fd)
{
    struct gf_flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct lk_reply reply = { 0 };

    return __atomic_load_n (&fd->flocked, __ATOMIC_RELAXED)
        || (__atomic_load_n (&fd->locked, __ATOMIC_RELAXED)
            && (sync_lk (in_old, fd, F_GETLK, &all, NULL, &reply) < 0
                || reply.lock.l_type != F_UNLCK));
}

/* Records the fd of a request for a lock. The fd may be freed meanwhile: it is only compared. */
LOOKS_AT_RUNNING_REQUESTS static void
move_note_locker (const call_stack_t *root, void *data)
{
    struct move *move = data;

    if ((root->op == FOP_lk || root->op == FOP_flock)
        && root->frames[0].this == &move->bridge->xlator && root->maker.lent_fds[0])
        g_hash_table_add (move->lockers, root->maker.lent_fds[0]);
}

/* Has the old graph write the data that it keeps for an inode's open files. If a process holds a
 * lock on the file, or waits for one, or for a job, the inode stays with the old graph. */
static void
move_files_settle (struct move *move, struct client *in_old, struct move_files *files)
{
    files->stays = g_hash_table_contains (move->waiting, files->inode);
    for (guint i = 0; i < files->fds->len && !files->stays; i++) {
        fd_t *fd = files->fds->pdata[i];

        hold_flush (in_old, fd);
        files->stays |= g_hash_table_contains (move->lockers, fd) || move_has_locks (in_old, fd);
    }
}

/* Called in each try to hold, when all requests but waits for locks and jobs are answered. */
static void
move_settle_all (void *data)
{
    struct move *move = data;
    struct client *in_old = move_client (move, move->old->top);
    GHashTableIter at;
    gpointer files;

    g_hash_table_remove_all (move->files);
    g_hash_table_remove_all (move->lockers);
    g_clear_pointer (&move->waiting, g_hash_table_unref);
    move->waiting = hold_waiting_inodes (move->bridge);
    bridge_foreach_open (move->bridge, move_note_file, move);
    stack_foreach (move_note_locker, move);
    g_hash_table_iter_init (&at, move->files);
    while (g_hash_table_iter_next (&at, NULL, &files))
        move_files_settle (move, in_old, files);
    client_free (in_old);
}

/* Opens an old fd's file in the new graph. Returns the new fd, or NULL on error. */
static fd_t *
move_open (struct move *move, struct client *client, const fd_t *fd)
{
    const uint32_t flags = fd->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    g_autoptr (fd_t) fresh = fd_new (&move->fresh->fd_maker, fd->inode, flags, fd->pid);
    loc_t loc = { .inode = fd->inode };
    int r;

    fresh->unflushed = fd->unflushed;
    r = fd->inode->ia_type == IA_IFDIR ? sync_opendir (client, &loc, fresh, NULL, NULL)
                                       : sync_open (client, &loc, flags, fresh, NULL, NULL);
    loc_wipe_path (&loc);
    fresh->owed = fd->owed;
    return move_called (move, r) < 0 ? NULL : g_steal_pointer (&fresh);
}

/* Returns whether the kernel's reference to the fd is the only one. Otherwise a translator of the
 * old graph has one, also to the fd in a realm, and may use it any time: the fd can't move. */
static bool
move_fd_is_free (const struct graph *old, fd_t *fd)
{
    return __atomic_load_n (&fd->refs, __ATOMIC_RELAXED) == 1 && !graph_holds_below (old, fd);
}

/* Opens an inode's open files (item) in the new graph. If one can't be opened, all of them stay. */
static void
move_files_open (struct move *move, struct client *client, void *item)
{
    struct move_files *files = item;

    files->stays |= passthrough_has (move->bridge, files->inode)
                 || inode_is_detached (files->inode);
    for (guint i = 0; i < files->fds->len && !files->stays; i++) {
        fd_t *fd = files->fds->pdata[i];
        fd_t *fresh = move_fd_is_free (move->old, fd) ? move_open (move, client, fd) : NULL;

        if (fresh)
            g_ptr_array_add (files->fresh, fresh);
        else
            files->stays = true;
    }
}

static void
move_open_all (struct move *move)
{
    g_autoptr (GPtrArray) all = g_ptr_array_new ();
    GHashTableIter at;
    gpointer files;

    g_hash_table_iter_init (&at, move->files);
    while (g_hash_table_iter_next (&at, NULL, &files))
        g_ptr_array_add (all, files);
    move_each (move, all, move_files_open);
}

/* Moves each open fd of the old graph to its fd of the new graph (fd_move), except for the inodes
 * that stay, which are added to move->stay. After that the move can't be undone. */
static void
move_files_over (struct move *move)
{
    GHashTableIter at;
    gpointer data;

    g_hash_table_iter_init (&at, move->files);
    while (g_hash_table_iter_next (&at, NULL, &data)) {
        const struct move_files *files = data;

        if (files->stays) {
            g_hash_table_insert (move->stay, files->inode, GUINT_TO_POINTER (files->fds->len));
            continue;
        }
        for (guint i = 0; i < files->fds->len; i++)
            fd_move (files->fds->pdata[i], files->fresh->pdata[i]);
        move->n_moved += files->fds->len;
    }
}

/* A file that was open during several moves has a chain of fds: each refers to the next by
 * fd->moved. Makes the first one, which is the kernel's, refer to the last one directly. */
static void
move_shorten_all (struct bridge *bridge)
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

/* The new graph drops what it has cached: requests to the old one may have changed files since. */
static void
move_drop_caches (struct graph *fresh)
{
    struct invalidation all = { .what = INVALIDATE_ALL };

    for (guint i = 0; i < fresh->xlators->len; i++) {
        xlator_t *xl = fresh->xlators->pdata[i];

        if (!xl->children)
            xlator_pass_on (xl, XLATOR_INVALIDATE, &all);
    }
}

/* Makes the new graph the bridge's present graph, and the present one an old graph. */
static void
move_take_over (struct move *move)
{
    struct bridge *bridge = move->bridge;

    move->n_stay = old_graph_new (bridge, move->stay, move->waiting);
    bridge->graph = bridge->xlator.graph = move->fresh;
    bridge->child.xlator = move->fresh->top;
    move->fresh->top->parents = &bridge->parent;
}

/* Has the kernel drop the pages and attributes that it caches of the inode: the new graph may give
 * the file other data or attributes. Pages that a request is under way for are locked until it is
 * answered. */
static void
move_invalidate (inode_t *inode, void *data)
{
    const struct move *move = data;

    if (!g_hash_table_contains (move->waiting, inode))
        fuse_lowlevel_notify_inval_inode (move->bridge->session, inode_nodeid (inode), 0, 0);
}

static int
move_is_given_up (GString *answer)
{
    g_string_append_printf (answer,
                            "the new graph did not answer within %d s; it is given up, and there "
                            "can be no other without a new mount\n",
                            (int) (PATIENCE_CALL / 1000000000));
    return -ETIMEDOUT;
}

/* Does the part of the move during which requests are held. */
static int
move_held (struct move *move, void (*moved) (void *data), void *data, GString *answer)
{
    move_look_up_all (move);
    move_open_all (move);
    if (move_timed_out (move))
        return move_is_given_up (answer);
    graph_take_over (move->fresh);
    move_files_over (move);
    move_shorten_all (move->bridge);
    move_drop_caches (move->fresh);
    move_take_over (move);
    moved (data);
    return 0;
}

static int
move_root (struct move *move, GString *answer)
{
    struct client *client = move_client (move, move->fresh->top);
    int r = move_called (move, move_look_up_inode (client, itable_root (move->fresh->itable)));

    client_free (client);
    if (move_timed_out (move))
        return move_is_given_up (answer);
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
    if (move->n_stay > 0)
        g_string_append_printf (answer,
                                "%u files stay with the old graph until they are closed, and the "
                                "copies that requests wait for have ended: they were removed, or a "
                                "lock is held, or a copy is under way, or the kernel reads and "
                                "writes them itself\n",
                                move->n_stay);
}

static int
move_run (struct move *move, void (*moved) (void *data), void *data, GString *answer)
{
    const struct hold_plan plan = { .settle = move_settle_all,
                                    .data = move,
                                    .patience = PATIENCE_HOLD,
                                    .hindered = "the move" };
    struct bridge *bridge = move->bridge;
    int64_t since;
    int r = move_root (move, answer);

    if (r < 0)
        return r;
    move_look_up_all (move);
    if (move_timed_out (move))
        return move_is_given_up (answer);
    r = hold_idle (bridge, &plan, &since, answer);
    if (r < 0)
        return r;
    r = move_held (move, moved, data, answer);
    hold_over (bridge);
    if (r < 0)
        return r;
    move_tell (move, clock_now () - since, answer);
    itable_foreach (move->fresh->itable, move_invalidate, move);
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
    move.files = g_hash_table_new_full (NULL, NULL, NULL, move_files_free);
    move.lockers = g_hash_table_new (NULL, NULL);
    move.stay = g_hash_table_new (NULL, NULL);
    r = move_run (&move, moved, data, answer);
    g_hash_table_unref (move.known);
    g_ptr_array_unref (move.unknown);
    g_hash_table_unref (move.files);
    g_hash_table_unref (move.lockers);
    g_hash_table_unref (move.stay);
    g_clear_pointer (&move.waiting, g_hash_table_unref);
    return r;
}

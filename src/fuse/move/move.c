/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moves a mount to another graph while files stay open (GlusterFS: graph switch).
 *
 *   1. The new graph looks up all inodes that the kernel knows, while the present graph serves.
 *      Both use one table of inodes, so the kernel's numbers, names and open files stay valid; each
 *      graph has its own contexts in an inode.
 *   2. New requests are held. The present graph answers the requests that are under way, and writes
 *      the data that its translators still keep.
 *   3. The new graph looks up the inodes that came since step 1, and opens each open file. The
 *      kernel knows an open file by its fd of the present graph. That fd is released, and from then
 *      on it stands for the fd of the new graph (fd.moved).
 *   4. The bridge takes the new graph as its child, and requests go on.
 *
 * An inode stays with the present graph, with all of its open files, in four cases: the new graph
 * can't open one of the files, for example since it was removed; a translator of the present graph
 * holds a reference to the fd; a caller holds a lock on the file, which the server drops with the
 * connection of the present graph; the kernel reads and writes the file on the local file system
 * itself (fuse/passthrough.h). After the move the present graph is an old graph. Requests for such
 * an inode still go to the top of that graph (old-graphs.h).
 *
 * Reasons:
 *
 * - Both graphs have one table of inodes: with two, each inode, number and name would exist twice.
 * - Requests are held before libfuse sees them: nothing has to be queued, and the threads' own
 *   memory holds the requests.
 * - Files are opened while requests are held, not at their next use: no handler then waits for an
 *   open.
 * - Locks are not taken again: between unlock and lock another client could get them.
 */

#include "core/base/errors.h"
#include "core/data/itable.h"
#include "core/edge/sync.h"
#include "fuse/move/hold.h"
#include "fuse/move/old-graphs.h"
#include "fuse/passthrough.h"

#include <fcntl.h>

#define PATIENCE (10LL * 1000000000)      /* nanoseconds for requests that are under way */
#define PATIENCE_CALL (30LL * 1000000000) /* nanoseconds for a call of the move itself */

/* An inode's open files. */
struct move_files {
    inode_t *inode;
    GPtrArray *fds;   /* fds of the old graph, without references */
    GPtrArray *fresh; /* fds of the new graph, in the same order, with references */
    bool stays;       /* whether the inode stays with the old graph */
};

struct move {
    struct bridge *bridge;
    struct graph *old, *fresh; /* the graph that the mount leaves, and the new one */
    GHashTable *known;  /* inodes that were looked up, with references, and their depth */
    GPtrArray *unknown; /* for each depth, an array of the inodes that are to be looked up */
    GHashTable *files;  /* each inode with open files, and its struct move_files */
    GHashTable *stay;   /* inodes that stay with the old graph, and the number of their fds */
    unsigned n_lost;    /* number of inodes whose look-up failed; atomic */
    unsigned n_moved;   /* number of fds that moved */
    bool timed_out; /* whether a call in the new graph had no answer in time, so that the graph may
                     * still use the call's arguments; atomic */
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

/* Refuses a new graph that would change what the kernel learnt when the volume was mounted: whether
 * the files are on a server, and whether system/posix-acl checks the rights of callers. */
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

#define MOVE_THREADS 16 /* calls that wait for a server at a time */

typedef void move_fn (struct move *move, struct client *client, void *item);

struct move_work {
    struct move *move;
    move_fn *fn;
    const GPtrArray *items;
    unsigned next; /* index of the next item; atomic */
};

static struct client *
move_client (xlator_t *top)
{
    struct client *client = client_new (top);

    client->patience = PATIENCE_CALL;
    client->lk_owner = UINT64_MAX; /* the owner of no process */
    client->checked = true;
    return client;
}

static bool
move_timed_out (const struct move *move)
{
    return __atomic_load_n (&move->timed_out, __ATOMIC_RELAXED);
}

/* Notes a call that had no answer in time. */
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
    struct client *client = move_client (work->move->fresh->top);
    unsigned i;

    while ((i = __atomic_fetch_add (&work->next, 1, __ATOMIC_RELAXED)) < work->items->len
           && !move_timed_out (work->move))
        work->fn (work->move, client, work->items->pdata[i]);
    client_free (client);
    return NULL;
}

/* Calls fn for each item, and returns when all calls have returned. If no thread can be started,
 * the calling thread makes all calls. */
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

/* Looks the inode up by its name, since not every translator finds a file without one. */
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

/* Lists the inode and the directories above it for a look-up, the upper ones first. Returns the
 * inode's depth: 1 for the root. */
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

/* Looks up all inodes that the kernel knows and that weren't looked up before. */
static void
move_look_up_all (struct move *move)
{
    GArray *entries = itable_some (move->fresh->itable, UINT_MAX);

    for (guint i = 0; i < entries->len; i++) {
        const struct itable_entry *entry = &g_array_index (entries, struct itable_entry, i);

        if (entry->nlookup > 0)
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

/* For bridge_foreach_open. */
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

/* Has the old graph write the data that it keeps of a file. The fd keeps an error, which the next
 * close or fsync of the file returns. A flush drops the record locks of its lock owner. The lock
 * owner of in_old has none, since it is no process (move_client). */
static void
move_flush (struct move *move, struct client *in_old, fd_t *fd)
{
    int r;

    if (fd->inode->ia_type != IA_IFREG || (fd->flags & O_ACCMODE) == O_RDONLY)
        return;
    r = sync_flush (in_old, fd, NULL, NULL);
    if (r >= 0 || r == -ENOSYS || r == -ETIMEDOUT)
        return; /* after a timeout the flush is still under way, so hold_idle prevents the move */
    __atomic_store_n (&fd->owed, -r, __ATOMIC_RELAXED);
    gf_log (&move->bridge->xlator, GF_LOG_WARNING,
            "data of an open file could not be written before the mount moves to its new graph: "
            "%s; the next close or fsync of the file tells its program",
            g_strerror (-r));
}

/* Returns whether a lock is held through the fd. A record lock belongs to a process, which may have
 * taken it through one fd and dropped it through another, so this asks the server. The answer
 * counts locks of other clients, too. */
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

/* Has the old graph write the files' data, and finds out whether they must stay with it. */
static void
move_files_settle (struct move *move, struct client *in_old, struct move_files *files)
{
    for (guint i = 0; i < files->fds->len; i++) {
        fd_t *fd = files->fds->pdata[i];

        move_flush (move, in_old, fd);
        files->stays |= move_has_locks (in_old, fd);
    }
}

static void
move_settle_all (struct move *move)
{
    struct client *in_old = move_client (move->old->top);
    GHashTableIter at;
    gpointer files;

    g_hash_table_iter_init (&at, move->files);
    while (g_hash_table_iter_next (&at, NULL, &files))
        move_files_settle (move, in_old, files);
    client_free (in_old);
}

/* Opens the file in the new graph. Returns the new fd, or NULL on failure. */
static fd_t *
move_open (struct move *move, struct client *client, const fd_t *fd)
{
    const uint32_t flags = fd->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    g_autoptr (fd_t) fresh = fd_new (&move->fresh->fd_maker, fd->inode, flags, fd->pid);
    loc_t loc = { .inode = fd->inode };
    int r = fd->inode->ia_type == IA_IFDIR ? sync_opendir (client, &loc, fresh, NULL, NULL)
                                           : sync_open (client, &loc, flags, fresh, NULL, NULL);

    loc_wipe_path (&loc);
    fresh->owed = fd->owed;
    return move_called (move, r) < 0 ? NULL : g_steal_pointer (&fresh);
}

/* Returns whether the kernel has the only reference. Other references belong to translators of the
 * old graph, which may use the fd at any time. */
static bool
move_fd_is_free (const fd_t *fd)
{
    return __atomic_load_n (&fd->refs, __ATOMIC_RELAXED) == 1;
}

/* Opens all files of an inode in the new graph. If one can't be opened, the inode stays. */
static void
move_files_open (struct move *move, struct client *client, void *item)
{
    struct move_files *files = item;

    files->stays |= passthrough_has (move->bridge, files->inode);
    for (guint i = 0; i < files->fds->len && !files->stays; i++) {
        const fd_t *fd = files->fds->pdata[i];
        fd_t *fresh = move_fd_is_free (fd) ? move_open (move, client, fd) : NULL;

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

/* Exchanges the fds. After that the move can't be undone. */
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

/* Makes the kernel's fd of a file that stayed open over several moves refer to the newest fd
 * directly. */
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

/* Has the new graph drop its caches: callers of the old graph may have changed files since the new
 * one looked them up. */
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

/* The bridge gets the new graph. */
static void
move_take_over (struct move *move)
{
    struct bridge *bridge = move->bridge;

    old_graph_new (bridge, move->stay);
    bridge->graph = bridge->xlator.graph = move->fresh;
    bridge->child.xlator = move->fresh->top;
    move->fresh->top->parents = &bridge->parent;
}

/* Has the kernel drop its pages and attributes: the new graph's translators may show a file with
 * other data or attributes. */
static void
move_invalidate (inode_t *inode, void *data)
{
    const struct bridge *bridge = data;

    fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (inode), 0, 0);
}

static int
move_is_hindered (struct bridge *bridge, GString *answer)
{
    g_string_append_printf (answer,
                            "requests were under way for more than %d s; 'windlass inflight %s' "
                            "lists them\n",
                            (int) (PATIENCE / 1000000000), bridge->mountpoint);
    return -EAGAIN;
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

/* Does the part of the move for which requests are held. */
static int
move_held (struct move *move, void (*moved) (void *data), void *data, GString *answer)
{
    const int64_t until = clock_now () + PATIENCE;

    /* The list of open files is read after hold_answered, since an open that is under way adds a
     * file when it is answered. */
    if (!hold_begin (move->bridge, until) || !hold_answered (until))
        return move_is_hindered (move->bridge, answer);
    bridge_foreach_open (move->bridge, move_note_file, move);
    move_settle_all (move);
    if (!hold_idle (until))
        return move_is_hindered (move->bridge, answer);
    move_look_up_all (move);
    move_open_all (move);
    if (move_timed_out (move))
        return move_is_given_up (answer);
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
    struct client *client = move_client (move->fresh->top);
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
    if (g_hash_table_size (move->stay) > 0)
        g_string_append_printf (answer,
                                "%u files stay with the old graph until they are closed: they "
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
    move_look_up_all (move);
    if (move_timed_out (move))
        return move_is_given_up (answer);
    since = clock_now ();
    r = move_held (move, moved, data, answer);
    hold_end (bridge);
    if (r < 0)
        return r;
    move_tell (move, clock_now () - since, answer);
    itable_foreach (move->fresh->itable, move_invalidate, bridge);
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
    move.stay = g_hash_table_new (NULL, NULL);
    r = move_run (&move, moved, data, answer);
    g_hash_table_unref (move.known);
    g_ptr_array_unref (move.unknown);
    g_hash_table_unref (move.files);
    g_hash_table_unref (move.stay);
    return r;
}

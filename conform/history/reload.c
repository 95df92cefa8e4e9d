/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command `reload` of histories: the clients move to a new graph of the same volfile, over the
 * same storage, as a mount does (src/fuse/move/move.c). Gates let all calls go for that time, and
 * no client begins one.
 *
 * Clients go on to use the inodes that they know, so the new graph looks all of them up. It opens
 * the open files again. If it can't open one, since the file was removed or detached, or if a
 * translator of the old graph still has the file, then all open files of that inode stay in the old
 * graph, and calls about the inode go there. An old graph ends when no file is open in it.
 */
#include "conform/history/drive.h"
#include "core/data/loc.h"
#include "core/edge/stack.h"
#include "core/edge/sync.h"
#include "core/time/clock.h"
#include "core/work/job.h"

#include <errno.h>
#include <fcntl.h>

#define RELOAD_PATIENCE INT64_C (10000000000) /* nanoseconds to wait for calls under way */

/* --- files of clients ------------------------------------------------------------------------- */

/* Calls fn for each open file of a client. */
static void
files_each (struct drive *drive, void (*fn) (struct drive *drive, struct actor_file *file,
                                             void *data), void *data)
{
    for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
        struct actor *actor = &drive->actors[i];

        for (unsigned n = 0; n < CLIENT_FDS; n++)
            if (actor->files[n].fd)
                fn (drive, &actor->files[n], data);
        if (actor->own.fd)
            fn (drive, &actor->own, data);
    }
}

struct file_search {
    const struct drive_old *old; /* the graph to be found, or NULL */
    const inode_t *inode;        /* the inode to be found, or NULL */
    struct drive_old *found;     /* old graph of the last file that was found */
};

static void
file_search (struct drive *drive, struct actor_file *file, void *data)
{
    struct file_search *search = data;

    if (file->old && (!search->old || file->old == search->old)
        && (!search->inode || file->fd->inode == search->inode))
        search->found = file->old;
}

struct drive_old *
drive_old_of (struct drive *drive, const inode_t *inode)
{
    struct file_search search = { .inode = inode };

    if (drive->olds->len > 0 && inode)
        files_each (drive, file_search, &search);
    return search.found;
}

/* --- the inodes ------------------------------------------------------------------------------- */

static struct client *
reload_client (const struct drive *drive, xlator_t *top)
{
    struct client *client = client_new_internal (&drive->xlator, top);

    client->lk_owner = UINT64_MAX;
    client->checked = true;
    return client;
}

struct reload_look {
    struct client *client;
    inode_t *inode;
};

static void reload_look_up (inode_t *inode, void *data);

/* Has the new graph look up an inode by a name. Another file may have the name by now. */
static void
reload_look_name (inode_t *parent, const char *name, void *data)
{
    const struct reload_look *look = data;
    loc_t loc = { .parent = parent, .name = name, .inode = look->inode };

    reload_look_up (parent, look->client);
    (void) sync_lookup (look->client, &loc, NULL, NULL);
    loc_wipe_path (&loc);
}

/* Has the new graph look up an inode, by all its names after the directories above it. data: a
 * client. */
static void
reload_look_up (inode_t *inode, void *data)
{
    struct reload_look look = { data, inode };
    loc_t loc = { .inode = inode };

    if (inode_is_detached (inode))
        return;
    inode_each_name (inode, reload_look_name, &look);
    (void) sync_lookup (data, &loc, NULL, NULL);
    loc_wipe_path (&loc);
}

/* --- the open files --------------------------------------------------------------------------- */

struct reload {
    struct drive_old *old;
    struct client *in_old, *in_fresh;
    GHashTable *fresh; /* struct actor_file -> fd_t in the new graph, with a reference */
    GHashTable *stay;  /* set of inode_t, whose open files stay in the old graph */
};

/* Has the old graph write what its translators keep of the file. */
static void
reload_flush (struct drive *drive, struct actor_file *file, void *data)
{
    const struct reload *reload = data;

    if (!file->old && file->fd->inode->ia_type == IA_IFREG
        && (file->fd->flags & O_ACCMODE) != O_RDONLY)
        (void) sync_flush (reload->in_old, file->fd, NULL, NULL);
}

static void
reload_open (struct drive *drive, struct actor_file *file, void *data)
{
    struct reload *reload = data;
    fd_t *fd = file->fd;
    const uint32_t flags = fd->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    loc_t loc = { .inode = fd->inode };
    int r = -EBUSY;

    if (file->old)
        return;
    g_autoptr (fd_t) fresh = fd_new (&drive->graph->fd_maker, fd->inode, flags, fd->pid);
    fresh->unflushed = fd->unflushed;
    if (!inode_is_detached (fd->inode)
        && __atomic_load_n (&fd->refs, __ATOMIC_RELAXED) == 1
        && !graph_holds_below (reload->old->graph, fd))
        r = fd->inode->ia_type == IA_IFDIR
              ? sync_opendir (reload->in_fresh, &loc, fresh, NULL, NULL)
              : sync_open (reload->in_fresh, &loc, flags, fresh, NULL, NULL);
    loc_wipe_path (&loc);
    if (r < 0)
        g_hash_table_add (reload->stay, fd->inode);
    else
        g_hash_table_insert (reload->fresh, file, g_steal_pointer (&fresh));
}

static void
reload_move_file (struct drive *drive, struct actor_file *file, void *data)
{
    struct reload *reload = data;
    fd_t *fresh = g_hash_table_lookup (reload->fresh, file);

    if (file->old)
        return;
    if (!fresh || g_hash_table_contains (reload->stay, file->fd->inode)) {
        file->old = reload->old;
        return;
    }
    fd_unref (file->fd);
    file->fd = fd_ref (fresh);
}

/* Has the new graph drop what its translators cached while it looked up and opened. */
static void
reload_drop_caches (const struct graph *fresh)
{
    struct invalidation all = { .what = INVALIDATE_ALL };

    for (guint i = 0; i < fresh->xlators->len; i++) {
        xlator_t *xl = fresh->xlators->pdata[i];

        if (!xl->children)
            xlator_pass_on (xl, XLATOR_INVALIDATE, &all);
    }
}

static void
reload_files (struct drive *drive, struct drive_old *old)
{
    struct reload reload = {
        .old = old,
        .in_old = reload_client (drive, old->top),
        .in_fresh = reload_client (drive, drive->child.xlator),
        .fresh = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) fd_unref),
        .stay = g_hash_table_new (NULL, NULL),
    };

    files_each (drive, reload_flush, &reload);
    itable_foreach (drive->graph->itable, reload_look_up, reload.in_fresh);
    files_each (drive, reload_open, &reload);
    graph_take_over (drive->graph);
    files_each (drive, reload_move_file, &reload);
    reload_drop_caches (drive->graph);
    g_hash_table_destroy (reload.fresh);
    g_hash_table_destroy (reload.stay);
    client_free (reload.in_old);
    client_free (reload.in_fresh);
}

/* --- the graphs ------------------------------------------------------------------------------- */

static void
reload_end_graph (struct drive *drive, struct graph *graph, GPtrArray *gates)
{
    const bool calm = drive->calm;

    drive->calm = true;
    if (graph->active)
        xlator_notify (graph->top, XLATOR_ENDING, NULL);
    graph_deactivate (graph);
    gates_remove (graph, gates);
    graph_free (graph);
    g_ptr_array_unref (gates);
    drive->calm = calm;
}

/* Starts a new graph, and makes it the present one. *old becomes the one of before. Returns 0, or a
 * negative errno: -ENFILE if as many old graphs as there may be have open files. */
static int
reload_begin_graph (struct drive *drive, struct drive_old *old)
{
    struct graph *fresh = drive->load (drive->load_data);
    int r;

    if (!fresh || !graph_join (fresh, drive->graph)) {
        graph_free (fresh);
        return fresh ? -ENFILE : -EINVAL;
    }
    *old = (struct drive_old){ drive->graph, drive->gates, drive->child.xlator };
    drive->graph = drive->xlator.graph = fresh;
    drive->gates = g_ptr_array_new ();
    gates_insert (drive);
    r = graph_activate (fresh);
    if (r == 0)
        return 0;
    reload_end_graph (drive, fresh, drive->gates);
    drive->graph = drive->xlator.graph = old->graph;
    drive->gates = old->gates;
    drive->child.xlator = old->top;
    return r;
}

void
reload_end_olds (struct drive *drive)
{
    for (guint i = drive->olds->len; i-- > 0;) {
        struct drive_old *old = drive->olds->pdata[i];
        struct file_search search = { .old = old };

        files_each (drive, file_search, &search);
        if (search.found || !stack_wait_for_end (STACKS_IDLE, 0))
            continue;
        drive_log (drive, "  an old graph ends");
        g_ptr_array_remove_index (drive->olds, i);
        reload_end_graph (drive, old->graph, old->gates);
        g_free (old);
    }
}

/* --- the command ------------------------------------------------------------------------------ */

/* Waits until no request is under way. New ones are held until reload_go_on. */
static bool
reload_hold (struct drive *drive)
{
    while (drive->held->len > 0)
        gate_release (drive, 0);
    sync_hold ();
    xlator_notify (drive->graph->top, XLATOR_HOLDING, NULL);
    jobs_pause ();
    return stack_wait_for_end (STACKS_IDLE, clock_now () + RELOAD_PATIENCE);
}

static void
reload_go_on (struct graph *held)
{
    jobs_go_on ();
    sync_go_on ();
    xlator_notify (held->top, XLATOR_HOLD_OVER, NULL);
}

int
drive_reload (struct drive *drive)
{
    struct graph *held = drive->graph;
    const bool calm = drive->calm;
    g_autofree struct drive_old *old = g_new0 (struct drive_old, 1);
    int r;

    drive->calm = true;
    drive->holding = false; /* the events below end a hold of drive.c, too */
    r = reload_hold (drive) ? reload_begin_graph (drive, old) : -EAGAIN;
    if (r == 0) {
        reload_files (drive, old);
        g_ptr_array_add (drive->olds, g_steal_pointer (&old));
    }
    reload_go_on (held);
    drive->calm = calm;
    return r;
}

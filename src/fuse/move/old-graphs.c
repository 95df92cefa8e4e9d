/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/move/old-graphs.h"

#include "core/work/job.h"
#include "fuse/move/hold.h"
#include "fuse/threads/interrupt.h"
#include "trace/metrics/numbers.h"

/* Maximum time in nanoseconds for which old_graph_close holds new requests of the kernel while it
 * waits until no thread handles an earlier request. */
#define PATIENCE 100000000

static GHashTable *
waiting_new (void)
{
    return g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL);
}

/* Returns those of the inodes that are with no older graph. */
static GHashTable *
waiting_in_present (struct bridge *bridge, GHashTable *waiting)
{
    GHashTable *present = waiting_new ();
    GHashTableIter at;
    gpointer inode;

    g_hash_table_iter_init (&at, waiting);
    while (g_hash_table_iter_next (&at, &inode, NULL))
        if (!old_graph_search (bridge, inode))
            g_hash_table_add (present, inode_ref (inode));
    return present;
}

static unsigned
old_graph_count_inodes (const struct old_graph *old)
{
    unsigned n = g_hash_table_size (old->inodes);
    GHashTableIter at;
    gpointer inode;

    g_hash_table_iter_init (&at, old->waiting);
    while (g_hash_table_iter_next (&at, &inode, NULL))
        n += !g_hash_table_contains (old->inodes, inode);
    return n;
}

unsigned
old_graph_new (struct bridge *bridge, GHashTable *inodes, GHashTable *waiting)
{
    struct old_graph *old = g_new0 (struct old_graph, 1);
    unsigned n;

    old->graph = bridge->graph;
    old->inodes = g_hash_table_ref (inodes);
    old->waiting = waiting_in_present (bridge, waiting);
    old->xlator = xlator_init ("fuse", bridge->xlator.api, old->graph, bridge);
    old->xlator.children = &old->child;
    old->xlator.ready = true;
    old->child.xlator = old->graph->top;
    old->parent.xlator = &old->xlator;
    old->graph->top->parents = &old->parent;
    n = old_graph_count_inodes (old);
    old->used = old->had_files = n > 0;
    bridge->old_graphs = g_slist_prepend (bridge->old_graphs, old);
    if (!old->used)
        return 0;
    old->next = bridge->old_used;
    __atomic_store_n (&bridge->old_used, old, __ATOMIC_RELAXED);
    return n;
}

/* Returns the old graph that has this struct graph, or NULL. The caller holds fds_lock, or is a
 * thread that handles a request. bridge->old_used does not change meanwhile: the main thread adds a
 * graph only while requests are held and no thread handles one. It removes a graph under fds_lock,
 * and either under the same conditions or after the unmount. */
static struct old_graph *
old_graph_of (const struct bridge *bridge, const struct graph *graph)
{
    struct old_graph *old = __atomic_load_n (&bridge->old_used, __ATOMIC_RELAXED);

    while (old && old->graph != graph)
        old = old->next;
    return old;
}

xlator_t *
bridge_entrance (struct bridge *bridge, const struct graph *graph)
{
    if (graph == bridge->graph)
        return &bridge->xlator;
    return graph == bridge->hidden.graph ? &bridge->hidden
                                         : &old_graph_of (bridge, graph)->xlator;
}

xlator_t *
old_graph_search (struct bridge *bridge, inode_t *inode)
{
    struct old_graph *old;

    pthread_mutex_lock (&bridge->fds_lock);
    old = bridge->old_used;
    while (old && !g_hash_table_contains (old->inodes, inode)
           && !g_hash_table_contains (old->waiting, inode))
        old = old->next;
    pthread_mutex_unlock (&bridge->fds_lock);
    return old ? &old->xlator : NULL;
}

void
old_graph_count_locked (struct bridge *bridge, fd_t *given, int by)
{
    const fd_t *fd = fd_now (given);
    const struct old_graph *old = G_LIKELY (!bridge->old_used) ? NULL
                                                             : old_graph_of (bridge, fd->data);
    guint n;

    if (G_LIKELY (!old))
        return;
    n = GPOINTER_TO_UINT (g_hash_table_lookup (old->inodes, fd->inode)) + (guint) by;
    if (n > 0)
        g_hash_table_insert (old->inodes, fd->inode, GUINT_TO_POINTER (n));
    else
        g_hash_table_remove (old->inodes, fd->inode);
}

/* --- the end of an old graph ------------------------------------------------------------------ */

static bool
old_graph_has_files (struct bridge *bridge, const struct old_graph *old)
{
    bool has;

    pthread_mutex_lock (&bridge->fds_lock);
    has = g_hash_table_size (old->inodes) > 0;
    pthread_mutex_unlock (&bridge->fds_lock);
    return has;
}

static void
old_graph_unlink (struct bridge *bridge, struct old_graph *old)
{
    struct old_graph **at = &bridge->old_used;

    pthread_mutex_lock (&bridge->fds_lock);
    while (*at && *at != old)
        at = &(*at)->next;
    if (*at)
        __atomic_store_n (at, old->next, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&bridge->fds_lock);
    old->used = false;
}

struct graph_search {
    const struct graph *graph;
    bool found;
};

/* Returns the graph in which the request is. Each request of the kernel to the present graph is
 * wound from bridge->xlator. A move changes the graph of that xlator_t while requests that wait for
 * locks stay in the old graph, so the frame below decides, as long as it is not answered. */
LOOKS_AT_RUNNING_REQUESTS static const struct graph *
request_graph (const call_stack_t *root)
{
    const call_frame_t *maker = &root->frames[0], *below = maker->slot;

    if (__atomic_load_n (&maker->wound, __ATOMIC_RELAXED)
        && __atomic_load_n (&below->awaited, __ATOMIC_ACQUIRE) < FRAME_COMPLETE && below->this)
        return below->this->graph;
    return maker->this->graph;
}

static void
graph_search_look (const call_stack_t *root, void *data)
{
    struct graph_search *search = data;

    search->found |= request_graph (root) == search->graph;
}

/* Returns whether a request is under way in the graph. Such a request may have no caller any more:
 * for example, a translator can answer a write at once, and make its own request for it later.
 * Also if an interrupt keeps a file of the graph, or a job of the graph works for requests to
 * another graph. */
static bool
graph_is_busy (struct bridge *bridge, const struct graph *graph)
{
    struct graph_search search = { .graph = graph };

    xlators_pin ();
    stack_foreach (graph_search_look, &search);
    xlators_unpin ();
    return search.found || jobs_are_owed (graph) || interrupt_has_file (bridge, graph);
}

/* The inodes without open files leave the old graph, as nothing is under way about them. */
static void
old_graph_empty_waiting (struct bridge *bridge, struct old_graph *old)
{
    g_autoptr (GHashTable) waiting = NULL; /* freed without the lock */

    pthread_mutex_lock (&bridge->fds_lock);
    waiting = old->waiting;
    old->waiting = waiting_new ();
    pthread_mutex_unlock (&bridge->fds_lock);
}

/* If no request uses the old graph, its inodes without open files leave it. If no open file uses it
 * either, removes it from bridge->old_used, so that no more requests enter it. Meanwhile new
 * requests are held. This function waits until no thread handles a request, but not until all
 * requests are answered: a request without an answer in another graph must not keep all callers
 * waiting. Returns whether the graph was removed from the list. */
static bool
old_graph_close (struct bridge *bridge, struct old_graph *old)
{
    hold_take_turn (bridge);
    if (hold_begin (bridge, clock_now () + PATIENCE) && !graph_is_busy (bridge, old->graph)) {
        old_graph_empty_waiting (bridge, old);
        if (!old_graph_has_files (bridge, old))
            old_graph_unlink (bridge, old);
    }
    hold_end (bridge);
    hold_give_turn (bridge);
    return !old->used;
}

/* Before it waits for the end of the graph: a job of the graph may wait for the turn. */
static void
old_graph_unlist (struct bridge *bridge, struct old_graph *old)
{
    hold_take_turn (bridge);
    bridge->old_graphs = g_slist_remove (bridge->old_graphs, old);
    hold_give_turn (bridge);
}

static void
old_graph_free (struct old_graph *old)
{
    graph_deactivate (old->graph);
    old->graph->top->parents = NULL;
    old->graph->top->gate = NULL;
    numbers_free (old->graph->xlators);
    graph_free (old->graph);
    g_hash_table_unref (old->inodes);
    g_hash_table_unref (old->waiting);
    g_free (old);
}

/* Ends and frees the old graph, unless an open file or a request still uses it. After the unmount
 * only requests that translators make by themselves can be under way, such as those of a heal:
 * graph_deactivate waits for them, so this function does not. */
static void
old_graph_end (struct bridge *bridge, struct old_graph *old)
{
    const bool had_files = old->had_files;

    /* old_graph_close holds the requests of all callers. So it is called only if it has something
     * to do, and no request uses the graph, since it would fail otherwise. */
    if (old->used && bridge->mounted
        && ((old_graph_has_files (bridge, old) && g_hash_table_size (old->waiting) == 0)
            || graph_is_busy (bridge, old->graph) || !old_graph_close (bridge, old)))
        return;
    if (!old->ending)
        xlator_notify (old->graph->top, XLATOR_ENDING, NULL);
    old->ending = true;
    if (bridge->mounted && graph_is_busy (bridge, old->graph))
        return;
    old_graph_unlink (bridge, old);
    old_graph_unlist (bridge, old);
    old_graph_free (old);
    if (had_files)
        gf_log (&bridge->xlator, GF_LOG_INFO, "no file uses the old graph any more; it has ended");
}

bool
bridge_end_old_graphs (struct bridge *bridge)
{
    for (GSList *at = bridge->old_graphs, *next; at; at = next) {
        next = at->next;
        old_graph_end (bridge, at->data);
    }
    return !bridge->old_graphs;
}

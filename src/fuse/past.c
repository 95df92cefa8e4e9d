/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The graphs that a mount has left: files that could not move with it use them until they are
 * closed. */
#include "fuse/past.h"

#include "trace/metrics/numbers.h"

#define PATIENCE 100000000 /* nanoseconds for threads that handle a request, while others wait */

void
past_new (struct bridge *bridge, GHashTable *inodes)
{
    struct past_graph *past = g_new0 (struct past_graph, 1);

    past->graph = bridge->graph;
    past->inodes = g_hash_table_ref (inodes);
    past->xlator = xlator_init ("fuse", bridge->xlator.api, past->graph, bridge);
    past->xlator.children = &past->child;
    past->xlator.ready = true;
    past->child.xlator = past->graph->top;
    past->parent.xlator = &past->xlator;
    past->graph->top->parents = &past->parent;
    past->entered = past->had_files = g_hash_table_size (inodes) > 0;
    bridge->before = g_slist_prepend (bridge->before, past);
    if (!past->entered)
        return;
    past->next = bridge->past;
    __atomic_store_n (&bridge->past, past, __ATOMIC_RELAXED);
}

/* The list changes only while no new request comes, under fds_lock: the caller is at the beginning
 * of a request, or has that lock. */
static struct past_graph *
past_of_graph (const struct bridge *bridge, const struct graph *graph)
{
    struct past_graph *past = __atomic_load_n (&bridge->past, __ATOMIC_RELAXED);

    while (past && past->graph != graph)
        past = past->next;
    return past;
}

xlator_t *
bridge_entrance (struct bridge *bridge, const struct graph *graph)
{
    if (graph == bridge->graph)
        return &bridge->xlator;
    return graph == bridge->hidden.graph ? &bridge->hidden
                                         : &past_of_graph (bridge, graph)->xlator;
}

xlator_t *
bridge_stays_slow (struct bridge *bridge, inode_t *inode)
{
    struct past_graph *past;

    pthread_mutex_lock (&bridge->fds_lock);
    past = bridge->past;
    while (past && !g_hash_table_contains (past->inodes, inode))
        past = past->next;
    pthread_mutex_unlock (&bridge->fds_lock);
    return past ? &past->xlator : NULL;
}

void
past_count_locked (struct bridge *bridge, fd_t *given, int by)
{
    const fd_t *fd = fd_now (given);
    const struct past_graph *past = G_LIKELY (!bridge->past) ? NULL
                                                             : past_of_graph (bridge, fd->data);
    guint n;

    if (G_LIKELY (!past))
        return;
    n = GPOINTER_TO_UINT (g_hash_table_lookup (past->inodes, fd->inode)) + (guint) by;
    if (n > 0)
        g_hash_table_insert (past->inodes, fd->inode, GUINT_TO_POINTER (n));
    else
        g_hash_table_remove (past->inodes, fd->inode);
}

static bool
past_has_files (struct bridge *bridge, const struct past_graph *past)
{
    bool has;

    pthread_mutex_lock (&bridge->fds_lock);
    has = g_hash_table_size (past->inodes) > 0;
    pthread_mutex_unlock (&bridge->fds_lock);
    return has;
}

static void
past_unlink (struct bridge *bridge, struct past_graph *past)
{
    struct past_graph **at = &bridge->past;

    pthread_mutex_lock (&bridge->fds_lock);
    while (*at && *at != past)
        at = &(*at)->next;
    if (*at)
        __atomic_store_n (at, past->next, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&bridge->fds_lock);
    past->entered = false;
}

struct search {
    const struct graph *graph;
    bool found;
};

LOOKS_AT_RUNNING_REQUESTS static void
look_for_graph (const call_stack_t *root, void *data)
{
    struct search *search = data;

    search->found |= root->frames[0].this->graph == search->graph;
}

/* Returns whether a request is under way in the graph, such as a write of a translator that was
 * answered before it was done. */
static bool
graph_is_busy (const struct graph *graph)
{
    struct search search = { .graph = graph };

    xlators_pin ();
    stack_foreach (look_for_graph, &search);
    xlators_unpin ();
    return search.found;
}

/* Lets no more requests enter it. Requests of other graphs go on: one that hangs must not keep all
 * callers waiting. */
static bool
past_close (struct bridge *bridge, struct past_graph *past)
{
    if (hold_begin (bridge, clock_now () + PATIENCE) && !past_has_files (bridge, past)
        && !graph_is_busy (past->graph))
        past_unlink (bridge, past);
    hold_end (bridge);
    return !past->entered;
}

static void
past_free (struct past_graph *past)
{
    graph_deactivate (past->graph);
    past->graph->top->parents = NULL;
    past->graph->top->gate = NULL;
    numbers_free (past->graph->xlators);
    graph_free (past->graph);
    g_hash_table_unref (past->inodes);
    g_free (past);
}

/* Returns whether it has been freed. After bridge_stop only translators' own requests can be under
 * way, such as a heal's; graph_deactivate waits for them. */
static bool
past_end (struct bridge *bridge, struct past_graph *past)
{
    const bool had_files = past->had_files;

    /* A hold keeps all callers waiting, so it is only tried where it can succeed. */
    if (past->entered && bridge->mounted
        && (past_has_files (bridge, past) || graph_is_busy (past->graph)
            || !past_close (bridge, past)))
        return false;
    if (!past->ending)
        xlator_notify (past->graph->top, XLATOR_ENDING, NULL);
    past->ending = true;
    if (bridge->mounted && graph_is_busy (past->graph))
        return false;
    past_unlink (bridge, past);
    past_free (past);
    if (had_files)
        gf_log (&bridge->xlator, GF_LOG_INFO,
                "no file uses the graph before any more; it has ended");
    return true;
}

bool
bridge_past_end (struct bridge *bridge)
{
    for (GSList *at = bridge->before, *next; at; at = next) {
        next = at->next;
        if (past_end (bridge, at->data))
            bridge->before = g_slist_delete_link (bridge->before, at);
    }
    return !bridge->before;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The graph that a mount has left: files that could not move with it use it until they are
 * closed. */
#include "fuse/internal.h"

#include "trace/metrics/numbers.h"

#define PATIENCE (10LL * 1000000000) /* nanoseconds for what is under way */

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
    bridge->before = past;
    if (g_hash_table_size (inodes) > 0)
        __atomic_store_n (&bridge->past, past, __ATOMIC_RELAXED);
}

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

/* Returns whether a request of the graph's own translators is under way, such as a write that was
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

bool
bridge_past_end (struct bridge *bridge)
{
    struct past_graph *past = bridge->before;

    if (!past)
        return true;
    if (bridge->past && bridge->mounted && !past_close (bridge))
        return false;
    if (!past->ending)
        xlator_notify (past->graph->top, XLATOR_ENDING, NULL);
    past->ending = true;
    if (graph_is_busy (past->graph))
        return false;
    bridge->past = bridge->before = NULL;
    past_free (past);
    return true;
}

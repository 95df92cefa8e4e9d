/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph of one translator, which belongs to the program and is in no volfile. */
#include "graph/internal.h"

#include <string.h>

#define INODE_LIMIT 256 /* inodes kept without references */

struct graph *
graph_of_one (const struct xlator_api *api, const char *name, void *private)
{
    struct graph *graph = g_new0 (struct graph, 1);
    xlator_t *xl = g_new0 (xlator_t, 1);
    int r;

    graph->volfile = volfile_parse (name, "", 0); /* gives messages a name */
    graph->xlators = g_ptr_array_new ();
    graph->top = xl;
    pthread_mutex_init (&graph->settings_lock, NULL);
    *xl = xlator_init (graph->volfile->path, api, graph, private); /* the path outlives xl */
    xl->settings = g_ptr_array_new_with_free_func ((GDestroyNotify) setting_free);
    g_ptr_array_add (graph->xlators, xl);
    graph_wire (graph, INODE_LIMIT);
    itable_set_beside (graph->itable);
    r = graph_activate (graph);
    g_assert (r == 0); /* this translator has no init that could fail */
    return graph;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts a translator of the program's own on every edge of a loaded graph, and above its top. */
#include "graph/internal.h"

static xlator_t *
splice_new (struct graph *graph, const struct xlator_api *api, xlator_t *below)
{
    xlator_t *xl = g_new0 (xlator_t, 1);
    g_autofree char *name = g_strdup_printf ("above-%s", below->name);

    /* A name must live as long as the graph; an interned one is never freed. */
    *xl = xlator_init (g_intern_string (name), api, graph, g_malloc0 (MAX (api->priv_size, 1)));
    xl->line = below->line;
    xl->column = below->column;
    xl->realm = below->realm;
    xl->fd_maker = below->fd_maker;
    xl->settings = g_ptr_array_new_with_free_func ((GDestroyNotify) setting_free);
    xl->children = g_new0 (xlator_list_t, 1);
    xl->children->xlator = below;
    return xl;
}

/* Puts a new translator on the edge from a parent to xl. up: the entry of xl's parents. */
static void
splice_edge (struct graph *graph, const struct xlator_api *api, xlator_t *xl, xlator_list_t *up,
             GPtrArray *all)
{
    xlator_t *parent = up->xlator, *between = splice_new (graph, api, xl);
    xlator_list_t *down = parent->children;

    while (down->xlator != xl)
        down = down->next;
    down->xlator = between;
    between->parents = g_new0 (xlator_list_t, 1);
    between->parents->xlator = parent;
    up->xlator = between;
    g_ptr_array_add (all, between);
}

void
graph_splice (struct graph *graph, const struct xlator_api *api)
{
    GPtrArray *all = g_ptr_array_new ();
    xlator_t *top = splice_new (graph, api, graph->top);
    xlator_list_t *above = g_new0 (xlator_list_t, 1);

    g_assert (!graph->active);
    g_ptr_array_add (all, top);
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        for (xlator_list_t *up = xl->parents; up; up = up->next)
            splice_edge (graph, api, xl, up, all);
        g_ptr_array_add (all, xl);
    }
    above->xlator = top;
    graph->top->parents = above;
    graph->top = top;
    g_ptr_array_unref (graph->xlators);
    graph->xlators = all;
    for (guint i = 0; i < all->len; i++)
        ((xlator_t *) all->pdata[i])->number = (int) i;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts a loaded graph, children first, and stops it, parents first. */
#include "graph/internal.h"

#include "core/realm/passthrough.h"
#include "core/realm/realm.h"
#include "core/time/attempt.h"

#include <errno.h>

/* --- roots ---------------------------------------------------------------------------------- */

static void
xlator_open_roots (xlator_t *xl)
{
    struct graph *graph = xl->graph;

    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];

        if (setting->option->root && setting->text)
            g_ptr_array_add (graph->uses, roots_use (graph->roots, setting->text));
    }
}

static void
graph_open_roots (struct graph *graph)
{
    graph->uses = g_ptr_array_new_with_free_func ((GDestroyNotify) root_leave);
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        xl->roots = graph->roots;
        if (xl->settings)
            xlator_open_roots (xl);
    }
}

/* --- start and stop ------------------------------------------------------------------------- */

static int
xlator_start (xlator_t *xl)
{
    g_autofree char *reason = NULL;
    int r = 0;

    /* Even after a failed init fini is called. */
    __atomic_store_n (&xl->ready, true, __ATOMIC_RELAXED);
    if (xl->api->take_over_prepare)
        r = xl->api->take_over_prepare (xl, xl->predecessor);
    if (r == 0 && xl->api->init)
        r = xl->api->init (xl);
    if (r == 0)
        return 0;
    reason = r < 0 ? attempt_reason (-r) : g_strdup ("unknown error");
    gf_log (xl, GF_LOG_ERROR, "volume '%s' of type '%s' (%s:%d:%d) could not be started: %s",
            xl->name, xl->type, xl->graph->volfile->path, xl->line, xl->column, reason);
    return r < 0 ? r : -EINVAL;
}

/* Frees the inodes before the translators end, since translators have to free their contexts. */
static void
graph_stop (struct graph *graph)
{
    graph_leave_tables (graph);
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (xl->ready && xl->api->fini)
            xl->api->fini (xl);
        xl->ready = false;
    }
    g_clear_pointer (&graph->uses, g_ptr_array_unref);
}

static void
graph_announce (struct graph *graph)
{
    for (guint i = graph->xlators->len; i-- > 0;) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (!xl->children)
            xlator_notify (xl, XLATOR_CHILD_UP, NULL);
    }
    xlator_notify (graph->top, XLATOR_PARENT_UP, NULL);
}

/* Ends those that have begun, and then the one whose init has failed. Some have files open in a
 * table of theirs, which they close at PARENT_DOWN. */
static void
graph_give_up (struct graph *graph, xlator_t *failed)
{
    failed->ready = false; /* it gets no event */
    xlator_notify (graph->top, XLATOR_PARENT_DOWN, NULL);
    failed->ready = true;
    graph_stop (graph);
}

int
graph_activate (struct graph *graph)
{
    static unsigned graphs; /* graphs since the process began; log lines contain the number */
    int r = 0;

    g_assert (graph->top && graph->itable && !graph->active);
    graph->id = __atomic_fetch_add (&graphs, 1, __ATOMIC_RELAXED);
    for (guint i = graph->xlators->len; i-- > 0;)
        xlator_route (graph->xlators->pdata[i]);
    graph_open_roots (graph);
    for (guint i = graph->xlators->len; r == 0 && i-- > 0;) {
        r = xlator_start (graph->xlators->pdata[i]);
        if (r < 0)
            graph_give_up (graph, graph->xlators->pdata[i]);
    }
    if (r < 0)
        return r;
    graph->active = true;
    if (!graph->joined)
        graph_take_over (graph);
    graph->sees_names = passthrough_sees_names (graph->top);
    graph_announce (graph);
    return 0;
}

void
graph_take_over (struct graph *graph)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (xl->slots && xl->predecessor)
            realm_succeed (xl->predecessor, xl);
        if (xl->api->take_over)
            xl->api->take_over (xl, xl->predecessor);
        xl->predecessor = NULL;
    }
}

void
graph_set_loglevel (struct graph *graph, gf_loglevel_t level)
{
    log_set_level (level);
    for (guint i = graph->xlators->len; i-- > 0;)
        xlator_route (graph->xlators->pdata[i]);
}

void
graph_deactivate (struct graph *graph)
{
    if (graph->active)
        xlator_notify (graph->top, XLATOR_PARENT_DOWN, NULL);
    graph->active = false;
    xlators_wait_unpinned ();
    graph_stop (graph);
}

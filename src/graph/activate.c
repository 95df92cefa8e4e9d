/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts a loaded graph, children first, and stops it, parents first. */
#include "graph/internal.h"

#include "core/base/audit.h"
#include "core/edge/passthrough.h"
#include "core/time/attempt.h"

#include <errno.h>
#include <string.h>

/* --- inodes and fds ------------------------------------------------------------------------- */

static void
graph_forget (inode_t *inode, void *data)
{
    const struct graph *graph = data;

    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (!__atomic_load_n (&xl->ready, __ATOMIC_RELAXED) || xl->inode_slot < 0
            || !inode_ctx_get (inode, xl))
            continue;
        if (xl->api->cbks.forget)
            xl->api->cbks.forget (xl, inode);
        else if (G_UNLIKELY (audit) && audit->context_left)
            audit->context_left (xl, "forget", inode_ctx_get (inode, xl));
    }
}

static void
graph_release (fd_t *fd, void *data)
{
    const struct graph *graph = data;
    const bool directory = fd->inode && fd->inode->ia_type == IA_IFDIR;

    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];
        const struct xlator_cbks *cbks = xl->ready ? &xl->api->cbks : NULL;

        if (cbks && directory && cbks->releasedir)
            cbks->releasedir (xl, fd);
        else if (cbks && !directory && cbks->release)
            cbks->release (xl, fd);
        else if (G_UNLIKELY (audit) && audit->context_left && cbks && xl->fd_slot >= 0
                 && fd_ctx_get (fd, xl))
            audit->context_left (xl, directory ? "releasedir" : "release", fd_ctx_get (fd, xl));
    }
}

/* xlators is ordered from the top down: the parents are done before their children. */
static unsigned
wants_of_parents (const xlator_t *xl)
{
    unsigned wants = 0;

    for (const xlator_list_t *parent = xl->parents; parent; parent = parent->next)
        wants |= parent->xlator->api->wants | parent->xlator->wants_above;
    return wants;
}

/* Assigns slots. Returns how many contexts an inode needs. */
static unsigned
slots_assign (struct graph *graph)
{
    unsigned inode_keepers = 0, fd_keepers = 0;

    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];
        const struct xlator_cbks *cbks = &xl->api->cbks;

        xl->wants_above = wants_of_parents (xl);
        if (xl->api->wants & WANTS_INODE || cbks->forget)
            xl->inode_slot = INODE_SLOT (graph->in_itable, inode_keepers++);
        if (xl->api->wants & WANTS_FD || cbks->release || cbks->releasedir)
            xl->fd_slot = fd_keepers++;
    }
    graph->fd_maker =
        (struct fd_maker){ .keepers = fd_keepers, .release = graph_release, .data = graph };
    for (guint i = 0; i < graph->xlators->len; i++)
        ((xlator_t *) graph->xlators->pdata[i])->fd_maker = &graph->fd_maker;
    return inode_keepers;
}

void
graph_wire (struct graph *graph, size_t inode_limit)
{
    graph->itable = itable_new (slots_assign (graph), inode_limit, graph_forget, graph);
}

/* The api of a module that was replaced on the disk has another address. */
static xlator_t *
xlator_predecessor (const xlator_t *xl, const struct graph *active)
{
    for (guint i = 0; i < active->xlators->len; i++) {
        xlator_t *before = active->xlators->pdata[i];

        if (strcmp (before->name, xl->name) == 0 && before->api == xl->api)
            return before;
    }
    return NULL;
}

bool
graph_join (struct graph *fresh, struct graph *active)
{
    const int number = itable_spare (active->itable);

    g_assert (!fresh->active && active->active);
    if (number < 0)
        return false;
    fresh->in_itable = (unsigned) number;
    itable_join (active->itable, fresh->in_itable, slots_assign (fresh), graph_forget, fresh);
    itable_destroy (fresh->itable);
    fresh->itable = active->itable;
    roots_unref (fresh->roots);
    fresh->roots = roots_ref (active->roots);
    fresh->joined = true;
    for (guint i = 0; i < fresh->xlators->len; i++) {
        xlator_t *xl = fresh->xlators->pdata[i];

        xl->predecessor = xlator_predecessor (xl, active);
    }
    return true;
}

/* --- roots ---------------------------------------------------------------------------------- */

static void
xlator_open_roots (xlator_t *xl)
{
    struct graph *graph = xl->graph;

    xl->roots = graph->roots;
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
    for (guint i = 0; i < graph->xlators->len; i++)
        if (((xlator_t *) graph->xlators->pdata[i])->settings)
            xlator_open_roots (graph->xlators->pdata[i]);
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
    if (graph->itable)
        itable_leave (g_steal_pointer (&graph->itable), graph->in_itable);
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
    for (guint i = graph->xlators->len; r == 0 && i-- > 0;)
        r = xlator_start (graph->xlators->pdata[i]);
    if (r < 0) {
        graph_stop (graph);
        return r;
    }
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

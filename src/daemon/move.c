/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A volfile with another shape, or other options that a running graph can't take over: a new graph
 * is made beside the present one, and the mount moves to it (fuse/move/move.c). The main thread
 * does all of it, so the daemon answers no command and sees no signal meanwhile.
 */
#include "daemon/daemon.h"

#include "meta/meta.h"
#include "trace/functions/functions.h"
#include "trace/metrics/numbers.h"
#include "trace/probes.h"
#include "trace/swallowed.h"
#include "trace/timeline/timeline.h"

#include <errno.h>

#define LOOK_AGAIN 2 /* seconds after which it is seen whether the old graph is still used */

struct moving {
    struct running *running;
    struct graph *fresh;
};

/* What watched the old graph watches the new one. No request runs. */
static void
watch_fresh (struct graph *old, struct graph *fresh)
{
    if (numbers_set_for (old->xlators, NUMBERS_SET))
        numbers_set (fresh->xlators, NUMBERS_SET, true);
    if (swallowed_is_on (old->xlators))
        swallowed_set (fresh->xlators, true);
    probes_end ();
    probes_begin (fresh->xlators);
    timeline_move (fresh->xlators);
    functions_move (fresh->xlators);
}

static void
moved (void *data)
{
    const struct moving *moving = data;
    struct running *running = moving->running;

    watch_fresh (running->graph, moving->fresh);
    if (running->meta)
        meta_move (running->meta, moving->fresh);
    if (running->control)
        control_set_graph (running->control, moving->fresh);
    running->graph = *running->program_graph = moving->fresh;
}

static gboolean
look_again (gpointer data)
{
    struct running *running = data;

    if (!bridge_end_old_graphs (running->bridge))
        return G_SOURCE_CONTINUE;
    running->old_graphs = 0;
    return G_SOURCE_REMOVE;
}

void
move_end (struct running *running)
{
    if (running->old_graphs)
        g_source_remove (running->old_graphs);
    running->old_graphs = 0;
}

static int
start_fresh (const struct running *running, struct graph *fresh, GString *answer)
{
    g_autofree char *error = NULL;
    int r;

    if (!graph_join (fresh, running->graph)) {
        g_string_append_printf (answer,
                                "the new shape has to wait: files that have been open since before "
                                "still use %d old graphs\n",
                                ITABLE_GRAPHS - 1);
        return -EAGAIN;
    }
    r = mountpoint_check_roots (fresh, running->mountpoint, &error);
    if (r < 0) {
        g_string_append_printf (answer, "%s\n", error);
        return r;
    }
    r = graph_activate (fresh);
    if (r < 0) {
        g_string_append (answer, "the new graph could not be started; the log has the reason\n");
        return r;
    }
    if (__atomic_load_n (&fresh->top->up, __ATOMIC_RELAXED))
        return 0;
    g_string_append (answer, "the new shape has to wait: what is below is not available; the log "
                             "has the reason\n");
    return -EAGAIN;
}

int
running_move (struct running *running, struct graph *fresh, GString *answer)
{
    struct moving moving = { running, fresh };
    int r = start_fresh (running, fresh, answer);

    running_end_lease (running);
    if (r == 0)
        r = bridge_move (running->bridge, fresh, moved, &moving, answer);
    if (r < 0) {
        g_string_append (answer, "nothing was changed\n");
        if (r != -ETIMEDOUT) /* else calls in it may still be under way */
            graph_free (fresh);
    } else if (!bridge_end_old_graphs (running->bridge) && !running->old_graphs) {
        running->old_graphs = g_timeout_add_seconds (LOOK_AGAIN, look_again, running);
    }
    return r;
}

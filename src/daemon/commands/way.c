/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The translators that a request reaches, as explain and inflight print them: "fuse -> a -> [b, c]"
 * where a has several children. */
#include "daemon/daemon.h"

#include "core/base/printable.h"

#define STEPS_MAX 64 /* of a way through the graph */

static void
way_append_from (GString *out, const struct way_step *steps, unsigned n, unsigned at)
{
    unsigned children = 0, begun = 0;

    line_append (out, steps[at].xl->name, 256);
    for (unsigned i = at + 1; i < n; i++)
        children += steps[i].parent == at;
    for (unsigned i = at + 1; i < n; i++) {
        if (steps[i].parent != at)
            continue;
        g_string_append (out, begun ? ", " : children > 1 ? " -> [" : " -> ");
        begun++;
        way_append_from (out, steps, n, i);
    }
    if (children > 1)
        g_string_append_c (out, ']');
}

void
way_append (GString *out, const struct way_step *steps, unsigned n, unsigned more)
{
    way_append_from (out, steps, n, 0);
    if (more)
        g_string_append_printf (out, " and %u more", more);
}

/* The first translator at or below xl that implements the operation. */
static const xlator_t *
way_first (const xlator_t *xl, enum fop op)
{
    switch (op) {
#define FOP(name)                                                                                  \
    case FOP_##name:                                                                               \
        return xl->routes.name.to;
#include "fops.def"
    default:
        return xl;
    }
}

void
way_of (const struct graph *graph, enum fop op, GString *out)
{
    struct way_step steps[STEPS_MAX] = { { way_first (graph->top, op), 0 } };
    unsigned n = 1, more = 0;

    for (unsigned at = 0; at < n; at++)
        for (const xlator_list_t *child = steps[at].xl->children; child; child = child->next) {
            if (n == STEPS_MAX)
                more++;
            else
                steps[n++] = (struct way_step){ way_first (child->xlator, op), at };
        }
    g_string_append (out, "fuse -> ");
    way_append (out, steps, n, more);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Routes: where a wind lands. Events: what translators tell each other along the graph. */
#include "core/translator.h"
#include "core/fops-rows.h"
#include "core/frame.h"

#include <errno.h>

/* What the lowest translator answers where nobody implements an operation. */
#define DECLARE(kind, name) , C_##kind name
#define NOTHING(kind, name) , (C_##kind) 0
#define UNSUPPORTED(name)                                                                          \
    static void unsupported_##name (call_frame_t *frame, xlator_t *this FOP_ARGS_##name (DECLARE)) \
    {                                                                                              \
        STACK_UNWIND (name, frame, -1, ENOSYS FOP_RETS_##name (NOTHING));                          \
    }
FOP_LIST (UNSUPPORTED)

static bool
xlator_is_watched (const xlator_t *xl)
{
    return log_wants (xl, GF_LOG_TRACE);
}

/* The translator's own function, whoever watches. */
#define OWN(name)                                                                                  \
    name##_fop *xlator_own_##name (const xlator_t *xl);                                            \
    name##_fop *xlator_own_##name (const xlator_t *xl)                                             \
    {                                                                                              \
        if (xl->api->fops.name)                                                                    \
            return xl->api->fops.name;                                                             \
        return xl->api->every ? every_##name : unsupported_##name;                                 \
    }
FOP_LIST (OWN)

void
xlator_route (xlator_t *xl)
{
    const struct xlator_routes *below = xl->children ? &FIRST_CHILD (xl)->routes : NULL;
    bool watched = xlator_is_watched (xl);

#define ROUTE(name)                                                                                \
    if (below && (xl->pass_through || (!xl->api->fops.name && !xl->api->every))) {                 \
        xl->routes.name.to = below->name.to;                                                       \
        __atomic_store_n (&xl->routes.name.call, below->name.call, __ATOMIC_RELAXED);              \
    } else {                                                                                       \
        name##_fop *own = xlator_own_##name (xl);                                                  \
        xl->routes.name.to = xl;                                                                   \
        __atomic_store_n (&xl->routes.name.call, watched ? watched_##name : own,               \
                          __ATOMIC_RELAXED);                                                       \
    }
    FOP_LIST (ROUTE)
}

static void
route_upwards (xlator_t *xl)
{
    xlator_route (xl);
    for (xlator_list_t *parent = xl->parents; parent; parent = parent->next)
        route_upwards (parent->xlator);
}

void
xlator_set_loglevel (xlator_t *xl, gf_loglevel_t level)
{
    __atomic_store_n (&xl->loglevel, level, __ATOMIC_RELAXED);
    route_upwards (xl);
}

void
xlator_notify (xlator_t *xl, enum xlator_event event, void *data)
{
    if (xl->api && xl->api->notify && xl->ready)
        xl->api->notify (xl, event, data);
    else
        xlator_pass_on (xl, event, data);
}

void
xlator_pass_on (xlator_t *xl, enum xlator_event event, void *data)
{
    bool down = event != XLATOR_CHILD_UP && event != XLATOR_CHILD_DOWN;

    for (xlator_list_t *next = down ? xl->children : xl->parents; next; next = next->next)
        xlator_notify (next->xlator, event, data);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entries in the routes of a graph's top whose operations have limits. */
#include "core/table/fops-rows.h"
#include "core/edge/frame.h"
#include "core/work/limit.h"
#include "core/edge/translator.h"
#include "core/edge/watch.h"

/* Finds the gate above: routes lead down first children. */
static struct limit *
limit_of (const xlator_t *this, enum fop op)
{
    while (!this->gate)
        this = this->parents->xlator;
    return ((const struct limits *) this->gate)->of[op];
}

/* this implements the operation, or is watched. */
#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name
#define LIMITED(name)                                                                              \
    name##_fop *xlator_own_##name (const xlator_t *xl);                                            \
    static void UNTRACED limited_##name (call_frame_t *frame,                                      \
                                         xlator_t *this FOP_ARGS_##name (DECLARE))                 \
    {                                                                                              \
        struct limit *const limit = limit_of (this, FOP_##name);                                   \
        const bool watched = __atomic_load_n (&this->watchers, __ATOMIC_RELAXED);                  \
        name##_fop *fn = watched ? watched_##name : xlator_own_##name (this);                      \
        struct limit_turn turn;                                                                    \
                                                                                                   \
        if (G_LIKELY (limit_enter (limit, &turn))) {                                               \
            fn (frame, this FOP_ARGS_##name (NAME));                                               \
            limit_leave (&turn);                                                                   \
        } else {                                                                                   \
            limit_wait (limit, frame, fop_##name##_stub (frame, fn FOP_ARGS_##name (NAME)));       \
        }                                                                                          \
    }
FOP_LIST (LIMITED)

#define ROW(name) .name = limited_##name,
const struct xlator_fops limited_fops = { FOP_LIST (ROW) };

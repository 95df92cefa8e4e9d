/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The number of operations that run at a time, by class. */
#ifndef WINDLASS_FUSE_THREADS_LIMITS_H
#define WINDLASS_FUSE_THREADS_LIMITS_H

#include "core/work/limit.h"
#include "fuse/settings.h"

/* The limits of a bridge. Constant. */
struct bridge_limits {
    struct limits routes; /* the gate for winds to the graph */
    struct limit *classes[LIMIT_CLASSES];
};

void limits_begin (struct bridge *bridge);
/* No more requests may come. Waits until a time of clock_now for operations that wait for a limit
 * or run on core/work. Returns whether none is left. */
bool limits_stop (struct bridge *bridge, int64_t until);
void limits_end (struct bridge *bridge);
void limits_dump (const struct bridge *bridge, GString *out);
void limits_explain (const struct bridge *bridge, GString *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Listening on the edge. Whoever wants to see winds and unwinds is a struct watcher; src/trace has
 * those that the program comes with. A wind to a translator that somebody watches goes through
 * watched_FOP (watch.c), which its routes lead to for so long; all others don't know of it.
 *
 *   static const struct watcher my_watcher = { .name = "mine", .wind = my_wind, .unwind = my_unwind
 *       };
 *   watch_set (graph->xlators, &my_watcher, true);
 *
 * Each wind that a watcher was told of is followed by its unwind, sooner or later, on whatever
 * thread; also when the watcher was switched off meanwhile. A translator that hands a request on
 * with STACK_WIND_TAIL is answered for at the same moment as the one it handed it to, right after
 * that one.
 *
 * wind and unwind run on the path of requests, on any thread and on several at once: no lock that
 * somebody holds for long, no wind of their own. A scheduler's clock, if there is one, is what
 * ticks come from.
 */
#ifndef WINDLASS_CORE_EDGE_WATCH_H
#define WINDLASS_CORE_EDGE_WATCH_H

#include "core/edge/any-fop.h"
#include "core/edge/frame.h"
#include "core/time/ticks.h"

/* windlass trace watches edges itself to know which requests are meant
 * (src/trace/functions/gate.c); it doesn't show that it does. */
#define UNTRACED __attribute__ ((patchable_function_entry (0, 0)))

/* What is told. Lent; what isn't marked is there in both. */
struct watch_event {
    uint64_t ticks; /* when it happened */
    call_frame_t *frame; /* the callee's. After the unwind it may become another's at any moment */
    const xlator_t *caller, *callee;
    enum fop op;
    const struct call_site *site; /* of the wind, or of the unwind; it may be NULL with a frame from
                                     a test */
    bool tail;                    /* the caller handed its own request on */

    const struct call *call;      /* wind, for a watcher with wants_call */

    uint64_t begin;               /* unwind: ticks of the wind, */
    /* and how many of those since the callee's own children took. Children that ran side by side
     * count each, so it may be more than there were */
    uint64_t below;
    int32_t op_ret, op_errno;     /* unwind */
    const struct answer *answer;  /* unwind, for a watcher with wants_answer */
};

struct watcher {
    const char *name;
    bool wants_call, wants_answer; /* costs some nanoseconds more for each edge */
    void (*wind) (const struct watch_event *event); /* NULL: it is told of unwinds alone */
    void (*unwind) (const struct watch_event *event);
};

#define WATCHERS_MAX 16

/* Has all those translators watched, which are ordered as graph->xlators is, parents first; or no
 * longer. Any time, on any thread; what is under way stays as it is. A watcher lives for ever. */
void watch_set (GPtrArray *xlators, const struct watcher *watcher, bool on);

/* One of them alone. Its parents must have been routed. */
void watch_set_one (xlator_t *xl, const struct watcher *watcher, bool on);

/* Is it watched? */
bool watch_is_on (const xlator_t *xl, const struct watcher *watcher);

#endif

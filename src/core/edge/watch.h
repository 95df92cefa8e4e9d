/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watching the edge. A struct watcher is told of winds and unwinds; src/trace has the watchers of
 * the program. A wind to a watched translator goes through watched_FOP (watch.c), which the routes
 * lead to while the translator is watched. Other winds are not affected.
 *
 *   static const struct watcher my_watcher = { .name = "mine", .wind = my_wind,
 *                                              .unwind = my_unwind };
 *   watch_set (graph->xlators, &my_watcher, true);
 *
 * Each reported wind is followed by a report of its unwind, on any thread, even if the watcher was
 * switched off meanwhile. When a translator hands a request on with STACK_WIND_TAIL, the unwinds of
 * both translators are reported at the same moment, the callee's first.
 *
 * wind and unwind run on the path of requests, on any thread and on several threads at once. They
 * take no lock that another thread may hold for long, and they don't wind. If a scheduler is
 * installed, ticks come from its clock.
 */
#ifndef WINDLASS_CORE_EDGE_WATCH_H
#define WINDLASS_CORE_EDGE_WATCH_H

#include "core/edge/any-fop.h"
#include "core/edge/frame.h"
#include "core/time/ticks.h"

/* Excludes a function from `windlass trace`, which watches edges itself to select requests
 * (src/trace/functions/gate.c) and doesn't show its own work. */
#define UNTRACED __attribute__ ((patchable_function_entry (0, 0)))

/* A report, lent for the call. Fields without a note are set for winds and for unwinds. */
struct watch_event {
    uint64_t ticks; /* when the wind or unwind happened */
    call_frame_t *frame; /* the callee's. After the unwind another request may use it at any
                          * moment */
    const xlator_t *caller, *callee;
    enum fop op;
    const struct call_site *site; /* of the wind, or of the unwind; may be NULL for a frame that a
                                   * test made */
    bool tail;                    /* the caller handed its own request on */

    const struct call *call;      /* wind, for a watcher with wants_call */

    uint64_t begin;               /* unwind: ticks of the wind */
    /* Unwind: ticks since begin that the callee's own children took. Children that ran side by side
     * each count, so this may exceed the elapsed time. */
    uint64_t below;
    int32_t op_ret, op_errno;     /* unwind */
    const struct answer *answer;  /* unwind, for a watcher with wants_answer */
};

struct watcher {
    const char *name;
    bool wants_call, wants_answer; /* each costs some nanoseconds more for each edge */
    void (*wind) (const struct watch_event *event); /* NULL: the watcher is told only of unwinds */
    void (*unwind) (const struct watch_event *event);
};

#define WATCHERS_MAX 16

/* Starts or stops watching of all these translators, which are ordered as graph->xlators is,
 * parents first. Call it at any time, on any thread; requests under way are not affected. A watcher
 * is never freed. */
void watch_set (GPtrArray *xlators, const struct watcher *watcher, bool on);

/* The same for one translator. Its parents must have routes already. */
void watch_set_one (xlator_t *xl, const struct watcher *watcher, bool on);

/* Returns whether watcher watches xl. */
bool watch_is_on (const xlator_t *xl, const struct watcher *watcher);

#endif

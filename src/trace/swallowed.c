/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/swallowed.h"
#include "core/report/failures.h"
#include "core/edge/stack.h"
#include "core/edge/watch.h"

static bool
swallowed_is_notable (const call_frame_t *frame)
{
    return __atomic_load_n (&frame->awaited, __ATOMIC_ACQUIRE) >= FRAME_COMPLETE && frame->failed
           && failure_is_notable (frame->op, frame->op_errno);
}

/* The children of a frame that has just answered still have their results. */
static bool
has_failed_child (const call_frame_t *frame)
{
    if (frame->slot && __atomic_load_n (&frame->wound, __ATOMIC_RELAXED)
        && swallowed_is_notable (frame->slot))
        return true;
    for (const struct strand *s = frame->root->strands; s; s = s->next)
        if (s->frames[0].parent == frame && swallowed_is_notable (&s->frames[0]))
            return true;
    return false;
}

static void
wind (const struct watch_event *event)
{
}

static void
unwind (const struct watch_event *event)
{
    if (event->op_ret >= 0 && !event->tail && has_failed_child (event->frame))
        failure_note_frame (event->frame, 0);
}

static const struct watcher swallowed_watcher = { .name = "swallowed",
                                                  .wind = wind,
                                                  .unwind = unwind };

void
swallowed_set (GPtrArray *xlators, bool on)
{
    watch_set (xlators, &swallowed_watcher, on);
}

bool
swallowed_is_on (GPtrArray *xlators)
{
    return xlators->len && watch_is_on (xlators->pdata[0], &swallowed_watcher);
}

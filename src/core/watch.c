/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watched edges. xlator_route puts watched_FOP in the place of a watched translator's fop: it tells who watches of the wind, puts
 * itself between the answer and the callback, and calls on. For gdb these are frames like any other: skipping them would make
 * `step` run over what they call.
 *
 * What is kept meanwhile is in the frame itself (struct frame_watch), so that watching takes no lock and no memory. A frame that
 * has answered belongs to its parent again, which may wind from it on another thread: so it is marked as watched
 * until it has been read, and frame_push_again leaves it alone for so long.
 */
#include "core/watch.h"
#include "core/fops-rows.h"
#include "core/see.h"
#include "core/stack.h"

#include <errno.h>

static const struct watcher *watchers[WATCHERS_MAX]; /* set once each, under routes_lock; [0] is the log */

/* --- who watches ---------------------------------------------------------------------------- */

static void
log_wind (const struct watch_event *event)
{
    const struct call_site *site = event->site;
    g_autoptr (GString) line = g_string_new (NULL);

    g_string_append_printf (line, "%" G_GUINT64_FORMAT ": %s %s -> %s: ", event->frame->root->unique, fop_name (event->op),
                            event->caller->name, event->callee->name);
    call_print (event->call, line);
    log_line (GF_LOG_TRACE, event->callee, site->file, site->line, site->function, "%s", line->str);
}

static void
log_unwind (const struct watch_event *event)
{
    const struct call_site *site = event->site;
    g_autoptr (GString) line = g_string_new (NULL);

    g_string_append_printf (line, "%" G_GUINT64_FORMAT ": %s %s <- %s: op_ret=%d", event->frame->root->unique,
                            fop_name (event->op), event->caller->name, event->callee->name, event->op_ret);
    if (event->op_ret < 0)
        g_string_append_printf (line, ", op_errno=%d (%s)", event->op_errno, g_strerror (event->op_errno));
    else
        answer_print (event->answer, line);
    log_line (GF_LOG_TRACE, event->callee, site->file, site->line, site->function, "%s", line->str);
}

const struct watcher watch_log = {
    .name = "log", .wants_call = true, .wants_answer = true, .wind = log_wind, .unwind = log_unwind
};

unsigned
watch_bit_locked (const struct watcher *watcher)
{
    unsigned i = 0;

    while (i < WATCHERS_MAX && watchers[i] && watchers[i] != watcher)
        i++;
    g_assert (i < WATCHERS_MAX);
    __atomic_store_n (&watchers[i], watcher, __ATOMIC_RELEASE);
    return 1u << i;
}

/* Does one of them want the arguments, or the answer? */
static bool
anybody_wants (unsigned who, bool answer)
{
    for (; who; who &= who - 1) {
        const struct watcher *watcher = watchers[__builtin_ctz (who)];

        if (answer ? watcher->wants_answer : watcher->wants_call)
            return true;
    }
    return false;
}

/* --- telling -------------------------------------------------------------------------------- */

static unsigned
watchers_of (const xlator_t *xl)
{
    return __atomic_load_n (&xl->watchers, __ATOMIC_ACQUIRE);
}

static void
tell_wind (unsigned who, const struct watch_event *event)
{
    for (; who; who &= who - 1)
        watchers[__builtin_ctz (who)]->wind (event);
}

static void
tell_unwind (unsigned who, const struct watch_event *event)
{
    for (; who; who &= who - 1)
        watchers[__builtin_ctz (who)]->unwind (event);
}

/* A frame that was handed on has two to answer for; the first moves out of the way. */
static struct frame_watch *
move_out (call_frame_t *frame)
{
    struct frame_watch *outer;

    if (!frame->watched)
        return NULL;
    outer = stack_alloc (frame->root, sizeof *outer, NULL);
    *outer = frame->watch;
    return outer;
}

static const xlator_t *
caller_of (const call_frame_t *frame, const struct frame_watch *watch)
{
    return watch->outer ? watch->outer->callee : frame->parent->this;
}

static void
watch_wind (call_frame_t *frame, unsigned who, ret_fn_t ret, const struct call *call)
{
    struct frame_watch *outer = move_out (frame);
    struct watch_event event = { .frame = frame, .callee = frame->this, .op = frame->op, .site = frame->wind_from,
                                 .tail = outer != NULL, .call = call };

    frame->watch = (struct frame_watch){ .ret = frame->ret, .cookie = frame->cookie, .callee = frame->this, .outer = outer,
                                         .watchers = who };
    event.caller = caller_of (frame, &frame->watch);
    event.ticks = ticks_now ();
    frame->watch.begin = event.ticks;
    frame->ret = ret;
    frame->cookie = frame;
    __atomic_store_n (&frame->watched, 1, __ATOMIC_RELAXED);
    tell_wind (who, &event);
}

/* So much of the time of who wound was spent below. */
static void
charge (call_frame_t *frame, const struct frame_watch *watch, uint64_t ticks)
{
    uint64_t *below = NULL;

    if (watch->outer)
        below = &watch->outer->below;
    else if (__atomic_load_n (&frame->parent->watched, __ATOMIC_RELAXED))
        below = &frame->parent->watch.below;
    if (below)
        __atomic_fetch_add (below, ticks, __ATOMIC_RELAXED);
}

static void
watch_unwind_one (call_frame_t *frame, struct frame_watch *watch, struct watch_event *event)
{
    event->caller = caller_of (frame, watch);
    event->callee = watch->callee;
    event->tail = watch->outer != NULL;
    event->begin = watch->begin;
    event->below = __atomic_load_n (&watch->below, __ATOMIC_RELAXED);
    charge (frame, watch, event->ticks - watch->begin);
    tell_unwind (watch->watchers, event);
}

/* Tells of the answer to whom it was handed on, then to who handed it on. What stood in the frame first, with the callback to call. */
static struct frame_watch
watch_unwind (call_frame_t *frame, int op_ret, int op_errno, const struct answer *answer)
{
    struct watch_event event = { .frame = frame, .op = frame->op, .site = frame->unwind_from, .op_ret = op_ret,
                                 .op_errno = op_errno, .answer = answer };
    struct frame_watch first;

    event.ticks = ticks_now ();
    for (struct frame_watch *watch = &frame->watch; watch; watch = watch->outer) {
        watch_unwind_one (frame, watch, &event);
        first = *watch;
    }
    __atomic_store_n (&frame->watched, 0, __ATOMIC_RELEASE);
    return first;
}

static unsigned
everybody (const call_frame_t *frame)
{
    unsigned who = 0;

    for (const struct frame_watch *watch = &frame->watch; watch; watch = watch->outer)
        who |= watch->watchers;
    return who;
}

/* --- for each operation --------------------------------------------------------------------- */

#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name
#define FIELD(kind, name) .name = name,
#define SEE(kind, name) SEE_##kind##_##name (&call)

#define WATCH(fop)                                                                                 \
    fop##_fop *xlator_own_##fop (const xlator_t *xl);                                              \
                                                                                                   \
    static void watched_##fop##_cbk (call_frame_t *parent, void *cookie, xlator_t *this,           \
                                     int32_t op_ret, int32_t op_errno FOP_RETS_##fop (DECLARE))    \
    {                                                                                              \
        call_frame_t *frame = cookie;                                                              \
        struct frame_watch first;                                                                  \
        if (anybody_wants (everybody (frame), true)) {                                             \
            const struct fop##_answer rets = { FOP_RETS_##fop (FIELD) };                           \
            const struct answer answer = { .op = FOP_##fop, .frame = parent, .this = this,         \
                                           .op_ret = op_ret, .op_errno = op_errno, .rets = &rets }; \
            first = watch_unwind (frame, op_ret, op_errno, &answer);                               \
        } else {                                                                                   \
            first = watch_unwind (frame, op_ret, op_errno, NULL);                                  \
        }                                                                                          \
        ((fop##_cbk *) first.ret) (parent, first.cookie, this, op_ret,                             \
                                   op_errno FOP_RETS_##fop (NAME));                                \
    }                                                                                              \
                                                                                                   \
    void watched_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))              \
    {                                                                                              \
        const unsigned who = watchers_of (this);                                                   \
        fop##_cbk *const ret = watched_##fop##_cbk;                                                \
        if (anybody_wants (who, false)) {                                                          \
            const struct fop##_call args = { FOP_ARGS_##fop (FIELD) };                             \
            struct call call = { .op = FOP_##fop, .frame = frame, .this = this, .args = &args };   \
            FOP_ARGS_##fop (SEE)                                                                   \
            watch_wind (frame, who, (ret_fn_t) ret, &call);                                        \
        } else {                                                                                   \
            watch_wind (frame, who, (ret_fn_t) ret, NULL);                                         \
        }                                                                                          \
        xlator_own_##fop (this) (frame, this FOP_ARGS_##fop (NAME));                               \
    }
FOP_LIST (WATCH)

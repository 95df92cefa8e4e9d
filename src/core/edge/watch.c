/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watched edges. xlator_route puts watched_FOP in the place of a watched translator's fop.
 * watched_FOP tells the watchers of the wind, puts itself between the answer and the callback, and
 * calls the translator's fop. gdb must not skip these frames, or `step` would run over the
 * functions that they call.
 *
 * The state of a watched wind is in the frame itself (struct frame_watch), so that watching takes
 * no lock and no memory. A frame that has answered belongs to its parent again, which may wind from
 * it on another thread. The frame is therefore marked as watched until its state has been read, and
 * frame_push_again doesn't reuse it before.
 */
#if defined __OPTIMIZE__ && !defined __clang__
/* Lets functions here that stand in for a fop or a callback end with a jump, so that they leave
 * nothing on the stack. The rest of the program is built without sibling calls, which would remove
 * translators from a backtrace. These functions aren't missed in a backtrace, and the extra depth
 * would exceed what processors predict of returns. */
#pragma GCC optimize("optimize-sibling-calls")
#endif

#include "core/edge/watch.h"
#include "core/table/fops-rows.h"
#include "core/edge/call-fields.h"
#include "core/edge/stack.h"

#include <errno.h>

static const struct watcher *watchers[WATCHERS_MAX]; /* set once each, under routes_lock; [0] is the
                                                      * log */

/* --- watchers ------------------------------------------------------------------------------- */

static void
log_wind (const struct watch_event *event)
{
    const struct call_site *site = event->site;
    g_autoptr (GString) line = g_string_new (NULL);

    g_string_append_printf (line,
                            "%" G_GUINT64_FORMAT ": %s %s -> %s: ", event->frame->root->unique,
                            fop_name (event->op), event->caller->name, event->callee->name);
    call_print (event->call, line);
    log_line (GF_LOG_TRACE, event->callee, site->file, site->line, site->function, "%s", line->str);
}

static void
log_unwind (const struct watch_event *event)
{
    const struct call_site *site = event->site;
    g_autoptr (GString) line = g_string_new (NULL);

    g_string_append_printf (line, "%" G_GUINT64_FORMAT ": %s %s <- %s: op_ret=%d",
                            event->frame->root->unique, fop_name (event->op), event->caller->name,
                            event->callee->name, event->op_ret);
    if (event->op_ret < 0)
        g_string_append_printf (line, ", op_errno=%d (%s)", event->op_errno,
                                g_strerror (event->op_errno));
    else
        answer_print (event->answer, line);
    log_line (GF_LOG_TRACE, event->callee, site->file, site->line, site->function, "%s", line->str);
}

const struct watcher watch_log = {
    .name = "log", .wants_call = true, .wants_answer = true, .wind = log_wind, .unwind = log_unwind
};

/* Bits of the watchers that are told of winds, and of those that want the call or the answer.
 * Atomic; written under routes_lock, before the first translator has the bit. */
static unsigned told_winds, wants_call, wants_answer;

static void
add_bit (unsigned *bits, unsigned bit, bool is)
{
    if (is)
        __atomic_store_n (bits, *bits | bit, __ATOMIC_RELAXED);
}

unsigned
watch_bit_locked (const struct watcher *watcher)
{
    unsigned i = 0;

    while (i < WATCHERS_MAX && watchers[i] && watchers[i] != watcher)
        i++;
    g_assert (i < WATCHERS_MAX);
    if (!watchers[i]) {
        add_bit (&told_winds, 1u << i, watcher->wind != NULL);
        add_bit (&wants_call, 1u << i, watcher->wants_call);
        add_bit (&wants_answer, 1u << i, watcher->wants_answer);
        __atomic_store_n (&watchers[i], watcher, __ATOMIC_RELEASE);
    }
    return 1u << i;
}

/* --- reports -------------------------------------------------------------------------------- */

/* The functions that a watcher of the time alone needs, such as trace/metrics/numbers.c, are short
 * and inline; the rest is out of line. */

static inline unsigned
among (unsigned who, const unsigned *bits)
{
    return who & __atomic_load_n (bits, __ATOMIC_RELAXED);
}

static inline unsigned
watchers_of (const xlator_t *xl)
{
    return __atomic_load_n (&xl->watchers, __ATOMIC_ACQUIRE);
}

static const xlator_t *UNTRACED
caller_of (const call_frame_t *frame, const struct frame_watch *watch)
{
    return watch->outer ? watch->outer->callee : frame->parent->this;
}

static void UNTRACED __attribute__ ((noinline))
tell_wind (call_frame_t *frame, unsigned who, const struct call *call)
{
    const struct frame_watch *watch = &frame->watch;
    const struct watch_event event = { .ticks = watch->begin,
                                       .frame = frame,
                                       .caller = caller_of (frame, watch),
                                       .callee = watch->callee,
                                       .op = frame->op,
                                       .site = frame->wind_from,
                                       .tail = watch->outer != NULL,
                                       .call = call };

    for (; who; who &= who - 1)
        watchers[__builtin_ctz (who)]->wind (&event);
}

/* Makes room in a frame that was handed on and has a frame_watch already: moves that one to memory
 * of the request. */
static void UNTRACED __attribute__ ((noinline))
move_out (call_frame_t *frame)
{
    struct frame_watch *outer = stack_alloc (frame->root, sizeof *outer, NULL);

    *outer = frame->watch;
    frame->watch.outer = outer;
}

/* Puts ret between the answer and the callback. The caller sets outer, everybody and begin of
 * frame->watch. */
static inline void
watch_enter (call_frame_t *frame, unsigned who, ret_fn_t ret)
{
    struct frame_watch *watch = &frame->watch;

    watch->ret = frame->ret;
    watch->cookie = frame->cookie;
    watch->callee = frame->this;
    watch->below = 0;
    watch->beside = 0;
    watch->watchers = who;
    frame->ret = ret;
    frame->cookie = frame;
    __atomic_store_n (&frame->watched, 1, __ATOMIC_RELAXED);
}

/* Returns whether all watchers of this wind want only the time. */
static inline bool
wind_is_plain (const call_frame_t *frame, unsigned who)
{
    return ticks_are_cycles && !frame->watched && !among (who, &told_winds);
}

static inline void
watch_wind_plain (call_frame_t *frame, unsigned who, ret_fn_t ret)
{
    frame->watch.outer = NULL;
    frame->watch.everybody = who;
    watch_enter (frame, who, ret);
    frame->watch.begin = ticks_of_counter ();
}

static void UNTRACED __attribute__ ((noinline))
watch_wind (call_frame_t *frame, unsigned who, ret_fn_t ret, const struct call *call)
{
    if (frame->watched) {
        move_out (frame);
        frame->watch.everybody |= who;
    } else {
        frame->watch.outer = NULL;
        frame->watch.everybody = who;
    }
    watch_enter (frame, who, ret);
    frame->watch.begin = ticks_now ();
    if (among (who, &told_winds))
        tell_wind (frame, among (who, &told_winds), call);
}

/* Adds ticks to the time that the caller's children took. The caller's slot has one child at a
 * time, so that case needs no bus lock; children in other strands may answer at the same time. */
static inline void
charge (call_frame_t *frame, const struct frame_watch *watch, uint64_t ticks)
{
    call_frame_t *parent = frame->parent;
    uint64_t *below;

    if (G_UNLIKELY (watch->outer))
        below = &watch->outer->below;
    else if (!__atomic_load_n (&parent->watched, __ATOMIC_RELAXED))
        return;
    else
        below = &parent->watch.below;
    if (G_LIKELY (watch->outer || parent->slot == frame))
        __atomic_store_n (below, __atomic_load_n (below, __ATOMIC_RELAXED) + ticks,
                          __ATOMIC_RELAXED);
    else
        __atomic_fetch_add (&parent->watch.beside, ticks, __ATOMIC_RELAXED);
}

/* Reports the answer to the watchers of the translator that was called last, then to those of each
 * translator that handed the request on. After that another request may use the frame. */
static void UNTRACED __attribute__ ((noinline))
watch_unwind (call_frame_t *frame, int op_ret, int op_errno, const struct answer *answer)
{
    const uint64_t ticks = ticks_now ();

    for (struct frame_watch *watch = &frame->watch; watch; watch = watch->outer) {
        const struct watch_event event = {
            .ticks = ticks,
            .frame = frame,
            .caller = caller_of (frame, watch),
            .callee = watch->callee,
            .op = frame->op,
            .site = frame->unwind_from,
            .tail = watch->outer != NULL,
            .call = NULL,
            .begin = watch->begin,
            .below = __atomic_load_n (&watch->below, __ATOMIC_RELAXED)
                   + __atomic_load_n (&watch->beside, __ATOMIC_RELAXED),
            .op_ret = op_ret,
            .op_errno = op_errno,
            .answer = answer,
        };

        charge (frame, watch, ticks - watch->begin);
        for (unsigned who = watch->watchers; who; who &= who - 1)
            watchers[__builtin_ctz (who)]->unwind (&event);
    }
    __atomic_store_n (&frame->watched, 0, __ATOMIC_RELEASE);
}

/* Returns the watch of the first translator that got this frame, which has the frame's original
 * callback and cookie. */
static inline const struct frame_watch *
first_of (const call_frame_t *frame)
{
    const struct frame_watch *watch = &frame->watch;

    while (G_UNLIKELY (watch->outer))
        watch = watch->outer;
    return watch;
}

/* --- for each operation --------------------------------------------------------------------- */

#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name
#define FIELD(kind, name) .name = name,
#define SEE(kind, name) SEE_##kind##_##name (&call)

#define WATCH(fop)                                                                                 \
    fop##_fop *xlator_own_##fop (const xlator_t *xl);                                              \
                                                                                                   \
    static void UNTRACED __attribute__ ((noinline))                                                \
    unwind_with_##fop (call_frame_t *frame, call_frame_t *parent, xlator_t *this, int32_t op_ret,  \
                       int32_t op_errno FOP_RETS_##fop (DECLARE))                                  \
    {                                                                                              \
        const struct fop##_answer rets = { FOP_RETS_##fop (FIELD) };                               \
        const struct answer answer = { .op = FOP_##fop, .frame = parent, .this = this,             \
                                       .op_ret = op_ret, .op_errno = op_errno, .rets = &rets };    \
        watch_unwind (frame, op_ret, op_errno, &answer);                                           \
    }                                                                                              \
                                                                                                   \
    static void UNTRACED                                                                           \
    watched_##fop##_cbk (call_frame_t *parent, void *cookie, xlator_t *this, int32_t op_ret,       \
                         int32_t op_errno FOP_RETS_##fop (DECLARE))                                \
    {                                                                                              \
        call_frame_t *frame = cookie;                                                              \
        const struct frame_watch *first = first_of (frame);                                        \
        fop##_cbk *const ret = (fop##_cbk *) first->ret;                                           \
        void *const own_cookie = first->cookie;                                                    \
        if (G_UNLIKELY (among (frame->watch.everybody, &wants_answer)))                            \
            unwind_with_##fop (frame, parent, this, op_ret, op_errno FOP_RETS_##fop (NAME));       \
        else                                                                                       \
            watch_unwind (frame, op_ret, op_errno, NULL);                                          \
        ret (parent, own_cookie, this, op_ret, op_errno FOP_RETS_##fop (NAME));                    \
    }                                                                                              \
                                                                                                   \
    static void UNTRACED __attribute__ ((noinline))                                                \
    wind_with_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))                 \
    {                                                                                              \
        const unsigned who = watchers_of (this);                                                   \
        fop##_cbk *const ret = watched_##fop##_cbk;                                                \
        if (among (who, &wants_call)) {                                                            \
            const struct fop##_call args = { FOP_ARGS_##fop (FIELD) };                             \
            struct call call = { .op = FOP_##fop, .frame = frame, .this = this, .args = &args };   \
            FOP_ARGS_##fop (SEE)                                                                   \
            watch_wind (frame, who, (ret_fn_t) ret, &call);                                        \
        } else {                                                                                   \
            watch_wind (frame, who, (ret_fn_t) ret, NULL);                                         \
        }                                                                                          \
        xlator_own_##fop (this) (frame, this FOP_ARGS_##fop (NAME));                               \
    }                                                                                              \
                                                                                                   \
    void UNTRACED watched_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))     \
    {                                                                                              \
        const unsigned who = watchers_of (this);                                                   \
        fop##_fop *const own = this->api->fops.fop;                                                \
        fop##_cbk *const ret = watched_##fop##_cbk;                                                \
        if (G_LIKELY (own && wind_is_plain (frame, who))) {                                        \
            watch_wind_plain (frame, who, (ret_fn_t) ret);                                         \
            own (frame, this FOP_ARGS_##fop (NAME));                                               \
        } else {                                                                                   \
            wind_with_##fop (frame, this FOP_ARGS_##fop (NAME));                                   \
        }                                                                                          \
    }
FOP_LIST (WATCH)

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits a trace to some requests. It listens on the edge. When a matching request is wound or
 * answered, it opens the thread's gate for the calls made there; for any other request it closes
 * the gate. So the gate is open on each thread that goes on with the request.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_FUNCTION_GRAPH

#include "core/table/opset.h"
#include "core/edge/watch.h"
#include "trace/functions/internal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REQUESTS 4096 /* requests whose path matched; more push others out */

/* Written by the main thread while no listener is set, but a late one may still read: atomic. Texts
 * are never freed. */
static struct {
    const char *translators[FUNCTIONS_GATE_MAX]; /* names, compared by their addresses */
    const char *paths[FUNCTIONS_GATE_MAX];
    int64_t pids[FUNCTIONS_GATE_MAX];
    opset_t ops;
    bool by_translator, by_path, by_pid;
} gate;

static uint64_t requests[REQUESTS]; /* numbers of requests; atomic */
/* The main thread's. */
static GPtrArray *listening;            /* a reference; NULL: not listening */
static const struct watcher *listener;

#define load(place_) __atomic_load_n (place_, __ATOMIC_RELAXED)
#define store(place_, value_) __atomic_store_n (place_, value_, __ATOMIC_RELAXED)

/* --- matching --- */

static bool
frame_fits (const call_frame_t *frame)
{
    const opset_t ops = load (&gate.ops);

    if (ops && !opset_has (ops, frame->op))
        return false;
    for (unsigned i = 0; load (&gate.by_translator) && i < FUNCTIONS_GATE_MAX; i++)
        if (load (&gate.translators[i]) == frame->this->name)
            return true;
    return !load (&gate.by_translator);
}

/* The frame, or one that led to it. */
static bool
frames_fit (const call_frame_t *frame)
{
    for (; frame && frame->parent; frame = frame->parent)
        if (frame_fits (frame))
            return true;
    return false;
}

/* The kernel gives the id of the calling thread. */
static bool
pid_fits (pid_t pid)
{
    if (!load (&gate.by_pid))
        return true;
    for (unsigned i = 0; i < FUNCTIONS_GATE_MAX; i++) {
        const int64_t wanted = load (&gate.pids[i]);

        if (wanted == pid)
            return true;
        if (wanted > 0 && pid > 0
            && (syscall (SYS_tgkill, (pid_t) wanted, pid, 0) == 0 || errno == EPERM))
            return true;
    }
    return false;
}

/* A call without a path is for the same file as the request's earlier calls. */
static bool
gate_path_fits (uint64_t request, const struct call *call)
{
    uint64_t *place = &requests[request % REQUESTS];

    if (!load (&gate.by_path) || load (place) == request)
        return true;
    for (unsigned i = 0; call && i < FUNCTIONS_GATE_MAX; i++)
        if (load (&gate.paths[i]) && call_is_at (call, load (&gate.paths[i]))) {
            store (place, request);
            return true;
        }
    return false;
}

static bool
event_fits (const struct watch_event *event, const call_frame_t *frame)
{
    return frames_fit (frame) && pid_fits (event->frame->root->pid)
        && gate_path_fits (event->frame->root->unique, event->call);
}

/* --- listening --- */

/*
 * An address on the stack above all calls that follow. In between are the functions of
 * core/edge/watch.c that call this listener, which are never inlined: on a wind tell_wind,
 * watch_wind, and wind_with_FOP, which calls the fop; on an unwind watch_unwind, perhaps
 * unwind_with_FOP, and watched_FOP_cbk, which calls the callback, or the caller of that.
 */
#pragma GCC diagnostic ignored "-Wframe-address"
#define STACK_OF_NEXT ((uint64_t) (uintptr_t) __builtin_frame_address (3))

static void
gate_wind (const struct watch_event *event)
{
    if (event_fits (event, event->frame))
        hook_gate_open (STACK_OF_NEXT, event->frame->root);
    else
        hook_gate_close (STACK_OF_NEXT, event->frame->root);
}

/* The callback belongs to the parent frame. The first frame's callback ends the request, and
 * belongs to it. */
static void
gate_unwind (const struct watch_event *event)
{
    const bool last = !event->frame->parent || !event->frame->parent->parent;

    if (event_fits (event,
                    last && !load (&gate.by_translator) ? event->frame : event->frame->parent))
        hook_gate_open (STACK_OF_NEXT, event->frame->root);
    else
        hook_gate_close (STACK_OF_NEXT, NULL);
}

static const struct watcher watcher = { .name = "functions",
                                        .wind = gate_wind,
                                        .unwind = gate_unwind };
static const struct watcher path_watcher = {
    .name = "functions by path", .wants_call = true, .wind = gate_wind, .unwind = gate_unwind
};

bool
gate_is_wanted (const struct functions_gate *wanted)
{
    return wanted->ops || (wanted->translators && wanted->translators->len)
        || (wanted->paths && wanted->paths->len) || (wanted->pids && wanted->pids->len);
}

static const char *
gate_text (const GPtrArray *texts, guint i)
{
    return i < texts->len ? g_intern_string (texts->pdata[i]) : NULL;
}

void
gate_begin (const struct functions_gate *wanted)
{
    for (unsigned i = 0; i < FUNCTIONS_GATE_MAX; i++) {
        store (&gate.translators[i], gate_text (wanted->translators, i));
        store (&gate.paths[i], gate_text (wanted->paths, i));
        store (&gate.pids[i], i < wanted->pids->len ? g_array_index (wanted->pids, int64_t, i) : 0);
    }
    for (unsigned i = 0; i < REQUESTS; i++)
        store (&requests[i], 0);
    store (&gate.ops, wanted->ops);
    store (&gate.by_translator, wanted->translators->len > 0);
    store (&gate.by_path, wanted->paths->len > 0);
    store (&gate.by_pid, wanted->pids->len > 0);
    listener = wanted->paths->len ? &path_watcher : &watcher;
    listening = g_ptr_array_ref (wanted->graph);
    watch_set (listening, listener, true);
}

void
gate_move (GPtrArray *graph)
{
    if (!listening)
        return;
    watch_set (listening, listener, false);
    g_ptr_array_unref (listening);
    listening = g_ptr_array_ref (graph);
    watch_set (listening, listener, true);
}

void
gate_end (void)
{
    if (!listening)
        return;
    watch_set (listening, listener, false);
    g_clear_pointer (&listening, g_ptr_array_unref);
}

#endif

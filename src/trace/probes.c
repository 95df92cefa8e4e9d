/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One function for each probe, so that each is a single nop in the program; all are made from
 * fops.def.
 *
 * A tracer attaches -> a semaphore becomes nonzero -> the next request notices
 * (core/report/probe.h) -> the graph is watched -> a timer finds all semaphores 0 -> watching
 * stops.
 */
#include "trace/probes.h"
#include "core/report/probe.h"

#ifdef HAVE_SYS_SDT_H
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "core/table/fops-rows.h"
#include "core/data/loc.h"
#include "core/edge/stack.h"
#include "core/time/timer.h"
#include "core/edge/watch.h"

#include <string.h>

#define LOOK_AGAIN 1000000000 /* nanoseconds */

static struct {
    pthread_mutex_t lock; /* taken before routes_lock, scale.lock and timers.lock */
    GPtrArray *xlators;   /* lock; NULL: no graph */
    bool on;              /* atomic; written under lock */
    bool timed;           /* lock: the timer is armed */
} probes = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Description of an operation at the mount, kept for its end, when only the request is left of it.
 * In the request's memory. */
struct probe_about {
    int64_t offset;
    uint64_t size;
    const char *path, *name, *whole; /* whole: path and name joined */
    const char *what;                /* the operation's name */
    char text[];
};

/* --- the probes: the most useful arguments come first, since bpftrace sees only six --- */

extern unsigned short windlass_wind_semaphore, windlass_unwind_semaphore;

#define PROBES(fop)                                                                                \
    extern unsigned short windlass_##fop##_start_semaphore, windlass_##fop##_end_semaphore;        \
    static void fop##_starts (uint64_t request, const struct probe_about *about)                   \
    {                                                                                              \
        STAP_PROBE6 (windlass, fop##_start, request, about->path, about->name, about->offset,      \
                     about->size, about->what);                                                   \
    }                                                                                              \
    static void fop##_ends (uint64_t request, const struct probe_about *about, int op_ret,         \
                            int op_errno, uint64_t ns)                                             \
    {                                                                                              \
        STAP_PROBE8 (windlass, fop##_end, request, op_ret, op_errno, ns, about->whole,             \
                     about->what, about->offset, about->size);                                     \
    }
FOP_LIST (PROBES)

#define STARTS(fop) [FOP_##fop] = fop##_starts,
#define ENDS(fop) [FOP_##fop] = fop##_ends,

static void (*const starts[FOP_MAX]) (uint64_t request,
                                      const struct probe_about *about) = { FOP_LIST (STARTS) };
static void (*const ends[FOP_MAX]) (uint64_t request, const struct probe_about *about, int op_ret,
                                    int op_errno, uint64_t ns) = { FOP_LIST (ENDS) };

static void
winds (uint64_t request, const char *caller, const char *callee, const char *fop)
{
    STAP_PROBE4 (windlass, wind, request, caller, callee, fop);
}

static void
unwinds (uint64_t request, const char *caller, const char *callee, const char *fop, int op_ret,
         int op_errno, uint64_t ns, uint64_t own)
{
    STAP_PROBE8 (windlass, unwind, request, caller, callee, fop, op_ret, op_errno, ns, own);
}

/* --- on the path of requests, while a tracer is attached -------------------------------------- */

static bool
is_at_mount (const struct watch_event *event)
{
    return !event->tail && event->frame->parent == &event->frame->root->frames[0]
        && strcmp (event->caller->type, "mount/fuse") == 0;
}

/* In the request's memory, whose size suffices for most. */
static struct probe_about *
about_new (call_stack_t *root, const struct call *call)
{
    const loc_t *loc = call->loc;
    inode_t *inode = loc      ? (loc->name ? loc->parent : loc->inode)
                   : call->fd ? call->fd->inode
                              : NULL;
    const char *name = loc && loc->name ? loc->name : "";
    g_autofree char *path = inode ? inode_path (inode, NULL) : g_strdup ("");
    g_autofree char *whole = g_strconcat (path, *name && !g_str_has_suffix (path, "/") ? "/" : "",
                                          name, NULL);
    const size_t path_size = strlen (path) + 1, name_size = strlen (name) + 1,
                 whole_size = strlen (whole) + 1;
    struct probe_about *about =
        stack_alloc (root, sizeof *about + path_size + name_size + whole_size, NULL);

    about->offset = call->offset;
    about->size = call->size;
    about->what = fop_name (call->op);
    about->path = memcpy (about->text, path, path_size);
    about->name = memcpy (about->text + path_size, name, name_size);
    about->whole = memcpy (about->text + path_size + name_size, whole, whole_size);
    return about;
}

static void
probes_wind (const struct watch_event *event)
{
    call_stack_t *root = event->frame->root;

    if (__atomic_load_n (&windlass_wind_semaphore, __ATOMIC_RELAXED))
        winds (root->unique, event->caller->name, event->callee->name, fop_name (event->op));
    if (!is_at_mount (event))
        return;
    root->onlooker.probed = probe_pair_is_on (event->op) ? about_new (root, event->call) : NULL;
    if (root->onlooker.probed)
        starts[event->op](root->unique, root->onlooker.probed);
}

static void
probes_unwind (const struct watch_event *event)
{
    const call_stack_t *root = event->frame->root;
    const uint64_t ticks = event->ticks - event->begin;

    if (__atomic_load_n (&windlass_unwind_semaphore, __ATOMIC_RELAXED))
        unwinds (root->unique, event->caller->name, event->callee->name, fop_name (event->op),
                 event->op_ret, event->op_errno, ticks_to_ns (ticks),
                 ticks_to_ns (event->below < ticks ? ticks - event->below : 0));
    if (is_at_mount (event) && root->onlooker.probed)
        ends[event->op](root->unique, root->onlooker.probed, event->op_ret, event->op_errno,
                        ticks_to_ns (ticks));
}

static const struct watcher probes_watcher = {
    .name = "probes", .wants_call = true, .wind = probes_wind, .unwind = probes_unwind
};

/* --- on and off ------------------------------------------------------------------------------ */

static bool
somebody_looks (void)
{
    for (enum fop op = FOP_NONE; op < FOP_MAX; op++)
        if (probe_pair_is_on (op))
            return true;
    return false;
}

static void probes_look_again (void *unused);

static void
time_locked (void)
{
    probes.timed = true;
    timer_after (LOOK_AGAIN, probes_look_again, NULL);
}

static void
probes_set_locked (bool on)
{
    watch_set (probes.xlators, &probes_watcher, on);
    __atomic_store_n (&probes.on, on, __ATOMIC_RELEASE);
}

static void
probes_look_again (void *unused)
{
    pthread_mutex_lock (&probes.lock);
    probes.timed = false;
    if (probes.xlators && somebody_looks ())
        time_locked ();
    else if (probes.xlators && probes.on)
        probes_set_locked (false);
    pthread_mutex_unlock (&probes.lock);
}

/* The request that notices the tracer first waits until everything is watched, and so do requests
 * that come meanwhile: each is seen completely or not at all. */
static void
probes_switch_on (void)
{
    if (__atomic_load_n (&probes.on, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock (&probes.lock);
    if (probes.xlators && !probes.on) {
        probes_set_locked (true);
        if (!probes.timed)
            time_locked ();
    }
    pthread_mutex_unlock (&probes.lock);
}

void
probes_begin (GPtrArray *xlators)
{
    pthread_mutex_lock (&probes.lock);
    probes.xlators = g_ptr_array_ref (xlators);
    pthread_mutex_unlock (&probes.lock);
    __atomic_store_n (&probe_hook, probes_switch_on, __ATOMIC_RELEASE);
}

void
probes_end (void)
{
    __atomic_store_n (&probe_hook, NULL, __ATOMIC_RELEASE);
    pthread_mutex_lock (&probes.lock);
    if (probes.xlators && probes.on)
        probes_set_locked (false);
    g_clear_pointer (&probes.xlators, g_ptr_array_unref);
    pthread_mutex_unlock (&probes.lock);
}

#else

void
probes_begin (GPtrArray *xlators)
{
}

void
probes_end (void)
{
}

#endif

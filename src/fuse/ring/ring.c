/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The transport: the conditions for a ring, its beginning and end, and reports. */
#include "fuse/ring/ring.h"

#include "core/base/process.h"
#include "fuse/ring/transport.h"
#include "fuse/state.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define SWITCH "/sys/module/fuse/parameters/enable_uring"
#define HOW_TO_SWITCH "as root, 'echo Y > " SWITCH "' turns it on for what is mounted from then on"

/* Returns the reason why options, kernel or privileges prevent a ring, or NULL. */
static const char *
why_not (struct bridge *bridge)
{
    char state = 'Y';
    FILE *file;

    if (!URING_IS_BUILT)
        return "this windlass was built without liburing";
    if (process_is_under_valgrind ())
        return "valgrind runs no other thread while one waits in io_uring_enter(2)";
    file = fopen (SWITCH, "re");
    if (!file)
        return errno == ENOENT ? "there is no " SWITCH ": that takes Linux 6.14 or newer, and /sys"
                               : NULL;
    if (fread (&state, 1, 1, file) != 1)
        state = 'Y';
    fclose (file);
    return state == 'N' || state == '0' ? "the kernel's switch is off: " HOW_TO_SWITCH : NULL;
}

/* Returns the number of queues: the kernel wants one for each processor that may ever exist.
 * "0-3,5" has 6. */
static unsigned
count_processors (void)
{
    g_autofree char *text = NULL;
    unsigned long most = 0;

    if (!g_file_get_contents ("/sys/devices/system/cpu/possible", &text, NULL, NULL))
        return (unsigned) MAX (sysconf (_SC_NPROCESSORS_CONF), 1);
    for (char *p = text; *p; ) {
        unsigned long number = 0;

        if (g_ascii_isdigit (*p))
            number = strtoul (p, &p, 10);
        else
            p++;
        most = MAX (most, number);
    }
    return (unsigned) MIN (most, 8191) + 1;
}

static void
ring_free (struct fuse_ring *ring)
{
    for (unsigned i = 0; i < ring->n_queues; i++)
        ring_queue_free (&ring->queues[i]);
    g_free (ring->queues);
    g_free (ring);
}

/* A worker takes two descriptors. All together get an eighth of the process's limit; the rest is
 * for storage. */
static unsigned
workers_most (unsigned n_queues)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return G_MAXUINT;
    return (unsigned) MAX (limit.rlim_cur / 16, n_queues);
}

static struct fuse_ring *
ring_new (struct bridge *bridge, int *ret_error)
{
    struct fuse_ring *ring = g_new0 (struct fuse_ring, 1);
    int r = 0;

    ring->bridge = bridge;
    ring->n_queues = MIN (count_processors (), RING_QUEUES_MAX);
    ring->depth = MIN ((unsigned) bridge->settings.io_uring_depth, RING_ENTRIES_MAX);
    ring->most_workers = workers_most (ring->n_queues);
    ring->pinned = bridge->settings.io_uring_pinned;
    ring->run = ring_run;
    ring->queues = g_new0 (struct ring_queue, ring->n_queues);
    for (unsigned i = 0; i < ring->n_queues; i++) {
        struct ring_queue *queue = &ring->queues[i];

        *queue = (struct ring_queue){ .ring = ring,
                                      .number = i,
                                      .entries = g_new0 (struct ring_entry *, ring->depth) };
        pthread_mutex_init (&queue->lock, NULL);
        queue->workers[0] = r == 0 ? ring_worker_new (queue, &r) : NULL;
        queue->n_workers = queue->workers[0] ? 1 : 0;
    }
    if (r == 0)
        return ring;
    *ret_error = r;
    ring_free (ring);
    return NULL;
}

#define SYSCTL "kernel.io_uring_disabled" /* since Linux 6.6 */

static char *
ring_refusal_text (int error)
{
    g_autofree char *setting = NULL;

    if (error == ENOSYS)
        return g_strdup ("this kernel was built without io_uring, or a container's filter of "
                         "system calls hides it");
    if (error != EPERM)
        return attempt_reason (error);
    if (g_file_get_contents ("/proc/sys/kernel/io_uring_disabled", &setting, NULL, NULL)
        && *setting != '0')
        return g_strdup_printf ("the kernel's setting " SYSCTL " is %s%s: as root, 'sysctl " SYSCTL
                                "=0' allows it",
                                g_strstrip (setting),
                                *setting == '1' ? " (only for root, and for the group of "
                                                  "kernel.io_uring_group)"
                                                : " (for nobody)");
    return g_strdup ("Operation not permitted, probably by a filter of system calls, as containers "
                     "have it (seccomp)");
}

int
ring_prepare (struct bridge *bridge, char **ret_error)
{
    const bool required = bridge->settings.io_uring == IO_URING_REQUIRED;
    g_autofree char *failed = NULL;
    const char *why = NULL;
    int r = 0;

    if (bridge->settings.io_uring == IO_URING_OFF) {
        bridge->why_device = "option 'io-uring' is off";
        return 0;
    }
    why = why_not (bridge);
    if (!why)
        bridge->ring = ring_new (bridge, &r);
    if (bridge->ring) {
        bridge->transports[1] = &ring_transport;
        return 0;
    }
    failed = why ? NULL : ring_refusal_text (-r);
    bridge->why_device = why ? why : g_intern_string (failed);
    if (required) {
        *ret_error = g_strdup_printf ("option 'io-uring' is required, but not to be had: %s",
                                      bridge->why_device);
        return -ENOTSUP;
    }
    gf_log (&bridge->xlator, why ? GF_LOG_INFO : GF_LOG_WARNING, "no io_uring: %s",
            bridge->why_device);
    return 0;
}

void
ring_end (struct bridge *bridge)
{
    if (bridge->ring)
        ring_free (g_steal_pointer (&bridge->ring));
}

/* --- start: while INIT is answered; the workers go on when the kernel has accepted it --- */

static void
set_go (struct bridge *bridge, enum ring_go go)
{
    pthread_mutex_lock (&bridge->lock);
    bridge->ring->go = go;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

static void
ring_refused (struct bridge *bridge, const char *why)
{
    bridge->why_device = why;
    set_go (bridge, RING_DOESNT);
}

static int
ring_start (struct bridge *bridge)
{
    struct fuse_ring *ring = bridge->ring;
    g_autofree char *reason = NULL;
    int r = 0;

    pthread_mutex_lock (&bridge->lock);
    for (unsigned i = 0; r == 0 && i < ring->n_queues; i++)
        r = ring_worker_start_locked (ring->queues[i].workers[0]);
    pthread_mutex_unlock (&bridge->lock);
    if (r == 0)
        return 0;
    reason = attempt_reason (-r);
    gf_log (&bridge->xlator, GF_LOG_WARNING,
            "no io_uring: can't start a thread for each of %u processors: %s", ring->n_queues,
            reason);
    ring_refused (bridge, "there are too few threads");
    return r;
}

static void
ring_agreed (struct bridge *bridge)
{
    const struct fuse_ring *ring = bridge->ring;

    gf_log (&bridge->xlator, GF_LOG_INFO,
            "requests come through io_uring: a queue for each of %u processors, with up to %u "
            "requests at once",
            ring->n_queues, ring->depth);
    device_brings_asides (bridge);
    __atomic_store_n (&bridge->dying.noted, true, __ATOMIC_RELAXED);
    __atomic_store_n (&bridge->transport, &ring_transport, __ATOMIC_RELEASE);
    set_go (bridge, RING_GOES);
}

bool
bridge_uses_io_uring (const struct bridge *bridge)
{
    return bridge_transport (bridge) == &ring_transport;
}

/* --- the end --- */

static void
ring_signal_locked (struct bridge *bridge)
{
    const struct fuse_ring *ring = bridge->ring;

    ring_unwatch_locked (bridge);
    for (unsigned i = 0; i < ring->n_queues; i++)
        for (unsigned j = 0; j < ring->queues[i].n_workers; j++)
            ring_worker_wake (ring->queues[i].workers[j]);
}

static void
ring_stop (struct bridge *bridge)
{
    struct fuse_ring *ring = bridge->ring;

    for (unsigned i = 0; i < ring->n_queues; i++)
        for (unsigned j = 0; j < ring->queues[i].n_workers; j++)
            if (ring->queues[i].workers[j]->thread.running)
                pthread_join (ring->queues[i].workers[j]->thread.thread, NULL);
}

/* --- reports --- */

static void
ring_describe (const struct bridge *bridge, GString *out)
{
    const struct fuse_ring *ring = bridge->ring;

    g_string_append_printf (out,
                            "requests come through io_uring: a queue for each of %u processors, "
                            "with up to %u requests at once (io-uring-queue-depth) and threads %s "
                            "(io-uring-pinned)\n",
                            ring->n_queues, ring->depth,
                            ring->pinned ? "that stay there" : "that run anywhere");
}

static void
ring_dump (const struct bridge *bridge, GString *out)
{
    const struct fuse_ring *ring = bridge->ring;
    unsigned entries = 0, in_use = 0, workers;

    for (unsigned i = 0; i < ring->n_queues; i++) {
        entries += __atomic_load_n (&ring->queues[i].n_entries, __ATOMIC_RELAXED);
        in_use += __atomic_load_n (&ring->queues[i].in_use, __ATOMIC_RELAXED);
    }
    pthread_mutex_lock (&ring->bridge->lock);
    workers = ring->n_workers;
    pthread_mutex_unlock (&ring->bridge->lock);
    g_string_append_printf (out,
                            "io_uring=on\nio_uring_queues=%u\nio_uring_depth=%u\n"
                            "io_uring_pinned=%s\nio_uring_threads=%u\nio_uring_entries=%u\n"
                            "io_uring_in_use=%u\n",
                            ring->n_queues, ring->depth, ring->pinned ? "on" : "off", workers,
                            entries, in_use);
}

const struct transport ring_transport = {
    .init_flag = FLAG_OVER_IO_URING,
    .start = ring_start,
    .agreed = ring_agreed,
    .refused = ring_refused,
    .signal_locked = ring_signal_locked,
    .stop = ring_stop,
    .answer = ring_answer,
    .interrupt = ring_interrupt,
    .describe = ring_describe,
    .dump = ring_dump,
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The queues: conditions for using a ring, allocation, and reports. */
#include "fuse/ring/ring.h"
#include "core/base/process.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SWITCH "/sys/module/fuse/parameters/enable_uring"
/* For a worker: an answer together with the wait for the next request. If there are more, which is
 * rare, it submits in between. */
#define SUBMISSIONS 4
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

struct ring_entry *
ring_entry_new (struct ring_queue *queue)
{
    struct bridge *bridge = queue->ring->bridge;
    struct ring_entry *entry = g_new0 (struct ring_entry, 1);
    char *memory;

    /* The system provides the pages when they are used. */
    memory = mmap (NULL, ENTRY_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_mutex_lock (&bridge->lock);
    if (memory != MAP_FAILED && queue->n_entries < queue->ring->depth) {
        *entry = (struct ring_entry){ .queue = queue,
                                      .header = (struct ring_header *) memory,
                                      .payload = memory + ENTRY_HEADERS };
        entry->where[0] = (struct iovec){ entry->header, sizeof *entry->header };
        entry->where[1] = (struct iovec){ entry->payload, MAX_PAYLOAD };
        entry->number = queue->n_entries;
        queue->entries[entry->number] = entry;
        __atomic_store_n (&queue->n_entries, entry->number + 1, __ATOMIC_RELEASE);
    } else {
        g_clear_pointer (&entry, g_free);
    }
    pthread_mutex_unlock (&bridge->lock);
    if (!entry && memory != MAP_FAILED)
        munmap (memory, ENTRY_SIZE);
    return entry;
}

static void
entry_free (struct ring_entry *entry)
{
    munmap (entry->header, ENTRY_SIZE);
    g_free (entry);
}

struct ring_worker *
ring_worker_new (struct ring_queue *queue, int *ret_error)
{
    struct bridge *bridge = queue->ring->bridge;
    struct ring_worker *worker = g_new0 (struct ring_worker, 1);

    worker->reader = (struct reader){ .bridge = bridge, .in_ring = true };
    worker->queue = queue;
    worker->wake = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    *ret_error = worker->wake < 0 ? -errno
                                  : uring_open (&worker->uring, SUBMISSIONS,
                                                fuse_session_fd (bridge->session), worker->wake);
    if (*ret_error == 0)
        return worker;
    ring_worker_free (worker);
    return NULL;
}

void
ring_worker_free (struct ring_worker *worker)
{
    uring_close (&worker->uring);
    if (worker->wake >= 0)
        close (worker->wake);
    g_free (worker);
}

/* Frees the workers first: this makes the kernel release the entries that it holds. */
static void
queue_free (struct ring_queue *queue)
{
    for (unsigned i = 0; i < queue->n_workers; i++)
        ring_worker_free (queue->workers[i]);
    for (unsigned i = 0; i < queue->n_entries; i++)
        entry_free (queue->entries[i]);
    pthread_mutex_destroy (&queue->lock);
    g_free (queue->entries);
}

static void
ring_free (struct ring *ring)
{
    for (unsigned i = 0; i < ring->n_queues; i++)
        queue_free (&ring->queues[i]);
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

static struct ring *
ring_new (struct bridge *bridge, int *ret_error)
{
    struct ring *ring = g_new0 (struct ring, 1);
    int r = 0;

    ring->bridge = bridge;
    ring->n_queues = MIN (count_processors (), RING_QUEUES_MAX);
    ring->depth = MIN ((unsigned) bridge->settings.io_uring_depth, RING_ENTRIES_MAX);
    ring->most_workers = workers_most (ring->n_queues);
    ring->pinned = bridge->settings.io_uring_pinned;
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
refusal_text (int error)
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
        bridge->no_ring = "option 'io-uring' is off";
        return 0;
    }
    why = why_not (bridge);
    if (!why)
        bridge->ring = ring_new (bridge, &r);
    if (bridge->ring)
        return 0;
    failed = why ? NULL : refusal_text (-r);
    bridge->no_ring = why ? why : g_intern_string (failed);
    if (required) {
        *ret_error = g_strdup_printf ("option 'io-uring' is required, but not to be had: %s",
                                      bridge->no_ring);
        return -ENOTSUP;
    }
    gf_log (&bridge->xlator, why ? GF_LOG_INFO : GF_LOG_WARNING, "no io_uring: %s",
            bridge->no_ring);
    return 0;
}

bool
bridge_uses_io_uring (const struct bridge *bridge)
{
    return bridge->ring && __atomic_load_n (&bridge->ring->used, __ATOMIC_ACQUIRE);
}

void
ring_end (struct bridge *bridge)
{
    if (bridge->ring)
        ring_free (g_steal_pointer (&bridge->ring));
}

/* --- reports --- */

void
ring_describe (const struct bridge *bridge, GString *out)
{
    const struct ring *ring = bridge->ring;

    if (bridge_uses_io_uring (bridge))
        g_string_append_printf (out,
                                "requests come through io_uring: a queue for each of %u "
                                "processors, with up to %u requests at once "
                                "(io-uring-queue-depth) and threads %s (io-uring-pinned)\n",
                                ring->n_queues, ring->depth,
                                ring->pinned ? "that stay there" : "that run anywhere");
    else
        g_string_append_printf (
            out, "requests are read from the device, not taken from an io_uring: %s (io-uring)\n",
            bridge->no_ring ? bridge->no_ring : "the kernel hasn't agreed to it");
}

static void
dump_queues (const struct ring *ring, GString *out)
{
    unsigned entries = 0, in_use = 0, workers;

    for (unsigned i = 0; i < ring->n_queues; i++) {
        entries += __atomic_load_n (&ring->queues[i].n_entries, __ATOMIC_RELAXED);
        in_use += __atomic_load_n (&ring->queues[i].in_use, __ATOMIC_RELAXED);
    }
    pthread_mutex_lock (&ring->bridge->lock);
    workers = ring->n_workers;
    pthread_mutex_unlock (&ring->bridge->lock);
    g_string_append_printf (out,
                            "io_uring_queues=%u\nio_uring_depth=%u\nio_uring_pinned=%s\nio_uring_"
                            "threads=%u\nio_uring_entries=%u\n"
                            "io_uring_in_use=%u\n",
                            ring->n_queues, ring->depth, ring->pinned ? "on" : "off", workers,
                            entries, in_use);
}

void
ring_dump (const struct bridge *bridge, GString *out)
{
    const struct ring *ring = bridge->ring;

    g_string_append_printf (out, "io_uring=%s\n", bridge_uses_io_uring (bridge) ? "on" : "off");
    if (bridge_uses_io_uring (bridge))
        dump_queues (ring, out);
    else if (bridge->no_ring)
        g_string_append_printf (out, "no_io_uring=%s\n", bridge->no_ring);
}

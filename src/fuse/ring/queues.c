/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a queue: entries, and workers, of which the queue gets more when they are needed. */
#include "fuse/ring/ring.h"

#include "fuse/state.h"
#include "fuse/threads/threads.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* For a worker: an answer together with the wait for the next request. If there are more, which is
 * rare, it submits in between. */
#define SUBMISSIONS 4

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
ring_entry_free (struct ring_entry *entry)
{
    munmap (entry->header, ENTRY_SIZE);
    g_free (entry);
}

struct ring_worker *
ring_worker_new (struct ring_queue *queue, int *ret_error)
{
    struct bridge *bridge = queue->ring->bridge;
    struct ring_worker *worker = g_new0 (struct ring_worker, 1);

    worker->thread = (struct request_thread){ .bridge = bridge, .run = queue->ring->run };
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
void
ring_queue_free (struct ring_queue *queue)
{
    for (unsigned i = 0; i < queue->n_workers; i++)
        ring_worker_free (queue->workers[i]);
    for (unsigned i = 0; i < queue->n_entries; i++)
        ring_entry_free (queue->entries[i]);
    pthread_mutex_destroy (&queue->lock);
    g_free (queue->entries);
}

int
ring_worker_start_locked (struct ring_worker *worker)
{
    struct fuse_ring *ring = worker->queue->ring;
    char name[32]; /* the system takes 15 bytes of it */
    int r;

    snprintf (name, sizeof name, "fuse-ring-%u", ring->n_workers);
    r = request_thread_start_locked (&worker->thread, name);
    if (r == 0)
        ring->n_workers++;
    return r;
}

static int
ring_worker_begin_locked (struct ring_queue *queue)
{
    struct ring_worker *worker;
    int r = 0;

    worker = ring_worker_new (queue, &r);
    if (!worker)
        return r;
    r = ring_worker_start_locked (worker);
    if (r < 0)
        ring_worker_free (worker);
    else
        queue->workers[queue->n_workers] = worker;
    if (r == 0)
        __atomic_store_n (&queue->n_workers, queue->n_workers + 1, __ATOMIC_RELEASE);
    return r;
}

bool
ring_worker_add_locked (struct ring_queue *queue, unsigned most)
{
    struct bridge *bridge = queue->ring->bridge;

    if (queue->n_workers >= MIN (most, RING_WORKERS_MAX)
        || queue->ring->n_workers >= queue->ring->most_workers || bridge->stopping
        || !attempt_is_due (&bridge->threads.starts))
        return false;
    return attempt_ended (&bridge->threads.starts, &bridge->xlator,
                          ring_worker_begin_locked (queue), "thread with an io_uring for requests")
        == 0;
}

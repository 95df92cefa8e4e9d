/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that come through a ring, and their answers. */
#include "fuse/ring/ring.h"

#include "core/data/spare-buffers.h"
#include "fuse/move/hold.h"
#include "fuse/state.h"
#include "fuse/threads/threads.h"

#include <linux/fuse.h>
#include <sys/mman.h>

/* Most requests and answers fit in this. The rest of an entry's memory is returned to the system
 * when its worker waits in vain. */
#define SMALL (64 * 1024)

/* Everything a thread did before its answer happens before the requests that follow it. The kernel
 * ensures that, but the thread sanitizer can't see it in memory shared with the kernel. For reads
 * and writes of a device the sanitizer assumes this, for all threads. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire (void *address);
void __tsan_release (void *address);
#else
#define __tsan_acquire(address_) ((void) 0)
#define __tsan_release(address_) ((void) 0)
#endif

/* The kernel writes into an entry only while its worker is in io_uring_enter(2)
 * (IORING_SETUP_DEFER_TASKRUN), and a completion is there as soon as it has written. */
void
ring_trim (struct ring_worker *worker)
{
    const struct ring_queue *queue = worker->queue;
    const unsigned n = __atomic_load_n (&queue->n_entries, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < n && !uring_has (&worker->uring); i++) {
        struct ring_entry *entry = queue->entries[i];

        if (__atomic_load_n (&entry->giver, __ATOMIC_RELAXED) != worker || !entry->touched)
            continue;
        madvise (entry->payload + SMALL, MAX_PAYLOAD - SMALL, MADV_DONTNEED);
        entry->touched = false;
    }
    worker->untidy = uring_has (&worker->uring);
    iobref_unref (g_steal_pointer (&worker->thread.iobref));
    iobuf_trim ();
}

static void
entry_answer (struct ring_entry *entry, int error, size_t size)
{
    struct fuse_out_header *out = (struct fuse_out_header *) entry->header->in_out;

    out->len = (uint32_t) (sizeof *out + size);
    out->error = error;
    /* ring_interrupt may read it meanwhile */
    __atomic_store_n (&out->unique, entry->unique, __ATOMIC_RELAXED);
    entry->header->ent.payload_size = (uint32_t) size;
    __tsan_release (entry->queue->ring);
    ring_give (entry);
}

static uint64_t
request_number (const struct ring_entry *entry, uint64_t unique)
{
    return RING_REQUEST | (uint64_t) entry->queue->number << RING_QUEUE_SHIFT
         | (uint64_t) entry->number << RING_ENTRY_SHIFT
         | (unique & ((1ULL << RING_ENTRY_SHIFT) - 1));
}

/* Copies the payload to a buffer of the daemon, since the entry is reused when its request is
 * answered. A translator may keep a write's data longer, and a request whose caller was killed goes
 * on (interrupt.c). NULL if there is no memory. */
static char *
payload_for (struct ring_entry *entry, size_t size)
{
    struct request_thread *thread = &entry->lender->thread;

    if (!request_thread_buffer (thread))
        return NULL;
    return memcpy ((char *) thread->iobref->bufs[0]->ptr + PAYLOAD_OFFSET, entry->payload, size);
}

/* Builds the request as read(2) would return it: header, the part of fixed size, and the payload.
 * Returns its size, or 0 if it is malformed. */
static size_t
entry_assemble (struct ring_entry *entry, char **ret_request)
{
    struct fuse_in_header in;
    char *to;
    const size_t payload = entry->header->ent.payload_size;
    size_t fixed;

    memcpy (&in, entry->header->in_out, sizeof in);
    entry->unique = in.unique;
    entry->commit_id = entry->header->ent.commit_id;
    if (payload > MAX_PAYLOAD || in.len < sizeof in + payload)
        return 0;
    fixed = in.len - sizeof in - payload;
    if (fixed > sizeof entry->header->op_in)
        return 0;
    to = payload_for (entry, payload);
    if (!to)
        return 0;
    in.unique = request_number (entry, in.unique);
    __atomic_store_n (&entry->open, in.unique, __ATOMIC_RELEASE);
    *ret_request = to - fixed - sizeof in;
    memcpy (*ret_request, &in, sizeof in);
    memcpy (to - fixed, entry->header->op_in, fixed);
    message_lend (entry->lender->thread.iobref, *ret_request, in.len);
    return in.len;
}

/* libfuse never answers a forget. Through a ring the kernel waits for an answer even so. It sends a
 * forget that way if it can't use an entry of a listing (fuse_force_forget in fs/fuse/readdir.c of
 * Linux); other forgets come through the device. */
static bool
is_forget (const struct ring_entry *entry)
{
    const struct fuse_in_header *in = (const struct fuse_in_header *) entry->header->in_out;

    return in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET;
}

void
ring_handle (struct ring_worker *worker, struct ring_entry *entry)
{
    struct bridge *bridge = worker->thread.bridge;
    struct fuse_buf buf = { 0 };
    const bool is_nudge = ring_is_nudge (entry), unanswered = is_nudge || is_forget (entry);
    char *request = NULL;

    __atomic_store_n (&worker->busy, true, __ATOMIC_RELAXED);
    entry->lender = worker;
    worker->at = entry;
    __atomic_add_fetch (&entry->queue->in_use, 1, __ATOMIC_SEQ_CST);
    ring_watch (entry->queue->ring);
    __tsan_acquire (entry->queue->ring);
    buf.size = entry_assemble (entry, &request);
    buf.mem = request;
    entry->touched |= entry->header->ent.payload_size > SMALL;
    worker->untidy |= entry->touched;
    if (buf.size == 0) {
        gf_log (&bridge->xlator, GF_LOG_WARNING,
                "a request through io_uring is malformed, or there is no memory for it");
        entry_answer (entry, -EIO, 0);
        return;
    }
    if (!is_nudge)
        hold_process (&worker->thread, &buf);
    if (unanswered)
        entry_answer (entry, 0, 0);
    __atomic_store_n (&worker->busy, false, __ATOMIC_RELAXED);
}

static struct ring_entry *
ring_entry_of (struct bridge *bridge, uint64_t request)
{
    const struct ring_queue *queue =
        &bridge->ring->queues[(request & ~RING_REQUEST) >> RING_QUEUE_SHIFT];

    return queue->entries[(request >> RING_ENTRY_SHIFT) & (RING_ENTRIES_MAX - 1)];
}

/* Answers a request of the ring. */
static ssize_t
ring_answer_here (struct bridge *bridge, const struct iovec *iov, int count)
{
    const struct fuse_out_header *header = iov[0].iov_base;
    struct ring_entry *entry = ring_entry_of (bridge, header->unique);
    const size_t size = iov_length (iov + 1, count - 1);
    uint64_t number = header->unique;
    int error = header->error;

    if (!__atomic_compare_exchange_n (&entry->open, &number, 0, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
        errno = ENOENT;
        return -1;
    }
    if (size > MAX_PAYLOAD)
        error = -EIO;
    else
        iov_unload (entry->payload, MAX_PAYLOAD, iov + 1, count - 1);
    entry->touched |= size > SMALL;
    entry_answer (entry, error, error ? 0 : size);
    return (ssize_t) (sizeof *header + size);
}

ssize_t
ring_answer (struct bridge *bridge, int fd, const struct iovec *iov, int count)
{
    const struct fuse_out_header *header = iov[0].iov_base;

    return header->unique & RING_REQUEST ? ring_answer_here (bridge, iov, count)
                                         : writev (fd, iov, count);
}

static bool
queue_has (const struct ring_queue *queue, uint64_t unique, uint64_t *ret_request)
{
    const unsigned n = __atomic_load_n (&queue->n_entries, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < n; i++) {
        const struct ring_entry *entry = queue->entries[i];
        const struct fuse_in_header *in = (const void *) entry->header->in_out;

        if (__atomic_load_n (&in->unique, __ATOMIC_RELAXED) != unique)
            continue;
        *ret_request = request_number (entry, unique);
        return true;
    }
    return false;
}

/* Finds the request in its entry, even if it isn't handled yet. */
void
ring_interrupt (struct bridge *bridge, void *message, size_t size)
{
    const struct fuse_in_header *header = message;
    struct fuse_interrupt_in *interrupt = (struct fuse_interrupt_in *) (header + 1);
    const struct fuse_ring *ring = bridge->ring;
    const uint64_t unique = interrupt->unique;

    if (size < sizeof *header + sizeof *interrupt)
        return;
    for (unsigned i = 0; i < ring->n_queues; i++)
        if (queue_has (&ring->queues[i], unique, &interrupt->unique))
            return;
}

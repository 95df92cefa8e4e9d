/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the kernel send a request: FUSE_NOTIFY_RETRIEVE has it send cached data of a file, here no
 * bytes of it, and no caller waits for that. The request comes to the queue of the processor that
 * asks, and its answer brings the requests that were left in that queue. Linux accepts any file
 * that it knows, and no directory. If it knows no file, the requests wait for the queue's next
 * answer.
 */
#include "fuse/ring/ring.h"

#include "fuse/state.h"

#include <linux/fuse.h>
#include <sched.h>
#include <unistd.h>

#define NUDGES (1ULL << 62) /* differs from the kernel's own numbers, which count up from 0 */
#define TRIES 16            /* files to try, since the kernel may have forgotten some */

struct message {
    struct fuse_out_header header;
    struct fuse_notify_retrieve_out retrieve;
};

static bool
nudge_ask_about (struct fuse_ring *ring, uint64_t nodeid)
{
    const struct message message = {
        .header = { .len = sizeof message, .error = FUSE_NOTIFY_RETRIEVE },
        .retrieve = { .notify_unique = NUDGES
                                     + 2 * __atomic_fetch_add (&ring->nudges, 1, __ATOMIC_RELAXED),
                      .nodeid = nodeid },
    };

    if (write (fuse_session_fd (ring->bridge->session), &message, sizeof message) < 0)
        return false;
    __atomic_store_n (&ring->file, nodeid, __ATOMIC_RELAXED);
    return true;
}

static void
nudge_ask (struct fuse_ring *ring)
{
    const uint64_t last = __atomic_load_n (&ring->file, __ATOMIC_RELAXED);
    uint64_t nodeids[TRIES];
    unsigned n = 0, i = 0;
    bool asked = last && nudge_ask_about (ring, last);

    if (!asked)
        n = itable_known_files (ring->bridge->itable, nodeids, TRIES);
    while (!asked && i < n)
        asked = nudge_ask_about (ring, nodeids[i++]);
    if (!asked)
        gf_log (&ring->bridge->xlator, GF_LOG_DEBUG,
                "the kernel can't be asked for a request: of %u files it knows none", n);
}

/* Moves a thread that isn't pinned to the queue's processor for a moment. */
void
ring_nudge (struct ring_queue *queue)
{
    cpu_set_t before, there;
    bool moves = !queue->ring->pinned && queue->number < CPU_SETSIZE
              && sched_getaffinity (0, sizeof before, &before) == 0;

    if (moves) {
        CPU_ZERO (&there);
        CPU_SET (queue->number, &there);
        moves = sched_setaffinity (0, sizeof there, &there) == 0;
    }
    nudge_ask (queue->ring);
    if (moves)
        (void) sched_setaffinity (0, sizeof before, &before);
}

bool
ring_is_nudge (const struct ring_entry *entry)
{
    const struct fuse_in_header *in = (const struct fuse_in_header *) entry->header->in_out;

    return in->opcode == FUSE_NOTIFY_REPLY;
}

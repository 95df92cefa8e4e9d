/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An io_uring as src/fuse/ring.h needs one: commands of the fuse device, and somebody who wakes the thread that waits. So little
 * that it isn't worth a library, of which a build might do without.
 */
#ifndef WINDLASS_FUSE_URING_H
#define WINDLASS_FUSE_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined IORING_SETUP_SQE128
#define HAVE_URING 1
#endif

/* --- what the kernel has for it, since 6.14: not in every linux/fuse.h --- */

#define FLAG_OVER_IO_URING (1ULL << 41) /* of INIT */

enum ring_command { RING_REGISTER = 1, RING_COMMIT_AND_FETCH = 2 };

struct ring_header {
    char in_out[128]; /* struct fuse_in_header, then the answer's struct fuse_out_header */
    char op_in[128];  /* what the operation has besides, of a fixed size */
    struct {
        uint64_t flags;
        uint64_t commit_id; /* of the request, for its answer */
        uint32_t payload_size;
        uint32_t padding;
        uint64_t reserved;
    } ent;
};

struct ring_submission {
    uint64_t flags;
    uint64_t commit_id;
    uint16_t queue;
    uint8_t padding[6];
};

/* --- one of them --- */

struct uring {
    int fd;            /* -1: there is none */
    char *rings, *sqes; /* what the kernel shows of it */
    size_t rings_size, sqes_size;
    struct io_uring_params params;
    unsigned sq_tail, cq_head;
};

/* With room for so many submissions, about device, and one that wakes who waits. 0, or a negative errno. One thread uses it. */
int uring_open (struct uring *ret_uring, unsigned entries, int device, int eventfd);
void uring_close (struct uring *uring);

/* Puts in a command of the device with that data; it goes with the next uring_submit or uring_wait. There is room. */
void uring_put (struct uring *uring, enum ring_command command, const struct ring_submission *submission, const void *iov, void *data);
bool uring_is_full (struct uring *uring);
/* From now on a write to the eventfd is something that is done, without data. */
void uring_watch (struct uring *uring);
/* 0, or a negative errno. */
int uring_submit (struct uring *uring);

/* Submits what was put in, waits until something is done, or a signal came. 0, or a negative errno. */
int uring_wait (struct uring *uring);
/* The next thing that is done: its data and result. */
bool uring_take (struct uring *uring, void **ret_data, int *ret_result);

#endif

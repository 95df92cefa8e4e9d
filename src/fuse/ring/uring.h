/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An io_uring as src/fuse/ring/ring.h needs one: commands of the fuse device, and somebody who
 * wakes the thread that waits. By liburing; a build without it can open none.
 */
#ifndef WINDLASS_FUSE_RING_URING_H
#define WINDLASS_FUSE_RING_URING_H

#include "config.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef HAVE_LIBURING
#include <liburing.h>
#define URING_IS_BUILT true
#else
#define URING_IS_BUILT false
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

#define URING_COMMAND_SIZE 80 /* bytes of a submission's command, of which that is the beginning */

/* --- one of them --- */

struct uring {
    bool open;
#ifdef HAVE_LIBURING
    struct io_uring io;
#endif
};

/* With room for so many submissions, about device, and one that wakes who waits. 0, or a negative
 * errno. One thread uses it. */
int uring_open (struct uring *ret_uring, unsigned entries, int device, int eventfd);
void uring_close (struct uring *uring);

/* This thread is the one that uses it from now on. 0, or a negative errno. */
int uring_begin (struct uring *uring);

/* Puts in a command of the device with that data; it goes with the next uring_submit or uring_wait.
 * There is room. */
void uring_put (struct uring *uring, enum ring_command command,
                const struct ring_submission *submission, const void *iov, void *data);
bool uring_is_full (struct uring *uring);
/* From now on a write to the eventfd is something that is done, without data. */
void uring_watch (struct uring *uring);
/* 0, or a negative errno. */
int uring_submit (struct uring *uring);

/* Submits what was put in, waits until something is done, a signal came, or that many nanoseconds
 * are over (0: for ever): then -ETIME. 0, or another negative errno. */
int uring_wait (struct uring *uring, int64_t nanoseconds);
/* Whether something is. */
bool uring_has (struct uring *uring);
/* The next thing that is done: its data and result. */
bool uring_take (struct uring *uring, void **ret_data, int *ret_result);

#endif

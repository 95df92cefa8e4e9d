/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An io_uring for src/fuse/ring/ring.h: commands of the fuse device, and an eventfd that wakes the
 * waiting thread. It uses liburing; a build without liburing can't open one.
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

/* --- the kernel's interface, since 6.14: not in every linux/fuse.h --- */

#define FLAG_OVER_IO_URING (1ULL << 41) /* flag of INIT */

enum ring_command { RING_REGISTER = 1, RING_COMMIT_AND_FETCH = 2 };

struct ring_header {
    char in_out[128]; /* struct fuse_in_header, then the answer's struct fuse_out_header */
    char op_in[128];  /* the operation's struct, of a fixed size */
    struct {
        uint64_t flags;
        uint64_t commit_id; /* of the request; the answer needs it */
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

#define URING_COMMAND_SIZE 80 /* size of a submission's command, which begins with this struct */

/* --- an io_uring --- */

struct uring {
    bool open;
#ifdef HAVE_LIBURING
    struct io_uring io;
#endif
};

/* Opens an io_uring with room for so many submissions, for the device and for the eventfd. 0, or a
 * negative errno. One thread uses it. */
int uring_open (struct uring *ret_uring, unsigned entries, int device, int eventfd);
void uring_close (struct uring *uring);

/* Makes the calling thread the one that uses it. 0, or a negative errno. */
int uring_begin (struct uring *uring);

/* Adds a command for the device; the next uring_submit or uring_wait submits it. data comes back
 * with its completion. There must be room. */
void uring_put (struct uring *uring, enum ring_command command,
                const struct ring_submission *submission, const void *iov, void *data);
bool uring_is_full (struct uring *uring);
/* From now on each write to the eventfd gives a completion without data. */
void uring_watch (struct uring *uring);
/* 0, or a negative errno. */
int uring_submit (struct uring *uring);

/* Submits the added commands, and waits for a completion, a signal, or so many nanoseconds (0: no
 * limit): then -ETIME. Returns 0 or a negative errno. */
int uring_wait (struct uring *uring, int64_t nanoseconds);
/* Returns whether there is a completion. */
bool uring_has (struct uring *uring);
/* Takes the next completion: its data and result. Returns false if there is none. */
bool uring_take (struct uring *uring, void **ret_data, int *ret_result);

#endif

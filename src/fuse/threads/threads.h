/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads that take requests from the kernel and wind them, of every transport. */
#ifndef WINDLASS_FUSE_THREADS_THREADS_H
#define WINDLASS_FUSE_THREADS_THREADS_H

#include "core/data/iobuf.h"
#include "core/time/attempt.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct bridge;

/* The largest payload of a request, and the size of the kernel's header of a write, which precedes
 * the payload. A write's payload is placed on a page boundary, so that storage can use it for
 * direct I/O. */
#define MAX_PAYLOAD (1 << 20)
#define WRITE_HEADER 80
#define PAYLOAD_OFFSET 4096

struct request_thread {
    struct bridge *bridge;
    /* Takes requests until the mount ends. Returns false if another thread may use the struct
     * now. */
    bool (*run) (struct request_thread *thread);
    pthread_t thread;
    struct iobref *iobref; /* buffer for the kernel's next request, or for the data of a write; used
                            * by the thread */
    struct request_thread *next; /* in bridge->threads.all; bridge->lock */
    bool running;                /* whether the thread was started and not detached; bridge->lock */
    bool busy;                   /* whether it handles a request of the kernel; atomic */
};

struct request_threads {
    struct request_thread *all; /* those with running set; bridge->lock */
    unsigned n_running;         /* threads that have not ended; bridge->lock */
    struct attempt starts;      /* starts of threads, with the resources of each; bridge->lock */
};

/* Starts a thread, whose bridge and run are set. 0, or a negative errno. Under bridge->lock. */
int request_thread_start_locked (struct request_thread *thread, const char *name);
/* Called by a thread that ends before the mount: another thread may then use the struct. Under
 * bridge->lock. */
void request_thread_leave_locked (struct request_thread *thread);
/* Makes sure that thread->iobref is a buffer that no other code uses. Returns false if there is no
 * memory. */
bool request_thread_buffer (struct request_thread *thread);

/* Wakes the threads of all transports. Under bridge->lock. */
void request_threads_signal_locked (struct bridge *bridge);
/* Makes each thread end after its current request. Returns whether all ended within so many
 * nanoseconds. */
bool request_threads_stop (struct bridge *bridge, int64_t patience);

/* The message that this thread handles: the buffer that it lies in, the number in its header, and
 * groups_sent of it. message_lend sets them. */
void message_lend (struct iobref *iobref, const void *message, size_t size);
struct iobref *message_iobref (void);
uint64_t message_number (void);
gid_t message_group (void);

#endif

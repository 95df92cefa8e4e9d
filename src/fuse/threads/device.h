/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The transport of /dev/fuse: threads fuse-0, fuse-1, ... A reader takes a request from the kernel,
 * runs it to storage and back, and returns for the next. A few readers wait at a time, since the
 * kernel then wakes one that ran last where the caller runs. More waiting readers would have cold
 * caches, so the rest is parked. When the last waiting reader takes a request, it wakes a parked
 * reader or starts a new one. If it can't, it leaves work that may block to core/work. Readers that
 * aren't needed for a while end.
 */
#ifndef WINDLASS_FUSE_THREADS_DEVICE_H
#define WINDLASS_FUSE_THREADS_DEVICE_H

#include "fuse/threads/place.h"
#include "fuse/threads/threads.h"
#include "fuse/transport.h"

#define READERS_MAX 64

struct device_reader {
    struct request_thread thread; /* first */
    struct thread_place place;
};

/* Guarded by bridge->lock, where nothing else is said. */
struct device_readers {
    unsigned idle;         /* readers that wait for a request; atomic */
    unsigned parked;       /* readers that aren't needed now; atomic, changed under the lock */
    bool only_asides;      /* callers' requests come on another transport; atomic */
    int64_t grown;         /* clock_now when the last reader was added */
    pthread_cond_t needed; /* signals parked readers */
    unsigned n_readers;    /* readers that run */
    struct device_reader readers[READERS_MAX]; /* those whose thread doesn't run are free */
};

extern const struct transport device_transport;

/* From now on the device brings only forgets and interrupts, for which no caller waits. */
void device_brings_asides (struct bridge *bridge);

void device_dump (struct bridge *bridge, GString *out);

#endif

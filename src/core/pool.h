/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that do what others can't wait for, in the order in which it came. They come as there is work for them, up to a number, and go
 * when they had none for some seconds. Who rested last is called first, so that those beyond what is needed go. Where processors are what they wait for, no more are
 * at work than these are kept busy by: core/crowd.h.
 */
#ifndef WINDLASS_CORE_POOL_H
#define WINDLASS_CORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* Something to be done; it is part of what run needs, whose memory is run's own from then on. */
struct pool_job {
    void (*run) (struct pool_job *job);
    struct pool_job *next;
};

struct pool;

/* Threads are called NAME-0, NAME-1, ...; there are none yet. */
struct pool *pool_new (const char *name, unsigned most);

/* Has job->run called once, without a lock held: by one of the threads; if none can be started and there is none, by this one. */
void pool_put (struct pool *pool, struct pool_job *job);

/* Takes a job back that no thread has begun with: it isn't done then. false: it wasn't put yet, or is being done, or was. */
bool pool_take_back (struct pool *pool, const struct pool_job *job);

/* Jobs that wait for a thread; threads that do one; all; how many may do one at a time, without those that have been at it for long. */
struct pool_numbers {
    unsigned waiting, busy, threads, limit;
};

struct pool_numbers pool_count (struct pool *pool);

/* Waits until there is nothing to do, or that time of clock_now has come (-1: never). Whether it is done. */
bool pool_wait (struct pool *pool, int64_t until);

/* Waits until all is done, and ends the threads. Nothing may come any more. Takes NULL. */
void pool_free (struct pool *pool);

#endif

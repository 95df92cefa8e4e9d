/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What threads write down while they serve requests, without a lock: each has a ring of its own,
 * which one reader empties. A ring that is full takes no more until the reader comes, and counts
 * what it lost. Rings live for ever, and go from a thread that ended to the next one; their memory
 * is given back while nobody writes.
 */
#ifndef WINDLASS_TRACE_TIMELINE_RINGS_H
#define WINDLASS_TRACE_TIMELINE_RINGS_H

#include "core/edge/frame.h"
#include "core/base/gfid.h"

#include <semaphore.h>

enum ring_kind { RING_ABOUT, RING_NAME, RING_WIND, RING_UNWIND };

#define RING_NAME_BYTES 40

/* One line of the processor's cache. */
struct ring_record {
    uint64_t ticks;   /* never less than in the record before, of one thread */
    uint64_t request; /* its number */
    uint8_t kind, op;
    uint8_t tail;     /* wind, unwind: the caller handed its own request on */
    uint8_t top;      /* wind: from the frame of who made the request */
    uint16_t thread;  /* ring_thread_name; filled in by ring_put */
    uint16_t used;    /* name: how many bytes there are here */
    union {
        struct {
            uint64_t caused_by;
            int64_t offset;
            uint32_t size;
            int32_t pid;
            gfid_t gfid; /* of the inode, or of the directory of the name that follows */
        } about;
        char name[RING_NAME_BYTES];
        struct {
            const call_frame_t *frame, *parent; /* only which they are */
            const xlator_t *caller, *callee;
            uint32_t uid;
        } wind;
        struct {
            const call_frame_t *frame;
            const xlator_t *callee;
            uint64_t begin; /* ticks of its wind */
            int32_t op_ret, op_errno;
        } unwind;
    };
};

_Static_assert (sizeof (struct ring_record) == 64, "a record is one line of the cache");

/* Writes n records one behind the other, all or none; on the path of a request. */
void ring_put (struct ring_record *records, unsigned n);

/* Everything below is for the one reader. */

/* What is there now doesn't count. Before the first ring_put. */
void rings_begin (void);
/* The memory is given back; what comes late is not read by the next one. */
void rings_end (void);

/* Hands over all records from before `until` ticks, of one thread after the other, in the order in
 * which each wrote them. So whatever led to a record that was handed over, on any thread, was
 * handed over as well, now or before. */
void rings_drain (uint64_t until, void (*take) (const struct ring_record *record, void *data),
                  void *data);

/* How many records found no room since rings_begin. */
uint64_t rings_lost (void);

/* Posted when some ring becomes half full. */
extern sem_t rings_filling;

/* The name of a thread that wrote. Constant. */
const char *ring_thread_name (uint16_t thread);

#endif

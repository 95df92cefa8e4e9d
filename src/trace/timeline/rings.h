/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records that threads write while they serve requests, without a lock: each thread has a ring of
 * its own, which one reader empties. A full ring takes no more records until the reader comes, and
 * counts the lost ones. Rings are never freed, and pass from a thread that ended to the next one.
 * Their memory is given back while there is no recording.
 */
#ifndef WINDLASS_TRACE_TIMELINE_RINGS_H
#define WINDLASS_TRACE_TIMELINE_RINGS_H

#include "core/edge/frame.h"
#include "core/base/gfid.h"

#include <semaphore.h>

enum ring_kind { RING_ABOUT, RING_NAME, RING_WIND, RING_UNWIND, RING_CALL };

#define RING_NAME_BYTES 40

/* One cache line. Translators and servers are kept as names that are never freed (xlator_init): the
 * recording outlives them. */
struct ring_record {
    uint64_t ticks;   /* never decreases within one thread */
    uint64_t request; /* the request's number */
    uint8_t kind, op;
    uint8_t tail;     /* wind, unwind: the caller passed its own request on */
    uint8_t top;      /* wind: from the frame of the request's maker */
    uint16_t thread;  /* see ring_thread_name; filled in by ring_put */
    union {
        uint16_t used;  /* name: number of bytes used here */
        uint16_t error; /* call: a positive errno if there was no answer; 0: none */
    };
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
            const call_frame_t *frame, *parent; /* only compared */
            const char *caller, *callee;
            uint32_t uid;
        } wind;
        struct {
            const call_frame_t *frame;
            const char *callee;
            uint64_t begin; /* ticks of the frame's wind */
            int32_t op_ret, op_errno;
        } unwind;
        struct { /* a server has answered a call */
            const call_frame_t *frame; /* for which it was made */
            const char *caller, *server;
            const char *name; /* constant */
            uint64_t begin;   /* ticks */
        } call;
    };
};

_Static_assert (sizeof (struct ring_record) == 64, "a record is one line of the cache");

/* Writes n consecutive records, all or none; on the path of a request. */
void ring_put (struct ring_record *records, unsigned n);

/* The functions below are for the single reader. */

/* Discards existing records. Before the first ring_put. */
void rings_begin (void);
/* Gives the memory back; later records are not read by the next recording. */
void rings_end (void);

/* Passes on all records from before `until` ticks, one thread after the other, in the order in
 * which each wrote them. If a record is passed on, so are all records that led to it, on any
 * thread, in this call or an earlier one. */
void rings_drain (uint64_t until, void (*take) (const struct ring_record *record, void *data),
                  void *data);

/* Number of records lost since rings_begin. */
uint64_t rings_lost (void);

/* Posted when a ring becomes half full. */
extern sem_t rings_filling;

/* The name of a thread that has written. Constant. */
const char *ring_thread_name (uint16_t thread);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From records of many threads to whole requests. */
#ifndef WINDLASS_TRACE_TIMELINE_ASSEMBLE_H
#define WINDLASS_TRACE_TIMELINE_ASSEMBLE_H

#include "trace/timeline/rings.h"

#define SPAN_NONE UINT32_MAX

enum span_state {
    SPAN_ANSWERED,
    SPAN_OPEN, /* not answered when the recording ended */
    SPAN_LOST, /* its answer is not among the records */
};

/* From a wind to its answer. Within a request parents come before children, and what begins earlier
 * before what begins later. */
struct span {
    uint64_t begin, end; /* ticks */
    const xlator_t *caller, *callee;
    uint32_t parent;     /* index; SPAN_NONE: who made the request wound it, or nobody knows who */
    uint32_t lane;       /* a track of the picture: recording.c */
    int32_t op_ret, op_errno;
    uint16_t thread, end_thread; /* that wound, that answered */
    uint8_t op, state, tail;
    uint8_t top;         /* who made the request wound it */
};

struct timeline_request {
    uint64_t unique, caused_by;
    uint64_t begin, end; /* ticks */
    uint64_t sequence;   /* when it was whole, of all of them */
    GRefString *path;    /* or NULL */
    GRefString *name;    /* in the directory that path is, or NULL */
    int64_t offset;
    uint32_t size, uid, lane;
    int32_t pid;
    enum fop op;         /* of the first span */
    bool under_way;      /* when the recording began */
    bool broken;         /* records of it are missing */
    uint32_t n_spans;
    struct span spans[];
};

void timeline_request_free (struct timeline_request *request);

/* How many bytes it takes. */
size_t timeline_request_size (const struct timeline_request *request);

struct assembler;

/* begin: ticks; what began before isn't taken. before: the requests that were in use then, a set of
 * uint64_t, now the assembler's. whole gets each request, and owns it. find_path: the path of a
 * gfid, a new reference, or NULL. */
struct assembler *
assembler_new (uint64_t begin, GHashTable *before,
               void (*whole) (struct timeline_request *request, void *data),
               GRefString *(*find_path) (const gfid_t *gfid, void *data), void *data);
void assembler_free (struct assembler *assembler);

void assembler_take (struct assembler *assembler, const struct ring_record *record);

/* After each round of records: hands on the requests that have been answered since the round
 * before. */
void assembler_round (struct assembler *assembler);

/* The requests in use at some moment: uniques is a set of uint64_t. All records from before that
 * moment must have been taken since. */
struct running_now {
    uint64_t ticks;
    GHashTable *uniques;
};

/* Records were lost: gives up waiting for the answers to requests that are over. */
void assembler_sweep (struct assembler *assembler, const struct running_now *now);

/* Hands on all that there is; what isn't answered is open until `end`, or its answer was lost. */
void assembler_finish (struct assembler *assembler, uint64_t end, const struct running_now *now);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Assembles whole requests from the records of many threads. */
#ifndef WINDLASS_TRACE_TIMELINE_ASSEMBLE_H
#define WINDLASS_TRACE_TIMELINE_ASSEMBLE_H

#include "trace/timeline/rings.h"

#define SPAN_NONE UINT32_MAX

enum span_state {
    SPAN_ANSWERED,
    SPAN_OPEN, /* not answered when the recording ended */
    SPAN_LOST, /* its answer is not among the records */
};

/* From a wind to its answer, or from a call to a server to its answer. Within a request parents
 * come before children, and earlier spans before later ones. */
struct span {
    uint64_t begin, end; /* ticks */
    /* Names, one text for equal names: of translators, and of the server that a call went to. */
    const char *caller, *callee;
    const char *call;    /* a call to the server callee, such as "WRITE"; NULL: a wind */
    uint32_t parent;     /* index; SPAN_NONE: the maker of the request wound it, or the parent is
                            not known */
    uint32_t lane;       /* a track of the drawing: recording.c; of a call, one of its server's */
    int32_t op_ret, op_errno;
    uint16_t thread, end_thread; /* the threads that wound and that answered */
    uint8_t op, state, tail;
    uint8_t top;         /* wound by the maker of the request */
};

struct timeline_request {
    uint64_t unique, caused_by;
    uint64_t begin, end; /* ticks */
    uint64_t sequence;   /* position in the order of completion */
    GRefString *path;    /* or NULL */
    GRefString *name;    /* name in the directory `path`, or NULL */
    int64_t offset;
    uint32_t size, uid, lane;
    int32_t pid;
    enum fop op;         /* of the first span */
    bool under_way;      /* at the start of the recording */
    bool broken;         /* some of its records are missing */
    uint32_t n_spans;
    struct span spans[];
};

void timeline_request_free (struct timeline_request *request);

/* The memory that it takes, in bytes. */
size_t timeline_request_size (const struct timeline_request *request);

struct assembler;

/* begin: ticks; requests that began earlier are left out. before: the requests in use at that time,
 * a set of uint64_t, owned by the assembler. whole gets each complete request, and owns it.
 * find_path: returns the path of a gfid, a new reference, or NULL. */
struct assembler *
assembler_new (uint64_t begin, GHashTable *before,
               void (*whole) (struct timeline_request *request, void *data),
               GRefString *(*find_path) (const gfid_t *gfid, void *data), void *data);
void assembler_free (struct assembler *assembler);

void assembler_take (struct assembler *assembler, const struct ring_record *record);

/* Call after each round of records: passes on the requests that were complete in the round
 * before. */
void assembler_round (struct assembler *assembler);

/* The requests in use at a moment: uniques is a set of uint64_t. All records from before that
 * moment must have been taken. */
struct running_now {
    uint64_t ticks;
    GHashTable *uniques;
};

/* Records were lost: stops waiting for answers to requests that have ended. */
void assembler_sweep (struct assembler *assembler, const struct running_now *now);

/* Passes on all requests. A span without an answer is open until `end`, or its answer was lost. */
void assembler_finish (struct assembler *assembler, uint64_t end, const struct running_now *now);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The requests that are kept, and their output. It is not read while it grows. */
#ifndef WINDLASS_TRACE_TIMELINE_RECORDING_H
#define WINDLASS_TRACE_TIMELINE_RECORDING_H

#include "trace/timeline/assemble.h"
#include "trace/timeline/timeline.h"

/* A server that was called, and the tracks of its calls. */
struct recording_server {
    const char *name; /* "server:/brick"; one text for equal names */
    unsigned number;  /* index in recording->servers */
    GArray *calls;    /* while lanes are given: of struct lane_user */
    unsigned n_lanes;
};

struct recording {
    struct timeline_settings settings; /* the patterns are the recording's own copy */
    pthread_mutex_t volumes_lock; /* a leaf */
    GHashTable *volumes;  /* names that match the patterns, in all graphs so far; NULL: all are
                             wanted. volumes_lock */
    struct timeline_counts counts;
    uint64_t begin, end;  /* ticks */
    GPtrArray *requests;  /* of struct timeline_request: ordered by begin once finished; before, if
                             only the slowest are kept, a heap with the quickest first */
    GQueue kept;          /* while it grows and all are kept: in order of completion */
    uint64_t bytes;       /* memory of the requests */
    GHashTable *because;  /* finished: maps &unique of a cause to a GPtrArray of the requests it
                             caused */
    GHashTable *causes;   /* finished: the causes that are in the recording, by &unique */
    struct timespec when; /* its start, time of day */
    unsigned n_lanes;     /* finished: without those of servers */
    GPtrArray *servers;   /* finished: of struct recording_server, in the order of first calls */
    GHashTable *servers_by_name; /* finished: the same by the address of their names */
};

struct recording *recording_new (const struct timeline_settings *settings, uint64_t begin);
void recording_free (struct recording *recording); /* takes NULL */

/* Adds the translators of one more graph to those that the patterns may match. May be called on any
 * thread. */
void recording_see (struct recording *recording, const GPtrArray *xlators);

/* Adds a complete request. Takes ownership. */
void recording_add (struct recording *recording, struct timeline_request *request);

/* No more requests come: sorts them. */
void recording_finish (struct recording *recording, uint64_t end);

/* The background requests that it caused, and the request that caused it; NULL if not recorded. */
const GPtrArray *
recording_caused (const struct recording *recording, const struct timeline_request *request);
const struct timeline_request *
recording_cause (const struct recording *recording, const struct timeline_request *request);

/* Appends "/a/b", "<gfid:...>" if the path is not known, or nothing if the request has no file. */
void request_path (const struct timeline_request *request, GString *out);

/* Returns the server that a call went to. */
struct recording_server *
recording_server_of (const struct recording *recording, const struct span *call);

/* Appends the name of a span: "brick-1: writev", or of a call "WRITE server:/brick". */
void span_name (const struct span *span, GString *out);

/* Nanoseconds since the recording began. */
uint64_t recording_ns (const struct recording *recording, uint64_t ticks);

/* Appends the text of a format before the first request, for request number i, and after the
 * last. */
void recording_json_begin (const struct recording *recording, GString *out);
void recording_json_request (const struct recording *recording, guint i, GString *out);
void recording_json_end (const struct recording *recording, GString *out);

void recording_text_begin (const struct recording *recording, GString *out);
void recording_text_request (const struct recording *recording, guint i, GString *out);

/* Adds the own times of a request, in nanoseconds, to stacks, by their names: uint64_t by char
 * *. */
void recording_fold_request (const struct recording *recording, guint i, GHashTable *stacks);

#endif

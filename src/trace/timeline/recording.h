/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The requests that are kept, and how they are printed. Nobody looks at it while it grows. */
#ifndef WINDLASS_TRACE_TIMELINE_RECORDING_H
#define WINDLASS_TRACE_TIMELINE_RECORDING_H

#include "trace/timeline/assemble.h"
#include "trace/timeline/timeline.h"

struct recording {
    struct timeline_settings settings; /* volumes is its own */
    struct timeline_counts counts;
    uint64_t begin, end;  /* ticks */
    GPtrArray *requests;  /* of struct timeline_request: by begin once it is finished; before, a
                             heap with the quickest first if only the slowest are kept */
    GQueue kept;          /* while it grows and all are kept: the oldest first */
    uint64_t bytes;       /* that they take */
    GHashTable *because;  /* finished: by &unique of a cause, GPtrArray of what it caused */
    GHashTable *causes;   /* finished: those of them that are here, by &unique */
    struct timespec when; /* it began, time of day */
    unsigned n_lanes;     /* finished */
};

struct recording *recording_new (const struct timeline_settings *settings, uint64_t begin);
void recording_free (struct recording *recording); /* takes NULL */

/* A request is whole; it is the recording's now. */
void recording_add (struct recording *recording, struct timeline_request *request);

/* No more come: puts them in order. */
void recording_finish (struct recording *recording, uint64_t end);

/* What it caused in the background, and what caused it; NULL where that isn't here. */
const GPtrArray *
recording_caused (const struct recording *recording, const struct timeline_request *request);
const struct timeline_request *
recording_cause (const struct recording *recording, const struct timeline_request *request);

/* Appends "/a/b", "<gfid:...>" where nobody knows a path, or nothing when it is about none. */
void request_path (const struct timeline_request *request, GString *out);

/* Nanoseconds since the recording began. */
uint64_t recording_ns (const struct recording *recording, uint64_t ticks);

/* Appends what a format has before the first request, for request number i, and behind the last. */
void recording_json_begin (const struct recording *recording, GString *out);
void recording_json_request (const struct recording *recording, guint i, GString *out);
void recording_json_end (const struct recording *recording, GString *out);

void recording_text_begin (const struct recording *recording, GString *out);
void recording_text_request (const struct recording *recording, guint i, GString *out);

/* Adds the own times, in nanoseconds, of a request to stacks, by their names: uint64_t by char
 * *. */
void recording_fold_request (const struct recording *recording, guint i, GHashTable *stacks);

#endif

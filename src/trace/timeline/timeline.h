/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording of whole requests: from the first wind to the last answer, on all threads, with the
 * background work that they caused.
 *
 *   watcher --records--> rings --drain--> assembler --whole requests--> recording --> json, text,
 *       folded
 *   (any thread)         (each thread's)  (the thread "timeline")        (filters, limits)
 *
 * There is one recording in a process; the main thread starts and ends it.
 *
 * Reasons:
 *
 * - Records are 64 bytes, in a ring of the thread's own. The thread "timeline" empties the rings
 *   every 10 ms, or when one is half full. So memory is bounded by the kept requests, not by the
 *   length of the recording, and --slowest can run for days. A full ring loses records, and the
 *   recording says how many.
 * - A round takes only records from before its beginning. A record is written before any event that
 *   follows from it gets its time. So a round is complete under cause and effect although rings are
 *   read one after the other.
 * - A span is found by its frame and the time of its wind. Frames are only compared, never read:
 *   they may already serve another request.
 * - Paths are found when a request is complete: later the file may be gone. The record has the
 *   gfid, and for a name in a directory also the name.
 * - JSON has "X" events on lanes, not "b" and "e" on threads: a span that ends on another thread
 *   nests, events are always balanced, and there are as many tracks as concurrent requests.
 * - While it records, a wind and its unwind take about 59 ns, 6 without (gcc 12, -O2):
 *   tests/bench/seen.c.
 */
#ifndef WINDLASS_TRACE_TIMELINE_TIMELINE_H
#define WINDLASS_TRACE_TIMELINE_TIMELINE_H

#include "core/edge/frame.h"
#include "core/data/inode.h"
#include "core/table/opset.h"

/* Filters and limits of a recording. */
struct timeline_settings {
    opset_t fops;        /* only requests with at least one of these operations */
    char **volumes;      /* patterns of names and types: only requests that reached a translator of
                            them; NULL: all. Lent */
    uint64_t min;        /* only requests that took at least so many nanoseconds */
    unsigned slowest;    /* only this number of requests, the slowest; 0: all */
    uint64_t memory;     /* bytes; when exceeded, the oldest requests are dropped */
};

/* Results, for reports. */
struct timeline_counts {
    uint64_t seen;      /* requests */
    uint64_t kept;      /* of those, in the recording */
    uint64_t filtered;  /* left out by a filter, or not among the slowest */
    uint64_t dropped;   /* dropped for lack of memory */
    uint64_t at_start, at_end; /* under way at the start and at the end */
    uint64_t lost;      /* records lost because a ring was full */
    uint64_t broken;    /* requests with missing records */
};

/* Starts to record requests of the translators, which are ordered as graph->xlators. Returns 0;
 * -EALREADY if a recording runs; or another negative errno if the thread can't be started. */
int timeline_start (GPtrArray *xlators, struct itable *itable,
                    const struct timeline_settings *settings);

/* The mount moves to another graph, with the same table of inodes: the recording goes on there. No
 * request may be under way, but of clients of either graph. */
void timeline_move (GPtrArray *xlators);

/* Returns whether a translator's name or type matches one of the patterns. */
bool timeline_wants (char **patterns, const xlator_t *xl);

/* Ends the recording, which stays until the next one, or timeline_clear. Returns 0; -ENOENT if none
 * runs; or -EINPROGRESS if sorting takes longer than `patience` nanoseconds (half a second for
 * 200,000 requests): call it again. patience -1: waits. */
int timeline_stop (int64_t patience, struct timeline_counts *ret_counts);

/* Frees the recording. Returns false if there was none. */
bool timeline_clear (void);

/* Call before the graph is freed: stops, and frees everything. */
void timeline_end (void);

bool timeline_is_on (void);

enum timeline_format { TIMELINE_JSON, TIMELINE_TEXT, TIMELINE_FOLDED };

/* Appends a piece of the recording of about `size` bytes, from *at on, which is 0 at first, and
 * advances *at. *ret_more false: that was the last. *at need not be valid. Returns -ENOENT if there
 * is no recording, -EBUSY while it still grows. folded: lines of the same stack may come more than
 * once. */
int timeline_print (enum timeline_format format, uint64_t *at, size_t size, GString *out,
                    bool *ret_more);

#endif

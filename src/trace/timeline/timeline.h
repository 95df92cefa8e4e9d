/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording of whole requests: from the first wind to the last answer, on all threads, with the
 * work that was done in the background because of them.
 *
 *   watcher --records--> rings --drain--> assembler --whole requests--> recording --> json, text,
 *       folded
 *   (any thread)         (each thread's)  (the thread "timeline")        (filters, what is kept)
 *
 * There is one recording in a process; the main thread starts and ends it.
 *
 * Reasons:
 *
 * - Records are 64 bytes, in a ring of the thread's own. The thread "timeline" empties the rings
 *   every 10 ms, or when one is half full. So memory is bounded by what is kept, not by the length
 *   of the recording, and --slowest can run for days. A full ring loses records, and the recording
 *   says how many.
 * - A round takes the records from before its beginning alone. A record is written before anything
 *   that follows from it gets its time, so a round is closed under cause and effect although rings
 *   are read one after the other.
 * - A span is found by its frame and by when that was wound. Frames are only compared, never read:
 *   they belong to others by then.
 * - Paths are found when a request is whole: later the file may be gone. The record has the gfid,
 *   and of names in directories the name.
 * - JSON has "X" events on lanes, not "b" and "e" on threads: a span that ends on another thread
 *   nests, nothing is unbalanced, and there are as many tracks as requests at a time.
 * - While it records, a wind and its unwind take about 59 ns, 6 without (gcc 12, -O2):
 *   tests/bench/seen.c.
 */
#ifndef WINDLASS_TRACE_TIMELINE_TIMELINE_H
#define WINDLASS_TRACE_TIMELINE_TIMELINE_H

#include "core/edge/frame.h"
#include "core/data/inode.h"
#include "core/table/opset.h"

/* What is recorded, and how much of it is kept. */
struct timeline_settings {
    opset_t fops;        /* only requests with one of these somewhere in them */
    GPtrArray *volumes;  /* of xlator_t: only those that went to one of them; NULL: all. Lent */
    uint64_t min;        /* only those that took so many nanoseconds */
    unsigned slowest;    /* only so many, those that took longest; 0: all */
    uint64_t memory;     /* bytes; the oldest go when there is no more */
};

/* What happened, for who asked. */
struct timeline_counts {
    uint64_t seen;      /* requests */
    uint64_t kept;      /* of those, in the recording */
    uint64_t filtered;  /* that some filter left out, or that weren't among the slowest */
    uint64_t dropped;   /* that found no memory */
    uint64_t at_start, at_end; /* that were under way */
    uint64_t lost;      /* records that found no room */
    uint64_t broken;    /* requests of which records are missing */
};

/* Begins to record requests of the translators, ordered as graph->xlators is. 0; or -EALREADY when
 * it records already, or another errno when there is no thread to be had. */
int timeline_start (GPtrArray *xlators, struct itable *itable,
                    const struct timeline_settings *settings);

/* Ends it; the recording stays until the next one, or timeline_clear. 0; -ENOENT when nothing is
 * recorded; or -EINPROGRESS when it has ended but isn't in order after so many nanoseconds, which
 * takes half a second for 200,000 requests: call it again. -1: waits. */
int timeline_stop (int64_t patience, struct timeline_counts *ret_counts);

/* Frees the recording. false when there was none. */
bool timeline_clear (void);

/* Before the graph goes: stops, and frees all. */
void timeline_end (void);

bool timeline_is_on (void);

enum timeline_format { TIMELINE_JSON, TIMELINE_TEXT, TIMELINE_FOLDED };

/* Appends a piece of the recording of about `size` bytes, from *at on, which begins with 0, and
 * moves *at; false: that was the last. *at may be anything. -ENOENT when there is no recording,
 * -EBUSY while it still grows. folded: lines of the same stack may come more than once. */
int timeline_print (enum timeline_format format, uint64_t *at, size_t size, GString *out,
                    bool *ret_more);

#endif

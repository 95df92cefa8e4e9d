/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts, times and errors of each translator and operation.
 *
 * Counted only while measuring is on. Nothing is ever reset: a client that wants the last seconds
 * reads twice and takes the difference. Three histograms of nanoseconds for each translator and
 * operation:
 *
 *   whole    from the wind to the unwind
 *   below    the part that the translator's own children took
 *   own      the rest: whole = own + below
 *
 * The times of children that work side by side are added. If their sum exceeds the whole, below is
 * the whole and own is 0: so with fan-out, own is a lower bound. The time during which a translator
 * sets a request aside, or waits for another thread, is its own. A translator that passes a call on
 * with STACK_WIND_TAIL is answered together with the one below, so its own time is that of the way
 * down. Work of its own, such as a write that was collected, is counted at the translators below
 * it.
 *
 * Each thread that answers has counters of its own (up to NUMBERS_SHARDS - 1 of them; the others
 * share one), so that counting takes no lock and no locked instruction. Readers add them up;
 * answers that come meanwhile may be included or not.
 *
 * Reasons:
 *
 * - Times of children that run side by side are added up: to know better would take all their times
 *   at each unwind.
 * - The histograms of rows are made when they are needed. Buckets of OpenMetrics end at powers of
 *   two, where histograms do, so their counts are exact.
 * - A thread has a shard until it ends, so that counting is a load, an add and a store.
 * - The daemon prints everything as OpenMetrics, JSON or lines. A second's work and drawings are
 *   made by windlass top and graph, which read the lines.
 * - windlass top renews a lease with each refresh. A switch would stay on when top is killed; a
 *   connection kept open would be one of the eight of the control socket.
 * - Files are counted by inode, with the number that the kernel asks about: no name is made on the
 *   path of a request.
 * - A wind and its unwind cost 34 ns more while numbers are on, of which 19 are two readings of the
 *   counter. A stack of 20 layers nests calls deeper than processors predict returns: all figures
 *   are twice as high there.
 */
#ifndef WINDLASS_TRACE_METRICS_NUMBERS_H
#define WINDLASS_TRACE_METRICS_NUMBERS_H

#include "core/base/histogram.h"
#include "core/edge/translator.h"

#define NUMBERS_SHARDS 16
#define NUMBERS_ERRORS 8 /* number of errnos that are counted separately; others are counted as
                            errno 0 */

/* Reasons to measure. Each is switched separately; measuring stops when none is left. */
enum numbers_reason {
    NUMBERS_SET,    /* a user asked for it: windlass stats --on, .meta/measure_latency, the
                       option */
    NUMBERS_LEASED, /* windlass top is running */
};

/* Starts and stops measuring for all translators of a graph (graph->xlators, routed). At any time,
 * on any thread. */
void numbers_set (GPtrArray *xlators, enum numbers_reason reason, bool on);

/* Returns true if it is measured for that reason; for any reason. */
bool numbers_set_for (GPtrArray *xlators, enum numbers_reason reason);
bool numbers_on (GPtrArray *xlators);

/* Nanoseconds that measuring has been on, in all. */
int64_t numbers_period (GPtrArray *xlators);

/* Frees the counters, when no more requests can come. */
void numbers_free (GPtrArray *xlators);

/* --- reading, on any thread --- */

/* The sums of one translator and operation, without the histograms: cheap, and shown in GlusterFS's
 * .meta (for the whole time). */
struct numbers_sum {
    uint64_t count, failed;         /* answers; those with op_ret < 0 */
    uint64_t sum, min, max;         /* nanoseconds, whole */
    uint64_t own, below;            /* nanoseconds, sums */
};

/* Returns false if no answer was measured; *ret_sum is then all 0. */
bool numbers_sum (const xlator_t *xl, enum fop op, struct numbers_sum *ret_sum);

/* All numbers of one translator and operation. */
struct fop_numbers {
    uint64_t count, failed;
    struct {
        int op_errno; /* 0: all errors that found no place */
        uint64_t count; /* 0: end of the list */
    } errors[NUMBERS_ERRORS + 1];
    struct histogram whole, own, below; /* below has only the answers with children's time; whole
                                           and own have all */
};

/* Adds to *numbers. Returns false if there was nothing to add. */
bool numbers_add (const xlator_t *xl, enum fop op, struct fop_numbers *numbers);
void numbers_clear (struct fop_numbers *numbers);

#endif

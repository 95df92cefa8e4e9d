/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How often, how long, and with which errors each translator was asked for each operation.
 *
 * Counted while measuring is on, and only then; nothing is ever reset, so whoever wants to know of
 * the last seconds reads twice and takes the difference. Three histograms of nanoseconds for each
 * translator and operation:
 *
 *   whole    from the wind to the unwind
 *   below    what the translator's own children took of that
 *   own      the rest: whole = own + below
 *
 * Children that work side by side are added up. Where they take more together than there was time,
 * below is the whole and own is 0: so with fan-out, own is the least that it can have been. The
 * time that a translator sets a request aside, or waits for another thread, is its own. A
 * translator that hands on with STACK_WIND_TAIL is answered for when the one below is, so its own
 * time is what it took on the way down. Work of its own, such as a write that was collected, is
 * counted at the translators below it.
 *
 * Each thread that answers has counters of its own (up to NUMBERS_SHARDS - 1 of them; the others
 * share one), so that nothing takes a lock or the memory bus. Readers add them up; what happens
 * meanwhile may be in or not.
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
 * - windlass top renews a lease with each look. A switch would stay on when top is killed; a
 *   connection kept open would be one of the eight of the control socket.
 * - By path means by inode, named by the number that the kernel asks about: no name is made on the
 *   path.
 * - A wind and its unwind cost 34 ns more while numbers are on, of which 19 are two readings of the
 *   counter. A stack of 20 layers nests calls deeper than processors predict returns: all figures
 *   are twice as high there.
 */
#ifndef WINDLASS_TRACE_METRICS_NUMBERS_H
#define WINDLASS_TRACE_METRICS_NUMBERS_H

#include "core/base/histogram.h"
#include "core/edge/translator.h"

#define NUMBERS_SHARDS 16
#define NUMBERS_ERRORS 8 /* so many errnos are told apart; the rest is counted as errno 0 */

/* Why it is measured. Each is switched by itself; off is when none is left. */
enum numbers_reason {
    NUMBERS_SET,    /* somebody wants it: windlass stats --on, .meta/measure_latency, the option */
    NUMBERS_LEASED, /* windlass top looks at the moment */
};

/* Starts and stops measuring for all translators of a graph (graph->xlators, routed). Any time, on
 * any thread. */
void numbers_set (GPtrArray *xlators, enum numbers_reason reason, bool on);

/* Is it measured for that reason? For any? */
bool numbers_set_for (GPtrArray *xlators, enum numbers_reason reason);
bool numbers_on (GPtrArray *xlators);

/* Frees what was counted, when no request can come any more. */
void numbers_free (GPtrArray *xlators);

/* --- reading, on any thread --- */

/* What there is of one translator and operation, without the histograms: cheap, and what
 * GlusterFS's .meta shows (of the whole). */
struct numbers_sum {
    uint64_t count, failed;         /* answers; those with op_ret < 0 */
    uint64_t sum, min, max;         /* nanoseconds, whole */
    uint64_t own, below;            /* nanoseconds, sums */
};

/* false: it was never answered while it was measured, and *ret_sum is all 0. */
bool numbers_sum (const xlator_t *xl, enum fop op, struct numbers_sum *ret_sum);

/* All of it. */
struct numbers {
    uint64_t count, failed;
    struct {
        int op_errno; /* 0: all that found no place */
        uint64_t count; /* 0: no more */
    } errors[NUMBERS_ERRORS + 1];
    struct histogram whole, own, below; /* below has no values for those without children's time:
                                           whole and own have all */
};

/* Adds it to what is there already. false: there was nothing. */
bool numbers_add (const xlator_t *xl, enum fop op, struct numbers *numbers);
void numbers_clear (struct numbers *numbers);

#endif

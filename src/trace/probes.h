/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * USDT probes for bpftrace, perf, gdb: windlass-probes(7). Nothing is watched while nobody is
 * attached.
 *
 * Reasons:
 *
 * - No call tells of a tracer that attaches: the kernel or bpftrace counts up a semaphore in our
 *   memory. So request_begin looks once for each request, at two loads and one branch
 *   (core/report/probe.h). The first request that finds a semaphore has the graph watched; a timer,
 *   which exists only then, finds them all 0 again.
 * - bpftrace sees six arguments. So those of _end are in another order than those of _start, and
 *   the ones that its scripts need come first.
 * - The path is made at the start and lies in the request's memory until its end, only while one of
 *   the pair's semaphores is on.
 * - Off, probes are 6 instructions a request and none on an edge. With bpftrace attached to unwind
 *   alone an edge takes 3.6 us: tests/bench/seen.c.
 */
#ifndef WINDLASS_TRACE_PROBES_H
#define WINDLASS_TRACE_PROBES_H

#include "core/edge/translator.h"

/* From now on who attaches to a probe gets to see requests of these translators, ordered as
 * graph->xlators is. Without <sys/sdt.h> it does nothing, as the next. */
void probes_begin (GPtrArray *xlators);

/* Before the graph goes. */
void probes_end (void);

#endif

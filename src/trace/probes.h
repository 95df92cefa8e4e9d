/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * USDT probes for bpftrace, perf, gdb: windlass-probes(7). While no tracer is attached, the graph
 * is not watched.
 *
 * Reasons:
 *
 * - There is no notification that a tracer attaches: the kernel or bpftrace increments a semaphore
 *   in the process's memory. So request_begin checks once for each request, with two loads and one
 *   branch (core/report/probe.h). The first request that finds a semaphore has the graph watched; a
 *   timer, which exists only then, finds them all 0 again.
 * - bpftrace sees six arguments. So those of _end are in another order than those of _start, and
 *   the ones that its scripts need come first.
 * - The path is made at the start and kept in the request's memory until its end, only while one of
 *   the pair's semaphores is on.
 * - Off, probes are 6 instructions a request and none on an edge. With bpftrace attached to unwind
 *   alone an edge takes 3.6 us: tests/bench/seen.c.
 */
#ifndef WINDLASS_TRACE_PROBES_H
#define WINDLASS_TRACE_PROBES_H

#include "core/edge/translator.h"

/* From now on a tracer that attaches to a probe sees requests of these translators, which are
 * ordered as graph->xlators. Without <sys/sdt.h> this and probes_end do nothing. */
void probes_begin (GPtrArray *xlators);

/* Call before the graph is freed. */
void probes_end (void);

#endif

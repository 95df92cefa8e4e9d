/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* USDT probes for bpftrace, perf, gdb: windlass-probes(7). Nothing is watched while nobody is attached. */
#ifndef WINDLASS_TRACE_PROBES_H
#define WINDLASS_TRACE_PROBES_H

#include "core/translator.h"

/* From now on who attaches to a probe gets to see requests of these translators, ordered as graph->xlators is. Without <sys/sdt.h> it does
 * nothing, as the next. */
void probes_begin (GPtrArray *xlators);

/* Before the graph goes. */
void probes_end (void);

#endif

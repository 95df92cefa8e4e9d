/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counters of trace/metrics/numbers.c, as text.
 *
 *   metrics_openmetrics   for Prometheus and compatible tools
 *   metrics_json          for programs
 *   metrics_lines         for windlass stats --histogram, top and graph: all data, a line each
 *                         (lines.c)
 */
#ifndef WINDLASS_TRACE_METRICS_METRICS_H
#define WINDLASS_TRACE_METRICS_METRICS_H

#include "core/edge/translator.h"

/* A number of the whole process. */
struct metrics_value {
    const char *name, *unit; /* "resident_memory", "bytes" or NULL */
    const char *help;        /* one sentence, without a full stop */
    uint64_t value;
};

/* The data to print. values ends with an entry without a name. */
struct metrics_of {
    GPtrArray *xlators; /* graph->xlators */
    const char *mountpoint, *version;
    const struct metrics_value *values;
};

void metrics_openmetrics (const struct metrics_of *of, GString *out);
void metrics_json (const struct metrics_of *of, GString *out);

/* histograms: adds those of the whole time, the translator's own time and its children's; else
 * prints the sums alone. */
void metrics_lines (const struct metrics_of *of, bool histograms, GString *out);

/* "ENOENT"; the number if it has no name; "other" for 0. Uses the caller's buffer of at least 16
 * bytes. */
const char *metrics_errno_name (int op_errno, char *buffer);

#endif

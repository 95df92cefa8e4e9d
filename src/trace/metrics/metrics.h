/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What trace/metrics/numbers.c counted, as text.
 *
 *   metrics_openmetrics   for Prometheus and its kind
 *   metrics_json          for programs
 *   metrics_lines         for windlass stats --histogram, top and graph: all of it, a line each
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

/* What is told about. The last value has no name. */
struct metrics_of {
    GPtrArray *xlators; /* graph->xlators */
    const char *mountpoint, *version;
    const struct metrics_value *values;
};

void metrics_openmetrics (const struct metrics_of *of, GString *out);
void metrics_json (const struct metrics_of *of, GString *out);

/* histograms: with those of the whole, the translator's own and its children's times; else the sums
 * alone. */
void metrics_lines (const struct metrics_of *of, bool histograms, GString *out);

/* "ENOENT"; of what has no such name its number, of 0 "other". In a buffer of the caller's, at
 * least 16 bytes. */
const char *metrics_errno_name (int op_errno, char *buffer);

#endif

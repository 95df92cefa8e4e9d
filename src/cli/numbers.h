/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a daemon counted (trace/metrics/lines.c), read again: for windlass stats --histogram, top
 * and graph. */
#ifndef WINDLASS_CLI_NUMBERS_H
#define WINDLASS_CLI_NUMBERS_H

#include "cli/cli.h"
#include "core/base/histogram.h"

/* One operation of one translator. */
struct seen_fop {
    char *name;
    uint64_t count, failed, sum, own_sum, below_sum; /* sums in nanoseconds */
    uint64_t ordinary; /* of those that failed, as core/report/failures.h has it: a name that isn't
                          there, no such attribute */
    struct histogram whole, own, below;
};

struct seen_xlator {
    char *type, *name;
    GArray *children; /* of int: numbers of others */
    GPtrArray *fops;  /* struct seen_fop */
};

/* A file or a process; as struct busy_row. */
struct seen_busy {
    char *name;
    uint64_t key, count, over, failed, bytes, sum, max;
};

struct seen {
    char *measuring; /* set, leased or off */
    int64_t clock;
    GHashTable *values;                   /* texts by name */
    GPtrArray *xlators;                   /* struct seen_xlator */
    GPtrArray *paths, *processes;         /* struct seen_busy */
};

/* Asks the daemon: what is a word of src/daemon/stats.c. NULL after a message. */
struct seen *
numbers_seen_ask (const struct cli_command *command, const char *mountpoint, const char *what);

/* Reads lines, which a hostile daemon may have sent: what makes no sense is left out. */
struct seen *numbers_seen_parse (const char *text);
void numbers_seen_free (struct seen *seen);

struct seen_xlator *numbers_seen_find (const struct seen *seen, const char *name);
struct seen_fop *numbers_seen_fop (const struct seen_xlator *xl, const char *name);

/* "12.3us": at most six columns. In a buffer of the caller's, at least 16 bytes. */
const char *duration_text (uint64_t nanoseconds, char *buffer);

/* Bars of eighths where the terminal knows them, else of '#': so many columns at most. Appended to
 * out. */
void bar_append (GString *out, double part, unsigned columns);

#endif

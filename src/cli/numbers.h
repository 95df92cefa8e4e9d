/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The counters of a daemon (trace/metrics/lines.c), parsed: for windlass stats --histogram, top and
 * graph. */
#ifndef WINDLASS_CLI_NUMBERS_H
#define WINDLASS_CLI_NUMBERS_H

#include "cli/cli.h"
#include "core/base/histogram.h"

/* One operation of one translator. */
struct seen_fop {
    char *name;
    uint64_t count, failed, sum, own_sum, below_sum; /* sums in nanoseconds */
    uint64_t ordinary; /* failures that are ordinary by core/report/failures.h: a missing name, a
                          missing attribute */
    struct histogram whole, own, below;
};

struct seen_xlator {
    char *type, *name;
    GArray *children; /* of int: numbers of other translators */
    GPtrArray *fops;  /* struct seen_fop */
};

/* A server of a translator; like struct server_report. */
struct seen_server {
    char *name, *state;
    int64_t since; /* nanoseconds that it has been up, or has not */
    unsigned xlator, outstanding;
    uint64_t calls, sent, received;
    struct histogram round_trips;
};

/* A file or a process; like struct busy_row. */
struct seen_busy {
    char *name;
    uint64_t key, count, over, failed, bytes, sum, max;
};

struct numbers_seen {
    char *measuring; /* set, leased or off */
    int64_t clock;
    int64_t period; /* nanoseconds that were measured */
    GHashTable *values;                   /* strings by name */
    GPtrArray *xlators;                   /* struct seen_xlator */
    GPtrArray *servers;                   /* struct seen_server */
    GPtrArray *paths, *processes;         /* struct seen_busy */
};

/* Requests the numbers from the daemon; what: a word of src/daemon/commands/stats.c. again: the
 * mount has answered this command before, so its absence means that it has ended. Returns NULL
 * after a message. */
struct numbers_seen *numbers_seen_ask (const struct cli_command *command, const char *mountpoint,
                                       const char *what, bool again);

/* Parses lines, which are not trusted: invalid ones are left out. */
struct numbers_seen *numbers_seen_parse (const char *text);
void numbers_seen_free (struct numbers_seen *seen);

/* Says that measuring is off, and how to start it. any: there are numbers of earlier. */
void numbers_say_off (const struct cli_command *command, const char *mountpoint, bool any);

struct seen_xlator *numbers_seen_find (const struct numbers_seen *seen, const char *name);
struct seen_fop *numbers_seen_fop (const struct seen_xlator *xl, const char *name);

/* "12.3us": at most six columns. Uses the caller's buffer of at least 16 bytes. */
const char *duration_text (uint64_t nanoseconds, char *buffer);

/* Appends a bar of at most `columns` columns: in eighths if the terminal supports them, else of
 * '#'. */
void bar_append (GString *out, double part, unsigned columns);

#endif

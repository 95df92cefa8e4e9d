/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass top: top.c asks and reckons, top-screen.c shows it in a terminal. */
#ifndef WINDLASS_CLI_TOP_H
#define WINDLASS_CLI_TOP_H

#include "cli/numbers.h"

enum top_view { TOP_TRANSLATORS, TOP_FOPS, TOP_PATHS, TOP_PROCESSES, TOP_VIEWS };
enum top_sort { SORT_CALLS, SORT_ERRORS, SORT_MEAN, SORT_P99, SORT_SHARE, SORT_NAME, TOP_SORTS };

/* What happened between two looks. */
struct top_row {
    char *name; /* without what a terminal would act on */
    double calls, errors, bytes; /* each second; bytes: of paths and processes */
    uint64_t mean, p50, p99;     /* nanoseconds; of paths and processes p50 isn't known, and p99 is
                                    the longest since top began */
    double share;                /* of the time of all rows, 0 to 1: translators' own time, else the
                                    whole */
};

struct top {
    const struct cli_command *command;
    const char *mountpoint;
    double interval; /* seconds */
    int64_t rounds;  /* -1: until it is told to end */
    enum top_view view;
    enum top_sort sort;
    bool one_view;   /* batch: of --by */
    struct seen *before, *now;
};

extern const char *const top_view_names[TOP_VIEWS];
extern const char *const top_sort_names[TOP_SORTS];

/* Looks again, and says that somebody still looks. false after a message. */
bool top_look (struct top *top);

/* Rows of a view, sorted as top->sort says; those where nothing happened are left out.
 * g_ptr_array_unref it. */
GPtrArray *top_rows (const struct top *top, enum top_view view);

/* Seconds between the two looks. */
double top_seconds (const struct top *top);

/* One line of the table, and its heading. */
void top_heading (enum top_view view, GString *out);
void top_line (const struct top_row *row, enum top_view view, GString *out);

/* The first line of all. */
void top_title (const struct top *top, GString *out);

/* Somebody wants it to end: a signal. */
bool top_is_over (void);

/* Until q. The exit status. */
int top_screen (struct top *top);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass top: fetches the numbers of a mount repeatedly, and shows what changed. */
#ifndef WINDLASS_CLI_TOP_TOP_H
#define WINDLASS_CLI_TOP_TOP_H

#include "cli/numbers.h"

enum top_view { TOP_TRANSLATORS, TOP_FOPS, TOP_PATHS, TOP_PROCESSES, TOP_BRICKS, TOP_VIEWS };
enum top_sort { SORT_CALLS, SORT_ERRORS, SORT_MEAN, SORT_P99, SORT_SHARE, SORT_NAME, TOP_SORTS };

/* A row: changes between two refreshes. */
struct top_row {
    char *name; /* without control characters */
    double calls, errors, bytes; /* per second; bytes: only for paths and processes */
    uint64_t mean, p50, p99;     /* nanoseconds; for paths and processes p50 is not known, and p99
                                    is the maximum since top began */
    double share;                /* of the time of all rows, 0 to 1: of translators' own time, else
                                    of the whole */
    /* Of a brick alone. */
    char *state;                 /* "down since 12:01:30" */
    double sent, received;       /* bytes per second */
    unsigned outstanding;        /* calls without an answer */
};

struct top {
    const struct cli_command *command;
    const char *mountpoint;
    double interval; /* seconds */
    int64_t rounds;  /* -1: until a signal */
    enum top_view view;
    enum top_sort sort;
    bool one_view;   /* batch: --by was given */
    unsigned columns; /* of the output */
    struct numbers_seen *before, *now;
};

/* --- names.c --- */

extern const char *const top_view_names[TOP_VIEWS];
extern const char *const top_sort_names[TOP_SORTS];

/* Replaces control characters by '?'. g_free the result. */
char *top_clean (const char *name);

/* Columns of a terminal that a text takes. */
unsigned top_width (const char *text);
/* Bytes of its start that fit into a width. */
size_t top_fit (const char *text, unsigned width);

/* Appends a name, cut or filled to a width. */
void top_append_name (GString *out, const char *name, unsigned width);

/* --- over.c --- */

void top_catch_signals (void);
/* Returns true after a signal that ends the program. */
bool top_is_over (void);
/* A signal ends the pause. */
void top_pause (double seconds);

/* --- look.c --- */

/* Fetches the numbers, and renews the lease. Returns false after a message. */
bool top_look (struct top *top);
/* Seconds between the last two refreshes. */
double top_seconds (const struct top *top);

/* --- rows.c --- */

/* The rows of a view, sorted by top->sort; rows without activity are left out. Freed with
 * g_ptr_array_unref. */
GPtrArray *top_rows (const struct top *top, enum top_view view);

/* --- lines.c --- */

#define TOP_COLUMNS 92 /* of a table that is not for a terminal */

/* The mount and the time; the requests, and for how long it is measured. */
void top_title (const struct top *top, GString *out);
void top_state (const struct top *top, GString *out);
/* One line of the table, and its heading. */
void top_heading (const struct top *top, enum top_view view, GString *out);
void top_line (const struct top *top, const struct top_row *row, enum top_view view, GString *out);
/* What stands in place of a table without rows, or explains one; NULL: nothing. */
const char *top_note (const struct top *top, enum top_view view, const GPtrArray *rows);

/* --- bricks.c: a row for each brick, and the lines of that table --- */

void bricks_add (const struct top *top, GPtrArray *rows);
void bricks_heading (const struct top *top, GString *out);
void bricks_line (const struct top *top, const struct top_row *row, GString *out);

/* --- screen.c --- */

/* Runs until q. Returns the exit status. */
int top_screen (struct top *top);

#endif

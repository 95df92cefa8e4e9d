/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files and the processes with the most calls: two tables of fixed size, by the Space-Saving
 * algorithm. When a table is full, a new key replaces the row with the fewest calls and inherits
 * their number, which is how much the count may be too high (`over`). So a key with more than
 * 1/BUSY_ROWS of all calls is certainly in the table.
 *
 * It watches the bridge's requests to the graph, only while windlass top shows them. A file is the
 * inode that the kernel asks about; for an operation on a name, its directory.
 */
#ifndef WINDLASS_TRACE_METRICS_BUSY_H
#define WINDLASS_TRACE_METRICS_BUSY_H

#include "core/edge/translator.h"

#define BUSY_ROWS 256
#define BUSY_NAME 256 /* bytes */

#define BUSY_ENDED "(ended)" /* in reports, the suffix of the name of a process that has ended */

enum busy_by { BUSY_PATH, BUSY_PROCESS, BUSY_TABLES };

struct busy_row {
    uint64_t key;                /* the inode's number (inode_get_nodeid), or the process's id */
    uint64_t count, over;        /* calls; the part of it that may be too many */
    uint64_t failed, bytes;      /* of the counted calls: failures; bytes read and written */
    uint64_t sum, max;           /* nanoseconds */
    char name[BUSY_NAME];        /* the path, or the process's name, when the row was made; "" if
                                    unknown. Serves when the object is gone */
};

/* edge: the bridge, whose calls count; itable: its inodes. Switching on clears the tables. One
 * graph at a time; always on the same thread. */
void busy_set (GPtrArray *xlators, const xlator_t *edge, struct itable *itable, bool on);

/* Copies a table to ret_rows, which has BUSY_ROWS places; returns the number of rows. Any
 * thread. */
size_t busy_read (enum busy_by by, struct busy_row *ret_rows);

#endif

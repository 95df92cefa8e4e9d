/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which files and which processes keep the mount busy: two tables of fixed size, as Space-Saving
 * has them. When a table is full, the newcomer takes the place of who has the fewest calls and
 * inherits their number, which is how much it may be too high (`over`). So whoever has more than
 * 1/BUSY_ROWS of all calls is in it for certain.
 *
 * It watches what the bridge asks the graph, only while windlass top wants to see it. A file is the
 * inode that the kernel asks about; for an operation on a name, its directory.
 */
#ifndef WINDLASS_TRACE_METRICS_BUSY_H
#define WINDLASS_TRACE_METRICS_BUSY_H

#include "core/edge/translator.h"

#define BUSY_ROWS 256
#define BUSY_NAME 256 /* bytes */

#define BUSY_ENDED "(ended)" /* what the name of a process that is gone ends in, when it is told */

enum busy_by { BUSY_PATH, BUSY_PROCESS, BUSY_TABLES };

struct busy_row {
    uint64_t key;                /* the inode's number (inode_get_nodeid), or the process's */
    uint64_t count, over;        /* calls; by how many that may be too many */
    uint64_t failed, bytes;      /* of those that were seen: read and written */
    uint64_t sum, max;           /* nanoseconds */
    char name[BUSY_NAME];        /* the path, or the process's name, when it came in; "" if nobody
                                    knew. For what is gone when it is read */
};

/* edge: whose calls count, the bridge; itable: its inodes. From off to on the tables begin anew.
 * One graph at a time; on one thread. */
void busy_set (GPtrArray *xlators, const xlator_t *edge, struct itable *itable, bool on);
bool busy_on (void);

/* A copy of a table, ret_rows having BUSY_ROWS places; how many there are. Any thread. */
size_t busy_read (enum busy_by by, struct busy_row *ret_rows);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which copies may be read, end a split brain, or are sources of a heal, and which sets of copies
 * are a quorum. The functions are pure. */
#ifndef WINDLASS_CLUSTER_REPLICATE_SOURCES_H
#define WINDLASS_CLUSTER_REPLICATE_SOURCES_H

#include "changelog.h"

/* --- quorum ----------------------------------------------------------------------------------- */

enum quorum_type { QUORUM_NONE, QUORUM_AUTO, QUORUM_FIXED };

struct quorum {
    enum quorum_type type;
    unsigned count; /* QUORUM_FIXED */
    unsigned n;     /* number of all copies */
};

/* Returns whether a change may be done that reaches these copies only. */
bool quorum_holds (const struct quorum *quorum, copies_t copies);

/* --- reading ---------------------------------------------------------------------------------- */

/* The copies of an object that may be read. */
struct readable {
    copies_t found;    /* copies that exist */
    copies_t data;     /* with good data; of a directory, with good names */
    copies_t metadata; /* with good attributes */
};

/* Judges the reports of all copies that can be reached. arbiter: the copy without data; -1: none.
 * The arbiter has all names of a directory. */
struct readable copies_judge (const struct copy *copies, unsigned n, int arbiter);

enum favorite { FAVORITE_NONE, FAVORITE_SIZE, FAVORITE_CTIME, FAVORITE_MTIME, FAVORITE_MAJORITY };

/* Returns the copy that a policy reads in a split brain; -1: none. */
int copies_favorite (const struct copy *copies, unsigned n, copies_t among, enum favorite policy);

enum read_hash { READ_FIRST, READ_BY_GFID, READ_BY_GFID_AND_CLIENT, READ_LEAST_PENDING,
                 READ_LEAST_LATENCY, READ_LEAST_BOTH };

struct read_choice {
    unsigned n;
    int preferred; /* the copy that an option names, or one on this machine; -1: none */
    enum read_hash mode;
    uint32_t client;                 /* a number of this client: READ_BY_GFID_AND_CLIENT */
    uint64_t pending[COPIES_MAX];    /* numbers of reads under way */
    uint64_t latency[COPIES_MAX];    /* means of the last reads, in nanoseconds */
};

/* Returns the read child among `readable`; -1: the set is empty. */
int copies_choose (const struct read_choice *choice, copies_t readable, const gfid_t *gfid,
                   ia_type_t type);

/* --- healing ---------------------------------------------------------------------------------- */

/* The copies that a heal of one kind of change reads and writes. */
struct heal_direction {
    copies_t sources, sinks;
    bool split_brain; /* every copy that exists is accused */
};

/* Judges the copies that exist. If none is accused and one is dirty, the source is the copy with
 * the largest size, then the highest dirty counter, then the latest ctime. */
struct heal_direction copies_direction (const struct copy *copies, unsigned n,
                                        enum counter_kind kind, int arbiter);

#endif

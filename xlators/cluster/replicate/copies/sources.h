/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which copies are good: to read, to decide a split brain, to heal from; and whether enough of them
 * are there. Pure functions. */
#ifndef WINDLASS_CLUSTER_REPLICATE_SOURCES_H
#define WINDLASS_CLUSTER_REPLICATE_SOURCES_H

#include "changelog.h"

/* --- quorum ----------------------------------------------------------------------------------- */

enum quorum_type { QUORUM_NONE, QUORUM_AUTO, QUORUM_FIXED };

struct quorum {
    enum quorum_type type;
    unsigned count; /* QUORUM_FIXED */
    unsigned n;     /* of all copies */
};

/* Returns whether changes that reach only these copies may be done. */
bool quorum_holds (const struct quorum *quorum, copies_t copies);

/* --- reading ---------------------------------------------------------------------------------- */

/* The copies of an object that may be read. */
struct readable {
    copies_t found;    /* those that are there */
    copies_t data;     /* of a directory: its names */
    copies_t metadata;
};

/* Judges what all reachable copies said. arbiter: the copy without data, -1: none. Of a directory
 * it has all that the others have. */
struct readable copies_judge (const struct copy *copies, unsigned n, int arbiter);

enum favorite { FAVORITE_NONE, FAVORITE_SIZE, FAVORITE_CTIME, FAVORITE_MTIME, FAVORITE_MAJORITY };

/* Returns the copy that a policy takes for the good one if all accuse each other; -1: none. */
int copies_favorite (const struct copy *copies, unsigned n, copies_t among, enum favorite policy);

enum read_hash { READ_FIRST, READ_BY_GFID, READ_BY_GFID_AND_CLIENT, READ_LEAST_PENDING,
                 READ_LEAST_LATENCY, READ_LEAST_BOTH };

struct read_choice {
    unsigned n;
    int preferred; /* the copy that an option names, or a near one; -1: none */
    enum read_hash mode;
    uint32_t client;                 /* a number of this client: READ_BY_GFID_AND_CLIENT */
    uint64_t pending[COPIES_MAX];    /* reads under way */
    uint64_t latency[COPIES_MAX];    /* nanoseconds, a mean of the last reads */
};

/* Returns the copy of a set to read an object from; -1: the set is empty. */
int copies_choose (const struct read_choice *choice, copies_t readable, const gfid_t *gfid,
                   ia_type_t type);

/* --- healing ---------------------------------------------------------------------------------- */

/* From where to where a kind of change is healed. */
struct direction {
    copies_t sources, sinks;
    bool split_brain; /* no copy that is there is without accusation */
};

/* Judges the copies that are there; the others have no marks. A mark "dirty" without accusation is
 * decided by size, by the number of changes a copy has seen, and by time. */
struct direction copies_direction (const struct copy *copies, unsigned n, enum counter_kind kind,
                                   int arbiter);

#endif

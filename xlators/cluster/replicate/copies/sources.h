/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides which copies of an object may be read, which copy is read in a split brain, which copies
 * are sources of a heal, and which sets of copies are a quorum. The functions depend on their
 * arguments only. */
#ifndef WINDLASS_CLUSTER_REPLICATE_SOURCES_H
#define WINDLASS_CLUSTER_REPLICATE_SOURCES_H

#include "changelog.h"

/* --- quorum ----------------------------------------------------------------------------------- */

enum quorum_type { QUORUM_NONE, QUORUM_AUTO, QUORUM_FIXED };

struct quorum {
    enum quorum_type type;
    unsigned count; /* number of copies that QUORUM_FIXED demands */
    unsigned n;     /* number of all copies */
};

/* Returns whether a change is allowed that reaches the set `copies` only. */
bool quorum_holds (const struct quorum *quorum, copies_t copies);

/* --- reading ---------------------------------------------------------------------------------- */

/* The copies of an object that may be read. */
struct readable {
    copies_t found;    /* copies that exist */
    copies_t data;     /* copies with good data; of a directory, copies with all names */
    copies_t metadata; /* copies with good attributes */
};

/* Returns the copies that may be read, by the reports of all n copies. arbiter: number of the copy
 * without data; -1: none. The arbiter counts as readable for a directory only, since it has the
 * names. */
struct readable copies_judge (const struct copy *copies, unsigned n, int arbiter);

enum favorite { FAVORITE_NONE, FAVORITE_SIZE, FAVORITE_CTIME, FAVORITE_MTIME, FAVORITE_MAJORITY };

/* Returns the copy among the set `among` that favorite-child-policy selects for reading in a split
 * brain; -1: the policy selects none. */
int copies_favorite (const struct copy *copies, unsigned n, copies_t among, enum favorite policy);

enum read_hash { READ_FIRST, READ_BY_GFID, READ_BY_GFID_AND_CLIENT, READ_LEAST_PENDING,
                 READ_LEAST_LATENCY, READ_LEAST_BOTH };

struct read_choice {
    unsigned n;          /* number of all copies */
    int preferred;       /* number of the copy that an option names, or that is on this machine; -1:
                          * none */
    enum read_hash mode; /* option read-hash-mode: how to choose if `preferred` is not readable */
    uint32_t client;              /* number that differs between clients, for
                                   * READ_BY_GFID_AND_CLIENT */
    uint64_t pending[COPIES_MAX]; /* number of reads under way, by copy */
    uint64_t latency[COPIES_MAX]; /* mean time of the last reads, by copy, in nanoseconds */
};

/* Returns the copy among `readable` from which to read the object; -1: the set is empty. */
int copies_choose (const struct read_choice *choice, copies_t readable, const gfid_t *gfid,
                   ia_type_t type);

/* --- healing ---------------------------------------------------------------------------------- */

/* The copies that a heal of one kind of change reads and writes. */
struct heal_direction {
    copies_t sources, sinks;
    bool split_brain; /* whether every copy that exists is accused, so that there is no source */
};

/* Decides which of the existing copies are sources and which are sinks. Copies that no other copy
 * accuses are sources. If the data or attributes of these may differ, since one of them is dirty or
 * their sizes differ, one of them is the only source: for data the largest, then the one with the
 * highest dirty counter, then the one with the latest ctime. */
struct heal_direction copies_direction (const struct copy *copies, unsigned n,
                                        enum counter_kind kind, int arbiter);

#endif

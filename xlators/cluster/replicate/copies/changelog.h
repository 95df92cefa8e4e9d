/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The changelog of a copy. A brick keeps with each object
 *
 *   trusted.afr.dirty          the dirty counter. Not 0: a change is under way, or was cut off
 *   trusted.afr.<copy's name>  a pending counter. Not 0: the copy with that name has missed
 *                              changes, so this brick's copy accuses it
 *
 * Each counter has three numbers: of changes of data, of metadata (attributes), and of entries (the
 * names in a directory). GlusterFS's self-heal daemon reads the same format.
 *
 * The functions depend on their arguments only. They accept any bytes from a brick.
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_CHANGELOG_H
#define WINDLASS_CLUSTER_REPLICATE_CHANGELOG_H

#include "xlator.h"

#define COPIES_MAX 16

/* A set of copies: bit i stands for the copy on the i-th child. */
typedef uint32_t copies_t;

#define COPY(i_) ((copies_t) 1 << (i_))

static inline copies_t
copies_all (unsigned n)
{
    return (copies_t) ((1u << n) - 1);
}

static inline unsigned
copies_count (copies_t copies)
{
    return (unsigned) __builtin_popcount (copies);
}

/* Returns the number of the first copy in a set; -1: the set is empty. */
static inline int
copies_first (copies_t copies)
{
    return copies ? __builtin_ctz (copies) : -1;
}

enum counter_kind { COUNTER_DATA, COUNTER_METADATA, COUNTER_ENTRY, COUNTER_KINDS };

#define COUNTER_SIZE 12 /* size of a counter on a brick, in bytes: three big-endian numbers */

struct counter {
    int32_t count[COUNTER_KINDS];
};

/* Reads a counter from the value of an attribute. A value whose size is not COUNTER_SIZE is
 * invalid, and is read as one change of each kind. */
struct counter counter_read (const void *value, size_t size);
void counter_set (dict_t *dict, const char *key, const struct counter *counter);
bool counter_is_clear (const struct counter *counter);

/* A brick's report on its copy of an object. */
struct copy {
    bool there;  /* whether the brick has a copy */
    struct iatt iatt;
    struct counter dirty, accuses[COPIES_MAX];
    bool locked; /* whether a client has locked the data on this brick: the size may be changing */
};

/* The names of the extended attributes that store the counters of a volume. */
struct changelog_names {
    unsigned n; /* number of copies */
    const char *dirty, *const *pending; /* the dirty counter, and n pending counters */
};

/* Stores in *ret_copy the counters from the dict of a brick's answer, which may be NULL. */
void copy_read_changelog (struct copy *ret_copy, const struct changelog_names *names,
                          const dict_t *dict);

/* Returns the copies that another existing copy accuses of missing changes of this kind. */
copies_t copies_accused (const struct copy *copies, unsigned n, enum counter_kind kind);

/* Appends to `out`, for a user to read, one line for each counter that is not zero. */
void copies_print (const struct copy *copies, unsigned n, const char *const *names, GString *out);

#endif

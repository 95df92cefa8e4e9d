/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The changelog of a copy. A brick keeps with each object
 *
 *   trusted.afr.dirty          the dirty counter: a change is under way, or was cut off
 *   trusted.afr.<copy's name>  a pending counter: that copy has missed changes, it is accused
 *
 * Each counter has three numbers: of changes of data, of metadata (attributes), and of entries (the
 * names in a directory). GlusterFS's self-heal daemon reads the same format.
 *
 * The functions are pure. A brick may have sent any bytes.
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_CHANGELOG_H
#define WINDLASS_CLUSTER_REPLICATE_CHANGELOG_H

#include "xlator.h"

#define COPIES_MAX 16

/* A set of copies: bit i is the i-th child. */
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

/* Returns the first copy of a set; -1: it is empty. */
static inline int
copies_first (copies_t copies)
{
    return copies ? __builtin_ctz (copies) : -1;
}

enum counter_kind { COUNTER_DATA, COUNTER_METADATA, COUNTER_ENTRY, COUNTER_KINDS };

#define COUNTER_SIZE 12 /* bytes: three numbers, big-endian */

struct counter {
    int32_t count[COUNTER_KINDS];
};

/* Reads a counter. A value of another size cannot be trusted: it counts as one change of each
 * kind. */
struct counter counter_read (const void *value, size_t size);
void counter_set (dict_t *dict, const char *key, const struct counter *counter);
bool counter_is_clear (const struct counter *counter);

/* A brick's report of its copy of an object. */
struct copy {
    bool there;  /* the brick has one */
    struct iatt iatt;
    struct counter dirty, accuses[COPIES_MAX];
    bool locked; /* a client has locked its data, so its size may change */
};

/* The names of the counters in a replicated volume. */
struct changelog_names {
    unsigned n;
    const char *dirty, *const *pending; /* n of them */
};

/* Reads the counters in a dict, which may be NULL. */
void copy_read_changelog (struct copy *ret_copy, const struct changelog_names *names,
                          const dict_t *dict);

/* Returns the copies that are accused by a copy that exists. */
copies_t copies_accused (const struct copy *copies, unsigned n, enum counter_kind kind);

/* Appends a line for a user about each counter that is not zero. */
void copies_print (const struct copy *copies, unsigned n, const char *const *names, GString *out);

#endif

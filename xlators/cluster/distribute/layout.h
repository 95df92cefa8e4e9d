/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The layout of a directory: which subvolume has which range of hashes.
 *
 *   hash   0          0x55555554 0x55555555        0xaaaaaaa9 0xaaaaaaaa        0xffffffff
 *          |--- subvolume 2 ---| |------- subvolume 0 ------| |------ subvolume 1 -------|
 *
 * Each subvolume has its own range, in an extended attribute of its copy of the directory, in 16
 * bytes: commit hash, kind, first and last hash, big-endian. What a subvolume says may be hostile:
 * ranges may overlap or leave holes, and are then not used to tell that a name does not exist.
 *
 * Pure code, without translators. A layout does not change once others see it; it has a count of
 * references instead.
 */
#ifndef WINDLASS_DISTRIBUTE_LAYOUT_H
#define WINDLASS_DISTRIBUTE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_DISK_SIZE 16
#define LAYOUT_UNSURE 1 /* the commit hash of a layout that says nothing about missing names */

enum layout_kind { LAYOUT_BY_HASH = 0, LAYOUT_BY_USER = 1 /* a rebalance leaves it alone */ };

enum range_state {
    RANGE_MISSING,  /* the subvolume does not have the directory */
    RANGE_UNSET,    /* it has the directory, without a range */
    RANGE_SET,      /* start to stop; 0 to 0: no hash */
    RANGE_DOWN,     /* it is not there */
    RANGE_UNKNOWN,  /* it failed, or says nonsense */
};

struct layout_range {
    enum range_state state;
    uint32_t commit, start, stop;
};

struct layout {
    int refs; /* atomic */
    uint32_t kind;
    uint32_t commit; /* of all ranges, or LAYOUT_UNSURE */
    unsigned n;
    struct layout_range ranges[]; /* one for each subvolume */
};

/* What is wrong with a layout. */
struct layout_faults {
    unsigned holes, overlaps;                /* of the ranges that are set */
    unsigned used;                           /* subvolumes that have hashes */
    unsigned missing, unset, down, unknown;  /* subvolumes in these states */
};

struct layout *layout_new (unsigned n);
struct layout *layout_ref (struct layout *layout);   /* takes NULL */
void layout_unref (struct layout *layout);           /* takes NULL */

/* Takes what subvolume i said: the attribute's value, or NULL. */
void layout_read (struct layout *layout, unsigned i, const void *value, size_t size);
void layout_fail (struct layout *layout, unsigned i, enum range_state state);

/* The commit hash that all ranges that are set agree on; call it after the last layout_read. */
void layout_seal (struct layout *layout);

void layout_write (const struct layout *layout, unsigned i, uint8_t ret_value[LAYOUT_DISK_SIZE]);

/* The subvolume whose range has the hash, or -1. */
int layout_search (const struct layout *layout, uint32_t hash);

void layout_check (const struct layout *layout, struct layout_faults *ret_faults);

/* Whether every hash has exactly one subvolume. */
bool layout_is_whole (const struct layout *layout);

/* Gives ranges to subvolumes whose state is RANGE_UNSET or RANGE_SET, in proportion to their
 * weights; those with weight 0 get none, unless all have 0. The first range goes to the first of
 * them from subvolume `first` on. At most `spread` subvolumes get one; 0: all. */
void layout_divide (struct layout *layout, const uint32_t *weights, unsigned first,
                    unsigned spread, uint32_t commit);

bool layout_same (const struct layout *layout, const struct layout *other);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The layout of a directory: which hashes of names each subvolume has.
 *
 *   hash   0          0x55555554 0x55555555        0xaaaaaaa9 0xaaaaaaaa        0xffffffff
 *          |--- subvolume 2 ---| |------- subvolume 0 ------| |------ subvolume 1 -------|
 *
 * Each subvolume stores its own range, in an extended attribute of the directory on its bricks, as
 * 16 bytes: commit hash, kind, first and last hash, big-endian. A rebalance writes a new commit
 * hash into all ranges and into an attribute of the volume's root directory. While these commit
 * hashes are all equal, a name that is missing on its hashed subvolume exists on no subvolume. The
 * ranges may have holes (hashes in no range) and overlaps, by mistake or because a subvolume is
 * hostile.
 *
 * The code depends on no other part of the translator. A layout is constant once it is in the
 * context of an inode; its references are counted.
 */
#ifndef WINDLASS_DISTRIBUTE_LAYOUT_H
#define WINDLASS_DISTRIBUTE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_DISK_SIZE 16
/* The commit hash of a layout that is not known to be complete: a name that is missing on its
 * hashed subvolume may exist on another subvolume. */
#define LAYOUT_UNSURE 1

/* A rebalance doesn't change a layout of the kind LAYOUT_BY_USER. */
enum layout_kind { LAYOUT_BY_HASH = 0, LAYOUT_BY_USER = 1 };

enum range_state {
    RANGE_MISSING,  /* the subvolume does not have the directory */
    RANGE_UNSET,    /* the subvolume has the directory, without a range */
    RANGE_SET,      /* the range has the hashes from start to stop, or, if both are 0, no hash */
    RANGE_DOWN,     /* the subvolume is down */
    RANGE_UNKNOWN,  /* the lookup failed with another error, or found a file or an invalid range */
};

struct layout_range {
    enum range_state state;
    uint32_t commit, start, stop;
};

struct layout {
    int refs; /* number of references; atomic */
    uint32_t kind;
    uint32_t commit; /* commit hash of all ranges; LAYOUT_UNSURE if they have no common one */
    unsigned n;
    struct layout_range ranges[]; /* ranges by subvolume */
};

/* Faults of a layout, counted by layout_check. */
struct layout_faults {
    unsigned holes, overlaps;                /* number of holes and of overlaps in the ranges */
    unsigned used;                           /* number of subvolumes whose range is not empty */
    unsigned missing, unset, down, unknown;  /* number of subvolumes in each range_state */
};

struct layout *layout_new (unsigned n);
struct layout *layout_ref (struct layout *layout);   /* takes NULL */
void layout_unref (struct layout *layout);           /* takes NULL */

/* layout_read sets the range of subvolume i from the value of its extended attribute, or to
 * RANGE_UNSET if value is NULL. layout_fail sets it to a state without a range. */
void layout_read (struct layout *layout, unsigned i, const void *value, size_t size);
void layout_fail (struct layout *layout, unsigned i, enum range_state state);

/* Sets the commit hash of the layout from the commit hashes of its ranges. The caller has set all
 * ranges before. */
void layout_seal (struct layout *layout);

void layout_write (const struct layout *layout, unsigned i, uint8_t ret_value[LAYOUT_DISK_SIZE]);

/* Returns the subvolume whose range has the hash, or -1. */
int layout_search (const struct layout *layout, uint32_t hash);

void layout_check (const struct layout *layout, struct layout_faults *ret_faults);

/* Returns whether every hash is in exactly one range: no holes, no overlaps. */
bool layout_is_whole (const struct layout *layout);

/* Divides all hashes among the subvolumes whose state is RANGE_UNSET or RANGE_SET, in proportion to
 * their weights. A subvolume of weight 0 gets an empty range, unless all have weight 0: then all
 * get equal ranges. The ranges are given in the order of the subvolumes, beginning at subvolume
 * `first`. At most `spread` subvolumes get a range that is not empty; 0: no limit. */
void layout_divide (struct layout *layout, const uint32_t *weights, unsigned first,
                    unsigned spread, uint32_t commit);

#endif

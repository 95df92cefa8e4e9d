/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers for 32-bit programs, with the option enable-ino32. Their C library fails with EOVERFLOW
 * where an inode number has more than 32 bits or a directory offset more than 31. The offsets of
 * ext4 are hashes of 63 bits, and the kernel does not tell which program asks, so the numbers of
 * the whole mount become short.
 *
 * Storage's offset must be found again from the short one, for seekdir and for the kernel's next
 * request. A table has both, of at most a given number of offsets, whatever callers list.
 *
 * An offset can have one of SHORT_TRIES short ones: hashes of it alone, with a random key. It gets
 * the first that no other offset of the directory has in the table. Whoever misses a short
 * offset in the table lists the directory again, up to the first offset that can have it. So
 * listings continue over the loss of table entries, other descriptors, reloads, and the kernel's
 * cache of listings.
 *
 * The key is of one mount, so that storage cannot choose offsets which meet. No short offset
 * outlives it: descriptors end with the mount, and handles of NFS become stale.
 *
 * The limits: listing again among n offsets can find an earlier one, with a chance of
 * SHORT_TRIES * n in 2^30. The listing then repeats names; it skips none while the right one is
 * there. An offset that the table lost can have lost its short one to another, with a chance of 1
 * in 2^30 for each offset of the directory that was listed since. The listing then repeats or skips
 * names. If all SHORT_TRIES are taken, the last one is taken from its owner: while a table of 2^19
 * offsets of one directory fills, this happens with a chance of less than 1 in 10 million.
 */
#ifndef WINDLASS_FUSE_SHORT_NUMBERS_H
#define WINDLASS_FUSE_SHORT_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Smaller offsets stay as they are; others become SHORT_OFFSET_MIN to SHORT_OFFSET_MAX. */
#define SHORT_OFFSET_MIN (UINT64_C (1) << 30)
#define SHORT_OFFSET_MAX ((UINT64_C (1) << 31) - 1)

#define SHORT_TRIES 4

struct short_numbers;

/* The table remembers the last `limit` offsets that were used, and never has more than twice as
 * many. */
struct short_numbers *short_numbers_new (unsigned limit);
void short_numbers_free (struct short_numbers *all); /* takes NULL */

/* Returns the number itself if it has 32 bits, else a hash of it from the upper half of those
 * numbers, which few file systems use. Two files can get the same hash. */
uint64_t short_ino (uint64_t ino);

/* Returns the short offset for an offset in the directory with that node number. Two offsets of a
 * directory that are in the table have different short ones. Takes a bounded time. */
uint64_t short_offset (struct short_numbers *all, uint64_t directory, uint64_t offset);

/* Returns whether storage's offset is known for a short one of the directory. */
bool short_offset_find (struct short_numbers *all, uint64_t directory, uint64_t given,
                        uint64_t *ret_offset);

/* Returns whether the offset can have that short one. Takes no lock. */
bool short_offset_fits (const struct short_numbers *all, uint64_t offset, uint64_t given);

/* Puts a pair that was found by listing again into the table. */
void short_offset_put (struct short_numbers *all, uint64_t directory, uint64_t offset,
                       uint64_t given);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers for 32-bit programs, with the option enable-ino32. Their C library fails with EOVERFLOW
 * where an inode number has more than 32 bits or a directory offset more than 31. The offsets of
 * ext4 are hashes of 63 bits, and the kernel does not tell which program asks, so the numbers of
 * the whole mount become short.
 *
 * Storage's offset must be found again from the short one, for seekdir and for the kernel's next
 * request. A table has both, of at most a given number of offsets, whatever callers list. The short
 * offset is a hash of storage's, so whoever misses one in the table can list the directory again
 * until an entry with that short offset comes. So listings continue over the loss of table entries,
 * other descriptors, the kernel's cache of listings, and other daemons for the same directory.
 */
#ifndef WINDLASS_FUSE_SHORT_NUMBERS_H
#define WINDLASS_FUSE_SHORT_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Smaller offsets stay as they are; others become SHORT_OFFSET_MIN to SHORT_OFFSET_MAX. */
#define SHORT_OFFSET_MIN (UINT64_C (1) << 30)
#define SHORT_OFFSET_MAX ((UINT64_C (1) << 31) - 1)

struct short_numbers;

/* The table remembers the last `limit` offsets that were used, and never has more than twice as
 * many. */
struct short_numbers *short_numbers_new (unsigned limit);
void short_numbers_free (struct short_numbers *all); /* takes NULL */

/* Returns the number itself if it has 32 bits, else a hash of it from the upper half of those
 * numbers, which few file systems use. Two files can get the same hash. */
uint64_t short_ino (uint64_t ino);

/* Returns the short offset for an offset in the directory with that node number. Two offsets of a
 * directory that are in the table have different short ones. */
uint64_t short_offset (struct short_numbers *all, uint64_t directory, uint64_t offset);

/* Returns whether storage's offset is known for a short one of the directory. */
bool short_offset_find (struct short_numbers *all, uint64_t directory, uint64_t given,
                        uint64_t *ret_offset);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of operations on the bytes of a file. Each operation claims a range. Of two operations
 * that claim the same byte, of which at least one writes, the later one starts when the earlier one
 * has ended. All others run side by side.
 *
 *   [0,4K) writes, started   [4K,8K) writes, started   [0,8K) reads, waits   [4K,5K) writes, waits
 *
 * The caller's lock guards the claims of a file.
 */
#ifndef WINDLASS_CORE_DATA_BYTE_CLAIMS_H
#define WINDLASS_CORE_DATA_BYTE_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct byte_claim {
    off_t from, to; /* to: the first byte behind the range */
    bool writes, started;
    void *owner;             /* the operation, for the caller */
    struct byte_claim *next; /* in the order of byte_claim_add */
};

/* The claims of a file. */
struct byte_claims {
    struct byte_claim *first, **last;
    unsigned started, waiting; /* numbers of claims */
};

void byte_claims_init (struct byte_claims *claims);

/* Returns a claim of `size` bytes; size 0: of all bytes from offset on. */
struct byte_claim byte_claim_of (off_t offset, size_t size, bool writes, void *owner);

/* Adds a claim behind all others. The caller keeps its memory until byte_claim_remove. */
void byte_claim_add (struct byte_claims *claims, struct byte_claim *claim);

/* Starts a claim that has not started, unless it must wait for an earlier one. Returns whether it
 * has started. */
bool byte_claim_start (struct byte_claims *claims, struct byte_claim *claim);

/* Starts the first claim that may start and has not. Returns it; NULL: there is none. */
struct byte_claim *byte_claims_start_next (struct byte_claims *claims);

/* The operation has ended, or will not run. */
void byte_claim_remove (struct byte_claims *claims, struct byte_claim *claim);

#endif

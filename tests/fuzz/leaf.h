/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A storage that makes its answers up: of a byte that says how, and of bytes that every answer is
 * filled with. What fops(7) promises of an answer holds; names, values and numbers in it are what
 * they are.
 */
#ifndef WINDLASS_TESTS_FUZZ_LEAF_H
#define WINDLASS_TESTS_FUZZ_LEAF_H

#include "xlator.h"

#include "fuzz.h"

/* How an answer is made: from FAIL on, with the errno how - FAIL + 1; else of LATE it comes later,
 * and of the lowest bits which inode it is about. */
#define LEAF_FAIL 192
#define LEAF_LATE 128
#define LEAF_INODES 16

/* What the next call is answered with; bytes is lent until then. */
void leaf_prepare (uint8_t how, struct input bytes);

/* Answers all calls that were set aside. */
void leaf_answer_late (void);

/* Whether any is set aside. */
bool leaf_has_late (void);

extern const struct xlator_api leaf_api;

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A storage with generated answers: a byte selects the kind of answer, and further bytes are its
 * content. An answer fulfils the rules of fops(7); its names, values and numbers are arbitrary.
 */
#ifndef WINDLASS_TESTS_FUZZ_LEAF_H
#define WINDLASS_TESTS_FUZZ_LEAF_H

#include "xlator.h"

#include "fuzz.h"

/* How an answer is made. From FAIL on: a failure with the errno how - FAIL + 1. Otherwise LATE
 * delays the answer, and the lowest bits select the inode. */
#define LEAF_FAIL 192
#define LEAF_LATE 128
#define LEAF_INODES 16

/* Sets the answer of the next call; bytes is lent until then. */
void leaf_prepare (uint8_t how, struct input bytes);

/* Answers all stored calls. */
void leaf_answer_late (void);

/* Returns whether a call is stored. */
bool leaf_has_late (void);

extern const struct xlator_api leaf_api;

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside encryption/rot-13.
 *
 *   rot13.c    options, reading, writing: begin here
 *   rotate.c   the bytes
 *   rest.c     copies made below, and what `windlass explain` says
 */
#ifndef WINDLASS_ROT_13_H
#define WINDLASS_ROT_13_H

#include "xlator.h"

typedef struct {
    bool encrypt_write;
    bool decrypt_read;
} rot13_private_t;

/* Rotates the bytes of a vector that is held by iobref: in place where nothing else refers to them,
 * else in a copy. ret_vector has room for count elements, at least one. *ret_copy holds the copy,
 * for the caller to give back, or is NULL. 0 or -ENOMEM. */
int rot13_rotate (const struct iovec *vector, int count, struct iobref *iobref,
                  struct iovec *ret_vector, int *ret_count, struct iobref **ret_copy);

copy_file_range_fop rot13_copy_file_range;
void rot13_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside encryption/rot-13.
 *
 *   rot13.c    options, readv, writev: begin here
 *   rotate.c   the rotation of bytes
 *   rest.c     copy_file_range, and the answers to `windlass explain`
 */
#ifndef WINDLASS_ROT_13_H
#define WINDLASS_ROT_13_H

#include "xlator.h"

typedef struct {
    bool encrypt_write;
    bool decrypt_read;
} rot13_private_t;

/* Rotates the bytes of a vector whose buffers iobref holds: in place if the caller has the only
 * reference, else in a copy. ret_vector has room for count elements, at least one. *ret_copy holds
 * the copy, which the caller unrefs, or is NULL. Returns 0 or -ENOMEM. */
int rot13_rotate (const struct iovec *vector, int count, struct iobref *iobref,
                  struct iovec *ret_vector, int *ret_count, struct iobref **ret_copy);

copy_file_range_fop rot13_copy_file_range;
void rot13_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

#endif

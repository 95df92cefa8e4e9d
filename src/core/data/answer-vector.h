/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of one answer, assembled from parts of several buffers. The answer refers to the
 * buffers while they fit in one vector and one iobref; beyond that all bytes are copied into one
 * buffer.
 *
 *   pieces_begin (&pieces, size);
 *   pieces_add (&pieces, page->vector, page->count, page->iobref, skip, n);      ...
 *   r = pieces.failed ? -ENOMEM : 0;   STACK_UNWIND (readv, ..., pieces.size, 0, pieces.vector,
 *                                      pieces.count, NULL, pieces.iobref, NULL);
 *   pieces_end (&pieces);
 */
#ifndef WINDLASS_CORE_DATA_ANSWER_VECTOR_H
#define WINDLASS_CORE_DATA_ANSWER_VECTOR_H

#include "core/data/iobuf.h"

#define PIECES_MAX 64

struct pieces {
    struct iovec vector[PIECES_MAX];
    int count;
    struct iobref *iobref;
    size_t size;         /* bytes added so far */
    size_t room;         /* size of the buffer if the bytes are copied */
    struct iobuf *copy;  /* the buffer with the copies; NULL while the answer refers to other
                          * buffers */
    bool failed;         /* there was no memory */
};

/* room: the maximum number of bytes that will be added. */
void pieces_begin (struct pieces *pieces, size_t room);

/* Adds n bytes of a vector, starting at skip. The vector must contain them. */
void pieces_add (struct pieces *pieces, const struct iovec *vector, int count,
                 const struct iobref *iobref, size_t skip, size_t n);

void pieces_end (struct pieces *pieces);

/* Returns n bytes of the vector, starting at skip, as elements in ret_vector, at most max. The
 * result is the number of elements. */
int iov_part (const struct iovec *vector, int count, size_t skip, size_t n,
              struct iovec *ret_vector, int max);

#endif

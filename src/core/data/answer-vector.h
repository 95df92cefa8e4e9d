/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of one answer, put together from buffers of several: each is referred to as long as
 * there is room for that in one vector and one iobref, else all are copied into a buffer of their
 * own.
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
    size_t size;         /* so far */
    size_t room;         /* of the buffer that they are copied to */
    struct iobuf *copy;  /* that one; NULL while they are referred to */
    bool failed;         /* memory is out */
};

/* room: there will be no more than that. */
void pieces_begin (struct pieces *pieces, size_t room);

/* n bytes of a vector, from skip on; they are there. */
void pieces_add (struct pieces *pieces, const struct iovec *vector, int count,
                 const struct iobref *iobref, size_t skip, size_t n);

void pieces_end (struct pieces *pieces);

/* n bytes of the vector, from skip on: stores at most max elements in ret_vector, and returns how
 * many it takes. */
int iov_part (const struct iovec *vector, int count, size_t skip, size_t n,
              struct iovec *ret_vector, int max);

#endif

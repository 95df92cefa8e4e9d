/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes with a reference count.
 *
 *   vector -> { base, len } { base, len }      where the bytes are
 *   iobref -> iobuf, iobuf                     whose they are: what keeps them alive
 *
 * The bytes of a call are lent. They may be changed in place only by one who holds the only
 * reference; whoever needs them as they are after it has wound them (to wind them again, or to
 * keep them) takes a reference of its own first, which makes them read-only for everybody else.
 */
#ifndef WINDLASS_CORE_DATA_IOBUF_H
#define WINDLASS_CORE_DATA_IOBUF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct iobuf {
    int refs; /* atomic */
    uint32_t size_class;
    size_t size; /* of ptr, at least what was asked for */
    void *ptr;   /* aligned to 4096, for O_DIRECT */
    struct iobuf *next; /* while it waits for reuse; owned by the thread's or the common cache */
};

#define IOBREF_MAX 8

struct iobref {
    int refs; /* atomic */
    int used;
    struct iobuf *bufs[IOBREF_MAX]; /* filled before the iobref is shown to anyone else */
};

/* A buffer of at least size bytes (1 GiB at most), contents undefined, with one reference; NULL
 * when memory is out. */
struct iobuf *iobuf_new (size_t size);
struct iobuf *iobuf_ref (struct iobuf *iobuf);
void iobuf_unref (struct iobuf *iobuf); /* takes NULL */

/* An empty list of buffers, with one reference. */
struct iobref *iobref_new (void);
struct iobref *iobref_ref (struct iobref *iobref); /* takes NULL */
void iobref_unref (struct iobref *iobref);         /* takes NULL */

/* Adds iobuf with a reference of its own. -ENOSPC when the list is full. */
int iobref_add (struct iobref *iobref, struct iobuf *iobuf);

/* May the bytes that iobref keeps be changed in place: has nobody else a reference? */
bool iobref_writable (const struct iobref *iobref);

size_t iov_length (const struct iovec *vector, int count);

/* Copies at most size bytes of the vector to buf; returns how many. */
size_t iov_unload (void *buf, size_t size, const struct iovec *vector, int count);

/* The first bytes of a vector, at most size: stores elements in ret_vector, which has room for
 * count, and returns how many. */
int iov_first (const struct iovec *vector, int count, size_t size, struct iovec *ret_vector);

/* The vector with bytes that may be changed: as it is if iobref_writable, else a copy. On success
 * ret_vector has *ret_count elements (at most count) in memory that lives as long as *ret_iobref,
 * which the caller owns a reference of. 0, or -ENOMEM. */
int iov_writable (const struct iovec *vector, int count, struct iobref *iobref,
                  struct iovec *ret_vector, int *ret_count, struct iobref **ret_iobref);

/* The vector for longer than the call it was lent for: a new array (g_free it) whose bytes live as
 * long as *ret_iobref. Large payloads are kept by reference, small ones copied, so that a few bytes
 * don't hold a large buffer. 0, or -ENOMEM. */
int iov_keep (const struct iovec *vector, int count, struct iobref *iobref,
              struct iovec **ret_vector, int32_t *ret_count, struct iobref **ret_iobref);

#endif

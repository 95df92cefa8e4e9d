/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes with a reference count.
 *
 *   vector -> { base, len } { base, len }      where the bytes are
 *   iobref -> iobuf, iobuf                     the buffers that hold them
 *
 * The bytes of a call are lent. A translator may change them in place only if it holds the only
 * reference. A translator that needs them unchanged after it has wound them (to wind them again, or
 * to keep them) takes a reference first; the bytes are then read-only for all other translators.
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
    size_t size; /* of ptr, at least the requested size */
    void *ptr;   /* aligned to 4096, for O_DIRECT */
    struct iobuf *next; /* list of free buffers in the cache of the thread or in the depot */
};

#define IOBREF_MAX 8

struct iobref {
    int refs; /* atomic */
    int used;
    struct iobuf *bufs[IOBREF_MAX]; /* filled before other code sees the iobref */
};

/* Returns a buffer of at least size bytes (1 GiB at most) with undefined contents and one
 * reference; NULL if there is no memory. */
struct iobuf *iobuf_new (size_t size);
struct iobuf *iobuf_ref (struct iobuf *iobuf);
void iobuf_unref (struct iobuf *iobuf); /* takes NULL */

/* An empty list of buffers, with one reference. */
struct iobref *iobref_new (void);
struct iobref *iobref_ref (struct iobref *iobref); /* takes NULL */
void iobref_unref (struct iobref *iobref);         /* takes NULL */

/* Adds iobuf and takes a reference to it. -ENOSPC if the list is full. */
int iobref_add (struct iobref *iobref, struct iobuf *iobuf);

/* Returns whether the bytes may be changed in place: the caller holds the only reference. */
bool iobref_writable (const struct iobref *iobref);

size_t iov_length (const struct iovec *vector, int count);

/* Copies at most size bytes of the vector to buf; returns the number of bytes copied. */
size_t iov_unload (void *buf, size_t size, const struct iovec *vector, int count);

/* Stores the first bytes of a vector, at most size, as elements in ret_vector, which has room for
 * count; returns the number of elements. */
int iov_first (const struct iovec *vector, int count, size_t size, struct iovec *ret_vector);

/* Returns the vector with bytes that may be changed: the same bytes if iobref_writable, else a
 * copy. On success ret_vector has *ret_count elements (at most count), whose memory lives as long
 * as *ret_iobref. The caller owns a reference to *ret_iobref. 0, or -ENOMEM. */
int iov_writable (const struct iovec *vector, int count, struct iobref *iobref,
                  struct iovec *ret_vector, int *ret_count, struct iobref **ret_iobref);

/* Keeps the vector for longer than the call it was lent for: a new array (g_free it), whose bytes
 * live as long as *ret_iobref. Large payloads are kept by reference. Small ones are copied, so that
 * a few bytes don't occupy a large buffer. 0, or -ENOMEM. */
int iov_keep (const struct iovec *vector, int count, struct iobref *iobref,
              struct iovec **ret_vector, int32_t *ret_count, struct iobref **ret_iobref);

#endif

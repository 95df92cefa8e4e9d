/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of a write that is answered early. Large ones are kept by a reference to their buffers.
 * Small ones are copied: the kernel's 4 KiB arrive in a buffer of a megabyte, which a reference
 * would keep. Copies of consecutive writes share one buffer, so that a write to storage seldom has
 * more than a few vectors.
 */
#include "write-behind.h"

#include <string.h>

#define BY_REFERENCE (64 * 1024) /* the same limit as in iov_keep */

/* Size of the buffers, not of the bytes in use: the memory that a reference keeps. */
static size_t
iobref_size (const struct iobref *iobref)
{
    size_t size = 0;

    for (int i = 0; i < iobref->used; i++)
        size += iobref->bufs[i]->size;
    return size;
}

static bool
worth_a_copy (size_t size, const struct iobref *iobref)
{
    return !iobref || (size < BY_REFERENCE && iobref_size (iobref) > 2 * size);
}

static bool
gather_by_reference (struct wb_write *write, const struct iovec *vector, int count,
                     struct iobref *iobref)
{
    if (write->count + count > WB_VECTORS || write->iobref->used + iobref->used > IOBREF_MAX)
        return false;
    memcpy (write->vector + write->count, vector, count * sizeof *vector);
    write->count += count;
    for (int i = 0; i < iobref->used; i++)
        iobref_add (write->iobref, iobref->bufs[i]);
    write->cost += iobref_size (iobref);
    write->room = 0;
    return true;
}

/* Adds a new buffer at the end of the vector. It is as large as the data so far, so that few
 * buffers suffice. */
static bool
gather_room (struct wb_write *write, size_t size)
{
    struct iobuf *iobuf;

    if (write->count == WB_VECTORS || write->iobref->used == IOBREF_MAX)
        return false;
    iobuf = iobuf_new (MAX (size, MIN (write->size, BY_REFERENCE)));
    if (!iobuf)
        return false;
    iobref_add (write->iobref, iobuf);
    write->vector[write->count++] = (struct iovec){ iobuf->ptr, 0 };
    write->room = iobuf->size;
    write->cost += iobuf->size;
    iobuf_unref (iobuf);
    return true;
}

static bool
gather_copy (struct wb_write *write, const struct iovec *vector, int count, size_t size)
{
    struct iovec *last;

    if (write->room < size && !gather_room (write, size))
        return false;
    last = &write->vector[write->count - 1];
    iov_unload ((char *) last->iov_base + last->iov_len, size, vector, count);
    last->iov_len += size;
    write->room -= size;
    return true;
}

bool
wb_gather_more (struct wb_write *write, const struct iovec *vector, int count,
                struct iobref *iobref)
{
    const size_t size = iov_length (vector, count);
    bool kept = !worth_a_copy (size, iobref) && gather_by_reference (write, vector, count, iobref);

    if (!kept && size <= WB_OPTION (write->this, aggregate))
        kept = gather_copy (write, vector, count, size);
    if (kept)
        write->size += size;
    return kept;
}

bool
wb_gather (struct wb_write *write, const struct iovec *vector, int count, struct iobref *iobref)
{
    write->iobref = iobref_new ();
    return wb_gather_more (write, vector, count, iobref);
}

void
wb_gather_cut (struct wb_write *write, size_t done)
{
    struct iovec *first = write->vector;

    /* Other threads compare their range with this write's under the lock. */
    pthread_mutex_lock (&write->wbi->lock);
    write->size -= done;
    if (!write->append)
        write->offset += (off_t) done;
    pthread_mutex_unlock (&write->wbi->lock);
    for (; done >= first->iov_len; first++, write->count--)
        done -= first->iov_len;
    memmove (write->vector, first, write->count * sizeof *first);
    write->vector[0].iov_base = (char *) write->vector[0].iov_base + done;
    write->vector[0].iov_len -= done;
}

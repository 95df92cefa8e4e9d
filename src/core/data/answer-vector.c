/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/answer-vector.h"

#include <glib.h>
#include <string.h>

int
iov_part (const struct iovec *vector, int count, size_t skip, size_t n, struct iovec *ret_vector,
          int max)
{
    int used = 0;

    for (int i = 0; i < count && n > 0; i++) {
        const size_t from = MIN (skip, vector[i].iov_len), part = MIN (vector[i].iov_len - from, n);

        skip -= from;
        n -= part;
        if (part == 0)
            continue;
        if (used < max)
            ret_vector[used] = (struct iovec){ (char *) vector[i].iov_base + from, part };
        used++;
    }
    return used;
}

void
pieces_begin (struct pieces *pieces, size_t room)
{
    pieces->count = 0;
    pieces->iobref = iobref_new ();
    pieces->size = 0;
    pieces->room = room;
    pieces->copy = NULL;
    pieces->failed = false;
}

static void
append_copy (struct pieces *pieces, const struct iovec *vector, int count, size_t skip, size_t n)
{
    char *to = (char *) pieces->copy->ptr + pieces->size;

    for (int i = 0; i < count && n > 0; i++) {
        const size_t from = MIN (skip, vector[i].iov_len), part = MIN (vector[i].iov_len - from, n);

        if (part)
            memcpy (to, (char *) vector[i].iov_base + from, part);
        to += part;
        skip -= from;
        n -= part;
    }
}

/* Starts one buffer with a copy of the bytes added so far. */
static void
begin_copy (struct pieces *pieces)
{
    pieces->copy = iobuf_new (MAX (pieces->room, 1));
    pieces->failed = !pieces->copy;
    if (pieces->failed)
        return;
    iov_unload (pieces->copy->ptr, pieces->size, pieces->vector, pieces->count);
    iobref_unref (pieces->iobref);
    pieces->iobref = iobref_new ();
    iobref_add (pieces->iobref, pieces->copy);
    pieces->count = 1;
}

void
pieces_add (struct pieces *pieces, const struct iovec *vector, int count,
            const struct iobref *iobref, size_t skip, size_t n)
{
    const int buffers = iobref ? iobref->used : 0;
    int used;

    if (n == 0 || pieces->failed)
        return;
    g_assert (pieces->size + n <= pieces->room);
    if (!pieces->copy) {
        used = iov_part (vector, count, skip, n, pieces->vector + pieces->count,
                         PIECES_MAX - pieces->count);
        if (pieces->count + used > PIECES_MAX || pieces->iobref->used + buffers > IOBREF_MAX)
            begin_copy (pieces);
        else
            pieces->count += used;
        for (int i = 0; i < buffers && !pieces->copy && !pieces->failed; i++)
            iobref_add (pieces->iobref, iobref->bufs[i]);
    }
    if (pieces->copy)
        append_copy (pieces, vector, count, skip, n);
    pieces->size += n;
    if (pieces->copy)
        pieces->vector[0] = (struct iovec){ pieces->copy->ptr, pieces->size };
}

void
pieces_end (struct pieces *pieces)
{
    iobref_unref (pieces->iobref);
    iobuf_unref (pieces->copy);
}

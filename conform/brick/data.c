/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Procedures on data. */
#include "conform/brick/request.h"

#include "core/data/iobuf.h"

#include <errno.h>
#include <string.h>

/* --- read, write ------------------------------------------------------------------------------ */

/* The data are not padded. */
static void
brick_put_data (struct brick_request *q, const struct readv_reply *got, size_t size)
{
    g_autofree char *bytes = g_malloc (MAX (size, 1));

    iov_unload (bytes, size, got->vector, got->count);
    xdr_put_fixed (&q->tail, bytes, size);
    q->tail.used = size;
}

int
brick_do_readv (struct brick_request *q, const struct wire_readv *call,
                struct wire_readv_reply *reply)
{
    struct readv_reply got = { 0 };
    int r;
    g_autoptr (fd_t) fd = brick_fd (q, &call->fd, &r);

    if (fd)
        r = sync_readv (q->client, fd, call->size, (off_t) call->offset, 0, NULL, &got);
    reply->stbuf = brick_iatt (q, &got.stbuf);
    reply->size = r < 0 ? 0 : (uint32_t) r;
    brick_put_data (q, &got, reply->size);
    readv_reply_drop (&got);
    return r;
}

static struct iobref *
brick_get_data (struct brick_request *q, struct iovec *ret_vector)
{
    const size_t size = xdr_left (&q->in);
    struct iobuf *iobuf = iobuf_new (MAX (size, 1));
    struct iobref *iobref = iobref_new ();

    iobref_add (iobref, iobuf);
    memcpy (iobuf->ptr, q->in.at, size);
    *ret_vector = (struct iovec){ iobuf->ptr, size };
    iobuf_unref (iobuf);
    return iobref;
}

int
brick_do_writev (struct brick_request *q, const struct wire_writev *call,
                 struct wire_writev_reply *reply)
{
    struct writev_reply got = { 0 };
    struct iovec vector;
    struct iobref *iobref = brick_get_data (q, &vector);
    int r;
    g_autoptr (fd_t) fd = brick_fd (q, &call->fd, &r);

    if (fd)
        r = sync_writev (q->client, fd, &vector, 1, (off_t) call->offset, 0, iobref, NULL, &got);
    if (r >= 0)
        reply->xdata = brick_asked_of_write (q, fd->inode, got.prebuf.ia_size == call->offset,
                                             call->xdata);
    reply->prebuf = brick_iatt (q, &got.prebuf);
    reply->postbuf = brick_iatt (q, &got.postbuf);
    writev_reply_drop (&got);
    iobref_unref (iobref);
    return r;
}

/* --- copy_file_range -------------------------------------------------------------------------- */

int
brick_do_copy_file_range (struct brick_request *q, const struct wire_copy_file_range *call,
                          struct wire_copy_file_range_reply *reply)
{
    const struct wire_fd from = { call->from, (int64_t) call->fd_in },
                         to = { call->to, (int64_t) call->fd_out };
    struct copy_file_range_reply got = { 0 };
    int r, r_in, r_out;
    g_autoptr (fd_t) in = brick_fd (q, &from, &r_in);
    g_autoptr (fd_t) out = brick_fd (q, &to, &r_out);

    r = !in ? r_in : !out ? r_out : 0;
    if (r == 0)
        r = sync_copy_file_range (q->client, in, (off_t) call->off_in, out, (off_t) call->off_out,
                                  call->len, 0, NULL, &got);
    reply->stbuf = brick_iatt (q, &got.stbuf);
    reply->prebuf_dst = brick_iatt (q, &got.prebuf_dst);
    reply->postbuf_dst = brick_iatt (q, &got.postbuf_dst);
    copy_file_range_reply_drop (&got);
    return r;
}

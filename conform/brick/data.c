/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on data. */
#include "conform/brick/request.h"

#include "core/data/iobuf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <unistd.h>

static void
put_change (struct request *q, int r, const struct iatt *pre, const struct iatt *post)
{
    put_result (q, r, NULL);
    put_buf (q, pre);
    put_buf (q, post);
}

/* --- read, write ------------------------------------------------------------------------------ */

/* The size of a read and its data are at other places than in other answers. */
static void
put_read (struct request *q, int r, const struct readv_reply *reply)
{
    const size_t size = r < 0 ? 0 : (size_t) r;
    g_autofree char *bytes = g_malloc (MAX (size, 1));

    iov_unload (bytes, size, reply->vector, reply->count);
    xdr_put_u32 (&q->out, (uint32_t) (r < 0 ? -1 : r));
    xdr_put_u32 (&q->out, (uint32_t) (r < 0 ? -r : 0));
    put_buf (q, &reply->stbuf);
    xdr_put_u32 (&q->out, (uint32_t) size);
    put_no_dict (&q->out);
    xdr_put_fixed (&q->out, bytes, size);
    q->out.used -= (4 - size % 4) % 4; /* the payload isn't padded */
}

void
serve_read (struct request *q)
{
    struct readv_reply reply = { 0 };
    uint64_t offset;
    uint32_t size;
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    offset = xdr_get_u64 (&q->in);
    size = xdr_get_u32 (&q->in);
    if (fd)
        r = sync_readv (q->client, fd, size, (off_t) offset, 0, NULL, &reply);
    put_read (q, r, &reply);
    readv_reply_drop (&reply);
}

static struct iobref *
bytes_of (struct request *q, size_t size, struct iovec *ret_vector)
{
    struct iobuf *iobuf = iobuf_new (MAX (size, 1));
    struct iobref *iobref = iobref_new ();

    iobref_add (iobref, iobuf);
    memcpy (iobuf->ptr, q->in.at, size);
    *ret_vector = (struct iovec){ iobuf->ptr, size };
    iobuf_unref (iobuf);
    return iobref;
}

void
serve_write (struct request *q)
{
    struct writev_reply reply = { 0 };
    g_autoptr (dict_t) told = NULL;
    struct iobref *iobref;
    struct iovec vector;
    uint64_t offset;
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);
    g_autoptr (dict_t) xdata = NULL;

    offset = xdr_get_u64 (&q->in);
    xdr_get_u32 (&q->in); /* the size: that of the payload */
    xdr_get_u32 (&q->in);
    xdata = get_dict (&q->in);
    iobref = bytes_of (q, xdr_left (&q->in), &vector);
    if (fd)
        r = sync_writev (q->client, fd, &vector, 1, (off_t) offset, 0, iobref, NULL, &reply);
    if (r >= 0)
        told = write_told (q, fd->inode, reply.prebuf.ia_size == offset, xdata);
    put_result (q, r, told);
    put_buf (q, &reply.prebuf);
    put_buf (q, &reply.postbuf);
    writev_reply_drop (&reply);
    iobref_unref (iobref);
}

/* --- sizes ------------------------------------------------------------------------------------ */

void
serve_truncate (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    loc_t loc = { .inode = inode };
    struct truncate_reply reply = { 0 };
    int r = -ENOENT;

    if (inode)
        r = sync_truncate (q->client, &loc, (off_t) xdr_get_u64 (&q->in), NULL, &reply);
    put_change (q, r, &reply.prebuf, &reply.postbuf);
    truncate_reply_drop (&reply);
}

void
serve_ftruncate (struct request *q)
{
    struct ftruncate_reply reply = { 0 };
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    if (fd)
        r = sync_ftruncate (q->client, fd, (off_t) xdr_get_u64 (&q->in), NULL, &reply);
    put_change (q, r, &reply.prebuf, &reply.postbuf);
    ftruncate_reply_drop (&reply);
}

void
serve_fallocate (struct request *q)
{
    struct fallocate_reply reply = { 0 };
    uint64_t offset, size;
    int r, mode;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    mode = xdr_get_u32 (&q->in) ? FALLOC_FL_KEEP_SIZE : 0;
    offset = xdr_get_u64 (&q->in);
    size = xdr_get_u64 (&q->in);
    if (fd)
        r = sync_fallocate (q->client, fd, mode, (off_t) offset, size, NULL, &reply);
    put_change (q, r, &reply.prebuf, &reply.postbuf);
    fallocate_reply_drop (&reply);
}

#define SERVE_RANGE(name_)                                                                         \
    void serve_##name_ (struct request *q)                                                         \
    {                                                                                              \
        struct name_##_reply reply = { 0 };                                                        \
        uint64_t offset, size;                                                                     \
        int r;                                                                                     \
        g_autoptr (fd_t) fd = get_fd (q, &r);                                                      \
                                                                                                   \
        offset = xdr_get_u64 (&q->in);                                                             \
        size = xdr_get_u64 (&q->in);                                                               \
        if (fd)                                                                                    \
            r = sync_##name_ (q->client, fd, (off_t) offset, size, NULL, &reply);                  \
        put_change (q, r, &reply.prebuf, &reply.postbuf);                                          \
        name_##_reply_drop (&reply);                                                               \
    }

SERVE_RANGE (discard)
SERVE_RANGE (zerofill)

/* --- seek, copy_file_range -------------------------------------------------------------------- */

void
serve_seek (struct request *q)
{
    struct seek_reply reply = { 0 };
    uint64_t offset;
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    offset = xdr_get_u64 (&q->in);
    if (fd)
        r = sync_seek (q->client, fd, (off_t) offset, xdr_get_u32 (&q->in) ? SEEK_HOLE : SEEK_DATA,
                       NULL, &reply);
    put_result (q, r, NULL);
    xdr_put_u64 (&q->out, (uint64_t) reply.offset);
    seek_reply_drop (&reply);
}

void
serve_copy_file_range (struct request *q)
{
    g_autoptr (inode_t) from = get_inode (q);
    g_autoptr (inode_t) to = get_inode (q);
    int r, r_in, r_out;
    const int64_t in_number = (int64_t) xdr_get_u64 (&q->in),
                  out_number = (int64_t) xdr_get_u64 (&q->in);
    g_autoptr (fd_t) in = fd_by_number (q, from, in_number, &r_in);
    g_autoptr (fd_t) out = fd_by_number (q, to, out_number, &r_out);
    const off_t off_in = (off_t) xdr_get_u64 (&q->in), off_out = (off_t) xdr_get_u64 (&q->in);
    const uint32_t len = xdr_get_u32 (&q->in);
    struct copy_file_range_reply reply = { 0 };

    r = !in ? r_in : !out ? r_out : 0;
    if (r == 0)
        r = sync_copy_file_range (q->client, in, off_in, out, off_out, len, 0, NULL, &reply);
    put_result (q, r, NULL);
    put_buf (q, &reply.stbuf);
    put_buf (q, &reply.prebuf_dst);
    put_buf (q, &reply.postbuf_dst);
    copy_file_range_reply_drop (&reply);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on the data of an open file. The bytes of a write go out from the caller's buffers,
 * and those of a read stay where they were received. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>

#define TIMES_OF_WRITE (RPC_CHANGES_CTIME | RPC_CHANGES_MTIME)

#define READ_RESULTS 160 /* bytes of a read's results before its xdata */
#define DICT_HEAD 12

/* --- readv ------------------------------------------------------------------------------------ */

/* The results end with xdata, whose size comes first in it. */
static size_t
read_results_size (const void *results, size_t size)
{
    struct xdr_in in = xdr_in_of (results, size);
    size_t pairs;

    if (!xdr_get_fixed (&in, READ_RESULTS))
        return 0;
    pairs = xdr_get_u32 (&in);
    return in.failed || pairs > RPC_RECORD_MAX ? 0 : READ_RESULTS + DICT_HEAD + pairs;
}

static void
readv_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct xdr_in *in = &reply->results;
    g_autoptr (dict_t) answer_xdata = NULL;
    int32_t op_ret = 0, op_errno = 0;
    struct iatt buf;
    size_t size;

    if (reply->error == 0) {
        op_ret = xdr_get_i32 (in);
        op_errno = xdr_get_i32 (in);
    }
    if (client_answer_failed (call, reply, op_ret, op_errno, NULL))
        return;
    get_iatt (in, &buf);
    size = xdr_get_u32 (in);
    answer_xdata = get_dict (in);
    if (size != (size_t) op_ret || size != iov_length (reply->payload, reply->payload_parts)
        || size > call->rpc.weight)
        in->failed = true;
    if (client_answer_is_whole (call, reply))
        STACK_UNWIND (readv, call->frame, op_ret, 0, reply->payload, reply->payload_parts, &buf,
                      reply->payload_ref, answer_xdata);
}

void
client_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
              uint32_t flags, dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_READ, 0, readv_reply);

    if (!call)
        return;
    call->rpc.weight = size;
    call->rpc.results_size = read_results_size;
    xdr_put_u64 (&call->rpc.out, (uint64_t) offset);
    xdr_put_u32 (&call->rpc.out, (uint32_t) size);
    xdr_put_u32 (&call->rpc.out, client_open_flags (this, fd->flags));
    put_dict (&call->rpc.out, xdata);
    client_claims (call, fd->inode, offset, size, false);
    client_send (call);
}

/* --- writev ----------------------------------------------------------------------------------- */

static void
writev_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;
    struct iatt pre, post;

    if (!client_answer_begin (call, reply, &answer))
        return;
    get_iatt (&reply->results, &pre);
    get_iatt (&reply->results, &post);
    if ((size_t) answer.op_ret > call->rpc.weight)
        reply->results.failed = true;
    if (client_answer_is_whole (call, reply))
        STACK_UNWIND (writev, call->frame, answer.op_ret, 0, &pre, &post, answer.xdata);
}

/* A file that the server opened to append appends whatever the offset. A write at an offset (from a
 * mapping, or after fcntl removed O_APPEND) therefore names the file by its gfid. */
void
client_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
               off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    const size_t size = iov_length (vector, count);
    const bool to_append = fd->flags & O_APPEND, appends = to_append && !(flags & WRITE_AT_OFFSET);
    struct client_call *call =
        to_append && !appends
            ? client_begin_gfid (frame, this, fd, WIRE_WRITE, TIMES_OF_WRITE, writev_reply)
            : client_begin_fd (frame, this, fd, WIRE_WRITE, TIMES_OF_WRITE, writev_reply);

    if (!call)
        return;
    call->payload = g_memdup2 (vector, (gsize) count * sizeof *vector);
    call->payload_ref = iobref_ref (iobref);
    call->rpc.payload = call->payload;
    call->rpc.payload_parts = count;
    call->rpc.weight = size;
    xdr_put_u64 (&call->rpc.out, (uint64_t) offset);
    xdr_put_u32 (&call->rpc.out, (uint32_t) size);
    xdr_put_u32 (&call->rpc.out,
                 client_open_flags (this, appends ? fd->flags : fd->flags & ~(uint32_t) O_APPEND));
    put_dict (&call->rpc.out, xdata);
    client_claims (call, fd->inode, appends ? 0 : offset, appends ? 0 : size, true);
    client_send (call);
}

/* --- fallocate, discard, zerofill ------------------------------------------------------------- */

/* keep_size: the first argument of fallocate; NULL: there is none. */
static void
space_change (call_frame_t *frame, xlator_t *this, fd_t *fd, enum procedure procedure,
              const uint32_t *keep_size, off_t offset, size_t len, dict_t *xdata,
              client_reply_fn *reply)
{
    struct client_call *call =
        client_begin_fd (frame, this, fd, procedure, TIMES_OF_WRITE, reply);

    if (!call)
        return;
    if (keep_size)
        xdr_put_u32 (&call->rpc.out, *keep_size);
    xdr_put_u64 (&call->rpc.out, (uint64_t) offset);
    xdr_put_u64 (&call->rpc.out, len);
    put_dict (&call->rpc.out, xdata);
    client_claims (call, fd->inode, offset, len, true);
    client_send (call);
}

/* The protocol has no other modes: holes and zeros are discard and zerofill. */
void
client_fallocate (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t mode, off_t offset,
                  size_t len, dict_t *xdata)
{
    const uint32_t keep_size = mode & FALLOC_FL_KEEP_SIZE ? 1 : 0;

    if (mode & ~FALLOC_FL_KEEP_SIZE)
        frame_fail (frame, EOPNOTSUPP);
    else
        space_change (frame, this, fd, WIRE_FALLOCATE, &keep_size, offset, len, xdata,
                      client_fallocate_reply);
}

void
client_discard (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
                dict_t *xdata)
{
    space_change (frame, this, fd, WIRE_DISCARD, NULL, offset, len, xdata,
                  client_discard_reply);
}

void
client_zerofill (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
                 dict_t *xdata)
{
    space_change (frame, this, fd, WIRE_ZEROFILL, NULL, offset, len, xdata,
                  client_zerofill_reply);
}

/* --- seek, copy_file_range -------------------------------------------------------------------- */

static void
seek_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;
    off_t offset;

    if (!client_answer_begin (call, reply, &answer))
        return;
    offset = (off_t) xdr_get_u64 (&reply->results);
    if (client_answer_is_whole (call, reply))
        STACK_UNWIND (seek, call->frame, 0, 0, offset, answer.xdata);
}

void
client_seek (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, int32_t what,
             dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_SEEK, 0, seek_reply);

    if (!call)
        return;
    xdr_put_u64 (&call->rpc.out, (uint64_t) offset);
    xdr_put_u32 (&call->rpc.out, what == SEEK_HOLE ? 1 : 0);
    put_dict (&call->rpc.out, xdata);
    client_claims (call, fd->inode, 0, 0, false);
    client_send (call);
}

static void
copy_file_range_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;
    struct iatt source, pre, post;

    if (!client_answer_begin (call, reply, &answer))
        return;
    get_iatt (&reply->results, &source);
    get_iatt (&reply->results, &pre);
    get_iatt (&reply->results, &post);
    if (client_answer_is_whole (call, reply))
        STACK_UNWIND (copy_file_range, call->frame, answer.op_ret, 0, &source, &pre, &post,
                      answer.xdata);
}

/* Claims only the destination: two claims could wait for each other. A write to the source that has
 * no answer yet may therefore be copied or not, as on a local file system. */
void
client_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in,
                        fd_t *fd_out, off_t off_out, size_t len, uint32_t flags, dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_COPY_FILE_RANGE, TIMES_OF_WRITE,
                                             copy_file_range_reply);
    int64_t in = 0, out = 0;
    int error;

    if (!call)
        return;
    error = file_number (this, fd_in, WIRE_COPY_FILE_RANGE, &in);
    if (error == 0)
        error = file_number (this, fd_out, WIRE_COPY_FILE_RANGE, &out);
    if (error) {
        client_drop (call);
        frame_fail (frame, error);
        return;
    }
    put_gfid (&call->rpc.out, &fd_in->inode->gfid);
    put_gfid (&call->rpc.out, &fd_out->inode->gfid);
    xdr_put_u64 (&call->rpc.out, (uint64_t) in);
    xdr_put_u64 (&call->rpc.out, (uint64_t) out);
    xdr_put_u64 (&call->rpc.out, (uint64_t) off_in);
    xdr_put_u64 (&call->rpc.out, (uint64_t) off_out);
    xdr_put_u32 (&call->rpc.out, (uint32_t) MIN (len, 1u << 30));
    xdr_put_u32 (&call->rpc.out, flags);
    put_dict (&call->rpc.out, xdata);
    client_claims (call, fd_out->inode, off_out, len, true);
    client_send (call);
}

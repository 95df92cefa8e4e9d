/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on the data of an open file. A write sends its data from the caller's buffers. A read
 * answers with the buffers into which the connection has received the data. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>

#define READ_RESULTS 160 /* bytes of a READ's reply that precede its xdata */
#define DICT_HEAD 12     /* bytes of a dict on the wire that precede its first pair */

/* --- readv ------------------------------------------------------------------------------------ */

/* The function rpc_call.results_size of a READ: returns how many bytes of the reply precede the
 * data. The last field before the data is xdata, which begins with its own size. */
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
    const size_t size = iov_length (reply->payload, reply->payload_parts);
    struct wire_readv_reply got = { 0 };

    if (!client_get (call, reply, WIRE_readv, &got))
        return;
    if (size != (size_t) got.head.op_ret || size != got.size || size > call->rpc.weight)
        client_answer_is_none (call, reply);
    else
        STACK_UNWIND (readv, call->frame, got.head.op_ret, 0, reply->payload, reply->payload_parts,
                      &got.stbuf, reply->payload_ref, got.xdata);
    wire_clear_reply (WIRE_readv, &got);
}

void
client_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
              uint32_t flags, dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_readv, readv_reply);
    const struct client_range range = { fd->inode, offset, size };
    const struct wire_readv put = {
        .offset = (uint64_t) offset,
        .size = (uint32_t) size,
        .flags = client_open_flags (this, fd->flags),
        .xdata = xdata,
    };

    if (!call)
        return;
    call->rpc.weight = size;
    call->rpc.results_size = read_results_size;
    client_ask (call, WIRE_readv, &put, &range);
}

/* --- writev ----------------------------------------------------------------------------------- */

static void
writev_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_writev_reply got = { 0 };

    if (!client_get (call, reply, WIRE_writev, &got))
        return;
    if ((size_t) got.head.op_ret > call->rpc.weight)
        client_answer_is_none (call, reply);
    else
        STACK_UNWIND (writev, call->frame, got.head.op_ret, 0, &got.prebuf, &got.postbuf,
                      got.xdata);
    wire_clear_reply (WIRE_writev, &got);
}

/* Makes the call send its data from the caller's buffers, without a copy. The call keeps a
 * reference to the buffers. */
static void
writev_lend (struct client_call *call, const struct iovec *vector, int32_t count, size_t size,
             struct iobref *iobref)
{
    call->payload = g_memdup2 (vector, (gsize) count * sizeof *vector);
    call->payload_ref = iobref_ref (iobref);
    call->rpc.payload = call->payload;
    call->rpc.payload_parts = count;
    call->rpc.weight = size;
}

/* Writes to an open file. If the brick has opened the file with O_APPEND, it ignores the offset of
 * a write that names the file by its number. A write to such a file that must go to its offset
 * (from a mapping, or after fcntl(2) removed O_APPEND) therefore has the number WIRE_ANONYMOUS, so
 * that the brick finds the file by its gfid. */
void
client_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
               off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    const size_t size = iov_length (vector, count);
    const bool to_append = fd->flags & O_APPEND, appends = to_append && !(flags & WRITE_AT_OFFSET);
    const uint32_t fd_flags = appends ? fd->flags : fd->flags & ~(uint32_t) O_APPEND;
    const struct client_range range = { fd->inode, appends ? 0 : offset, appends ? 0 : size };
    struct client_call *call =
        to_append && !appends ? client_begin_anonymous (frame, this, fd, WIRE_writev, writev_reply)
                              : client_begin_fd (frame, this, fd, WIRE_writev, writev_reply);
    const struct wire_writev put = {
        .offset = (uint64_t) offset,
        .size = (uint32_t) size,
        .flags = client_open_flags (this, fd_flags),
        .xdata = xdata,
    };

    if (!call)
        return;
    writev_lend (call, vector, count, size, iobref);
    client_ask (call, WIRE_writev, &put, &range);
}

/* --- copy_file_range -------------------------------------------------------------------------- */

static void
copy_file_range_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_copy_file_range_reply got = { 0 };

    if (client_get (call, reply, WIRE_copy_file_range, &got))
        STACK_UNWIND (copy_file_range, call->frame, got.head.op_ret, 0, &got.stbuf,
                      &got.prebuf_dst, &got.postbuf_dst, got.xdata);
    wire_clear_reply (WIRE_copy_file_range, &got);
}

/* Copies a range of one file to another. The call claims only the range of the destination
 * (order.c), because two calls that claim two ranges each could wait for each other. A concurrent
 * write to the source may therefore be executed before or after the copy, as on a local file
 * system. */
void
client_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in,
                        fd_t *fd_out, off_t off_out, size_t len, uint32_t flags, dict_t *xdata)
{
    const struct client_range range = { fd_out->inode, off_out, len };
    struct wire_copy_file_range put = {
        .from = fd_in->inode->gfid,
        .to = fd_out->inode->gfid,
        .off_in = (uint64_t) off_in,
        .off_out = (uint64_t) off_out,
        .len = (uint32_t) MIN (len, 1u << 30),
        .flags = flags,
        .xdata = xdata,
    };
    struct client_call *call =
        client_call_begin (frame, this, WIRE_copy_file_range, copy_file_range_reply);
    int64_t in = 0, out = 0;
    int error;

    if (!call)
        return;
    error = client_file_number (this, fd_in, WIRE_copy_file_range, &in);
    if (error == 0)
        error = client_file_number (this, fd_out, WIRE_copy_file_range, &out);
    put.fd_in = (uint64_t) in;
    put.fd_out = (uint64_t) out;
    if (error == 0) {
        client_ask (call, WIRE_copy_file_range, &put, &range);
    } else {
        client_drop (call);
        frame_fail (frame, error);
    }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Receives records. One system call may fill the receiver's buffer with many small records, which
 * are processed there. The beginning of a large record is in that buffer, too; its rest is received
 * into memory of its own, so that the payload of a read is never copied.
 *
 * The server may be hostile: each length that it sends is compared with the number of received
 * bytes, or with RPC_RECORD_MAX, before it is used.
 */
#include "rpc/internal.h"

#include "core/time/clock.h"

#include <errno.h>
#include <string.h>

#define BUFFER (32 << 10)
#define ROUNDS 16 /* most reads from one socket before the event loop serves other sockets */
#define MARK 4    /* bytes of a record mark */
#define HEADER 8  /* bytes of the XID and the message type, with which each record begins */
#define LAST_FRAGMENT 0x80000000u
#define MESSAGE_CALL 0
#define MESSAGE_REPLY 1

void
receiver_clear (struct receiver *in)
{
    g_clear_pointer (&in->buffer, iobuf_unref);
    g_clear_pointer (&in->large, iobuf_unref);
    g_clear_pointer (&in->fragments, g_byte_array_unref);
}

/* --- one record ------------------------------------------------------------------------------- */

/* The functions below that return int return 0, or -1 after they have ended the connection. */

/* Ends the connection, since the server sent bytes that are no valid record. */
static int G_GNUC_PRINTF (2, 3)
receiver_refuse (struct rpc_connection *c, const char *format, ...)
{
    g_autofree char *reason = NULL;
    va_list values;

    va_start (values, format);
    reason = g_strdup_vprintf (format, values);
    va_end (values);
    connection_close (c, reason);
    return -1;
}

static int
record_is_reply (struct rpc_connection *c, uint32_t xid, struct rpc_reply *reply)
{
    struct rpc_call *call = connection_take (c, xid);

    if (!call)
        return 0; /* a late reply: its call was answered with ETIMEDOUT before */
    reply->error = rpc_reply_header (&reply->results);
    call->answered (call, reply);
    rpc_call_unref (call);
    connection_admit (c);
    return 0;
}

static int
record_is_call (struct rpc_connection *c, struct xdr_in *in)
{
    uint32_t program, procedure;
    size_t size;

    xdr_get_u32 (in); /* version of RPC */
    program = xdr_get_u32 (in);
    xdr_get_u32 (in); /* version of the program */
    procedure = xdr_get_u32 (in);
    for (int i = 0; i < 2; i++) { /* credentials and verifier */
        xdr_get_u32 (in);
        xdr_get_opaque (in, RPC_RECORD_MAX, &size);
    }
    if (in->failed)
        return receiver_refuse (c, "the server sent a call that is too short");
    c->events->called (c->data, program, procedure, in);
    return 0;
}

static int
record_process (struct rpc_connection *c, struct rpc_reply *reply)
{
    struct xdr_in *in = &reply->results;
    const uint32_t xid = xdr_get_u32 (in), message = xdr_get_u32 (in);

    if (in->failed)
        return receiver_refuse (c, "the server sent a record of less than %d bytes", HEADER);
    if (message == MESSAGE_REPLY)
        return record_is_reply (c, xid, reply);
    if (message == MESSAGE_CALL)
        return record_is_call (c, in);
    return receiver_refuse (c, "the server sent a record that is neither a call nor a reply (%u)",
                            message);
}

/* --- payloads --------------------------------------------------------------------------------- */

/* Returns how many bytes of the record precede its payload; 0 if the record has no payload, or if
 * the first `have` bytes don't show where it begins. */
static size_t
payload_begins (struct rpc_connection *c, const uint8_t *record, size_t have)
{
    struct xdr_in in = xdr_in_of (record, have);
    const uint32_t xid = xdr_get_u32 (&in), message = xdr_get_u32 (&in);
    const struct rpc_call *call;
    size_t results = 0;

    if (message != MESSAGE_REPLY || rpc_reply_header (&in) != 0 || in.failed)
        return 0;
    pthread_mutex_lock (&c->lock);
    call = c->slots[SLOT_OF (xid)];
    if (call && call->xid == xid && call->results_size)
        results = call->results_size (in.at, xdr_left (&in));
    pthread_mutex_unlock (&c->lock);
    return results == 0 || results > xdr_left (&in) ? 0 : (size_t) (in.at - record) + results;
}

static void
payload_add (struct rpc_reply *reply, struct iobuf *buffer, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    if (!reply->payload_ref)
        reply->payload_ref = iobref_new ();
    iobref_add (reply->payload_ref, buffer);
    reply->payload[reply->payload_parts++] = (struct iovec){ (void *) bytes, size };
}

/* Processes a record with a payload. Its first `have` bytes are in `buffer`, the others, if any, in
 * `large`. */
static int
record_with_payload (struct rpc_connection *c, const uint8_t *record, size_t have, size_t results)
{
    struct receiver *in = &c->receiver;
    struct rpc_reply reply = { .results = xdr_in_of (record, results) };
    int r;

    payload_add (&reply, in->buffer, record + results, have - results);
    if (in->large)
        payload_add (&reply, in->large, in->large->ptr, in->large_size);
    g_clear_pointer (&in->large, iobuf_unref);
    /* If the buffer has no further bytes, the receiver drops its reference to the buffer. The owner
     * of the payload then has the only reference, and may change the bytes in place. */
    if (in->begin == in->end)
        g_clear_pointer (&in->buffer, iobuf_unref);
    r = record_process (c, &reply);
    iobref_unref (reply.payload_ref);
    return r;
}

/* --- the buffer ------------------------------------------------------------------------------- */

/* Processes a record that is whole in the buffer. */
static int
buffer_take (struct rpc_connection *c, size_t size)
{
    struct receiver *in = &c->receiver;
    const uint8_t *record = (uint8_t *) in->buffer->ptr + in->begin + MARK;
    const size_t results = payload_begins (c, record, size);
    struct iobuf *held = iobuf_ref (in->buffer); /* keeps the results in memory */
    struct rpc_reply reply = { .results = xdr_in_of (record, size) };
    int r;

    in->begin += MARK + size;
    r = results ? record_with_payload (c, record, size, results) : record_process (c, &reply);
    iobuf_unref (held);
    return r;
}

/* Allocates memory for the rest of a record that is larger than the buffer. */
static int
large_begin (struct rpc_connection *c, size_t size)
{
    struct receiver *in = &c->receiver;
    const uint8_t *record = (uint8_t *) in->buffer->ptr + in->begin + MARK;
    const size_t have = in->end - in->begin - MARK;

    in->results = payload_begins (c, record, have);
    in->large_size = in->results ? size - have : size;
    in->large_used = in->results ? 0 : have;
    in->large = iobuf_new (in->large_size);
    if (!in->large)
        return receiver_refuse (c, "there is no memory for a reply of %zu bytes", size);
    memcpy (in->large->ptr, record, in->large_used);
    return 0;
}

/* Processes the large record, whose last byte has been received. */
static int
large_take (struct rpc_connection *c)
{
    struct receiver *in = &c->receiver;
    const uint8_t *record = (uint8_t *) in->buffer->ptr + in->begin + MARK;
    const size_t have = in->end - in->begin - MARK;
    struct iobuf *held = iobuf_ref (in->results ? in->buffer : in->large);
    int r;

    in->begin = in->end;
    if (in->results) {
        r = record_with_payload (c, record, have, in->results);
    } else {
        struct rpc_reply reply = { .results = xdr_in_of (in->large->ptr, in->large_size) };

        g_clear_pointer (&in->large, iobuf_unref);
        r = record_process (c, &reply);
    }
    iobuf_unref (held);
    return r;
}

/* Adds a fragment to a record that comes in several, and processes the record after the last one. A
 * server of GlusterFS sends each record in one fragment, but the protocol allows several. */
static int
fragment_take (struct rpc_connection *c, size_t size, bool last)
{
    struct receiver *in = &c->receiver;
    g_autoptr (GByteArray) whole = NULL;
    struct rpc_reply reply = { 0 };

    if (!in->fragments)
        in->fragments = g_byte_array_new ();
    g_byte_array_append (in->fragments, (uint8_t *) in->buffer->ptr + in->begin + MARK,
                         (guint) size);
    in->begin += MARK + size;
    if (!last)
        return 0;
    whole = g_steal_pointer (&in->fragments);
    reply.results = xdr_in_of (whole->data, whole->len);
    return record_process (c, &reply);
}

/* Bytes of a large record that must be in the buffer before its rest is received elsewhere: they
 * are enough to compute where the payload begins. */
#define BEGINNING 4096

/* Called for a record whose end has not been received yet. If the whole record does not fit in the
 * buffer, prepares to receive its rest into memory of its own. */

static int
incomplete_take (struct rpc_connection *c, size_t size, bool last)
{
    const struct receiver *in = &c->receiver;

    if (MARK + size <= BUFFER || in->end - in->begin < BEGINNING)
        return 0;
    if (!last || in->fragments)
        return receiver_refuse (c,
                                "the server sent a fragment of %zu bytes; at most %d are allowed",
                                size, BUFFER - MARK);
    return large_begin (c, size);
}

/* Processes the first record in the buffer. Returns 1 if another one may follow, 0 if bytes of the
 * record are missing, or -1. */
static int
buffer_read (struct rpc_connection *c)
{
    struct receiver *in = &c->receiver;
    const size_t have = in->end - in->begin, before = in->fragments ? in->fragments->len : 0;
    uint32_t mark;
    size_t size;
    bool last;

    if (have < MARK)
        return 0;
    if (stream_is_alert ((uint8_t *) in->buffer->ptr + in->begin, have))
        return receiver_refuse (c, "%s", STREAM_WANTS_TLS);
    memcpy (&mark, (uint8_t *) in->buffer->ptr + in->begin, MARK);
    mark = GUINT32_FROM_BE (mark);
    size = mark & ~LAST_FRAGMENT;
    last = mark & LAST_FRAGMENT;
    if (size + before > RPC_RECORD_MAX)
        return receiver_refuse (c,
                                "the server announced a record of %zu bytes; at most %d are "
                                "allowed",
                                size + before, RPC_RECORD_MAX);
    if (have < MARK + size)
        return incomplete_take (c, size, last);
    if (!last || in->fragments)
        return fragment_take (c, size, last) < 0 ? -1 : 1;
    return buffer_take (c, size) < 0 ? -1 : 1;
}

/* Makes room in the buffer for more bytes. If less than half of it is free at its end, or if a
 * payload keeps it, the receiver takes a new buffer, and copies the unprocessed bytes into it. */
static bool
buffer_make_room (struct receiver *in)
{
    const size_t left = in->end - in->begin;
    struct iobuf *old = in->buffer;

    if (old && left > 0 && (in->begin == 0 || in->end <= BUFFER / 2))
        return true;
    if (old && left == 0 && __atomic_load_n (&old->refs, __ATOMIC_ACQUIRE) == 1) {
        in->begin = in->end = 0;
        return true;
    }
    in->buffer = iobuf_new (BUFFER);
    if (in->buffer && left > 0)
        memcpy (in->buffer->ptr, (uint8_t *) old->ptr + in->begin, left);
    in->begin = 0;
    in->end = in->buffer ? left : 0;
    iobuf_unref (old);
    return in->buffer != NULL;
}

/* --- the socket ------------------------------------------------------------------------------- */

/* Returns why the connection ends, to be freed with g_free. The text guesses where a server closes
 * the connection without an error: it may demand TLS, or refuse the client's certificate. */
static char *
end_reason (const struct rpc_connection *c, ssize_t n)
{
    if (n != 0 && n != -ECONNRESET)
        return stream_reason (&c->stream, (int) n);
    if (__atomic_load_n (&c->received, __ATOMIC_RELAXED) > 0)
        return g_strdup ("the server has closed the connection");
    if (c->stream.tls)
        return g_strdup ("the server has closed the connection right after the TLS handshake; its "
                         "log may have the reason; it may refuse this client's certificate "
                         "(ssl-own-cert)");
    return g_strdup ("the server has closed the connection before it answered anything; does it "
                     "demand TLS (option transport.socket.ssl-enabled on)?");
}

/* Returns how many bytes were read; 0 if the socket has none now; -1 after it has ended the
 * connection. */
static ssize_t
receiver_read (struct rpc_connection *c, void *to, size_t size)
{
    const ssize_t n = stream_read (&c->stream, to, size);
    g_autofree char *reason = NULL;

    if (n > 0) {
        __atomic_store_n (&c->heard, clock_now (), __ATOMIC_RELAXED);
        __atomic_add_fetch (&c->received, n, __ATOMIC_RELAXED);
        return n;
    }
    if (n == -EAGAIN)
        return 0;
    reason = end_reason (c, n);
    connection_close (c, reason);
    return -1;
}

/* receive_large and receive_buffer read once. They return 1 if the socket may have more bytes, 0 if
 * it had fewer bytes than they tried to read, or -1 after they have ended the connection. */
static int
receive_large (struct rpc_connection *c)
{
    struct receiver *in = &c->receiver;
    const size_t room = in->large_size - in->large_used;
    const ssize_t n = receiver_read (c, (uint8_t *) in->large->ptr + in->large_used, room);

    if (n <= 0)
        return (int) n;
    in->large_used += (size_t) n;
    if ((size_t) n < room)
        return 0;
    return large_take (c) < 0 ? -1 : 1;
}

static int
receive_buffer (struct rpc_connection *c)
{
    struct receiver *in = &c->receiver;
    size_t room;
    ssize_t n;
    int r;

    if (!buffer_make_room (in))
        return receiver_refuse (c, "there is no memory for a reply");
    room = BUFFER - in->end;
    n = receiver_read (c, (uint8_t *) in->buffer->ptr + in->end, room);
    if (n <= 0)
        return (int) n;
    in->end += (size_t) n;
    while ((r = buffer_read (c)) > 0)
        continue;
    return r < 0 ? -1 : (size_t) n == room;
}

/* Makes the event loop read from the connection again. For a plain socket, epoll reports the
 * remaining bytes. For TLS, this posts a task, because epoll doesn't report bytes that OpenSSL has
 * received already. */
static void
receive_more_later (struct rpc_connection *c)
{
    if (!c->stream.tls || c->reading_more)
        return;
    c->reading_more = true;
    rpc_connection_ref (c);
    loop_post (&c->read_more);
}

/* Reads from the socket and processes the records. Keeps a reference to the connection meanwhile,
 * because processing a record may drop all other references. */
void
connection_receive (struct rpc_connection *c)
{
    int r = 1;

    rpc_connection_ref (c);
    for (int round = 0; r > 0 && round < ROUNDS; round++)
        r = c->receiver.large ? receive_large (c) : receive_buffer (c);
    if (r > 0)
        receive_more_later (c);
    rpc_connection_unref (c);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A remote procedure call (ONC RPC, RFC 5531) to a server of GlusterFS.
 *
 *   record mark | header | credentials | arguments | payload
 *   `------------------- out ------------------'   `- memory of the caller, not copied
 *
 * In a reply, `results` are the bytes in XDR, and `payload` is the data that a read returns. Both
 * point into the buffers that received them.
 */
#ifndef WINDLASS_RPC_CALL_H
#define WINDLASS_RPC_CALL_H

#include "core/data/iobuf.h"
#include "rpc/xdr.h"

#include <sys/types.h>
#include <time.h>

/* Numbers of the programs of GlusterFS 10, with the versions that this client calls. */
enum {
    RPC_DUMP = 123451501,      /* version 1: list of the server's programs; ping */
    RPC_HANDSHAKE = 14398633,  /* version 2: SETVOLUME, GETSPEC */
    RPC_PORTMAP = 34123456,    /* version 1: the port of a brick */
    RPC_CALLBACK = 52743234,   /* version 1: procedures of the client that the server calls */
    RPC_FILES = 1298437,       /* version 400: operations on files */
};

/* Numbers of procedures. RPC_GETSPEC belongs to the program RPC_HANDSHAKE, the other two belong to
 * RPC_CALLBACK. */
enum { RPC_GETSPEC = 2, RPC_FETCHSPEC = 1, RPC_STATEDUMP = 9 };

/* The process that an operation is for. The server believes these values: it authenticates only the
 * client, by address, password or certificate. */
struct rpc_credentials {
    pid_t pid; /* negative: an internal client of GlusterFS, such as the rebalance */
    uid_t uid;
    gid_t gid;
    uint32_t times;      /* RPC_CHANGES_*: the times that the operation sets to `now` */
    struct timespec now;
    const gid_t *groups; /* supplementary groups; used only until rpc_call_begin returns */
    int ngroups;
    const void *owner;   /* bytes of the lock owner; used only until rpc_call_begin returns */
    size_t owner_size;   /* number of these bytes, at most RPC_OWNER_MAX */
};

#define RPC_OWNER_MAX 32

enum {
    RPC_CHANGES_CTIME = 1 << 0,
    RPC_CHANGES_MTIME = 1 << 1,
    RPC_CHANGES_ATIME = 1 << 2,
    RPC_CHANGES_PARENT_CTIME = 1 << 3,
    RPC_CHANGES_PARENT_MTIME = 1 << 4,
    RPC_CHANGES_PARENT_ATIME = 1 << 5,
};

#define RPC_PAYLOAD_PARTS 2

/* A reply of the server, or an error if there is none. It is valid until rpc_call.answered
 * returns. */
struct rpc_reply {
    int error; /* 0, or a positive errno if there are no results: ENOTCONN, ETIMEDOUT, EPROTO,
                * EACCES (the server rejected the credentials), EOPNOTSUPP (the server lacks the
                * procedure), EREMOTEIO (the server failed to run the procedure) */
    struct xdr_in results;
    struct iovec payload[RPC_PAYLOAD_PARTS];
    int payload_parts;
    struct iobref *payload_ref;
};

struct rpc_call {
    struct xdr_out out; /* bytes of the record, from its mark to the last argument */
    const struct iovec *payload; /* bytes that follow the arguments; the caller keeps the array and
                                  * the bytes until `free` is called */
    int payload_parts;
    size_t weight; /* bytes of payload in the call and its reply; RPC_WINDOW_BYTES limits the sum */
    bool patient;  /* frame-timeout does not apply, because the call may wait for a record lock that
                    * another program holds for any time */
    /* Called once: on the event loop's thread, before rpc_events.closed; or by rpc_send, on the
     * thread that called rpc_send. */
    void (*answered) (struct rpc_call *call, struct rpc_reply *reply);
    /* Called once when the call has waited for frame-timeout, on the event loop's thread. The call
     * keeps waiting: `answered` is called later, with the reply or with ENOTCONN. NULL: `answered`
     * is called with ETIMEDOUT instead, and a later reply is dropped. */
    void (*overdue) (struct rpc_call *call);
    /* Frees the call and its memory, after `answered` has returned, on any thread. */
    void (*free) (struct rpc_call *call);
    /* Returns how many bytes of results precede the payload of the reply, or 0 if `size` bytes
     * are too few to compute that. NULL: the reply has no payload. */
    size_t (*results_size) (const void *results, size_t size);

    /* Members that only the connection sets. */
    int refs;             /* number of references; atomic */
    uint32_t xid;
    size_t sent;          /* number of bytes of the record that were written to the socket; used
                           * only by the thread that writes */
    int64_t since;        /* time (clock_now) of rpc_send */
    int64_t asked;        /* time (clock_now) when the call got a slot; 0: it waits for a slot */
    bool overdue_told;    /* `overdue` was called, or will be; guarded by rpc_connection.lock */
    struct rpc_call *next;
};

/* Begins a call: writes its header and credentials. credentials may be NULL: an anonymous call
 * (AUTH_NULL). */
void rpc_call_begin (struct rpc_call *call, uint32_t program, uint32_t version, uint32_t procedure,
                     const struct rpc_credentials *credentials);

struct rpc_call *rpc_call_ref (struct rpc_call *call);
void rpc_call_unref (struct rpc_call *call);

/* Reads the header of a reply, from behind the XID and the message type to the results. Returns the
 * value for rpc_reply.error. */
int rpc_reply_header (struct xdr_in *in);

#endif

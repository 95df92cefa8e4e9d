/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A remote procedure call (ONC RPC, RFC 5531) to a server of GlusterFS.
 *
 *   record mark | header | credentials | arguments | payload
 *   `------------------- out ------------------'   `- lent by the caller, kept by reference
 *
 * Of an answer, results are the bytes of XDR, and payload the data of a read. They lie where they
 * were received; nothing is copied.
 */
#ifndef WINDLASS_RPC_CALL_H
#define WINDLASS_RPC_CALL_H

#include "core/data/iobuf.h"
#include "rpc/xdr.h"

#include <sys/types.h>
#include <time.h>

/* Programs of GlusterFS 10. */
enum {
    RPC_DUMP = 123451501,      /* version 1: which programs does the server have? ping */
    RPC_HANDSHAKE = 14398633,  /* version 2: SETVOLUME, GETSPEC */
    RPC_PORTMAP = 34123456,    /* version 1: the port of a brick */
    RPC_CALLBACK = 52743234,   /* version 1: calls of the server */
    RPC_FILES = 1298437,       /* version 400: operations on files */
};

/* Procedures of RPC_HANDSHAKE and RPC_CALLBACK. */
enum { RPC_GETSPEC = 2, RPC_FETCHSPEC = 1, RPC_STATEDUMP = 9 };

/* The caller of an operation. A server believes these claims: it knows its clients only by address,
 * password or certificate. */
struct rpc_credentials {
    pid_t pid; /* below 0: a part of the file system itself */
    uid_t uid;
    gid_t gid;
    uint32_t times;      /* RPC_CHANGES_*: which times the operation sets to now */
    struct timespec now;
    const gid_t *groups; /* lent for the call */
    int ngroups;
    const void *owner;   /* of locks; lent for the call */
    size_t owner_size;   /* at most RPC_OWNER_MAX */
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

/* Lent for the call of answered. */
struct rpc_reply {
    int error; /* 0, or a positive errno if there is no answer: ENOTCONN, ETIMEDOUT, EPROTO,
                * EOPNOTSUPP (the server lacks the procedure), EREMOTEIO (it rejected the call) */
    struct xdr_in results;
    struct iovec payload[RPC_PAYLOAD_PARTS];
    int payload_parts;
    struct iobref *payload_ref;
};

struct rpc_call {
    struct xdr_out out; /* up to the last argument */
    const struct iovec *payload; /* follows the arguments; the array lives as long as the call */
    int payload_parts;
    size_t weight; /* bytes of payload, there or back: what the window of a connection counts */
    bool patient;  /* may take longer than frame-timeout: a lock of a program */
    /* Called once, on the loop's thread and before rpc_events.closed, or by rpc_send on its
     * caller's. */
    void (*answered) (struct rpc_call *call, struct rpc_reply *reply);
    /* NULL: after frame-timeout the call is answered with ETIMEDOUT, and a reply that comes later
     * is dropped. Else this is called once instead, on the loop's thread: the call still waits for
     * the reply, with which, or with ENOTCONN, answered is called. */
    void (*overdue) (struct rpc_call *call);
    /* Frees the call and what it holds, after answered, on any thread. */
    void (*free) (struct rpc_call *call);
    /* For answers with a payload: returns how many bytes of results precede it; 0 if more bytes
     * are needed to know. NULL: no payload. */
    size_t (*results_size) (const void *results, size_t size);

    /* For the connection. */
    int refs;             /* atomic: the waiting slot, and the thread that sends */
    uint32_t xid;
    size_t sent;          /* bytes of the record that were sent; the sending thread's */
    int64_t since;        /* clock_now of rpc_send */
    int64_t asked;        /* clock_now when it got a slot and so could be sent; 0: it waits */
    bool overdue_told;    /* overdue was called, or is about to be; rpc_connection.lock */
    struct rpc_call *next;
};

/* Begins a call: header and credentials. NULL: an anonymous call (AUTH_NULL). */
void rpc_call_begin (struct rpc_call *call, uint32_t program, uint32_t version, uint32_t procedure,
                     const struct rpc_credentials *credentials);

struct rpc_call *rpc_call_ref (struct rpc_call *call);
void rpc_call_unref (struct rpc_call *call);

/* Reads the header of an answer, up to the results. Returns reply.error. */
int rpc_reply_header (struct xdr_in *in);

#endif

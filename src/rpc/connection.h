/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A connection to a server: from its start until it ends, never again. A caller that connects anew
 * makes another one, so no call and no number of the old connection can reach the new one.
 *
 *   threads that call --rpc_send--> queue --one of them writes--> socket
 *   the loop's thread <--reads-- socket;  it finds the call by its xid, and answers it
 *
 * A call that is sent occupies one of RPC_WINDOW slots until it is answered. Calls beyond them, or
 * beyond RPC_WINDOW_BYTES of payload, wait in order.
 *
 * A connection ends when the server closes it, sends what no server sends, or says nothing for
 * ping_timeout while calls wait; then every call is answered with ENOTCONN. A call that the server
 * does not answer within frame_timeout is answered with ETIMEDOUT; if the call has `overdue`,
 * that is called instead.
 */
#ifndef WINDLASS_RPC_CONNECTION_H
#define WINDLASS_RPC_CONNECTION_H

#include "rpc/call.h"
#include "rpc/tls/tls.h"

#include <glib.h>

#define RPC_WINDOW 1024
#define RPC_WINDOW_BYTES (64 << 20)
#define RPC_RECORD_MAX (8 << 20) /* of an answer; larger ones end the connection */

struct rpc_connection;

struct rpc_address {
    const char *host; /* a name or an address; NULL: path */
    unsigned port;
    const char *path; /* of a UNIX socket */
    struct tls_context *tls; /* NULL: not encrypted */
};

/* All on the loop's thread. */
struct rpc_events {
    void (*connected) (void *data);
    /* The last event. reason is a text for the user: "the server has closed the connection". */
    void (*closed) (void *data, const char *reason);
    void (*called) (void *data, uint32_t program, uint32_t procedure, struct xdr_in *arguments);
};

struct rpc_timeouts {
    int64_t frame, ping; /* nanoseconds; 0: none */
};

/* Starts to connect, and returns the connection with a reference. The caller has used loop_use and
 * work_use. */
struct rpc_connection *rpc_connect (const struct rpc_address *address,
                                    const struct rpc_timeouts *timeouts,
                                    const struct rpc_events *events, void *data);
struct rpc_connection *rpc_connection_ref (struct rpc_connection *connection);
void rpc_connection_unref (struct rpc_connection *connection); /* takes NULL */

/* Returns how many nanoseconds to wait before the next attempt to connect, after so many that
 * failed in a row. */
int64_t rpc_pause (unsigned attempts);

/* Sends a call, on any thread, without a lock held. The call belongs to the connection until it is
 * answered, which may be before this returns. */
void rpc_send (struct rpc_connection *connection, struct rpc_call *call);

/* Ends the connection; the events follow on the loop's thread. */
void rpc_hang_up (struct rpc_connection *connection, const char *reason);

void rpc_set_timeouts (struct rpc_connection *connection, const struct rpc_timeouts *timeouts);

/* State for reports. */
struct rpc_numbers {
    unsigned asked, waiting;     /* calls that the server has, and that wait for a slot */
    uint64_t calls;              /* that got a slot */
    uint64_t sent, received;     /* bytes */
    int64_t heard;               /* clock_now when bytes last came; 0: never */
};

struct rpc_numbers rpc_numbers_of (struct rpc_connection *connection);

/* Returns how the connection is encrypted, and the server's certificate; NULL: it is not. g_free
 * it. */
char *rpc_encryption_of (struct rpc_connection *connection);

/* Calls see for each call of rpc_send without an answer, under the connection's lock, until it
 * returns true. The connection's own ping is not among them: the user may take each call for a
 * struct of its own. */
typedef bool rpc_see (struct rpc_call *call, void *data);
void rpc_each_call (struct rpc_connection *connection, rpc_see *see, void *data);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A connection to a server. It is opened once and closed once: a caller that reconnects makes a new
 * connection, so that no late reply to a call of the old one can be taken for a reply of the new.
 *
 *   threads that call --rpc_send--> queue --the first of them writes--> socket
 *   the event loop's thread <--reads-- socket;  it finds the call by the XID of the reply
 *
 * A call occupies one of RPC_WINDOW slots from its sending until its reply. When all slots are
 * occupied, or their calls have RPC_WINDOW_BYTES of payload, further calls wait in order.
 *
 * The connection ends when the server closes it, sends bytes that are no valid record, or sends
 * nothing for the ping timeout while calls wait for replies. Every call is then answered with
 * ENOTCONN. A call without a reply for the frame timeout is answered with ETIMEDOUT; if it has a
 * function `overdue`, that function is called instead.
 */
#ifndef WINDLASS_RPC_CONNECTION_H
#define WINDLASS_RPC_CONNECTION_H

#include "rpc/call.h"
#include "rpc/tls/tls.h"

#include <glib.h>

#define RPC_WINDOW 1024
#define RPC_WINDOW_BYTES (64 << 20)
#define RPC_RECORD_MAX (8 << 20) /* bytes; a larger record from the server ends the connection */

struct rpc_connection;

struct rpc_address {
    const char *host; /* name or address of the server; NULL: connect to `path` */
    unsigned port;
    const char *path; /* path of a UNIX socket */
    struct tls_context *tls; /* NULL: the connection is not encrypted */
};

/* Functions that a connection calls, all on the event loop's thread. */
struct rpc_events {
    void (*connected) (void *data);
    /* Called once, after every other function. reason is a text for the user, such as "the server
     * has closed the connection". */
    void (*closed) (void *data, const char *reason);
    /* Called when the server calls a procedure of this client. */
    void (*called) (void *data, uint32_t program, uint32_t procedure, struct xdr_in *arguments);
};

struct rpc_timeouts {
    int64_t frame, ping; /* nanoseconds; 0: no timeout */
};

/* Starts to connect, and returns the connection with a reference. Before, the caller has called
 * loop_use and work_use. */
struct rpc_connection *rpc_connect (const struct rpc_address *address,
                                    const struct rpc_timeouts *timeouts,
                                    const struct rpc_events *events, void *data);
struct rpc_connection *rpc_connection_ref (struct rpc_connection *connection);
void rpc_connection_unref (struct rpc_connection *connection); /* takes NULL */

/* Returns the pause in nanoseconds before the next attempt to connect, after `attempts` failures in
 * a row. */
int64_t rpc_pause (unsigned attempts);

/* Sends a call. Any thread may do so that holds no lock. The call belongs to the connection until
 * `answered` is called; that may happen before rpc_send returns. */
void rpc_send (struct rpc_connection *connection, struct rpc_call *call);

/* Ends the connection, on any thread. The event loop's thread then answers the calls and calls
 * rpc_events.closed. */
void rpc_hang_up (struct rpc_connection *connection, const char *reason);

void rpc_set_timeouts (struct rpc_connection *connection, const struct rpc_timeouts *timeouts);

/* State of a connection, for reports. */
struct rpc_numbers {
    unsigned asked, waiting;     /* number of calls in slots, and number of calls that wait for
                                  * one */
    uint64_t calls;              /* number of calls that have got a slot so far */
    uint64_t sent, received;     /* numbers of bytes sent and received so far */
    int64_t heard;               /* time (clock_now) when bytes were last received; 0: never */
};

struct rpc_numbers rpc_numbers_of (struct rpc_connection *connection);

/* Returns a text with the cipher and the server's certificate, to be freed with g_free; NULL: the
 * connection is not encrypted. */
char *rpc_encryption_of (struct rpc_connection *connection);

/* Calls `see` for each call without a reply, under the connection's lock, until `see` returns true.
 * The connection's own ping is left out, so that the caller may cast each call to the struct that
 * the caller has embedded it in. */
typedef bool rpc_see (struct rpc_call *call, void *data);
void rpc_each_call (struct rpc_connection *connection, rpc_see *see, void *data);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A connection, and a server of the test's own at its other end: what it reads and sends is the
 * test's to say. */
#ifndef WINDLASS_TESTS_RPC_WORLD_H
#define WINDLASS_TESTS_RPC_WORLD_H

#include "core/work/work.h"
#include "rpc/connection.h"
#include "rpc/loop.h"
#include "tls_server.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define RESULTS 8 /* of the calls below: two numbers; then a payload */

struct rpc_world_server {
    int listener, link;
    bool tls;
    void (*serve) (struct rpc_world_server *server);
    pthread_t thread;
};

struct rpc_world_question {
    struct rpc_call rpc;
    pthread_t thread;    /* that answered; this and what follows is valid once `freed` */
    int error;
    uint32_t numbers[2];
    GBytes *payload;
    bool freed;          /* no thread uses the question any more; state.lock */
};

static struct {
    GMutex lock;
    GCond changed;
    bool open;    /* lock */
    pthread_t loop; /* set before open */
    char *reason; /* lock */
} rpc_world_state;

static void
rpc_world_on_connected (void *data)
{
    g_mutex_lock (&rpc_world_state.lock);
    rpc_world_state.loop = pthread_self ();
    rpc_world_state.open = true;
    g_cond_broadcast (&rpc_world_state.changed);
    g_mutex_unlock (&rpc_world_state.lock);
}

static void
rpc_world_on_closed (void *data, const char *reason)
{
    g_mutex_lock (&rpc_world_state.lock);
    rpc_world_state.reason = g_strdup (reason);
    g_cond_broadcast (&rpc_world_state.changed);
    g_mutex_unlock (&rpc_world_state.lock);
}

static void
rpc_world_on_called (void *data, uint32_t program, uint32_t procedure, struct xdr_in *arguments)
{
}

static const struct rpc_events rpc_world_events = { rpc_world_on_connected, rpc_world_on_closed,
                                                    rpc_world_on_called };

static void *
server_run (void *data)
{
    struct rpc_world_server *server = data;

    server->link = accept (server->listener, NULL, NULL);
    if (server->tls)
        server->link = tls_server_accept (server->link);
    server->serve (server);
    close (server->link);
    return NULL;
}

/* mode: the test's number, 1 with TLS. */
static struct rpc_connection *
server_connect (struct rpc_world_server *server, void (*serve) (struct rpc_world_server *),
                int mode)
{
    static unsigned number;
    g_autofree char *path =
        g_strdup_printf ("%s/rpc-%d-%u", g_get_tmp_dir (), getpid (), number++);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct rpc_address to = { .path = path, .tls = mode ? tls_server_client () : NULL };
    const struct rpc_timeouts none = { 0 };
    struct rpc_connection *connection;

    memset (&rpc_world_state, 0, sizeof rpc_world_state);
    g_strlcpy (address.sun_path, path, sizeof address.sun_path);
    server->listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq (bind (server->listener, (struct sockaddr *) &address, sizeof address), 0);
    ck_assert_int_eq (listen (server->listener, 1), 0);
    server->serve = serve;
    server->tls = mode;
    pthread_create (&server->thread, NULL, server_run, server);
    work_use ();
    ck_assert_int_eq (loop_use (), 0);
    connection = rpc_connect (&to, &none, &rpc_world_events, NULL);
    g_mutex_lock (&rpc_world_state.lock);
    while (!rpc_world_state.open)
        g_cond_wait (&rpc_world_state.changed, &rpc_world_state.lock);
    g_mutex_unlock (&rpc_world_state.lock);
    unlink (path);
    tls_context_unref (to.tls);
    return connection;
}

/* Waits for the end, and returns its reason. g_free it. */
static char *
server_end (struct rpc_world_server *server, struct rpc_connection *connection)
{
    char *reason;

    g_mutex_lock (&rpc_world_state.lock);
    while (!rpc_world_state.reason)
        g_cond_wait (&rpc_world_state.changed, &rpc_world_state.lock);
    reason = g_steal_pointer (&rpc_world_state.reason);
    g_mutex_unlock (&rpc_world_state.lock);
    pthread_join (server->thread, NULL);
    close (server->listener);
    rpc_connection_unref (connection);
    tls_server_wait ();
    loop_leave ();
    work_leave ();
    return reason;
}

/* Reads a call; returns its number. */
static uint32_t
server_read (struct rpc_world_server *server)
{
    uint32_t head[2];
    char rest[4096];
    size_t size;

    ck_assert_int_eq (recv (server->link, head, sizeof head, MSG_WAITALL), sizeof head);
    size = (GUINT32_FROM_BE (head[0]) & 0x7fffffff) - 4;
    ck_assert_int_eq (recv (server->link, rest, size, MSG_WAITALL), (ssize_t) size);
    return GUINT32_FROM_BE (head[1]);
}

/* Returns the record of an answer: results 1 and 2, and a payload of size bytes. */
static GByteArray *
answer_of (uint32_t xid, size_t size)
{
    const uint32_t head[] = { 24 + RESULTS + size, xid, 1, 0, 0, 0, 0, 1, 2 };
    GByteArray *record = g_byte_array_new ();

    for (size_t i = 0; i < G_N_ELEMENTS (head); i++) {
        const uint32_t wire = GUINT32_TO_BE (head[i] | (i == 0 ? 0x80000000u : 0));
        g_byte_array_append (record, (const uint8_t *) &wire, 4);
    }
    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = (uint8_t) (i * 7 + i / 251);
        g_byte_array_append (record, &byte, 1);
    }
    return record;
}

static void
server_write (struct rpc_world_server *server, const void *bytes, size_t size)
{
    const char *at = bytes;
    ssize_t n;

    for (; size > 0; at += n, size -= (size_t) n) {
        n = send (server->link, at, size, MSG_NOSIGNAL);
        if (n < 0)
            return; /* the client has hung up */
    }
}

static void
question_answered (struct rpc_call *rpc, struct rpc_reply *reply)
{
    struct rpc_world_question *question = (struct rpc_world_question *) rpc;
    GByteArray *payload = g_byte_array_new ();

    for (int i = 0; i < reply->payload_parts; i++)
        g_byte_array_append (payload, reply->payload[i].iov_base,
                             (guint) reply->payload[i].iov_len);
    question->thread = pthread_self ();
    question->error = reply->error;
    question->numbers[0] = xdr_get_u32 (&reply->results);
    question->numbers[1] = xdr_get_u32 (&reply->results);
    question->payload = g_byte_array_free_to_bytes (payload);
}

static void
question_free (struct rpc_call *rpc)
{
    g_mutex_lock (&rpc_world_state.lock);
    ((struct rpc_world_question *) rpc)->freed = true;
    g_cond_broadcast (&rpc_world_state.changed);
    g_mutex_unlock (&rpc_world_state.lock);
}

static size_t
question_results_size (const void *results, size_t size)
{
    return size < RESULTS ? 0 : RESULTS;
}

static void
question_begin (struct rpc_world_question *question)
{
    memset (question, 0, sizeof *question);
    rpc_call_begin (&question->rpc, 1, 1, 1, NULL);
    question->rpc.answered = question_answered;
    question->rpc.free = question_free;
    question->rpc.results_size = question_results_size;
}

static void
rpc_world_ask (struct rpc_connection *connection, struct rpc_world_question *question)
{
    question_begin (question);
    rpc_send (connection, &question->rpc);
}

/* Waits until the connection has freed the question, which is after its answer, and checks the
 * answer: a payload of size bytes. From then on, the question may be asked again. */
static void
expect_answer (struct rpc_world_question *question, size_t size)
{
    g_autoptr (GByteArray) whole = answer_of (0, size);

    g_mutex_lock (&rpc_world_state.lock);
    while (!question->freed)
        g_cond_wait (&rpc_world_state.changed, &rpc_world_state.lock);
    g_mutex_unlock (&rpc_world_state.lock);
    ck_assert_int_eq (question->error, 0);
    ck_assert_uint_eq (question->numbers[0], 1);
    ck_assert_uint_eq (question->numbers[1], 2);
    ck_assert_uint_eq (g_bytes_get_size (question->payload), size);
    ck_assert (size == 0
               || memcmp (g_bytes_get_data (question->payload, NULL),
                          whole->data + whole->len - size, size) == 0);
    g_bytes_unref (question->payload);
}

#endif

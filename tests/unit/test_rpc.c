/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections to servers: values on the wire, and answers as a server of the test's own sends
 * them. */
#include "../program.h"
#include "core/work/work.h"
#include "rpc/connection.h"
#include "rpc/loop.h"
#include "rpc/text-dict.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* --- values ----------------------------------------------------------------------------------- */

START_TEST (values_come_back)
{
    struct xdr_out out;
    struct xdr_in in;
    size_t size;
    g_autofree char *text = NULL;

    xdr_out_init (&out);
    xdr_put_u32 (&out, 0x01020304);
    xdr_put_u64 (&out, 0x0102030405060708);
    xdr_put_opaque (&out, "abcde", 5);
    xdr_put_string (&out, "text");
    for (unsigned i = 0; i < 1000; i++)
        xdr_put_u32 (&out, i);
    ck_assert_mem_eq (out.bytes, "\1\2\3\4", 4);
    ck_assert_uint_eq (out.used, 4 + 8 + 12 + 8 + 4000);
    in = xdr_in_of (out.bytes, out.used);
    ck_assert_uint_eq (xdr_get_u32 (&in), 0x01020304);
    ck_assert_uint_eq (xdr_get_u64 (&in), 0x0102030405060708);
    ck_assert_mem_eq (xdr_get_opaque (&in, 5, &size), "abcde", 5);
    text = xdr_get_string (&in, 100);
    ck_assert_str_eq (text, "text");
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_uint_eq (xdr_get_u32 (&in), i);
    ck_assert (!in.failed && xdr_left (&in) == 0);
    xdr_out_clear (&out);
}
END_TEST

START_TEST (a_length_that_lies_fails)
{
    const uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xfd, 1, 2, 3, 4 };
    struct xdr_in in = xdr_in_of (bytes, sizeof bytes);
    size_t size = 1;

    ck_assert_ptr_null (xdr_get_opaque (&in, SIZE_MAX, &size));
    ck_assert (in.failed);
    ck_assert_uint_eq (size, 0);
    ck_assert_uint_eq (xdr_get_u32 (&in), 0);
}
END_TEST

START_TEST (texts_come_back)
{
    g_autoptr (dict_t) dict = dict_new (), again = NULL;
    struct xdr_out out;
    struct xdr_in in;

    dict_set_str (dict, "remote-subvolume", "brick");
    dict_set_str (dict, "empty", "");
    xdr_out_init (&out);
    text_dict_put (&out, dict);
    in = xdr_in_of (out.bytes, out.used);
    again = text_dict_get (&in);
    ck_assert_uint_eq (dict_count (again), 2);
    ck_assert_str_eq (dict_get_str (again, "remote-subvolume"), "brick");
    ck_assert_str_eq (dict_get_str (again, "empty"), "");
    for (size_t size = 8; size < out.used; size += 4) {
        g_autoptr (dict_t) part = NULL;

        in = xdr_in_of (out.bytes, size);
        part = text_dict_get (&in);
        ck_assert (in.failed && !part);
    }
    xdr_out_clear (&out);
}
END_TEST

/* RFC 5531 limits credentials to 400 bytes: groups are left out, never the owner of locks. */
START_TEST (credentials_have_the_groups_that_fit)
{
    gid_t groups[200] = { 0 };
    const struct rpc_credentials caller = { .groups = groups,
                                            .ngroups = 200,
                                            .owner = "12345678",
                                            .owner_size = 8 };
    struct rpc_call call = { 0 };
    struct xdr_in in;
    size_t size;

    rpc_call_begin (&call, RPC_FILES, 400, 1, &caller);
    in = xdr_in_of (call.out.bytes + 32, call.out.used - 32);
    xdr_get_opaque (&in, 400, &size);
    ck_assert (!in.failed);
    ck_assert_uint_le (size, 400);
    ck_assert_uint_gt (size, 390);
    ck_assert_mem_eq (in.at - 8, "12345678", 8);
    xdr_out_clear (&call.out);
}
END_TEST

/* --- a server --------------------------------------------------------------------------------- */

#define RESULTS 8 /* of the calls below: two numbers; then a payload */

struct server {
    int listener, link;
    void (*serve) (struct server *server);
    pthread_t thread;
};

struct question {
    struct rpc_call rpc;
    GMutex lock;
    GCond changed;
    bool done;           /* lock */
    int error;           /* lock */
    uint32_t numbers[2]; /* lock */
    GBytes *payload;     /* lock; NULL: none */
};

static struct {
    GMutex lock;
    GCond changed;
    bool open;    /* lock */
    char *reason; /* lock */
} state;

static void
on_connected (void *data)
{
    g_mutex_lock (&state.lock);
    state.open = true;
    g_cond_broadcast (&state.changed);
    g_mutex_unlock (&state.lock);
}

static void
on_closed (void *data, const char *reason)
{
    g_mutex_lock (&state.lock);
    state.reason = g_strdup (reason);
    g_cond_broadcast (&state.changed);
    g_mutex_unlock (&state.lock);
}

static void
on_called (void *data, uint32_t program, uint32_t procedure, struct xdr_in *arguments)
{
}

static const struct rpc_events events = { on_connected, on_closed, on_called };

static void *
server_run (void *data)
{
    struct server *server = data;

    server->link = accept (server->listener, NULL, NULL);
    server->serve (server);
    close (server->link);
    return NULL;
}

static struct rpc_connection *
server_connect (struct server *server, void (*serve) (struct server *))
{
    static unsigned number;
    g_autofree char *path =
        g_strdup_printf ("%s/rpc-%d-%u", g_get_tmp_dir (), getpid (), number++);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct rpc_address to = { .path = path };
    const struct rpc_timeouts none = { 0 };
    struct rpc_connection *connection;

    memset (&state, 0, sizeof state);
    g_strlcpy (address.sun_path, path, sizeof address.sun_path);
    server->listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq (bind (server->listener, (struct sockaddr *) &address, sizeof address), 0);
    ck_assert_int_eq (listen (server->listener, 1), 0);
    server->serve = serve;
    pthread_create (&server->thread, NULL, server_run, server);
    work_use ();
    ck_assert_int_eq (loop_use (), 0);
    connection = rpc_connect (&to, &none, &events, NULL);
    g_mutex_lock (&state.lock);
    while (!state.open)
        g_cond_wait (&state.changed, &state.lock);
    g_mutex_unlock (&state.lock);
    unlink (path);
    return connection;
}

/* Waits for the end, and returns its reason. g_free it. */
static char *
server_end (struct server *server, struct rpc_connection *connection)
{
    char *reason;

    g_mutex_lock (&state.lock);
    while (!state.reason)
        g_cond_wait (&state.changed, &state.lock);
    reason = g_steal_pointer (&state.reason);
    g_mutex_unlock (&state.lock);
    pthread_join (server->thread, NULL);
    close (server->listener);
    rpc_connection_unref (connection);
    loop_leave ();
    work_leave ();
    return reason;
}

/* Reads a call; returns its number. */
static uint32_t
server_read (struct server *server)
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
server_write (struct server *server, const void *bytes, size_t size)
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
    struct question *question = (struct question *) rpc;
    GByteArray *payload = g_byte_array_new ();

    for (int i = 0; i < reply->payload_parts; i++)
        g_byte_array_append (payload, reply->payload[i].iov_base,
                             (guint) reply->payload[i].iov_len);
    g_mutex_lock (&question->lock);
    question->error = reply->error;
    question->numbers[0] = xdr_get_u32 (&reply->results);
    question->numbers[1] = xdr_get_u32 (&reply->results);
    question->payload = g_byte_array_free_to_bytes (payload);
    question->done = true;
    g_cond_signal (&question->changed);
    g_mutex_unlock (&question->lock);
}

static void
question_free (struct rpc_call *rpc)
{
}

static size_t
question_results_size (const void *results, size_t size)
{
    return size < RESULTS ? 0 : RESULTS;
}

static void
ask (struct rpc_connection *connection, struct question *question)
{
    memset (question, 0, sizeof *question);
    rpc_call_begin (&question->rpc, 1, 1, 1, NULL);
    question->rpc.answered = question_answered;
    question->rpc.free = question_free;
    question->rpc.results_size = question_results_size;
    rpc_send (connection, &question->rpc);
}

/* Waits for the answer, and checks it: a payload of size bytes. */
static void
expect_answer (struct question *question, size_t size)
{
    g_autoptr (GByteArray) whole = answer_of (0, size);

    g_mutex_lock (&question->lock);
    while (!question->done)
        g_cond_wait (&question->changed, &question->lock);
    g_mutex_unlock (&question->lock);
    ck_assert_int_eq (question->error, 0);
    ck_assert_uint_eq (question->numbers[0], 1);
    ck_assert_uint_eq (question->numbers[1], 2);
    ck_assert_uint_eq (g_bytes_get_size (question->payload), size);
    ck_assert (size == 0
               || memcmp (g_bytes_get_data (question->payload, NULL),
                          whole->data + whole->len - size, size) == 0);
    g_bytes_unref (question->payload);
}

/* --- answers ---------------------------------------------------------------------------------- */

static const size_t sizes[] = { 0, 1, 4000, 32720, 32728, 32800, 100000, 1 << 20 };

static void
serve_sizes (struct server *server)
{
    for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++) {
        g_autoptr (GByteArray) record = answer_of (server_read (server), sizes[i]);
        server_write (server, record->data, record->len);
    }
}

START_TEST (payloads_of_any_size_come_whole)
{
    struct server server;
    struct rpc_connection *connection = server_connect (&server, serve_sizes);
    struct question question;

    for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++) {
        ask (connection, &question);
        expect_answer (&question, sizes[i]);
    }
    g_free (server_end (&server, connection));
}
END_TEST

#define MANY 50

/* The answers of all questions in one piece, the last question's first. */
static void
serve_together (struct server *server)
{
    g_autoptr (GByteArray) all = g_byte_array_new ();

    for (size_t i = 0; i < MANY; i++) {
        g_autoptr (GByteArray) record = answer_of (server_read (server), i * 100);
        g_byte_array_prepend (all, record->data, record->len);
    }
    server_write (server, all->data, all->len);
}

START_TEST (answers_in_one_piece_find_their_calls)
{
    struct server server;
    struct rpc_connection *connection = server_connect (&server, serve_together);
    struct question questions[MANY];

    for (size_t i = 0; i < MANY; i++)
        ask (connection, &questions[i]);
    for (size_t i = 0; i < MANY; i++)
        expect_answer (&questions[i], i * 100);
    g_free (server_end (&server, connection));
}
END_TEST

static void
serve_bytes (struct server *server)
{
    g_autoptr (GByteArray) record = answer_of (server_read (server), 100);

    for (size_t i = 0; i < record->len; i++)
        server_write (server, record->data + i, 1);
}

START_TEST (an_answer_may_come_byte_by_byte)
{
    struct server server;
    struct rpc_connection *connection = server_connect (&server, serve_bytes);
    struct question question;

    ask (connection, &question);
    expect_answer (&question, 100);
    g_free (server_end (&server, connection));
}
END_TEST

/* An answer without a payload, in fragments of four bytes. */
static void
serve_fragments (struct server *server)
{
    g_autoptr (GByteArray) record = answer_of (server_read (server), 0);

    for (size_t at = 4; at < record->len; at += 4) {
        const uint32_t mark = GUINT32_TO_BE (4 | (at + 4 == record->len ? 0x80000000u : 0));

        server_write (server, &mark, 4);
        server_write (server, record->data + at, 4);
    }
}

START_TEST (an_answer_may_come_in_fragments)
{
    struct server server;
    struct rpc_connection *connection = server_connect (&server, serve_fragments);
    struct question question;

    ask (connection, &question);
    expect_answer (&question, 0);
    g_free (server_end (&server, connection));
}
END_TEST

/* An answer to a question that was not asked, one to a question, and the same once more. */
static void
serve_too_much (struct server *server)
{
    const uint32_t xid = server_read (server);
    g_autoptr (GByteArray) other = answer_of (xid + 1024, 10), record = answer_of (xid, 10);

    server_write (server, other->data, other->len);
    server_write (server, record->data, record->len);
    server_write (server, record->data, record->len);
    server_read (server);
}

START_TEST (answers_to_no_question_are_dropped)
{
    struct server server;
    struct rpc_connection *connection = server_connect (&server, serve_too_much);
    struct question question, other;

    ask (connection, &question);
    expect_answer (&question, 10);
    ask (connection, &other); /* which the server reads, and closes */
    g_free (server_end (&server, connection));
    ck_assert_int_eq (other.error, ENOTCONN);
    g_bytes_unref (other.payload);
}
END_TEST

static void
serve_half (struct server *server)
{
    g_autoptr (GByteArray) record = answer_of (server_read (server), 100000);

    server_write (server, record->data, record->len / 2);
}

START_TEST (half_an_answer_is_none)
{
    struct server server;
    struct rpc_connection *connection = server_connect (&server, serve_half);
    struct question question;
    g_autofree char *reason = NULL;

    ask (connection, &question);
    reason = server_end (&server, connection);
    ck_assert_int_eq (question.error, ENOTCONN);
    ck_assert_str_eq (reason, "the server has closed the connection");
    g_bytes_unref (question.payload);
}
END_TEST

/* More calls than the window has slots: the server answers none before it has read a windowful. */
static void
serve_window (struct server *server)
{
    for (unsigned i = 0; i < 2 * RPC_WINDOW; i++) {
        g_autoptr (GByteArray) record = answer_of (server_read (server), 0);
        server_write (server, record->data, record->len);
    }
}

START_TEST (calls_beyond_the_window_wait_their_turn)
{
    struct server server;
    struct rpc_connection *connection = server_connect (&server, serve_window);
    g_autofree struct question *questions = g_new (struct question, 2 * RPC_WINDOW);

    for (unsigned i = 0; i < 2 * RPC_WINDOW; i++) {
        ask (connection, &questions[i]);
        ck_assert_uint_lt (rpc_numbers_of (connection).asked, RPC_WINDOW);
    }
    for (unsigned i = 0; i < 2 * RPC_WINDOW; i++)
        expect_answer (&questions[i], 0);
    g_free (server_end (&server, connection));
}
END_TEST

TEST_PROGRAM (test_rpc)
{
    Suite *suite = suite_create ("rpc");
    TCase *values = tcase_create ("values"), *answers = tcase_create ("answers");

    tcase_add_test (values, values_come_back);
    tcase_add_test (values, a_length_that_lies_fails);
    tcase_add_test (values, texts_come_back);
    tcase_add_test (values, credentials_have_the_groups_that_fit);
    suite_add_tcase (suite, values);
    tcase_add_test (answers, payloads_of_any_size_come_whole);
    tcase_add_test (answers, answers_in_one_piece_find_their_calls);
    tcase_add_test (answers, an_answer_may_come_byte_by_byte);
    tcase_add_test (answers, an_answer_may_come_in_fragments);
    tcase_add_test (answers, answers_to_no_question_are_dropped);
    tcase_add_test (answers, half_an_answer_is_none);
    tcase_add_test (answers, calls_beyond_the_window_wait_their_turn);
    tcase_set_timeout (answers, 60);
    suite_add_tcase (suite, answers);
    return suite_run (suite);
}

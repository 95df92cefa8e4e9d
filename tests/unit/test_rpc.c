/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections to servers, plain and with TLS: calls, and answers as a server of the test's own
 * sends them. */
#include "config.h"

#include "../program.h"
#include "rpc_world.h"

/* --- answers ---------------------------------------------------------------------------------- */

static const size_t rpc_test_sizes[] = { 0, 1, 4000, 32720, 32728, 32800, 100000, 1 << 20 };

static void
serve_sizes (struct rpc_world_server *server)
{
    for (size_t i = 0; i < G_N_ELEMENTS (rpc_test_sizes); i++) {
        g_autoptr (GByteArray) record = answer_of (server_read (server), rpc_test_sizes[i]);
        server_write (server, record->data, record->len);
    }
}

START_TEST (payloads_of_any_size_come_whole)
{
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_sizes, _i);
    struct rpc_world_question question;

    for (size_t i = 0; i < G_N_ELEMENTS (rpc_test_sizes); i++) {
        rpc_world_ask (connection, &question);
        expect_answer (&question, rpc_test_sizes[i]);
    }
    g_free (server_end (&server, connection));
}
END_TEST

#define MANY 50

/* The answers of all questions in one piece, the last question's first. */
static void
serve_together (struct rpc_world_server *server)
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
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_together, _i);
    struct rpc_world_question questions[MANY];

    for (size_t i = 0; i < MANY; i++)
        rpc_world_ask (connection, &questions[i]);
    for (size_t i = 0; i < MANY; i++)
        expect_answer (&questions[i], i * 100);
    g_free (server_end (&server, connection));
}
END_TEST

static void
serve_bytes (struct rpc_world_server *server)
{
    g_autoptr (GByteArray) record = answer_of (server_read (server), 100);

    for (size_t i = 0; i < record->len; i++)
        server_write (server, record->data + i, 1);
}

START_TEST (an_answer_may_come_byte_by_byte)
{
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_bytes, _i);
    struct rpc_world_question question;

    rpc_world_ask (connection, &question);
    expect_answer (&question, 100);
    g_free (server_end (&server, connection));
}
END_TEST

/* An answer without a payload, in fragments of four bytes. */
static void
serve_fragments (struct rpc_world_server *server)
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
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_fragments, _i);
    struct rpc_world_question question;

    rpc_world_ask (connection, &question);
    expect_answer (&question, 0);
    g_free (server_end (&server, connection));
}
END_TEST

/* An answer to a question that was not asked, one to a question, and the same once more. */
static void
serve_too_much (struct rpc_world_server *server)
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
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_too_much, _i);
    struct rpc_world_question question, other;

    rpc_world_ask (connection, &question);
    expect_answer (&question, 10);
    rpc_world_ask (connection, &other); /* which the server reads, and closes */
    g_free (server_end (&server, connection));
    ck_assert_int_eq (other.error, ENOTCONN);
    g_bytes_unref (other.payload);
}
END_TEST

static void
serve_half (struct rpc_world_server *server)
{
    g_autoptr (GByteArray) record = answer_of (server_read (server), 100000);

    server_write (server, record->data, record->len / 2);
}

START_TEST (half_an_answer_is_none)
{
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_half, _i);
    struct rpc_world_question question;
    g_autofree char *reason = NULL;

    rpc_world_ask (connection, &question);
    reason = server_end (&server, connection);
    ck_assert_int_eq (question.error, ENOTCONN);
    ck_assert_str_eq (reason, "the server has closed the connection");
    g_bytes_unref (question.payload);
}
END_TEST

/* More calls than the window has slots: the server answers none before it has read a windowful. */
static void
serve_window (struct rpc_world_server *server)
{
    for (unsigned i = 0; i < 2 * RPC_WINDOW; i++) {
        g_autoptr (GByteArray) record = answer_of (server_read (server), 0);
        server_write (server, record->data, record->len);
    }
}

START_TEST (calls_beyond_the_window_wait_their_turn)
{
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_window, _i);
    g_autofree struct rpc_world_question *questions = g_new (struct rpc_world_question,
                                                             2 * RPC_WINDOW);

    for (unsigned i = 0; i < 2 * RPC_WINDOW; i++) {
        rpc_world_ask (connection, &questions[i]);
        ck_assert_uint_lt (rpc_numbers_of (connection).asked, RPC_WINDOW);
    }
    for (unsigned i = 0; i < 2 * RPC_WINDOW; i++)
        expect_answer (&questions[i], 0);
    g_free (server_end (&server, connection));
}
END_TEST

/* --- calls with a payload --------------------------------------------------------------------- */

#define SENDERS 4
#define CALLS 12

static void
bytes_fill (uint8_t *bytes, size_t size, uint32_t seed)
{
    for (size_t at = 0; at < size; at++)
        bytes[at] = (uint8_t) (seed * 31 + at * 7 + at / 253);
}

/* Reads a call of any size: it has its seed, and bytes that follow from it. Returns its number. */
static uint32_t
server_read_payload (struct rpc_world_server *server, size_t *ret_size)
{
    g_autofree uint8_t *bytes = NULL, *wanted = NULL;
    uint32_t mark, xid, seed;
    size_t size;

    ck_assert_int_eq (recv (server->link, &mark, 4, MSG_WAITALL), 4);
    size = GUINT32_FROM_BE (mark) & 0x7fffffff;
    bytes = g_malloc (size);
    wanted = g_malloc (size);
    ck_assert_int_eq (recv (server->link, bytes, size, MSG_WAITALL), (ssize_t) size);
    memcpy (&xid, bytes, 4);
    memcpy (&seed, bytes + 40, 4);
    *ret_size = size - 44;
    bytes_fill (wanted, *ret_size, GUINT32_FROM_BE (seed));
    ck_assert_int_eq (memcmp (bytes + 44, wanted, *ret_size), 0);
    return GUINT32_FROM_BE (xid);
}

static void
serve_payloads (struct rpc_world_server *server)
{
    size_t size;

    for (int i = 0; i < SENDERS * CALLS; i++) {
        const uint32_t xid = server_read_payload (server, &size);
        g_autoptr (GByteArray) record = answer_of (xid, size);

        server_write (server, record->data, record->len);
    }
}

struct sender {
    pthread_t thread;
    struct rpc_connection *connection;
    uint32_t number;
};

/* Sends a call in two parts of payload, and waits for the answer, whose payload is as large. */
static void
send_payload (struct sender *sender, uint32_t seed, size_t size)
{
    g_autofree uint8_t *bytes = g_malloc (size + 1);
    const size_t first = size / 3;
    const struct iovec payload[] = { { bytes, first }, { bytes + first, size - first } };
    struct rpc_world_question question = { 0 };

    bytes_fill (bytes, size, seed);
    question_begin (&question);
    xdr_put_u32 (&question.rpc.out, seed);
    question.rpc.payload = payload;
    question.rpc.payload_parts = 2;
    question.rpc.weight = size;
    rpc_send (sender->connection, &question.rpc);
    expect_answer (&question, size);
}

static void *
sender_run (void *data)
{
    static const size_t payloads[CALLS] = { 0,     1,     100,    4096,    4097,    16384,
                                            16385, 50000, 300000, 1 << 20, 1000003, 12 };
    struct sender *sender = data;

    for (uint32_t i = 0; i < CALLS; i++)
        send_payload (sender, sender->number * CALLS + i, payloads[(i + sender->number) % CALLS]);
    return NULL;
}

START_TEST (payloads_of_many_threads_go_whole)
{
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_payloads, _i);
    struct sender senders[SENDERS];

    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){ .connection = connection, .number = i };
        pthread_create (&senders[i].thread, NULL, sender_run, &senders[i]);
    }
    for (uint32_t i = 0; i < SENDERS; i++)
        pthread_join (senders[i].thread, NULL);
    g_free (server_end (&server, connection));
}
END_TEST

static struct rpc_connection *rpc_test_asked;
static GPtrArray *rpc_test_seen;

static bool
note_call (struct rpc_call *call, void *data)
{
    g_ptr_array_add (rpc_test_seen, call);
    return false;
}

/* The question gets its answer after the client has sent a ping. */
static void
serve_late (struct rpc_world_server *server)
{
    g_autoptr (GByteArray) record = answer_of (server_read (server), 0);

    server_read (server);
    rpc_each_call (rpc_test_asked, note_call, NULL);
    server_write (server, record->data, record->len);
}

/* The user of a connection takes each call that it is shown for one of its own kind. */
START_TEST (a_ping_is_no_call_of_the_user)
{
    const struct rpc_timeouts timeouts = { .ping = 6000000000 }; /* a ping after half of it */
    struct rpc_world_server server;
    struct rpc_world_question question;

    rpc_test_seen = g_ptr_array_new ();
    rpc_test_asked = server_connect (&server, serve_late, 0);
    rpc_set_timeouts (rpc_test_asked, &timeouts);
    rpc_world_ask (rpc_test_asked, &question);
    expect_answer (&question, 0);
    ck_assert_uint_eq (rpc_test_seen->len, 1);
    ck_assert_ptr_eq (rpc_test_seen->pdata[0], &question.rpc);
    g_ptr_array_unref (rpc_test_seen);
    g_free (server_end (&server, rpc_test_asked));
}
END_TEST

static void
serve_nothing (struct rpc_world_server *server)
{
    char byte;

    server_read (server);
    ck_assert_int_eq (recv (server->link, &byte, 1, 0), 0);
}

/* On another thread the answer could come after the connection's last event, at which its user may
 * free what the answer needs. */
START_TEST (a_call_times_out_on_the_thread_of_events)
{
    const struct rpc_timeouts timeouts = { .frame = 1 };
    struct rpc_world_server server;
    struct rpc_connection *connection = server_connect (&server, serve_nothing, 0);
    struct rpc_world_question question;

    rpc_set_timeouts (connection, &timeouts);
    rpc_world_ask (connection, &question);
    g_mutex_lock (&rpc_world_state.lock);
    while (!question.freed)
        g_cond_wait (&rpc_world_state.changed, &rpc_world_state.lock);
    g_mutex_unlock (&rpc_world_state.lock);
    ck_assert_int_eq (question.error, ETIMEDOUT);
    ck_assert (pthread_equal (question.thread, rpc_world_state.loop));
    g_bytes_unref (question.payload);
    rpc_hang_up (connection, "the test ends");
    g_free (server_end (&server, connection));
}
END_TEST

TEST_PROGRAM (test_rpc)
{
    Suite *suite = suite_create ("rpc");
    TCase *answers = tcase_create ("answers");

    tcase_add_loop_test (answers, payloads_of_any_size_come_whole, 0, TLS_MODES);
    tcase_add_loop_test (answers, answers_in_one_piece_find_their_calls, 0, TLS_MODES);
    tcase_add_loop_test (answers, an_answer_may_come_byte_by_byte, 0, TLS_MODES);
    tcase_add_loop_test (answers, an_answer_may_come_in_fragments, 0, TLS_MODES);
    tcase_add_loop_test (answers, answers_to_no_question_are_dropped, 0, TLS_MODES);
    tcase_add_loop_test (answers, half_an_answer_is_none, 0, TLS_MODES);
    tcase_add_loop_test (answers, payloads_of_many_threads_go_whole, 0, TLS_MODES);
    tcase_add_loop_test (answers, calls_beyond_the_window_wait_their_turn, 0, TLS_MODES);
    tcase_add_test (answers, a_ping_is_no_call_of_the_user);
    tcase_add_test (answers, a_call_times_out_on_the_thread_of_events);
    tcase_set_timeout (answers, 240);
    suite_add_tcase (suite, answers);
    return suite_run (suite);
}

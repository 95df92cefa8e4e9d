/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* performance/io-threads: the order of operations, their waits, and that each is answered once. */
#include "flow.h"

/* --- parallel --------------------------------------------------------------------------------- */

/* A single thread makes all requests, as a mount with one reader does. The bench measures the
 * gain. */
#define MEETING(readers) \
    "end-volume\nvolume slow\ntype test/meet\noption readers " readers "\nsubvolumes posix\n"

START_TEST (sixteen_readers_wait_for_the_disk_at_once)
{
    struct flow *flow = flow_begin (MEETING ("16") IOT (""));
    struct flow_asked asked[16];

    for (unsigned i = 0; i < 16; i++)
        ask_read (flow, &asked[i], 1000 + i);
    flow_wait (flow, 0);
    for (unsigned i = 0; i < 16; i++)
        ck_assert_int_eq (asked[i].r, 4);
    flow_end (flow);
}
END_TEST

/* --- whose turn it is ------------------------------------------------------------------------- */

START_TEST (one_process_with_many_keeps_no_other_waiting)
{
    struct flow *flow = flow_begin (HELD IOT ("option thread-count 1\n"));
    struct flow_asked many[64], one;

    for (unsigned i = 0; i < 64; i++)
        ask_read (flow, &many[i], 1001);
    ask_read (flow, &one, 1002);
    let_go (flow);
    flow_wait (flow, 0);
    ck_assert_uint_le (one.turn, 8);
    ck_assert_uint_gt (many[63].turn, one.turn + 30);
    flow_end (flow);
}
END_TEST

START_TEST (looking_comes_before_reading)
{
    struct flow *flow = flow_begin (HELD IOT ("option thread-count 1\n"));
    struct flow_asked reads[20], stat;

    for (unsigned i = 0; i < 20; i++)
        ask_read (flow, &reads[i], 1001);
    flow_ask_stat (flow, &stat, 1002);
    flow_wait (flow, 20); /* the reads are held, and one of them occupies its priority */
    ck_assert_uint_eq (stat.turn, 1);
    let_go (flow);
    flow_end (flow);
}
END_TEST

START_TEST (the_least_go_at_their_rate_and_hold_nobody_up)
{
    struct flow *flow = flow_begin (
        BLOCKING ("0") IOT ("option least-rate-limit 2\noption least-prio-threads 4\n"));
    struct flow_asked least[4], other;
    const int64_t begin = clock_now ();

    for (unsigned i = 0; i < 4; i++)
        ask_read (flow, &least[i], -1);
    ask_read (flow, &other, 1001);
    flow_wait (flow, 0);
    ck_assert_int_ge (clock_now () - begin, 1300 * MS); /* the first at once, the second after 0.4
                                                           s, and two each 0.5 s later */
    ck_assert_uint_lt (other.turn, 4);
    ck_assert_int_eq (flow_number (flow, "least_priority_waited"), 4);
    flow_end (flow);
}
END_TEST

START_TEST (what_a_call_waits_for_is_told)
{
    struct flow *flow = flow_begin (HELD IOT ("option thread-count 1\n"));
    g_autoptr (GString) out = g_string_new (NULL), explained = g_string_new (NULL);
    struct flow_asked asked[4];
    xlator_t *top = flow->w.graph->top;

    for (unsigned i = 0; i < 4; i++)
        ask_read (flow, &asked[i], 1001);
    flow_wait_for (flow, "low_priority_queue_length", 3);
    limit_waits_for (&asked[3].root->frames[1], out);
    ck_assert_str_eq (out->str,
                      "one of 1 operations of low priority (low-prio-threads), 2 before it");
    top->api->dumpops.explain (top, "/f", flow->fd->inode, explained);
    ck_assert_ptr_nonnull (strstr (explained->str, "1 on its bytes (low-prio-threads)"));
    ck_assert_ptr_nonnull (strstr (explained->str, "3 wait for their turn"));
    let_go (flow);
    flow_end (flow);
}
END_TEST

/* --- in place --------------------------------------------------------------------------------- */

START_TEST (a_thread_that_may_block_runs_what_it_brings)
{
    struct flow *flow = flow_begin (BLOCKING ("2000") IOT (""));
    struct flow_asked asked;

    thread_may_not_block = false;
    for (unsigned i = 0; i < 10; i++) {
        ask_read (flow, &asked, 1001);
        flow_wait (flow, 0);
        ck_assert (asked.here);
    }
    flow_end (flow);
}
END_TEST

/* --- options change --------------------------------------------------------------------------- */

static void
reconfigure (struct flow *flow, int threads, int low)
{
    xlator_t *top = flow->w.graph->top;
    g_autofree void *private = g_malloc0 (top->api->priv_size);
    g_autofree char *many = g_strdup_printf ("%d", threads), *few = g_strdup_printf ("%d", low);
    const char *const settings[][2] = { { "thread-count", many }, { "low-prio-threads", few } };

    for (const struct xlator_option *option = top->api->options; option->key[0]; option++)
        if (!option->inert)
            ck_assert_int_eq (
                option_parse (option, option->value, (char *) private + option->offset, NULL), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS (settings); i++) {
        const struct xlator_option *option = option_find (top->api->options, settings[i][0]);
        ck_assert_int_eq (
            option_parse (option, settings[i][1], (char *) private + option->offset, NULL), 0);
    }
    ck_assert_int_eq (top->api->reconfigure (top, private), 0);
}

START_TEST (options_change_under_load_and_all_is_answered)
{
    struct flow *flow = flow_begin (BLOCKING ("200") IOT (""));
    static const int counts[] = { 1, 64, 2, 16, 1, 64, 3, 1 };
    struct flow_asked *asked = g_new0 (struct flow_asked, 8 * 200);

    for (unsigned round = 0; round < 8; round++) {
        for (unsigned i = 0; i < 200; i++)
            ask_read (flow, &asked[round * 200 + i], 1000 + i % 7);
        reconfigure (flow, counts[round], MAX (counts[round] / 2, 1));
        flow_wait (flow, 150);
    }
    flow_wait (flow, 0);
    for (unsigned i = 0; i < 8 * 200; i++)
        ck_assert_int_eq (asked[i].r, 4);
    flow_wait_for (flow, "current_threads_count", 0);
    g_free (asked);
    flow_end (flow);
}
END_TEST

START_TEST (a_stuck_priority_is_told_and_one_more_may_run)
{
    struct flow *flow = flow_begin (HELD IOT ("option thread-count 1\noption watchdog-secs 1\n"));
    g_autofree char *log = world_path (&flow->w, "log"), *text = NULL;
    struct flow_asked asked[3];

    ck_assert_int_eq (log_open (log), 0);
    for (unsigned i = 0; i < 3; i++)
        ask_read (flow, &asked[i], 1001);
    flow_wait_for (flow, "current_low_priority_threads", 2);
    ck_assert_int_eq (flow_number (flow, "max_low_priority_threads"), 2);
    let_go (flow);
    flow_wait (flow, 0);
    log_close ();
    ck_assert (g_file_get_contents (log, &text, NULL, NULL));
    ck_assert_ptr_nonnull (strstr (text, "no call of low priority that waits went on for 1 s; 2 "
                                         "wait; from now on 2 may run at a time (watchdog-secs)"));
    flow_end (flow);
}
END_TEST

START_TEST (the_end_of_the_graph_waits_for_all_and_loses_nothing)
{
    struct flow *flow = flow_begin (BLOCKING ("2000")
                                        IOT ("option thread-count 3\noption least-rate-limit 1\n"));
    struct flow_asked asked[60];

    for (unsigned i = 0; i < 60; i++)
        ask_read (flow, &asked[i], i % 2 ? 1001 : -1);
    fd_unref (g_steal_pointer (&flow->fd));
    graph_deactivate (flow->w.graph);
    pthread_mutex_lock (&flow->lock);
    ck_assert_uint_eq (flow->answered, flow->sent);
    pthread_mutex_unlock (&flow->lock);
    for (unsigned i = 0; i < 60; i++)
        ck_assert_int_eq (asked[i].r, 4);
    flow_end (flow);
}
END_TEST

START_TEST (root_may_ask_how_long_the_queues_are)
{
    struct flow *flow = flow_begin (HELD IOT ("option low-prio-threads 1\n"));
    struct flow_asked asked[4];
    loc_t loc = { .inode = flow->w.root };
    struct getxattr_reply reply;
    const char *key = "trusted.glusterfs.io-thread-queue-size";

    for (unsigned i = 0; i < 4; i++)
        ask_read (flow, &asked[i], 1001);
    flow_wait_for (flow, "low_priority_queue_length", 3);
    flow->w.client->uid = 0;
    ck_assert_int_eq (sync_getxattr (flow->w.client, &loc, key, NULL, &reply), 0);
    ck_assert_str_eq (dict_get_str (reply.dict, key), "HIGH=0 NORMAL=0 LOW=3 LEAST=0");
    getxattr_reply_drop (&reply);
    flow->w.client->uid = 1000;
    ck_assert_int_lt (sync_getxattr (flow->w.client, &loc, key, NULL, &reply), 0);
    getxattr_reply_drop (&reply);
    let_go (flow);
    flow_end (flow);
}
END_TEST

TEST_PROGRAM (test_io_threads)
{
    Suite *suite = suite_create ("io-threads");
    TCase *tcase = tcase_create ("io-threads");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, sixteen_readers_wait_for_the_disk_at_once);
    tcase_add_test (tcase, one_process_with_many_keeps_no_other_waiting);
    tcase_add_test (tcase, looking_comes_before_reading);
    tcase_add_test (tcase, the_least_go_at_their_rate_and_hold_nobody_up);
    tcase_add_test (tcase, what_a_call_waits_for_is_told);
    tcase_add_test (tcase, a_thread_that_may_block_runs_what_it_brings);
    tcase_add_test (tcase, options_change_under_load_and_all_is_answered);
    tcase_add_test (tcase, a_stuck_priority_is_told_and_one_more_may_run);
    tcase_add_test (tcase, the_end_of_the_graph_waits_for_all_and_loses_nothing);
    tcase_add_test (tcase, root_may_ask_how_long_the_queues_are);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

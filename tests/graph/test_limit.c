/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* How many operations run at a time (core/work/limit.h): how many begin, in which order, and the
 * operations of callers that no longer wait. */
#include "core/work/job.h"
#include "core/work/limit.h"
#include "core/work/work.h"
#include "flow.h"

/* A flow with a limit of reads. */
struct limited {
    struct flow *flow;
    struct limits limits;
    struct limit *reads, *others;
};

static void
limited_begin (struct limited *limited, const char *options, unsigned most, int64_t age,
               unsigned most_old)
{
    xlator_t *top;

    limited->flow = flow_begin (options);
    top = limited->flow->w.graph->top;
    limited->reads = limit_new ("reads", "read-limit", most, age, most_old);
    limited->others = limit_new ("others", "other-limit", 4, 0, 0);
    for (unsigned op = 0; op < FOP_MAX; op++)
        limited->limits.of[op] = op == FOP_readv ? limited->reads : limited->others;
    limited->limits.gate.fops = &limited_fops;
    top->gate = &limited->limits.gate;
    xlator_route (top);
}

static void
limited_end (struct limited *limited)
{
    xlator_t *top = limited->flow->w.graph->top;

    flow_wait (limited->flow, 0);
    limit_drain (limited->reads, -1);
    limit_drain (limited->others, -1);
    ck_assert_uint_eq (limit_count (limited->reads).running, 0);
    ck_assert_uint_eq (limit_count (limited->reads).old, 0);
    top->gate = NULL;
    xlator_route (top);
    limit_free (limited->reads);
    limit_free (limited->others);
    flow_end (limited->flow);
}

static void
wait_until_run (const struct limited *limited, unsigned running, unsigned old)
{
    const int64_t end = clock_now () + 20000 * MS;
    struct limit_numbers n;

    do {
        g_usleep (1000);
        n = limit_count (limited->reads);
    } while ((n.running != running || n.old != old) && clock_now () < end);
    ck_assert_uint_eq (n.running, running);
    ck_assert_uint_eq (n.old, old);
}

START_TEST (no_more_begin_than_may_and_another_class_does_not_wait)
{
    struct limited l;
    struct flow_asked reads[10], stat;

    limited_begin (&l, HELD, 3, 0, 0);
    for (unsigned i = 0; i < 10; i++)
        ask_read (l.flow, &reads[i], 1000 + i);
    wait_until_run (&l, 3, 0);
    ck_assert_uint_eq (limit_count (l.reads).waiting, 7);
    flow_ask_stat (l.flow, &stat, 1001);
    flow_wait (l.flow, 10);
    ck_assert_uint_eq (stat.turn, 1);
    ck_assert_uint_eq (limit_count (l.reads).running, 3);
    let_go (l.flow);
    limited_end (&l);
}
END_TEST

START_TEST (one_that_is_old_leaves_its_place_until_there_are_too_many)
{
    struct limited l;
    struct flow_asked reads[20];

    limited_begin (&l, HELD, 2, MS, 10);
    for (unsigned i = 0; i < 20; i++)
        ask_read (l.flow, &reads[i], 1000 + i);
    wait_until_run (&l, 0, 12); /* 10 are old, 2 count until others replace them */
    ck_assert_uint_eq (limit_count (l.reads).waiting, 8);
    let_go (l.flow);
    limited_end (&l);
}
END_TEST

START_TEST (one_process_with_many_delays_another_by_one_turn)
{
    struct limited l;
    struct flow_asked first, many[1000], one;

    limited_begin (&l, HELD, 1, 0, 0);
    ask_read (l.flow, &first, 1000);
    for (unsigned i = 0; i < G_N_ELEMENTS (many); i++)
        ask_read (l.flow, &many[i], 1001);
    ask_read (l.flow, &one, 1002);
    let_go (l.flow);
    flow_wait (l.flow, 0);
    ck_assert_uint_le (one.turn, 3); /* after the running read, and one of the many */
    limited_end (&l);
}
END_TEST

START_TEST (a_higher_number_lets_more_begin_at_once)
{
    struct limited l;
    struct flow_asked reads[10];

    limited_begin (&l, HELD, 1, 0, 0);
    for (unsigned i = 0; i < 10; i++)
        ask_read (l.flow, &reads[i], 1000 + i);
    wait_until_run (&l, 1, 0);
    limit_set (l.reads, 8);
    wait_until_run (&l, 8, 0);
    limit_set (l.reads, 2);
    let_go (l.flow);
    limited_end (&l);
}
END_TEST

START_TEST (what_waits_is_told)
{
    struct limited l;
    struct flow_asked reads[4];
    g_autoptr (GString) out = g_string_new (NULL), nothing = g_string_new (NULL);

    limited_begin (&l, HELD, 1, 0, 0);
    for (unsigned i = 0; i < 4; i++)
        ask_read (l.flow, &reads[i], 1001);
    limit_waits_for (&reads[3].root->frames[1], out);
    ck_assert_str_eq (out->str, "one of 1 reads (read-limit), 2 before it");
    wait_until_run (&l, 1, 0);
    limit_waits_for (&reads[0].root->frames[1], nothing);
    ck_assert_str_eq (nothing->str, "");
    let_go (l.flow);
    limited_end (&l);
}
END_TEST

START_TEST (what_is_cancelled_is_answered_at_once_and_not_done)
{
    struct limited l;
    struct flow_asked reads[3];

    limited_begin (&l, HELD, 1, 0, 0);
    for (unsigned i = 0; i < 3; i++)
        ask_read (l.flow, &reads[i], 1001);
    wait_until_run (&l, 1, 0);
    ck_assert (!limit_cancel (reads[0].root->unique)); /* it runs */
    ck_assert (limit_cancel (reads[1].root->unique));
    ck_assert_int_eq (reads[1].r, -EINTR);
    ck_assert_uint_eq (limit_count (l.reads).cancelled, 1);
    let_go (l.flow);
    flow_wait (l.flow, 0);
    ck_assert_int_eq (reads[0].r, 4);
    ck_assert_int_eq (reads[2].r, 4);
    limited_end (&l);
}
END_TEST

/* A thread and an interrupt compete for the same call. The lock ensures that no answered call is
 * interrupted. */
START_TEST (interrupts_race_with_threads_and_each_is_answered_once)
{
    struct limited l;
    struct flow_asked *reads = g_new0 (struct flow_asked, 400);
    pthread_t thread;

    limited_begin (&l, BLOCKING ("0"), 2, MS, 4);
    for (unsigned i = 0; i < 400; i++)
        ask_read (l.flow, &reads[i], 0);
    ck_assert_int_eq (thread_new (&thread, "interrupts", cancel_all, reads), 0);
    thread_join (thread);
    flow_wait (l.flow, 0);
    for (unsigned i = 0; i < 400; i++)
        ck_assert (reads[i].r == 4 || reads[i].r == -EINTR);
    g_free (reads);
    limited_end (&l);
}
END_TEST

#define ASKERS 8

static struct flow_asked asked_by[ASKERS][200];

static void *
ask_many (void *data)
{
    struct limited *l = data;
    static unsigned askers;
    struct flow_asked *mine = asked_by[__atomic_fetch_add (&askers, 1, __ATOMIC_RELAXED)];

    for (unsigned i = 0; i < G_N_ELEMENTS (asked_by[0]); i++)
        ask_read (l->flow, &mine[i], thread_id);
    return NULL;
}

/* In place, and on behalf of each other. */
START_TEST (threads_that_may_block_run_what_they_bring_and_what_waits)
{
    struct limited l;
    pthread_t threads[ASKERS];

    limited_begin (&l, BLOCKING ("100"), 2, 10000 * MS, 0);
    for (unsigned i = 0; i < ASKERS; i++)
        ck_assert_int_eq (thread_new (&threads[i], "ask", ask_many, &l), 0);
    for (unsigned i = 0; i < ASKERS; i++)
        thread_join (threads[i]);
    flow_wait (l.flow, 0);
    for (unsigned i = 0; i < ASKERS; i++)
        for (unsigned j = 0; j < G_N_ELEMENTS (asked_by[0]); j++)
            ck_assert_int_eq (asked_by[i][j].r, 4);
    limited_end (&l);
}
END_TEST

START_TEST (with_a_rate_so_many_begin_in_a_second)
{
    struct limited l;
    struct flow_asked reads[30];
    const int64_t begin = clock_now ();

    limited_begin (&l, BLOCKING ("0"), 4, 0, 0);
    limit_set_rate (l.reads, 100);
    for (unsigned i = 0; i < 30; i++)
        ask_read (l.flow, &reads[i], 1001);
    flow_wait (l.flow, 0);
    ck_assert_int_ge (clock_now () - begin, 150 * MS); /* eleven at once, nineteen each 10 ms
                                                          later */
    limit_set_rate (l.reads, 0);
    limited_end (&l);
}
END_TEST

static int
busy_run (struct job *job, void *unused)
{
    while (job_next (job)) {
        const int64_t end = clock_now () + 20 * MS;

        while (clock_now () < end)
            continue;
    }
    return -EINTR;
}

/* Waits until the only job is in a state. */
static void
wait_until_job (const char *state)
{
    const int64_t end = clock_now () + 20000 * MS;
    bool found = false;

    while (!found) {
        g_autoptr (GString) list = g_string_new (NULL);

        jobs_list (list);
        found = strstr (list->str, state) != NULL;
        ck_assert_msg (found || clock_now () < end, "no job %s: %s", state, list->str);
    }
}

START_TEST (a_paced_job_rests_while_callers_wait)
{
    struct limited l;
    struct flow_asked reads[2];
    xlator_t *top;
    int number;

    limited_begin (&l, HELD, 1, 0, 0);
    top = l.flow->w.graph->top;
    jobs_init (top);
    number = job_begin (top, &(struct job_plan){ .name = "busy", .run = busy_run, .pace = 100 });
    ck_assert_int_gt (number, 0);
    wait_until_job ("; works");
    for (unsigned i = 0; i < 2; i++)
        ask_read (l.flow, &reads[i], 1001);
    wait_until_job ("; rests");
    ck_assert_int_eq (job_stop ((unsigned) number), 0);
    jobs_wait (top);
    let_go (l.flow);
    jobs_fini (top);
    limited_end (&l);
}
END_TEST

TEST_PROGRAM (test_limit)
{
    Suite *suite = suite_create ("limit");
    TCase *tcase = tcase_create ("limit");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, no_more_begin_than_may_and_another_class_does_not_wait);
    tcase_add_test (tcase, one_that_is_old_leaves_its_place_until_there_are_too_many);
    tcase_add_test (tcase, one_process_with_many_delays_another_by_one_turn);
    tcase_add_test (tcase, a_higher_number_lets_more_begin_at_once);
    tcase_add_test (tcase, what_waits_is_told);
    tcase_add_test (tcase, what_is_cancelled_is_answered_at_once_and_not_done);
    tcase_add_test (tcase, interrupts_race_with_threads_and_each_is_answered_once);
    tcase_add_test (tcase, threads_that_may_block_run_what_they_bring_and_what_waits);
    tcase_add_test (tcase, a_paced_job_rests_while_callers_wait);
    tcase_add_test (tcase, with_a_rate_so_many_begin_in_a_second);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

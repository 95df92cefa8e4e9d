/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* Delayed calls (core/work/delayed.h) if the system allows no thread to continue them. */
#include "core/work/delayed.h"
#include "core/time/timer.h"
#include "mock.h"

#include "../program.h"
#include "no-threads.h"

static struct held_calls *delayed_calls;
static char went_on_in[16]; /* the thread that continued the last call */

static void
delayed_go_on (call_stub_t *stub, enum held_end why, void *data)
{
    pthread_getname_np (pthread_self (), went_on_in, sizeof went_on_in);
    call_resume (stub);
}

/* For 1 ms. */
static void
hold_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    held_add (delayed_calls, fop_stat_stub (frame, mock_leaf_stat, loc, xdata), 1000000, NULL);
}

static const struct xlator_api hold_api = { .type = "test/hold", .fops = { .stat = hold_stat } };

struct stack {
    xlator_t leaf, hold;
    struct client *client;
};

static struct stack *
stack_of_two (void)
{
    struct stack *s = g_new0 (struct stack, 1);

    delayed_calls = held_new (delayed_go_on);
    s->client = client_new (
        mock_xlator (&s->hold, "hold", &hold_api,
                     mock_xlator (&s->leaf, "leaf", &mock_leaf_api, NULL)));
    return s;
}

static void
delayed_stack_free (struct stack *s)
{
    held_free (delayed_calls);
    client_free (s->client);
    mock_free (&s->hold);
    mock_free (&s->leaf);
    g_free (s);
}

static void
delayed_ask (struct stack *s)
{
    loc_t loc = { 0 };

    ck_assert_int_eq (sync_stat (s->client, &loc, NULL, NULL), 0);
}

START_TEST (a_call_goes_on_in_a_worker)
{
    struct stack *s = stack_of_two ();

    delayed_ask (s);
    ck_assert_str_eq (went_on_in, "work-0");
    delayed_stack_free (s);
}
END_TEST

START_TEST (without_a_worker_the_timers_thread_goes_on_and_a_worker_is_tried_again_after_a_second)
{
    struct stack *s = stack_of_two ();

    ck_assert_int_eq (timers_start (), 0);
    threads_forbid ();
    for (int i = 0; i < 10; i++) {
        delayed_ask (s);
        ck_assert_str_eq (went_on_in, "timer");
    }
    threads_allow ();
    delayed_ask (s);
    ck_assert_str_eq (went_on_in, "timer");
    g_usleep (1100000);
    delayed_ask (s);
    ck_assert_str_eq (went_on_in, "work-0");
    delayed_stack_free (s);
}
END_TEST

START_TEST (without_a_worker_the_end_of_a_graph_lets_go_of_calls)
{
    struct stack *s = stack_of_two ();

    ck_assert_int_eq (timers_start (), 0);
    threads_forbid ();
    held_notify (delayed_calls, XLATOR_ENDING);
    delayed_ask (s);
    ck_assert_str_eq (went_on_in, "timer");
    delayed_stack_free (s);
    threads_allow ();
}
END_TEST

TEST_PROGRAM (test_delayed)
{
    Suite *suite = suite_create ("held");
    TCase *tcase = tcase_create ("held");

    tcase_add_test (tcase, a_call_goes_on_in_a_worker);
    tcase_add_test (
        tcase,
        without_a_worker_the_timers_thread_goes_on_and_a_worker_is_tried_again_after_a_second);
    tcase_add_test (tcase, without_a_worker_the_end_of_a_graph_lets_go_of_calls);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

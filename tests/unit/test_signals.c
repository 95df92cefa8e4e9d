/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* Signals of the daemon: termination comes first, a repeated signal counts once, and other work of
 * the main thread has its turn in between. */
#include "daemon/daemon.h"

#include "../program.h"
#include <signal.h>

static gboolean
signals_count (gpointer data)
{
    ++*(unsigned *) data;
    return G_SOURCE_CONTINUE;
}

START_TEST (an_end_goes_first_and_repetitions_count_once)
{
    ck_assert_int_eq (signals_init (), 0);
    signals_catch_end ();
    for (int i = 0; i < 100000; i++)
        signals_post (i % 2 ? SIGHUP : SIGUSR1);
    raise (SIGUSR2);
    raise (SIGTERM);
    ck_assert_int_eq (signals_wait (), SIGTERM);
    ck_assert_int_eq (signals_wait (), SIGHUP);
    ck_assert_int_eq (signals_wait (), SIGUSR1);
    signals_post (EVENT_UNMOUNTED);
    ck_assert_int_eq (signals_wait (), EVENT_UNMOUNTED);
    ck_assert_int_eq (signals_wait (), SIGUSR2);
}
END_TEST

START_TEST (what_else_is_served_has_its_turn_between_signals)
{
    unsigned served = 0;

    ck_assert_int_eq (signals_init (), 0);
    g_idle_add_full (G_PRIORITY_DEFAULT, signals_count, &served, NULL);
    for (unsigned i = 1; i <= 10; i++) {
        signals_post (SIGUSR1);
        ck_assert_int_eq (signals_wait (), SIGUSR1);
        ck_assert_uint_ge (served, i);
    }
}
END_TEST

static void *
post (void *data)
{
    signals_post (SIGUSR1);
    return NULL;
}

START_TEST (one_that_comes_while_it_waits_wakes_it)
{
    pthread_t thread;

    ck_assert_int_eq (signals_init (), 0);
    for (int i = 0; i < 1000; i++) {
        pthread_create (&thread, NULL, post, NULL);
        ck_assert_int_eq (signals_wait (), SIGUSR1);
        pthread_join (thread, NULL);
    }
}
END_TEST

TEST_PROGRAM (test_signals)
{
    Suite *suite = suite_create ("signals");
    TCase *tcase = tcase_create ("signals");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, an_end_goes_first_and_repetitions_count_once);
    tcase_add_test (tcase, what_else_is_served_has_its_turn_between_signals);
    tcase_add_test (tcase, one_that_comes_while_it_waits_wakes_it);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

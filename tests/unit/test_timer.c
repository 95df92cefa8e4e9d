/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug valgrind */
/* Timers: called in the order of their times, and not called if cancelled. */
#include "core/time/clock.h"
#include "core/time/timer.h"

#include "../program.h"
#include "no-threads.h"
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>

#define MS 1000000LL

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    GString *called; /* lock */
} timer_test_seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static void
timer_test_note (void *letter)
{
    pthread_mutex_lock (&timer_test_seen.lock);
    g_string_append (timer_test_seen.called, letter);
    pthread_cond_signal (&timer_test_seen.more);
    pthread_mutex_unlock (&timer_test_seen.lock);
}

static void
timer_test_wait_for (unsigned n)
{
    pthread_mutex_lock (&timer_test_seen.lock);
    while (timer_test_seen.called->len < n)
        pthread_cond_wait (&timer_test_seen.more, &timer_test_seen.lock);
    pthread_mutex_unlock (&timer_test_seen.lock);
}

/* Blocks the timer thread until all timers are set, however slow this thread is. */
static void
wait_at_gate (void *gate)
{
    pthread_mutex_lock (gate);
    pthread_mutex_unlock (gate);
}

/* Whether all were set within 10 ms: otherwise their order differs. */
static bool
ask_for_three (void)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int64_t timer_test_begin;
    bool quick;

    g_string_truncate (timer_test_seen.called, 0);
    pthread_mutex_lock (&gate);
    timer_after (0, wait_at_gate, &gate);
    timer_test_begin = clock_now ();
    timer_after (30 * MS, timer_test_note, "c");
    timer_after (10 * MS, timer_test_note, "a");
    timer_after (20 * MS, timer_test_note, "b");
    quick = clock_now () - timer_test_begin < 10 * MS;
    pthread_mutex_unlock (&gate);
    timer_test_wait_for (3);
    return quick;
}

START_TEST (they_are_called_in_the_order_in_which_they_are_due)
{
    while (!ask_for_three ()) /* within the case's limit */
        ;
    ck_assert_str_eq (timer_test_seen.called->str, "abc");
    ck_assert_uint_eq (timer_count (), 0);
}
END_TEST

START_TEST (none_is_called_too_early)
{
    int64_t timer_test_begin = clock_now ();

    timer_after (50 * MS, timer_test_note, "x");
    timer_test_wait_for (1);
    ck_assert_int_ge (clock_now () - timer_test_begin, 50 * MS);
}
END_TEST

START_TEST (one_that_was_taken_back_is_not_called)
{
    core_timer_t *timer = timer_after (3600000 * MS, timer_test_note, "no");

    timer_after (10 * MS, timer_test_note, "y");
    ck_assert (timer_cancel (timer));
    timer_test_wait_for (1);
    ck_assert_str_eq (timer_test_seen.called->str, "y");
}
END_TEST

START_TEST (a_thousand_at_once_are_all_called)
{
    for (int i = 0; i < 1000; i++)
        timer_after (i % 7 * MS, timer_test_note, ".");
    timer_test_wait_for (1000);
    ck_assert_uint_eq (timer_test_seen.called->len, 1000);
}
END_TEST

START_TEST (without_a_thread_a_timer_waits_for_the_next_that_gets_one)
{
    threads_forbid ();
    ck_assert_int_eq (timers_start (), -EAGAIN);
    timer_after (0, timer_test_note, "a");
    ck_assert_uint_eq (timer_count (), 1);
    threads_allow ();
    timer_after (0, timer_test_note, "b"); /* too early for a retry */
    ck_assert_uint_eq (timer_count (), 2);
    g_usleep (1100000);
    timer_after (0, timer_test_note, "c");
    timer_test_wait_for (3);
    ck_assert_str_eq (timer_test_seen.called->str, "abc");
    ck_assert_int_eq (timers_start (), 0);
}
END_TEST

static void
timer_test_begin (void)
{
    timer_test_seen.called = g_string_new (NULL);
}

static void
timer_test_end (void)
{
    g_string_free (timer_test_seen.called, TRUE);
}

TEST_PROGRAM (test_timer)
{
    Suite *suite = suite_create ("timer");
    TCase *tcase = tcase_create ("timer");

    tcase_add_checked_fixture (tcase, timer_test_begin, timer_test_end);
    tcase_add_test (tcase, they_are_called_in_the_order_in_which_they_are_due);
    tcase_add_test (tcase, none_is_called_too_early);
    tcase_add_test (tcase, one_that_was_taken_back_is_not_called);
    tcase_add_test (tcase, a_thousand_at_once_are_all_called);
    tcase_add_test (tcase, without_a_thread_a_timer_waits_for_the_next_that_gets_one);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

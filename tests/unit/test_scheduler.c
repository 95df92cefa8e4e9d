/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* With a scheduler, time is simulated, threads take turns, and a seed decides. */
#include "core/time/clock.h"
#include "core/time/random.h"
#include "core/time/scheduler.h"
#include "core/time/thread.h"
#include "core/time/timer.h"

#include "../program.h"
#include <glib.h>

#define HOUR (3600 * INT64_C (1000000000))

/* The events in order. Only the running thread adds to them. */
static GString *happened;

static void
scheduler_test_note (void *text)
{
    g_string_append (happened, text);
}

START_TEST (a_delay_of_an_hour_takes_no_time)
{
    const int64_t real = clock_now ();

    happened = g_string_new (NULL);
    scheduler_begin (1);
    const int64_t before = clock_now ();
    const struct timespec today = clock_today ();
    timer_after (3 * HOUR, scheduler_test_note, "c");
    timer_after (HOUR, scheduler_test_note, "a");
    timer_after (2 * HOUR, scheduler_test_note, "b");
    while (scheduler_step ())
        continue;
    ck_assert_str_eq (happened->str, "abc");
    ck_assert_int_ge (clock_now (), before + 3 * HOUR);
    ck_assert_int_ge (clock_today ().tv_sec, today.tv_sec + 3 * 3600);
    scheduler_end ();
    ck_assert_int_lt (clock_now () - real, HOUR / 2);
    g_string_free (happened, TRUE);
}
END_TEST

static void
scheduler_test_forget (void *unused)
{
    ck_abort_msg ("a timer that was dropped is called");
}

START_TEST (timers_that_wait_are_dropped_in_the_end)
{
    scheduler_begin (1);
    timer_after (HOUR, scheduler_test_forget, NULL);
    ck_assert_uint_eq (timer_count (), 1);
    scheduler_end ();
    ck_assert_uint_eq (timer_count (), 0);
}
END_TEST

/* Three threads that pass a turn on to each other. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turns; /* lock */
} game = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *
play (void *name)
{
    for (bool more = true; more;) {
        pthread_mutex_lock (&game.lock);
        more = game.turns-- > 0;
        if (more) {
            scheduler_test_note (name);
            thread_cond_broadcast (&game.changed);
            thread_cond_wait_until (&game.changed, &game.lock, clock_now () + HOUR);
        }
        pthread_mutex_unlock (&game.lock);
    }
    return NULL;
}

/* g_free it. */
static char *
played (uint64_t seed)
{
    pthread_t threads[3];
    static char *const names[] = { "a", "b", "c" };

    happened = g_string_new (NULL);
    game.turns = 60;
    thread_cond_init (&game.changed);
    scheduler_begin (seed);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq (thread_new (&threads[i], names[i], play, names[i]), 0);
    for (int i = 0; i < 3; i++)
        thread_join (threads[i]);
    scheduler_end ();
    pthread_cond_destroy (&game.changed);
    return g_string_free (happened, FALSE);
}

START_TEST (threads_take_turns_as_the_seed_says)
{
    g_autofree char *one = played (1), *again = played (1), *other = played (2);

    ck_assert_uint_eq (strlen (one), 60);
    ck_assert_str_eq (one, again);
    ck_assert_str_ne (one, other);
}
END_TEST

START_TEST (seeds_come_from_the_seed)
{
    uint64_t seen[2];

    for (int i = 0; i < 2; i++) {
        scheduler_begin (7);
        seen[i] = random_seed ();
        ck_assert (seen[i] != random_seed ());
        scheduler_end ();
    }
    ck_assert_uint_eq (seen[0], seen[1]);
    ck_assert (random_seed () != random_seed ());
}
END_TEST

TEST_PROGRAM (test_scheduler)
{
    Suite *suite = suite_create ("scheduler");
    TCase *tcase = tcase_create ("scheduler");

    tcase_add_test (tcase, a_delay_of_an_hour_takes_no_time);
    tcase_add_test (tcase, timers_that_wait_are_dropped_in_the_end);
    tcase_add_test (tcase, threads_take_turns_as_the_seed_says);
    tcase_add_test (tcase, seeds_come_from_the_seed);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

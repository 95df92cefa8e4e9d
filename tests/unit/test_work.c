/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug valgrind */
/* The pool of threads (core/work/work.h): threads start as needed, and end with the last user. */
#include "core/time/clock.h"
#include "core/time/thread.h"
#include "core/work/work.h"

#include "../program.h"
#include <glib.h>

#define MS UINT64_C (1000000)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned here, most_here, done, meet; /* lock; meet: this number must meet before any returns */
    bool met;                             /* lock */
} meeting = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void
meet (struct work_item *work)
{
    pthread_mutex_lock (&meeting.lock);
    meeting.here++;
    meeting.most_here = MAX (meeting.most_here, meeting.here);
    meeting.met |= meeting.here >= meeting.meet;
    pthread_cond_broadcast (&meeting.changed);
    while (!meeting.met)
        pthread_cond_wait (&meeting.changed, &meeting.lock);
    meeting.here--;
    meeting.done++;
    pthread_mutex_unlock (&meeting.lock);
    g_free (work);
}

static void
work_test_put (unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct work_item *work = g_new (struct work_item, 1);

        *work = (struct work_item){ .run = meet };
        work_put (work);
    }
}

START_TEST (a_thread_comes_for_each_that_is_blocked)
{
    work_use ();
    meeting.meet = 40;
    ck_assert_uint_eq (work_count ().threads, 0);
    work_test_put (39);
    ck_assert (!work_wait (clock_now () + MS));
    work_test_put (1);
    ck_assert (work_wait (-1));
    ck_assert_uint_eq (meeting.done, 40);
    ck_assert_uint_eq (meeting.most_here, 40);
    work_leave ();
    ck_assert_uint_eq (work_count ().threads, 0);
}
END_TEST

static void *
bring (void *unused)
{
    work_test_put (100);
    return NULL;
}

START_TEST (each_is_done_once_whichever_thread_brings_it)
{
    pthread_t threads[4];

    work_use ();
    meeting.met = true;
    for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
        ck_assert_int_eq (thread_new (&threads[i], "bring", bring, NULL), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
        thread_join (threads[i]);
    ck_assert (work_wait (-1));
    ck_assert_uint_eq (meeting.done, 400);
    work_leave ();
}
END_TEST

/* Items that must all run at the same time, some put and some tried. */
static void *
bring_blocked (void *unused)
{
    for (unsigned i = 0; i < 10; i++) {
        struct work_item *work = g_new (struct work_item, 1);

        *work = (struct work_item){ .run = meet };
        if (i % 2 || !work_try (work))
            work_put (work);
    }
    return NULL;
}

START_TEST (what_is_blocked_never_keeps_the_thread_of_another)
{
    pthread_t threads[4];

    work_use ();
    meeting.meet = 10 * G_N_ELEMENTS (threads);
    for (unsigned round = 0; round < 20; round++) {
        meeting.met = false;
        meeting.done = 0;
        for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
            ck_assert_int_eq (thread_new (&threads[i], "bring", bring_blocked, NULL), 0);
        for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
            thread_join (threads[i]);
        ck_assert_msg (work_wait (clock_now () + 20000 * MS), "in round %u %u of %u have no thread",
                       round, work_count ().waiting, meeting.meet);
        ck_assert_uint_eq (meeting.done, meeting.meet);
    }
    work_leave ();
}
END_TEST

START_TEST (the_last_user_waits_for_all_and_another_may_come)
{
    for (unsigned round = 0; round < 20; round++) {
        work_use ();
        work_use ();
        meeting.met = true;
        work_test_put (50);
        work_leave ();
        work_leave ();
        ck_assert_uint_eq (meeting.done, (round + 1) * 50);
        ck_assert_uint_eq (work_count ().threads, 0);
    }
}
END_TEST

TEST_PROGRAM (test_work)
{
    Suite *suite = suite_create ("work");
    TCase *tcase = tcase_create ("work");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, a_thread_comes_for_each_that_is_blocked);
    tcase_add_test (tcase, each_is_done_once_whichever_thread_brings_it);
    tcase_add_test (tcase, what_is_blocked_never_keeps_the_thread_of_another);
    tcase_add_test (tcase, the_last_user_waits_for_all_and_another_may_come);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* How many threads are worth having (core/crowd.h), and what a pool does about it. Not under valgrind, which runs one thread at a time. */
#include "core/clock.h"
#include "core/crowd.h"
#include "core/pool.h"
#include "core/thread.h"

#include "../program.h"
#include <glib.h>

#define MS INT64_C (1000000)

/* --- the number --------------------------------------------------------------------------------- */

static struct crowd crowd;

static void
noted (unsigned times, int64_t took, int64_t in_line)
{
    for (unsigned i = 0; i < times; i++)
        crowd_note (&crowd, took, in_line);
}

static void
begin (void)
{
    crowd_init (&crowd);
    ck_assert_uint_ge (crowd.processors, 1);
    crowd.processors = 3;
}

START_TEST (two_for_each_processor_are_in_line)
{
    begin ();
    noted (1, MS, MS);
    ck_assert_uint_eq (crowd_limit (&crowd), 6);
    noted (100, MS, MS / 4);
    ck_assert_uint_ge (crowd_limit (&crowd), 23);
    ck_assert_uint_le (crowd_limit (&crowd), 24);
}
END_TEST

START_TEST (as_many_as_there_are_where_none_is_in_line)
{
    begin ();
    ck_assert_uint_eq (crowd_limit (&crowd), G_MAXUINT);
    noted (100, 10 * MS, 0);
    ck_assert_uint_eq (crowd_limit (&crowd), G_MAXUINT);
    noted (1, 10 * MS, 1);
    ck_assert_uint_ge (crowd_limit (&crowd), 1000000);
}
END_TEST

START_TEST (what_was_long_ago_is_forgotten)
{
    begin ();
    noted (10000, MS, MS);
    noted (500, MS, MS / 10);
    ck_assert_uint_ge (crowd_limit (&crowd), 50);
    noted (500, MS, MS);
    ck_assert_uint_le (crowd_limit (&crowd), 7);
}
END_TEST

/* What hung for an hour says as much as what took ten milliseconds. */
START_TEST (a_few_that_hang_hide_no_crowd)
{
    begin ();
    noted (60, MS, MS);
    noted (1, 3600000 * MS, MS);
    ck_assert_uint_le (crowd_limit (&crowd), 12);
    noted (200, MS, MS);
    ck_assert_uint_eq (crowd_limit (&crowd), 6);
}
END_TEST

/* The clock may say less than the kernel. */
START_TEST (nobody_is_in_line_for_longer_than_it_took)
{
    begin ();
    noted (1, 0, MS);
    ck_assert_uint_eq (crowd_limit (&crowd), 6);
}
END_TEST

static void
compute (int64_t how_long)
{
    const int64_t until = clock_now () + how_long;

    while (clock_now () < until)
        ;
}

/* Not thread_ran: that is a part of what is tested. */
static int64_t
ran (void)
{
    struct timespec ts;

    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

/* By the thread's own clock: others go on while a hypervisor has the processor (steal in proc(5)), which may be for milliseconds, and differ in
 * speed by up to 500 millionths (adjtimex(2)). */
START_TEST (the_kernel_says_for_how_long_a_thread_was_in_line)
{
    const int64_t computes_at = clock_now (), first = crowd_in_line (), ran_first = ran ();

    ck_assert_int_ge (first, 0);
    while (ran () < ran_first + 5 * MS)
        ;
    const int64_t computed = crowd_in_line () - first;
    ck_assert_int_ge (computed, 5 * MS);
    ck_assert_int_le (computed, clock_now () - computes_at + MS);
    const int64_t sleeps_at = clock_now (), sleeps = crowd_in_line (); /* in this order: what comes between them counts on the right alone */
    g_usleep (50000);
    ck_assert_int_le (crowd_in_line () - sleeps, clock_now () - sleeps_at - 40 * MS);
}
END_TEST

/* --- the pool ----------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned here, meet; /* lock; meet: so many have to be there at a time before they go on */
} meeting = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void
meets (struct pool_job *job)
{
    pthread_mutex_lock (&meeting.lock);
    meeting.here++;
    pthread_cond_broadcast (&meeting.changed);
    while (meeting.here < meeting.meet)
        pthread_cond_wait (&meeting.changed, &meeting.lock);
    pthread_mutex_unlock (&meeting.lock);
    g_free (job);
}

static void
computes (struct pool_job *job)
{
    compute (2 * MS);
    g_free (job);
}

static void
put (struct pool *pool, unsigned n, void (*run) (struct pool_job *job))
{
    for (unsigned i = 0; i < n; i++) {
        struct pool_job *job = g_new (struct pool_job, 1);

        *job = (struct pool_job){ .run = run };
        pool_put (pool, job);
    }
}

/* After it nearly all that its threads did was to compute. */
static struct pool *
crowded_pool (void)
{
    struct pool *pool = pool_new ("test", 512);

    put (pool, 400, computes);
    ck_assert (pool_wait (pool, -1));
    ck_assert_uint_le (pool_count (pool).limit, 4 * g_get_num_processors ());
    return pool;
}

/* The limit moves, and on a busy machine who lost the processor for long doesn't count. */
START_TEST (more_who_compute_wait_for_those_who_do)
{
    struct pool *pool = crowded_pool ();
    struct pool_numbers numbers;
    unsigned most = 0;

    put (pool, 500, computes);
    do {
        numbers = pool_count (pool);
        most = MAX (most, numbers.busy);
    } while (numbers.waiting > 0);
    pool_free (pool);
    ck_assert_uint_le (most, 100);
}
END_TEST

/* In a pool that was crowded just before, and though nobody brings another one. */
START_TEST (those_that_hang_keep_nobody_from_beginning)
{
    struct pool *pool = crowded_pool ();

    meeting.meet = 20 * g_get_num_processors ();
    put (pool, meeting.meet, meets);
    ck_assert (pool_wait (pool, -1));
    pool_free (pool);
}
END_TEST

TEST_PROGRAM (test_crowd)
{
    Suite *suite = suite_create ("crowd");
    TCase *tcase = tcase_create ("crowd");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, two_for_each_processor_are_in_line);
    tcase_add_test (tcase, as_many_as_there_are_where_none_is_in_line);
    tcase_add_test (tcase, what_was_long_ago_is_forgotten);
    tcase_add_test (tcase, a_few_that_hang_hide_no_crowd);
    tcase_add_test (tcase, nobody_is_in_line_for_longer_than_it_took);
    tcase_add_test (tcase, the_kernel_says_for_how_long_a_thread_was_in_line);
    tcase_add_test (tcase, more_who_compute_wait_for_those_who_do);
    tcase_add_test (tcase, those_that_hang_keep_nobody_from_beginning);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

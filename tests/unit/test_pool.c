/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug valgrind */
/* Threads that do what others can't wait for (core/pool.h); and when they are given it (core/quick.h). */
#include "core/clock.h"
#include "core/pool.h"
#include "core/quick.h"
#include "core/thread.h"

#include "../program.h"
#include <glib.h>

#define MS UINT64_C (1000000)

/* --- the pool ----------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned here, most_here, done, meet; /* lock; meet: so many have to be there at a time before one goes on */
    bool met;                             /* lock */
} meeting = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void
meet (struct pool_job *job)
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
    g_free (job);
}

static void
put (struct pool *pool, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct pool_job *job = g_new (struct pool_job, 1);

        *job = (struct pool_job){ .run = meet };
        pool_put (pool, job);
    }
}

START_TEST (threads_come_as_there_is_work_and_no_more_than_may)
{
    struct pool *pool = pool_new ("test", 4);

    meeting.meet = 4;
    ck_assert_uint_eq (pool_count (pool).threads, 0);
    put (pool, 3);
    ck_assert (!pool_wait (pool, clock_now () + MS));
    put (pool, 50);
    ck_assert (pool_wait (pool, -1));
    ck_assert_uint_eq (meeting.done, 53);
    ck_assert_uint_eq (meeting.most_here, 4);
    ck_assert_uint_eq (pool_count (pool).threads, 4);
    put (pool, 1); /* one of those that rest does it */
    pool_free (pool);
    ck_assert_uint_eq (meeting.done, 54);
}
END_TEST

static void *
put_many (void *pool)
{
    put (pool, 2000);
    return NULL;
}

START_TEST (each_is_done_once_whoever_brings_it)
{
    struct pool *pool = pool_new ("test", 3);
    pthread_t threads[4];

    meeting.met = true;
    for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
        ck_assert_int_eq (thread_new (&threads[i], "brings", put_many, pool), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
        thread_join (threads[i]);
    pool_free (pool);
    ck_assert_uint_eq (meeting.done, 8000);
    pool_free (NULL);
}
END_TEST

/* --- who is quick ----------------------------------------------------------------------------------- */

static struct quickness quick;

/* A call of so many microseconds that ended so many after the beginning of all. */
static bool
took (uint64_t end, uint64_t microseconds, bool preempted)
{
    const uint64_t base = ticks_of_ns (1000 * MS);

    return quick_judge (&quick, FOP_readv, base + ticks_of_ns ((end - microseconds) * 1000), base + ticks_of_ns (end * 1000), preempted);
}

START_TEST (one_slow_call_is_enough_and_it_stays_slow_for_sixteen_times_what_it_took)
{
    quick_init (&quick, 50000, false);
    ck_assert (quick_is (&quick, FOP_readv));
    ck_assert (!took (1000, 40, false));
    ck_assert (took (20000, 10000, false));
    ck_assert (!quick_is (&quick, FOP_readv));
    ck_assert (quick_is (&quick, FOP_stat));
    ck_assert (!took (100000, 3, false));
    ck_assert (!took (120000, 10000, false)); /* another: from then on once more */
    ck_assert (!took (200000, 3, false));
    ck_assert (!quick_is (&quick, FOP_readv));
    ck_assert (took (290000, 3, false));
    ck_assert (quick_is (&quick, FOP_readv));
}
END_TEST

/* A machine with more to do than processors makes every call look slow now and then. */
START_TEST (who_only_lost_the_processor_is_in_doubt_and_the_second_time_not)
{
    quick_init (&quick, 50000, false);
    ck_assert (!took (10000, 4000, true));
    ck_assert (quick_is (&quick, FOP_readv));
    ck_assert (!took (500000, 4000, true)); /* long after: as if it were the first */
    ck_assert (took (540000, 4000, true));
    ck_assert (!quick_is (&quick, FOP_readv));
}
END_TEST

/* Who looks at what another thread does may have read the clock before that began. */
START_TEST (what_begins_after_it_was_looked_at_is_not_slow)
{
    const uint64_t now = ticks_of_ns (1000 * MS);

    quick_init (&quick, 50000, false);
    ck_assert (!quick_note_stuck (&quick, FOP_readv, now + 1, now));
    ck_assert (quick_is (&quick, FOP_readv));
    ck_assert (quick_note_stuck (&quick, FOP_readv, now - ticks_of_ns (MS), now));
    ck_assert (!quick_is (&quick, FOP_readv));
}
END_TEST

START_TEST (with_no_limit_nothing_is_quick)
{
    quick_init (&quick, 0, false);
    ck_assert (!quick_is (&quick, FOP_readv));
    ck_assert (!took (10, 1, false));
    ck_assert (!quick_is (&quick, FOP_readv));
    quick_set (&quick, 50000);
    ck_assert (took (1000, 1, false));
    ck_assert (quick_is (&quick, FOP_readv));
    quick_set (&quick, 0);
    ck_assert (!quick_is (&quick, FOP_readv));
}
END_TEST

START_TEST (what_hangs_for_an_hour_is_slow_for_seconds)
{
    quick_init (&quick, 50000, true);
    took (UINT64_C (3600000000), UINT64_C (3600000000) - 1, false);
    ck_assert (!quick_is (&quick, FOP_readv));
    ck_assert (took (UINT64_C (3603000000), 1, false));
}
END_TEST

/* --- what a thread did besides waiting: this one, where 1 ms is slow ---------------------------------- */

/* No longer than the kernel hardly ever takes the processor from who just woke. */
static void
compute (void)
{
    const int64_t until = thread_ran () + 2 * MS;

    while (thread_ran () < until)
        ;
}

static void
sleep_a_while (void)
{
    g_usleep (20000);
}

static void
nothing (void)
{
}

enum verdict { TELLS_NOTHING, QUICK, SLOW };

static enum verdict
moves (void (*what) (void), bool behind)
{
    struct moving moving;

    g_usleep (1000);
    quick_moving (&moving);
    moving.behind = behind;
    const uint64_t begin = ticks_now ();
    what ();
    const uint64_t end = quick_end (&quick, FOP_writev, &moving, begin);
    return end == 0 ? TELLS_NOTHING : ticks_between (begin, end) < ticks_of_ns (MS) ? QUICK : SLOW;
}

/* Unless it always loses the processor meanwhile. */
START_TEST (what_has_a_processor_all_the_time_is_quick)
{
    unsigned tries = 0;

    quick_init (&quick, MS, false);
    while (moves (compute, false) != QUICK)
        ck_assert_uint_lt (++tries, 500);
}
END_TEST

START_TEST (what_waits_twice_is_slow)
{
    enum verdict verdict;
    unsigned tries = 0;

    quick_init (&quick, MS, false);
    ck_assert_int_eq (moves (sleep_a_while, false), TELLS_NOTHING);
    while ((verdict = moves (sleep_a_while, false)) == TELLS_NOTHING)
        ck_assert_uint_lt (++tries, 500);
    ck_assert_int_eq (verdict, SLOW);
}
END_TEST

/* It may have been somebody else's lock. */
START_TEST (what_waits_now_and_then_tells_nothing)
{
    quick_init (&quick, MS, false);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq (moves (sleep_a_while, false), TELLS_NOTHING);
        while (moves (nothing, false) != QUICK)
            ;
    }
}
END_TEST

START_TEST (what_waits_for_others_of_its_kind_tells_nothing)
{
    quick_init (&quick, MS, false);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq (moves (sleep_a_while, true), TELLS_NOTHING);
}
END_TEST

/* To ask takes as long as a quick one may take altogether. */
START_TEST (only_of_what_is_close_to_slow_it_is_worth_asking)
{
    const uint64_t now = ticks_of_ns (1000 * MS);

    quick_init (&quick, MS, false);
    ck_assert (!quick_note (&quick, FOP_writev, now - ticks_of_ns (MS * 4 / 10), now));
    ck_assert (!quick_is_close (&quick, FOP_writev));
    ck_assert (!quick_note (&quick, FOP_writev, now - ticks_of_ns (MS * 6 / 10), now));
    ck_assert (quick_is_close (&quick, FOP_writev));
    ck_assert (!quick_is_close (&quick, FOP_readv));
    while (quick_is_close (&quick, FOP_writev))
        moves (nothing, false);
    ck_assert (quick_is (&quick, FOP_writev));
}
END_TEST

TEST_PROGRAM (test_pool)
{
    Suite *suite = suite_create ("pool");
    TCase *tcase = tcase_create ("pool");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, threads_come_as_there_is_work_and_no_more_than_may);
    tcase_add_test (tcase, each_is_done_once_whoever_brings_it);
    tcase_add_test (tcase, one_slow_call_is_enough_and_it_stays_slow_for_sixteen_times_what_it_took);
    tcase_add_test (tcase, who_only_lost_the_processor_is_in_doubt_and_the_second_time_not);
    tcase_add_test (tcase, what_begins_after_it_was_looked_at_is_not_slow);
    tcase_add_test (tcase, with_no_limit_nothing_is_quick);
    tcase_add_test (tcase, what_hangs_for_an_hour_is_slow_for_seconds);
    tcase_add_test (tcase, what_has_a_processor_all_the_time_is_quick);
    tcase_add_test (tcase, what_waits_twice_is_slow);
    tcase_add_test (tcase, what_waits_now_and_then_tells_nothing);
    tcase_add_test (tcase, what_waits_for_others_of_its_kind_tells_nothing);
    tcase_add_test (tcase, only_of_what_is_close_to_slow_it_is_worth_asking);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

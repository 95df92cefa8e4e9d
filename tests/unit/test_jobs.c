/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug valgrind */
/* Jobs (core/work/job.h), on the virtual clock: rests, pauses, stops, answers and their limits. */
#include "core/edge/stack.h"
#include "core/time/clock.h"
#include "core/time/scheduler.h"
#include "core/time/thread.h"
#include "core/work/job.h"

#include "../program.h"
#include <errno.h>
#include <string.h>

#define MS INT64_C (1000000)
#define SECOND INT64_C (1000000000)

/* A translator with jobs, and what its jobs do. */
static struct jobs_world {
    xlator_t xl;
    int64_t piece;       /* time that a piece of work takes, in nanoseconds */
    unsigned pieces;     /* number of pieces of a job */
    unsigned worked;     /* pieces done so far */
    unsigned freed;      /* number of calls of free */
    const char *printed; /* text that each piece prints, or NULL */
    int result;          /* result of a job that was not stopped */
    int64_t ended_at;    /* time when the last job ended, by clock_now */
    bool may_rest;       /* in a hold, although a request waits */
} job_world;

static void
job_world_new (void)
{
    scheduler_begin (1);
    job_world = (struct jobs_world){ .pieces = 3 };
    job_world.xl = xlator_init ("one", NULL, NULL, NULL);
    jobs_init (&job_world.xl);
}

static void
job_world_free (void)
{
    jobs_fini (&job_world.xl);
    ck_assert_uint_eq (jobs_count (), 0);
    ck_assert_uint_eq (stack_count_kept (), 0);
    scheduler_end ();
}

static int
world_job_run (struct job *job, void *data)
{
    int r = job_world.result;

    for (unsigned i = 0; i < job_world.pieces && r == job_world.result; i++) {
        job_progress (job, i, job_world.pieces);
        if (!job_next (job)) {
            r = -EINTR;
            continue;
        }
        scheduler_pass (job_world.piece);
        if (job_world.printed)
            job_print (job, "%s", job_world.printed);
        job_world.worked++;
    }
    if (r == -EPERM)
        job_refuse (job, "piece %u is not allowed", job_world.worked);
    job_world.ended_at = clock_now ();
    return r;
}

static void
world_job_free (void *data)
{
    job_world.freed++;
}

static int
world_job_begin (unsigned pace, bool owed, uid_t uid)
{
    const struct xlator_asked asked = { .uid = uid };

    return job_begin (&job_world.xl,
                      &(struct job_plan){ .name = "work",
                                          .about = "/a\nb",
                                          .unit = "pieces",
                                          .run = world_job_run,
                                          .free = world_job_free,
                                          .pace = pace,
                                          .owed = owed,
                                          .asked = uid == (uid_t) -1 ? NULL : &asked });
}

#define NOT_ASKED ((uid_t) -1)

static void
step_until_worked (unsigned pieces)
{
    while (job_world.worked < pieces)
        ck_assert (scheduler_step ());
}

static void
step_all (void)
{
    while (jobs_count () > 0)
        ck_assert (scheduler_step ());
}

/* Reads the next piece of an answer. g_free the text. */
static char *
answer_read (unsigned number, uid_t uid, struct job_read *ret_read)
{
    GString *text = g_string_new (NULL);

    ck_assert_int_eq (job_read (number, uid, 1 << 20, text, ret_read), 0);
    return g_string_free (text, FALSE);
}

START_TEST (a_job_runs_once_and_frees_its_data)
{
    job_world_new ();
    ck_assert_int_gt (world_job_begin (100, false, NOT_ASKED), 0);
    step_all ();
    ck_assert_uint_eq (job_world.worked, 3);
    ck_assert_uint_eq (job_world.freed, 1);
    job_world_free ();
}
END_TEST

START_TEST (a_pace_is_the_share_of_the_time_for_which_a_job_works)
{
    int64_t begun;

    job_world_new ();
    job_world.piece = 10 * MS;
    job_world.pieces = 10;
    begun = clock_now ();
    world_job_begin (10, false, NOT_ASKED);
    step_all ();
    /* Ten pieces of 10 ms, with nine rests of 90 ms between them; a step takes a microsecond. */
    ck_assert_int_ge (job_world.ended_at - begun, 10 * 10 * MS + 9 * 90 * MS);
    ck_assert_int_le (job_world.ended_at - begun, 10 * 10 * MS + 9 * 90 * MS + 2 * MS);
    begun = clock_now ();
    job_world.worked = 0;
    world_job_begin (100, false, NOT_ASKED);
    step_all ();
    ck_assert_int_le (job_world.ended_at - begun, 10 * 10 * MS + MS);
    job_world_free ();
}
END_TEST

START_TEST (a_stop_ends_a_job_also_while_it_rests)
{
    int number;
    int64_t begun;

    job_world_new ();
    job_world.piece = SECOND;
    job_world.pieces = 100;
    number = world_job_begin (10, false, NOT_ASKED);
    step_until_worked (2);
    begun = clock_now ();
    ck_assert_int_eq (job_stop (number), 0);
    step_all ();
    ck_assert_int_lt (job_world.ended_at - begun, SECOND);
    ck_assert_uint_le (job_world.worked, 3);
    ck_assert_int_eq (job_stop (number), -ENOENT);
    job_world_free ();
}
END_TEST

START_TEST (a_hold_pauses_a_job_and_it_goes_on_where_it_was)
{
    int64_t begun;

    job_world_new ();
    job_world.piece = MS;
    job_world.pieces = 5;
    world_job_begin (50, false, NOT_ASKED);
    step_until_worked (2);
    jobs_pause ();
    jobs_pause ();
    ck_assert (stack_wait_for_end (true, clock_now () + SECOND));
    begun = job_world.worked;
    ck_assert_int_lt (begun, 5);
    jobs_go_on ();
    while (scheduler_step ())
        continue;
    ck_assert_int_eq (job_world.worked, begun);
    jobs_go_on ();
    step_all ();
    ck_assert_uint_eq (job_world.worked, 5);
    job_world_free ();
}
END_TEST

START_TEST (a_job_that_begins_under_a_hold_waits_unless_a_request_needs_it)
{
    job_world_new ();
    jobs_pause ();
    world_job_begin (0, false, NOT_ASKED);
    while (scheduler_step ())
        continue;
    ck_assert_uint_eq (job_world.worked, 0);
    world_job_begin (0, true, NOT_ASKED);
    while (scheduler_step ())
        continue;
    ck_assert_uint_eq (job_world.worked, 3);
    jobs_go_on ();
    step_all ();
    ck_assert_uint_eq (job_world.worked, 6);
    job_world_free ();
}
END_TEST

START_TEST (the_end_stops_jobs_and_lets_none_begin)
{
    job_world_new ();
    job_world.piece = MS;
    job_world.pieces = 1000;
    world_job_begin (50, false, NOT_ASKED);
    step_until_worked (1);
    jobs_wait (&job_world.xl);
    ck_assert_uint_lt (job_world.worked, 1000);
    ck_assert_int_eq (world_job_begin (100, false, NOT_ASKED), -ESHUTDOWN);
    ck_assert_uint_eq (job_world.freed, 2);
    job_world_free ();
}
END_TEST

START_TEST (a_paused_job_goes_on_once_a_request_waits_for_it)
{
    int64_t begun;
    int number;

    job_world_new ();
    begun = clock_now ();
    job_world.piece = SECOND;
    jobs_pause ();
    number = world_job_begin (1, false, NOT_ASKED);
    while (scheduler_step ())
        continue;
    ck_assert_uint_eq (job_world.worked, 0);
    job_owe ((unsigned) number, true);
    step_all ();
    ck_assert_uint_eq (job_world.worked, 3);
    ck_assert_int_lt (clock_now (), begun + 4 * SECOND); /* it has not rested either */
    job_owe ((unsigned) number, true);                   /* it is gone */
    number = world_job_begin (100, true, NOT_ASKED);
    job_owe ((unsigned) number, false);
    while (scheduler_step ())
        continue;
    ck_assert_uint_eq (job_world.worked, 3);
    jobs_go_on ();
    step_all ();
    ck_assert_uint_eq (job_world.worked, 6);
    job_world_free ();
}
END_TEST

/* --- rests of a job for which requests wait --------------------------------------------------- */

static call_stack_t *resting_request; /* waits for the job */

static bool
job_rest_begin (void *data)
{
    ck_assert_uint_eq (stack_count_kept (), 1); /* the job */
    if (job_world.may_rest)
        stack_rest_waits (resting_request, 1);
    return job_world.may_rest;
}

static void
job_rest_end (void *data)
{
    ck_assert_uint_eq (stack_count_kept (), 1);
    stack_rest_waits (resting_request, -1);
}

/* Other threads run meanwhile. */
static void
job_works (void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    const int64_t until = clock_now () + job_world.piece;

    pthread_mutex_lock (&lock);
    while (clock_now () < until)
        (void) thread_cond_wait_until (&never, &lock, until);
    pthread_mutex_unlock (&lock);
}

static int
job_that_rests (struct job *job, void *data)
{
    for (unsigned i = 0; i < job_world.pieces; i++) {
        job_rest (job, &(struct job_rests){ job_rest_begin, job_rest_end, NULL });
        job_works ();
        job_world.worked++;
    }
    return 0;
}

/* A hold can begin while the job rests, and the job works again after the hold. A job that must
 * stop rests, too. */
START_TEST (a_job_rests_in_a_hold_although_requests_wait_for_it)
{
    const struct job_plan plan = { .name = "copy", .run = job_that_rests, .owed = true,
                                   .lasts = true };
    int number;

    job_world_new ();
    job_world.piece = MS;
    job_world.pieces = 10;
    job_world.may_rest = true;
    resting_request = stack_new (&job_world.xl);
    resting_request->about = 7;
    number = job_begin (&job_world.xl, &plan);
    step_until_worked (2);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    for (unsigned hold = 0; hold < 2; hold++) {
        const unsigned before = job_world.worked;

        jobs_pause ();
        ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now () + SECOND));
        while (scheduler_step ())
            continue;
        ck_assert_uint_le (job_world.worked, before + 1);
        ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now ()));
        jobs_go_on ();
        step_until_worked (job_world.worked + 1);
        ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
        ck_assert_int_eq (job_stop ((unsigned) number), -EBUSY);
        jobs_end (&job_world.xl);
    }
    job_world.may_rest = false;
    jobs_pause ();
    step_all ();
    jobs_go_on ();
    ck_assert_uint_eq (job_world.worked, 10);
    stack_done (resting_request);
    job_world_free ();
}
END_TEST

START_TEST (a_job_for_which_requests_wait_keeps_its_graph)
{
    struct graph *const graph = (struct graph *) &job_world; /* only compared */
    const struct job_plan plan = { .name = "copy", .run = world_job_run, .owed = true,
                                   .lasts = true };

    job_world_new ();
    job_world.xl.graph = graph;
    ck_assert (!jobs_are_owed (graph));
    world_job_begin (0, false, NOT_ASKED);
    ck_assert (!jobs_are_owed (graph));
    job_begin (&job_world.xl, &plan);
    ck_assert (jobs_are_owed (graph));
    ck_assert (!jobs_are_owed (NULL));
    step_all ();
    ck_assert (!jobs_are_owed (graph));
    job_world_free ();
}
END_TEST

/* Requests may still come, and rely on it. */
START_TEST (a_lasting_job_begins_until_the_end_has_waited)
{
    const struct job_plan plan = { .name = "work", .run = world_job_run, .lasts = true };

    job_world_new ();
    job_world.ended_at = -1;
    jobs_end (&job_world.xl);
    ck_assert_int_eq (world_job_begin (100, true, NOT_ASKED), -ESHUTDOWN);
    ck_assert_int_gt (job_begin (&job_world.xl, &plan), 0);
    step_all ();
    ck_assert_int_ge (job_world.ended_at, 0); /* it has run, */
    ck_assert_uint_eq (job_world.worked, 0);  /* as one that must stop */
    jobs_wait (&job_world.xl);
    ck_assert_int_eq (job_begin (&job_world.xl, &plan), -ESHUTDOWN);
    job_world_free ();
}
END_TEST

START_TEST (an_answer_outlives_the_translator)
{
    g_autofree char *printed = NULL, *rest = NULL;
    struct job_read read;
    int number;

    job_world_new ();
    job_world.piece = MS;
    job_world.pieces = 1000;
    job_world.printed = "a line\n";
    number = world_job_begin (50, false, 5);
    step_until_worked (1);
    job_world_free ();
    printed = answer_read (number, 5, &read);
    ck_assert (g_str_has_prefix (printed, "a line\n") && !read.ended);
    rest = answer_read (number, 5, &read);
    ck_assert (read.ended);
    ck_assert_int_eq (read.result, -ESHUTDOWN);
    ck_assert_str_eq (read.error, "the graph ends");
    g_free (read.error);
}
END_TEST

START_TEST (an_answer_is_for_its_user_and_for_root)
{
    g_autoptr (GString) text = g_string_new (NULL);
    g_autofree char *mine = NULL, *rest = NULL;
    struct job_read read;
    int number, of_root;

    job_world_new ();
    job_world.printed = "a line\n";
    number = world_job_begin (0, false, 5);
    step_all ();
    of_root = world_job_begin (0, false, 0);
    step_all ();
    ck_assert_int_eq (job_read (number, 6, 100, text, &read), -ENOENT);
    ck_assert_int_eq (job_read (of_root, 5, 100, text, &read), -ENOENT);
    ck_assert_int_eq (job_read (number, 5, 10, text, &read), 0);
    ck_assert_str_eq (text->str, "a line\n"); /* ten bytes end in the second line */
    ck_assert (!read.ended);
    ck_assert_uint_eq (read.total, 3);
    ck_assert_str_eq (read.unit, "pieces");
    mine = answer_read (number, 0, &read);
    ck_assert_str_eq (mine, "a line\na line\n");
    ck_assert (read.ended && read.result == 0);
    ck_assert_int_eq (job_read (number, 0, 100, text, &read), -ENOENT);
    rest = answer_read (of_root, 0, &read);
    ck_assert (read.ended);
    job_world_free ();
}
END_TEST

START_TEST (a_failure_comes_after_all_that_was_printed)
{
    struct job_read read;
    char *text;
    int number;

    job_world_new ();
    job_world.result = -EPERM;
    job_world.printed = "a line\n";
    number = world_job_begin (0, false, 5);
    step_all ();
    text = answer_read (number, 5, &read);
    ck_assert_str_eq (text, "a line\na line\na line\n");
    ck_assert (!read.ended);
    g_free (text);
    text = answer_read (number, 5, &read);
    ck_assert_str_eq (text, "");
    ck_assert (read.ended);
    ck_assert_int_eq (read.result, -EPERM);
    ck_assert_str_eq (read.error, "piece 3 is not allowed");
    g_free (read.error);
    g_free (text);
    job_world_free ();
}
END_TEST

START_TEST (a_user_has_few_jobs_and_an_unread_answer_is_dropped_after_a_minute)
{
    struct job_read read;
    int first;

    job_world_new ();
    first = world_job_begin (0, false, 5);
    for (unsigned i = 1; i < 4; i++)
        ck_assert_int_gt (world_job_begin (0, false, 5), 0);
    ck_assert_int_eq (world_job_begin (0, false, 5), -EAGAIN);
    ck_assert_int_gt (world_job_begin (0, false, 6), 0);
    ck_assert_int_gt (world_job_begin (0, false, NOT_ASKED), 0);
    step_all ();
    g_free (answer_read (first, 5, &read));
    ck_assert (read.ended);
    ck_assert_int_gt (world_job_begin (0, false, 5), 0);
    ck_assert_int_eq (world_job_begin (0, false, 5), -EAGAIN);
    step_all ();
    scheduler_pass (61 * SECOND);
    ck_assert_int_gt (world_job_begin (0, false, 5), 0);
    step_all ();
    job_world_free ();
}
END_TEST

START_TEST (many_users_leave_room_for_root)
{
    unsigned begun = 0;

    job_world_new ();
    for (uid_t uid = 1; uid < 100; uid++)
        begun += world_job_begin (0, false, uid) > 0;
    ck_assert_uint_eq (begun, 32);
    for (unsigned i = 0; i < 100; i++)
        begun += world_job_begin (0, false, 0) > 0;
    ck_assert_uint_eq (begun, 64);
    step_all ();
    job_world_free ();
}
END_TEST

START_TEST (a_job_waits_for_a_slow_reader_and_stops_for_one_that_is_gone)
{
    g_autofree char *line = g_strnfill (1 << 20, 'x');
    struct job_read read;
    int number;

    job_world_new ();
    job_world.printed = line;
    job_world.pieces = 10;
    number = world_job_begin (0, false, 5);
    step_until_worked (2);
    ck_assert_uint_eq (job_world.worked, 2); /* a piece more than a MiB of unread text */
    g_free (answer_read (number, 5, &read));
    ck_assert (!read.ended);
    step_until_worked (3);
    step_all ();
    ck_assert_uint_eq (job_world.worked, 3);
    g_free (answer_read (number, 5, &read));
    ck_assert (read.ended);
    ck_assert_int_eq (read.result, -EINTR);
    g_free (read.error);
    job_world_free ();
}
END_TEST

START_TEST (reports_have_a_line_for_each_job)
{
    g_autoptr (GString) text = g_string_new (NULL), json = g_string_new (NULL);
    int number;

    job_world_new ();
    job_world.piece = SECOND;
    number = world_job_begin (50, false, NOT_ASKED);
    step_until_worked (1);
    jobs_list (text);
    jobs_list_json (json);
    ck_assert_msg (strstr (text->str, "work '/a\\x0ab' in 'one', for 1.0 s, ")
                       && strstr (text->str, " of 3 pieces, pace 50 %; "),
                   "%s", text->str);
    ck_assert_msg (strstr (json->str, "\"name\": \"work\", \"about\": \"/a\\nb\"")
                       && strstr (json->str, "\"total\": 3, \"unit\": \"pieces\""),
                   "%s", json->str);
    ck_assert_int_eq (job_stop (number), 0);
    step_all ();
    job_world_free ();
}
END_TEST

TEST_PROGRAM (test_jobs)
{
    Suite *suite = suite_create ("jobs");
    TCase *tcase = tcase_create ("jobs");

    tcase_add_test (tcase, a_job_runs_once_and_frees_its_data);
    tcase_add_test (tcase, a_pace_is_the_share_of_the_time_for_which_a_job_works);
    tcase_add_test (tcase, a_stop_ends_a_job_also_while_it_rests);
    tcase_add_test (tcase, a_hold_pauses_a_job_and_it_goes_on_where_it_was);
    tcase_add_test (tcase, a_job_that_begins_under_a_hold_waits_unless_a_request_needs_it);
    tcase_add_test (tcase, the_end_stops_jobs_and_lets_none_begin);
    tcase_add_test (tcase, a_paused_job_goes_on_once_a_request_waits_for_it);
    tcase_add_test (tcase, a_job_rests_in_a_hold_although_requests_wait_for_it);
    tcase_add_test (tcase, a_job_for_which_requests_wait_keeps_its_graph);
    tcase_add_test (tcase, a_lasting_job_begins_until_the_end_has_waited);
    tcase_add_test (tcase, an_answer_outlives_the_translator);
    tcase_add_test (tcase, an_answer_is_for_its_user_and_for_root);
    tcase_add_test (tcase, a_failure_comes_after_all_that_was_printed);
    tcase_add_test (tcase, a_user_has_few_jobs_and_an_unread_answer_is_dropped_after_a_minute);
    tcase_add_test (tcase, many_users_leave_room_for_root);
    tcase_add_test (tcase, a_job_waits_for_a_slow_reader_and_stops_for_one_that_is_gone);
    tcase_add_test (tcase, reports_have_a_line_for_each_job);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

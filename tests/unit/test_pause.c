/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* Pauses (core/work/pause.h) of a graph without a bridge: what is awaited, what is held back, and
 * what comes afterwards. */
#include "core/edge/stack.h"
#include "core/edge/stub.h"
#include "core/time/clock.h"
#include "core/time/thread.h"
#include "mock.h"

#include "../program.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CALLERS 3
#define MS INT64_C (1000000)

static struct pause_world {
    xlator_t leaf, asker, top;
    struct client *client;
    unsigned holding, over, told; /* events that top has got: atomic */
    bool told_in_hold;            /* an invalidation came while calls were held */
    bool stop;                    /* the callers end; atomic */
    unsigned calls;               /* that leaf has got; atomic */
    unsigned runs;                /* calls of the paused function */
    int result;                   /* of that function */
} pause_world;

static void
top_notify (xlator_t *this, enum xlator_event event, void *data)
{
    pause_world.holding += event == XLATOR_HOLDING;
    pause_world.over += event == XLATOR_HOLD_OVER;
    if (event == XLATOR_INVALIDATE) {
        pause_world.told++;
        pause_world.told_in_hold |= sync_is_held ();
    }
    xlator_pass_on (this, event, data);
}

static void
counting_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    __atomic_add_fetch (&pause_world.calls, 1, __ATOMIC_SEQ_CST);
    mock_leaf_stat (frame, this, loc, xdata);
}

static const struct xlator_api counting_api = {
    .type = "test/counting", .fops = { .stat = counting_stat }
};

static const struct xlator_api top_api = {
    .type = "test/top", .notify = top_notify, .fops = { .stat = mock_pass_stat }
};

static void
pause_world_new (void)
{
    memset (&pause_world, 0, sizeof pause_world);
    mock_xlator (&pause_world.leaf, "leaf", &counting_api, NULL);
    mock_xlator (&pause_world.asker, "asker", &mock_pass_api, &pause_world.leaf);
    mock_xlator (&pause_world.top, "top", &top_api, &pause_world.asker);
    pause_world.client = client_new (&pause_world.top);
    jobs_init (&pause_world.asker);
}

static void
pause_world_free (void)
{
    jobs_fini (&pause_world.asker);
    client_free (pause_world.client);
    mock_free (&pause_world.top);
    mock_free (&pause_world.asker);
    mock_free (&pause_world.leaf);
    ck_assert_uint_eq (stack_count (), 0);
    ck_assert_uint_eq (stack_count_kept (), 0);
}

static int
run_counted (struct pause *pause, void *data)
{
    pause_world.runs++;
    return pause_world.result;
}

static int
pause_for (xlator_t *asker, int64_t patience, struct job *job)
{
    struct pause pause = { .run = run_counted, .job = job, .patience = patience };
    const int r = pause_run (asker, &pause);

    ck_assert_int_eq (pause.hindrance != NULL, r == -EAGAIN);
    pause_clear (&pause);
    return r;
}

/* --- callers ---------------------------------------------------------------------------------- */

static void
stat_once (struct client *client)
{
    inode_t inode = { .refs = 1 };
    loc_t loc = { .inode = &inode };

    ck_assert_int_eq (sync_stat (client, &loc, NULL, NULL), 0);
}

static void *
pause_caller_run (void *data)
{
    struct client *client = client_new (&pause_world.top);

    while (!__atomic_load_n (&pause_world.stop, __ATOMIC_ACQUIRE))
        stat_once (client);
    client_free (client);
    return NULL;
}

static unsigned
calls_made (void)
{
    return __atomic_load_n (&pause_world.calls, __ATOMIC_SEQ_CST);
}

static int
run_alone (struct pause *pause, void *data)
{
    const unsigned before = calls_made ();

    g_usleep (5000);
    ck_assert_uint_eq (calls_made (), before);
    pause_world.runs++;
    return 0;
}

static void
wait_for_calls (unsigned n)
{
    while (calls_made () < n)
        g_usleep (100);
}

START_TEST (no_call_is_under_way_in_a_pause_and_all_go_on_afterwards)
{
    pthread_t threads[CALLERS];

    pause_world_new ();
    for (unsigned i = 0; i < CALLERS; i++)
        ck_assert (!thread_new (&threads[i], "caller", pause_caller_run, NULL));
    for (unsigned i = 0; i < 20; i++) {
        struct pause pause = { .run = run_alone };

        wait_for_calls (calls_made () + 10);
        ck_assert_int_eq (pause_run (&pause_world.asker, &pause), 0);
        ck_assert_int_ge (pause.held, 5 * MS);
        pause_clear (&pause);
    }
    wait_for_calls (calls_made () + 10);
    __atomic_store_n (&pause_world.stop, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < CALLERS; i++)
        thread_join (threads[i]);
    ck_assert_uint_eq (pause_world.runs, 20);
    ck_assert_uint_eq (pause_world.holding, 20);
    ck_assert_uint_eq (pause_world.over, 20);
    pause_world_free ();
}
END_TEST

/* --- what is awaited -------------------------------------------------------------------------- */

START_TEST (a_request_under_way_fails_the_pause_and_nothing_runs)
{
    call_stack_t *root;

    pause_world_new ();
    root = stack_new (&pause_world.client->xlator);
    ck_assert_int_eq (pause_for (&pause_world.asker, 10 * MS, NULL), -EAGAIN);
    ck_assert_uint_eq (pause_world.runs, 0);
    ck_assert_uint_eq (pause_world.over, 1);
    ck_assert (!sync_is_held ());
    stack_done (root);
    ck_assert_int_eq (pause_for (&pause_world.asker, 10 * MS, NULL), 0);
    pause_world_free ();
}
END_TEST

/* A request whose call `keeper` has set aside. */
static call_stub_t *
kept_stub (xlator_t *keeper)
{
    loc_t loc = { 0 };

    return fop_stat_stub (&stack_new (keeper)->frames[0], mock_pass_stat, &loc, NULL);
}

static void
stub_end (call_stub_t *stub)
{
    call_stack_t *root = call_stub_frame (stub)->root;

    call_stub_destroy (stub);
    stack_done (root);
}

START_TEST (what_the_asker_keeps_does_not_count_and_what_others_keep_does)
{
    call_stub_t *own, *other;

    pause_world_new ();
    own = kept_stub (&pause_world.asker);
    ck_assert_int_eq (pause_for (&pause_world.asker, 10 * MS, NULL), 0);
    ck_assert_int_eq (pause_for (&pause_world.leaf, 10 * MS, NULL), -EAGAIN);
    other = kept_stub (&pause_world.top);
    ck_assert_int_eq (pause_for (&pause_world.asker, 10 * MS, NULL), -EAGAIN);
    stub_end (other);
    ck_assert_int_eq (pause_for (&pause_world.asker, 10 * MS, NULL), 0);
    stub_end (own);
    ck_assert_int_eq (pause_for (&pause_world.leaf, 10 * MS, NULL), 0);
    pause_world_free ();
}
END_TEST

static bool resumed_counts;

static void
resumed_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    resumed_counts = pause_for (this, 10 * MS, NULL) == -EAGAIN;
}

START_TEST (a_call_that_the_asker_resumes_counts_again)
{
    call_stack_t *root;
    loc_t loc = { 0 };

    pause_world_new ();
    root = stack_new (&pause_world.asker);
    call_resume (fop_stat_stub (&root->frames[0], resumed_stat, &loc, NULL));
    stack_done (root);
    ck_assert (resumed_counts);
    pause_world_free ();
}
END_TEST

START_TEST (a_wait_for_a_lock_of_the_caller_does_not_count)
{
    call_stack_t *root;

    pause_world_new ();
    root = stack_new (&pause_world.client->xlator);
    stack_lock_waits (root, 1);
    ck_assert_int_eq (pause_for (&pause_world.asker, 10 * MS, NULL), 0);
    stack_lock_waits (root, -1);
    stack_done (root);
    pause_world_free ();
}
END_TEST

/* --- the function ----------------------------------------------------------------------------- */

static int
run_with_calls (struct pause *pause, void *data)
{
    struct client *internal = client_new_internal (&pause_world.asker, &pause_world.leaf);

    stat_once (internal);
    stat_once (pause_world.client);
    client_free (internal);
    pause_invalidate (pause, &(struct invalidation){ .what = INVALIDATE_ALL });
    pause_invalidate (pause, &(struct invalidation){ .what = INVALIDATE_ALL, .name = "gone" });
    pause_world.runs++;
    return -ENOSPC;
}

START_TEST (the_function_may_make_calls_and_invalidations_come_afterwards)
{
    struct pause pause = { .run = run_with_calls };

    pause_world_new ();
    ck_assert_int_eq (pause_run (&pause_world.asker, &pause), -ENOSPC);
    ck_assert_uint_eq (pause_world.runs, 1);
    ck_assert_uint_eq (pause_world.told, 2);
    ck_assert (!pause_world.told_in_hold);
    ck_assert_ptr_null (pause.hindrance);
    pause_clear (&pause);
    pause_world_free ();
}
END_TEST

/* --- jobs ------------------------------------------------------------------------------------- */

static int
job_that_pauses (struct job *job, void *data)
{
    return pause_for (&pause_world.asker, 10000 * MS, job);
}

static int
job_that_calls (struct job *job, void *data)
{
    while (job_next (job))
        stat_once (pause_world.client);
    return -EINTR;
}

/* A job that works makes its calls to the end of a piece, even if a hold has begun. */
/* As overlay does: the call of a caller goes on with a client of its own. */
static void
client_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct client *client = client_new (FIRST_CHILD (this));
    struct iatt buf = { .ia_size = 1 };

    stat_once (client);
    client_free (client);
    STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
}

static const struct xlator_api client_stat_api = {
    .type = "test/client-stat", .fops = { .stat = client_stat }
};

START_TEST (a_client_below_the_top_is_not_held_up)
{
    pthread_t thread;

    pause_world_new ();
    pause_world.asker.api = &client_stat_api;
    xlator_route (&pause_world.asker);
    xlator_route (&pause_world.top);
    ck_assert (!thread_new (&thread, "caller", pause_caller_run, NULL));
    for (unsigned i = 0; i < 50; i++) {
        wait_for_calls (calls_made () + 3);
        ck_assert_int_eq (pause_for (&pause_world.asker, 10000 * MS, NULL), 0);
    }
    __atomic_store_n (&pause_world.stop, true, __ATOMIC_RELEASE);
    thread_join (thread);
    pause_world_free ();
}
END_TEST

START_TEST (a_job_pauses_the_graph_and_other_jobs_end_their_piece)
{
    int number;

    pause_world_new ();
    number = job_begin (&pause_world.asker,
                        &(struct job_plan){ .name = "call", .run = job_that_calls });
    ck_assert_int_gt (number, 0);
    for (unsigned i = 0; i < 20; i++) {
        wait_for_calls (calls_made () + 10);
        ck_assert_int_gt (job_begin (&pause_world.asker, &(struct job_plan){
                                                             .name = "pause",
                                                             .run = job_that_pauses }), 0);
        while (jobs_count () > 1)
            g_usleep (100);
    }
    ck_assert_uint_eq (pause_world.runs, 20);
    ck_assert_int_eq (job_stop ((unsigned) number), 0);
    while (jobs_count () > 0)
        g_usleep (100);
    pause_world_free ();
}
END_TEST

TEST_PROGRAM (test_pause)
{
    Suite *suite = suite_create ("pause");
    TCase *tcase = tcase_create ("pause");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, no_call_is_under_way_in_a_pause_and_all_go_on_afterwards);
    tcase_add_test (tcase, a_request_under_way_fails_the_pause_and_nothing_runs);
    tcase_add_test (tcase, what_the_asker_keeps_does_not_count_and_what_others_keep_does);
    tcase_add_test (tcase, a_call_that_the_asker_resumes_counts_again);
    tcase_add_test (tcase, a_wait_for_a_lock_of_the_caller_does_not_count);
    tcase_add_test (tcase, the_function_may_make_calls_and_invalidations_come_afterwards);
    tcase_add_test (tcase, a_client_below_the_top_is_not_held_up);
    tcase_add_test (tcase, a_job_pauses_the_graph_and_other_jobs_end_their_piece);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* The end of the last request wakes a thread that waits for it. */
#include "core/edge/stack.h"
#include "core/time/clock.h"
#include "mock.h"

#include "../program.h"
#include <sched.h>

#define ENDS 1000

static xlator_t waiting_leaf;

static const struct xlator_api leaf_of_requests = { .type = "test/leaf" };

/* Ends requests, and calls that are set aside, on another thread. */
struct ender {
    call_stack_t *root; /* the request to end next, or NULL; atomic */
    bool keeps;         /* ends a call that is set aside after each */
};

static void *
ender_run (void *data)
{
    struct ender *ender = data;
    call_stack_t *root;

    for (unsigned i = 0; i < ENDS; i++) {
        while (!(root = __atomic_exchange_n (&ender->root, NULL, __ATOMIC_ACQ_REL)))
            sched_yield ();
        for (volatile unsigned spin = 0; spin < i % 64 * 8; spin++)
            continue;
        stack_done (root);
        if (ender->keeps)
            stack_keep (NULL, -1);
    }
    return NULL;
}

START_TEST (the_end_of_the_last_request_wakes_who_waits_for_it)
{
    const int64_t patience = 30LL * 1000000000;
    struct ender ender = { .keeps = _i };
    pthread_t thread;

    mock_xlator (&waiting_leaf, "leaf", &leaf_of_requests, NULL);
    ck_assert (!pthread_create (&thread, NULL, ender_run, &ender));
    for (unsigned i = 0; i < ENDS; i++) {
        const int64_t since = clock_now ();

        if (ender.keeps)
            stack_keep (NULL, 1);
        __atomic_store_n (&ender.root, stack_new (&waiting_leaf), __ATOMIC_RELEASE);
        ck_assert (stack_wait_for_end (ender.keeps ? STACKS_IDLE : STACKS_ANSWERED,
                                       since + patience));
        ck_assert_int_lt (clock_now () - since, patience / 2);
    }
    pthread_join (thread, NULL);
    mock_free (&waiting_leaf);
}
END_TEST

START_TEST (who_waits_for_the_end_of_all_requests_waits_until_a_time)
{
    call_stack_t *root;

    mock_xlator (&waiting_leaf, "leaf", &leaf_of_requests, NULL);
    root = stack_new (&waiting_leaf);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now () + 1000000));
    stack_keep (NULL, 1);
    stack_done (root);
    ck_assert (stack_wait_for_end (STACKS_ANSWERED, clock_now () + 1000000));
    ck_assert (!stack_wait_for_end (STACKS_IDLE, clock_now () + 1000000));
    stack_keep (NULL, -1);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now ()));
    mock_free (&waiting_leaf);
}
END_TEST

/* A request that waits for a lock of its caller, and the calls that are kept for it, hinder no
 * move. */
START_TEST (only_the_last_level_waits_for_requests_that_wait_for_locks)
{
    call_stack_t *waiter, *other;

    mock_xlator (&waiting_leaf, "leaf", &leaf_of_requests, NULL);
    waiter = stack_new (&waiting_leaf);
    stack_keep (waiter, 1);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    stack_lock_waits (waiter, 1);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now ()));
    ck_assert (!stack_wait_for_end (STACKS_GONE, clock_now ()));
    other = stack_new (&waiting_leaf);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    stack_keep (other, 1);
    stack_done (other);
    ck_assert (stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    ck_assert (!stack_wait_for_end (STACKS_IDLE, clock_now ()));
    stack_keep (other, -1);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now ()));
    stack_lock_waits (waiter, -1);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    stack_keep (waiter, -1);
    stack_done (waiter);
    ck_assert (stack_wait_for_end (STACKS_GONE, clock_now ()));
    mock_free (&waiting_leaf);
}
END_TEST

static call_stack_t *
waiting_request (enum fop op, uint64_t about)
{
    call_stack_t *root = stack_new (&waiting_leaf);

    root->op = op;
    root->about = about;
    return root;
}

/* Other requests about the same inode stay with it, but for OPS_NEVER_REST. */
START_TEST (a_hold_leaves_out_requests_about_an_inode_whose_job_rests)
{
    static const enum fop not_left_out[] = { FOP_link, FOP_open, FOP_copy_file_range, FOP_flush };
    call_stack_t *waiter, *other, *named;

    mock_xlator (&waiting_leaf, "leaf", &leaf_of_requests, NULL);
    waiter = waiting_request (FOP_writev, 7);
    other = waiting_request (FOP_flush, 7);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    stack_rest_waits (waiter, 1);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now ()));
    ck_assert (stack_wait_for_others (STACKS_IDLE, &waiting_leaf, clock_now ()));
    ck_assert (!stack_wait_for_end (STACKS_GONE, clock_now ()));
    for (unsigned i = 0; i < G_N_ELEMENTS (not_left_out); i++) {
        named = waiting_request (not_left_out[i], not_left_out[i] == FOP_flush ? 8 : 7);
        ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
        stack_done (named);
    }
    stack_keep (NULL, 1); /* a job works, which may be that one */
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    stack_keep (NULL, -1);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now ()));
    stack_rest_waits (waiter, -1);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    stack_done (waiter);
    stack_done (other);
    mock_free (&waiting_leaf);
}
END_TEST

TEST_PROGRAM (test_wait_for_end)
{
    Suite *suite = suite_create ("wait for end");
    TCase *tcase = tcase_create ("wait for end");

    tcase_set_timeout (tcase, 120);
    tcase_add_loop_test (tcase, the_end_of_the_last_request_wakes_who_waits_for_it, 0, 2);
    tcase_add_test (tcase, who_waits_for_the_end_of_all_requests_waits_until_a_time);
    tcase_add_test (tcase, only_the_last_level_waits_for_requests_that_wait_for_locks);
    tcase_add_test (tcase, a_hold_leaves_out_requests_about_an_inode_whose_job_rests);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

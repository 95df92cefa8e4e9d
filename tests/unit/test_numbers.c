/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug valgrind */
/* Counts of each translator and operation: calls, errors, own time and time of children; also with
 * tail winds and fan-out. */
#include "core/edge/stack.h"
#include "mock.h"
#include "trace/metrics/numbers.h"

#include "../program.h"
#include <unistd.h>

#define MS 1000000ull

/* --- translators: two that keep calls, fan-out; of mock.h: leaf of 2 ms, pass on after 1 ms, hand
 * on --- */

/* Keeps calls until there are two, waits, and answers both. */
static call_frame_t *waiting;

static void
numbers_both_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    call_frame_t *first = waiting;

    waiting = frame;
    if (!first)
        return;
    waiting = NULL;
    g_usleep (100000);
    STACK_UNWIND (stat, first, 0, 0, NULL, NULL);
    STACK_UNWIND (stat, frame, 0, 0, NULL, NULL);
}

static const struct xlator_api numbers_both_api = { .type = "test/both",
                                                    .fops = { .stat = numbers_both_stat } };

static stat_cbk numbers_fan_stat_cbk;

static void
numbers_fan_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    frame_local_new (frame, sizeof (int));
    STACK_WIND (frame, numbers_fan_stat_cbk, FIRST_CHILD (this), stat, loc, NULL);
    STACK_WIND (frame, numbers_fan_stat_cbk, FIRST_CHILD (this), stat, loc, NULL);
}

static void
numbers_fan_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno,
                      struct iatt *buf, dict_t *xdata)
{
    int *answers = frame->local;

    if (++*answers == 2)
        STACK_UNWIND (stat, frame, 0, 0, NULL, NULL);
}

static const struct xlator_api numbers_fan_api = { .type = "test/fan",
                                                   .fops = { .stat = numbers_fan_stat } };

struct stack {
    xlator_t leaf, upper;
    GPtrArray *all;
    struct client *client;
};

static struct stack *
numbers_stack_of (const struct xlator_api *upper, const struct xlator_api *leaf)
{
    struct stack *s = g_new0 (struct stack, 1);

    mock_xlator (&s->leaf, "leaf", leaf, NULL);
    s->client = client_new (mock_xlator (&s->upper, "upper", upper, &s->leaf));
    s->all = g_ptr_array_new ();
    g_ptr_array_add (s->all, &s->upper);
    g_ptr_array_add (s->all, &s->leaf);
    mock_leaf_errno = 0;
    mock_leaf_nap = 2000;
    mock_pass_nap = 1000;
    return s;
}

static void
numbers_stack_free (struct stack *s)
{
    numbers_set (s->all, NUMBERS_SET, false);
    numbers_free (s->all);
    client_free (s->client);
    g_ptr_array_unref (s->all);
    mock_free (&s->leaf);
    mock_free (&s->upper);
    g_free (s);
}

static int
numbers_ask (struct stack *s)
{
    loc_t loc = { 0 };

    return sync_stat (s->client, &loc, NULL, NULL);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST (own_time_is_the_whole_without_the_children)
{
    struct stack *s = numbers_stack_of (&mock_pass_api, &mock_leaf_api);
    struct numbers_sum upper, leaf;

    numbers_set (s->all, NUMBERS_SET, true);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq (numbers_ask (s), 0);
    ck_assert (numbers_sum (&s->upper, FOP_stat, &upper));
    ck_assert (numbers_sum (&s->leaf, FOP_stat, &leaf));
    ck_assert_uint_eq (upper.count, 3);
    ck_assert_uint_eq (leaf.count, 3);
    ck_assert_uint_ge (leaf.sum, 6 * MS);
    ck_assert_uint_eq (leaf.own, leaf.sum);
    ck_assert_uint_eq (leaf.below, 0);
    ck_assert_uint_ge (upper.own, 3 * MS);
    ck_assert_uint_eq (upper.own + upper.below, upper.sum);
    ck_assert_uint_ge (upper.below + 3, leaf.sum); /* each rounded down */
    ck_assert_uint_le (upper.below, leaf.sum + 3);
    ck_assert_uint_ge (leaf.min, 2 * MS);
    ck_assert_uint_ge (leaf.max, leaf.min);
    ck_assert (!numbers_sum (&s->leaf, FOP_writev, &leaf));
    numbers_stack_free (s);
}
END_TEST

START_TEST (who_hands_on_spends_no_time_of_its_own)
{
    struct stack *s = numbers_stack_of (&mock_tail_api, &mock_leaf_api);
    struct numbers_sum upper;

    numbers_set (s->all, NUMBERS_SET, true);
    mock_leaf_nap = 200000; /* much more than code takes on its first run, also under valgrind */
    ck_assert_int_eq (numbers_ask (s), 0);
    mock_leaf_nap = 2000;
    ck_assert (numbers_sum (&s->upper, FOP_stat, &upper));
    ck_assert_uint_ge (upper.below, 199980000); /* in the first second a tick is known to a
                                                   ten-thousandth */
    ck_assert_uint_lt (upper.own, upper.below / 2);
    numbers_stack_free (s);
}
END_TEST

/* Two parallel children of 100 ms each are 200 ms within 100 ms: the own time of the translator is
 * 0, not negative. */
START_TEST (children_side_by_side_never_make_it_less_than_nothing)
{
    struct stack *s = numbers_stack_of (&numbers_fan_api, &numbers_both_api);
    struct numbers_sum upper, leaf;

    numbers_set (s->all, NUMBERS_SET, true);
    ck_assert_int_eq (numbers_ask (s), 0);
    ck_assert (numbers_sum (&s->upper, FOP_stat, &upper));
    ck_assert (numbers_sum (&s->leaf, FOP_stat, &leaf));
    ck_assert_uint_eq (upper.count, 1);
    ck_assert_uint_eq (leaf.count, 2);
    ck_assert_uint_gt (leaf.sum, upper.sum);
    ck_assert_uint_eq (upper.own, 0);
    ck_assert_uint_eq (upper.below, upper.sum);
    numbers_stack_free (s);
}
END_TEST

START_TEST (errors_are_told_apart)
{
    struct stack *s = numbers_stack_of (&mock_pass_api, &mock_leaf_api);
    struct fop_numbers numbers = { 0 };
    uint64_t all = 0;

    numbers_set (s->all, NUMBERS_SET, true);
    ck_assert_int_eq (numbers_ask (s), 0);
    for (mock_leaf_errno = 1; mock_leaf_errno <= NUMBERS_ERRORS + 2; mock_leaf_errno++)
        ck_assert_int_eq (numbers_ask (s), -mock_leaf_errno);
    ck_assert (numbers_add (&s->leaf, FOP_stat, &numbers));
    ck_assert_uint_eq (numbers.count, NUMBERS_ERRORS + 3);
    ck_assert_uint_eq (numbers.failed, NUMBERS_ERRORS + 2);
    ck_assert_int_eq (numbers.errors[0].op_errno, 1);
    ck_assert_uint_eq (numbers.errors[0].count, 1);
    ck_assert_int_eq (numbers.errors[NUMBERS_ERRORS].op_errno, 0);
    for (unsigned i = 0; i <= NUMBERS_ERRORS; i++)
        all += numbers.errors[i].count;
    ck_assert_uint_eq (all, numbers.failed);
    numbers_clear (&numbers);
    numbers_stack_free (s);
}
END_TEST

/* Two users can turn measuring on; the counts remain. */
START_TEST (it_is_on_as_long_as_anybody_wants_it)
{
    struct stack *s = numbers_stack_of (&mock_pass_api, &mock_leaf_api);
    struct numbers_sum sum;

    ck_assert (!numbers_on (s->all));
    numbers_set (s->all, NUMBERS_SET, true);
    numbers_set (s->all, NUMBERS_LEASED, true);
    numbers_set (s->all, NUMBERS_LEASED, false);
    ck_assert (numbers_on (s->all));
    ck_assert (!numbers_set_for (s->all, NUMBERS_LEASED));
    ck_assert_int_eq (numbers_ask (s), 0);
    numbers_set (s->all, NUMBERS_SET, false);
    ck_assert (!numbers_on (s->all));
    ck_assert_int_eq (numbers_ask (s), 0);
    ck_assert_ptr_eq (s->upper.routes.stat.call, mock_pass_stat); /* no user in between */
    ck_assert (numbers_sum (&s->upper, FOP_stat, &sum));
    ck_assert_uint_eq (sum.count, 1);
    numbers_set (s->all, NUMBERS_SET, true);
    ck_assert_int_eq (numbers_ask (s), 0);
    ck_assert (numbers_sum (&s->upper, FOP_stat, &sum));
    ck_assert_uint_eq (sum.count, 2);
    numbers_stack_free (s);
}
END_TEST

#define THREADS (NUMBERS_SHARDS + 4) /* some have to share */

/* A synchronous call waits on its thread; the leaf answers on the same thread. */
static void *
ask_often (void *data)
{
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq (numbers_ask (data), 0);
    return NULL;
}

START_TEST (numbers_threads_lose_nothing)
{
    struct stack *s = numbers_stack_of (&mock_tail_api, &mock_leaf_api);
    pthread_t threads[THREADS];
    struct numbers_sum sum;

    numbers_set (s->all, NUMBERS_SET, true);
    for (int round = 0; round < 3; round++) { /* those of a later round get what the earlier ones
                                                 gave back */
        for (int i = 0; i < THREADS; i++)
            pthread_create (&threads[i], NULL, ask_often, s);
        for (int i = 0; i < THREADS; i++)
            pthread_join (threads[i], NULL);
    }
    ck_assert (numbers_sum (&s->leaf, FOP_stat, &sum));
    ck_assert_uint_eq (sum.count, 3 * 5 * THREADS);
    ck_assert (numbers_sum (&s->upper, FOP_stat, &sum));
    ck_assert_uint_eq (sum.count, 3 * 5 * THREADS);
    numbers_stack_free (s);
}
END_TEST

static bool enough; /* atomic */

static void *
ask_on_and_on (void *data)
{
    uintptr_t asked = 0;

    for (; !__atomic_load_n (&enough, __ATOMIC_RELAXED); asked++)
        ck_assert_int_eq (numbers_ask (data), 0);
    return (void *) asked;
}

static void
quick_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_UNWIND (stat, frame, 0, 0, NULL, NULL);
}

static const struct xlator_api quick_api = { .type = "test/quick", .fops = { .stat = quick_stat } };

/* Each call is answered, and none counts more than once. */
START_TEST (a_thousand_times_on_and_off_under_load)
{
    struct stack *s = numbers_stack_of (&mock_tail_api, &quick_api);
    pthread_t threads[3];
    uint64_t asked = 0;
    struct numbers_sum upper, leaf;

    enough = false;
    for (int i = 0; i < 3; i++)
        pthread_create (&threads[i], NULL, ask_on_and_on, s);
    for (int i = 0; i < 1000; i++) {
        numbers_set (s->all, NUMBERS_SET, true);
        if (i % 10 == 0)
            g_usleep (100);
        numbers_set (s->all, NUMBERS_SET, false);
    }
    numbers_set (s->all, NUMBERS_SET, true);
    g_usleep (20000);
    __atomic_store_n (&enough, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++) {
        void *result;

        pthread_join (threads[i], &result);
        asked += (uintptr_t) result;
    }
    ck_assert (numbers_sum (&s->leaf, FOP_stat, &leaf));
    ck_assert (numbers_sum (&s->upper, FOP_stat, &upper));
    ck_assert_uint_le (leaf.count, asked);
    ck_assert_uint_le (upper.count, asked);
    numbers_stack_free (s);
}
END_TEST

TEST_PROGRAM (test_numbers)
{
    Suite *suite = suite_create ("numbers");
    TCase *tests = tcase_create ("numbers");

    if (!g_getenv ("RUN")) { /* under valgrind, times mean nothing */
        tcase_add_test (tests, own_time_is_the_whole_without_the_children);
        tcase_add_test (tests, who_hands_on_spends_no_time_of_its_own);
        tcase_add_test (tests, children_side_by_side_never_make_it_less_than_nothing);
    }
    tcase_add_test (tests, errors_are_told_apart);
    tcase_add_test (tests, it_is_on_as_long_as_anybody_wants_it);
    tcase_add_test (tests, numbers_threads_lose_nothing);
    tcase_add_test (tests, a_thousand_times_on_and_off_under_load);
    suite_add_tcase (suite, tests);
    return suite_run (suite);
}

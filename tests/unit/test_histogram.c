/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* Histograms: their error relative to exact values; several threads; reading loses nothing. */
#include "core/base/histogram.h"

#include "../program.h"
#include <math.h>
#include <pthread.h>

#define VALUES 20000
#define ERROR 0.0625

static int
by_value (const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return (x > y) - (x < y);
}

/* Values spread over the given number of powers of two; the same in each run. */
static void
make_values (uint64_t *values, unsigned powers)
{
    GRand *random = g_rand_new_with_seed (powers + 1);

    for (unsigned i = 0; i < VALUES; i++)
        values[i] = (uint64_t) pow (2, g_rand_double_range (random, 0, powers));
    g_rand_free (random);
}

START_TEST (a_quantile_is_off_by_six_percent_at_most)
{
    static const double quantiles[] = { 0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };
    g_autofree uint64_t *values = g_new (uint64_t, VALUES);
    struct histogram histogram = { 0 };

    make_values (values, 1 + 6 * _i);
    for (unsigned i = 0; i < VALUES; i++)
        histogram_add (&histogram, values[i]);
    qsort (values, VALUES, sizeof *values, by_value);
    for (unsigned i = 0; i < G_N_ELEMENTS (quantiles); i++) {
        const double exact = values[(unsigned) MAX (ceil (quantiles[i] * VALUES) - 1, 0)];
        const double got = histogram_quantile (&histogram, quantiles[i]);

        ck_assert_msg (fabs (got - exact) <= exact * ERROR, "%g: %g is not about %g", quantiles[i],
                       got, exact);
    }
    ck_assert_uint_eq (histogram_min (&histogram), values[0]);
    ck_assert_uint_eq (histogram_max (&histogram), values[VALUES - 1]);
    ck_assert_uint_eq (histogram_count (&histogram), VALUES);
    histogram_clear (&histogram);
}
END_TEST

/* Each bucket begins at the end of the one before, and contains the right values. */
START_TEST (buckets_leave_no_gap)
{
    uint64_t expected = 0;

    for (unsigned index = 0; index < HISTOGRAM_ROWS * HISTOGRAM_COLUMNS; index++) {
        struct histogram histogram = { 0 };
        struct histogram_bucket bucket;
        unsigned position = 0;

        ck_assert_uint_eq (histogram_index (expected), index);
        histogram_add (&histogram, expected);
        ck_assert (histogram_next (&histogram, &position, &bucket));
        ck_assert_uint_eq (bucket.low, expected);
        ck_assert_uint_eq (bucket.count, 1);
        ck_assert (index < 16 ? bucket.high == bucket.low
                              : (double) (bucket.high - bucket.low) <= bucket.low * ERROR
                                    || bucket.high == UINT64_MAX);
        ck_assert_uint_eq (histogram_count_to (&histogram, bucket.high), 1);
        ck_assert_uint_eq (histogram_count_to (&histogram, bucket.low - (bucket.low > 0)),
                           bucket.low == 0);
        ck_assert (!histogram_next (&histogram, &position, &bucket));
        expected = bucket.high + 1;
        histogram_clear (&histogram);
    }
    ck_assert_uint_eq (expected, 0); /* the last bucket ended with UINT64_MAX */
}
END_TEST

START_TEST (what_is_too_large_counts_in_the_last_bucket)
{
    struct histogram histogram = { 0 };

    histogram_add (&histogram, UINT64_MAX);
    histogram_add (&histogram, 0);
    ck_assert_uint_eq (histogram_count (&histogram), 2);
    ck_assert_uint_eq (histogram_max (&histogram), UINT64_MAX);
    ck_assert_uint_eq (histogram_min (&histogram), 0);
    ck_assert_uint_eq (histogram_quantile (&histogram, 0), 0);
    histogram_clear (&histogram);
}
END_TEST

START_TEST (without_values_everything_is_nought)
{
    struct histogram histogram = { 0 };

    ck_assert_uint_eq (histogram_count (&histogram), 0);
    ck_assert_uint_eq (histogram_quantile (&histogram, 0.5), 0);
    ck_assert_uint_eq (histogram_min (&histogram), 0);
    ck_assert_uint_eq (histogram_max (&histogram), 0);
    histogram_clear (&histogram);
}
END_TEST

START_TEST (a_difference_is_what_came_in_between)
{
    struct histogram histogram = { 0 }, before = { 0 }, now = { 0 };

    for (unsigned i = 0; i < 100; i++)
        histogram_add (&histogram, 1000);
    histogram_merge (&before, &histogram);
    for (unsigned i = 0; i < 50; i++)
        histogram_add (&histogram, 5000000);
    histogram_merge (&now, &histogram);
    histogram_subtract (&now, &before);
    ck_assert_uint_eq (histogram_count (&now), 50);
    ck_assert_uint_eq (histogram_sum (&now), 50 * 5000000);
    ck_assert_uint_ge (histogram_quantile (&now, 0.01), 4700000);
    ck_assert_uint_eq (histogram_count (&histogram), 150); /* reading removed nothing */
    histogram_clear (&histogram);
    histogram_clear (&before);
    histogram_clear (&now);
}
END_TEST

static void *
histogram_add_many (void *data)
{
    for (uint64_t i = 0; i < VALUES; i++)
        histogram_add (data, i * i);
    return NULL;
}

START_TEST (histogram_threads_lose_nothing)
{
    struct histogram histogram = { 0 };
    pthread_t threads[4];
    uint64_t sum = 0;

    for (unsigned i = 0; i < 4; i++)
        pthread_create (&threads[i], NULL, histogram_add_many, &histogram);
    for (unsigned i = 0; i < 100; i++)
        histogram_quantile (&histogram, 0.5); /* while threads add */
    for (unsigned i = 0; i < 4; i++)
        pthread_join (threads[i], NULL);
    for (uint64_t i = 0; i < VALUES; i++)
        sum += 4 * i * i;
    ck_assert_uint_eq (histogram_count (&histogram), 4 * VALUES);
    ck_assert_uint_eq (histogram_sum (&histogram), sum);
    histogram_clear (&histogram);
}
END_TEST

/* A single thread adds, without the bus lock: the result is the same. */
START_TEST (adding_alone_is_the_same)
{
    struct histogram alone = { 0 }, shared = { 0 };
    struct histogram_bucket one, other;
    unsigned i = 0, j = 0;

    for (uint64_t value = 0; value < VALUES; value++) {
        histogram_add_alone (&alone, value * 77);
        histogram_add (&shared, value * 77);
    }
    while (histogram_next (&alone, &i, &one)) {
        ck_assert (histogram_next (&shared, &j, &other));
        ck_assert_uint_eq (one.low, other.low);
        ck_assert_uint_eq (one.count, other.count);
    }
    ck_assert_uint_eq (histogram_sum (&alone), histogram_sum (&shared));
    ck_assert_uint_eq (histogram_max (&alone), histogram_max (&shared));
    ck_assert_uint_eq (histogram_min (&alone), histogram_min (&shared));
    histogram_clear (&alone);
    histogram_clear (&shared);
}
END_TEST

TEST_PROGRAM (test_histogram)
{
    Suite *suite = suite_create ("histogram");
    TCase *tests = tcase_create ("histogram");

    tcase_add_loop_test (tests, a_quantile_is_off_by_six_percent_at_most, 0, 8);
    tcase_add_test (tests, buckets_leave_no_gap);
    tcase_add_test (tests, what_is_too_large_counts_in_the_last_bucket);
    tcase_add_test (tests, without_values_everything_is_nought);
    tcase_add_test (tests, a_difference_is_what_came_in_between);
    tcase_add_test (tests, histogram_threads_lose_nothing);
    tcase_add_test (tests, adding_alone_is_the_same);
    suite_add_tcase (suite, tests);
    return suite_run (suite);
}

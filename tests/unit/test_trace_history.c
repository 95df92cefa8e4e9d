/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* The ring of debug/trace's records: threads write at once while another thread reads, and no line
 * is a mixture of two records. */
#include "../../xlators/debug/trace/trace.h"

#include "../program.h"
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, RECORDS = 20000, LONG_AGO = 1000000 };

static void
trace_history_add (struct history *history, uint64_t number)
{
    call_stack_t root = { .unique = number };
    call_frame_t frame = { .root = &root };
    struct iatt iatt = { .ia_size = number };
    const struct answer answer = {
        .op = FOP_stat, .frame = &frame, .op_ret = number, .buf = &iatt
    };

    history_add_answer (history, &answer);
}

static void *
trace_history_add_many (void *history)
{
    for (int i = 1; i <= RECORDS; i++)
        trace_history_add (history, i);
    return NULL;
}

/* Returns the number of lines. Each line must contain the same number three times. */
static unsigned
check_lines (struct history *history)
{
    g_autoptr (GString) out = g_string_new (NULL);
    g_auto (GStrv) lines = NULL;
    unsigned n = 0;

    history_print (history, out);
    lines = g_strsplit (out->str, "\n", -1);
    for (; lines[n] && *lines[n]; n++) {
        unsigned long unique = 0, op_ret = 1, size = 2;
        const char *at = strstr (lines[n], "trace_stat_cbk: ");

        ck_assert_msg (at
                           && sscanf (at, "trace_stat_cbk: %lu: (op_ret=%lu, gfid=%*s size=%lu)",
                                      &unique, &op_ret, &size)
                                  == 3,
                       "'%s'", lines[n]);
        ck_assert_msg (unique == op_ret && op_ret == size, "'%s' is made of several", lines[n]);
    }
    return n;
}

/* _i: the number of records that the ring keeps; with a single one the threads collide all the
 * time. */
START_TEST (threads_write_and_one_reads)
{
    struct history *history = history_new (_i);
    pthread_t threads[THREADS];
    uint64_t added = 0, lost;

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq (pthread_create (&threads[i], NULL, trace_history_add_many, history), 0);
    while (added < (uint64_t) THREADS * RECORDS) {
        ck_assert_uint_le (check_lines (history), _i);
        history_counts (history, &added, &lost);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join (threads[i], NULL);
    check_lines (history);
    history_counts (history, &added, &lost);
    ck_assert_uint_eq (added, (uint64_t) THREADS * RECORDS);
    ck_assert_uint_lt (lost, added);
    for (int i = 0; i < _i; i++)
        trace_history_add (history, LONG_AGO);
    ck_assert_uint_eq (check_lines (history), _i);
    history_free (history);
}
END_TEST

START_TEST (the_oldest_goes)
{
    struct history *history = history_new (3);
    g_autoptr (GString) out = g_string_new (NULL);
    char *found;

    ck_assert_uint_eq (check_lines (history), 0);
    for (int i = 1; i <= 5; i++)
        trace_history_add (history, i);
    history_print (history, out);
    found = out->str;
    for (int i = 3; i <= 5; i++) {
        g_autofree char *text = g_strdup_printf (" %d: (op_ret=%d, ", i, i);

        found = strstr (found, text);
        ck_assert_msg (found, "'%s' comes not in its turn:\n%s", text, out->str);
    }
    ck_assert_uint_eq (check_lines (history), 3);
    history_free (history);
}
END_TEST

TEST_PROGRAM (test_trace_history)
{
    Suite *suite = suite_create ("history");
    TCase *tcase = tcase_create ("history");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, threads_write_and_one_reads, 1, 3);
    tcase_add_loop_test (tcase, threads_write_and_one_reads, 64, 65);
    tcase_add_test (tcase, the_oldest_goes);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

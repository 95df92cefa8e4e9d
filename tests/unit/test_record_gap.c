/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug valgrind */
/* Gaps of logs of records (core/records) over the end of a daemon on a full disk, and a kill. */
#include "records_world.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY "copy.log"

static void
records_copy (const char *name, const char *to)
{
    g_autofree char *text = records_text (name), *path = records_path (to);

    ck_assert (g_file_set_contents (path, text, -1, NULL));
    ck_assert_int_eq (chmod (path, 0600), 0);
}

/* What a kill at this moment leaves is another log, of which a daemon then has room. */
static struct record_log *
records_open_killed (void)
{
    struct record_log *log;

    records_copy (NAME, COPY);
    records_copy ("." NAME ".lock", "." COPY ".lock");
    records_disk_ends_at (RLIM_INFINITY);
    log = records_open (COPY);
    record_log_write (log, "\"a\":9", false);
    return log;
}

/* Returns a log with one long record, behind which the disk ends. So the other files of the process
 * have room: that of the lock, and what the framework writes of a test. */
static struct record_log *
records_fill (size_t more)
{
    struct record_log *log = records_open (NAME);
    g_autofree char *long_text = g_strnfill (200000, 'x'),
                    *body = g_strdup_printf ("\"a\":\"%s\"", long_text);

    record_log_write (log, body, false);
    records_disk_ends_at ((rlim_t) records_size (NAME) + more);
    return log;
}

/* Checks what follows after the long record. */
static void
records_check_lines (const char *name, const char *gap, const char *next)
{
    g_autofree char *text = records_text (name);
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

    ck_assert_msg (g_strv_length (lines) == 4, "%s", text);
    ck_assert_msg (g_str_has_prefix (lines[1], gap), "%s", text);
    ck_assert_str_eq (lines[2], next);
    ck_assert_str_eq (lines[3], "");
}

/* _i: bytes that the disk has for the beginning of the first lost record. */
START_TEST (the_next_daemon_tells_the_gap)
{
    struct record_log *log = records_fill ((size_t) _i);

    for (int i = 0; i < 3; i++)
        record_log_write (log, "\"a\":2", false);
    record_log_unref (log);
    records_disk_ends_at (RLIM_INFINITY);
    log = records_open (NAME);
    record_log_write (log, "\"a\":9", false);
    record_log_unref (log);
    records_check_lines (NAME, "{\"gap\":3,\"first\":2,\"last\":4,\"time\":\"2",
                 "{\"unwind\":5,\"a\":9}");
}
END_TEST

START_TEST (a_gap_outlives_a_kill)
{
    struct record_log *log = records_fill ((size_t) _i);

    for (int i = 0; i < 3; i++)
        record_log_write (log, "\"a\":2", false);
    record_log_unref (records_open_killed ());
    records_check_lines (COPY, "{\"gap\":3,\"first\":2,\"last\":4,\"time\":\"2",
                 "{\"unwind\":5,\"a\":9}");
    record_log_unref (log);
}
END_TEST

START_TEST (records_that_wait_are_lost_by_a_kill)
{
    struct record_log *log = records_fill (0);

    for (int i = 0; i < 3; i++)
        record_log_write (log, "\"a\":2", true);
    record_log_note (log, "\"change\":1");
    record_log_unref (records_open_killed ());
    records_check_lines (COPY, "{\"gap\":3,\"first\":2,\"last\":4,\"notes\":1,",
                 "{\"unwind\":5,\"a\":9}");
    record_log_unref (log);
}
END_TEST

/* The disk takes the beginning of the record of the gap; what is lost then is a second gap. */
START_TEST (a_torn_gap_outlives_a_kill)
{
    struct record_log *log = records_fill (0);

    for (int i = 0; i < 3; i++)
        record_log_write (log, "\"a\":2", false);
    records_disk_ends_at ((rlim_t) records_size (NAME) + 40);
    records_pass (SECOND);
    record_log_write (log, "\"a\":3", false);
    record_log_unref (records_open_killed ());
    records_check_lines (COPY, "{\"gap\":4,\"first\":2,\"last\":5,\"time\":\"2",
                 "{\"unwind\":6,\"a\":9}");
    record_log_unref (log);
}
END_TEST

/* The daemon is killed after it has written the record of the gap, and before it has kept that. */
START_TEST (a_gap_is_not_told_twice)
{
    struct record_log *log = records_fill (0);

    for (int i = 0; i < 3; i++)
        record_log_write (log, "\"a\":2", false);
    records_settle ();
    records_copy ("." NAME ".lock", "." COPY ".lock");
    records_disk_ends_at (RLIM_INFINITY);
    records_pass (SECOND);
    record_log_unref (log);
    records_copy (NAME, COPY);
    log = records_open (COPY);
    record_log_write (log, "\"a\":9", false);
    record_log_unref (log);
    records_check_lines (COPY, "{\"gap\":3,\"first\":2,\"last\":4,", "{\"unwind\":5,\"a\":9}");
}
END_TEST

START_TEST (what_is_told_in_part_is_a_bound)
{
    struct record_gap gap = { .lost = 5, .first = 10, .last = 14 }, none = { 0 };

    record_gap_drop_told (&none, 99);
    ck_assert (!record_gap_is_open (&none));
    record_gap_drop_told (&gap, 9);
    ck_assert_uint_eq (gap.lost, 5);
    record_gap_drop_told (&gap, 11);
    ck_assert_uint_eq (gap.lost, 1);
    ck_assert_uint_eq (gap.first, 12);
    ck_assert_uint_eq (gap.last, 14);
    ck_assert (gap.at_least);
    record_gap_drop_told (&gap, 14);
    ck_assert (!record_gap_is_open (&gap));
}
END_TEST

/* A disk that is full still: the gap waits before the records of the next daemon. */
START_TEST (a_gap_outlives_two_daemons)
{
    struct record_log *log = records_fill (0);

    record_log_write (log, "\"a\":2", false);
    record_log_unref (log);
    log = records_open (NAME);
    ck_assert (record_log_is_full (log));
    record_log_write (log, "\"a\":2", false);
    record_log_unref (log);
    records_disk_ends_at (RLIM_INFINITY);
    log = records_open (NAME);
    record_log_write (log, "\"a\":9", false);
    record_log_unref (log);
    records_check_lines (NAME, "{\"gap\":2,\"first\":2,\"last\":3,", "{\"unwind\":4,\"a\":9}");
}
END_TEST

TEST_PROGRAM (test_record_gap)
{
    Suite *suite = suite_create ("record_gap");
    TCase *tcase = tcase_create ("record_gap");

    tcase_set_timeout (tcase, 120);
    tcase_add_checked_fixture (tcase, records_new, records_free);
    tcase_add_loop_test (tcase, the_next_daemon_tells_the_gap, 0, 15);
    tcase_add_loop_test (tcase, a_gap_outlives_a_kill, 0, 15);
    tcase_add_test (tcase, records_that_wait_are_lost_by_a_kill);
    tcase_add_test (tcase, a_torn_gap_outlives_a_kill);
    tcase_add_test (tcase, a_gap_is_not_told_twice);
    tcase_add_test (tcase, what_is_told_in_part_is_a_bound);
    tcase_add_test (tcase, a_gap_outlives_two_daemons);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

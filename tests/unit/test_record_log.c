/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug valgrind */
/* Logs of records (core/records): who shares one, numbers, full disks, torn lines, rotation. The
 * limit of a file's size stands for the end of a disk, and the clock is virtual. */
#include "records_world.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- one log of a process --------------------------------------------------------------------- */

START_TEST (a_name_in_a_directory_is_one_log)
{
    struct record_log *one = records_open (NAME), *again, *other = records_open ("other.log");
    g_autofree char *link = records_path ("../link-to-records");
    int by_link;

    unlink (link);
    ck_assert_int_eq (symlink (records_folder, link), 0);
    by_link = open (link, O_PATH);
    again = record_log_open (RECORDS_TO_FILE, by_link, NAME);
    ck_assert_ptr_eq (again, one);
    ck_assert_ptr_ne (other, one);
    record_log_unref (one);
    record_log_write (again, "\"a\":1", false);
    record_log_unref (again);
    record_log_unref (other);
    records_check_text (NAME, "{\"unwind\":1,\"a\":1}\n");
    one = records_open (NAME); /* its lock is free again */
    record_log_unref (one);
    unlink (link);
    close (by_link);
}
END_TEST

START_TEST (another_process_has_the_file)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    const int fd = openat (records_fd, "." NAME ".lock", O_RDWR | O_CREAT, 0600);

    ck_assert_int_eq (fcntl (fd, F_OFD_SETLK, &lock), 0);
    ck_assert_ptr_null (record_log_open (RECORDS_TO_FILE, records_fd, NAME));
    ck_assert_int_eq (errno, EBUSY);
    close (fd);
    record_log_unref (records_open (NAME));
}
END_TEST

/* A lock for reading is to be had by whoever may read the file. */
START_TEST (a_reader_of_the_file_hinders_nobody)
{
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    const int fd = openat (records_fd, NAME, O_RDWR | O_CREAT, 0644);

    ck_assert_int_eq (fcntl (fd, F_OFD_SETLK, &lock), 0);
    record_log_unref (records_open (NAME));
    close (fd);
}
END_TEST

START_TEST (a_file_that_others_can_change_is_refused)
{
    ck_assert_int_eq (openat (records_fd, NAME, O_WRONLY | O_CREAT, 0600) < 0, 0);
    ck_assert_int_eq (fchmodat (records_fd, NAME, 0620, 0), 0);
    ck_assert_ptr_null (record_log_open (RECORDS_TO_FILE, records_fd, NAME));
    ck_assert_int_eq (errno, EPERM);
    ck_assert_int_eq (fchmodat (records_fd, NAME, 0600, 0), 0);
    ck_assert_int_eq (fchmodat (records_fd, "." NAME ".lock", 0640, 0), 0);
    ck_assert_ptr_null (record_log_open (RECORDS_TO_FILE, records_fd, NAME));
    ck_assert_int_eq (errno, EPERM);
}
END_TEST

/* --- numbers ---------------------------------------------------------------------------------- */

/* A power failure may leave zeros at the end of a file, more than one block of them. */
START_TEST (numbers_go_on_behind_zeros)
{
    struct record_log *log;
    const int fd = openat (records_fd, NAME, O_WRONLY | O_CREAT, 0600);

    dprintf (fd, "{\"unwind\":7,\"a\":1}\n{\"unwind\":41,\"a\":\"\\\"last\\\":99\"}\n");
    ck_assert_int_eq (ftruncate (fd, 1 << 20), 0);
    close (fd);
    log = records_open (NAME);
    ck_assert_uint_eq (record_log_number (log), 42);
    record_log_write (log, "\"a\":2", false);
    record_log_unref (log);
    log = records_open (NAME);
    ck_assert_uint_eq (record_log_number (log), 44);
    record_log_unref (log);
}
END_TEST

/* With keep 0 a rotation leaves no record: neither the end of the daemon nor a kill behind it, when
 * only the files are left, has the numbers begin again. */
START_TEST (numbers_go_on_behind_a_rotation)
{
    struct record_log *log = records_open (NAME);

    record_log_rotate_at (log, 10, 0);
    record_log_write (log, "\"a\":1", false);
    records_settle ();
    records_check_text (NAME, "");
    ck_assert_uint_eq (record_file_last_number (records_fd, NAME), 1);
    ck_assert_uint_eq (record_log_number (log), 2);
    record_log_unref (log);
    log = records_open (NAME);
    ck_assert_uint_eq (record_log_number (log), 3);
    record_log_unref (log);
}
END_TEST

/* The last number lies across the end of a block, wherever that is. */
START_TEST (a_number_may_lie_across_blocks)
{
    for (int before = (256 << 10) - 40; before < (256 << 10) + 5; before++) {
        const int fd = openat (records_fd, NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        ck_assert_int_gt (write (fd, "\n{\"unwind\":1234567890123", 24), 0);
        ck_assert_int_eq (ftruncate (fd, 24 + before), 0);
        close (fd);
        ck_assert_uint_eq (record_file_last_number (records_fd, NAME), UINT64_C (1234567890123));
    }
}
END_TEST

/* --- a full disk ------------------------------------------------------------------------------ */

START_TEST (what_is_lost_is_in_one_gap)
{
    struct record_log *log = records_open (NAME);
    g_autofree char *text = NULL;

    record_log_write (log, "\"a\":1", false);
    records_disk_ends_at ((rlim_t) records_size (NAME));
    for (int i = 0; i < 3; i++)
        record_log_write (log, "\"a\":2", false);
    ck_assert (record_log_is_full (log));
    records_settle ();
    records_disk_ends_at (RLIM_INFINITY);
    records_pass (SECOND);
    ck_assert (!record_log_is_full (log));
    record_log_write (log, "\"a\":3", false);
    record_log_unref (log);
    text = records_text (NAME);
    ck_assert_msg (g_str_has_prefix (text, "{\"unwind\":1,\"a\":1}\n"
                                           "{\"gap\":3,\"first\":2,\"last\":4,\"time\":"),
                   "%s", text);
    ck_assert_msg (g_str_has_suffix (text, ",\"error\":\"EFBIG\"}\n{\"unwind\":5,\"a\":3}\n"), "%s",
                   text);
}
END_TEST

START_TEST (kept_records_come_before_the_gap)
{
    struct record_log *log = records_open (NAME);
    g_autofree char *large = g_strnfill (9 << 20, 'x'), *body = g_strdup_printf ("\"a\":\"%s\"",
                                                                              large),
                    *text = NULL;

    records_disk_ends_at (0);
    for (int i = 0; i < 4; i++)
        record_log_write (log, body, true);
    record_log_write (log, "\"a\":1", true);
    records_disk_ends_at (RLIM_INFINITY);
    records_pass (SECOND);
    record_log_unref (log);
    text = records_text (NAME);
    ck_assert_int_eq (strncmp (text, "{\"unwind\":1,", 12), 0);
    ck_assert_ptr_nonnull (strstr (text, "\n{\"unwind\":2,"));
    ck_assert_ptr_nonnull (strstr (text, "\n{\"gap\":3,\"first\":3,\"last\":5,"));
    ck_assert_ptr_null (strstr (text, "\n{\"unwind\":3,"));
}
END_TEST

START_TEST (notes_wait_up_to_a_limit)
{
    struct record_log *log = records_open (NAME);
    g_autofree char *large = g_strnfill (9 << 20, 'x'),
                    *body = g_strdup_printf ("\"begin\":\"%s\"", large), *text = NULL;

    records_disk_ends_at (0);
    for (int i = 0; i < 6; i++)
        record_log_note (log, body);
    records_disk_ends_at (RLIM_INFINITY);
    records_pass (SECOND);
    record_log_unref (log);
    text = records_text (NAME);
    ck_assert_ptr_nonnull (strstr (text, "\n{\"gap\":0,\"first\":0,\"last\":0,\"notes\":4,"));
    ck_assert_uint_lt (strlen (text), 20 << 20);
}
END_TEST

/* --- torn lines ------------------------------------------------------------------------------- */

START_TEST (a_torn_line_goes_on_where_it_was)
{
    struct record_log *log = records_open (NAME);

    records_disk_ends_at (10);
    record_log_write (log, "\"a\":1", false);
    ck_assert_int_eq (records_size (NAME), 10);
    records_disk_ends_at (15);
    records_pass (SECOND);
    ck_assert_int_eq (records_size (NAME), 15);
    records_disk_ends_at (RLIM_INFINITY);
    records_pass (SECOND);
    records_check_text (NAME, "{\"unwind\":1,\"a\":1}\n");
    record_log_unref (log);
}
END_TEST

START_TEST (a_torn_record_is_whole_in_the_next_file)
{
    struct record_log *log = records_open (NAME);

    records_disk_ends_at (10);
    record_log_write (log, "\"a\":1", false);
    records_move_away (NAME, "away");
    records_disk_ends_at (RLIM_INFINITY);
    ck_assert_int_eq (record_log_reopen (log), 0);
    records_pass (SECOND);
    ck_assert (!record_log_is_full (log));
    record_log_write (log, "\"a\":2", false);
    record_log_unref (log);
    records_check_text ("away", "");
    records_check_text (NAME, "{\"unwind\":1,\"a\":1}\n{\"unwind\":2,\"a\":2}\n");
}
END_TEST

START_TEST (a_torn_gap_is_whole_in_the_next_file)
{
    struct record_log *log = records_open (NAME);
    g_autofree char *text = NULL;

    records_disk_ends_at (0);
    for (int i = 0; i < 5; i++)
        record_log_write (log, "\"a\":1", false);
    records_disk_ends_at (10);
    records_pass (SECOND);
    records_check_text (NAME, "{\"gap\":5,\"");
    record_log_write (log, "\"a\":2", false); /* lost, and in a gap of its own */
    records_move_away (NAME, "away");
    records_disk_ends_at (RLIM_INFINITY);
    ck_assert_int_eq (record_log_reopen (log), 0);
    records_pass (SECOND);
    record_log_unref (log);
    text = records_text (NAME);
    ck_assert_int_eq (strncmp (text, "{\"gap\":5,\"first\":1,\"last\":5,", 28), 0);
    ck_assert_ptr_nonnull (strstr (text, "\n{\"gap\":1,\"first\":6,\"last\":6,"));
}
END_TEST

START_TEST (a_line_that_a_daemon_has_left_torn_is_ended)
{
    struct record_log *log;
    const int fd = openat (records_fd, NAME, O_WRONLY | O_CREAT, 0600);

    dprintf (fd, "{\"unwind\":7");
    close (fd);
    records_disk_ends_at (11);
    log = records_open (NAME);
    ck_assert (record_log_is_full (log)); /* nothing may be before the newline */
    records_disk_ends_at (RLIM_INFINITY);
    records_pass (SECOND);
    record_log_write (log, "\"a\":1", false);
    record_log_unref (log);
    records_check_text (NAME, "{\"unwind\":7\n{\"unwind\":8,\"a\":1}\n");
}
END_TEST

/* --- rotation --------------------------------------------------------------------------------- */

START_TEST (a_failed_rotation_is_tried_again)
{
    struct record_log *log = records_open (NAME);

    record_log_rotate_at (log, 10, 1);
    ck_assert_int_eq (mkdirat (records_fd, NAME ".1", 0700), 0);
    record_log_write (log, "\"a\":1", false);
    records_settle ();
    record_log_write (log, "\"a\":2", false);
    records_check_text (NAME, "{\"unwind\":1,\"a\":1}\n{\"unwind\":2,\"a\":2}\n");
    ck_assert_int_eq (unlinkat (records_fd, NAME ".1", AT_REMOVEDIR), 0);
    records_pass (2 * SECOND);
    record_log_rotate_at (log, 0, 1);
    record_log_write (log, "\"a\":3", false);
    record_log_unref (log);
    records_check_text (NAME ".1", "{\"unwind\":1,\"a\":1}\n{\"unwind\":2,\"a\":2}\n");
    records_check_text (NAME, "{\"unwind\":3,\"a\":3}\n");
}
END_TEST

/* With keep 0, too, the old file goes only when there is a new one. */
START_TEST (a_failed_rotation_removes_nothing)
{
    struct record_log *log = records_open (NAME);
    g_autofree char *block = records_path ("." NAME ".new"),
                    *inside = records_path ("." NAME ".new/x");

    ck_assert_int_eq (g_mkdir_with_parents (inside, 0700), 0);
    record_log_rotate_at (log, 10, 0);
    record_log_write (log, "\"a\":1", false);
    records_settle ();
    records_check_text (NAME, "{\"unwind\":1,\"a\":1}\n");
    g_rmdir (inside);
    g_rmdir (block);
    records_pass (2 * SECOND);
    records_check_text (NAME, "");
    record_log_unref (log);
}
END_TEST

/* The limit cuts the third line, and is that of the next file, too. */
START_TEST (a_file_that_cannot_grow_is_rotated)
{
    struct record_log *log = records_open (NAME);

    record_log_rotate_at (log, 1 << 20, 1);
    records_disk_ends_at (45);
    for (int i = 0; i < 3; i++)
        record_log_write (log, "\"a\":1", false);
    ck_assert (!record_log_is_full (log));
    record_log_write (log, "\"a\":2", false); /* waits */
    records_settle ();
    records_check_text (NAME ".1", "{\"unwind\":1,\"a\":1}\n{\"unwind\":2,\"a\":1}\n");
    records_check_text (NAME, "{\"unwind\":3,\"a\":1}\n{\"unwind\":4,\"a\":2}\n");
    records_disk_ends_at (38);
    record_log_write (log, "\"a\":3", false); /* none of its bytes fits */
    records_settle ();
    records_check_text (NAME, "{\"unwind\":5,\"a\":3}\n");
    ck_assert (!record_log_is_full (log));
    record_log_unref (log);
}
END_TEST

/* It is full, as on a full disk: max-size 0 forbids a rotation. And no file has room for a line
 * that is longer than the limit, so a rotation would only drive the older files out. */
START_TEST (a_file_that_cannot_grow_may_have_to_stay)
{
    struct record_log *log = records_open (NAME);
    g_autofree char *older = records_path (NAME ".1");
    const bool never = _i == 0;

    ck_assert (g_file_set_contents (older, "older", -1, NULL));
    record_log_rotate_at (log, never ? 0 : 1 << 20, 1);
    records_disk_ends_at (never ? 25 : 10);
    record_log_write (log, "\"a\":1", true);
    record_log_write (log, "\"a\":2", true);
    records_pass (SECOND);
    ck_assert (record_log_is_full (log));
    records_check_text (NAME ".1", "older");
    records_disk_ends_at (RLIM_INFINITY);
    records_pass (SECOND);
    ck_assert (!record_log_is_full (log));
    record_log_unref (log);
    records_check_text (NAME, "{\"unwind\":1,\"a\":1}\n{\"unwind\":2,\"a\":2}\n");
}
END_TEST

/* The log is full as long as the file that cannot grow cannot be rotated either. */
START_TEST (a_rotation_that_would_help_fails)
{
    struct record_log *log = records_open (NAME);

    ck_assert_int_eq (mkdirat (records_fd, NAME ".1", 0700), 0);
    record_log_rotate_at (log, 1 << 20, 1);
    records_disk_ends_at (19);
    record_log_write (log, "\"a\":1", false);
    record_log_write (log, "\"a\":2", false);
    records_settle ();
    ck_assert (record_log_is_full (log));
    ck_assert_int_eq (unlinkat (records_fd, NAME ".1", AT_REMOVEDIR), 0);
    for (int i = 0; i < 10; i++)
        records_pass (SECOND);
    ck_assert (!record_log_is_full (log));
    records_check_text (NAME ".1", "{\"unwind\":1,\"a\":1}\n");
    records_check_text (NAME, "{\"unwind\":2,\"a\":2}\n");
    record_log_unref (log);
}
END_TEST

START_TEST (a_rotation_removes_what_a_lower_keep_leaves)
{
    uint64_t size;
    int old, fd;

    for (int i = 1; i <= 4; i++) {
        g_autofree char *name = g_strdup_printf (NAME ".%d", i), *path = records_path (name);

        ck_assert (g_file_set_contents (path, name, -1, NULL));
    }
    old = record_file_open (records_fd, NAME, &size);
    fd = record_file_rotate (records_fd, NAME, 2, old, &size);
    ck_assert_int_ge (fd, 0);
    records_check_text (NAME ".2", NAME ".1");
    for (int i = 3; i <= 4; i++) {
        g_autofree char *name = g_strdup_printf (NAME ".%d", i);

        ck_assert_int_lt (faccessat (records_fd, name, F_OK, 0), 0);
    }
    close (old);
    close (fd);
}
END_TEST

/* After an attempt that has stopped half way the next one moves no older file once more. */
START_TEST (older_files_move_up_to_a_free_number)
{
    uint64_t size;
    int old, fd;

    for (int i = 2; i <= 3; i++) {
        g_autofree char *name = g_strdup_printf (NAME ".%d", i), *path = records_path (name);

        ck_assert (g_file_set_contents (path, name, -1, NULL));
    }
    old = record_file_open (records_fd, NAME, &size);
    ck_assert_int_eq (write (old, "old", 3), 3);
    fd = record_file_rotate (records_fd, NAME, 3, old, &size);
    ck_assert_int_ge (fd, 0);
    records_check_text (NAME ".1", "old");
    records_check_text (NAME ".2", NAME ".2");
    records_check_text (NAME ".3", NAME ".3");
    close (old);
    old = fd;
    fd = record_file_rotate (records_fd, NAME, 3, old, &size);
    records_check_text (NAME ".1", "");
    records_check_text (NAME ".2", "old");
    records_check_text (NAME ".3", NAME ".2");
    close (old);
    close (fd);
}
END_TEST

TEST_PROGRAM (test_record_log)
{
    Suite *suite = suite_create ("record_log");
    TCase *tcase = tcase_create ("record_log");

    tcase_set_timeout (tcase, 120);
    tcase_add_checked_fixture (tcase, records_new, records_free);
    tcase_add_test (tcase, a_name_in_a_directory_is_one_log);
    tcase_add_test (tcase, another_process_has_the_file);
    tcase_add_test (tcase, a_reader_of_the_file_hinders_nobody);
    tcase_add_test (tcase, a_file_that_others_can_change_is_refused);
    tcase_add_test (tcase, numbers_go_on_behind_zeros);
    tcase_add_test (tcase, numbers_go_on_behind_a_rotation);
    tcase_add_test (tcase, a_number_may_lie_across_blocks);
    tcase_add_test (tcase, what_is_lost_is_in_one_gap);
    tcase_add_test (tcase, kept_records_come_before_the_gap);
    tcase_add_test (tcase, notes_wait_up_to_a_limit);
    tcase_add_test (tcase, a_torn_line_goes_on_where_it_was);
    tcase_add_test (tcase, a_torn_record_is_whole_in_the_next_file);
    tcase_add_test (tcase, a_torn_gap_is_whole_in_the_next_file);
    tcase_add_test (tcase, a_line_that_a_daemon_has_left_torn_is_ended);
    tcase_add_test (tcase, a_failed_rotation_is_tried_again);
    tcase_add_test (tcase, a_failed_rotation_removes_nothing);
    tcase_add_test (tcase, a_file_that_cannot_grow_is_rotated);
    tcase_add_loop_test (tcase, a_file_that_cannot_grow_may_have_to_stay, 0, 2);
    tcase_add_test (tcase, a_rotation_that_would_help_fails);
    tcase_add_test (tcase, a_rotation_removes_what_a_lower_keep_leaves);
    tcase_add_test (tcase, older_files_move_up_to_a_free_number);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

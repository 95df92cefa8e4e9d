/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a log of records are read line by line, also those that were rotated. */
#include "core/records/record-log.h"

#include "../program.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "log"

static int files_fd;
static char *path_of_files;

static void
files_begin (void)
{
    path_of_files = g_dir_make_tmp ("windlass-records-XXXXXX", NULL);
    ck_assert_ptr_nonnull (path_of_files);
    files_fd = open (path_of_files, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge (files_fd, 0);
}

static void
files_end (void)
{
    static const char *const names[] = { NAME, NAME ".1", NAME ".2", NAME ".4", "fifo" };

    for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
        unlinkat (files_fd, names[i], 0);
    close (files_fd);
    ck_assert_int_eq (rmdir (path_of_files), 0);
    g_free (path_of_files);
}

static bool
lines_append (char *line, void *data)
{
    g_string_append_printf (data, "%s\n", line);
    *line = '\0';
    return strstr (((GString *) data)->str, "stop") == NULL;
}

/* Writes a file of the log as it is, without the log. */
static void
put_file (const char *name, const char *text)
{
    const int fd = openat (files_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_eq (write (fd, text, strlen (text)), (int) strlen (text));
    close (fd);
}

START_TEST (all_files_are_read_the_oldest_first)
{
    g_autoptr (GString) lines = g_string_new (NULL);

    put_file (NAME ".2", "1\n2\n");
    put_file (NAME ".1", "");
    put_file (NAME, "3\nunfinished");
    put_file (NAME ".4", "not of the log any more\n");
    ck_assert_int_eq (record_files_read (files_fd, NAME, lines_append, lines), 0);
    ck_assert_str_eq (lines->str, "1\n2\n3\n");
    put_file (NAME ".2", "4\nstop\n5\n");
    g_string_truncate (lines, 0);
    ck_assert_int_eq (record_files_read (files_fd, NAME, lines_append, lines), 0);
    ck_assert_str_eq (lines->str, "4\nstop\n");
    ck_assert_int_eq (record_files_read (files_fd, "none", lines_append, lines), -ENOENT);
    ck_assert_int_eq (mkfifoat (files_fd, "fifo", 0600), 0);
    ck_assert_int_eq (record_files_read (files_fd, "fifo", lines_append, lines), -EPERM);
    ck_assert (record_file_is_whole (files_fd, "fifo"));
    ck_assert_uint_eq (record_file_last_number (files_fd, "fifo"), 0);
}
END_TEST

TEST_PROGRAM (test_record_read)
{
    Suite *suite = suite_create ("record_read");
    TCase *tcase = tcase_create ("files");

    tcase_add_checked_fixture (tcase, files_begin, files_end);
    tcase_add_test (tcase, all_files_are_read_the_oldest_first);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts about processes. */
#include "core/base/process.h"
#include "core/base/process-mark.h"

#include "../program.h"
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Within a second, both clocks that it is made of come to their next second. */
START_TEST (a_process_began_at_one_time_whenever_it_is_asked)
{
    const int64_t began = process_began (getpid ());
    const gint64 until = g_get_monotonic_time () + 1100000;

    ck_assert_int_le (began, time (NULL));
    ck_assert_int_ge (began, time (NULL) - 100);
    while (g_get_monotonic_time () < until) {
        ck_assert_int_eq (process_began (getpid ()), began);
        g_usleep (5000);
    }
}
END_TEST

/* The present name each time, also of another thread that has got the number of an earlier one. */
START_TEST (a_process_has_its_present_name)
{
    char name[PROCESS_NAME_SIZE];
    int status;

    for (int i = 0; i < 3; i++) {
        const pid_t child = fork ();

        if (child == 0) {
            prctl (PR_SET_NAME, "a b)\n(c");
            pause ();
            _exit (0);
        }
        do
            ck_assert (process_name (child, name));
        while (strcmp (name, "a b)\n(c") != 0);
        ck_assert_int_eq (kill (child, SIGKILL), 0);
        ck_assert_int_eq (waitpid (child, &status, 0), child);
        ck_assert (!process_name (child, name));
    }
    prctl (PR_SET_NAME, "first");
    ck_assert (process_name (getpid (), name));
    ck_assert_str_eq (name, "first");
    prctl (PR_SET_NAME, "0123456789abcdefgh");
    ck_assert (process_name (getpid (), name));
    ck_assert_str_eq (name, "0123456789abcde");
    ck_assert (!process_name (0, name));
    ck_assert (!process_name (-1, name));
}
END_TEST

/* Another process, and the same one under another name, have other marks; of one that has ended
 * nothing is known. */
START_TEST (a_mark_stands_for_a_process_and_its_name)
{
    uint64_t own, of_child;
    pid_t child;
    int status;

    prctl (PR_SET_NAME, "first");
    own = process_mark (getpid ());
    ck_assert (own != 0);
    ck_assert (process_mark (getpid ()) == own);
    child = fork ();
    if (child == 0) {
        pause ();
        _exit (0);
    }
    of_child = process_mark (child);
    ck_assert (of_child != 0);
    ck_assert (process_mark (child) == of_child);
    ck_assert_int_eq (kill (child, SIGKILL), 0);
    ck_assert_int_eq (waitpid (child, &status, 0), child);
    ck_assert (process_mark (child) == 0);
    prctl (PR_SET_NAME, "second");
    ck_assert (process_mark (getpid ()) != own);
    prctl (PR_SET_NAME, "first");
    ck_assert (process_mark (getpid ()) == own);
    ck_assert (process_mark (0) == 0);
    ck_assert (process_mark (-1) == 0);
}
END_TEST

static bool
choose_next_number (pid_t next)
{
    FILE *file = fopen ("/proc/sys/kernel/ns_last_pid", "w");
    const bool written = file && fprintf (file, "%d", next - 1) > 0;

    return file && fclose (file) == 0 && written;
}

/* The second process with a number has another mark, although it has the same name. */
START_TEST (a_number_that_is_used_again_has_another_mark)
{
    const pid_t child = fork ();
    uint64_t mark;
    pid_t second = -1;
    int status;

    if (child == 0) {
        pause ();
        _exit (0);
    }
    mark = process_mark (child);
    kill (child, SIGKILL);
    waitpid (child, &status, 0);
    g_usleep (20000); /* a tick is 10 ms */
    for (int i = 0; i < 50 && second != child; i++) {
        if (!choose_next_number (child))
            return; /* only root may */
        second = fork ();
        if (second == 0) {
            pause ();
            _exit (0);
        }
        if (second == child)
            ck_assert (process_mark (second) != mark && process_mark (second) != 0);
        kill (second, SIGKILL);
        waitpid (second, &status, 0);
    }
}
END_TEST

TEST_PROGRAM (test_process)
{
    Suite *suite = suite_create ("process");
    TCase *tcase = tcase_create ("process");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, a_process_began_at_one_time_whenever_it_is_asked);
    tcase_add_test (tcase, a_process_has_its_present_name);
    tcase_add_test (tcase, a_mark_stands_for_a_process_and_its_name);
    tcase_add_test (tcase, a_number_that_is_used_again_has_another_mark);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

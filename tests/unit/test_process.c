/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts about processes. */
#include "core/base/process.h"

#include "../program.h"
#include <glib.h>
#include <signal.h>
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

TEST_PROGRAM (test_process)
{
    Suite *suite = suite_create ("process");
    TCase *tcase = tcase_create ("process");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, a_process_began_at_one_time_whenever_it_is_asked);
    tcase_add_test (tcase, a_process_has_its_present_name);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

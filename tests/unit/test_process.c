/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts about processes. */
#include "core/base/process.h"

#include "../program.h"
#include <glib.h>
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

TEST_PROGRAM (test_process)
{
    Suite *suite = suite_create ("process");
    TCase *tcase = tcase_create ("process");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, a_process_began_at_one_time_whenever_it_is_asked);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

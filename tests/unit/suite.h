/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How every program of tests ends. */
#ifndef WINDLASS_TESTS_SUITE_H
#define WINDLASS_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite and frees it; the program's exit status. CK_VERBOSITY says how much is printed. */
static inline int
suite_run (Suite *suite)
{
    SRunner *runner = srunner_create (suite);
    int failed;

    srunner_run_all (runner, CK_ENV);
    failed = srunner_ntests_failed (runner);
    srunner_free (runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif

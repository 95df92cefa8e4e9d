/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file test_NAME.c in tests/unit or tests/graph is written as a program of its own:
 *
 *     TEST_PROGRAM (test_NAME)
 *     {
 *         Suite *suite = suite_create ("NAME");
 *         ...
 *         return suite_run (suite);
 *     }
 *
 * All files of a directory are linked as one program, since linking takes longer than compiling:
 * tests/unit/all test_NAME runs a single test program.
 */
#ifndef WINDLASS_TESTS_PROGRAM_H
#define WINDLASS_TESTS_PROGRAM_H

#include <check.h>
#include <stdlib.h>

struct test_program {
    const char *name;
    int (*run) (void); /* returns the exit status: 0, 77 if the tests can't run here, with the
                          reason on standard output, or another */
    struct test_program *next;
};

/* Called before main. */
void test_program_register (struct test_program *program);

#define TEST_PROGRAM(name_)                                                                        \
    static int name_ (void);                                                                       \
    __attribute__ ((constructor)) static void register_##name_ (void)                              \
    {                                                                                              \
        static struct test_program program = { #name_, name_, NULL };                              \
        test_program_register (&program);                                                          \
    }                                                                                              \
    static int name_ (void)

/* The amount of work: at_short, or at_long if ./check --long runs the program. */
static inline unsigned
test_amount (unsigned at_short, unsigned at_long)
{
    return getenv ("TEST_LONG") ? at_long : at_short;
}

/* Runs the suite, frees it, and returns the program's exit status. CK_VERBOSITY sets the amount of
 * output. */
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

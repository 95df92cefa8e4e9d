/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug valgrind */
/* Inode numbers and directory offsets for 32-bit programs: they fit, they are told apart, and the
 * table of offsets has a bound. */
#include "fuse/short-numbers.h"

#include "../program.h"
#include <glib.h>

#define DIRECTORY 7
#define LIMIT 100

/* An offset as ext4 makes it: 63 bits, of which any may be set. */
static uint64_t
hashed (unsigned i)
{
    return (i + 1) * UINT64_C (0x9e3779b97f4a7c15) >> 1 | UINT64_C (1) << 40;
}

static bool
finds (struct short_numbers *all, uint64_t directory, uint64_t given, uint64_t offset)
{
    uint64_t found;

    return short_offset_find (all, directory, given, &found) && found == offset;
}

START_TEST (numbers_that_fit_stay)
{
    struct short_numbers *all = short_numbers_new (LIMIT);

    ck_assert_uint_eq (short_ino (1), 1);
    ck_assert_uint_eq (short_ino (UINT32_MAX), UINT32_MAX);
    ck_assert_uint_eq (short_offset (all, DIRECTORY, 0), 0);
    ck_assert_uint_eq (short_offset (all, DIRECTORY, SHORT_OFFSET_MIN - 1), SHORT_OFFSET_MIN - 1);
    ck_assert (finds (all, DIRECTORY, SHORT_OFFSET_MIN - 1, SHORT_OFFSET_MIN - 1));
    short_numbers_free (all);
}
END_TEST

START_TEST (larger_inode_numbers_fit_and_differ_from_those_that_did)
{
    for (unsigned i = 0; i < 10000; i++) {
        const uint64_t ino = short_ino (UINT64_C (1) << 32 | i);

        ck_assert_uint_le (ino, UINT32_MAX);
        ck_assert_uint_ge (ino, UINT64_C (1) << 31);
        ck_assert_uint_eq (ino, short_ino (UINT64_C (1) << 32 | i));
    }
}
END_TEST

/* Among so many offsets some have the same hash. */
START_TEST (offsets_of_a_directory_are_told_apart)
{
    enum { MANY = 200000 };
    struct short_numbers *all = short_numbers_new (MANY);
    g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
    unsigned fit = 0, found = 0;

    for (unsigned i = 0; i < MANY; i++) {
        const uint64_t given = short_offset (all, DIRECTORY, hashed (i));

        fit += given >= SHORT_OFFSET_MIN && given <= SHORT_OFFSET_MAX;
        g_hash_table_add (seen, GSIZE_TO_POINTER (given));
    }
    for (unsigned i = 0; i < MANY; i++)
        found += finds (all, DIRECTORY, short_offset (all, DIRECTORY, hashed (i)), hashed (i));
    ck_assert_uint_eq (fit, MANY);
    ck_assert_uint_eq (g_hash_table_size (seen), MANY);
    ck_assert_uint_eq (found, MANY);
    short_numbers_free (all);
}
END_TEST

START_TEST (a_directory_knows_only_its_own)
{
    struct short_numbers *all = short_numbers_new (LIMIT);
    const uint64_t given = short_offset (all, DIRECTORY, hashed (1));

    ck_assert (finds (all, DIRECTORY, given, hashed (1)));
    ck_assert (!finds (all, DIRECTORY + 1, given, hashed (1)));
    ck_assert_uint_eq (given, short_offset (all, DIRECTORY + 1, hashed (1)));
    short_numbers_free (all);
}
END_TEST

START_TEST (the_table_has_a_bound_and_keeps_the_last_that_were_used)
{
    struct short_numbers *all = short_numbers_new (LIMIT);
    uint64_t given[10 * LIMIT];
    unsigned known = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS (given); i++) {
        given[i] = short_offset (all, DIRECTORY, hashed (i));
        ck_assert (finds (all, DIRECTORY, given[0], hashed (0)));
    }
    for (unsigned i = G_N_ELEMENTS (given) - LIMIT; i < G_N_ELEMENTS (given); i++)
        ck_assert (finds (all, DIRECTORY, given[i], hashed (i)));
    for (unsigned i = 0; i < G_N_ELEMENTS (given); i++)
        known += finds (all, DIRECTORY, given[i], hashed (i));
    ck_assert_uint_le (known, 2 * LIMIT);
    ck_assert_uint_eq (short_offset (all, DIRECTORY, hashed (2)), given[2]);
    short_numbers_free (all);
}
END_TEST

START_TEST (a_caller_may_name_any_offset)
{
    static const uint64_t strange[] = { SHORT_OFFSET_MIN, SHORT_OFFSET_MAX, SHORT_OFFSET_MAX + 1,
                                        UINT32_MAX, INT64_MAX, UINT64_MAX };
    struct short_numbers *all = short_numbers_new (LIMIT);
    uint64_t found;

    for (unsigned i = 0; i < G_N_ELEMENTS (strange); i++) {
        ck_assert (!short_offset_find (all, DIRECTORY, strange[i], &found));
        ck_assert (finds (all, DIRECTORY, short_offset (all, DIRECTORY, strange[i]), strange[i]));
    }
    short_numbers_free (all);
}
END_TEST

TEST_PROGRAM (test_short_numbers)
{
    Suite *suite = suite_create ("short numbers");
    TCase *tcase = tcase_create ("short numbers");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, numbers_that_fit_stay);
    tcase_add_test (tcase, larger_inode_numbers_fit_and_differ_from_those_that_did);
    tcase_add_test (tcase, offsets_of_a_directory_are_told_apart);
    tcase_add_test (tcase, a_directory_knows_only_its_own);
    tcase_add_test (tcase, the_table_has_a_bound_and_keeps_the_last_that_were_used);
    tcase_add_test (tcase, a_caller_may_name_any_offset);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

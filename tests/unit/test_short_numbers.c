/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug valgrind */
/* Inode numbers and directory offsets for 32-bit programs: they fit, they are told apart, and the
 * table of offsets has a bound. */
#include "fuse/short-numbers.h"

#include "core/time/random.h"

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

/* The inverse of a mixer with constants that everyone can read: the last two of MurmurHash3. */
static uint64_t
unmixed (uint64_t number)
{
    number = (number ^ number >> 33) * UINT64_C (0x9cb4b2f8129337db);
    number = (number ^ number >> 33) * UINT64_C (0x4f74430c22a54005);
    return number ^ number >> 33;
}

/* Storage chooses offsets of which it hopes that all get one short offset. */
START_TEST (chosen_offsets_take_no_longer_than_others)
{
    enum { MANY = 40000 };
    struct short_numbers *all = short_numbers_new (MANY), *other = short_numbers_new (MANY);
    unsigned found = 0, same = 0;

    for (unsigned i = 0; i < MANY; i++) {
        const uint64_t offset = unmixed (UINT64_C (0x123456789abcdef0) << 34 | i);
        const uint64_t given = short_offset (all, DIRECTORY, offset);

        found += finds (all, DIRECTORY, given, offset) && short_offset_fits (all, offset, given);
        same += given == short_offset (other, DIRECTORY, offset);
    }
    ck_assert_uint_eq (found, MANY);
    ck_assert_uint_lt (same, MANY / 100);
    short_numbers_free (all);
    short_numbers_free (other);
}
END_TEST

/* Finds two offsets that get the same short one, each in a directory of its own: among so many
 * there are 18 such pairs, and none once in 60 million runs. */
static void
find_meeting (struct short_numbers *all, uint64_t *ret_a, uint64_t *ret_b)
{
    g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
    struct random_source source = { 1 };

    for (unsigned i = 0; i < 200000; i++) {
        const uint64_t offset = random_next (&source) | UINT64_C (1) << 40;
        void *given = GSIZE_TO_POINTER (short_offset (all, DIRECTORY + 1 + i, offset));
        void *before;

        if (g_hash_table_lookup_extended (seen, given, NULL, &before)) {
            *ret_a = GPOINTER_TO_SIZE (before);
            *ret_b = offset;
            return;
        }
        g_hash_table_insert (seen, given, GSIZE_TO_POINTER (offset));
    }
    ck_abort_msg ("no two offsets meet");
}

static void
lose (struct short_numbers *all)
{
    for (unsigned i = 0; i < 2 * LIMIT; i++)
        short_offset (all, DIRECTORY + 1, hashed (i));
}

/* The table loses two that met, and gives them again in another order. */
START_TEST (a_lost_offset_fits_what_it_was_given)
{
    struct short_numbers *all = short_numbers_new (LIMIT);
    uint64_t a, b, found, of_a, of_b;

    find_meeting (all, &a, &b);
    lose (all);
    of_a = short_offset (all, DIRECTORY, a);
    of_b = short_offset (all, DIRECTORY, b);
    ck_assert_uint_ne (of_a, of_b);
    lose (all);
    ck_assert (!short_offset_find (all, DIRECTORY, of_a, &found));
    ck_assert_uint_eq (short_offset (all, DIRECTORY, b), of_a);
    ck_assert (!short_offset_find (all, DIRECTORY, of_b, &found));
    ck_assert (short_offset_fits (all, b, of_b));
    ck_assert (short_offset_fits (all, a, of_a));
    ck_assert (!short_offset_fits (all, a, of_b));
    short_offset_put (all, DIRECTORY, b, of_b);
    ck_assert (finds (all, DIRECTORY, of_b, b));
    ck_assert (finds (all, DIRECTORY, of_a, b));
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
    tcase_add_test (tcase, chosen_offsets_take_no_longer_than_others);
    tcase_add_test (tcase, a_lost_offset_fits_what_it_was_given);
    tcase_add_test (tcase, a_caller_may_name_any_offset);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug valgrind */
/* cluster/distribute: hashes are those of GlusterFS, bit for bit; layouts are read, checked and
 * made as it does, whatever bytes a brick has. */
#include "../../xlators/cluster/distribute/hash.h"
#include "../../xlators/cluster/distribute/layout.h"

#include "../program.h"
#include <errno.h>
#include <glib.h>
#include <string.h>

/* --- hashes ----------------------------------------------------------------------------------- */

struct known {
    const char *name;
    unsigned times;
    uint32_t hash;
};

/* Found with a client of GlusterFS 10.3 and volumes of many bricks. */
static const struct known known[] = {
    { "a", 1, 0x3a17e4e6 },       { "ab", 1, 0xc3af40d9 },     { "hello", 1, 0xa7923147 },
    { "file.txt", 1, 0xc7426d64 }, { "a", 16, 0x4b7bcfa6 },     { "b", 17, 0xedc0e83e },
    { "c", 33, 0xb9c73bdf },      { "foo", 1, 0x0b55ac76 },    { "naïve", 1, 0x9c88eecf },
    { "é", 1, 0x65cfcaa1 },       { "日本語", 1, 0xeecbaa7d }, { "x", 200, 0x2eb9cd2e },
};

START_TEST (a_hash_is_that_of_glusterfs)
{
    g_autoptr (GString) name = g_string_new (NULL);

    for (unsigned i = 0; i < known[_i].times; i++)
        g_string_append (name, known[_i].name);
    ck_assert_uint_eq (distribute_hash_bytes (name->str, name->len), known[_i].hash);
}
END_TEST

START_TEST (a_temporary_name_has_the_hash_of_the_name_it_becomes)
{
    struct hash_rules rules = { 0 }, none = { 0 };
    char reason[100];

    ck_assert_int_eq (hash_rules_set (&rules, HASH_RSYNC_DEFAULT, "^(.+)~$", reason, 100), 0);
    ck_assert_int_eq (hash_rules_set (&none, "none", NULL, reason, 100), 0);
    ck_assert_uint_eq (hash_name (&rules, ".foo.AbC123"), 0x0b55ac76);
    ck_assert_uint_eq (hash_name (&rules, "foo~"), 0x0b55ac76);
    ck_assert_uint_eq (hash_name (&rules, "foo"), 0x0b55ac76);
    ck_assert_uint_ne (hash_name (&none, ".foo.AbC123"), 0x0b55ac76);
    ck_assert_uint_ne (hash_name (&rules, ".foo"), 0x0b55ac76);
    hash_rules_clear (&rules);
    hash_rules_clear (&none);
}
END_TEST

START_TEST (an_expression_that_is_none_is_refused_with_the_reason)
{
    struct hash_rules rules = { 0 };
    char reason[100] = "";

    ck_assert_int_eq (hash_rules_set (&rules, "(", "none", reason, 100), -EINVAL);
    ck_assert_uint_gt (strlen (reason), 0);
    hash_rules_clear (&rules);
}
END_TEST

/* --- layouts ---------------------------------------------------------------------------------- */

static void
read_range (struct layout *layout, unsigned i, uint32_t commit, uint32_t kind, uint32_t start,
            uint32_t stop)
{
    const uint32_t value[4] = { GUINT32_TO_BE (commit), GUINT32_TO_BE (kind),
                                GUINT32_TO_BE (start), GUINT32_TO_BE (stop) };

    layout_read (layout, i, value, sizeof value);
}

START_TEST (a_range_is_written_as_it_was_read)
{
    struct layout *layout = layout_new (1);
    static const uint8_t value[] = "\x12\x34\x56\x78\0\0\0\1\x3f\xff\xff\xff\x7f\xff\xff\xfd";
    uint8_t written[LAYOUT_DISK_SIZE];

    layout_read (layout, 0, value, LAYOUT_DISK_SIZE);
    layout_write (layout, 0, written);
    ck_assert_mem_eq (written, value, LAYOUT_DISK_SIZE);
    ck_assert_int_eq (layout_search (layout, 0x3fffffff), 0);
    ck_assert_int_eq (layout_search (layout, 0x7ffffffd), 0);
    ck_assert_int_eq (layout_search (layout, 0x7ffffffe), -1);
    layout_unref (layout);
}
END_TEST

START_TEST (nonsense_is_no_range)
{
    static const uint8_t bytes[32] = { 0 };
    struct layout *layout = layout_new (4);
    struct layout_faults faults;

    layout_read (layout, 0, bytes, 15);
    layout_read (layout, 1, bytes, 17);
    read_range (layout, 2, 0, 2, 0, UINT32_MAX);
    read_range (layout, 3, 0, 0, 2, 1);
    layout_seal (layout);
    layout_check (layout, &faults);
    ck_assert_uint_eq (faults.unknown, 4);
    ck_assert_uint_eq (faults.holes, 1);
    ck_assert_int_eq (layout_search (layout, 1), -1);
    ck_assert_uint_eq (layout->commit, LAYOUT_UNSURE);
    layout_unref (layout);
}
END_TEST

struct checked {
    uint32_t ranges[3][2];
    unsigned holes, overlaps;
};

static const struct checked checked[] = {
    { { { 0, 9 }, { 10, 99 }, { 100, UINT32_MAX } }, 0, 0 },
    { { { 10, 99 }, { 100, UINT32_MAX }, { 0, 9 } }, 0, 0 },
    { { { 0, 0 }, { 0, UINT32_MAX }, { 0, 0 } }, 0, 0 },
    { { { 1, 9 }, { 10, 99 }, { 100, UINT32_MAX } }, 1, 0 },
    { { { 0, 9 }, { 11, 99 }, { 100, UINT32_MAX - 1 } }, 2, 0 },
    { { { 0, 9 }, { 9, 99 }, { 100, UINT32_MAX } }, 0, 1 },
    { { { 0, UINT32_MAX }, { 5, 6 }, { 7, 8 } }, 0, 2 },
    { { { 0, 0 }, { 0, 0 }, { 0, 0 } }, 1, 0 },
};

START_TEST (holes_and_overlaps_are_found)
{
    const struct checked *row = &checked[_i];
    struct layout *layout = layout_new (3);
    struct layout_faults faults;

    for (unsigned i = 0; i < 3; i++)
        read_range (layout, i, 0, 0, row->ranges[i][0], row->ranges[i][1]);
    layout_check (layout, &faults);
    ck_assert_uint_eq (faults.holes, row->holes);
    ck_assert_uint_eq (faults.overlaps, row->overlaps);
    ck_assert (layout_is_whole (layout) == (row->holes == 0 && row->overlaps == 0));
    layout_unref (layout);
}
END_TEST

START_TEST (the_commit_hash_is_what_all_agree_on)
{
    struct layout *layout = layout_new (2);

    read_range (layout, 0, 7, 0, 0, 9);
    read_range (layout, 1, 7, 0, 10, UINT32_MAX);
    layout_seal (layout);
    ck_assert_uint_eq (layout->commit, 7);
    read_range (layout, 1, 8, 0, 10, UINT32_MAX);
    layout_seal (layout);
    ck_assert_uint_eq (layout->commit, LAYOUT_UNSURE);
    layout_fail (layout, 1, RANGE_DOWN);
    layout_seal (layout);
    ck_assert_uint_eq (layout->commit, 7);
    layout_fail (layout, 1, RANGE_UNKNOWN);
    layout_seal (layout);
    ck_assert_uint_eq (layout->commit, LAYOUT_UNSURE);
    layout_unref (layout);
}
END_TEST

static void
divide_and_check (GRand *random)
{
    const unsigned n = (unsigned) g_rand_int_range (random, 1, 40);
    struct layout *layout = layout_new (n);
    uint32_t weights[40];

    for (unsigned i = 0; i < n; i++) {
        const bool there = i == 0 || g_rand_int_range (random, 0, 4) > 0;

        layout_fail (layout, i, there ? RANGE_UNSET : RANGE_DOWN);
        weights[i] = g_rand_int_range (random, 0, 3) ? (uint32_t) g_rand_int (random) : 0;
    }
    layout_divide (layout, weights, (unsigned) g_rand_int_range (random, 0, (gint32) n),
                   (unsigned) g_rand_int_range (random, 0, (gint32) n), 5);
    ck_assert (layout_is_whole (layout));
    for (unsigned i = 0; i < n; i++)
        ck_assert (layout->ranges[i].state == RANGE_SET || layout->ranges[i].state == RANGE_DOWN);
    layout_unref (layout);
}

/* Any subvolumes, any weights: each hash has one subvolume, and only those that may get hashes
 * do. */
START_TEST (a_new_layout_is_whole)
{
    g_autoptr (GRand) random = g_rand_new_with_seed (1);

    for (unsigned i = 0; i < test_amount (200, 2000); i++)
        divide_and_check (random);
}
END_TEST

START_TEST (equal_shares_are_those_of_glusterfs)
{
    static const uint32_t weights[] = { 1, 1, 1, 1 };
    struct layout *layout = layout_new (4);

    for (unsigned i = 0; i < 4; i++)
        layout_fail (layout, i, RANGE_UNSET);
    layout_divide (layout, weights, 2, 0, 0);
    ck_assert_uint_eq (layout->ranges[2].start, 0);
    ck_assert_uint_eq (layout->ranges[2].stop, 0x3ffffffe);
    ck_assert_uint_eq (layout->ranges[3].start, 0x3fffffff);
    ck_assert_uint_eq (layout->ranges[0].start, 0x7ffffffe);
    ck_assert_uint_eq (layout->ranges[1].start, 0xbffffffd);
    ck_assert_uint_eq (layout->ranges[1].stop, UINT32_MAX);
    layout_unref (layout);
}
END_TEST

TEST_PROGRAM (test_distribute)
{
    Suite *suite = suite_create ("distribute");
    TCase *hashes = tcase_create ("hash"), *layouts = tcase_create ("layout");

    tcase_add_loop_test (hashes, a_hash_is_that_of_glusterfs, 0, G_N_ELEMENTS (known));
    tcase_add_test (hashes, a_temporary_name_has_the_hash_of_the_name_it_becomes);
    tcase_add_test (hashes, an_expression_that_is_none_is_refused_with_the_reason);
    tcase_add_test (layouts, a_range_is_written_as_it_was_read);
    tcase_add_test (layouts, nonsense_is_no_range);
    tcase_add_loop_test (layouts, holes_and_overlaps_are_found, 0, G_N_ELEMENTS (checked));
    tcase_add_test (layouts, the_commit_hash_is_what_all_agree_on);
    tcase_add_test (layouts, a_new_layout_is_whole);
    tcase_add_test (layouts, equal_shares_are_those_of_glusterfs);
    suite_add_tcase (suite, hashes);
    suite_add_tcase (suite, layouts);
    return suite_run (suite);
}

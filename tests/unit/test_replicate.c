/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The changelog of cluster/replicate: which copies are good, for every way in which copies may
 * accuse each other, and whatever bytes a brick has in an attribute. */
#include "../../xlators/cluster/replicate/copies/sources.h"

#include "../program.h"
#include <string.h>

/* Accusations as text: a row for each copy, "0" or the number for each accused copy, then "d" if it
 * is dirty and "-" if it isn't there: "01 00". */
static void
copies_of (const char *text, enum counter_kind kind, struct copy *copies, unsigned *ret_n)
{
    g_auto (GStrv) rows = g_strsplit (text, " ", 0);

    *ret_n = g_strv_length (rows);
    memset (copies, 0, COPIES_MAX * sizeof *copies);
    for (unsigned i = 0; i < *ret_n; i++) {
        copies[i].there = !strchr (rows[i], '-');
        copies[i].iatt.ia_type = IA_IFREG;
        copies[i].dirty.count[kind] = strchr (rows[i], 'd') ? 1 : 0;
        for (unsigned j = 0; copies[i].there && j < *ret_n; j++)
            copies[i].accuses[j].count[kind] = rows[i][j] - '0';
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static const struct {
    const char *counters;
    int arbiter;
    copies_t readable;
} readings[] = {
    { "000 000 000", -1, 7 },  { "001 001 000", -1, 3 }, { "001 000 000", -1, 3 },
    { "010 100 000", -1, 4 },  { "010 100", -1, 0 },     { "01 10", -1, 0 },
    { "01 00", -1, 1 },        { "- 00", -1, 2 },        { "011 100 100", -1, 0 },
    { "010 - 000", -1, 5 },    { "100 000 000", -1, 6 }, { "000 000 000", 2, 3 },
    { "010 000 000", 2, 1 },   { "000 000 110", 2, 0 },  { "- - 000", 2, 0 },
    { "000d 000d 000", -1, 7 },
};

START_TEST (accused_copies_are_not_read)
{
    struct copy copies[COPIES_MAX];
    unsigned n;

    copies_of (readings[_i].counters, COUNTER_DATA, copies, &n);
    ck_assert_msg (copies_judge (copies, n, readings[_i].arbiter).data == readings[_i].readable,
                   "'%s': %u", readings[_i].counters,
                   copies_judge (copies, n, readings[_i].arbiter).data);
}
END_TEST

START_TEST (kinds_of_counters_are_apart)
{
    struct copy copies[COPIES_MAX];
    struct readable readable;
    unsigned n;

    copies_of ("010 000 000", COUNTER_METADATA, copies, &n);
    readable = copies_judge (copies, n, -1);
    ck_assert_uint_eq (readable.data, 7);
    ck_assert_uint_eq (readable.metadata, 5);
    copies_of ("010 000 000", COUNTER_ENTRY, copies, &n);
    ck_assert_uint_eq (copies_judge (copies, n, -1).data, 7);
    for (unsigned i = 0; i < n; i++)
        copies[i].iatt.ia_type = IA_IFDIR;
    ck_assert_uint_eq (copies_judge (copies, n, -1).data, 5);
}
END_TEST

START_TEST (a_short_copy_is_not_read)
{
    struct copy copies[COPIES_MAX];
    unsigned n;

    copies_of ("000 000 000", COUNTER_DATA, copies, &n);
    copies[0].iatt.ia_size = copies[2].iatt.ia_size = 10;
    ck_assert_uint_eq (copies_judge (copies, n, -1).data, 5);
    copies[1].locked = true; /* a write is under way */
    ck_assert_uint_eq (copies_judge (copies, n, -1).data, 7);
}
END_TEST

/* --- healing ---------------------------------------------------------------------------------- */

static const struct {
    const char *counters;
    copies_t sources, sinks;
    bool split_brain;
} directions[] = {
    { "000 000 000", 7, 0, false }, { "001 001 000", 3, 4, false }, { "001 000 000", 3, 4, false },
    { "010 100 000", 4, 3, false }, { "01 10", 0, 3, true },        { "011 100 100", 0, 7, true },
    { "011 000 000", 1, 6, false }, { "11 00", 2, 1, false },       { "00d 00", 1, 2, false },
    { "000 000d 000", 2, 5, false },
};

START_TEST (healing_goes_from_good_copies_to_accused_ones)
{
    struct copy copies[COPIES_MAX];
    struct heal_direction direction;
    unsigned n;

    copies_of (directions[_i].counters, COUNTER_DATA, copies, &n);
    direction = copies_direction (copies, n, COUNTER_DATA, -1);
    ck_assert_msg (direction.sources == directions[_i].sources
                       && direction.sinks == directions[_i].sinks
                       && direction.split_brain == directions[_i].split_brain,
                   "'%s': from %u to %u", directions[_i].counters, direction.sources,
                   direction.sinks);
}
END_TEST

/* In every state of three copies: a source is not accused by a copy that believes itself, sources
 * and sinks are apart, and only a split brain has no source. */
START_TEST (every_state_of_three_copies)
{
    for (unsigned state = 0; state < 1u << 12; state++) {
        struct copy copies[COPIES_MAX] = { 0 };
        struct heal_direction direction;
        copies_t accused = 0;

        for (unsigned i = 0; i < 3; i++) {
            copies[i].there = true;
            copies[i].iatt.ia_type = IA_IFREG;
            copies[i].dirty.count[COUNTER_DATA] = state >> (9 + i) & 1;
            for (unsigned j = 0; j < 3; j++)
                copies[i].accuses[j].count[COUNTER_DATA] = state >> (i * 3 + j) & 1;
        }
        for (unsigned i = 0; i < 3; i++)
            for (unsigned j = 0; j < 3 && !(state >> (i * 3 + i) & 1); j++)
                accused |= state >> (i * 3 + j) & 1 ? COPY (j) : 0;
        direction = copies_direction (copies, 3, COUNTER_DATA, -1);
        ck_assert_uint_eq (direction.sources & direction.sinks, 0);
        ck_assert_uint_eq (direction.sources & accused, 0);
        ck_assert (direction.split_brain == (direction.sources == 0));
        ck_assert (!direction.split_brain || direction.sinks == 7);
        ck_assert_uint_eq (copies_judge (copies, 3, -1).data
                               & copies_accused (copies, 3, COUNTER_DATA),
                           0);
    }
}
END_TEST

START_TEST (policies_choose)
{
    struct copy copies[COPIES_MAX];
    unsigned n;

    copies_of ("011 101 110", COUNTER_DATA, copies, &n);
    copies[0].iatt.ia_size = 5;
    copies[1].iatt.ia_size = 9;
    copies[1].iatt.ia_mtime = 1;
    copies[2].iatt.ia_mtime = 7;
    copies[0].iatt.ia_ctime = copies[2].iatt.ia_ctime = 3;
    copies[0].iatt.ia_ctime_nsec = 1;
    ck_assert_int_eq (copies_favorite (copies, n, 7, FAVORITE_NONE), -1);
    ck_assert_int_eq (copies_favorite (copies, n, 7, FAVORITE_SIZE), 1);
    ck_assert_int_eq (copies_favorite (copies, n, 5, FAVORITE_SIZE), 0);
    ck_assert_int_eq (copies_favorite (copies, n, 7, FAVORITE_MTIME), 2);
    ck_assert_int_eq (copies_favorite (copies, n, 7, FAVORITE_CTIME), 0);
    ck_assert_int_eq (copies_favorite (copies, n, 7, FAVORITE_MAJORITY), -1);
    copies[2].iatt = copies[1].iatt;
    ck_assert_int_eq (copies_favorite (copies, n, 7, FAVORITE_MAJORITY), 1);
    ck_assert_int_eq (copies_favorite (copies, n, 7, FAVORITE_SIZE), -1); /* two are largest */
}
END_TEST

/* --- quorum, choice --------------------------------------------------------------------------- */

static const struct {
    enum quorum_type type;
    unsigned count, n;
    copies_t copies;
    bool holds;
} quorums[] = {
    { QUORUM_NONE, 0, 3, 0, false }, { QUORUM_NONE, 0, 3, 4, true },
    { QUORUM_AUTO, 0, 3, 5, true },  { QUORUM_AUTO, 0, 3, 4, false },
    { QUORUM_AUTO, 0, 2, 1, true },  { QUORUM_AUTO, 0, 2, 2, false },
    { QUORUM_AUTO, 0, 4, 3, true },  { QUORUM_AUTO, 0, 4, 12, false },
    { QUORUM_AUTO, 0, 4, 14, true }, { QUORUM_FIXED, 2, 3, 6, true },
    { QUORUM_FIXED, 3, 3, 6, false }, { QUORUM_FIXED, 0, 3, 0, false },
    { QUORUM_FIXED, 1, 3, 4, true },
};

START_TEST (a_quorum_is_counted)
{
    const struct quorum quorum = { quorums[_i].type, quorums[_i].count, quorums[_i].n };

    ck_assert (quorum_holds (&quorum, quorums[_i].copies) == quorums[_i].holds);
}
END_TEST

START_TEST (a_read_goes_to_one_good_copy)
{
    struct read_choice choice = { .n = 3, .preferred = 1 };
    unsigned chosen[3] = { 0 };

    ck_assert_int_eq (copies_choose (&choice, 7, &gfid_root, IA_IFREG), 1);
    ck_assert_int_eq (copies_choose (&choice, 4, &gfid_root, IA_IFREG), 2);
    ck_assert_int_eq (copies_choose (&choice, 0, &gfid_root, IA_IFREG), -1);
    choice.preferred = -1;
    choice.mode = READ_BY_GFID;
    for (unsigned i = 0; i < 300; i++) {
        const gfid_t gfid = gfid_of_bytes (&i, sizeof i);

        chosen[copies_choose (&choice, 7, &gfid, IA_IFREG)]++;
        ck_assert_int_ne (copies_choose (&choice, 5, &gfid, IA_IFREG), 1);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_uint_gt (chosen[i], 50);
    choice.mode = READ_LEAST_PENDING;
    choice.pending[0] = 3;
    choice.pending[2] = 1;
    choice.pending[1] = 2;
    ck_assert_int_eq (copies_choose (&choice, 7, &gfid_root, IA_IFREG), 2);
}
END_TEST

/* --- any bytes -------------------------------------------------------------------------------- */

START_TEST (a_counter_of_any_bytes)
{
    const char *const names[] = { "trusted.afr.a", "trusted.afr.b" };
    const struct changelog_names changelog = { 2, "trusted.afr.dirty", names };
    unsigned char bytes[24];
    unsigned seed = 1;

    for (unsigned i = 0; i < 2000; i++) {
        g_autoptr (dict_t) dict = dict_new ();
        struct copy copy = { .there = true };

        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (unsigned char) ((seed = seed * 1103515245u + 12345u) >> 16);
        dict_set (dict, names[i % 2], bytes, i % (sizeof bytes + 1));
        copy_read_changelog (&copy, &changelog, dict);
        ck_assert (counter_is_clear (&copy.accuses[(i + 1) % 2]));
        if (i % (sizeof bytes + 1) == COUNTER_SIZE)
            ck_assert_int_eq (copy.accuses[i % 2].count[COUNTER_DATA],
                              (int32_t) ((uint32_t) bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8
                                         | bytes[3]));
        else if (i % (sizeof bytes + 1) != 0)
            ck_assert (!counter_is_clear (&copy.accuses[i % 2])); /* it can't be trusted */
    }
}
END_TEST

START_TEST (a_counter_is_written_as_it_is_read)
{
    const struct counter counter = { { 1, -2, INT32_MAX } };
    g_autoptr (dict_t) dict = dict_new ();
    struct counter read;
    size_t size = 0;

    counter_set (dict, "m", &counter);
    read = counter_read (dict_get (dict, "m", &size), COUNTER_SIZE);
    ck_assert_uint_eq (size, COUNTER_SIZE);
    ck_assert_mem_eq (&read, &counter, sizeof counter);
}
END_TEST

TEST_PROGRAM (test_replicate)
{
    Suite *suite = suite_create ("replicate");
    TCase *tcase = tcase_create ("replicate");

    tcase_add_loop_test (tcase, accused_copies_are_not_read, 0, G_N_ELEMENTS (readings));
    tcase_add_test (tcase, kinds_of_counters_are_apart);
    tcase_add_test (tcase, a_short_copy_is_not_read);
    tcase_add_loop_test (tcase, healing_goes_from_good_copies_to_accused_ones, 0,
                         G_N_ELEMENTS (directions));
    tcase_add_test (tcase, every_state_of_three_copies);
    tcase_add_test (tcase, policies_choose);
    tcase_add_loop_test (tcase, a_quorum_is_counted, 0, G_N_ELEMENTS (quorums));
    tcase_add_test (tcase, a_read_goes_to_one_good_copy);
    tcase_add_test (tcase, a_counter_of_any_bytes);
    tcase_add_test (tcase, a_counter_is_written_as_it_is_read);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

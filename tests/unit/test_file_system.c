/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which file systems are one, whatever the numbers of their devices are; and inode numbers over
 * several of them. The list belongs to the process, so each test has devices and ids of its own. */
#include "core/data/file-system.h"

#include "../program.h"

#include <fcntl.h>
#include <unistd.h>

static GHashTable *mounted;

static void
fs_mount_at (gint64 dev)
{
    g_hash_table_add (mounted, g_memdup2 (&dev, sizeof dev));
}

static void
fs_unmount_at (gint64 dev)
{
    g_hash_table_remove (mounted, &dev);
}

static const struct file_system *
learn (uint64_t dev, const char *id, bool subvolumes)
{
    struct file_system_says says = { .subvolumes = subvolumes };

    if (id)
        says.id = gfid_of_bytes (id, strlen (id));
    return file_system_learn (dev, &says, mounted);
}

static void
file_system_setup (void)
{
    mounted = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
}

static void
file_system_teardown (void)
{
    g_hash_table_unref (mounted);
}

/* --- which is which --------------------------------------------------------------------------- */

START_TEST (the_key_is_what_it_says_wherever_it_is_mounted)
{
    const gfid_t id = gfid_of_bytes ("moves", 5);
    const struct file_system *fs;

    fs_mount_at (101);
    fs = learn (101, "moves", false);
    ck_assert (gfid_equal (&fs->key, &id));
    ck_assert_ptr_eq (file_system_of (101), fs);
    fs_unmount_at (101);
    fs_mount_at (102);
    ck_assert_ptr_eq (learn (102, "moves", false), fs);
    ck_assert_uint_eq (file_system_dev (fs), 102);
    ck_assert_uint_eq (file_system_moves (fs), 1);
    ck_assert_ptr_eq (file_system_of (102), fs);
    ck_assert_ptr_null (file_system_of (101));
}
END_TEST

START_TEST (copies_of_a_disk_are_two_while_both_are_mounted)
{
    const struct file_system *one, *other;

    fs_mount_at (201);
    fs_mount_at (202);
    one = learn (201, "copied", false);
    other = learn (202, "copied", false);
    ck_assert_ptr_ne (one, other);
    ck_assert (gfid_equal (&one->id, &other->id));
    ck_assert (!gfid_equal (&one->key, &other->key));
    ck_assert_ptr_eq (learn (201, "copied", false), one);
    ck_assert_ptr_eq (learn (202, "copied", false), other);
}
END_TEST

START_TEST (a_device_may_be_another_one_s_later_and_the_first_comes_back)
{
    const struct file_system *first, *second;

    fs_mount_at (301);
    first = learn (301, "first", false);
    second = learn (301, "second", false);
    ck_assert_ptr_ne (first, second);
    ck_assert (first->gone && !second->gone);
    ck_assert_ptr_eq (file_system_of (301), second);
    fs_mount_at (302);
    ck_assert_ptr_eq (learn (302, "first", false), first);
    ck_assert (!first->gone);
    ck_assert_ptr_eq (file_system_of (301), second);
    ck_assert_ptr_eq (file_system_of (302), first);
}
END_TEST

START_TEST (without_a_word_the_device_decides)
{
    const struct file_system *one, *other;

    fs_mount_at (401);
    fs_mount_at (402);
    one = learn (401, NULL, false);
    other = learn (402, NULL, false);
    ck_assert_ptr_ne (one, other);
    ck_assert_ptr_eq (learn (401, "could not be asked before", false), one);
}
END_TEST

START_TEST (a_device_that_no_mount_has_is_a_part_or_a_subvolume)
{
    const gfid_t id = gfid_of_bytes ("subvolume", 9);
    const struct file_system *one = learn (501, "parts", false);
    const struct file_system *other = learn (502, "parts", false);
    const struct file_system *subvolume = learn (503, "subvolume", true);

    ck_assert (!gfid_equal (&one->key, &other->key));
    ck_assert (gfid_equal (&subvolume->key, &id));
    ck_assert_ptr_eq (learn (504, "subvolume", true), subvolume);
}
END_TEST

/* This folder's own file system. */
START_TEST (a_file_system_says_the_same_through_each_descriptor)
{
    const int dir = open (".", O_RDONLY | O_DIRECTORY), path = open ("/", O_PATH | O_DIRECTORY);
    const int again = open (".", O_PATH);
    struct file_system_says one, other, third;
    unsigned char uuid[16] = { 0 }, none[16] = { 0 };

    if (!file_system_ask (dir, &one))
        file_system_ask_directory (dir, &one);
    if (!file_system_ask (again, &other))
        file_system_ask_directory (dir, &other);
    ck_assert (gfid_equal (&one.id, &other.id));
    ck_assert (file_system_ask (path, &third) || gfid_is_null (&third.id));
    if (file_system_uuid (dir, uuid))
        ck_assert (memcmp (uuid, none, sizeof uuid) != 0 && !gfid_is_null (&one.id));
    ck_assert (!file_system_uuid (path, uuid)); /* a path is not open for reading */
    close (dir);
    close (path);
    close (again);
}
END_TEST

/* --- numbers ---------------------------------------------------------------------------------- */

START_TEST (numbers_of_several_file_systems_are_different)
{
    struct number_slots slots;
    const struct file_system *one, *other;
    uint64_t number;

    number_slots_init (&slots);
    fs_mount_at (601);
    fs_mount_at (602);
    one = learn (601, "one", false);
    other = learn (602, "other", false);
    number = number_shown (&slots, one, 12);
    ck_assert_uint_eq (number & ((1ull << 48) - 1), 12);
    ck_assert_uint_ge (number, 1ull << 48);
    ck_assert_uint_lt (number, 1ull << 62);
    ck_assert_uint_eq (number, number_shown (&slots, one, 12));
    ck_assert_uint_ne (number, number_shown (&slots, other, 12));
    number = number_shown (&slots, one, 1ull << 48);
    ck_assert_uint_eq (number >> 62, 1);
    ck_assert_uint_ne (number, number_shown (&slots, other, 1ull << 48));
    ck_assert_uint_ne (number, number_shown (&slots, one, (1ull << 48) + 1));
    number_slots_destroy (&slots);
}
END_TEST

/* Another view gives the same numbers, whichever file system it meets first, unless slots clash. */
START_TEST (a_slot_is_made_of_the_key)
{
    struct number_slots slots, again;
    const struct file_system *one, *other;

    number_slots_init (&slots);
    number_slots_init (&again);
    fs_mount_at (701);
    fs_mount_at (702);
    one = learn (701, "slot one", false);
    other = learn (702, "slot other", false);
    number_shown (&slots, one, 1);
    ck_assert_uint_eq (number_shown (&slots, other, 1), number_shown (&again, other, 1));
    ck_assert_uint_eq (number_shown (&slots, one, 1), number_shown (&again, one, 1));
    number_slots_destroy (&slots);
    number_slots_destroy (&again);
}
END_TEST

/* More file systems than slots, all of one device: each is gone when the next comes. */
START_TEST (a_slot_of_one_that_is_gone_is_used_again)
{
    struct number_slots slots;

    number_slots_init (&slots);
    fs_mount_at (801);
    for (unsigned i = 0; i < 1 << 14; i++) {
        g_autofree char *id = g_strdup_printf ("file system %u", i);
        const struct file_system *fs = learn (801, id, false);

        ck_assert_uint_lt (number_shown (&slots, fs, 1), 1ull << 62);
    }
    ck_assert_uint_le (g_hash_table_size (slots.of), g_hash_table_size (slots.slots));
    number_slots_destroy (&slots);
}
END_TEST

TEST_PROGRAM (test_file_system)
{
    Suite *suite = suite_create ("file_system");
    TCase *tcase = tcase_create ("file_system");

    tcase_add_checked_fixture (tcase, file_system_setup, file_system_teardown);
    tcase_add_test (tcase, the_key_is_what_it_says_wherever_it_is_mounted);
    tcase_add_test (tcase, copies_of_a_disk_are_two_while_both_are_mounted);
    tcase_add_test (tcase, a_device_may_be_another_one_s_later_and_the_first_comes_back);
    tcase_add_test (tcase, without_a_word_the_device_decides);
    tcase_add_test (tcase, a_device_that_no_mount_has_is_a_part_or_a_subvolume);
    tcase_add_test (tcase, a_file_system_says_the_same_through_each_descriptor);
    tcase_add_test (tcase, numbers_of_several_file_systems_are_different);
    tcase_add_test (tcase, a_slot_is_made_of_the_key);
    tcase_add_test (tcase, a_slot_of_one_that_is_gone_is_used_again);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

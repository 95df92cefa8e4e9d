/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cluster/replicate above three bricks in this process. */
#include "brick_world.h"

#define SECOND INT64_C (1000000000)
#define TYPE "type cluster/replicate\n"

static void
expect_write (struct brick_world *b, fd_t *fd, const char *text, off_t offset)
{
    ck_assert_int_eq (world_write (&b->w, fd, text, offset), strlen (text));
}

/* --- the eager lock --------------------------------------------------------------------------- */

static void
expect_locks (const struct brick_world *b, unsigned locks)
{
    for (unsigned i = 0; i < b->n; i++)
        ck_assert_uint_eq (b->bricks[i]->locks->len, locks);
}

/* Returns the first number of the dirty counter, which is of changes of data. */
static uint32_t
dirty_data (const struct brick_world *b, unsigned brick, const char *name)
{
    uint32_t numbers[3] = { 0 };

    bricks_xattr (b, brick, name, "trusted.afr.dirty", numbers, sizeof numbers);
    return GUINT32_FROM_BE (numbers[0]);
}

/* The first write takes the inode lock, and sets the dirty counter. A write that follows within
 * post-op-delay needs one call a brick. After the delay the copies are clean and unlocked. */
START_TEST (an_eager_lock_is_kept_for_following_writes)
{
    g_auto (brick_world) b = bricks_begin (3, TYPE "option post-op-delay-secs 2");
    g_autoptr (fd_t) fd = world_create (&b.w, b.w.root, "file", O_RDWR, 0644);
    unsigned calls[BRICKS_MAX];

    ck_assert_ptr_nonnull (fd);
    expect_write (&b, fd, "one", 0);
    expect_locks (&b, 1);
    for (unsigned i = 0; i < b.n; i++) {
        ck_assert_uint_eq (dirty_data (&b, i, "file"), 1);
        calls[i] = b.bricks[i]->came;
    }
    expect_write (&b, fd, "two", 3);
    expect_locks (&b, 1);
    for (unsigned i = 0; i < b.n; i++)
        ck_assert_uint_eq (b.bricks[i]->came, calls[i] + 1);
    bricks_pass (3 * SECOND);
    expect_locks (&b, 0);
    for (unsigned i = 0; i < b.n; i++)
        ck_assert_uint_eq (dirty_data (&b, i, "file"), 0);
}
END_TEST

START_TEST (without_eager_lock_each_write_locks)
{
    g_auto (brick_world) b = bricks_begin (3, TYPE "option eager-lock off");
    g_autoptr (fd_t) fd = world_create (&b.w, b.w.root, "file", O_RDWR, 0644);

    ck_assert_ptr_nonnull (fd);
    expect_write (&b, fd, "one", 0);
    bricks_pass (SECOND / 100);
    expect_locks (&b, 0);
    for (unsigned i = 0; i < b.n; i++)
        ck_assert_uint_eq (dirty_data (&b, i, "file"), 0);
}
END_TEST

/* --- quorum ----------------------------------------------------------------------------------- */

/* A write with one brick down succeeds, and the copies accuse that brick. With two down it fails,
 * and the last copy does not change. */
START_TEST (a_change_needs_a_quorum)
{
    g_auto (brick_world) b = bricks_begin (3, TYPE "option quorum-type auto\n"
                                                   "option post-op-delay-secs 0");
    g_autoptr (fd_t) fd = world_create (&b.w, b.w.root, "file", O_RDWR, 0644);
    uint32_t pending[3] = { 0 };
    struct stat stat;

    ck_assert_ptr_nonnull (fd);
    bricks_kill (&b, 2);
    expect_write (&b, fd, "one", 0);
    bricks_pass (SECOND);
    ck_assert_int_eq (bricks_xattr (&b, 0, "file", "trusted.afr.brick-2", pending, sizeof pending),
                      sizeof pending);
    ck_assert_uint_gt (GUINT32_FROM_BE (pending[0]), 0);
    bricks_kill (&b, 1);
    ck_assert_int_lt (world_write (&b.w, fd, "more", 3), 0);
    ck_assert (bricks_stat (&b, 0, "file", &stat));
    ck_assert_int_eq (stat.st_size, 3);
}
END_TEST

/* --- the arbiter ------------------------------------------------------------------------------ */

/* The arbiter gets one byte of a write, which a server with features/arbiter does not keep. */
START_TEST (an_arbiter_gets_no_data)
{
    g_auto (brick_world) b = bricks_begin (3, TYPE "option arbiter-count 1\n"
                                                   "option quorum-type auto");
    g_autoptr (fd_t) fd = world_create (&b.w, b.w.root, "file", O_RDWR, 0644);
    g_autofree char *text = NULL;
    struct stat stat;

    ck_assert_ptr_nonnull (fd);
    expect_write (&b, fd, "data", 0);
    for (unsigned i = 0; i < b.n; i++) {
        ck_assert (bricks_stat (&b, i, "file", &stat));
        ck_assert_int_eq (stat.st_size, i == 2 ? 1 : 4);
    }
    text = world_read (&b.w, fd, 10, 0);
    ck_assert_str_eq (text, "data");
}
END_TEST

/* One copy and the arbiter are a quorum, unless the arbiter accuses that copy: a change would be
 * lost. */
START_TEST (the_arbiter_counts_beside_a_good_copy)
{
    g_auto (brick_world) b = bricks_begin (3, TYPE "option arbiter-count 1\n"
                                                   "option quorum-type auto");
    g_autoptr (fd_t) fd = world_create (&b.w, b.w.root, "file", O_RDWR, 0644);
    struct stat stat;

    ck_assert_ptr_nonnull (fd);
    bricks_kill (&b, 1);
    expect_write (&b, fd, "data", 0);
    ck_assert (bricks_stat (&b, 0, "file", &stat));
    ck_assert_int_eq (stat.st_size, 4);
    bricks_pass (2 * SECOND);
    ck_assert (brick_begin (b.bricks[1]));
    bricks_pass (10 * SECOND);
    bricks_kill (&b, 0);
    ck_assert_int_lt (world_write (&b.w, fd, "more", 4), 0);
    ck_assert (bricks_stat (&b, 1, "file", &stat));
    ck_assert_int_eq (stat.st_size, 0);
}
END_TEST

TEST_PROGRAM (test_replicate_bricks)
{
    Suite *suite = suite_create ("replicate_bricks");
    TCase *tcase = tcase_create ("bricks");

    if (geteuid () != 0) {
        printf ("bricks need root, for attributes in \"trusted.\"\n");
        return 77;
    }
    tcase_add_test (tcase, an_eager_lock_is_kept_for_following_writes);
    tcase_add_test (tcase, without_eager_lock_each_write_locks);
    tcase_add_test (tcase, a_change_needs_a_quorum);
    tcase_add_test (tcase, an_arbiter_gets_no_data);
    tcase_add_test (tcase, the_arbiter_counts_beside_a_good_copy);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

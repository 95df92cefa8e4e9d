/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cluster/distribute above bricks in this process. */
#include "brick_world.h"

#define TYPE "type cluster/distribute\n"
#define LAYOUT "trusted.glusterfs.dht"
#define LINKTO "trusted.glusterfs.dht.linkto"

/* --- the layout ------------------------------------------------------------------------------- */

/* The range of hashes that a brick has of a directory. */
struct hash_range {
    uint32_t start, stop;
};

static int
compare_ranges (const void *a, const void *b)
{
    const struct hash_range *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

static struct hash_range
layout_range_of (const struct brick_world *b, unsigned brick, const char *name)
{
    uint32_t value[4]; /* commit hash, type, start, stop */

    ck_assert_int_eq (bricks_xattr (b, brick, name, LAYOUT, value, sizeof value), sizeof value);
    return (struct hash_range){ GUINT32_FROM_BE (value[2]), GUINT32_FROM_BE (value[3]) };
}

START_TEST (a_new_directory_has_a_layout_without_holes)
{
    g_auto (brick_world) b = bricks_begin (3, TYPE);
    G_GNUC_UNUSED g_autoptr (inode_t) root = posix_world_look (&b.w, b.w.root, "."),
                                      directory = world_mkdir (&b.w, b.w.root, "directory", 0755);
    struct hash_range ranges[BRICKS_MAX];

    ck_assert_ptr_nonnull (directory);
    for (unsigned i = 0; i < b.n; i++)
        ranges[i] = layout_range_of (&b, i, "directory");
    qsort (ranges, b.n, sizeof *ranges, compare_ranges);
    ck_assert_uint_eq (ranges[0].start, 0);
    for (unsigned i = 1; i < b.n; i++)
        ck_assert_uint_eq (ranges[i].start, ranges[i - 1].stop + 1);
    ck_assert_uint_eq (ranges[b.n - 1].stop, UINT32_MAX);
}
END_TEST

/* --- linktos ---------------------------------------------------------------------------------- */

#define LINKTO_MODE (S_IFREG | S_ISVTX)

/* Returns the number of bricks that have the name. */
static unsigned
bricks_with (const struct brick_world *b, const char *name)
{
    struct stat stat;
    unsigned n = 0;

    for (unsigned i = 0; i < b->n; i++)
        n += bricks_stat (b, i, name, &stat);
    return n;
}

static void
expect_linkto (const struct brick_world *b, const char *name)
{
    unsigned linktos = 0;
    struct stat stat;

    for (unsigned i = 0; i < b->n; i++) {
        char to[64] = "";

        if (!bricks_stat (b, i, name, &stat) || stat.st_mode != LINKTO_MODE)
            continue;
        ck_assert_int_eq (stat.st_size, 0);
        ck_assert_int_gt (bricks_xattr (b, i, name, LINKTO, to, sizeof to), 0);
        ck_assert_str_eq (to, i == 0 ? "brick-1" : "brick-0");
        ck_assert (bricks_stat (b, 1 - i, name, &stat) && stat.st_size == 4);
        linktos++;
    }
    ck_assert_uint_eq (linktos, 1);
}

/* The data stay on the brick where the file was made. A new name whose hash belongs to the other
 * brick gets a linkto there. Of nine names some hash to each brick. */
START_TEST (a_renamed_file_has_a_linkto_on_the_hashed_brick)
{
    g_auto (brick_world) b = bricks_begin (2, TYPE);
    G_GNUC_UNUSED g_autoptr (inode_t) root = posix_world_look (&b.w, b.w.root, ".");
    g_autoptr (fd_t) fd = world_create (&b.w, b.w.root, "name-0", O_RDWR, 0644);
    unsigned linktos = 0;

    ck_assert_ptr_nonnull (fd);
    ck_assert_int_eq (world_write (&b.w, fd, "data", 0), 4);
    for (unsigned i = 1; i < 10; i++) {
        g_autofree char *from = g_strdup_printf ("name-%u", i - 1),
                        *to = g_strdup_printf ("name-%u", i);
        g_autofree char *text = NULL;

        ck_assert_int_eq (world_rename (&b.w, b.w.root, from, b.w.root, to, 0), 0);
        ck_assert_uint_eq (bricks_with (&b, from), 0);
        if (bricks_with (&b, to) == 2) {
            expect_linkto (&b, to);
            linktos++;
        }
        text = world_read (&b.w, fd, 10, 0);
        ck_assert_str_eq (text, "data");
    }
    ck_assert_uint_gt (linktos, 0);
    ck_assert_uint_lt (linktos, 9);
}
END_TEST

/* A look-up of the name follows the linkto, also for a client that never saw the file. */
START_TEST (a_look_up_follows_a_linkto)
{
    g_auto (brick_world) b = bricks_begin (2, TYPE);
    G_GNUC_UNUSED g_autoptr (inode_t) root = posix_world_look (&b.w, b.w.root, "."), inode = NULL;
    g_autofree char *name = g_strdup ("name-0");
    struct stat stat;

    g_clear_pointer (&(fd_t *){ world_create (&b.w, b.w.root, name, O_RDWR, 0644) }, fd_unref);
    for (unsigned i = 1; bricks_with (&b, name) == 1; i++) {
        g_autofree char *to = g_strdup_printf ("name-%u", i);

        ck_assert_uint_lt (i, 100);
        ck_assert_int_eq (world_rename (&b.w, b.w.root, name, b.w.root, to, 0), 0);
        g_free (name);
        name = g_steal_pointer (&to);
    }
    inode_unlink (b.w.root, name);
    inode = posix_world_look (&b.w, b.w.root, name);
    ck_assert_ptr_nonnull (inode);
    ck_assert_uint_eq (world_stat (&b.w, inode).ia_prot, 0644);
    ck_assert_int_eq (world_unlink (&b.w, b.w.root, name), 0);
    for (unsigned i = 0; i < b.n; i++)
        ck_assert (!bricks_stat (&b, i, name, &stat));
}
END_TEST

TEST_PROGRAM (test_distribute_bricks)
{
    Suite *suite = suite_create ("distribute_bricks");
    TCase *tcase = tcase_create ("bricks");

    if (geteuid () != 0) {
        printf ("bricks need root, for attributes in \"trusted.\"\n");
        return 77;
    }
    tcase_add_test (tcase, a_new_directory_has_a_layout_without_holes);
    tcase_add_test (tcase, a_renamed_file_has_a_linkto_on_the_hashed_brick);
    tcase_add_test (tcase, a_look_up_follows_a_linkto);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* copy_between: from a file of one graph to a file of another one, by the kernel or by reads and
 * writes; holes stay holes. */
#include "core/realm/copy-between.h"
#include "posix_world.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#define MIB (1 << 20)
#define HOLE (8 * MIB) /* more than any file system allocates at once */

/* What stands above the storage of each side, and whether the kernel may copy. */
static const struct {
    const char *reader, *writer;
    bool by_kernel, turned; /* turned: the bytes are rotated on the way */
} copy_cases[] = {
    { "", "", true, false },
    { "encryption/rot-13", "", false, true },
    { "", "encryption/rot-13", false, true },
    { "debug/io-stats", "", false, false },
    { "", "performance/write-behind", false, false },
    { "performance/open-behind", "performance/open-behind", true, false },
    { "features/subdirectory\noption path /", "features/subdirectory\noption path /", true, false },
};

static struct world
copy_world (const char *type)
{
    g_autofree char *above = g_strdup_printf (
        "end-volume\nvolume above\ntype %s\nsubvolumes posix\n", type);

    return posix_world_begin (*type ? above : "");
}

/* "abc" in the middle and at the end of a sparse file of 2 holes; 1 byte beyond a MiB. */
static void
copy_source (const struct world *w)
{
    g_autofree char *path = world_path (w, "from");
    int fd = open (path, O_RDWR | O_CREAT, 0600);

    ck_assert_int_ge (fd, 0);
    ck_assert_int_eq (pwrite (fd, "abc", 3, HOLE + MIB), 3);
    ck_assert_int_eq (ftruncate (fd, 2 * HOLE + MIB + 1), 0);
    close (fd);
}

struct copy_pair {
    struct world from, to;
    inode_t *source;
    struct copy_between copy;
};

static void
copy_begin (struct copy_pair *pair, unsigned i)
{
    *pair = (struct copy_pair){ .from = copy_world (copy_cases[i].reader),
                                .to = copy_world (copy_cases[i].writer) };
    copy_source (&pair->from);
    pair->source = posix_world_look (&pair->from, pair->from.root, "from");
    pair->copy = (struct copy_between){
        .reader = pair->from.client,
        .writer = pair->to.client,
        .from = world_open (&pair->from, pair->source, O_RDONLY),
        .to = world_create (&pair->to, pair->to.root, "to", O_RDWR, 0600),
        .size = 2 * HOLE + MIB + 1,
    };
}

static void
copy_end (struct copy_pair *pair)
{
    fd_unref (pair->copy.from);
    fd_unref (pair->copy.to);
    inode_unref (pair->source);
    posix_world_end (&pair->from);
    posix_world_end (&pair->to);
}

/* What is in the file of the writer's storage, once all is written. g_free it. */
static char *
copy_result (struct copy_pair *pair, struct stat *ret_st)
{
    g_autofree char *path = world_path (&pair->to, "to");
    char *text = NULL;

    sync_fsync (pair->copy.writer, pair->copy.to, 0, NULL, NULL);
    ck_assert (g_file_get_contents (path, &text, NULL, NULL));
    ck_assert_int_eq (stat (path, ret_st), 0);
    return text;
}

/* Returns whether the data of the file is that of another one, too. */
static bool
copy_is_shared (const struct copy_pair *pair)
{
    g_autofree struct fiemap *asked = g_malloc0 (sizeof *asked + 4 * sizeof *asked->fm_extents);
    g_autofree char *path = world_path (&pair->to, "to");
    const int fd = open (path, O_RDONLY);
    int r;

    *asked = (struct fiemap){ .fm_length = FIEMAP_MAX_OFFSET, .fm_extent_count = 4,
                              .fm_flags = FIEMAP_FLAG_SYNC };
    r = ioctl (fd, FS_IOC_FIEMAP, asked);
    close (fd);
    return r == 0 && asked->fm_mapped_extents > 0
        && asked->fm_extents[0].fe_flags & FIEMAP_EXTENT_SHARED;
}

START_TEST (bytes_and_holes_come_over)
{
    struct copy_pair pair;
    g_autofree char *text = NULL;
    struct stat st;

    copy_begin (&pair, (unsigned) _i);
    ck_assert_int_eq (copy_between (&pair.copy), 0);
    ck_assert_int_eq (pair.copy.by_kernel, copy_cases[_i].by_kernel);
    ck_assert_int_eq (sync_ftruncate (pair.copy.writer, pair.copy.to, (off_t) pair.copy.size, NULL,
                                      NULL), 0);
    text = copy_result (&pair, &st);
    ck_assert_int_eq (st.st_size, 2 * HOLE + MIB + 1);
    ck_assert_int_lt (st.st_blocks, MIB / 512);
    if (g_getenv ("TEST_REFLINK")) /* mount/passthrough/reflink */
        ck_assert_int_eq (copy_is_shared (&pair), copy_cases[_i].by_kernel);
    ck_assert_str_eq (text + HOLE + MIB, copy_cases[_i].turned ? "nop" : "abc");
    for (off_t i = 0; i < HOLE + MIB; i += 4096)
        ck_assert_int_eq (text[i], 0);
    copy_end (&pair);
}
END_TEST

/* _i 0: by the kernel; 1: by the graph. */
START_TEST (a_range_is_copied_and_nothing_beside_it)
{
    struct copy_pair pair;
    g_autofree char *text = NULL;
    struct stat st;

    copy_begin (&pair, _i == 0 ? 0 : 4);
    pair.copy.offset = HOLE + MIB + 1;
    pair.copy.size = 1;
    ck_assert_int_eq (copy_between (&pair.copy), 0);
    text = copy_result (&pair, &st);
    ck_assert_int_eq (st.st_size, HOLE + MIB + 2);
    ck_assert_int_eq (text[HOLE + MIB], 0);
    ck_assert_int_eq (text[HOLE + MIB + 1], 'b');
    copy_end (&pair);
}
END_TEST

START_TEST (a_source_that_is_shorter_ends_the_copy)
{
    struct copy_pair pair;
    g_autofree char *text = NULL;
    struct stat st;

    copy_begin (&pair, _i == 0 ? 0 : 4);
    pair.copy.size = UINT32_MAX;
    ck_assert_int_eq (copy_between (&pair.copy), 0);
    text = copy_result (&pair, &st);
    ck_assert_int_ge (st.st_size, HOLE + MIB + 3);
    ck_assert_str_eq (text + HOLE + MIB, "abc");
    copy_end (&pair);
}
END_TEST

static bool
copy_stop_third (void *data, off_t at)
{
    return ++*(unsigned *) data == 3;
}

/* Data in each MiB, so that there are pieces to stop between. A reflink is made in one step. */
START_TEST (a_copy_is_stopped_between_two_pieces)
{
    struct copy_pair pair;
    g_autofree char *path = NULL, *bytes = g_malloc0 (4 * MIB);
    unsigned asked = 0;

    copy_begin (&pair, 4);
    path = world_path (&pair.from, "from");
    memset (bytes, 'x', 4 * MIB);
    ck_assert (g_file_set_contents_full (path, bytes, 4 * MIB, G_FILE_SET_CONTENTS_NONE, 0600,
                                         NULL));
    fd_unref (pair.copy.from);
    inode_unref (pair.source);
    pair.source = posix_world_look (&pair.from, pair.from.root, "from");
    pair.copy.from = world_open (&pair.from, pair.source, O_RDONLY);
    pair.copy.stops = copy_stop_third;
    pair.copy.data = &asked;
    ck_assert_int_eq (copy_between (&pair.copy), -ECANCELED);
    ck_assert_uint_eq (asked, 3);
    copy_end (&pair);
}
END_TEST

/* A descriptor that may not write: the error of the graph's writev comes up. */
START_TEST (an_error_is_the_writer_s)
{
    struct copy_pair pair;
    fd_t *writable;

    copy_begin (&pair, 0);
    writable = pair.copy.to;
    pair.copy.to = world_open (&pair.to, writable->inode, O_RDONLY);
    ck_assert_int_eq (copy_between (&pair.copy), -EBADF);
    ck_assert (!pair.copy.by_kernel);
    fd_unref (writable);
    copy_end (&pair);
}
END_TEST

TEST_PROGRAM (test_copy_between)
{
    Suite *suite = suite_create ("copy_between");
    TCase *tcase = tcase_create ("copy_between");

    tcase_add_loop_test (tcase, bytes_and_holes_come_over, 0, G_N_ELEMENTS (copy_cases));
    tcase_add_loop_test (tcase, a_range_is_copied_and_nothing_beside_it, 0, 2);
    tcase_add_loop_test (tcase, a_source_that_is_shorter_ends_the_copy, 0, 2);
    tcase_add_test (tcase, a_copy_is_stopped_between_two_pieces);
    tcase_add_test (tcase, an_error_is_the_writer_s);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

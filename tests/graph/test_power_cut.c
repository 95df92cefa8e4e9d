/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* longer */
/* builds: debug tsan */
/* debug/power-cut above storage/posix: the state after a cut, for each operation. */
#include "posix_world.h"

#include "core/base/log.h"

#include <sys/xattr.h>

#define POWER_CUT(options) \
    "end-volume\nvolume power-cut\ntype debug/power-cut\n" options "subvolumes posix\n"

/* Returns the output of a command of the top. */
static char *
command (struct world *w, const char *name)
{
    const struct xlator_command *at = w->graph->top->api->commands;
    g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);
    GString *answer = g_string_new (NULL);

    while (strcmp (at->name, name) != 0)
        at++;
    w->r = at->run (w->graph->top, &(struct xlator_asked){ .input = nothing }, answer);
    return g_string_free (answer, FALSE);
}

static void
cut_cut (struct world *w)
{
    g_autofree char *answer = command (w, "cut");

    ck_assert_msg (w->r == 0 && !strstr (answer, "could not be"), "%s", answer);
}

static void
durable (struct world *w)
{
    g_free (command (w, "sync"));
    ck_assert_int_eq (w->r, 0);
}

static fd_t *
cut_make (struct world *w, const char *name, const char *text)
{
    fd_t *fd = world_create (w, w->root, name, O_RDWR, 0644);

    ck_assert_ptr_nonnull (fd);
    ck_assert_int_eq (world_write (w, fd, text, 0), (int) strlen (text));
    return fd;
}

static void
fsync_dir (struct world *w, inode_t *dir)
{
    g_autoptr (fd_t) fd = world_open (w, dir, O_RDONLY);

    ck_assert_int_eq (sync_fsyncdir (w->client, fd, 0, NULL, NULL), 0);
}

/* Returns the content of a file in the directory itself; NULL: the file does not exist. g_free
 * it. */
static char *
cut_stored (const struct world *w, const char *name)
{
    g_autofree char *path = world_path (w, name);
    char *text = NULL;

    g_file_get_contents (path, &text, NULL, NULL);
    return text;
}

static void
expect_stored (const struct world *w, const char *name, const char *expected)
{
    g_autofree char *text = cut_stored (w, name);

    ck_assert_msg (g_strcmp0 (text, expected) == 0, "'%s' is '%s', not '%s'", name,
                   text ? text : "gone", expected ? expected : "gone");
}

/* --- bytes ------------------------------------------------------------------------------------ */

START_TEST (all_is_refused_after_a_cut)
{
    struct world w = posix_world_begin (POWER_CUT (""));
    fd_t *fd = cut_make (&w, "f", "hello");
    loc_t loc = { .inode = w.root };

    cut_cut (&w);
    ck_assert_int_eq (world_write (&w, fd, "hello", 0), -EIO);
    ck_assert_int_eq (sync_stat (w.client, &loc, NULL, NULL), -EIO);
    ck_assert_ptr_null (posix_world_look (&w, w.root, "f"));
    ck_assert_int_eq (w.r, -EIO);
    g_free (command (&w, "cut"));
    ck_assert_int_eq (w.r, -EALREADY);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

enum { BY_FSYNC, BY_FDATASYNC, BY_O_DSYNC, BY_WRITE_FLAG, BY_NOTHING, WAYS };

START_TEST (each_way_to_make_bytes_durable)
{
    struct world w = posix_world_begin (POWER_CUT (""));
    fd_t *fd = cut_make (&w, "f", "old..");
    struct iovec iov = { "new", 3 };

    durable (&w);
    if (_i == BY_O_DSYNC) {
        fd_unref (fd);
        g_autoptr (inode_t) inode = posix_world_look (&w, w.root, "f");
        fd = world_open (&w, inode, O_RDWR | O_DSYNC);
    }
    ck_assert_int_eq (sync_writev (w.client, fd, &iov, 1, 0, _i == BY_WRITE_FLAG ? O_DSYNC : 0,
                                   NULL, NULL, NULL),
                      3);
    if (_i == BY_FSYNC || _i == BY_FDATASYNC)
        ck_assert_int_eq (sync_fsync (w.client, fd, _i == BY_FDATASYNC, NULL, NULL), 0);
    fd_unref (fd);
    cut_cut (&w);
    expect_stored (&w, "f", _i == BY_NOTHING ? "old.." : "new..");
    posix_world_end (&w);
}
END_TEST

/* A synchronous write makes its own bytes durable, and no others. */
START_TEST (a_synchronous_write_beside_another)
{
    struct world w = posix_world_begin (POWER_CUT (""));
    fd_t *fd = cut_make (&w, "f", "aaaaaaaaaa");
    struct iovec iov = { "SS", 2 };

    durable (&w);
    ck_assert_int_eq (world_write (&w, fd, "bbbb", 0), 4);
    ck_assert_int_eq (sync_writev (w.client, fd, &iov, 1, 2, O_DSYNC, NULL, NULL, NULL), 2);
    ck_assert_int_eq (sync_writev (w.client, fd, &iov, 1, 10, O_SYNC, NULL, NULL, NULL), 2);
    ck_assert_int_eq (world_write (&w, fd, "lost", 12), 4);
    fd_unref (fd);
    cut_cut (&w);
    expect_stored (&w, "f", "aaSSaaaaaaSS");
    posix_world_end (&w);
}
END_TEST

enum {
    CUT_OFF,
    OPEN_TRUNC,
    CREATE_TRUNC,
    GROW,
    PUNCH,
    DISCARD,
    ZEROFILL,
    ALLOCATE,
    APPEND,
    COPY,
    KINDS
};

static void
cut_change (struct world *w, fd_t *fd, int kind)
{
    g_autoptr (fd_t) other = NULL;
    loc_t loc = { .inode = fd->inode };
    int r = 0;

    if (kind == CUT_OFF)
        r = sync_truncate (w->client, &loc, 3, NULL, NULL);
    if (kind == OPEN_TRUNC)
        other = world_open (w, fd->inode, O_RDWR | O_TRUNC);
    if (kind == CREATE_TRUNC)
        other = world_create (w, w->root, "f", O_RDWR | O_TRUNC, 0644);
    if (kind == GROW)
        r = sync_ftruncate (w->client, fd, 100000, NULL, NULL);
    if (kind == PUNCH)
        r = sync_fallocate (w->client, fd, 3 /* punch, keep size */, 2, 4000, NULL, NULL);
    if (kind == DISCARD)
        r = sync_discard (w->client, fd, 2, 4000, NULL, NULL);
    if (kind == ZEROFILL)
        r = sync_zerofill (w->client, fd, 2, 20000, NULL, NULL);
    if (kind == ALLOCATE)
        r = sync_fallocate (w->client, fd, 0, 0, 30000, NULL, NULL);
    if (kind == APPEND) {
        other = world_open (w, fd->inode, O_WRONLY | O_APPEND);
        r = world_write (w, other, "more", 0) == 4 ? 0 : -EIO;
    }
    if (kind == COPY) {
        other = cut_make (w, "other", "something else");
        r = sync_copy_file_range (w->client, other, 0, fd, 5, 9, 0, NULL, NULL) == 9 ? 0 : -EIO;
    }
    if (r != -EOPNOTSUPP)
        ck_assert_int_eq (r, 0);
}

START_TEST (each_change_of_bytes_is_undone)
{
    const uint64_t limits[] = { 1 << 20, 0 }; /* in memory, and in a file */
    g_autofree char *options = g_strdup_printf (POWER_CUT ("option memory-limit %d\n"),
                                                (int) limits[_i % 2]);
    struct world w = posix_world_begin (options);
    g_autofree char *text = g_strnfill (9000, 'x');
    fd_t *fd = cut_make (&w, "f", text);

    durable (&w);
    cut_change (&w, fd, _i / 2);
    ck_assert_int_eq (world_write (&w, fd, "and then this", 1), 13);
    fd_unref (fd);
    cut_cut (&w);
    expect_stored (&w, "f", text);
    posix_world_end (&w);
}
END_TEST

/* Each sector is either old or new, never a mixture, and both occur. */
START_TEST (torn_writes_are_whole_sectors)
{
    struct world w = posix_world_begin (POWER_CUT ("option data torn\noption seed 3\n"));
    g_autofree char *old = g_strnfill (64 * 512, 'o'), *new = g_strnfill (64 * 512, 'n');
    fd_t *fd = cut_make (&w, "f", old);
    unsigned kept = 0;

    durable (&w);
    ck_assert_int_eq (world_write (&w, fd, new, 0), 64 * 512);
    fd_unref (fd);
    cut_cut (&w);
    g_autofree char *text = cut_stored (&w, "f");
    for (unsigned i = 0; i < 64; i++) {
        ck_assert (memcmp (text + i * 512, old, 512) == 0
                   || memcmp (text + i * 512, new, 512) == 0);
        kept += text[i * 512] == 'n';
    }
    ck_assert_uint_gt (kept, 8);
    ck_assert_uint_lt (kept, 56);
    posix_world_end (&w);
}
END_TEST

/* With sizes early, some files end with zeros; otherwise none does. */
START_TEST (sizes_ahead_of_data)
{
    const bool early = _i == 1;
    unsigned zeros = 0, ends = 0;

    for (int seed = 0; seed < 30; seed++) {
        g_autofree char *options =
            g_strdup_printf (POWER_CUT ("option data random\noption sizes %s\noption seed %d\n"),
                             early ? "early" : "data", seed);
        struct world w = posix_world_begin (options);
        g_autofree char *text = g_strnfill (5 * 4096, 'x'), *path = world_path (&w, "f"),
                        *found = NULL;
        fd_t *fd = cut_make (&w, "f", "x");
        gsize size;

        durable (&w);
        ck_assert_int_eq (world_write (&w, fd, text, 0), 5 * 4096);
        fd_unref (fd);
        cut_cut (&w);
        ck_assert (g_file_get_contents (path, &found, &size, NULL));
        zeros += memchr (found, 0, size) != NULL;
        ends += size == 5 * 4096;
        posix_world_end (&w);
    }
    ck_assert_int_eq (zeros > 0, early);
    ck_assert_uint_gt (ends, 0);
}
END_TEST

/* --- attributes ------------------------------------------------------------------------------- */

START_TEST (attributes_need_fsync)
{
    const bool synced = _i == 0;
    struct world w = posix_world_begin (POWER_CUT (""));
    fd_t *fd = cut_make (&w, "f", "hello");
    struct iatt to = { .ia_prot = 0600, .ia_mtime = 1000 };
    g_autoptr (dict_t) dict = dict_new ();
    g_autofree char *path = world_path (&w, "f");
    struct stat before, after;
    loc_t loc = { .inode = fd->inode };

    durable (&w);
    ck_assert_int_eq (stat (path, &before), 0);
    dict_set_str (dict, "user.a", "b");
    ck_assert_int_eq (sync_fsetattr (w.client, fd, &to, IATT_MODE | IATT_MTIME, NULL, NULL), 0);
    int xattrs = sync_setxattr (w.client, &loc, dict, 0, NULL, NULL);
    /* fdatasync: not attributes */
    ck_assert_int_eq (sync_fsync (w.client, fd, !synced, NULL, NULL), 0);
    fd_unref (fd);
    cut_cut (&w);
    ck_assert_int_eq (stat (path, &after), 0);
    ck_assert_uint_eq (after.st_mode & 07777, synced ? 0600 : 0644);
    ck_assert_int_eq (after.st_mtime, synced ? 1000 : before.st_mtime);
    if (xattrs == 0)
        ck_assert_int_eq (getxattr (path, "user.a", NULL, 0) >= 0, synced);
    posix_world_end (&w);
}
END_TEST

/* --- names ------------------------------------------------------------------------------------ */

START_TEST (a_new_file_needs_its_directory)
{
    const bool names_too = _i & 1, dir_too = _i & 2;
    g_autofree char *options = g_strdup_printf (POWER_CUT ("option fsync %s\n"),
                                                names_too ? "file-and-names" : "file");
    struct world w = posix_world_begin (options);
    fd_t *fd = cut_make (&w, "f", "hello");

    ck_assert_int_eq (sync_fsync (w.client, fd, 0, NULL, NULL), 0);
    if (dir_too)
        fsync_dir (&w, w.root);
    fd_unref (fd);
    cut_cut (&w);
    expect_stored (&w, "f", names_too || dir_too ? "hello" : NULL);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_durable_name_without_its_data_is_an_empty_file)
{
    struct world w = posix_world_begin (POWER_CUT (""));
    fd_t *fd = cut_make (&w, "f", "hello");

    fsync_dir (&w, w.root);
    fd_unref (fd);
    cut_cut (&w);
    expect_stored (&w, "f", "");
    posix_world_end (&w);
}
END_TEST

/* A removed file comes back with its durable content, also if it was changed while open. */
START_TEST (unlink_is_undone)
{
    const bool synced = _i == 1;
    struct world w = posix_world_begin (POWER_CUT (""));
    fd_t *fd = cut_make (&w, "f", "hello");
    struct fstat_reply reply;

    durable (&w);
    ck_assert_int_eq (world_unlink (&w, w.root, "f"), 0);
    ck_assert_int_eq (world_write (&w, fd, "J", 0), 1);
    ck_assert_int_eq (sync_fstat (w.client, fd, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_nlink, 0);
    fstat_reply_drop (&reply);
    if (synced)
        fsync_dir (&w, w.root);
    fd_unref (fd);
    cut_cut (&w);
    expect_stored (&w, "f", synced ? NULL : "hello");
    posix_world_end (&w);
}
END_TEST

/* A file without a name that gets a name by link, made durable in steps. */
START_TEST (a_tmpfile_that_gets_a_name)
{
    struct world w = posix_world_begin (POWER_CUT (""));
    g_autoptr (fd_t) fd = fd_new (&w.graph->fd_maker, NULL, O_RDWR, getpid ());
    loc_t dir = { .inode = w.root }, from, to;
    struct tmpfile_reply reply;
    struct link_reply linked;

    w.r = sync_tmpfile (w.client, &dir, O_RDWR, 0644, 022, fd, NULL, &reply);
    if (w.r == -EOPNOTSUPP) {
        tmpfile_reply_drop (&reply);
        posix_world_end (&w);
        return;
    }
    ck_assert_int_eq (w.r, 0);
    g_autoptr (inode_t) inode = inode_link (reply.inode, NULL, NULL, &reply.buf);
    tmpfile_reply_drop (&reply);
    ck_assert_int_eq (world_write (&w, fd, "durable", 0), 7);
    ck_assert_int_eq (sync_fsync (w.client, fd, 0, NULL, NULL), 0);
    ck_assert_int_eq (world_write (&w, fd, "LOST", 0), 4);
    from = (loc_t){ .inode = inode };
    to = (loc_t){ .name = "f", .parent = w.root, .inode = inode };
    ck_assert_int_eq (sync_link (w.client, &from, &to, NULL, &linked), 0);
    link_reply_drop (&linked);
    fsync_dir (&w, w.root);
    g_clear_pointer (&fd, fd_unref);
    g_clear_pointer (&inode, inode_unref);
    cut_cut (&w);
    expect_stored (&w, "f", "durable");
    posix_world_end (&w);
}
END_TEST

/* If a file was moved out of a directory, the removal of the directory makes the move durable, too:
 * otherwise the file would be in neither place. */
START_TEST (a_file_moved_out_of_a_directory_that_is_gone)
{
    struct world w = posix_world_begin (POWER_CUT (""));
    g_autoptr (inode_t) from = world_mkdir (&w, w.root, "from", 0755),
                        to = world_mkdir (&w, w.root, "to", 0755);
    loc_t loc = { .name = "from", .parent = w.root, .inode = from };

    fd_unref (cut_make (&w, "f", "hello"));
    ck_assert_int_eq (world_rename (&w, w.root, "f", from, "f", 0), 0);
    durable (&w);
    ck_assert_int_eq (world_rename (&w, from, "f", to, "f", 0), 0);
    ck_assert_int_eq (sync_rmdir (w.client, &loc, 0, NULL, NULL), 0);
    inode_unlink (w.root, "from");
    fsync_dir (&w, w.root);
    g_clear_pointer (&from, inode_unref);
    g_clear_pointer (&to, inode_unref);
    cut_cut (&w);
    expect_stored (&w, "to/f", "hello");
    posix_world_end (&w);
}
END_TEST

/* With any seed: after a rename onto a file, the name has either the whole old file or the whole
 * new file. */
START_TEST (rename_is_atomic)
{
    static const char *const rules[] = { "names random", "names ordered\noption journal-every 3",
                                         "names lose", "model ext4-ordered" };
    /* the last few have the new file */
    const unsigned seeds = test_amount (_i == 3 ? 150 : 15, 150);
    unsigned old = 0, new = 0;

    for (unsigned seed = 0; seed < seeds; seed++) {
        g_autofree char *options = g_strdup_printf (POWER_CUT ("option %s\noption seed %u\n"),
                                                    rules[_i], seed);
        struct world w = posix_world_begin (options);
        g_autofree char *found = NULL;
        fd_t *fd = cut_make (&w, "f", "old");

        durable (&w);
        fd_unref (fd);
        fd = cut_make (&w, "new", "new");
        ck_assert_int_eq (sync_fsync (w.client, fd, 0, NULL, NULL), 0);
        fd_unref (fd);
        ck_assert_int_eq (world_rename (&w, w.root, "new", w.root, "f", 0), 0);
        cut_cut (&w);
        found = cut_stored (&w, "f");
        ck_assert_msg (found != NULL, "seed %u: neither the old nor the new file is there", seed);
        old += strcmp (found, "old") == 0;
        new += strcmp (found, "new") == 0;
        posix_world_end (&w);
    }
    ck_assert_uint_eq (old + new, seeds);
    ck_assert_uint_gt (old, 0);
    ck_assert_int_eq (new > 0, _i != 2);
}
END_TEST

/* With a journal, names become durable in the order of their creation. */
START_TEST (ordered_names_are_a_prefix)
{
    for (int seed = 0; seed < 50; seed++) {
        g_autofree char *options = g_strdup_printf (
            POWER_CUT ("option names ordered\noption journal-every 4\noption seed %d\n"), seed);
        struct world w = posix_world_begin (options);
        bool over = false;

        for (int i = 0; i < 10; i++) {
            g_autofree char *name = g_strdup_printf ("%d", i);
            fd_unref (cut_make (&w, name, "x"));
        }
        cut_cut (&w);
        for (int i = 0; i < 10; i++) {
            g_autofree char *name = g_strdup_printf ("%d", i), *path = world_path (&w, name);
            const bool there = g_file_test (path, G_FILE_TEST_EXISTS);
            ck_assert_msg (!there || !over, "seed %d: %d is there, and one before it isn't", seed,
                           i);
            over |= !there;
        }
        posix_world_end (&w);
    }
}
END_TEST

/* Remains of a killed daemon are not visible, and are removed at the next change. */
START_TEST (what_is_left_of_a_crash_is_removed)
{
    struct world w = posix_world_begin (POWER_CUT (""));
    g_autofree char *hidden = world_path (&w, ".windlass-power-cut"),
                    *below = g_build_filename (hidden, "1", "2", NULL);

    ck_assert_int_eq (g_mkdir_with_parents (below, 0700), 0);
    ck_assert_ptr_null (posix_world_look (&w, w.root, ".windlass-power-cut"));
    ck_assert_int_eq (w.r, -ENOENT);
    ck_assert_ptr_null (world_mkdir (&w, w.root, ".windlass-power-cut", 0755));
    ck_assert_int_eq (w.r, -EPERM);
    fd_unref (cut_make (&w, "f", "x"));
    ck_assert (!g_file_test (hidden, G_FILE_TEST_EXISTS));
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_power_cut)
{
    Suite *suite = suite_create ("power-cut");
    TCase *tcase = tcase_create ("power-cut");

    log_set_level (GF_LOG_ERROR); /* suppresses the losses of each cut */
    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, all_is_refused_after_a_cut);
    tcase_add_loop_test (tcase, each_way_to_make_bytes_durable, 0, WAYS);
    tcase_add_test (tcase, a_synchronous_write_beside_another);
    tcase_add_loop_test (tcase, each_change_of_bytes_is_undone, 0, KINDS * 2);
    tcase_add_test (tcase, torn_writes_are_whole_sectors);
    tcase_add_loop_test (tcase, sizes_ahead_of_data, 0, 2);
    tcase_add_loop_test (tcase, attributes_need_fsync, 0, 2);
    tcase_add_loop_test (tcase, a_new_file_needs_its_directory, 0, 4);
    tcase_add_test (tcase, a_durable_name_without_its_data_is_an_empty_file);
    tcase_add_loop_test (tcase, unlink_is_undone, 0, 2);
    tcase_add_test (tcase, a_tmpfile_that_gets_a_name);
    tcase_add_test (tcase, a_file_moved_out_of_a_directory_that_is_gone);
    tcase_add_loop_test (tcase, rename_is_atomic, 0, 4);
    tcase_add_test (tcase, ordered_names_are_a_prefix);
    tcase_add_test (tcase, what_is_left_of_a_crash_is_removed);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

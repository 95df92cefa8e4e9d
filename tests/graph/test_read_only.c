/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* features/read-only above storage/posix: which calls are refused depends on their flags, commands
 * and processes. */
#include "posix_world.h"

#include <linux/fs.h>

#define READ_ONLY "end-volume\nvolume ro\ntype features/read-only\nsubvolumes posix\n"
#define OWN_PID -5 /* GlusterFS's numbers for its own processes are negative */

/* A file that the file system's own process has made. */
static inode_t *
read_only_file (struct world *w)
{
    w->client->pid = OWN_PID;
    fd_t *fd = world_create (w, w->root, "file", O_RDWR, 0644);
    inode_t *inode;

    ck_assert_int_eq (w->r, 0);
    ck_assert_int_eq (world_write (w, fd, "text", 0), 4);
    w->client->pid = getpid ();
    inode = inode_ref (fd->inode);
    fd_unref (fd);
    return inode;
}

START_TEST (own_processes_change_files)
{
    g_auto (world) w = posix_world_begin (READ_ONLY);
    G_GNUC_UNUSED g_autoptr (inode_t) file = read_only_file (&w), dir = NULL, none = NULL;

    none = world_mkdir (&w, w.root, "none", 0755);
    ck_assert_int_eq (w.r, -EROFS);
    w.client->pid = OWN_PID;
    dir = world_mkdir (&w, w.root, "dir", 0755);
    ck_assert_int_eq (w.r, 0);
}
END_TEST

static const struct {
    uint32_t flags;
    int r;
} read_only_opens[] = {
    { O_RDONLY, 0 },      { O_RDONLY | O_TRUNC, -EROFS }, { O_WRONLY, -EROFS },
    { O_RDWR, -EROFS },   { O_RDONLY | O_APPEND, 0 },     { O_RDWR | O_TRUNC, -EROFS },
};

START_TEST (an_open_is_judged_by_its_flags)
{
    g_auto (world) w = posix_world_begin (READ_ONLY);
    g_autoptr (inode_t) file = read_only_file (&w);
    fd_t *fd = world_open (&w, file, read_only_opens[_i].flags);

    ck_assert_int_eq (w.r, read_only_opens[_i].r);
    ck_assert_uint_eq (world_stat (&w, file).ia_size, 4);
    if (fd)
        fd_unref (fd);
}
END_TEST

START_TEST (an_ioctl_is_judged_by_its_command)
{
    static const int flags = FS_NODUMP_FL;
    g_auto (world) w = posix_world_begin (READ_ONLY);
    g_autoptr (inode_t) file = read_only_file (&w);
    g_autoptr (GBytes) in = g_bytes_new_static (&flags, sizeof flags);
    fd_t *fd = world_open (&w, file, O_RDONLY);
    struct ioctl_reply reply;

    ck_assert_int_eq (sync_ioctl (w.client, fd, (uint32_t) FS_IOC_SETFLAGS, in, 0, NULL, NULL),
                      -EROFS);
    w.r = sync_ioctl (w.client, fd, (uint32_t) FS_IOC_GETFLAGS, NULL, sizeof (int), NULL, &reply);
    ck_assert_int_ne (w.r, -EROFS);
    ioctl_reply_drop (&reply);
    fd_unref (fd);
}
END_TEST

START_TEST (locks_and_syncs_pass)
{
    struct gf_flock range = { .l_type = F_RDLCK, .l_len = 1 };
    g_auto (world) w = posix_world_begin (READ_ONLY);
    g_autoptr (inode_t) file = read_only_file (&w);
    fd_t *fd = world_open (&w, file, O_RDONLY), *dir = world_open (&w, w.root, O_RDONLY);

    ck_assert_int_eq (sync_lk (w.client, fd, F_SETLK, &range, NULL, NULL), 0);
    ck_assert_int_eq (sync_fsync (w.client, fd, 0, NULL, NULL), 0);
    ck_assert_int_eq (sync_fsyncdir (w.client, dir, 0, NULL, NULL), 0);
    fd_unref (fd);
    fd_unref (dir);
}
END_TEST

TEST_PROGRAM (test_read_only)
{
    Suite *suite = suite_create ("read-only");
    TCase *tcase = tcase_create ("read-only");

    tcase_add_test (tcase, own_processes_change_files);
    tcase_add_loop_test (tcase, an_open_is_judged_by_its_flags, 0, G_N_ELEMENTS (read_only_opens));
    tcase_add_test (tcase, an_ioctl_is_judged_by_its_command);
    tcase_add_test (tcase, locks_and_syncs_pass);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

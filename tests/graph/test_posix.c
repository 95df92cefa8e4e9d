/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* longer */
/* builds: debug tsan */
/* storage/posix: names, data, attributes and directories, with each way of finding files again. */
#include "posix_world.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/xattr.h>

START_TEST (attributes_are_the_real_ones)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autofree char *path = world_path (&w, "f");
    struct stat st;

    ck_assert (g_file_set_contents (path, "hello", 5, NULL));
    ck_assert_int_eq (stat (path, &st), 0);
    g_autoptr (inode_t) inode = posix_world_look (&w, w.root, "f");
    struct iatt buf = world_stat (&w, inode);
    ck_assert_uint_eq (buf.ia_ino, st.st_ino);
    ck_assert_uint_eq (buf.ia_blocks, (uint64_t) st.st_blocks);
    ck_assert_int_eq (buf.ia_mtime_nsec, st.st_mtim.tv_nsec);
    ck_assert_uint_eq (buf.ia_size, 5);
    ck_assert_int_eq (buf.ia_type, IA_IFREG);
    ck_assert (gfid_equal (&buf.ia_gfid, &inode->gfid));
    ck_assert (!gfid_equal (&buf.ia_gfid, &gfid_root));
    buf = world_stat (&w, w.root);
    ck_assert (gfid_equal (&buf.ia_gfid, &gfid_root));
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (bad_names_are_refused)
{
    struct world w = posix_world_begin (world_modes[_i]);
    static const char *const bad[] = { "", ".", "..", "a/b", "/etc", "../x" };
    g_autofree char *name = g_strnfill (256, 'n');

    for (size_t i = 0; i < G_N_ELEMENTS (bad); i++) {
        ck_assert_ptr_null (world_create (&w, w.root, bad[i], O_RDWR, 0644));
        ck_assert_int_eq (w.r, -EINVAL);
        ck_assert_ptr_null (world_mkdir (&w, w.root, bad[i], 0755));
        ck_assert_int_eq (w.r, -EINVAL);
        ck_assert_int_eq (world_unlink (&w, w.root, bad[i]), -EINVAL);
        ck_assert_int_eq (world_rename (&w, w.root, bad[i], w.root, "x", 0), -EINVAL);
    }
    ck_assert_ptr_null (posix_world_look (&w, w.root, "../etc"));
    ck_assert_int_eq (w.r, -EINVAL);
    ck_assert_ptr_null (world_create (&w, w.root, name, O_RDWR, 0644));
    ck_assert_int_eq (w.r, -ENAMETOOLONG);
    ck_assert_ptr_null (posix_world_look (&w, w.root, "none"));
    ck_assert_int_eq (w.r, -ENOENT);
    posix_world_end (&w);
}
END_TEST

/* lookup of ".." and "." does not leave the root. */
static gfid_t
gfid_looked_up (struct world *w, inode_t *dir, const char *name)
{
    g_autoptr (inode_t) fresh = inode_new (w->graph->itable);
    loc_t loc = { .name = name, .parent = dir, .inode = fresh };
    struct lookup_reply reply;
    gfid_t gfid;

    ck_assert_int_eq (sync_lookup (w->client, &loc, NULL, &reply), 0);
    gfid = reply.buf.ia_gfid;
    lookup_reply_drop (&reply);
    return gfid;
}

START_TEST (dots_stay_inside)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autoptr (inode_t) a = world_mkdir (&w, w.root, "a", 0755), b = world_mkdir (&w, a, "b", 0755);
    gfid_t gfid = gfid_looked_up (&w, w.root, "..");

    ck_assert (gfid_equal (&gfid, &gfid_root));
    gfid = gfid_looked_up (&w, b, "..");
    ck_assert (gfid_equal (&gfid, &a->gfid));
    gfid = gfid_looked_up (&w, b, ".");
    ck_assert (gfid_equal (&gfid, &b->gfid));
    g_clear_pointer (&a, inode_unref);
    g_clear_pointer (&b, inode_unref);
    posix_world_end (&w);
}
END_TEST

/* Without a known name the system is asked, which does not stop at the root. */
START_TEST (dots_of_what_was_moved_away_are_stale)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autoptr (inode_t) a = world_mkdir (&w, w.root, "a", 0755), b = world_mkdir (&w, a, "b", 0755);
    g_autofree char *path = world_path (&w, "a"), *outside = g_strconcat (w.dir, "-outside", NULL);
    loc_t loc = { .name = "..", .parent = a };
    gfid_t gfid;

    fd_t *keep = world_open (&w, a, O_RDONLY), *keep_b = world_open (&w, b, O_RDONLY);
    inode_unlink (a, "b");
    world_stat (&w, b);
    if (w.r == 0) {
        gfid = gfid_looked_up (&w, b, "..");
        ck_assert (gfid_equal (&gfid, &a->gfid));
    }
    world_stat (&w, a);
    inode_unlink (w.root, "a");
    gfid = gfid_looked_up (&w, a, "..");
    ck_assert (gfid_equal (&gfid, &gfid_root));
    ck_assert_int_eq (rename (path, outside), 0);
    ck_assert_int_eq (sync_lookup (w.client, &loc, NULL, NULL), -ESTALE);
    ck_assert_int_eq (rename (outside, path), 0);
    fd_unref (keep);
    fd_unref (keep_b);
    g_clear_pointer (&a, inode_unref);
    g_clear_pointer (&b, inode_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (any_bytes_make_a_name)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autofree char *longest = g_strnfill (255, 'n');
    const char *const names[] = { "\xff\xfe\x80", "a\nb", " ", "-", longest, "..." };

    for (size_t i = 0; i < G_N_ELEMENTS (names); i++) {
        g_autofree char *path = world_path (&w, names[i]);
        fd_t *fd = world_create (&w, w.root, names[i], O_RDWR | O_EXCL, 0644);
        ck_assert_int_eq (w.r, 0);
        ck_assert (g_file_test (path, G_FILE_TEST_IS_REGULAR));
        ck_assert_ptr_null (world_create (&w, w.root, names[i], O_RDWR | O_EXCL, 0644));
        ck_assert_int_eq (w.r, -EEXIST);
        fd_unref (fd);
        ck_assert_int_eq (world_unlink (&w, w.root, names[i]), 0);
    }
    posix_world_end (&w);
}
END_TEST

START_TEST (data_beyond_4_gib_is_sparse)
{
    struct world w = posix_world_begin (world_modes[_i]);
    const off_t far = 5LL << 30;
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *copy = world_create (&w, w.root, "g", O_RDWR, 0644);
    struct seek_reply seek;
    struct fstat_reply st;

    ck_assert_int_eq (world_write (&w, fd, "far away", far), 8);
    ck_assert_int_eq (world_write (&w, fd, "near", 0), 4);
    g_autofree char *text = world_read (&w, fd, 100, far);
    ck_assert_str_eq (text, "far away");
    ck_assert_int_eq (sync_fstat (w.client, fd, NULL, &st), 0);
    ck_assert_int_eq (st.buf.ia_size, far + 8);
    ck_assert_int_lt (st.buf.ia_blocks, 1000);
    fstat_reply_drop (&st);
    ck_assert_int_eq (sync_seek (w.client, fd, 1 << 20, SEEK_DATA, NULL, &seek), 0);
    ck_assert_int_eq (seek.offset, far);
    seek_reply_drop (&seek);
    ck_assert_int_eq (sync_seek (w.client, fd, 0, SEEK_SET, NULL, NULL), -EINVAL);
    ck_assert_int_eq (sync_copy_file_range (w.client, fd, far, copy, 3, 8, 0, NULL, NULL), 8);
    g_autofree char *copied = world_read (&w, copy, 100, 3);
    ck_assert_str_eq (copied, "far away");
    fd_unref (fd);
    fd_unref (copy);
    posix_world_end (&w);
}
END_TEST

START_TEST (room_is_made_and_taken)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct ftruncate_reply reply;

    ck_assert_int_eq (sync_fallocate (w.client, fd, 0, 0, 1 << 20, NULL, NULL), 0);
    ck_assert_int_eq (world_write (&w, fd, "0123456789", 0), 10);
    ck_assert_int_eq (sync_zerofill (w.client, fd, 2, 3, NULL, NULL), 0);
    ck_assert_int_eq (sync_discard (w.client, fd, 4096, 4096, NULL, NULL), 0);
    ck_assert_int_eq (sync_fallocate (w.client, fd, 0, 0, 0, NULL, NULL), -EINVAL);
    ck_assert_int_eq (sync_fallocate (w.client, fd, 0, -1, 5, NULL, NULL), -EINVAL);
    ck_assert_int_eq (sync_zerofill (w.client, fd, 1, SIZE_MAX, NULL, NULL), -EFBIG);
    ck_assert_int_eq (sync_ftruncate (w.client, fd, 10, NULL, &reply), 0);
    ck_assert_int_eq (reply.prebuf.ia_size, 1 << 20);
    ck_assert_int_eq (reply.postbuf.ia_size, 10);
    ftruncate_reply_drop (&reply);
    g_autofree char *text = world_read (&w, fd, 100, 5);
    ck_assert_str_eq (text, "56789");
    ck_assert_int_eq (world_write (&w, fd, "x", -1), -EINVAL);
    ck_assert_int_eq (sync_readv (w.client, fd, (size_t) 1 << 40, 0, 0, NULL, NULL), -EINVAL);
    ck_assert_int_eq (sync_fsync (w.client, fd, 1, NULL, NULL), 0);
    ck_assert_int_eq (sync_flush (w.client, fd, NULL, NULL), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (appending_ignores_the_offset)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR | O_APPEND, 0644);
    struct iovec many[200];

    ck_assert_int_eq (world_write (&w, fd, "one", 0), 3);
    ck_assert_int_eq (world_write (&w, fd, "two", 0), 3);
    for (int i = 0; i < 200; i++)
        many[i] = (struct iovec){ (void *) (i % 2 ? "b" : "a"), i == 7 ? 0 : 1 };
    ck_assert_int_eq (sync_writev (w.client, fd, many, 200, 0, 0, NULL, NULL, NULL), 199);
    g_autofree char *text = world_read (&w, fd, 1000, 0);
    ck_assert_int_eq (w.r, 205);
    ck_assert_int_eq (strncmp (text, "onetwoabab", 10), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (an_unlinked_file_lives_while_it_is_open)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *other = world_create (&w, w.root, "g", O_RDWR, 0644);
    g_autoptr (inode_t) dir = world_mkdir (&w, w.root, "d", 0755);
    loc_t loc = { .name = "d", .parent = w.root, .inode = dir };

    world_write (&w, fd, "still here", 0);
    ck_assert_int_eq (world_unlink (&w, w.root, "f"), 0);
    ck_assert_int_eq (world_rename (&w, w.root, "none", w.root, "g", 0), -ENOENT);
    fd_unref (world_create (&w, w.root, "h", O_RDWR, 0644));
    ck_assert_int_eq (world_rename (&w, w.root, "h", w.root, "g", 0), 0);
    ck_assert_int_eq (sync_rmdir (w.client, &loc, 0, NULL, NULL), 0);
    inode_unlink (w.root, "d");
    for (int i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf ("crowd-%d", i);
        fd_unref (world_create (&w, w.root, name, O_RDWR, 0644));
        inode_unref (posix_world_look (&w, w.root, name));
    }
    struct iatt buf = world_stat (&w, fd->inode);
    ck_assert_int_eq (w.r, 0);
    ck_assert_uint_eq (buf.ia_nlink, 0);
    ck_assert_uint_eq (buf.ia_size, 10);
    world_stat (&w, other->inode);
    ck_assert_int_eq (w.r, 0);
    world_stat (&w, dir);
    ck_assert_int_eq (w.r, 0);
    g_autofree char *text = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (text, "still here");
    fd_unref (fd);
    fd_unref (other);
    g_clear_pointer (&dir, inode_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (links_special_files_and_symlinks)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_unref (world_create (&w, w.root, "f", O_RDWR, 0644));
    g_autoptr (inode_t) inode = posix_world_look (&w, w.root, "f"),
                        fresh = inode_new (w.graph->itable),
                        fifo = NULL, link = NULL, second = NULL;
    loc_t old = { .name = "f", .parent = w.root, .inode = inode },
          new = { .name = "g", .parent = w.root };
    loc_t loc = { .name = "fifo", .parent = w.root, .inode = fresh };
    struct readlink_reply reply;

    ck_assert_int_eq (sync_link (w.client, &old, &new, NULL, NULL), 0);
    ck_assert_int_eq (sync_link (w.client, &old, &new, NULL, NULL), -EEXIST);
    second = posix_world_look (&w, w.root, "g");
    ck_assert_ptr_eq (second, inode);
    ck_assert_uint_eq (world_stat (&w, inode).ia_nlink, 2);
    ck_assert_int_eq (sync_mknod (w.client, &loc, S_IFIFO | 0666, 0, 022, NULL, NULL), 0);
    fifo = posix_world_look (&w, w.root, "fifo");
    ck_assert_int_eq (fifo->ia_type, IA_IFIFO);
    ck_assert_uint_eq (world_stat (&w, fifo).ia_prot, 0644);
    ck_assert_ptr_null (world_open (&w, fifo, O_RDONLY)); /* would block forever */
    ck_assert_int_eq (w.r, -ENXIO);
    ck_assert_ptr_null (world_create (&w, w.root, "fifo", O_RDONLY, 0644));
    ck_assert_int_eq (w.r, -ENXIO);
    loc.name = "l";
    loc.inode = NULL;
    ck_assert_int_eq (sync_symlink (w.client, "/etc/passwd", &loc, 022, NULL, NULL), 0);
    link = posix_world_look (&w, w.root, "l");
    ck_assert_int_eq (link->ia_type, IA_IFLNK);
    loc = (loc_t){ .inode = link };
    ck_assert_int_eq (sync_readlink (w.client, &loc, 4096, NULL, &reply), 11);
    ck_assert_str_eq (reply.path, "/etc/passwd");
    readlink_reply_drop (&reply);
    ck_assert_int_eq (sync_readlink (w.client, &old, 4096, NULL, NULL), -EINVAL);
    ck_assert_ptr_null (world_open (&w, link, O_RDONLY));
    ck_assert_int_eq (w.r, -ELOOP);
    ck_assert_ptr_null (world_create (&w, w.root, "l", O_RDWR, 0644)); /* does not follow it */
    ck_assert_int_eq (w.r, -ELOOP);
    g_clear_pointer (&inode, inode_unref);
    g_clear_pointer (&fresh, inode_unref);
    g_clear_pointer (&fifo, inode_unref);
    g_clear_pointer (&link, inode_unref);
    g_clear_pointer (&second, inode_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (setattr_changes_what_it_is_told)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct iatt set = {
        .ia_prot = 04711, .ia_size = 100, .ia_mtime = 1000000000, .ia_mtime_nsec = 123456789
    };
    struct setattr_reply reply;
    loc_t loc = { .inode = fd->inode };

    ck_assert_int_eq (sync_setattr (w.client, &loc, &set,
                                    IATT_MODE | IATT_SIZE | IATT_MTIME | IATT_ATIME_NOW, NULL,
                                    &reply),
                      0);
    ck_assert_uint_eq (reply.statpost.ia_prot, 04711);
    ck_assert_uint_eq (reply.statpost.ia_size, 100);
    ck_assert_int_eq (reply.statpost.ia_mtime, 1000000000);
    ck_assert_int_eq (reply.statpost.ia_mtime_nsec, 123456789);
    ck_assert_int_gt (reply.statpost.ia_atime, 1000000000);
    ck_assert_uint_eq (reply.statpre.ia_size, 0);
    setattr_reply_drop (&reply);
    ck_assert_int_eq (sync_fsetattr (w.client, fd, &set, IATT_SIZE | IATT_KILL_PRIV, NULL, NULL),
                      0);
    ck_assert_uint_eq (world_stat (&w, fd->inode).ia_prot, 0711);
    set.ia_mtime_nsec = UTIME_NOW;
    ck_assert_int_eq (sync_setattr (w.client, &loc, &set, IATT_MTIME, NULL, NULL), -EINVAL);
    ck_assert_int_eq (sync_truncate (w.client, &loc, 7, NULL, NULL), 0);
    ck_assert_uint_eq (world_stat (&w, fd->inode).ia_size, 7);
    ck_assert_int_eq (sync_access (w.client, &loc, R_OK | W_OK, NULL, NULL), 0);
    ck_assert_int_eq (sync_statfs (w.client, &loc, NULL, NULL), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (extended_attributes_come_and_go)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    loc_t loc = { .inode = fd->inode };
    g_autoptr (dict_t) dict = dict_new (), forbidden = dict_new ();
    struct getxattr_reply reply;

    dict_set (dict, "user.a", "x\0y", 3);
    dict_set (dict, "user.empty", "", 0);
    ck_assert_int_eq (sync_setxattr (w.client, &loc, dict, 0, NULL, NULL), 0);
    ck_assert_int_eq (sync_fsetxattr (w.client, fd, dict, XATTR_CREATE, NULL, NULL), -EEXIST);
    ck_assert_int_eq (sync_getxattr (w.client, &loc, "user.a", NULL, &reply), 0);
    size_t size = 0;
    ck_assert_int_eq (memcmp (dict_get (reply.dict, "user.a", &size), "x\0y", 3), 0);
    ck_assert_uint_eq (size, 3);
    getxattr_reply_drop (&reply);
    ck_assert_int_eq (sync_getxattr (w.client, &loc, NULL, NULL, &reply), 0);
    ck_assert (dict_has (reply.dict, "user.a") && dict_has (reply.dict, "user.empty"));
    ck_assert (!dict_has (reply.dict, "trusted.gfid"));
    getxattr_reply_drop (&reply);
    ck_assert_int_eq (sync_fgetxattr (w.client, fd, "user.none", NULL, NULL), -ENODATA);
    ck_assert_int_eq (sync_removexattr (w.client, &loc, "user.a", NULL, NULL), 0);
    ck_assert_int_eq (sync_fremovexattr (w.client, fd, "user.a", NULL, NULL), -ENODATA);
    if (_i == 3) {
        dict_set (forbidden, "trusted.gfid", "0123456789abcdef", 16);
        ck_assert_int_eq (sync_setxattr (w.client, &loc, forbidden, 0, NULL, NULL), -EPERM);
        ck_assert_int_eq (sync_getxattr (w.client, &loc, "trusted.gfid", NULL, NULL), -ENODATA);
        ck_assert_int_eq (sync_removexattr (w.client, &loc, "trusted.gfid", NULL, NULL), -EPERM);
    }
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* Returns the number of entries from offset on. With readdirp each entry except "." and ".." must
 * have an inode. */
static int
count_entries (struct world *w, fd_t *fd, off_t offset, bool plus)
{
    struct readdir_reply names;
    struct readdirp_reply both;
    int n = 0, r;

    do {
        r = plus ? sync_readdirp (w->client, fd, 4096, offset, NULL, &both)
                 : sync_readdir (w->client, fd, 4096, offset, NULL, &names);
        ck_assert_int_ge (r, 0);
        for (gf_dirent_t *entry = plus ? both.entries : names.entries; entry;
             entry = entry->next, n++) {
            bool dots = strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0;
            if (plus) {
                ck_assert_int_eq (entry->inode != NULL, !dots);
                ck_assert_int_eq (entry->d_stat.ia_type == IA_INVAL, dots);
                ck_assert (dots || entry->d_stat.ia_ino == entry->d_ino);
                if (!dots)
                    inode_unref (
                        inode_link (entry->inode, fd->inode, entry->d_name, &entry->d_stat));
            }
            offset = entry->d_off;
        }
        if (plus)
            readdirp_reply_drop (&both);
        else
            readdir_reply_drop (&names);
    } while (r > 0);
    return n;
}

START_TEST (a_directory_of_many_entries_is_listed)
{
    struct world w = posix_world_begin (world_modes[_i]);
    const int many = _i == 0 ? (int) test_amount (20000, 100000) : 3000;
    struct readdir_reply reply;

    for (int i = 0; i < many; i++) {
        g_autofree char *name = g_strdup_printf ("%s/entry-%d", w.dir, i);
        ck_assert_int_eq (mknod (name, S_IFREG | 0644, 0), 0);
    }
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    ck_assert_int_eq (count_entries (&w, fd, 0, false), many + 2);
    ck_assert_int_eq (count_entries (&w, fd, 0, true), many + 2);
    ck_assert_int_eq (count_entries (&w, fd, 0, true), many + 2);
    ck_assert_int_gt (sync_readdir (w.client, fd, 1000, 0, NULL, &reply), 3);
    off_t second = reply.entries->next->d_off;
    readdir_reply_drop (&reply);
    ck_assert_int_eq (count_entries (&w, fd, second, false), many);
    /* even with little space */
    ck_assert_int_eq (sync_readdir (w.client, fd, 1, 0, NULL, NULL), 1);
    ck_assert_int_eq (sync_fsyncdir (w.client, fd, 0, NULL, NULL), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_file_without_a_name_gets_one)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = fd_new (&w.graph->fd_maker, NULL, O_RDWR, getpid ());
    loc_t dir = { .inode = w.root }, new = { .name = "named", .parent = w.root };
    struct tmpfile_reply reply;

    w.r = sync_tmpfile (w.client, &dir, O_RDWR, 0600, 022, fd, NULL, &reply);
    if (w.r != -EOPNOTSUPP) {
        ck_assert_int_eq (w.r, 0);
        g_autoptr (inode_t) inode = inode_link (reply.inode, NULL, NULL, &reply.buf);
        loc_t old = { .inode = inode };
        tmpfile_reply_drop (&reply);
        ck_assert_int_eq (world_write (&w, fd, "x", 0), 1);
        ck_assert_uint_eq (world_stat (&w, inode).ia_nlink, 0);
        ck_assert_int_eq (sync_link (w.client, &old, &new, NULL, NULL), 0);
        ck_assert_uint_eq (world_stat (&w, inode).ia_nlink, 1);
    } else {
        tmpfile_reply_drop (&reply);
    }
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (ioctl_answers)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct ioctl_reply reply;

    w.r = sync_ioctl (w.client, fd, (uint32_t) FS_IOC_GETFLAGS, NULL, sizeof (int), NULL, &reply);
    ck_assert (w.r == 0 ? g_bytes_get_size (reply.out) == sizeof (int)
                        : w.r == -ENOTTY || w.r == -EOPNOTSUPP);
    ioctl_reply_drop (&reply);
    ck_assert_int_eq (sync_ioctl (w.client, fd, (uint32_t) FS_IOC_SETFLAGS, NULL, 0, NULL, NULL),
                      -EINVAL);
    ck_assert_int_eq (sync_ioctl (w.client, fd, 0x5401, NULL, 64, NULL, NULL), -ENOTTY);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (parents_are_answered_before_and_after)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autoptr (inode_t) fresh = inode_new (w.graph->itable);
    loc_t loc = { .name = "d", .parent = w.root, .inode = fresh };
    struct mkdir_reply reply;

    ck_assert_int_eq (sync_mkdir (w.client, &loc, 0777, 027, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_prot, 0750);
    ck_assert_int_eq (reply.preparent.ia_type, IA_IFDIR);
    ck_assert (gfid_equal (&reply.postparent.ia_gfid, &gfid_root));
    ck_assert_uint_ge (reply.postparent.ia_nlink, reply.preparent.ia_nlink);
    mkdir_reply_drop (&reply);
    loc.inode = NULL;
    ck_assert_int_eq (sync_rmdir (w.client, &loc, 0, NULL, NULL), 0);
    ck_assert_int_eq (sync_rmdir (w.client, &loc, 0, NULL, NULL), -ENOENT);
    g_clear_pointer (&fresh, inode_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (the_directory_stays_clean)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autofree char *path = world_path (&w, "f");
    g_autofree char *trace = g_strdup_printf ("test \"$(ls -A '%s')\" = f", w.dir);
    char list[256];

    fd_unref (world_create (&w, w.root, "f", O_RDWR, 0600));
    ck_assert_int_eq (system (trace), 0);
    if (_i < 3) {
        ck_assert_int_eq (listxattr (path, list, sizeof list), 0);
        ck_assert_int_eq (listxattr (w.dir, list, sizeof list), 0);
    } else {
        ck_assert_int_eq (getxattr (path, "trusted.gfid", list, sizeof list), 16);
    }
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_posix)
{
    Suite *suite = suite_create ("posix");
    TCase *tcase = tcase_create ("every mode");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, attributes_are_the_real_ones, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, bad_names_are_refused, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, dots_stay_inside, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, dots_of_what_was_moved_away_are_stale, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, any_bytes_make_a_name, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, data_beyond_4_gib_is_sparse, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, room_is_made_and_taken, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, appending_ignores_the_offset, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, an_unlinked_file_lives_while_it_is_open, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, links_special_files_and_symlinks, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, setattr_changes_what_it_is_told, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, extended_attributes_come_and_go, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, a_directory_of_many_entries_is_listed, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, a_file_without_a_name_gets_one, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, ioctl_answers, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, parents_are_answered_before_and_after, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, the_directory_stays_clean, 0, WORLD_MODES);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* cluster/overlay: callers whose names are out of date, as those of two clients are, and what a
 * lookup asks the upper for. */
#include "overlay_world.h"

/* The caller takes it that the new name is another name of the file: it was renamed since. */
START_TEST (a_rename_onto_a_name_that_has_gone_is_made)
{
    struct world w = overlay_world_new ();
    g_autofree char *text = NULL;
    loc_t from = { .name = "new" }, to = { .name = "old" };

    overlay_put (&w, "lower/old", "text");
    overlay_world_start (&w, &(struct overlay_graph){ 0 });
    from.inode = posix_world_look (&w, w.root, "old");
    ck_assert_int_ge (world_rename (&w, w.root, "old", w.root, "new", 0), 0);
    from.parent = to.parent = w.root;
    to.inode = from.inode;
    ck_assert_int_ge (sync_rename (w.client, &from, &to, 0, NULL, NULL), 0);
    loc_wipe_path (&from);
    loc_wipe_path (&to);
    inode_unref (from.inode);
    text = overlay_got (&w, "changes/layers/0/old");
    ck_assert_str_eq (text, "text");
    overlay_world_end (&w);
}
END_TEST

/* A file of the upper that is no copy costs no question for its marks. */
START_TEST (marks_of_files_are_read_only_in_directories_with_copies)
{
    const struct overlay_graph faulty = {
        .above = "volume fault\ntype debug/fault\nsubvolumes changes\nend-volume\n",
        .top = "fault",
    };
    struct world w = overlay_world_new ();
    inode_t *made, *file;
    fd_t *fd;

    overlay_put (&w, "lower/copied", "text");
    overlay_world_start (&w, &faulty);
    made = world_mkdir (&w, w.root, "made", 0755);
    fd_unref (world_create (&w, made, "file", O_WRONLY, 0644));
    inode_unref (made);
    file = posix_world_look (&w, w.root, "copied");
    fd = world_open (&w, file, O_WRONLY);
    ck_assert_int_eq (world_write (&w, fd, "T", 0), 1);
    fd_unref (fd);
    inode_unref (file);
    overlay_world_stop (&w);

    overlay_world_start (&w, &faulty);
    g_free (overlay_tell (&w, "fault", "rules", "getxattr type file -> error EIO\n"));
    made = posix_world_look (&w, w.root, "made");
    inode_unref (posix_world_look (&w, made, "file"));
    ck_assert_int_ge (w.r, 0);
    inode_unref (made);
    ck_assert_ptr_null (posix_world_look (&w, w.root, "copied"));
    ck_assert_int_eq (w.r, -EIO);
    overlay_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_overlay_names)
{
    Suite *suite = suite_create ("overlay names");
    TCase *tcase = tcase_create ("names");

    if (geteuid () != 0)
        return 77;
    tcase_add_test (tcase, a_rename_onto_a_name_that_has_gone_is_made);
    tcase_add_test (tcase, marks_of_files_are_read_only_in_directories_with_copies);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

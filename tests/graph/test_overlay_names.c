/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* cluster/overlay and callers whose names are out of date, as those of two clients are. */
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

TEST_PROGRAM (test_overlay_names)
{
    Suite *suite = suite_create ("overlay names");
    TCase *tcase = tcase_create ("names");

    if (geteuid () != 0)
        return 77;
    tcase_add_test (tcase, a_rename_onto_a_name_that_has_gone_is_made);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* longer */
/*
 * windlass overlay apply and commit, with a power cut after each of their requests (each third or
 * fifth one, but for ./check --long): nothing of the view is lost, and the command that is given
 * again ends with all changes in the base.
 */
#include "overlay_view.h"

#define STEPS_MAX 500

/* --- changes ---------------------------------------------------------------------------------- */

static void
view_change_names (struct view *view)
{
    inode_t *root = itable_root (view->graph->itable);
    g_autoptr (inode_t) again = NULL;

    view_overwrite (view, root, "file", "CHANGED");
    view_remove (view, root, "gone");
    view_remove (view, root, "again");
    ck_assert_int_eq (sync_name_mkdir (view->client, root, "again", 0755, &again), 0);
    view_write (view, again, "in", "in");
}

static void
view_change_others (struct view *view)
{
    inode_t *root = itable_root (view->graph->itable);
    g_autoptr (inode_t) fresh = NULL, dir = view_look (view, root, "dir");
    g_autoptr (inode_t) moves = view_look (view, root, "moves");
    g_auto (loc_t) loc = { .inode = dir };
    struct iatt mode = { .ia_prot = 0700 };

    ck_assert_int_eq (sync_name_mkdir (view->client, root, "fresh", 0755, &fresh), 0);
    view_write (view, fresh, "a", "a");
    view_write (view, fresh, "b", "b");
    ck_assert_int_eq (sync_name_rename (view->client, moves, root, "moves", dir, "moved", 0), 0);
    ck_assert_int_eq (sync_setattr (view->client, &loc, &mode, IATT_MODE, NULL, NULL), 0);
    view_remove (view, root, "type");
    view_write (view, root, "type", "a file now");
}

/* For a commit, in two layers. */
static void
view_change (struct view *view, const char *command)
{
    const bool layers = strcmp (command, "commit") == 0;
    inode_t *root = itable_root (view->graph->itable);
    g_autofree char *error = NULL;

    view_change_names (view);
    if (layers) {
        view_overwrite (view, root, "linked", "CHANGED");
        ck_assert_int_eq (view_job (view, "freeze", "", 0, &error), 0);
    }
    view_overwrite (view, root, layers ? "file" : "linked", layers ? "AGAIN" : "CHANGED");
    view_change_others (view);
}

/* --- power cuts ------------------------------------------------------------------------------- */

static void
cut_view_begin (struct view *view, const char *command)
{
    view_make (view);
    base_mkdir (view, "dir");
    base_mkdir (view, "gone");
    base_mkdir (view, "again");
    base_mkdir (view, "type");
    base_write (view, "file", "content");
    base_write (view, "moves", "moves");
    base_write (view, "gone/x", "x");
    base_write (view, "gone/y", "y");
    base_write (view, "again/old", "old");
    base_write (view, "type/in", "in");
    base_write (view, "linked", "linked");
    base_link (view, "linked", "dir/linked");
    base_link (view, "linked", "dir/third");
    view_mount (view);
    view_change (view, command);
    ck_assert_int_eq (view_order (view, "changes-cut", "sync", ""), 0);
    ck_assert_int_eq (view_order (view, "base-cut", "sync", ""), 0);
}

struct cut_case {
    const char *command, *side;
};

/* debug/power-cut puts a removed file back by a link, which changes its ctime: that looks like a
 * change of the base. */
static void
view_apply_again (struct view *view, const struct cut_case *one, unsigned n)
{
    g_autofree char *error = NULL, *by_force = NULL;
    int r = view_apply_all (view, one->command, false, &error);

    if (r < 0 && error && strstr (error, "was changed below the view"))
        r = view_apply_all (view, one->command, true, &by_force);
    ck_assert_msg (r == 0 || (error && strstr (error, "nothing at")), "%s, request %u: %s",
                   one->side, n, error);
}

/* From the n-th changing request on one side on, each fails; then the power is cut. Returns whether
 * there were fewer. */
static bool
cut_apply_after (const struct cut_case *one, unsigned n, const char *wanted)
{
    const char *side = one->side;
    g_autofree char *rules = g_strdup_printf (
        "mknod,mkdir,symlink,link,unlink,rmdir,rename,setattr,setxattr,removexattr,writev,"
        "ftruncate,fallocate,copy_file_range,fsync,fsyncdir after %u -> error EIO\n", n);
    g_autofree char *error = NULL, *shown = NULL, *again = NULL, *applied = NULL;
    struct view view;
    bool all;

    cut_view_begin (&view, one->command);
    ck_assert_int_eq (view_order (&view, side, "rules", rules), 0);
    all = view_apply_all (&view, one->command, false, &error) == 0;
    (void) view_order (&view, "base-cut", "cut", "");
    (void) view_order (&view, "changes-cut", "cut", "");
    view_unmount (&view);

    view_mount (&view);
    shown = view_tree (&view);
    ck_assert_msg (strcmp (shown, wanted) == 0, "%s, request %u: the view shows\n%s\nand not\n%s",
                   side, n, shown, wanted);
    view_apply_again (&view, one, n);
    applied = base_tree (&view);
    ck_assert_msg (strcmp (applied, wanted) == 0, "%s, request %u: the base has\n%s\nand not\n%s",
                   side, n, applied, wanted);
    assert_base_links (&view, "linked", "dir/linked", n);
    assert_base_links (&view, "linked", "dir/third", n);
    again = view_tree (&view);
    ck_assert_str_eq (again, wanted);
    view_remove_all (&view);
    return all;
}

static const struct cut_case cut_cases[] = {
    { "apply", "base" }, { "apply", "changes" }, { "commit", "base" }, { "commit", "changes" },
};

START_TEST (a_power_cut_after_each_request)
{
    g_autofree char *wanted = NULL;
    struct view view;
    unsigned n = 1; /* a rule counts from 1 on */

    cut_view_begin (&view, cut_cases[_i].command);
    wanted = view_tree (&view);
    view_remove_all (&view);
    while (!cut_apply_after (&cut_cases[_i], n, wanted)) {
        n += test_amount (strcmp (cut_cases[_i].command, "commit") == 0 ? 5 : 3, 1);
        ck_assert_uint_lt (n, STEPS_MAX);
    }
    ck_assert_uint_gt (n, 10);
}
END_TEST

TEST_PROGRAM (test_overlay_apply)
{
    Suite *suite = suite_create ("overlay apply");
    TCase *tcase = tcase_create ("overlay apply");

    if (geteuid () != 0) {
        printf ("an overlay of an ordinary user is tested through mounts\n");
        return 77;
    }
    log_set_level (GF_LOG_NONE);
    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, a_power_cut_after_each_request, 0, G_N_ELEMENTS (cut_cases));
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* A boundary with two children that tells which one has a file: passthrough, copies and reports
 * follow it there. */
#include "core/realm/copy-between.h"
#include "core/realm/passthrough.h"
#include "core/realm/realm.h"
#include "posix_world.h"

/* The second storage, whose files are shown, has the folder other/ of the first one as its
 * directory. options: of test/pick. */
static struct world
follow_world (const char *options)
{
    struct world w = { .dir = g_dir_make_tmp ("windlass-follow-XXXXXX", NULL) };
    g_autofree char *other = world_path (&w, "other"), *file = world_path (&w, "other/file");
    g_autofree char *more = g_strdup_printf (
        "end-volume\nvolume other\ntype storage/posix\noption directory %s\nend-volume\n"
        "volume pick\ntype test/pick\n%ssubvolumes posix other\n", other, options);

    ck_assert_ptr_nonnull (w.dir);
    ck_assert_int_eq (mkdir (other, 0755), 0);
    ck_assert (g_file_set_contents (file, "text", 4, NULL));
    w.graph = posix_world_load (w.dir, more);
    ck_assert_int_eq (graph_activate (w.graph), 0);
    w.client = client_new (w.graph->top);
    w.root = itable_root (w.graph->itable);
    return w;
}

static xlator_t *
follow_storage (const struct world *w, unsigned n)
{
    const xlator_list_t *child = w->graph->top->children;

    return n == 0 ? child->xlator : child->next->xlator;
}

static int
follow_read (int descriptor, void *data)
{
    g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", descriptor);

    return g_file_get_contents (path, data, NULL, NULL) ? 0 : -EIO;
}

START_TEST (the_kernel_gets_the_file_of_the_child_that_has_it)
{
    g_auto (world) w = follow_world ("");
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    xlator_t *storage = NULL, *other = follow_storage (&w, 1);
    call_stack_t *root = client_stack_new (w.client, FOP_open);
    inode_t *below = realm_inode_of (other, file);
    g_autofree char *text = NULL;
    const char *why;

    ck_assert_ptr_null (passthrough_in_the_way (w.graph->top, file, false, &why, &storage));
    ck_assert_ptr_eq (storage, other);
    ck_assert_ptr_eq (below, realm_below (w.graph->top, file, 1));
    ck_assert_ptr_null (realm_inode_of (follow_storage (&w, 0), file));
    ck_assert_int_eq (storage->api->passthrough.lend (storage, &root->frames[0], below,
                                                      follow_read, &text), 0);
    ck_assert_str_eq (text, "text");
    stack_done (root);
}
END_TEST

START_TEST (a_change_may_move_the_file)
{
    g_auto (world) w = follow_world ("");
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    xlator_t *storage = NULL;
    const char *why = NULL;

    ck_assert_ptr_eq (passthrough_in_the_way (w.graph->top, file, true, &why, &storage),
                      w.graph->top);
    ck_assert_str_eq (why, "may have the file in another subvolume after a change");
    ck_assert_ptr_eq (passthrough_lender (w.graph->top, file, FOP_readv), follow_storage (&w, 1));
}
END_TEST

START_TEST (a_boundary_that_does_not_know_is_in_the_way)
{
    g_auto (world) w = follow_world ("option sure off\n");
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    xlator_t *storage = NULL;
    const char *why = NULL;

    ck_assert_ptr_eq (passthrough_in_the_way (w.graph->top, file, false, &why, &storage),
                      w.graph->top);
    ck_assert_str_eq (why, "finds the file in one of several subvolumes");
    ck_assert_ptr_null (passthrough_lender (w.graph->top, file, FOP_readv));
}
END_TEST

START_TEST (a_copy_follows_on_both_sides)
{
    g_auto (world) w = follow_world ("");
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    g_autoptr (fd_t) from = world_open (&w, file, O_RDONLY);
    g_autoptr (fd_t) to = world_create (&w, w.root, "copy", O_RDWR, 0600);
    struct copy_between copy = { .reader = w.client, .writer = w.client, .from = from, .to = to,
                                 .size = 4 };
    g_autofree char *path = world_path (&w, "other/copy"), *text = NULL;

    ck_assert_int_eq (copy_between (&copy), 0);
    ck_assert (copy.by_kernel);
    ck_assert (g_file_get_contents (path, &text, NULL, NULL));
    ck_assert_str_eq (text, "text");
}
END_TEST

TEST_PROGRAM (test_follow)
{
    Suite *suite = suite_create ("follow");
    TCase *tcase = tcase_create ("follow");

    tcase_add_test (tcase, the_kernel_gets_the_file_of_the_child_that_has_it);
    tcase_add_test (tcase, a_change_may_move_the_file);
    tcase_add_test (tcase, a_boundary_that_does_not_know_is_in_the_way);
    tcase_add_test (tcase, a_copy_follows_on_both_sides);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

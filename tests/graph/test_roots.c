/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directories that options name (core/edge/root.h): graphs of a mount share them, and storage
 * does not enter the mount that it serves. */
#include "posix_world.h"

#include "core/edge/root.h"

#include <sched.h>
#include <sys/mount.h>

static struct root *
root_of (const struct world *w)
{
    return roots_find (w->graph->roots, w->dir);
}

/* Another directory takes the path. The old one is `dir`.old. */
static char *
replace (const struct world *w)
{
    char *old = g_strconcat (w->dir, ".old", NULL);

    ck_assert_int_eq (rename (w->dir, old), 0);
    ck_assert_int_eq (mkdir (w->dir, 0755), 0);
    return old;
}

/* Starts a graph of other options, or of another directory, after that of the world. */
static struct graph *
roots_next (const struct world *w, const char *dir)
{
    struct graph *graph = posix_world_load (dir, "option o-direct on\n");

    ck_assert (graph_join (graph, w->graph));
    ck_assert_int_eq (graph_activate (graph), 0);
    return graph;
}

START_TEST (an_equal_path_is_the_same_root)
{
    struct world w = posix_world_begin ("");
    g_autofree char *old = replace (&w), *file = g_build_filename (old, "file", NULL),
                    *slashes = g_strconcat (w.dir, "//", NULL);
    struct graph *graph = roots_next (&w, slashes);
    inode_t *found;

    ck_assert (g_file_set_contents (file, "x", 1, NULL));
    ck_assert_ptr_eq (root_of (&w), xlator_root (graph->top, "directory"));
    graph_free (w.graph);
    w.graph = graph;
    client_free (w.client);
    w.client = client_new (graph->top);
    w.root = itable_root (graph->itable);
    found = posix_world_look (&w, w.root, "file");
    ck_assert_ptr_nonnull (found);
    inode_unref (found);
    ck_assert_int_eq (unlink (file), 0);
    ck_assert_int_eq (rmdir (old), 0);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_root_is_closed_with_its_last_graph)
{
    struct world w = posix_world_begin ("");
    g_autofree char *other = g_strconcat (w.dir, "/other", NULL);
    const unsigned before = world_descriptors ();
    struct graph *graph;

    ck_assert_int_eq (mkdir (other, 0755), 0);
    graph = roots_next (&w, other);
    ck_assert_ptr_nonnull (roots_find (w.graph->roots, other));
    ck_assert_uint_gt (world_descriptors (), before);
    graph_free (graph);
    ck_assert_ptr_null (roots_find (w.graph->roots, other));
    ck_assert_uint_eq (world_descriptors (), before);
    posix_world_end (&w);
}
END_TEST

/* A mount at `dir`, which covers the root, and at `dir`/sub/point. Whatever it shows, its device is
 * that of the mount that the graph serves. */
static struct world
world_begin_covered (const char *options, const char *point)
{
    struct world w = { .dir = g_build_filename (g_get_tmp_dir (), "windlass-roots-XXXXXX", NULL) };
    g_autofree char *under = NULL, *at = NULL;
    struct stat st;

    ck_assert_ptr_nonnull (g_mkdtemp_full (w.dir, 0755));
    under = g_build_filename (w.dir, "sub/point", NULL);
    at = g_build_filename (w.dir, point, NULL);
    ck_assert_int_eq (g_mkdir_with_parents (under, 0755), 0);
    w.graph = posix_world_load (w.dir, options);
    roots_set_mountpoint (w.graph->roots, at);
    ck_assert_int_eq (graph_activate (w.graph), 0);
    ck_assert_int_eq (mount ("none", at, "tmpfs", 0, NULL), 0);
    ck_assert_int_eq (stat (at, &st), 0);
    roots_set_device (w.graph->roots, st.st_dev);
    w.client = client_new (w.graph->top);
    w.root = itable_root (w.graph->itable);
    return w;
}

static void
world_end_covered (struct world *w, const char *point)
{
    g_autofree char *at = g_build_filename (w->dir, point, NULL);

    ck_assert_int_eq (umount2 (at, MNT_DETACH), 0);
    posix_world_end (w);
}

START_TEST (the_root_under_the_mount_is_used)
{
    struct world w = world_begin_covered (world_modes[_i], "");
    inode_t *sub = posix_world_look (&w, w.root, "sub"), *up;

    ck_assert (root_of (&w)->covered && root_of (&w)->hidden);
    ck_assert_ptr_nonnull (sub);
    inode_unlink (w.root, "sub"); /* so that the parent is asked of the system */
    up = posix_world_look (&w, sub, "..");
    ck_assert_int_eq (w.r, 0);
    ck_assert_ptr_eq (up, w.root);
    inode_unref (up);
    inode_unref (sub);
    world_end_covered (&w, "");
}
END_TEST

START_TEST (a_step_into_the_mount_is_refused)
{
    struct world w = world_begin_covered (world_modes[_i], "sub/point");
    inode_t *sub = posix_world_look (&w, w.root, "sub");

    ck_assert (!root_of (&w)->covered && !root_of (&w)->hidden);
    ck_assert_ptr_null (posix_world_look (&w, sub, "point"));
    ck_assert_int_eq (w.r, -ELOOP);
    ck_assert_ptr_null (world_create (&w, sub, "point", O_RDWR, 0644));
    ck_assert_int_lt (w.r, 0);
    inode_unref (sub);
    world_end_covered (&w, "sub/point");
}
END_TEST

START_TEST (a_path_into_the_mount_is_no_root)
{
    struct world w = world_begin_covered ("", "sub/point");
    g_autofree char *at = g_build_filename (w.dir, "sub/point", NULL);
    struct graph *graph = posix_world_load (at, "");

    ck_assert (graph_join (graph, w.graph));
    ck_assert_int_eq (graph_activate (graph), -ELOOP);
    graph_free (graph);
    world_end_covered (&w, "sub/point");
}
END_TEST

TEST_PROGRAM (test_roots)
{
    Suite *suite = suite_create ("roots");
    TCase *tcase = tcase_create ("all");

    tcase_add_test (tcase, an_equal_path_is_the_same_root);
    tcase_add_test (tcase, a_root_is_closed_with_its_last_graph);
    if (geteuid () == 0 && unshare (CLONE_NEWNS) == 0
        && mount ("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
        tcase_add_loop_test (tcase, the_root_under_the_mount_is_used, 0, 3);
        tcase_add_loop_test (tcase, a_step_into_the_mount_is_refused, 0, 3);
        tcase_add_test (tcase, a_path_into_the_mount_is_no_root);
    }
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

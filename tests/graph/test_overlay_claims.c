/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* One daemon at a time uses an upper and a work directory of cluster/overlay; the graphs of one
 * mount share them, and the copies that each makes. */
#include "overlay_world.h"

#include "core/base/log.h"

static const struct overlay_graph plain;

/* Returns what a further graph over the directories gets. */
static int
another (const struct world *w, const char *options)
{
    struct world second = { .dir = w->dir };
    const int r = (overlay_world_start (&second, &(struct overlay_graph){ .options = options }),
                   second.r);

    overlay_world_stop (&second);
    return r;
}

START_TEST (a_second_daemon_is_refused_and_writes_nothing)
{
    static const char *const shares[] = { "", "option upper layers/1\n",
                                          "option work-directory work2\n" };
    struct world w = overlay_world_new ();
    g_autofree char *left = NULL, *holder = NULL;

    overlay_world_start (&w, &plain);
    ck_assert_int_eq (w.r, 0);
    holder = overlay_got (&w, "changes/work/lock");
    left = g_strdup_printf ("process %d on '%s'\n", (int) getpid (), g_get_host_name ());
    ck_assert_str_eq (holder, left);
    ck_assert_int_eq (another (&w, shares[_i]), -EBUSY);
    ck_assert_int_eq (another (&w, "option upper layers/1\noption work-directory work2\n"), 0);
    overlay_world_stop (&w);
    ck_assert_int_eq (another (&w, shares[_i]), 0);
    overlay_world_end (&w);
}
END_TEST

/* Starts a graph that takes the place of the world's. */
static struct graph *
claims_next_graph (const struct world *w, const char *options)
{
    const struct overlay_graph with = { .options = options };
    struct graph *fresh = overlay_graph_load (w->dir, &with);

    ck_assert (graph_join (fresh, w->graph));
    ck_assert_int_eq (graph_activate (fresh), 0);
    return fresh;
}

/* The lock stays with the mount, whichever of its graphs ends first, and as often as it moves. */
START_TEST (the_next_graph_of_a_mount_has_the_lock_too)
{
    struct world w = overlay_world_new ();

    overlay_world_start (&w, &plain);
    for (int i = 0; i < 100; i++) {
        struct graph *old = w.graph, *fresh = claims_next_graph (&w, "");

        ck_assert_int_eq (i % 20 ? -EBUSY : another (&w, ""), -EBUSY);
        if (i % 3 == 0) { /* the move fails */
            graph_free (fresh);
            continue;
        }
        graph_take_over (fresh);
        client_free (w.client);
        w.client = client_new (fresh->top);
        w.graph = fresh;
        graph_free (old);
        ck_assert_int_eq (i % 20 ? -EBUSY : another (&w, ""), -EBUSY);
    }
    overlay_world_stop (&w);
    ck_assert_int_eq (another (&w, ""), 0);
    overlay_world_end (&w);
}
END_TEST

START_TEST (the_next_graph_may_have_another_upper)
{
    struct world w = overlay_world_new ();
    struct graph *old, *fresh;

    overlay_world_start (&w, &plain);
    old = w.graph;
    fresh = claims_next_graph (&w, "option upper layers/1\n");
    graph_take_over (fresh);
    w.graph = fresh;
    client_free (g_steal_pointer (&w.client));
    graph_free (old);
    ck_assert_int_eq (another (&w, "option upper layers/1\n"), -EBUSY);
    ck_assert_int_eq (another (&w, "option work-directory work2\n"), 0);
    overlay_world_end (&w);
}
END_TEST

/* Starts a graph whose upper's storage has faults. */
static void
claims_start_faulty (struct world *w, const char *rule)
{
    g_autofree char *rules = world_path (w, "rules");
    g_autofree char *above = g_strdup_printf ("volume fault\ntype debug/fault\noption rules %s\n"
                                              "subvolumes changes\nend-volume\n", rules);

    overlay_put (w, "rules", rule);
    log_set_level (GF_LOG_NONE);
    overlay_world_start (w, &(struct overlay_graph){ .above = above, .top = "fault" });
    ck_assert_int_eq (w->r, 0);
}

START_TEST (storage_without_locks_is_used_without)
{
    static const int errors[] = { ENOLCK, ENOSYS, EOPNOTSUPP };
    static const char *const names[] = { "ENOLCK", "ENOSYS", "EOPNOTSUPP" };
    struct world w = overlay_world_new ();
    g_autofree char *rule = g_strdup_printf ("lk -> error %s\n", names[_i]);
    struct gf_flock lock = { .l_type = F_WRLCK };

    claims_start_faulty (&w, rule);
    g_autoptr (fd_t) fd = world_create (&w, w.root, "file", O_RDWR, 0644);
    ck_assert_ptr_nonnull (fd);
    ck_assert_int_eq (sync_lk (w.client, fd, F_SETLK, &lock, NULL, NULL), -errors[_i]);
    g_clear_pointer (&fd, fd_unref);
    overlay_world_end (&w);
}
END_TEST

/* --- copies ----------------------------------------------------------------------------------- */

static void
claims_write (struct world *w, inode_t *inode, const char *text, off_t offset)
{
    g_autoptr (fd_t) fd = world_open (w, inode, O_RDWR);

    ck_assert_ptr_nonnull (fd);
    ck_assert_int_eq (world_write (w, fd, text, offset), (int) strlen (text));
}

static void
assert_reads (struct world *w, inode_t *inode, const char *expected)
{
    g_autoptr (fd_t) fd = world_open (w, inode, O_RDONLY);
    g_autofree char *text = fd ? world_read (w, fd, 100, 0) : NULL;

    ck_assert_str_eq (text, expected);
}

/* Nothing in the background is waited for, such as a sync of the directory. */
START_TEST (a_copy_that_is_removed_has_no_name)
{
    struct world w = overlay_world_new ();
    struct fstat_reply reply;

    overlay_put (&w, "lower/file", "text");
    overlay_world_start (&w, &plain);
    inode_unref (posix_world_look (&w, w.root, "file")); /* makes the upper */
    overlay_world_stop (&w);
    claims_start_faulty (&w, "fsyncdir -> error EIO\n");
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    g_autoptr (fd_t) fd = world_open (&w, file, O_RDWR);
    ck_assert_int_eq (world_write (&w, fd, "more", 0), 4);
    ck_assert_int_eq (sync_name_remove (w.client, w.root, "file", file), 0);
    ck_assert_int_eq (sync_fstat (w.client, fd, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_nlink, 0);
    fstat_reply_drop (&reply);
    g_clear_pointer (&fd, fd_unref);
    g_clear_pointer (&file, inode_unref);
    overlay_world_end (&w);
}
END_TEST

/* Both graphs know the file in the lower; then each writes, in either order. */
START_TEST (what_two_graphs_of_a_mount_write_is_in_one_copy)
{
    struct world w = overlay_world_new (), next = w;
    g_autofree char *upper = NULL, *path = NULL, *folder = world_path (&w, "lower/dir");

    ck_assert_int_eq (mkdir (folder, 0755), 0);
    overlay_put (&w, "lower/dir/file", "0123456789");
    overlay_world_start (&w, &plain);
    inode_unref (posix_world_look (&w, w.root, "dir"));
    g_autoptr (inode_t) dir = posix_world_look (&w, w.root, "dir");
    g_autoptr (inode_t) file = posix_world_look (&w, dir, "file");
    next.graph = claims_next_graph (&w, "");
    next.client = client_new (next.graph->top);
    next.root = w.root;
    inode_unref (posix_world_look (&next, w.root, "dir"));
    inode_unref (posix_world_look (&next, dir, "file"));
    graph_take_over (next.graph);

    claims_write (_i == 0 ? &w : &next, file, "ab", 0);
    assert_reads (&next, file, "ab23456789");
    assert_reads (&w, file, "ab23456789");
    claims_write (_i == 0 ? &next : &w, file, "yz", 8);
    upper = overlay_got (&w, "changes/layers/0/dir/file");
    ck_assert_str_eq (upper, "ab234567yz");
    g_autoptr (fd_t) made = world_create (&next, dir, "made", O_RDWR, 0644);
    ck_assert_ptr_nonnull (made);
    path = overlay_got (&w, "changes/layers/0/dir/made");
    ck_assert_ptr_nonnull (path);
    g_clear_pointer (&made, fd_unref);
    g_clear_pointer (&file, inode_unref);
    g_clear_pointer (&dir, inode_unref);
    overlay_world_stop (&w);
    w.graph = next.graph;
    w.client = next.client;
    overlay_world_end (&w);
}
END_TEST

/* --- a name that is taken --------------------------------------------------------------------- */

static void
claims_rename (const struct world *w, const char *from, const char *to)
{
    g_autofree char *old = world_path (w, from), *new = world_path (w, to);

    ck_assert_int_eq (rename (old, new), 0);
}

/* The copy of the same file has come to the upper behind the view. */
START_TEST (a_copy_that_is_there_already_is_used)
{
    struct world w = overlay_world_new ();
    inode_t *file;
    char *text;

    overlay_put (&w, "lower/file", "0123456789");
    overlay_world_start (&w, &plain);
    file = posix_world_look (&w, w.root, "file");
    claims_write (&w, file, "ab", 0);
    inode_unref (file);
    overlay_world_stop (&w);

    claims_rename (&w, "changes/layers/0/file", "changes/aside");
    overlay_world_start (&w, &plain);
    file = posix_world_look (&w, w.root, "file");
    assert_reads (&w, file, "0123456789");
    claims_rename (&w, "changes/aside", "changes/layers/0/file");
    claims_write (&w, file, "yz", 8);
    assert_reads (&w, file, "ab234567yz");
    inode_unref (file);
    text = overlay_got (&w, "changes/layers/0/file");
    ck_assert_str_eq (text, "ab234567yz");
    g_free (text);
    overlay_world_end (&w);
}
END_TEST

/* Another object has come there: the write must not go where nobody finds it. */
START_TEST (a_name_that_another_object_has_taken_fails_the_write)
{
    struct world w = overlay_world_new ();
    inode_t *file;
    fd_t *fd;
    g_autofree char *text = NULL;

    overlay_put (&w, "lower/file", "0123456789");
    overlay_world_start (&w, &plain);
    file = posix_world_look (&w, w.root, "file");
    fd = world_open (&w, file, O_RDWR);
    overlay_put (&w, "changes/layers/0/file", "another");
    ck_assert_int_eq (world_write (&w, fd, "yz", 8), -ESTALE);
    text = overlay_got (&w, "changes/layers/0/file");
    ck_assert_str_eq (text, "another");
    fd_unref (fd);
    inode_unref (file);
    overlay_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_overlay_claims)
{
    Suite *suite = suite_create ("overlay claims");
    TCase *tcase = tcase_create ("claims");

    tcase_add_loop_test (tcase, a_second_daemon_is_refused_and_writes_nothing, 0, 3);
    tcase_add_loop_test (tcase, storage_without_locks_is_used_without, 0, 3);
    tcase_add_test (tcase, the_next_graph_of_a_mount_has_the_lock_too);
    tcase_add_test (tcase, the_next_graph_may_have_another_upper);
    tcase_add_test (tcase, a_copy_that_is_removed_has_no_name);
    tcase_add_loop_test (tcase, what_two_graphs_of_a_mount_write_is_in_one_copy, 0, 2);
    tcase_add_test (tcase, a_copy_that_is_there_already_is_used);
    tcase_add_test (tcase, a_name_that_another_object_has_taken_fails_the_write);
    tcase_set_timeout (tcase, 120);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inodes that a translator takes out of the table in a pause (inode_detach), above storage: what is
 * open goes on, and names lead to new inodes. And answers that come too late for the table. */
#include "posix_world.h"

#include "core/data/itable.h"
#include "core/work/pause.h"

/* --- the table alone -------------------------------------------------------------------------- */

typedef struct itable detach_table;
G_DEFINE_AUTOPTR_CLEANUP_FUNC (detach_table, itable_destroy)

static unsigned detach_forgotten;

static void
detach_forget (inode_t *inode, void *data)
{
    detach_forgotten++;
}

static struct itable *
detach_table_new (void)
{
    detach_forgotten = 0;
    return itable_new (1, 10, detach_forget, NULL);
}

static struct iatt
detach_iatt (char number, ia_type_t type)
{
    return (struct iatt){ .ia_type = type, .ia_gfid.b = { [0] = (uint8_t) number, [15] = 7 } };
}

/* Returns a linked inode, with a reference. */
static inode_t *
detach_link (inode_t *parent, const char *name, char number, ia_type_t type)
{
    const struct iatt iatt = detach_iatt (number, type);
    g_autoptr (inode_t) fresh = inode_new (parent->table);

    return inode_link (fresh, parent, name, &iatt);
}

static void
detach_count (inode_t *inode, void *count)
{
    ++*(unsigned *) count;
}

static void
assert_inodes (struct itable *table, unsigned n)
{
    unsigned all = 0;
    size_t known, idle;

    itable_foreach (table, detach_count, &all);
    itable_counts (table, &known, &idle);
    ck_assert_uint_eq (all, n);
    ck_assert_uint_eq (known, n);
}

START_TEST (a_detached_inode_lives_on_and_its_gfid_and_name_get_a_new_one)
{
    g_autoptr (detach_table) table = detach_table_new ();
    inode_t *root = itable_root (table), *old = detach_link (root, "file", 1, IA_IFREG);
    const uint64_t nodeid = inode_nodeid (old);

    inode_lookup (old);
    inode_detach (old);
    inode_detach (old);
    ck_assert (inode_is_detached (old));
    ck_assert_ptr_null (inode_find (table, &old->gfid));
    ck_assert_ptr_null (inode_grep (root, "file"));
    ck_assert_ptr_eq (inode_of_nodeid (table, nodeid), old);
    assert_inodes (table, 2);

    g_autoptr (inode_t) fresh = detach_link (root, "file", 1, IA_IFREG);
    ck_assert_ptr_ne (fresh, old);
    ck_assert (gfid_equal (&fresh->gfid, &old->gfid));
    ck_assert_uint_ne (inode_nodeid (fresh), nodeid);
    assert_inodes (table, 3);
    inode_unref (old);
    inode_forget (old, 1);
    ck_assert_uint_eq (detach_forgotten, 1);
    ck_assert_ptr_null (inode_of_nodeid (table, nodeid));
    assert_inodes (table, 2);
}
END_TEST

START_TEST (a_detached_inode_gets_no_name_again_and_none_below_it)
{
    g_autoptr (detach_table) table = detach_table_new ();
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) file = detach_link (root, "file", 1, IA_IFREG);
    g_autoptr (inode_t) folder = detach_link (root, "folder", 2, IA_IFDIR);
    const struct iatt iatt = detach_iatt (1, IA_IFREG);

    inode_detach (file);
    inode_detach (folder);
    g_autoptr (inode_t) named = inode_link (file, root, "file", &iatt);
    ck_assert_ptr_ne (named, file);
    g_autoptr (inode_t) found = inode_grep (root, "file");
    ck_assert_ptr_eq (found, named);
    g_autoptr (inode_t) same = inode_link (file, NULL, NULL, &iatt);
    ck_assert_ptr_eq (same, file);
    g_autoptr (inode_t) below = detach_link (folder, "below", 3, IA_IFREG);
    ck_assert_ptr_null (inode_grep (folder, "below"));
    ck_assert (!inode_is_detached (below));
}
END_TEST

START_TEST (a_detached_directory_takes_along_what_has_no_name_elsewhere)
{
    g_autoptr (detach_table) table = detach_table_new ();
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) folder = detach_link (root, "folder", 1, IA_IFDIR);
    g_autoptr (inode_t) deep = detach_link (folder, "deep", 2, IA_IFDIR);
    g_autoptr (inode_t) file = detach_link (deep, "file", 3, IA_IFREG);
    g_autoptr (inode_t) both = detach_link (deep, "both", 4, IA_IFREG);
    g_autofree char *path = NULL;

    inode_unref (detach_link (root, "other", 4, IA_IFREG));
    inode_unref (detach_link (folder, "idle", 5, IA_IFREG));
    assert_inodes (table, 6);
    inode_detach (folder);
    assert_inodes (table, 5); /* nobody used the idle one */
    ck_assert (inode_is_detached (deep) && inode_is_detached (file));
    ck_assert (!inode_is_detached (both));
    path = inode_path (both, NULL);
    ck_assert_str_eq (path, "/other");
}
END_TEST

/* The answer to a lookup that was asked at that time. */
static inode_t *
detach_answered (inode_t *parent, const char *name, char number, uint64_t asked)
{
    const struct iatt iatt = detach_iatt (number, IA_IFREG);
    g_autoptr (inode_t) fresh = inode_new (parent->table);

    return inode_link_asked (fresh, parent, name, &iatt, asked);
}

START_TEST (a_late_answer_brings_no_name_back)
{
    g_autoptr (detach_table) table = detach_table_new ();
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) moved = detach_link (root, "moved", 1, IA_IFREG);
    g_autoptr (inode_t) replaced = detach_link (root, "replaced", 2, IA_IFREG);
    const uint64_t asked = names_now ();

    inode_rename (root, "moved", root, "replaced", false);
    g_autoptr (inode_t) one = detach_answered (root, "moved", 1, asked);
    g_autoptr (inode_t) other = detach_answered (root, "replaced", 2, asked);
    ck_assert_ptr_eq (one, moved);
    ck_assert_ptr_eq (other, replaced);
    ck_assert_ptr_null (inode_grep (root, "moved"));
    g_autoptr (inode_t) now = inode_grep (root, "replaced");
    ck_assert_ptr_eq (now, moved);
    inode_unlink_asked (root, "replaced", asked);
    g_autoptr (inode_t) still = inode_grep (root, "replaced");
    ck_assert_ptr_eq (still, moved);
    g_autoptr (inode_t) again = detach_answered (root, "moved", 1, names_now ());
    g_autoptr (inode_t) known = inode_grep (root, "moved");
    ck_assert_ptr_eq (known, moved);
    inode_unlink_asked (root, "moved", names_now ());
    ck_assert_ptr_null (inode_grep (root, "moved"));
}
END_TEST

/* Two names of a file may be looked up at a time, and a file without a name gets one. */
START_TEST (an_answer_enters_a_name_that_nothing_contradicts)
{
    g_autoptr (detach_table) table = detach_table_new ();
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) file = detach_link (root, "one", 1, IA_IFREG);
    uint64_t asked = names_now ();
    g_autoptr (inode_t) link = detach_link (root, "two", 1, IA_IFREG);
    g_autoptr (inode_t) third = detach_answered (root, "three", 1, asked);
    g_autoptr (inode_t) known = inode_grep (root, "three");

    ck_assert_ptr_eq (known, file);
    asked = names_now ();
    inode_unlink (root, "one");
    inode_unlink (root, "two");
    inode_unlink (root, "three");
    g_autoptr (inode_t) last = detach_answered (root, "four", 1, asked);
    g_autoptr (inode_t) named = inode_grep (root, "four");
    ck_assert_ptr_eq (named, file);
}
END_TEST

/* --- above storage ---------------------------------------------------------------------------- */

#define DETACHED_MAX 4

struct detaching {
    inode_t *inodes[DETACHED_MAX];
};

static int
detaching_run (struct pause *pause, void *data)
{
    const struct detaching *detaching = data;

    for (unsigned i = 0; i < DETACHED_MAX && detaching->inodes[i]; i++)
        inode_detach (detaching->inodes[i]);
    return 0;
}

static void
detach_in_pause (const struct world *w, struct detaching detaching)
{
    struct pause pause = { .run = detaching_run, .data = &detaching };

    ck_assert_int_eq (pause_run (w->graph->top, &pause), 0);
    ck_assert_int_eq (pause.written, 0);
    pause_clear (&pause);
}

START_TEST (an_open_file_goes_on_and_its_name_has_another_number)
{
    g_auto (world) w = posix_world_begin (world_modes[_i]);
    g_autoptr (fd_t) fd = world_create (&w, w.root, "file", O_RDWR, 0644);
    g_autoptr (inode_t) old = inode_ref (fd->inode);
    g_autofree char *text = NULL, *other = NULL;

    ck_assert_int_eq (world_write (&w, fd, "text", 0), 4);
    detach_in_pause (&w, (struct detaching){ { old } });
    text = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (text, "text");
    ck_assert_int_eq (world_write (&w, fd, "more", 4), 4);

    g_autoptr (inode_t) fresh = posix_world_look (&w, w.root, "file");
    ck_assert_ptr_nonnull (fresh);
    ck_assert_ptr_ne (fresh, old);
    ck_assert (gfid_equal (&fresh->gfid, &old->gfid));
    ck_assert_uint_ne (inode_nodeid (fresh), inode_nodeid (old));
    g_autoptr (fd_t) again = world_open (&w, fresh, O_RDONLY);
    ck_assert_ptr_nonnull (again);
    other = world_read (&w, again, 100, 0);
    ck_assert_str_eq (other, "textmore");
}
END_TEST

START_TEST (what_is_below_a_detached_directory_is_looked_up_anew)
{
    g_auto (world) w = posix_world_begin (world_modes[_i]);
    g_autoptr (inode_t) folder = world_mkdir (&w, w.root, "folder", 0755);
    g_autoptr (inode_t) deep = world_mkdir (&w, folder, "deep", 0755);
    g_autoptr (fd_t) fd = world_create (&w, deep, "file", O_RDWR, 0644);

    detach_in_pause (&w, (struct detaching){ { folder } });
    ck_assert (inode_is_detached (deep) && inode_is_detached (fd->inode));
    ck_assert_int_eq (world_write (&w, fd, "text", 0), 4);

    g_autoptr (inode_t) now = posix_world_look (&w, w.root, "folder");
    g_autoptr (inode_t) below = posix_world_look (&w, now, "deep");
    g_autoptr (inode_t) file = posix_world_look (&w, below, "file");
    ck_assert_ptr_nonnull (file);
    ck_assert_ptr_ne (now, folder);
    ck_assert_ptr_ne (below, deep);
    ck_assert_ptr_ne (file, fd->inode);
    ck_assert_uint_eq (world_stat (&w, file).ia_size, 4);
}
END_TEST

/* A graph that joins later has contexts in detached inodes, too, and leaves them again. */
START_TEST (graphs_come_and_go_while_an_inode_is_detached)
{
    g_auto (world) w = posix_world_begin ("");
    g_autoptr (fd_t) fd = world_create (&w, w.root, "file", O_RDWR, 0644);
    struct graph *next = posix_world_load (w.dir, "option o-direct on\n");

    detach_in_pause (&w, (struct detaching){ { fd->inode } });
    ck_assert (graph_join (next, w.graph));
    ck_assert_int_eq (graph_activate (next), 0);
    ck_assert_int_eq (world_write (&w, fd, "text", 0), 4);
    graph_free (next);
    ck_assert_int_eq (world_write (&w, fd, "more", 4), 4);
}
END_TEST

TEST_PROGRAM (test_detach)
{
    Suite *suite = suite_create ("detach");
    TCase *tcase = tcase_create ("detach");

    tcase_add_test (tcase, a_detached_inode_lives_on_and_its_gfid_and_name_get_a_new_one);
    tcase_add_test (tcase, a_detached_inode_gets_no_name_again_and_none_below_it);
    tcase_add_test (tcase, a_detached_directory_takes_along_what_has_no_name_elsewhere);
    tcase_add_test (tcase, a_late_answer_brings_no_name_back);
    tcase_add_test (tcase, an_answer_enters_a_name_that_nothing_contradicts);
    tcase_add_loop_test (tcase, an_open_file_goes_on_and_its_name_has_another_number, 0,
                         WORLD_MODES);
    tcase_add_loop_test (tcase, what_is_below_a_detached_directory_is_looked_up_anew, 0,
                         WORLD_MODES);
    tcase_add_test (tcase, graphs_come_and_go_while_an_inode_is_detached);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

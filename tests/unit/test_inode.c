/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* The table of inodes: identity, names, numbers; and unreferenced inodes are freed. */
#include "core/data/inode.h"
#include "core/data/itable.h"
#include "core/edge/translator.h"

#include "../program.h"
#include <stdlib.h>

static unsigned forgotten;

static void
count_forget (inode_t *inode, void *data)
{
    __atomic_add_fetch (&forgotten, 1, __ATOMIC_RELAXED);
}

typedef struct itable table_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC (table_t, itable_destroy)

static struct itable *
table_new (size_t limit)
{
    forgotten = 0;
    return itable_new (1, limit, count_forget, NULL);
}

static struct iatt
iatt_of (unsigned number, ia_type_t type)
{
    struct iatt iatt = { .ia_type = type, .ia_ino = number };

    memcpy (iatt.ia_gfid.b, &number, sizeof number);
    iatt.ia_gfid.b[15] = 7;
    return iatt;
}

/* Returns a linked inode, with a reference. */
static inode_t *
linked (struct itable *table, inode_t *parent, const char *name, unsigned number, ia_type_t type)
{
    struct iatt iatt = iatt_of (number, type);
    g_autoptr (inode_t) fresh = inode_new (table);

    return inode_link (fresh, parent, name, &iatt);
}

static void
assert_known (struct itable *table, size_t n)
{
    size_t known, idle;

    itable_counts (table, &known, &idle);
    ck_assert_uint_eq (known, n);
}

START_TEST (the_root_is_number_one)
{
    struct itable *table = table_new (10);

    ck_assert_uint_eq (inode_nodeid (itable_root (table)), 1);
    ck_assert_ptr_eq (inode_of_nodeid (table, 1), itable_root (table));
    itable_destroy (table);
}
END_TEST

START_TEST (two_names_of_one_gfid_are_one_inode)
{
    struct itable *table = table_new (10);
    inode_t *one = linked (table, itable_root (table), "one", 1, IA_IFREG);
    inode_t *other = linked (table, itable_root (table), "other", 1, IA_IFREG);

    ck_assert_ptr_eq (one, other);
    assert_known (table, 2);
    inode_unref (one);
    inode_unref (other);
    itable_destroy (table);
    ck_assert_uint_eq (forgotten, 3);
}
END_TEST

START_TEST (a_path_follows_names_and_renames)
{
    g_autoptr (table_t) table = table_new (10);
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) dir = linked (table, root, "dir", 1, IA_IFDIR);
    g_autoptr (inode_t) file = linked (table, dir, "file", 2, IA_IFREG);
    g_autofree char *before = inode_path (file, NULL);

    ck_assert_str_eq (before, "/dir/file");
    inode_rename (root, "dir", root, "moved", false);
    g_autofree char *after = inode_path (file, NULL);
    ck_assert_str_eq (after, "/moved/file");
    g_autofree char *top = inode_path (root, NULL);
    ck_assert_str_eq (top, "/");
    g_autofree char *child = inode_path (root, "new");
    ck_assert_str_eq (child, "/new");
}
END_TEST

START_TEST (names_are_exchanged)
{
    g_autoptr (table_t) table = table_new (10);
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) a = linked (table, root, "a", 1, IA_IFREG);
    g_autoptr (inode_t) b = linked (table, root, "b", 2, IA_IFREG);

    inode_rename (root, "a", root, "b", true);
    g_autoptr (inode_t) now_a = inode_grep (root, "a");
    g_autoptr (inode_t) now_b = inode_grep (root, "b");
    ck_assert_ptr_eq (now_a, b);
    ck_assert_ptr_eq (now_b, a);
}
END_TEST

START_TEST (an_unlinked_inode_has_a_path_by_its_gfid)
{
    g_autoptr (table_t) table = table_new (10);
    g_autoptr (inode_t) file = linked (table, itable_root (table), "file", 1, IA_IFREG);

    inode_unlink (itable_root (table), "file");
    g_autofree char *path = inode_path (file, NULL);
    ck_assert_msg (g_str_has_prefix (path, "<gfid:01000000-"), "%s", path);
}
END_TEST

START_TEST (the_kernel_keeps_an_inode_until_it_forgets_as_often_as_it_looked)
{
    struct itable *table = table_new (0);
    inode_t *file = linked (table, itable_root (table), "file", 1, IA_IFREG);

    inode_lookup (file);
    inode_lookup (file);
    inode_unref (file);
    assert_known (table, 2);
    inode_forget (file, 1);
    assert_known (table, 2);
    inode_forget (file, 1);
    assert_known (table, 1);
    ck_assert_uint_eq (forgotten, 1);
    itable_destroy (table);
}
END_TEST

START_TEST (forgetting_more_than_was_looked_up_does_no_harm)
{
    g_autoptr (table_t) table = table_new (10);
    g_autoptr (inode_t) file = linked (table, itable_root (table), "file", 1, IA_IFREG);

    inode_lookup (file);
    inode_forget (file, 1000);
    inode_forget (file, 1000);
    ck_assert_int_eq (file->refs, 1);
}
END_TEST

START_TEST (files_that_the_kernel_knows_are_found_and_nothing_else)
{
    g_autoptr (table_t) table = table_new (10);
    g_autoptr (inode_t) file = linked (table, itable_root (table), "file", 1, IA_IFREG);
    g_autoptr (inode_t) folder = linked (table, itable_root (table), "folder", 2, IA_IFDIR);
    g_autoptr (inode_t)
        forgotten_one = linked (table, itable_root (table), "forgotten", 3, IA_IFREG);
    uint64_t nodeids[4] = { 0 };

    inode_lookup (file);
    inode_lookup (folder);
    inode_lookup (forgotten_one);
    inode_forget (forgotten_one, 1);
    ck_assert_uint_eq (itable_known_files (table, nodeids, G_N_ELEMENTS (nodeids)), 1);
    ck_assert_uint_eq (nodeids[0], inode_nodeid (file));
    ck_assert_uint_eq (itable_known_files (table, nodeids, 0), 0);
}
END_TEST

static void
name_add (inode_t *parent, const char *name, void *names)
{
    g_string_append_printf (names, "%s ", name);
}

static void
assert_children (inode_t *directory, const char *expected)
{
    g_autoptr (GString) names = g_string_new (NULL);

    inode_each_child (directory, name_add, names);
    ck_assert_str_eq (names->str, expected);
}

START_TEST (a_directory_has_the_names_in_it_and_no_others)
{
    g_autoptr (table_t) table = table_new (10);
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) folder = linked (table, root, "folder", 1, IA_IFDIR);
    g_autoptr (inode_t) file = linked (table, folder, "a", 2, IA_IFREG);
    G_GNUC_UNUSED g_autoptr (inode_t) linked_file = linked (table, root, "b", 2, IA_IFREG);
    G_GNUC_UNUSED g_autoptr (inode_t) other = linked (table, folder, "c", 3, IA_IFREG);
    G_GNUC_UNUSED g_autoptr (inode_t) third = linked (table, folder, "d", 4, IA_IFREG);

    assert_children (root, "b folder ");
    assert_children (folder, "d c a ");
    assert_children (file, "");
    inode_unlink (folder, "c");
    assert_children (folder, "d a ");
    inode_rename (folder, "d", folder, "e", false);
    assert_children (folder, "e a ");
    inode_rename (folder, "a", root, "f", false);
    assert_children (folder, "e ");
    inode_unlink (folder, "e");
    assert_children (folder, "");
    inode_unlink (root, "b");
    assert_children (root, "f folder ");
}
END_TEST

START_TEST (only_so_many_idle_inodes_are_remembered)
{
    g_autoptr (table_t) table = table_new (100);
    char name[32];
    size_t known, idle;

    for (unsigned i = 1; i <= 1000; i++) {
        g_snprintf (name, sizeof name, "%u", i);
        inode_unref (linked (table, itable_root (table), name, i, IA_IFREG));
    }
    itable_counts (table, &known, &idle);
    ck_assert_uint_eq (idle, 100);
    ck_assert_uint_eq (known, 101);
    g_autoptr (inode_t) oldest = inode_grep (itable_root (table), "1");
    g_autoptr (inode_t) newest = inode_grep (itable_root (table), "1000");
    ck_assert_ptr_null (oldest);
    ck_assert_ptr_nonnull (newest);
}
END_TEST

START_TEST (a_child_keeps_its_directories)
{
    struct itable *table = table_new (0);
    inode_t *dir = linked (table, itable_root (table), "dir", 1, IA_IFDIR);
    inode_t *file = linked (table, dir, "file", 2, IA_IFREG);

    inode_unref (dir);
    assert_known (table, 3);
    inode_unref (file);
    assert_known (table, 1);
    itable_destroy (table);
}
END_TEST

START_TEST (a_very_deep_tree_goes_without_a_deep_stack)
{
    struct itable *table = table_new (0);
    inode_t *dir = inode_ref (itable_root (table));

    for (unsigned i = 1; i <= 300000; i++) {
        inode_t *child = linked (table, dir, "d", i, IA_IFDIR);
        inode_unref (dir);
        dir = child;
    }
    g_autofree char *path = inode_path (dir, NULL);
    ck_assert (strlen (path) < 20000);
    inode_unref (dir);
    assert_known (table, 1);
    itable_destroy (table);
}
END_TEST

START_TEST (a_stale_or_invented_number_finds_nothing)
{
    g_autoptr (table_t) table = table_new (0);
    inode_t *file = linked (table, itable_root (table), "file", 1, IA_IFREG);
    uint64_t nodeid = inode_nodeid (file);

    ck_assert_ptr_eq (inode_of_nodeid (table, nodeid), file);
    inode_unref (file);
    ck_assert_ptr_null (inode_get_nodeid (table, nodeid));
    g_autoptr (inode_t) next = inode_new (table);
    ck_assert_uint_ne (inode_nodeid (next), nodeid);
    ck_assert_ptr_null (inode_get_nodeid (table, nodeid));
    ck_assert_ptr_null (inode_get_nodeid (table, 0));
    ck_assert_ptr_null (inode_get_nodeid (table, UINT64_MAX));
    ck_assert_ptr_null (inode_get_nodeid (table, 123456789));
}
END_TEST

/* Many inodes are created and freed: the memory of their numbers is freed, too, and allocated again
 * without any number that existed before. */
START_TEST (numbers_given_back_are_never_given_out_again)
{
    enum { N = 3 * SLOT_CHUNK };
    g_autoptr (table_t) table = table_new (0);
    g_autofree inode_t **inodes = g_new (inode_t *, N);
    g_autoptr (GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);

    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < N; i++) {
            inodes[i] = inode_new (table);
            uint64_t nodeid = inode_nodeid (inodes[i]);
            ck_assert_msg (g_hash_table_add (seen, g_memdup2 (&nodeid, sizeof nodeid)),
                           "number %" G_GUINT64_FORMAT " again", nodeid);
            ck_assert_ptr_eq (inode_of_nodeid (table, nodeid), inodes[i]);
        }
        ck_assert_uint_le (table->n_slots, N + SLOT_CHUNK);
        for (unsigned i = 0; i < N; i++)
            if (i != N / 2)
                inode_unref (inodes[i]);
        itable_trim (table);
        if (round % 2 == 0)
            itable_trim (table);
        uint64_t kept = inode_nodeid (inodes[N / 2]);
        ck_assert_ptr_eq (inode_of_nodeid (table, kept), inodes[N / 2]);
        inode_unref (inodes[N / 2]);
        ck_assert_ptr_null (inode_get_nodeid (table, kept));
    }
    ck_assert_ptr_eq (inode_of_nodeid (table, 1), itable_root (table));
    GHashTableIter iter;
    gpointer nodeid;
    g_hash_table_iter_init (&iter, seen);
    while (g_hash_table_iter_next (&iter, &nodeid, NULL))
        ck_assert_ptr_null (inode_get_nodeid (table, *(uint64_t *) nodeid));
}
END_TEST

/* A slot is reused until its generation wraps around. */
START_TEST (numbers_of_two_tables_are_never_the_same)
{
    g_autoptr (table_t) table = table_new (0);
    g_autoptr (table_t) beside = table_new (0);

    itable_set_beside (beside);
    ck_assert_uint_eq (inode_nodeid (itable_root (beside)), INODE_BESIDE | 1);
    ck_assert_ptr_eq (inode_of_nodeid (beside, INODE_BESIDE | 1), itable_root (beside));
    ck_assert_ptr_null (inode_of_nodeid (beside, 1));
    ck_assert_ptr_null (inode_of_nodeid (table, INODE_BESIDE | 1));
    for (unsigned i = 0; i < 5; i++) {
        inode_t *one = inode_new (table), *other = inode_new (beside);
        uint64_t number = inode_nodeid (one), number_beside = inode_nodeid (other);

        ck_assert_uint_eq (number & INODE_BESIDE, 0);
        ck_assert_uint_eq (number_beside & INODE_BESIDE, INODE_BESIDE);
        ck_assert_ptr_null (inode_of_nodeid (beside, number));
        ck_assert_ptr_null (inode_of_nodeid (table, number_beside));
        ck_assert_ptr_eq (inode_of_nodeid (beside, number_beside), other);
        if (i == 2) {
            one->generation = INT32_MAX;
            other->generation = UINT32_MAX;
        }
        inode_unref (one);
        inode_unref (other);
    }
}
END_TEST

/* Borrowing an unreferenced inode would revive it without the table. */
START_TEST (an_idle_inode_is_found_with_a_reference_alone)
{
    g_autoptr (table_t) table = table_new (10);
    inode_t *file = linked (table, itable_root (table), "file", 1, IA_IFREG);
    uint64_t nodeid = inode_nodeid (file);

    inode_unref (file);
    ck_assert_ptr_null (inode_of_nodeid (table, nodeid));
    g_autoptr (inode_t) again = inode_get_nodeid (table, nodeid);
    ck_assert_ptr_eq (again, file);
    ck_assert_ptr_eq (inode_of_nodeid (table, nodeid), file);
}
END_TEST

static void *
churn (void *data)
{
    struct itable *table = data;
    char name[32];

    for (unsigned i = 0; i < 5000; i++) {
        unsigned n = 1 + i * 7919 % 50;
        g_snprintf (name, sizeof name, "%u", n);
        inode_t *inode = linked (table, itable_root (table), name, n, IA_IFREG);
        inode_lookup (inode);
        inode_forget (inode, 1);
        if (i % 3 == 0)
            inode_unlink (itable_root (table), name);
        g_free (inode_path (inode, NULL));
        inode_unref (inode);
    }
    return NULL;
}

START_TEST (many_threads_may_use_one_table)
{
    struct itable *table = table_new (5);
    pthread_t threads[4];
    size_t known, idle;

    for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
        pthread_create (&threads[i], NULL, churn, table);
    for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
        pthread_join (threads[i], NULL);
    itable_counts (table, &known, &idle);
    ck_assert_uint_le (idle, 5);
    ck_assert_uint_eq (known, idle + 1);
    itable_destroy (table);
}
END_TEST

START_TEST (the_first_to_set_a_context_wins)
{
    struct itable *table = table_new (5);
    xlator_t xl = { .inode_slot = 0 };
    int mine, theirs;

    ck_assert_ptr_null (inode_ctx_get (itable_root (table), &xl));
    ck_assert_ptr_eq (inode_ctx_set (itable_root (table), &xl, &theirs), &theirs);
    ck_assert_ptr_eq (inode_ctx_set (itable_root (table), &xl, &mine), &theirs);
    ck_assert_ptr_eq (inode_ctx_get (itable_root (table), &xl), &theirs);
    itable_destroy (table);
}
END_TEST

static void
assert_context (inode_t *inode, const xlator_t *xl, void *expected)
{
    ck_assert_ptr_eq (inode_ctx_get (inode, xl), expected);
}

/* Inodes of before and after a graph joined; and a third graph after the first has left. */
START_TEST (two_graphs_keep_contexts_of_their_own)
{
    struct itable *table = table_new (5);
    inode_t *early = linked (table, itable_root (table), "early", 1, IA_IFREG), *late;
    xlator_t one = { .inode_slot = INODE_SLOT (0, 0) }, two = { .inode_slot = INODE_SLOT (1, 1) },
             three = { .inode_slot = INODE_SLOT (0, 2) };
    int a, b, c;

    inode_ctx_set (early, &one, &a);
    ck_assert_int_eq (itable_spare (table), 1);
    itable_join (table, 1, 2, count_forget, NULL);
    late = linked (table, itable_root (table), "late", 2, IA_IFREG);
    assert_context (early, &two, NULL);
    inode_ctx_set (early, &two, &b);
    inode_ctx_set (late, &one, &a);
    inode_ctx_set (late, &two, &b);
    assert_context (early, &one, &a);

    itable_leave (table, 0);
    ck_assert_uint_eq (forgotten, 3); /* the root too */
    assert_context (late, &two, &b);
    ck_assert_int_eq (itable_spare (table), 0);
    itable_join (table, 0, 3, count_forget, NULL);
    for (int i = 0; i < 3; i++)
        assert_context (late, &(xlator_t){ .inode_slot = INODE_SLOT (0, i) }, NULL);
    inode_ctx_set (early, &three, &c);
    assert_context (early, &two, &b);

    inode_unref (early);
    inode_unref (late);
    itable_leave (table, 1);
    ck_assert_uint_eq (forgotten, 6);
    itable_leave (table, 0);
    ck_assert_uint_eq (forgotten, 9);
}
END_TEST

/* The names "unkept" in the root, and "too" in an unkept directory. */
static bool
odd_name_is_unkept (inode_t *parent, const char *name, void *data)
{
    ++*(unsigned *) data;
    return strcmp (name, parent == itable_root (parent->table) ? "unkept" : "too") == 0
        && (parent == itable_root (parent->table) || inode_is_unkept (parent));
}

/* A directory is unkept from the time on when it gets such a name, or is found with it after a
 * graph has joined; and stays so. */
START_TEST (directories_of_some_names_are_unkept)
{
    unsigned asked = 0;
    struct itable *table = table_new (5);
    inode_t *root = itable_root (table);
    g_autoptr (inode_t) early = linked (table, root, "unkept", 1, IA_IFDIR), again = NULL,
                        plain = linked (table, root, "plain", 2, IA_IFDIR), too = NULL,
                        renamed = NULL, exchanged = NULL;

    itable_join (table, 1, 1, count_forget, &asked);
    itable_set_unkept (table, 1, odd_name_is_unkept);
    ck_assert (!inode_is_unkept (early));
    again = linked (table, root, "unkept", 1, IA_IFDIR);
    ck_assert_ptr_eq (again, early);
    ck_assert (inode_is_unkept (early) && !inode_is_unkept (root));

    too = linked (table, early, "too", 3, IA_IFDIR);
    ck_assert (inode_is_unkept (too));
    renamed = linked (table, plain, "too", 4, IA_IFDIR);
    ck_assert (!inode_is_unkept (renamed));
    inode_rename (plain, "too", early, "too", false);
    ck_assert (inode_is_unkept (renamed));
    exchanged = linked (table, plain, "too", 5, IA_IFDIR);
    inode_rename (early, "too", plain, "too", true);
    ck_assert (inode_is_unkept (exchanged) && inode_is_unkept (renamed));
    ck_assert (!inode_is_unkept (plain));

    itable_leave (table, 1);
    ck_assert_uint_gt (asked, 0);
    asked = 0;
    inode_unref (linked (table, root, "last", 6, IA_IFDIR));
    ck_assert_uint_eq (asked, 0);
    inode_unref (g_steal_pointer (&early));
    inode_unref (g_steal_pointer (&plain));
    inode_unref (g_steal_pointer (&again));
    inode_unref (g_steal_pointer (&too));
    inode_unref (g_steal_pointer (&renamed));
    inode_unref (g_steal_pointer (&exchanged));
    itable_destroy (table);
}
END_TEST

/* As many graphs as there may be, of which one in the middle leaves. */
START_TEST (several_graphs_keep_contexts_of_their_own)
{
    struct itable *table = table_new (5);
    inode_t *inode = linked (table, itable_root (table), "file", 1, IA_IFREG);
    int values[ITABLE_GRAPHS];

    for (int i = 1; i < ITABLE_GRAPHS; i++) {
        ck_assert_int_eq (itable_spare (table), i);
        itable_join (table, (unsigned) i, 1, count_forget, NULL);
    }
    ck_assert_int_eq (itable_spare (table), -1);
    for (int i = 0; i < ITABLE_GRAPHS; i++)
        inode_ctx_set (inode, &(xlator_t){ .inode_slot = INODE_SLOT (i, 0) }, &values[i]);
    itable_leave (table, 2);
    ck_assert_uint_eq (forgotten, 2);
    ck_assert_int_eq (itable_spare (table), 2);
    for (int i = 0; i < ITABLE_GRAPHS; i++)
        if (i != 2)
            assert_context (inode, &(xlator_t){ .inode_slot = INODE_SLOT (i, 0) }, &values[i]);
    itable_join (table, 2, 2, count_forget, NULL);
    assert_context (inode, &(xlator_t){ .inode_slot = INODE_SLOT (2, 1) }, NULL);
    inode_unref (inode);
    for (unsigned i = 0; i < ITABLE_GRAPHS; i++)
        itable_leave (table, i);
    ck_assert_uint_eq (forgotten, 2 + 2 * ITABLE_GRAPHS);
}
END_TEST

TEST_PROGRAM (test_inode)
{
    Suite *suite = suite_create ("inode");
    TCase *tcase = tcase_create ("table");

    tcase_add_test (tcase, the_root_is_number_one);
    tcase_add_test (tcase, two_names_of_one_gfid_are_one_inode);
    tcase_add_test (tcase, a_path_follows_names_and_renames);
    tcase_add_test (tcase, names_are_exchanged);
    tcase_add_test (tcase, an_unlinked_inode_has_a_path_by_its_gfid);
    tcase_add_test (tcase, the_kernel_keeps_an_inode_until_it_forgets_as_often_as_it_looked);
    tcase_add_test (tcase, forgetting_more_than_was_looked_up_does_no_harm);
    tcase_add_test (tcase, only_so_many_idle_inodes_are_remembered);
    tcase_add_test (tcase, a_child_keeps_its_directories);
    tcase_add_test (tcase, a_very_deep_tree_goes_without_a_deep_stack);
    tcase_add_test (tcase, a_stale_or_invented_number_finds_nothing);
    tcase_add_test (tcase, files_that_the_kernel_knows_are_found_and_nothing_else);
    tcase_add_test (tcase, a_directory_has_the_names_in_it_and_no_others);
    tcase_add_test (tcase, numbers_given_back_are_never_given_out_again);
    tcase_add_test (tcase, numbers_of_two_tables_are_never_the_same);
    tcase_add_test (tcase, an_idle_inode_is_found_with_a_reference_alone);
    tcase_add_test (tcase, many_threads_may_use_one_table);
    tcase_add_test (tcase, the_first_to_set_a_context_wins);
    tcase_add_test (tcase, two_graphs_keep_contexts_of_their_own);
    tcase_add_test (tcase, several_graphs_keep_contexts_of_their_own);
    tcase_add_test (tcase, directories_of_some_names_are_unkept);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

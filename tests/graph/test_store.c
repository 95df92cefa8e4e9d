/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug valgrind */
/* Stores (core/store): what survives a close, a torn write, a damaged byte, an error and a power
 * cut at each request; two graphs that have one open. */
#include "posix_world.h"

#include "core/base/log.h"
#include "core/store/store.h"

#define CUT_AFTER \
    "end-volume\nvolume power-cut\ntype debug/power-cut\nsubvolumes posix\n" \
    "end-volume\nvolume fault\ntype debug/fault\noption rules %s\nsubvolumes power-cut\n"

static int
world_store (struct world *w, struct store **ret_store)
{
    const struct store_plan plan = { w->graph->top, w->graph->top, w->root, "store", false };

    *ret_store = NULL;
    return store_open (&plan, ret_store);
}

static struct store *
open_store (struct world *w)
{
    struct store *store;

    ck_assert_int_eq (world_store (w, &store), 0);
    return store;
}

static void
store_set_text (struct store *store, const char *key, const char *text)
{
    store_set (store, key, text, strlen (text));
}

/* Returns the value as text; NULL: none. g_free it. */
static char *
store_text (struct store *store, const char *key)
{
    g_autoptr (GBytes) value = store_get (store, key);
    gsize size;
    const char *data = value ? g_bytes_get_data (value, &size) : NULL;

    return value ? g_strndup (data ? data : "", size) : NULL;
}

static void
expect_value (struct store *store, const char *key, const char *expected)
{
    g_autofree char *text = store_text (store, key);

    ck_assert_msg (g_strcmp0 (text, expected) == 0, "'%s' is '%s', not '%s'", key,
                   text ? text : "none", expected ? expected : "none");
}

static void
store_file_read (const struct world *w, char **ret_bytes, gsize *ret_size)
{
    g_autofree char *path = world_path (w, "store");

    ck_assert (g_file_get_contents (path, ret_bytes, ret_size, NULL));
}

static void
store_file_write (const struct world *w, const char *bytes, gsize size)
{
    g_autofree char *path = world_path (w, "store");

    ck_assert (g_file_set_contents (path, bytes, (gssize) size, NULL));
}

/* A file with three records; the offsets of their ends. */
static void
three_records (struct world *w, gsize ends[3])
{
    struct store *store = open_store (w);
    const char *const keys[] = { "/one", "/two", "/three" };

    for (unsigned i = 0; i < 3; i++) {
        g_autofree char *bytes = NULL;

        store_set_text (store, keys[i], keys[i] + 1);
        ck_assert_int_eq (store_write (store), 0);
        store_file_read (w, &bytes, &ends[i]);
    }
    store_close (store, w->graph->top);
}

static void
add_key (const char *key, GBytes *value, void *data)
{
    g_string_append_printf (data, "%s=%.*s ", key, (int) g_bytes_get_size (value),
                            (const char *) g_bytes_get_data (value, NULL));
}

START_TEST (test_values_survive)
{
    g_auto (world) w = posix_world_begin ("");
    g_autoptr (GString) keys = g_string_new (NULL);
    struct store *store = open_store (&w);

    store_set_text (store, "/b", "1");
    store_set_text (store, "/b", "2");
    store_set_text (store, "/a", "");
    store_set_text (store, "other", "x");
    store_set_text (store, "/gone", "x");
    store_remove (store, "/gone");
    store_remove (store, "/never");
    ck_assert_int_eq (store_sync (store), 0);
    store_close (store, w.graph->top);

    store = open_store (&w);
    store_each (store, "/", add_key, keys);
    ck_assert_str_eq (keys->str, "/a= /b=2 ");
    expect_value (store, "/gone", NULL);
    expect_value (store, "other", "x");
    store_close (store, w.graph->top);
}
END_TEST

/* A key that was set after the number was taken stays. */
START_TEST (test_removed_later)
{
    g_auto (world) w = posix_world_begin ("");
    g_autoptr (GString) keys = g_string_new (NULL);
    struct store *store = open_store (&w);
    uint64_t then;

    store_set_text (store, "/old", "1");
    store_set_text (store, "/again", "1");
    then = store_now (store);
    store_set_text (store, "/again", "2");
    store_set_text (store, "/new", "1");
    store_remove_until (store, "/old", then);
    store_remove_until (store, "/again", then);
    store_remove_until (store, "/new", then);
    store_close (store, w.graph->top);

    store = open_store (&w);
    store_remove_until (store, "/new", store_now (store)); /* as the file had it */
    store_each (store, "/", add_key, keys);
    ck_assert_str_eq (keys->str, "/again=2 ");
    store_close (store, w.graph->top);
}
END_TEST

START_TEST (test_torn_at_each_byte)
{
    g_auto (world) w = posix_world_begin ("");
    g_autofree char *bytes = NULL;
    gsize ends[3], size, first;

    three_records (&w, ends);
    store_file_read (&w, &bytes, &size);
    first = ends[0] - (ends[1] - ends[0]); /* "/one" and "/two" have the same size */
    for (gsize length = first; length <= size; length++) {
        const unsigned whole = (length >= ends[0]) + (length >= ends[1]) + (length >= ends[2]);
        const gsize whole_end = whole > 0 ? ends[whole - 1] : first;
        struct store *store;

        store_file_write (&w, bytes, length);
        store = open_store (&w);
        expect_value (store, "/one", whole > 0 ? "one" : NULL);
        expect_value (store, "/two", whole > 1 ? "two" : NULL);
        expect_value (store, "/three", whole > 2 ? "three" : NULL);
        ck_assert_uint_eq (store_losses (store).torn, length - whole_end);
        ck_assert_uint_eq (store_losses (store).damaged, 0);
        store_set_text (store, "/later", "later");
        ck_assert_int_eq (store_write (store), 0);
        store_close (store, w.graph->top);
        store = open_store (&w);
        expect_value (store, "/one", whole > 0 ? "one" : NULL);
        expect_value (store, "/later", "later");
        ck_assert_uint_eq (store_losses (store).torn, 0);
        store_close (store, w.graph->top);
    }
}
END_TEST

START_TEST (test_damaged_at_each_byte)
{
    g_auto (world) w = posix_world_begin ("");
    g_autofree char *bytes = NULL;
    gsize ends[3], size;

    three_records (&w, ends);
    store_file_read (&w, &bytes, &size);
    for (gsize at = ends[0]; at < size; at++) {
        const bool last = at >= ends[1];
        struct store *store;

        bytes[at] ^= 0x5a;
        store_file_write (&w, bytes, size);
        bytes[at] ^= 0x5a;
        store = open_store (&w);
        expect_value (store, "/one", "one");
        expect_value (store, "/two", last ? "two" : NULL);
        expect_value (store, "/three", last ? NULL : "three");
        ck_assert_uint_eq (store_losses (store).damaged, last ? 0 : ends[1] - ends[0]);
        ck_assert_uint_eq (store_losses (store).torn, last ? ends[2] - ends[1] : 0);
        store_close (store, w.graph->top);
        store = open_store (&w); /* the file has been put in order */
        expect_value (store, "/one", "one");
        ck_assert_uint_eq (store_losses (store).damaged, 0);
        ck_assert_uint_eq (store_losses (store).torn, 0);
        store_close (store, w.graph->top);
    }
    store_file_write (&w, "something else", strlen ("something else"));
    {
        struct store *store;

        ck_assert_int_eq (world_store (&w, &store), -EUCLEAN);
    }
}
END_TEST

/* Neither a missing file, nor a torn and a damaged one, is touched. */
START_TEST (test_of_a_reader)
{
    g_auto (world) w = posix_world_begin ("");
    const struct store_plan plan = { w.graph->top, w.graph->top, w.root, "store", true };
    g_autofree char *path = g_build_filename (w.dir, "store", NULL), *bytes = NULL, *now = NULL;
    gsize ends[3], size, size_now;
    struct store *store;

    ck_assert_int_eq (store_open (&plan, &store), 0);
    expect_value (store, "/one", NULL);
    store_close (store, w.graph->top);
    ck_assert (!g_file_test (path, G_FILE_TEST_EXISTS));

    three_records (&w, ends);
    store_file_read (&w, &bytes, &size);
    bytes[ends[0]] ^= 0x5a;
    store_file_write (&w, bytes, size - 1);
    ck_assert_int_eq (store_open (&plan, &store), 0);
    expect_value (store, "/one", "one");
    expect_value (store, "/two", NULL);
    store_close (store, w.graph->top);
    store_file_read (&w, &now, &size_now);
    ck_assert_uint_eq (size_now, size - 1);
    ck_assert_int_eq (memcmp (now, bytes, size_now), 0);
}
END_TEST

START_TEST (test_compaction)
{
    g_auto (world) w = posix_world_begin ("");
    g_autofree char *left = world_path (&w, "store.new.0123"), *bytes = NULL;
    struct store *store;
    gsize size;

    ck_assert (g_file_set_contents (left, "x", 1, NULL));
    store = open_store (&w);
    ck_assert_int_ne (access (left, F_OK), 0);
    store_set_text (store, "/kept", "kept");
    for (unsigned i = 0; i < 20000; i++) {
        g_autofree char *text = g_strdup_printf ("%u", i);

        store_set_text (store, "/changes", text);
        if (i % 100 == 0)
            ck_assert_int_eq (store_write (store), 0);
    }
    ck_assert_int_eq (store_sync (store), 0);
    store_file_read (&w, &bytes, &size);
    ck_assert_msg (size < 100000, "the file has %zu bytes", size);
    store_close (store, w.graph->top);
    store = open_store (&w);
    expect_value (store, "/kept", "kept");
    expect_value (store, "/changes", "19999");
    store_close (store, w.graph->top);
}
END_TEST

/* A second graph over the directory stands for the next graph of a mount. */
START_TEST (test_shared_by_graphs)
{
    g_auto (world) w = posix_world_begin ("");
    struct graph *next = posix_world_load (w.dir, "");
    struct store_plan plan = { .name = "store" };
    struct store *store = open_store (&w), *same;

    ck_assert_int_eq (graph_activate (next), 0);
    plan.maker = plan.child = next->top;
    plan.directory = itable_root (next->itable);
    store_set_text (store, "/a", "first");
    ck_assert_int_eq (store_open (&plan, &same), 0);
    ck_assert_ptr_eq (same, store);
    store_set_text (same, "/b", "second");
    ck_assert_int_eq (store_write (same), 0);
    store_close (store, w.graph->top);
    store_set_text (same, "/c", "third");
    ck_assert_int_eq (store_sync (same), 0);

    store = open_store (&w);
    store_close (same, next->top); /* the first graph goes on: its successor was given up */
    store_set_text (store, "/d", "fourth");
    ck_assert_int_eq (store_sync (store), 0);
    store_close (store, w.graph->top);
    store = open_store (&w);
    expect_value (store, "/a", "first");
    expect_value (store, "/b", "second");
    expect_value (store, "/c", "third");
    expect_value (store, "/d", "fourth");
    store_close (store, w.graph->top);
    graph_free (next);
}
END_TEST

/* --- faults and power cuts -------------------------------------------------------------------- */

static char *
rules_write (const struct world *w, const char *rules)
{
    g_autofree char *folder = g_path_get_dirname (w->dir);
    char *path = g_build_filename (folder, "store-rules-XXXXXX", NULL);
    const int fd = g_mkstemp (path);

    ck_assert_int_eq ((int) write (fd, rules, strlen (rules)), (int) strlen (rules));
    close (fd);
    return path;
}

static struct world
faulty_world (const char *rules)
{
    const struct world where = { .dir = g_build_filename (g_get_tmp_dir (), "x", NULL) };
    g_autofree char *path = rules_write (&where, rules);
    g_autofree char *options = g_strdup_printf (CUT_AFTER, path);
    const struct world w = posix_world_begin (options);

    g_unlink (path);
    g_free (where.dir);
    return w;
}

START_TEST (test_an_error_is_made_good)
{
    g_auto (world) w = faulty_world ("writev nth 2 -> error ENOSPC\n");
    struct store *store = open_store (&w);

    store_set_text (store, "/a", "a");
    ck_assert_int_eq (store_write (store), -ENOSPC);
    store_set_text (store, "/b", "b");
    ck_assert_int_eq (store_sync (store), 0);
    store_close (store, w.graph->top);
    store = open_store (&w);
    expect_value (store, "/a", "a");
    expect_value (store, "/b", "b");
    store_close (store, w.graph->top);
}
END_TEST

#define ROUNDS 40

/* Sets a key again and again, with a value of 4 KiB, so that the file is compacted. Returns the
 * number of the last round that was told to be durable; -1: none. */
static int
rounds_run (struct store *store)
{
    g_autofree char *filler = g_strnfill (4096, 'x');
    int durable = -1;

    for (int i = 0; i < ROUNDS; i++) {
        g_autofree char *text = g_strdup_printf ("%d %s", i, filler);

        store_set_text (store, "/round", text);
        if (store_sync (store) == 0)
            durable = i;
    }
    return durable;
}

/* Returns the round that the store has after a power cut; -1: none. */
static int
rounds_stored (const char *dir)
{
    struct graph *graph = posix_world_load (dir, "");
    struct store_plan plan = { .name = "store" };
    g_autofree char *text = NULL;
    struct store *store;

    ck_assert_int_eq (graph_activate (graph), 0);
    plan.maker = plan.child = graph->top;
    plan.directory = itable_root (graph->itable);
    ck_assert_int_eq (store_open (&plan, &store), 0);
    text = store_text (store, "/round");
    ck_assert_uint_eq (store_losses (store).damaged, 0);
    store_close (store, graph->top);
    graph_free (graph);
    return text ? atoi (text) : -1;
}

static void
world_power_cut (struct world *w)
{
    xlator_t *cut = graph_find (w->graph, "power-cut");
    const struct xlator_command *at = cut->api->commands;
    g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);
    g_autoptr (GString) answer = g_string_new (NULL);

    while (strcmp (at->name, "cut") != 0)
        at++;
    ck_assert_int_eq (at->run (cut, &(struct xlator_asked){ .input = nothing }, answer), 0);
}

/* Each request from the n-th on fails; then the power is cut. Returns whether all rounds were
 * durable: n was behind the last request. */
static bool
cut_after (unsigned n)
{
    g_autofree char *rules = g_strdup_printf (
        "mknod,writev,fsync,fsyncdir,rename,unlink,ftruncate,create after %u -> error EIO\n", n);
    g_auto (world) w = faulty_world (rules);
    struct store *store;
    int durable = -1, stored;

    if (world_store (&w, &store) == 0) {
        durable = rounds_run (store);
        store_close (store, w.graph->top);
    }
    world_power_cut (&w);
    stored = rounds_stored (w.dir);
    ck_assert_msg (stored >= durable, "request %u: round %d was durable, round %d is there", n,
                   durable, stored);
    return durable == ROUNDS - 1;
}

START_TEST (test_power_cut_after_each_request)
{
    unsigned n = 1; /* a rule counts from 1 on */

    log_set_level (GF_LOG_NONE);
    while (!cut_after (n))
        ck_assert_uint_lt (++n, 10 * ROUNDS);
    ck_assert_uint_ge (n, 2 * ROUNDS);
}
END_TEST

TEST_PROGRAM (test_store)
{
    Suite *suite = suite_create ("store");
    TCase *all = tcase_create ("store");

    tcase_set_timeout (all, 240);
    tcase_add_test (all, test_values_survive);
    tcase_add_test (all, test_removed_later);
    tcase_add_test (all, test_torn_at_each_byte);
    tcase_add_test (all, test_damaged_at_each_byte);
    tcase_add_test (all, test_of_a_reader);
    tcase_add_test (all, test_compaction);
    tcase_add_test (all, test_shared_by_graphs);
    tcase_add_test (all, test_an_error_is_made_good);
    tcase_add_test (all, test_power_cut_after_each_request);
    suite_add_tcase (suite, all);
    return suite_run (suite);
}

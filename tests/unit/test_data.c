/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* Data of calls: buffers, dicts, gfids, attributes. */
#include "core/data/spare-buffers.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/base/fnv.h"
#include "core/base/gfid.h"
#include "core/base/name.h"
#include "core/data/iatt.h"
#include "core/data/iobuf.h"
#include "core/base/json.h"
#include "core/time/random.h"

#include "../program.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

START_TEST (a_buffer_is_aligned_for_direct_io)
{
    for (size_t size = 1; size < 3 << 20; size = size * 3 + 1) {
        struct iobuf *iobuf = iobuf_new (size);
        ck_assert_uint_ge (iobuf->size, size);
        ck_assert_uint_eq ((uintptr_t) iobuf->ptr % 4096, 0);
        memset (iobuf->ptr, 1, size);
        iobuf_unref (iobuf);
    }
}
END_TEST

#define MANY 20
#define LARGE ((size_t) 128 << 10)

static void *
take_many (void *data)
{
    struct iobuf **iobufs = data;

    for (unsigned i = 0; i < MANY; i++)
        iobufs[i] = iobuf_new (LARGE);
    return NULL;
}

static bool
is_one_of (const struct iobuf *iobuf, struct iobuf *const *iobufs)
{
    bool found = false;

    for (unsigned i = 0; i < MANY; i++)
        found |= iobufs[i] == iobuf;
    return found;
}

/* As with data that a thread reads ahead and another thread answers. */
START_TEST (buffers_that_another_thread_lets_go_of_are_used_again)
{
    struct iobuf *first[MANY], *again[MANY];
    pthread_t thread;

    take_many (first);
    for (unsigned i = 0; i < MANY; i++)
        iobuf_unref (first[i]);
    pthread_create (&thread, NULL, take_many, again);
    pthread_join (thread, NULL);
    unsigned same = 0;
    for (unsigned i = 0; i < MANY; i++)
        same += is_one_of (again[i], first);
    ck_assert_uint_ge (same, MANY - 2); /* two were kept here */
    for (unsigned i = 0; i < MANY; i++)
        iobuf_unref (again[i]);
    iobuf_trim ();
}
END_TEST

/* More than the depot keeps. */
START_TEST (a_flood_of_buffers_is_freed)
{
    enum { FLOOD = 100 };
    struct iobuf *iobufs[FLOOD];

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < FLOOD; i++) {
            iobufs[i] = iobuf_new (LARGE);
            memset (iobufs[i]->ptr, (int) i, LARGE);
        }
        for (unsigned i = 0; i < FLOOD; i++)
            iobuf_unref (iobufs[i]);
    }
    iobuf_trim ();
}
END_TEST

START_TEST (a_buffer_larger_than_memory_is_refused)
{
    ck_assert_ptr_null (iobuf_new (SIZE_MAX));
    ck_assert_ptr_null (iobuf_new (SIZE_MAX / 2));
}
END_TEST

static struct iobref *
data_bytes_of (const char *text, struct iovec *ret_iov)
{
    struct iobuf *iobuf = iobuf_new (strlen (text));
    struct iobref *iobref = iobref_new ();

    memcpy (iobuf->ptr, text, strlen (text));
    *ret_iov = (struct iovec){ iobuf->ptr, strlen (text) };
    iobref_add (iobref, iobuf);
    iobuf_unref (iobuf);
    return iobref;
}

START_TEST (bytes_that_nobody_else_holds_are_changed_in_place)
{
    struct iovec iov, out;
    struct iobref *iobref = data_bytes_of ("hello", &iov), *mine;
    int count;

    ck_assert_int_eq (iov_writable (&iov, 1, iobref, &out, &count, &mine), 0);
    ck_assert_ptr_eq (out.iov_base, iov.iov_base);
    iobref_unref (mine);
    iobref_unref (iobref);
}
END_TEST

START_TEST (bytes_that_somebody_holds_are_copied_first)
{
    struct iovec iov, out;
    struct iobref *iobref = data_bytes_of ("hello", &iov), *mine;
    struct iobref *holder = iobref_ref (iobref);
    int count;

    ck_assert_int_eq (iov_writable (&iov, 1, iobref, &out, &count, &mine), 0);
    ck_assert_ptr_ne (out.iov_base, iov.iov_base);
    memcpy (out.iov_base, "world", 5);
    ck_assert_mem_eq (iov.iov_base, "hello", 5);
    iobref_unref (mine);
    iobref_unref (holder);
    iobref_unref (iobref);
}
END_TEST

START_TEST (a_buffer_that_two_lists_hold_is_copied_first)
{
    struct iovec iov, out;
    struct iobref *iobref = data_bytes_of ("hello", &iov), *mine, *cache = iobref_new ();
    int count;

    iobref_add (cache, iobref->bufs[0]);
    ck_assert (!iobref_writable (iobref));
    ck_assert_int_eq (iov_writable (&iov, 1, iobref, &out, &count, &mine), 0);
    ck_assert_ptr_ne (out.iov_base, iov.iov_base);
    iobref_unref (mine);
    iobref_unref (cache);
    iobref_unref (iobref);
}
END_TEST

START_TEST (bytes_without_an_owner_are_copied_first)
{
    char text[] = "lent";
    struct iovec iov = { text, 4 }, out;
    struct iobref *mine;
    int count;

    ck_assert_int_eq (iov_writable (&iov, 1, NULL, &out, &count, &mine), 0);
    ck_assert_ptr_ne (out.iov_base, (void *) text);
    ck_assert_mem_eq (out.iov_base, "lent", 4);
    iobref_unref (mine);
}
END_TEST

START_TEST (kept_bytes_outlive_the_call)
{
    struct iovec iov, *kept;
    struct iobref *iobref = data_bytes_of ("hello", &iov), *mine;
    int32_t count;

    ck_assert_int_eq (iov_keep (&iov, 1, iobref, &kept, &count, &mine), 0);
    memset (iov.iov_base, 'x', 5);
    iobref_unref (iobref);
    ck_assert_mem_eq (kept[0].iov_base, "hello", 5);
    g_free (kept);
    iobref_unref (mine);
}
END_TEST

START_TEST (a_dict_keeps_order_and_replaces)
{
    g_autoptr (dict_t) dict = dict_new ();
    const char *key;
    const void *value;
    size_t size;
    uint64_t number;

    dict_set_str (dict, "b", "one");
    dict_set_u64 (dict, "a", 77);
    dict_set_str (dict, "b", "two");
    ck_assert_uint_eq (dict_count (dict), 2);
    dict_nth (dict, 0, &key, &value, &size);
    ck_assert_str_eq (key, "b");
    ck_assert_str_eq (value, "two");
    ck_assert_uint_eq (size, 3);
    ck_assert (dict_get_u64 (dict, "a", &number));
    ck_assert_uint_eq (number, 77);
    ck_assert (!dict_get_u64 (dict, "b", &number));
    dict_del (dict, "b");
    ck_assert (!dict_has (dict, "b"));
    ck_assert_ptr_null (dict_get (NULL, "a", &size));
}
END_TEST

START_TEST (a_copied_dict_is_independent)
{
    g_autoptr (dict_t) dict = dict_new ();

    dict_set (dict, "key", "\0\1\2", 3);
    g_autoptr (dict_t) copy = dict_copy (dict);
    dict_set_str (dict, "key", "changed");
    size_t size = 0;
    ck_assert_mem_eq (dict_get (copy, "key", &size), "\0\1\2", 3);
    ck_assert_uint_eq (size, 3);
}
END_TEST

START_TEST (dicts_are_equal_in_any_order)
{
    g_autoptr (dict_t) a = dict_new (), b = dict_new ();

    ck_assert (dict_equal (NULL, a));
    dict_set_str (a, "x", "one");
    dict_set_u64 (a, "y", 2);
    dict_set_u64 (b, "y", 2);
    ck_assert (!dict_equal (a, b));
    ck_assert (!dict_equal (NULL, b));
    dict_set_str (b, "x", "oné");
    ck_assert (!dict_equal (a, b));
    dict_set_str (b, "x", "one");
    ck_assert (dict_equal (a, b));
}
END_TEST

START_TEST (a_gfid_is_read_as_it_was_written)
{
    gfid_t gfid = gfid_of_bytes ("something", 9), read;
    char text[GFID_TEXT_SIZE];

    ck_assert_int_eq (gfid_parse (gfid_text (&gfid, text), &read), 0);
    ck_assert (gfid_equal (&gfid, &read));
    ck_assert_str_eq (gfid_text (&gfid_root, text), "00000000-0000-0000-0000-000000000001");
}
END_TEST

START_TEST (a_malformed_gfid_is_refused)
{
    static const char *const bad[] = { "",
                                       "1",
                                       "00000000-0000-0000-0000-00000000000",
                                       "zz000000-0000-0000-0000-000000000001",
                                       "00000000-0000-0000-0000-0000000000011",
                                       "00000000000000000000000000000001",
                                       "00000000-0000-0000-0000_000000000001" };
    gfid_t gfid;

    for (unsigned i = 0; i < G_N_ELEMENTS (bad); i++)
        ck_assert_msg (gfid_parse (bad[i], &gfid) < 0, "accepted '%s'", bad[i]);
}
END_TEST

/* Several threads take gfids from one source: together those that one thread would take. */
#define GFID_THREADS 4
#define GFIDS 1000

struct gfid_taker {
    pthread_t thread;
    struct random_source *source;
    gfid_t gfids[GFIDS];
};

static void *
gfids_take (void *data)
{
    struct gfid_taker *taker = data;

    for (unsigned i = 0; i < GFIDS; i++)
        taker->gfids[i] = random_gfid (taker->source);
    return NULL;
}

START_TEST (threads_take_gfids_from_one_source)
{
    struct random_source source = { 7 }, alone = { 7 };
    g_autofree struct gfid_taker *takers = g_new0 (struct gfid_taker, GFID_THREADS);
    g_autoptr (GHashTable) taken = g_hash_table_new (gfid_hash, gfid_same);

    for (unsigned t = 0; t < GFID_THREADS; t++) {
        takers[t].source = &source;
        ck_assert_int_eq (pthread_create (&takers[t].thread, NULL, gfids_take, &takers[t]), 0);
    }
    for (unsigned t = 0; t < GFID_THREADS; t++) {
        pthread_join (takers[t].thread, NULL);
        for (unsigned i = 0; i < GFIDS; i++)
            g_hash_table_add (taken, &takers[t].gfids[i]);
    }
    ck_assert_uint_eq (g_hash_table_size (taken), GFID_THREADS * GFIDS);
    for (unsigned i = 0; i < GFID_THREADS * GFIDS; i++) {
        const gfid_t gfid = random_gfid (&alone);

        ck_assert (g_hash_table_contains (taken, &gfid));
    }
}
END_TEST

/* The vectors of the authors of FNV. A gfid that storage derives depends on the hash. */
START_TEST (fnv_is_fnv_1a)
{
    ck_assert_uint_eq (fnv32 (FNV32_START, "", 0), 0x811c9dc5);
    ck_assert_uint_eq (fnv32 (FNV32_START, "a", 1), 0xe40c292c);
    ck_assert_uint_eq (fnv32 (FNV32_START, "foobar", 6), 0xbf9cf968);
    ck_assert (fnv64 (FNV64_START, "a", 1) == 0xaf63dc4c8601ec8c);
    ck_assert (fnv64 (FNV64_START, "foobar", 6) == 0x85944171f73967e8);
}
END_TEST

START_TEST (dots_are_two_names)
{
    static const char *const other[] = { "", "...", ".a", "a", "..a" };

    ck_assert (name_is_dots (".") && name_is_dots (".."));
    for (unsigned i = 0; i < G_N_ELEMENTS (other); i++)
        ck_assert (!name_is_dots (other[i]));
}
END_TEST

START_TEST (attributes_survive_the_way_to_struct_stat_and_back)
{
    struct stat st, again;
    struct iatt iatt;

    ck_assert_int_eq (stat ("/dev/null", &st), 0);
    iatt_of_stat (&iatt, &st);
    ck_assert_int_eq (iatt.ia_type, IA_IFCHR);
    stat_of_iatt (&again, &iatt);
    ck_assert_uint_eq (again.st_mode, st.st_mode);
    ck_assert_uint_eq (again.st_rdev, st.st_rdev);
    ck_assert_int_eq (again.st_mtim.tv_nsec, st.st_mtim.tv_nsec);
}
END_TEST

START_TEST (entries_are_copied_with_their_names)
{
    gf_dirent_t *one = dirent_new ("one", 3);
    one->next = dirent_new ("\xff\xfe", 2);
    gf_dirent_t *copy = dirents_copy (one);

    dirents_free (one);
    ck_assert_str_eq (copy->d_name, "one");
    ck_assert_str_eq (copy->next->d_name, "\xff\xfe");
    ck_assert_ptr_null (copy->next->next);
    dirents_free (copy);
}
END_TEST

START_TEST (a_string_of_any_bytes_is_valid_json)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        { NULL, "null" },
        { "", "\"\"" },
        { "a b", "\"a b\"" },
        { "\"\\", "\"\\\"\\\\\"" },
        { "\n\t\x01\x7f", "\"\\n\\t\\u0001\\u007f\"" },
        { "\xc3\xa4", "\"\xc3\xa4\"" },
        { "\xff.\xc3", "\"\\ufffd.\\ufffd\"" },
        { "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" }, /* half of a pair of UTF-16 */
    };

    for (size_t i = 0; i < G_N_ELEMENTS (cases); i++) {
        g_autoptr (GString) out = g_string_new (NULL);

        json_append_string (out, cases[i].text);
        ck_assert_str_eq (out->str, cases[i].json);
    }
}
END_TEST

START_TEST (members_of_an_object_are_read_as_they_were_written)
{
    static const struct {
        const char *json, *value; /* of "a" */
    } cases[] = {
        { " { \"a\" : \"x\" } \r\n", "x" },
        { "{\"b\":1,\"a\":-1.5e+3,\"c\":null}", "-1.5e+3" },
        { "{\"a\":true}", "true" },
        { "{\"a\":null}", NULL },
        { "{\"a\":1,\"a\":2}", "2" },
        { "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t" },
        { "{\"a\":\"\\u00e4\\ud83d\\ude00\"}", "\xc3\xa4\xf0\x9f\x98\x80" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS (cases); i++) {
        g_autoptr (GHashTable) members = json_read_members (cases[i].json);

        ck_assert_msg (members && g_hash_table_contains (members, "a"), "%s", cases[i].json);
        ck_assert_pstr_eq (g_hash_table_lookup (members, "a"), cases[i].value);
    }
}
END_TEST

START_TEST (what_is_no_object_of_values_is_refused)
{
    static const char *const cases[] = {
        "", "{", "x", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 2}", "[1]",
        "{\"a\":[1]}", "{\"a\":{}}", "{\"a\":\"x}", "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\ud83d\"}",
        "{\"a\":\"\\ud83d\\u0041\"}", "{\"a\":\"\\ude00\"}", "{\"a\":\"\\", "{a:1}",
    };

    for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
        ck_assert_msg (!json_read_members (cases[i]), "%s", cases[i]);
}
END_TEST

TEST_PROGRAM (test_data)
{
    Suite *suite = suite_create ("data");
    TCase *tcase = tcase_create ("values");

    tcase_add_test (tcase, a_buffer_is_aligned_for_direct_io);
    tcase_add_test (tcase, buffers_that_another_thread_lets_go_of_are_used_again);
    tcase_add_test (tcase, a_flood_of_buffers_is_freed);
    tcase_add_test (tcase, a_buffer_larger_than_memory_is_refused);
    tcase_add_test (tcase, bytes_that_nobody_else_holds_are_changed_in_place);
    tcase_add_test (tcase, bytes_that_somebody_holds_are_copied_first);
    tcase_add_test (tcase, a_buffer_that_two_lists_hold_is_copied_first);
    tcase_add_test (tcase, bytes_without_an_owner_are_copied_first);
    tcase_add_test (tcase, kept_bytes_outlive_the_call);
    tcase_add_test (tcase, a_dict_keeps_order_and_replaces);
    tcase_add_test (tcase, a_copied_dict_is_independent);
    tcase_add_test (tcase, dicts_are_equal_in_any_order);
    tcase_add_test (tcase, a_gfid_is_read_as_it_was_written);
    tcase_add_test (tcase, a_malformed_gfid_is_refused);
    tcase_add_test (tcase, threads_take_gfids_from_one_source);
    tcase_add_test (tcase, fnv_is_fnv_1a);
    tcase_add_test (tcase, dots_are_two_names);
    tcase_add_test (tcase, attributes_survive_the_way_to_struct_stat_and_back);
    tcase_add_test (tcase, entries_are_copied_with_their_names);
    tcase_add_test (tcase, a_string_of_any_bytes_is_valid_json);
    tcase_add_test (tcase, members_of_an_object_are_read_as_they_were_written);
    tcase_add_test (tcase, what_is_no_object_of_values_is_refused);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

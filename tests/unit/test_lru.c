/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug valgrind */
/* Entries with a common limit: the order of eviction, classes, a limit that shrinks, several
 * threads; and lists of priorities. */
#include "core/cache/lru.h"
#include "core/cache/cache-weight.h"

#include "../program.h"
#include <string.h>

#define THREADS 4
#define THINGS 64

struct thing {
    struct lru_entry entry;
    char name;
};

static struct thing things[26];

/* Returns the names of the evicted entries, in order. */
static const char *
lru_test_names (struct lru_entry *gone)
{
    static char text[32];
    size_t n = 0;

    for (struct lru_entry *entry; (entry = lru_next (&gone));)
        text[n++] = ((struct thing *) entry)->name;
    text[n] = 0;
    return text;
}

static const char *
lru_test_add (struct lru *lru, char name, unsigned class, uint64_t cost)
{
    struct thing *thing = &things[name - 'a'];
    struct lru_entry *gone;
    bool fits;

    thing->name = name;
    gone = lru_add (lru, &thing->entry, class, cost, &fits);
    return fits ? lru_test_names (gone) : "refused";
}

static void
empty (struct lru *lru)
{
    lru_set_limit (lru, 0);
    ck_assert_uint_eq (lru->bytes, 0);
    ck_assert_uint_eq (lru->used, 0);
    lru_destroy (lru);
    memset (things, 0, sizeof things);
}

START_TEST (what_was_used_longest_ago_goes_first)
{
    struct lru lru;

    lru_init (&lru, 40);
    for (char c = 'a'; c < 'e'; c++)
        ck_assert_str_eq (lru_test_add (&lru, c, 0, 10), "");
    lru_touch (&lru, &things[0].entry);
    ck_assert_str_eq (lru_test_add (&lru, 'e', 0, 10), "b");
    ck_assert (!lru_remove (&lru, &things[1].entry));
    ck_assert (lru_remove (&lru, &things[2].entry));
    ck_assert (!lru_remove (&lru, &things[2].entry));
    ck_assert_uint_eq (lru.bytes, 30);
    ck_assert_str_eq (lru_test_add (&lru, 'f', 0, 25), "da");
    ck_assert_uint_eq (lru.bytes, 35);
    ck_assert_uint_eq (lru.count, 2);
    ck_assert_uint_eq (lru.evicted, 3);
    ck_assert_str_eq (lru_test_add (&lru, 'g', 0, 41), "refused");
    ck_assert_uint_eq (lru.count, 2);
    ck_assert_str_eq (lru_test_add (&lru, 'g', 0, 40), "ef");
    empty (&lru);
}
END_TEST

START_TEST (lower_classes_go_first)
{
    struct lru lru;

    lru_init (&lru, 40);
    lru_test_add (&lru, 'a', 63, 10);
    lru_test_add (&lru, 'b', 1, 10);
    lru_test_add (&lru, 'c', 0, 10);
    lru_test_add (&lru, 'd', 1, 10);
    ck_assert_str_eq (lru_test_add (&lru, 'e', 1, 10), "c");
    ck_assert_str_eq (lru_test_add (&lru, 'f', 0, 10), "refused");
    ck_assert_str_eq (lru_test_add (&lru, 'f', 1, 10), "b");
    ck_assert_str_eq (lru_test_add (&lru, 'g', 1, 31), "refused");
    ck_assert_str_eq (lru_test_add (&lru, 'g', 63, 30), "def");
    ck_assert_str_eq (lru_test_names (lru_set_limit (&lru, 39)), "a");
    ck_assert_uint_eq (lru.bytes, 30);
    ck_assert_str_eq (lru_test_names (lru_set_limit (&lru, 30)), "");
    ck_assert_str_eq (lru_test_names (lru_set_limit (&lru, 29)), "g");
    empty (&lru);
}
END_TEST

/* With many entries, recently used ones are not moved. Still, no entry of the last quarter is
 * evicted before any of the first half. */
START_TEST (order_is_kept_roughly_with_many)
{
    enum { N = 1000 };
    struct thing *many = g_new0 (struct thing, N + 1);
    struct lru_entry *gone;
    struct lru lru;
    bool fits;

    lru_init (&lru, N);
    for (int i = 0; i < N; i++)
        lru_add (&lru, &many[i].entry, 0, 1, &fits);
    const uint64_t moves = lru.moves;
    lru_touch (&lru, &many[N - 2].entry);
    ck_assert_uint_eq (lru.moves, moves);
    for (int i = 0; i < N / 2; i++)
        lru_touch (&lru, &many[i].entry);
    gone = lru_set_limit (&lru, N / 2);
    for (struct lru_entry *entry; (entry = lru_next (&gone));)
        ck_assert (entry >= &many[N / 2].entry);
    ck_assert_uint_eq (lru.count, N / 2);
    lru_set_limit (&lru, 0);
    lru_destroy (&lru);
    g_free (many);
}
END_TEST

/* Each thread adds, uses and removes its own entries, while those of other threads evict them. A
 * removed or evicted entry belongs to a single thread. */
struct worker {
    struct lru *lru;
    GRand *random;
    struct thing mine[THINGS];
};

static void
free_gone (struct lru_entry *gone)
{
    for (struct lru_entry *entry; (entry = lru_next (&gone));)
        __atomic_store_n (&((struct thing *) entry)->name, 0, __ATOMIC_RELEASE);
}

static void *
lru_test_work (void *data)
{
    struct worker *worker = data;
    bool fits;

    for (int i = 0; i < 20000; i++) {
        struct thing *thing = &worker->mine[g_rand_int_range (worker->random, 0, THINGS)];
        const int what = g_rand_int_range (worker->random, 0, 3);

        if (!__atomic_load_n (&thing->name, __ATOMIC_ACQUIRE)) {
            __atomic_store_n (&thing->name, 1, __ATOMIC_RELEASE);
            free_gone (
                lru_add (worker->lru, &thing->entry, (unsigned) what, 1 + (uint64_t) i % 7, &fits));
            if (!fits)
                __atomic_store_n (&thing->name, 0, __ATOMIC_RELEASE);
        } else if (what == 0 && lru_remove (worker->lru, &thing->entry)) {
            __atomic_store_n (&thing->name, 0, __ATOMIC_RELEASE);
        } else if (what == 1) {
            lru_touch (worker->lru, &thing->entry);
        }
        if (i % 1000 == 0)
            free_gone (
                lru_set_limit (worker->lru, (uint64_t) g_rand_int_range (worker->random, 20, 400)));
    }
    return NULL;
}

START_TEST (threads_agree_on_who_has_what)
{
    struct worker *workers = g_new0 (struct worker, THREADS);
    pthread_t threads[THREADS];
    uint64_t bytes = 0, count = 0;
    struct lru lru;

    lru_init (&lru, 300);
    for (int i = 0; i < THREADS; i++) {
        workers[i].lru = &lru;
        workers[i].random = g_rand_new_with_seed ((guint32) i);
        pthread_create (&threads[i], NULL, lru_test_work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join (threads[i], NULL);
    for (int i = 0; i < THREADS * THINGS; i++) {
        const struct thing *thing = &workers[i / THINGS].mine[i % THINGS];

        ck_assert_int_eq (thing->entry.in, thing->name);
        bytes += thing->name ? thing->entry.cost : 0;
        count += thing->name;
    }
    ck_assert_uint_eq (lru.bytes, bytes);
    ck_assert_uint_eq (lru.count, count);
    free_gone (lru_set_limit (&lru, 0));
    ck_assert_uint_eq (lru.bytes + lru.count + lru.used, 0);
    lru_destroy (&lru);
    for (int i = 0; i < THREADS; i++)
        g_rand_free (workers[i].random);
    g_free (workers);
}
END_TEST

/* --- priorities ------------------------------------------------------------------------------- */

static const struct {
    const char *list, *path;
    unsigned weight;
} lru_test_asked[] = {
    { "*.html:3,*:1", "/a/index.html", 3 },
    { "*.html:3,*:1", "/a/b", 1 },
    { "*:1,*.html:3", "/a/index.html", 3 },
    { "*:1, *.tmp:0", "/x.tmp", 0 },
    { "*.tmp:0,*:7", "/x.tmp", 0 },
    { "*.html:3", "/a", 0 },
    { "*.a:3,*.?:2", "/x.a", 3 },
    { "index.html:5", "/deep/down/index.html", 5 },
    { "/top/*:4,*.c:9", "/top/x.c", 4 },
    { "*:2", NULL, 2 },
    { "a?:2", NULL, 0 },
    { "a:b:2", "/a:b", 2 },
    { "", "/a", 1 },
};

START_TEST (the_longest_pattern_decides)
{
    struct priorities *list = NULL;
    char *problem = NULL;

    ck_assert_int_eq (priorities_parse (lru_test_asked[_i].list, &list, &problem), 0);
    ck_assert_uint_eq (priorities_weight (list, priorities_class (list, lru_test_asked[_i].path)),
                       lru_test_asked[_i].weight);
    priorities_free (list);
}
END_TEST

START_TEST (a_greater_weight_is_a_higher_class)
{
    struct priorities *list = NULL;
    char *problem = NULL;

    ck_assert_int_eq (priorities_parse ("*.b:70,*.a:1000000,*.c:1,*.d:70", &list, &problem), 0);
    ck_assert_int_eq (priorities_class (list, "/x.c"), 0);
    ck_assert_int_eq (priorities_class (list, "/x.b"), 1);
    ck_assert_int_eq (priorities_class (list, "/x.d"), 1);
    ck_assert_int_eq (priorities_class (list, "/x.a"), 2);
    ck_assert_int_eq (priorities_class (list, "/x"), PRIORITY_UNCACHED);
    priorities_free (list);
}
END_TEST

static const char *const lru_test_bad[] = { "*.html", "*.html:",  ":3",  "*:-1",   "*:1000001",
                                   "*:1,",   "*:1,,a:2", "*:x", "*:0x10", "," };

START_TEST (bad_lists_are_refused)
{
    g_autofree char *allowed = NULL;

    ck_assert_int_lt (priorities_check (lru_test_bad[_i], &allowed), 0);
    ck_assert (strstr (allowed, "must be a list such as '*.html:3,*:1'"));
}
END_TEST

START_TEST (too_many_weights_are_refused)
{
    g_autoptr (GString) text = g_string_new ("*:0");
    g_autofree char *allowed = NULL;

    for (int i = 1; i <= LRU_CLASSES; i++)
        g_string_append_printf (text, ",%d:%d", i, i);
    ck_assert_int_eq (priorities_check (text->str, &allowed), 0);
    g_string_append (text, ",z:65");
    ck_assert_int_lt (priorities_check (text->str, &allowed), 0);
}
END_TEST

START_TEST (memory_is_the_most)
{
    g_autofree char *allowed = NULL;

    ck_assert_int_eq (lru_check_size ("4MB", &allowed), 0);
    ck_assert_int_lt (lru_check_size ("4096TB", &allowed), 0);
    ck_assert (strstr (allowed, "memory of this machine"));
}
END_TEST

TEST_PROGRAM (test_lru)
{
    Suite *suite = suite_create ("lru");
    TCase *tcase = tcase_create ("lru");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, what_was_used_longest_ago_goes_first);
    tcase_add_test (tcase, lower_classes_go_first);
    tcase_add_test (tcase, order_is_kept_roughly_with_many);
    tcase_add_test (tcase, threads_agree_on_who_has_what);
    tcase_add_loop_test (tcase, the_longest_pattern_decides, 0, G_N_ELEMENTS (lru_test_asked));
    tcase_add_test (tcase, a_greater_weight_is_a_higher_class);
    tcase_add_loop_test (tcase, bad_lists_are_refused, 0, G_N_ELEMENTS (lru_test_bad));
    tcase_add_test (tcase, too_many_weights_are_refused);
    tcase_add_test (tcase, memory_is_the_most);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

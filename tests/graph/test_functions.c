/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* The function graph in a process: a module that is loaded later, threads that end, and the printed
 * record. */
#include "posix_world.h"

#include "trace/functions/calls.h"
#include "trace/functions/functions.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define ROT13 "end-volume\nvolume rot-13\ntype encryption/rot-13\nsubvolumes posix\n"

static void
recording_start (const char *glob, uint64_t buffer)
{
    g_autoptr (GPtrArray) globs = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GString) answer = g_string_new (NULL);
    const struct functions_wish wish = { .globs = globs, .buffer = buffer };

    if (glob)
        g_ptr_array_add (globs, g_strdup (glob));
    ck_assert_msg (functions_start (&wish, answer) == 0, "%s", answer->str);
}

static void
recording_stop (void)
{
    g_autoptr (GString) answer = g_string_new (NULL);

    ck_assert_int_eq (functions_stop (answer), 0);
    ck_assert_int_eq (functions_stop (answer), -EALREADY);
}

static const struct calls_view everything = { .all = true };

static void
functions_add_line (const char *line, void *data)
{
    g_string_append_printf (data, "%s\n", line);
}

/* Returns the whole record as printed, read in small pieces. */
static char *
printed (void)
{
    struct calls *calls = calls_new ();
    GString *out = g_string_new (NULL);
    g_autofree char *where = g_strdup ("");

    while (where) {
        g_autoptr (GString) piece = g_string_new (NULL);
        g_autofree char *error = NULL;
        char *next = NULL;

        ck_assert_msg (functions_read (where, 1000, piece, &next) == 0, "%s", piece->str);
        ck_assert_msg (calls_take (calls, piece->str, piece->len, &error) == 0, "%s", error);
        g_free (where);
        where = next;
    }
    calls_print (calls, &everything, functions_add_line, out);
    calls_free (calls);
    return g_string_free (out, FALSE);
}

/* The modules are loaded after the start of the trace. */
START_TEST (a_module_that_comes_later_is_traced)
{
    struct world w;
    fd_t *fd;

    recording_start (NULL, 1 << 20);
    w = posix_world_begin (ROT13);
    fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    ck_assert_int_eq (world_write (&w, fd, "hello", 0), 5);
    recording_stop ();
    ck_assert_int_eq (world_write (&w, fd, "hello", 0), 5);
    g_autofree char *text = printed ();
    const char *rot = strstr (text, " rot13_writev() {\n"),
               *posix = strstr (text, " posix_writev() {\n");
    ck_assert_msg (rot && posix && rot < posix, "%s", text);
    ck_assert_msg (!strstr (rot + 1, " rot13_writev()"), "the one after the stop is there: %s",
                   text);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

static int __attribute__ ((noinline))
noted (int n)
{
    __asm__ volatile ("" : "+r"(n));
    return n;
}

static void *
functions_note (void *data)
{
    return GINT_TO_POINTER (noted (1));
}

static unsigned
functions_count_of (const char *text, const char *part)
{
    unsigned n = 0;

    for (; (text = strstr (text, part)); text++)
        n++;
    return n;
}

/* The record contains the calls of ended threads. The next trace reuses the memory of these
 * threads. */
START_TEST (threads_that_ended_are_there)
{
    for (int round = 0; round < 3; round++) {
        recording_start ("noted", 64 << 10);
        for (int i = 0; i < 300; i++) {
            pthread_t thread;

            ck_assert_int_eq (pthread_create (&thread, NULL, functions_note, NULL), 0);
            pthread_join (thread, NULL);
        }
        recording_stop ();
        g_autofree char *text = printed ();
        ck_assert_uint_eq (functions_count_of (text, "noted()"), 300);
    }
}
END_TEST

/* The last calls are kept. */
START_TEST (a_full_ring_says_what_it_lost)
{
    recording_start ("noted", 64 << 10);
    for (int i = 0; i < 10000; i++)
        noted (i);
    recording_stop ();
    g_autofree char *text = printed ();
    const unsigned kept = functions_count_of (text, "noted()");
    g_autofree char *lost = g_strdup_printf ("/* %u calls were lost here */", 10000 - kept);
    ck_assert_msg (kept > 1000 && strstr (text, lost), "%u kept: %.300s", kept, text);
}
END_TEST

/* Braces are balanced in any record: with running calls, lost calls, and calls without a caller. */
START_TEST (what_is_printed_is_balanced)
{
    static const struct calls_one open[] = { { 100, 0, 1 }, { 110, 0, 2 | UINT64_C (1) << 48 } };
    static const struct calls_one done[] = { { 50, 60, 3 | UINT64_C (5) << 48 },
                                             { 112, 120, 3 | UINT64_C (2) << 48 },
                                             { 125, 121, 2 | UINT64_C (2) << 48 },
                                             { 110, 130, 2 | UINT64_C (1) << 48 } };
    static const char expected[] =
        "   Time(us)  |  Function Graph\n-------------------------------\n"
        "             |  /* 7 calls were lost here */\n"
        "       0.010 |  0x3()\n"
        "             |  one() {\n"
        "             |     two() {\n"
        "       0.008 |        0x3()\n"
        "       0.000 |        two()\n"
        "       0.020 |     }\n"
        "             |  } /* still running */\n";
    struct calls *calls = calls_new ();
    g_autoptr (GString) in = g_string_new (
        "calls 2\non 1\nscale 1073741824\nunseen 0\nfunction 1 one\nfunction 2 two\n"
        "thread 1 0 main\nopen 2\n"),
                        out = g_string_new (NULL);
    g_autofree char *error = NULL;

    g_string_append_len (in, (const char *) open, sizeof open);
    g_string_append (in, "done 4 7\n");
    g_string_append_len (in, (const char *) done, sizeof done);
    ck_assert_int_eq (calls_take (calls, in->str, in->len, &error), 0);
    calls_print (calls, &everything, functions_add_line, out);
    ck_assert_str_eq (out->str, expected);
    calls_free (calls);
}
END_TEST

/* f() { core() { g() { h() } } h() }: without the core's, g is in f; each depth has its lines. */
START_TEST (a_view_leaves_calls_out)
{
#define AT(depth_) ((uint64_t) (depth_) << 48)
    static const struct calls_one done[] = { { 130, 140, 4 | AT (3) },
                                             { 120, 150, 3 | AT (2) },
                                             { 110, 160, 2 | AT (1) },
                                             { 170, 180, 4 | AT (1) },
                                             { 100, 200, 1 },
                                             { 300, 310, 2 } };
#undef AT
    static const struct calls_view views[] = { {}, { .depth = 1 }, { .depth = 2 } };
    static const char *const expected[] = { "             |  f() {\n"
                                            "             |     g() {\n"
                                            "       0.010 |        h()\n"
                                            "       0.030 |     }\n"
                                            "       0.010 |     h()\n"
                                            "       0.100 |  }\n",
                                            "       0.100 |  f()\n",
                                            "             |  f() {\n"
                                            "       0.030 |     g()\n"
                                            "       0.010 |     h()\n"
                                            "       0.100 |  }\n" };
    struct calls *calls = calls_new ();
    g_autoptr (GString) in = g_string_new (
        "calls 2\non 0\nscale 1073741824\nunseen 0\ntranslator 1 f\nfunction 2 core\n"
        "translator 3 g\ntranslator 4 h\nthread 1 0 main\nopen 0\ndone 6 0\n"),
                        out = g_string_new (NULL);
    g_autofree char *error = NULL;

    g_string_append_len (in, (const char *) done, sizeof done);
    ck_assert_int_eq (calls_take (calls, in->str, in->len, &error), 0);
    calls_print (calls, &views[_i], functions_add_line, out);
    ck_assert_str_eq (strstr (out->str, "-\n") + 2, expected[_i]);
    calls_free (calls);
}
END_TEST

/* A daemon of another user can send any bytes. */
START_TEST (any_bytes_of_functions_are_judged)
{
    static const char *const wrong[] = { "",
                                         "calls 1\n",
                                         "hello",
                                         "calls 2\nopen 1\n",
                                         "calls 2\nthread 1 0 x\ndone 99999999999999999999 0\n",
                                         "calls 2\nthread 1 0 x\nopen 1\nshort",
                                         "calls 2\nnonsense\n" };
    struct calls *calls = calls_new ();
    g_autofree char *error = NULL;
    g_autoptr (GString) out = g_string_new (NULL);
    const int r = calls_take (calls, wrong[_i], strlen (wrong[_i]), &error);

    ck_assert_int_eq (r, _i == 0 ? 0 : -EPROTO);
    calls_print (calls, &everything, functions_add_line, out);
    calls_free (calls);
}
END_TEST

TEST_PROGRAM (test_functions)
{
    Suite *suite = suite_create ("functions");
    TCase *live = tcase_create ("live"), *print = tcase_create ("print");

    if (!functions_missing ()) {
        tcase_add_test (live, a_module_that_comes_later_is_traced);
        tcase_add_test (live, threads_that_ended_are_there);
        tcase_add_test (live, a_full_ring_says_what_it_lost);
    }
    suite_add_tcase (suite, live);
    tcase_add_test (print, what_is_printed_is_balanced);
    tcase_add_loop_test (print, a_view_leaves_calls_out, 0, 3);
    tcase_add_loop_test (print, any_bytes_of_functions_are_judged, 0, 7);
    suite_add_tcase (suite, print);
    return suite_run (suite);
}

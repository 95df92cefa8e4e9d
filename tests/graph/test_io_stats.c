/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* debug/io-stats above storage/posix, without a kernel: the counts are exact with any number of
 * threads. */
#include "posix_world.h"

#include "core/time/thread.h"

#define STATS(options) \
    "end-volume\nvolume stats\ntype debug/io-stats\n" options "subvolumes posix\n"

enum { THSTATS_OF_EACH = 4, STATS_OF_EACH = 3000, MANY = 130 };

/* Returns the output of a command of the volume. */
static char *
io_stats_tell (const struct world *w, const char *name)
{
    const struct xlator_command *command = w->graph->top->api->commands;
    g_autoptr (GBytes) nothing = g_bytes_new_static ("", 0);
    GString *out = g_string_new (NULL);

    while (strcmp (command->name, name) != 0)
        command++;
    ck_assert_int_eq (
        command->run (w->graph->top, &(struct xlator_asked){ .input = nothing }, out), 0);
    return g_string_free (out, FALSE);
}

/* Returns the value of a line of the state, such as "cumulative-READ-hits=12". */
static long
io_stats_state (const struct world *w, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *found;

    w->graph->top->api->dumpops.priv (w->graph->top, out);
    found = strstr (out->str, line);
    return found ? atol (found + strlen (line)) : -1;
}

static void *
stat_often (void *data)
{
    const struct world *w = data;
    struct client *client = client_new (w->graph->top);
    loc_t loc = { .inode = w->root };

    for (int i = 0; i < STATS_OF_EACH; i++)
        ck_assert_int_eq (sync_stat (client, &loc, NULL, NULL), 0);
    client_free (client);
    return NULL;
}

START_TEST (threads_count_everything)
{
    struct world w = posix_world_begin (STATS ("option latency-measurement on\n"));
    const long before = MAX (io_stats_state (&w, "cumulative-STAT-hits"), 0);
    pthread_t threads[THSTATS_OF_EACH];

    for (int i = 0; i < THSTATS_OF_EACH; i++)
        ck_assert_int_eq (thread_new (&threads[i], "reader", stat_often, &w), 0);
    for (int i = 0; i < 50; i++)
        g_free (io_stats_tell (&w, "json")); /* while other threads count; it changes nothing */
    for (int i = 0; i < THSTATS_OF_EACH; i++)
        thread_join (threads[i]);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-hits"),
                      before + THSTATS_OF_EACH * STATS_OF_EACH);
    ck_assert_int_eq (io_stats_state (&w, "interval-STAT-hits"),
                      before + THSTATS_OF_EACH * STATS_OF_EACH);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-errors"), 0);
    ck_assert_int_ge (io_stats_state (&w, "cumulative-STAT-maxlatency-us"),
                      io_stats_state (&w, "cumulative-STAT-minlatency-us"));
    posix_world_end (&w);
}
END_TEST

START_TEST (bytes_and_sizes_are_those_that_were_done)
{
    struct world w = posix_world_begin (STATS (""));
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autofree char *text = NULL, *nothing = NULL;

    ck_assert_int_eq (world_write (&w, fd, "hello", 0), 5);
    ck_assert_int_eq (world_write (&w, fd, "hello", -1), -EINVAL);
    text = world_read (&w, fd, 100, 0);
    nothing = world_read (&w, fd, 100, 5);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-WRITE-hits"), 2);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-WRITE-errors"), 1);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-total-write"), 5);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-write-4"), 1);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-total-read"), 5);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-read-4"), 1);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-read-0"), 1);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-WRITE-avglatency-us"), -1); /* not measured */
    ck_assert_int_eq (io_stats_state (&w, "current-open-fds"), 1);
    fd_unref (fd);
    ck_assert_int_eq (io_stats_state (&w, "current-open-fds"), 0);
    ck_assert_int_eq (io_stats_state (&w, "max-open-fds"), 1);
    posix_world_end (&w);
}
END_TEST

/* With more files than a list has, the list keeps the most written files, even if their inodes are
 * forgotten meanwhile. */
START_TEST (lists_keep_the_largest)
{
    struct world w = posix_world_begin (STATS (""));
    g_autofree char *text = NULL;
    const char *at;

    for (int i = 0; i < MANY; i++) {
        g_autofree char *name = g_strdup_printf ("f%03d", i);
        fd_t *fd = world_create (&w, w.root, name, O_RDWR, 0644);

        for (int n = 0; n <= i; n++)
            ck_assert_int_eq (world_write (&w, fd, "x", 0), 1);
        fd_unref (fd);
    }
    text = io_stats_tell (&w, "stats");
    at = strstr (text, "Write file stats");
    ck_assert_ptr_nonnull (at);
    for (int i = MANY - 1; i >= MANY - 100; i--) {
        g_autofree char *number = g_strdup_printf ("\n%d ", i + 1),
                        *name = g_strdup_printf ("/f%03d\n", i);

        at = strstr (at, number);
        ck_assert_msg (at, "%d writes are not in their place:\n%s", i + 1, text);
        ck_assert_msg (!w.by_name || strstr (at, name), "%s", text);
    }
    ck_assert_msg (!strstr (at, "/f029\n"), "%s", text);
    posix_world_end (&w);
}
END_TEST

START_TEST (nothing_is_counted_when_it_is_off)
{
    struct world w = posix_world_begin (STATS ("option count-fop-hits off\n"));
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    ck_assert_int_eq (world_write (&w, fd, "hello", 0), 5);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-WRITE-hits"), -1);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* --- take-over -------------------------------------------------------------------------------- */

static void
stat_times (const struct graph *graph, unsigned n)
{
    struct client *client = client_new (graph->top);
    loc_t loc = { .inode = itable_root (graph->itable) };

    while (n-- > 0)
        ck_assert_int_eq (sync_stat (client, &loc, NULL, NULL), 0);
    client_free (client);
}

/* Starts a graph that is to take the place of the world's. */
static struct graph *
graph_next (const struct world *w, const char *options)
{
    struct graph *fresh = posix_world_load (w->dir, options);

    ck_assert (graph_join (fresh, w->graph));
    ck_assert_int_eq (graph_activate (fresh), 0);
    return fresh;
}

/* What is asked before the graph comes into force is not counted. */
START_TEST (counts_go_on_in_the_next_graph)
{
    struct world w = posix_world_begin (STATS (""));
    struct graph *old = w.graph, *fresh;

    stat_times (old, 5);
    fresh = graph_next (&w, "option o-direct on\n" STATS (""));
    stat_times (fresh, 3);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-hits"), 5);
    graph_take_over (fresh);
    stat_times (fresh, 2);
    stat_times (old, 1);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-hits"), 8);
    w.graph = fresh;
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-hits"), 8);
    graph_free (old);
    stat_times (fresh, 1);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-hits"), 9);
    client_free (w.client);
    w.client = client_new (fresh->top);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_graph_that_does_not_come_into_force_leaves_the_counts)
{
    struct world w = posix_world_begin (STATS (""));
    struct graph *fresh;

    stat_times (w.graph, 5);
    fresh = graph_next (&w, "option o-direct on\n" STATS (""));
    stat_times (fresh, 3);
    graph_free (fresh);
    stat_times (w.graph, 1);
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-hits"), 6);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_volume_of_another_name_counts_anew)
{
    struct world w = posix_world_begin (STATS (""));
    struct graph *fresh = graph_next (&w, "end-volume\nvolume other\ntype debug/io-stats\n"
                                          "subvolumes posix\n");
    struct graph *old = w.graph;

    stat_times (old, 5);
    graph_take_over (fresh);
    stat_times (fresh, 2);
    w.graph = fresh;
    ck_assert_int_eq (io_stats_state (&w, "cumulative-STAT-hits"), 2);
    graph_free (old);
    client_free (w.client);
    w.client = client_new (fresh->top);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_io_stats)
{
    Suite *suite = suite_create ("io-stats");
    TCase *tcase = tcase_create ("io-stats");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, threads_count_everything);
    tcase_add_test (tcase, bytes_and_sizes_are_those_that_were_done);
    tcase_add_test (tcase, lists_keep_the_largest);
    tcase_add_test (tcase, nothing_is_counted_when_it_is_off);
    tcase_add_test (tcase, counts_go_on_in_the_next_graph);
    tcase_add_test (tcase, a_graph_that_does_not_come_into_force_leaves_the_counts);
    tcase_add_test (tcase, a_volume_of_another_name_counts_anew);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* debug/fault above storage/posix: which requests a rule selects, its actions, and that a seed
 * repeats them. */
#include "posix_world.h"

#include "core/edge/stack.h"
#include "core/time/clock.h"

#define FAULT "end-volume\nvolume fault\ntype debug/fault\noption seed 1\nsubvolumes posix\n"

/* Sends a command to the translator, and returns the answer. g_free it. */
static char *
tell_r (struct world *w, const char *command, const char *input, int expected)
{
    const struct xlator_command *one = w->graph->top->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (input, strlen (input));
    GString *answer = g_string_new (NULL);

    while (strcmp (one->name, command) != 0)
        one++;
    ck_assert_int_eq (one->run (w->graph->top, &(struct xlator_asked){ .input = bytes }, answer),
                      expected);
    return g_string_free (answer, FALSE);
}

static void
fault_test_tell (struct world *w, const char *command, const char *input)
{
    g_free (tell_r (w, command, input, 0));
}

static struct world
fault_begin (const char *rules)
{
    struct world w = posix_world_begin (FAULT);

    fault_test_tell (&w, "rules", rules);
    return w;
}

static int
sync_it (struct world *w, fd_t *fd)
{
    return sync_fsync (w->client, fd, 0, NULL, NULL);
}

/* The results of n calls of fsync: "..x." */
static char *
pattern (struct world *w, fd_t *fd, unsigned n)
{
    GString *out = g_string_new (NULL);

    for (unsigned i = 0; i < n; i++)
        g_string_append_c (out, sync_it (w, fd) < 0 ? 'x' : '.');
    return g_string_free (out, FALSE);
}

static const struct {
    const char *rules, *pattern;
} counts[] = {
    { "", ".........." },
    { "fsync -> error EIO", "xxxxxxxxxx" },
    { "fsync nth 3 -> error EIO", "..x......." },
    { "fsync every 4 -> error EIO", "...x...x.." },
    { "fsync after 7 -> error EIO", ".......xxx" },
    { "fsync after 3 nth 2 -> error EIO", "....x....." },
    { "fsync times 2 -> error EIO", "xx........" },
    { "fsync every 2 times 2 -> error EIO", ".x.x......" },
    { "fsync probability 0% -> error EIO", ".........." },
    { "fsync probability 100% -> error EIO", "xxxxxxxxxx" },
    { "fsync path /g -> error EIO", ".........." },
    { "fsync path /f -> error EIO", "xxxxxxxxxx" },
    { "fsync path *f -> error EIO", "xxxxxxxxxx" },
    { "fsync volume other -> error EIO", ".........." },
    { "fsync volume fault -> error EIO", "xxxxxxxxxx" },
    { "fsync pid 1..1 -> error EIO", ".........." },
    { "fsync process \"no such\" -> error EIO", ".........." },
    { "fsync process *all -> error EIO", "xxxxxxxxxx" },
    { "readv -> error EIO", ".........." },
    { "sync-ops -> error EIO", "xxxxxxxxxx" },
    /* The first rule that fires is applied. A rule that matches but does not fire counts the
     * request, and the next rule is tried. */
    { "fsync nth 2 -> error EIO\nfsync nth 2 -> error EIO", ".xx......." },
};

START_TEST (exactly_those_requests_fail)
{
    struct world w = fault_begin (counts[_i].rules);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autofree char *got = pattern (&w, fd, 10);

    ck_assert_str_eq (got, counts[_i].pattern);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_seed_repeats_the_failures)
{
    struct world w = fault_begin ("fsync probability 30% seed 42 -> error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autofree char *first = pattern (&w, fd, 500), *second = NULL, *other = NULL, *option = NULL,
                    *again = NULL;
    unsigned failed = 0;

    for (const char *p = first; *p; p++)
        failed += *p == 'x';
    ck_assert_uint_ge (failed, 110);
    ck_assert_uint_le (failed, 190);
    fault_test_tell (&w, "rules", "fsync probability 30% seed 42 -> error EIO");
    second = pattern (&w, fd, 500);
    ck_assert_str_eq (first, second);
    fault_test_tell (&w, "rules", "fsync probability 30% seed 43 -> error EIO");
    other = pattern (&w, fd, 500);
    ck_assert_str_ne (first, other);
    fault_test_tell (&w, "rules", "fsync probability 30% -> error EIO"); /* the option's seed */
    option = pattern (&w, fd, 500);
    fault_test_tell (&w, "rules", "fsync probability 30% -> error EIO");
    again = pattern (&w, fd, 500);
    ck_assert_str_eq (option, again);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* --- data ------------------------------------------------------------------------------------- */

static char *
fault_stored (const struct world *w, gsize *ret_size)
{
    g_autofree char *path = world_path (w, "f");
    char *bytes;

    ck_assert (g_file_get_contents (path, &bytes, ret_size, NULL));
    return bytes;
}

/* Returns the answer of a write of 4000 bytes at an offset, and the number of bytes in the file. */
static const struct {
    const char *rule;
    off_t offset;
    int answer;
    gsize size;
} writes[] = {
    { "writev -> short 100", 0, 100, 100 },
    { "writev -> short 100 then error ENOSPC", 0, -ENOSPC, 100 },
    { "writev -> short 5000", 0, 4000, 4000 },
    { "writev -> torn 1500", 0, 4000, 1024 },
    { "writev -> torn 1500 then error EIO", 0, -EIO, 1024 },
    { "writev -> torn 1500", 100, 4000, 1536 },
    { "writev -> torn 10 then error EIO", 100, -EIO, 0 },
    { "writev -> torn 10", 100, 4000, 0 },
    { "writev -> torn 9999 then error EIO", 0, -EIO, 3584 },
    { "writev offset 4095..8191 -> error EIO", 0, 4000, 4000 },
    { "writev offset 3999.. -> error EIO", 0, -EIO, 0 },
    { "writev offset 0..99 -> error EIO", 100, 4000, 4100 },
    { "writev offset 0..100 -> error EIO", 100, -EIO, 0 },
    { "writev size 4000 -> error EFBIG", 0, -EFBIG, 0 },
    { "writev size 4001.. -> error EFBIG", 0, 4000, 4000 },
    { "writev -> delay 1ms then error EDQUOT", 0, -EDQUOT, 0 },
    { "writev -> delay 1ms then torn 512", 0, 4000, 512 },
    { "writev -> delay 1ms then delay 1ms", 0, 4000, 4000 },
};

START_TEST (writes_go_wrong)
{
    struct world w = fault_begin (writes[_i].rule);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autofree char *text = g_strnfill (4000, 'x');
    gsize size;

    ck_assert_int_eq (world_write (&w, fd, text, writes[_i].offset), writes[_i].answer);
    g_autofree char *there = fault_stored (&w, &size);
    ck_assert_uint_eq (size, writes[_i].size);
    for (gsize i = (gsize) writes[_i].offset; i < size; i++)
        ck_assert_int_eq (there[i], 'x');
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

static unsigned
bits_that_differ (const char *a, const char *b, gsize size)
{
    unsigned n = 0;

    for (gsize i = 0; i < size; i++)
        n += (unsigned) __builtin_popcount ((unsigned char) (a[i] ^ b[i]));
    return n;
}

START_TEST (bits_flip_in_a_copy)
{
    struct world w = fault_begin ("writev -> flip 3");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autofree char *text = g_strnfill (4000, 'x'), *same = g_strdup (text);
    gsize size;

    ck_assert_int_eq (world_write (&w, fd, text, 0), 4000);
    ck_assert_str_eq (text, same);
    g_autofree char *there = fault_stored (&w, &size), *again = NULL;
    ck_assert_uint_eq (size, 4000);
    ck_assert_uint_eq (bits_that_differ (there, text, size), 3);
    fault_test_tell (&w, "rules", "writev -> flip 3");
    ck_assert_int_eq (world_write (&w, fd, text, 0), 4000);
    again = fault_stored (&w, &size);
    ck_assert (memcmp (there, again, size) == 0); /* the same seed changes the same bits */

    fault_test_tell (&w, "rules", "readv -> flip 1");
    g_autofree char *read = world_read (&w, fd, 5000, 0), *next = NULL;
    ck_assert_int_eq (w.r, 4000);
    ck_assert_uint_eq (bits_that_differ (read, there, 4000), 1);
    g_autofree char *still = fault_stored (&w, &size);
    ck_assert (memcmp (there, still, size) == 0);
    next = world_read (&w, fd, 5000, 0);
    ck_assert (memcmp (read, next, 4000) != 0); /* the next match changes other bits */

    fault_test_tell (&w, "rules", "readv -> short 7");
    g_free (world_read (&w, fd, 5000, 0));
    ck_assert_int_eq (w.r, 7);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* --- commands --------------------------------------------------------------------------------- */

START_TEST (rules_show_and_go)
{
    struct world w = fault_begin ("# file: my.rules\n"
                                  "fsync nth 2 -> error EIO\n* path /never -> hang");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autofree char *before = pattern (&w, fd, 3), *shown = tell_r (&w, "show", "", 0), *bad = NULL,
                    *after = NULL;

    ck_assert_str_eq (before, ".x.");
    ck_assert_str_eq (shown, "# seed 1\n"
                             "# matched 3, fired 1, waiting 0\nfsync nth 2 -> error EIO\n"
                             "# matched 0, fired 0, waiting 0\n* path \"/never\" -> hang\n");
    bad = tell_r (&w, "rules", "# file: my.rules\nfsync -> error EIO\nfsnyc -> error EIO", -EINVAL);
    ck_assert_ptr_nonnull (strstr (bad, "my.rules:2:1: "));
    g_autofree char *still = tell_r (&w, "show", "", 0);
    ck_assert_str_eq (still, shown);
    fault_test_tell (&w, "clear", "");
    after = tell_r (&w, "show", "", 0);
    ck_assert_str_eq (after, "# seed 1\n");
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

struct hanging {
    struct world *w;
    fd_t *fd;
    int r;
};

static gpointer
hang (gpointer data)
{
    struct hanging *h = data;
    struct client *client = client_new (h->w->graph->top);

    h->r = sync_fsync (client, h->fd, 0, NULL, NULL);
    client_free (client);
    return NULL;
}

static void
wait_for_hanging (struct world *w, unsigned n)
{
    g_autofree char *text = g_strdup_printf ("waiting %u\n", n);
    const gint64 end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;

    while (true) {
        g_autofree char *shown = tell_r (w, "show", "", 0);

        if (strstr (shown, text))
            return;
        ck_assert_int_lt (g_get_monotonic_time (), end);
        g_usleep (1000);
    }
}

static void
interrupt_one (const call_stack_t *root, void *data)
{
    stack_interrupt ((call_stack_t *) root);
}

/* _i: how the request ends. */
START_TEST (what_hangs_is_let_go)
{
    static const int expected[] = { 0, 0, 0, 0, -EINTR, -EIO };
    struct world w = fault_begin (_i == 3 ? "fsync -> delay 3600s" : "fsync -> hang name stuck");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct hanging h = { &w, fd, 1 };
    GThread *thread = g_thread_new ("hang", hang, &h);

    wait_for_hanging (&w, 1);
    if (_i == 0) {
        g_autofree char *unknown = tell_r (&w, "release", "stick", -ENOENT);
        ck_assert_str_eq (unknown, "no rule has 'hang name stick'; did you mean 'stuck'?");
        g_autofree char *said = tell_r (&w, "release", "stuck", 0);
        ck_assert_str_eq (said, "released 1");
    } else if (_i == 1) {
        fault_test_tell (&w, "release", "");
    } else if (_i == 2) {
        fault_test_tell (&w, "clear", "");
    } else if (_i == 3 || _i == 4) {
        stack_foreach (interrupt_one, NULL);
    } else {
        xlator_notify (w.graph->top, XLATOR_ENDING, NULL);
    }
    g_thread_join (thread);
    ck_assert_int_eq (h.r, expected[_i]);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* During a hold nothing hangs; afterwards the rule holds again. */
START_TEST (nothing_hangs_during_a_hold)
{
    struct world w = fault_begin ("fsync -> hang");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct hanging h = { &w, fd, 1 };
    GThread *thread = g_thread_new ("hang", hang, &h);

    wait_for_hanging (&w, 1);
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now () + 1000000));
    xlator_notify (w.graph->top, XLATOR_HOLDING, NULL);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now () + 10000000000));
    g_thread_join (thread);
    ck_assert_int_eq (h.r, 0);
    hang (&h);
    ck_assert_int_eq (h.r, 0);
    xlator_notify (w.graph->top, XLATOR_HOLD_OVER, NULL);
    thread = g_thread_new ("hang", hang, &h);
    wait_for_hanging (&w, 1);
    fault_test_tell (&w, "release", "");
    g_thread_join (thread);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* --- threads ---------------------------------------------------------------------------------- */

#define THREADS 4
#define CALLS 2000

struct worker {
    struct world *w;
    fd_t *fd;
    unsigned failed;
};

static gpointer
fault_work (gpointer data)
{
    struct worker *worker = data;
    struct client *client = client_new (worker->w->graph->top);

    for (int i = 0; i < CALLS; i++)
        worker->failed += sync_fstat (client, worker->fd, NULL, NULL) < 0;
    client_free (client);
    return NULL;
}

static unsigned
work_on_threads (struct world *w, fd_t *fd, void (*meanwhile) (struct world *w))
{
    struct worker workers[THREADS];
    GThread *threads[THREADS];
    unsigned failed = 0;

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ w, fd, 0 };
        threads[i] = g_thread_new ("work", fault_work, &workers[i]);
    }
    if (meanwhile)
        meanwhile (w);
    for (int i = 0; i < THREADS; i++) {
        g_thread_join (threads[i]);
        failed += workers[i].failed;
    }
    return failed;
}

/* Counts are exact, and so is the number of requests that probability selects, since it depends
 * only on the numbers of the matches. */
START_TEST (counts_are_exact_on_many_threads)
{
    struct world w = fault_begin ("fstat nth 1234 -> error EIO\n"
                                  "fstat every 10 times 77 -> error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    unsigned first;

    ck_assert_uint_eq (work_on_threads (&w, fd, NULL), 78);
    fault_test_tell (&w, "rules", "fstat probability 5% seed 9 -> error EIO");
    first = work_on_threads (&w, fd, NULL);
    fault_test_tell (&w, "rules", "fstat probability 5% seed 9 -> error EIO");
    ck_assert_uint_eq (work_on_threads (&w, fd, NULL), first);
    ck_assert_uint_gt (first, THREADS * CALLS / 40);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

static void
change_rules (struct world *w)
{
    for (int i = 0; i < 200; i++)
        fault_test_tell (w, "rules",
                         i % 2 ? "fstat every 3 -> hang name a"
                         : "fstat every 3 -> delay 10us\nfstat path /g -> error EIO");
    fault_test_tell (w, "clear", "");
}

START_TEST (rules_change_while_requests_match)
{
    struct world w = fault_begin ("");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    ck_assert_uint_eq (work_on_threads (&w, fd, change_rules), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_fault)
{
    Suite *suite = suite_create ("fault");
    TCase *tcase = tcase_create ("fault");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, exactly_those_requests_fail, 0, G_N_ELEMENTS (counts));
    tcase_add_test (tcase, a_seed_repeats_the_failures);
    tcase_add_loop_test (tcase, writes_go_wrong, 0, G_N_ELEMENTS (writes));
    tcase_add_test (tcase, bits_flip_in_a_copy);
    tcase_add_test (tcase, rules_show_and_go);
    tcase_add_loop_test (tcase, what_hangs_is_let_go, 0, 6);
    tcase_add_test (tcase, nothing_hangs_during_a_hold);
    tcase_add_test (tcase, counts_are_exact_on_many_threads);
    tcase_add_test (tcase, rules_change_while_requests_match);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

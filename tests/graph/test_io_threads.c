/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* performance/io-threads: who goes first, who waits for whom, how threads come and go, and that everything is answered once. */
#include "core/clock.h"
#include "core/log.h"
#include "core/stack.h"
#include "core/stub.h"
#include "core/thread.h"
#include "posix_world.h"

#define IOT(options) "end-volume\nvolume iot\ntype performance/io-threads\n" options "subvolumes slow\n"
/* Each readv keeps its thread for so many microseconds. */
#define BLOCKING(duration)                                                                         \
    "end-volume\nvolume slow\ntype debug/delay-gen\noption delay-percentage 100\noption block on\n" \
    "option delay-duration " duration "\noption enable readv\nsubvolumes posix\n"
#define HANDED_OVER "option in-place-limit 0\n"
#define MS INT64_C (1000000)

/* --- requests on the way --------------------------------------------------------------------- */

/* One request, and how it ended. Of a flow: who asks again when he was answered. */
struct asked {
    struct flow *flow;
    pid_t pid;
    int r;         /* flow->lock */
    unsigned turn; /* flow->lock: the how manyth answer it was, from 1; 0: none yet */
    bool here;     /* flow->lock: the thread that asked was told */
    call_stack_t *root;
};

struct flow {
    struct world w;
    fd_t *fd;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned sent, answered, twice; /* lock; twice: answers that nobody waited for */
    pthread_t sender;
};

static struct flow *
flow_begin (const char *options)
{
    struct flow *flow = g_new0 (struct flow, 1);

    flow->w = world_begin (options);
    flow->fd = world_create (&flow->w, flow->w.root, "f", O_RDWR, 0644);
    ck_assert_int_eq (world_write (&flow->w, flow->fd, "0123456789", 0), 10);
    pthread_mutex_init (&flow->lock, NULL);
    thread_cond_init (&flow->changed);
    flow->sender = pthread_self ();
    return flow;
}

static void
flow_wait (struct flow *flow, unsigned left)
{
    pthread_mutex_lock (&flow->lock);
    while (flow->sent - flow->answered > left)
        pthread_cond_wait (&flow->changed, &flow->lock);
    pthread_mutex_unlock (&flow->lock);
}

static void
flow_end (struct flow *flow)
{
    flow_wait (flow, 0);
    fd_unref (flow->fd);
    world_end (&flow->w);
    ck_assert_uint_eq (flow->twice, 0);
    ck_assert_uint_eq (stack_misuses (), 0);
    ck_assert_uint_eq (stack_count_kept (), 0);
    pthread_mutex_destroy (&flow->lock);
    pthread_cond_destroy (&flow->changed);
    g_free (flow);
}

static void
note_answer (call_frame_t *frame, struct asked *asked, int32_t op_ret, int32_t op_errno)
{
    struct flow *flow = asked->flow;

    pthread_mutex_lock (&flow->lock);
    flow->twice += asked->turn > 0;
    asked->turn = ++flow->answered;
    asked->r = op_ret < 0 ? -op_errno : op_ret;
    asked->here = pthread_equal (pthread_self (), flow->sender);
    pthread_cond_broadcast (&flow->changed);
    pthread_mutex_unlock (&flow->lock);
    stack_done (frame->root);
}

static void
read_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iovec *vector, int32_t count,
          struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    note_answer (frame, cookie, op_ret, op_errno);
}

static void
stat_answer (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    note_answer (frame, cookie, op_ret, op_errno);
}

static void
flush_answer (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, dict_t *xdata)
{
    note_answer (frame, cookie, op_ret, op_errno);
}

static void
lk_answer (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct gf_flock *lock, dict_t *xdata)
{
    note_answer (frame, cookie, op_ret, op_errno);
}

static call_frame_t *
ask_begin (struct flow *flow, struct asked *asked, pid_t pid, enum fop op)
{
    call_stack_t *root = stack_new (&flow->w.client->xlator);

    *asked = (struct asked){ .flow = flow, .pid = pid, .root = root };
    root->op = op;
    root->uid = geteuid ();
    root->gid = getegid ();
    root->pid = pid;
    pthread_mutex_lock (&flow->lock);
    flow->sent++;
    pthread_mutex_unlock (&flow->lock);
    return &root->frames[0];
}

static void
ask_read (struct flow *flow, struct asked *asked, pid_t pid)
{
    call_frame_t *frame = ask_begin (flow, asked, pid, FOP_readv);

    STACK_WIND_COOKIE (frame, read_cbk, asked, flow->w.graph->top, readv, flow->fd, 4, 0, 0, NULL);
}

static void
ask_stat (struct flow *flow, struct asked *asked, pid_t pid)
{
    call_frame_t *frame = ask_begin (flow, asked, pid, FOP_stat);
    loc_t loc = { .inode = flow->w.root };

    STACK_WIND_COOKIE (frame, stat_answer, asked, flow->w.graph->top, stat, &loc, NULL);
}

static void
ask_flush (struct flow *flow, struct asked *asked, pid_t pid)
{
    call_frame_t *frame = ask_begin (flow, asked, pid, FOP_flush);

    STACK_WIND_COOKIE (frame, flush_answer, asked, flow->w.graph->top, flush, flow->fd, NULL);
}

static void
ask_lk (struct flow *flow, struct asked *asked, int cmd, short type)
{
    call_frame_t *frame = ask_begin (flow, asked, 0, FOP_lk);
    struct gf_flock lock = { .l_type = type };

    STACK_WIND_COOKIE (frame, lk_answer, asked, flow->w.graph->top, lk, flow->fd, cmd, &lock, NULL);
}

/* --- asking the translator ---------------------------------------------------------------------- */

static char *
dumped (struct flow *flow, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *at;

    flow->w.graph->top->api->dumpops.priv (flow->w.graph->top, out);
    at = strstr (out->str, line);
    return g_strndup (at ? at + strlen (line) : "", at ? strcspn (at + strlen (line), "\n") : 0);
}

static int
number (struct flow *flow, const char *key)
{
    g_autofree char *text = dumped (flow, key);

    return *text ? atoi (text) : -1;
}

static void
wait_for (struct flow *flow, const char *key, int value)
{
    const int64_t end = clock_now () + 20000 * MS;

    while (number (flow, key) != value && clock_now () < end)
        g_usleep (1000);
    ck_assert_int_eq (number (flow, key), value);
}

/* --- parallel ---------------------------------------------------------------------------------- */

/* One thread brings all, as a mount with one reader does. How much faster it makes them is the bench's to say. */
START_TEST (sixteen_readers_wait_for_the_disk_at_once)
{
    struct flow *flow = flow_begin ("end-volume\nvolume slow\ntype test/meet\noption readers 16\nsubvolumes posix\n" IOT (HANDED_OVER));
    struct asked asked[16];

    for (unsigned i = 0; i < 16; i++)
        ask_read (flow, &asked[i], 1000 + i);
    flow_wait (flow, 0);
    for (unsigned i = 0; i < 16; i++)
        ck_assert_int_eq (asked[i].r, 4);
    flow_end (flow);
}
END_TEST

/* --- whose turn it is ---------------------------------------------------------------------------- */

START_TEST (one_process_with_many_keeps_no_other_waiting)
{
    struct flow *flow = flow_begin (BLOCKING ("2000") IOT (HANDED_OVER "option thread-count 2\n"));
    struct asked many[64], one;

    for (unsigned i = 0; i < 64; i++)
        ask_read (flow, &many[i], 1001);
    pthread_mutex_lock (&flow->lock);
    const unsigned before = flow->answered;
    pthread_mutex_unlock (&flow->lock);
    ask_read (flow, &one, 1002);
    flow_wait (flow, 0);
    ck_assert_uint_le (one.turn, before + 8);
    ck_assert_uint_gt (many[63].turn, one.turn + 30);
    flow_end (flow);
}
END_TEST

START_TEST (looking_comes_before_reading_and_reading_still_gets_its_turn)
{
    struct flow *flow = flow_begin (BLOCKING ("1000") IOT (HANDED_OVER "option thread-count 1\n"));
    struct asked reads[20], stat, stats[60], read;

    for (unsigned i = 0; i < 20; i++)
        ask_read (flow, &reads[i], 1001);
    ask_stat (flow, &stat, 1002);
    flow_wait (flow, 0);
    ck_assert_uint_le (stat.turn, 10);
    ask_read (flow, &reads[0], 1001); /* keeps the thread */
    for (unsigned i = 0; i < 30; i++)
        ask_stat (flow, &stats[i], 1002);
    ask_read (flow, &read, 1001);
    for (unsigned i = 30; i < 60; i++)
        ask_stat (flow, &stats[i], 1002);
    flow_wait (flow, 0);
    ck_assert_uint_lt (read.turn, stats[59].turn - 20);
    flow_end (flow);
}
END_TEST

START_TEST (the_least_go_at_their_rate_and_hold_nobody_up)
{
    struct flow *flow = flow_begin (BLOCKING ("0") IOT (HANDED_OVER "option least-rate-limit 100\noption least-prio-threads 4\n"));
    struct asked least[30], other;
    const int64_t begin = clock_now ();

    for (unsigned i = 0; i < 30; i++)
        ask_read (flow, &least[i], -1);
    ask_read (flow, &other, 1001);
    flow_wait (flow, 0);
    ck_assert_int_ge (clock_now () - begin, 150 * MS); /* eleven at once, nineteen each 10 ms later */
    ck_assert_uint_lt (other.turn, 25);
    ck_assert_int_eq (number (flow, "least_priority_taken"), 30);
    flow_end (flow);
}
END_TEST

START_TEST (what_a_call_waits_for_is_told)
{
    struct flow *flow = flow_begin (BLOCKING ("50000") IOT (HANDED_OVER "option thread-count 1\n"));
    g_autoptr (GString) out = g_string_new (NULL), explained = g_string_new (NULL);
    struct asked asked[4];
    xlator_t *top = flow->w.graph->top;

    for (unsigned i = 0; i < 4; i++)
        ask_read (flow, &asked[i], 1001);
    wait_for (flow, "low_priority_queue_length", 3);
    top->api->dumpops.waits_for (top, &asked[3].root->frames[1], out);
    ck_assert_str_eq (out->str, "its turn: third in the low queue, 1 of 1 threads busy");
    top->api->dumpops.explain (top, "/f", flow->fd->inode, explained);
    ck_assert_ptr_nonnull (strstr (explained->str, "up to 1 threads (thread-count)"));
    ck_assert_ptr_nonnull (strstr (explained->str, "3 calls wait"));
    flow_end (flow);
}
END_TEST

/* --- in place -------------------------------------------------------------------------------------- */

START_TEST (what_is_quick_stays_and_what_is_slow_is_handed_over)
{
    struct flow *flow = flow_begin (BLOCKING ("2000") IOT ("option in-place-limit 500us\n"));
    struct asked asked;
    unsigned here = 0;

    for (unsigned i = 0; i < 200; i++) {
        ask_stat (flow, &asked, 1001);
        flow_wait (flow, 0);
        here += asked.here;
    }
    ck_assert_uint_gt (here, 100);
    for (unsigned i = 0; i < 10; i++) {
        ask_read (flow, &asked, 1001);
        flow_wait (flow, 0);
        ck_assert (!asked.here);
    }
    ck_assert_int_eq (number (flow, "in_place"), here);
    flow_end (flow);
}
END_TEST

/* --- interrupts ------------------------------------------------------------------------------------ */

/* Delays that were seen by what is below. */
static int
went_down (struct flow *flow)
{
    xlator_t *slow = FIRST_CHILD (flow->w.graph->top);
    g_autoptr (GString) out = g_string_new (NULL);

    slow->api->dumpops.priv (slow, out);
    return atoi (strstr (out->str, "delayed=") + strlen ("delayed="));
}

START_TEST (who_is_interrupted_in_a_queue_is_answered_at_once_and_nothing_is_done)
{
    struct flow *flow = flow_begin (BLOCKING ("200000") IOT (HANDED_OVER "option thread-count 1\n"));
    struct asked asked[3];

    for (unsigned i = 0; i < 3; i++)
        ask_read (flow, &asked[i], 0);
    wait_for (flow, "low_priority_queue_length", 2);
    stack_interrupt (asked[1].root);
    flow_wait (flow, 2);
    ck_assert_uint_eq (asked[1].turn, 1);
    ck_assert_int_eq (asked[1].r, -EINTR);
    flow_wait (flow, 0);
    ck_assert_int_eq (asked[0].r, 4);
    ck_assert_int_eq (asked[2].r, 4);
    ck_assert_int_eq (went_down (flow), 2);
    ck_assert_int_eq (number (flow, "cancelled"), 1);
    flow_end (flow);
}
END_TEST

/* As when it is killed, and its files are closed: its locks have to go. */
START_TEST (a_flush_is_done_whoever_lost_patience)
{
    struct flow *flow = flow_begin (BLOCKING ("50000") IOT (HANDED_OVER "option thread-count 1\n"));
    struct asked read, flush;

    ask_read (flow, &read, 0);
    wait_for (flow, "current_low_priority_threads", 1);
    ask_flush (flow, &flush, 0);
    stack_interrupt (flush.root);
    flow_wait (flow, 0);
    ck_assert_int_eq (flush.r, 0);
    ck_assert_int_eq (number (flow, "cancelled"), 0);
    flow_end (flow);
}
END_TEST

/* No signal waits for this process: it may have been a debugger. */
START_TEST (who_has_no_signal_waiting_is_not_answered_eintr)
{
    struct flow *flow = flow_begin (BLOCKING ("20000") IOT (HANDED_OVER "option thread-count 1\n"));
    struct asked asked[2];

    for (unsigned i = 0; i < 2; i++)
        ask_read (flow, &asked[i], getpid ());
    stack_interrupt (asked[1].root);
    flow_wait (flow, 0);
    ck_assert_int_eq (asked[1].r, 4);
    flow_end (flow);
}
END_TEST

static void *
interrupt_all (void *data)
{
    struct asked *asked = data;
    struct flow *flow = asked->flow;

    for (unsigned i = 0; i < 400; i++) {
        pthread_mutex_lock (&flow->lock);
        if (asked[i].turn == 0)
            stack_interrupt (asked[i].root);
        pthread_mutex_unlock (&flow->lock);
    }
    return NULL;
}

/* A thread and an interrupt want the same call. As a mount does, none is interrupted that was answered: hence the lock. */
START_TEST (interrupts_race_with_threads_and_each_is_answered_once)
{
    struct flow *flow = flow_begin (BLOCKING ("0") IOT (HANDED_OVER "option thread-count 4\n"));
    struct asked *asked = g_new0 (struct asked, 400);
    pthread_t thread;

    for (unsigned i = 0; i < 400; i++)
        ask_read (flow, &asked[i], 0);
    ck_assert_int_eq (thread_new (&thread, "interrupts", interrupt_all, asked), 0);
    thread_join (thread);
    flow_wait (flow, 0);
    for (unsigned i = 0; i < 400; i++)
        ck_assert (asked[i].r == 4 || asked[i].r == -EINTR);
    g_free (asked);
    flow_end (flow);
}
END_TEST

/* --- locks ------------------------------------------------------------------------------------------ */

#define LOCKS "end-volume\nvolume slow\ntype test/blocks\nsubvolumes posix\n"

START_TEST (an_unlock_never_waits_behind_those_who_wait_for_it)
{
    struct flow *flow = flow_begin (LOCKS IOT (HANDED_OVER "option thread-count 2\noption normal-prio-threads 1\n"));
    struct asked holder, waiters[20], unlock;

    ask_lk (flow, &holder, F_SETLK, F_WRLCK);
    flow_wait (flow, 0);
    ck_assert_int_eq (holder.r, 0);
    for (unsigned i = 0; i < 20; i++)
        ask_lk (flow, &waiters[i], F_SETLKW, F_WRLCK);
    for (unsigned i = 0; i <= 20; i++) {
        if (i % 2)
            ask_lk (flow, &unlock, F_SETLK, F_UNLCK);
        else
            ck_assert_int_eq (sync_flush (flow->w.client, flow->fd, NULL, NULL), 0);
        flow_wait (flow, 20 - MIN (i + 1, 20));
    }
    for (unsigned i = 0; i < 20; i++)
        ck_assert_int_eq (waiters[i].r, 0);
    flow_end (flow);
}
END_TEST

/* --- threads come and go ----------------------------------------------------------------------------- */

START_TEST (threads_come_as_calls_wait_and_go_when_they_rest)
{
    struct flow *flow = flow_begin (BLOCKING ("100000") IOT (HANDED_OVER "option idle-time 1\noption thread-count 6\n"));
    struct asked asked[5];

    for (unsigned i = 0; i < 5; i++)
        ask_read (flow, &asked[i], 1001);
    wait_for (flow, "current_threads_count", 5);
    flow_wait (flow, 0);
    wait_for (flow, "current_threads_count", 1);
    ask_read (flow, &asked[0], 1001);
    flow_end (flow);
}
END_TEST

static void
reconfigure (struct flow *flow, int threads, int low, double in_place)
{
    xlator_t *top = flow->w.graph->top;
    g_autofree void *private = g_malloc0 (top->api->priv_size);
    g_autofree char *many = g_strdup_printf ("%d", threads), *few = g_strdup_printf ("%d", low);
    g_autofree char *place = g_strdup_printf ("%gus", in_place);
    const char *const settings[][2] = { { "thread-count", many }, { "low-prio-threads", few }, { "in-place-limit", place } };

    for (const struct xlator_option *option = top->api->options; option->key[0]; option++)
        ck_assert_int_eq (option_parse (option, option->value, (char *) private + option->offset, NULL), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS (settings); i++) {
        const struct xlator_option *option = option_find (top->api->options, settings[i][0]);
        ck_assert_int_eq (option_parse (option, settings[i][1], (char *) private + option->offset, NULL), 0);
    }
    ck_assert_int_eq (top->api->reconfigure (top, private), 0);
}

START_TEST (options_change_under_load_and_all_is_answered)
{
    struct flow *flow = flow_begin (BLOCKING ("200") IOT (HANDED_OVER));
    static const int counts[] = { 1, 64, 2, 16, 1, 64, 3, 1 };
    struct asked *asked = g_new0 (struct asked, 8 * 200);

    for (unsigned round = 0; round < 8; round++) {
        for (unsigned i = 0; i < 200; i++)
            ask_read (flow, &asked[round * 200 + i], 1000 + i % 7);
        reconfigure (flow, counts[round], MAX (counts[round] / 2, 1), round % 3 == 2 ? 100 : 0);
        flow_wait (flow, 150);
    }
    flow_wait (flow, 0);
    for (unsigned i = 0; i < 8 * 200; i++)
        ck_assert_int_eq (asked[i].r, 4);
    wait_for (flow, "current_threads_count", 1);
    g_free (asked);
    flow_end (flow);
}
END_TEST

START_TEST (a_stuck_queue_is_told_and_gets_one_more_thread)
{
    struct flow *flow = flow_begin (BLOCKING ("3600000000") IOT (HANDED_OVER "option thread-count 1\noption watchdog-secs 1\n"));
    g_autofree char *log = world_path (&flow->w, "log"), *text = NULL;
    struct asked asked[3];

    ck_assert_int_eq (log_open (log), 0);
    for (unsigned i = 0; i < 3; i++)
        ask_read (flow, &asked[i], 1001);
    wait_for (flow, "current_threads_count", 2);
    ck_assert_int_eq (number (flow, "raised_by"), 1);
    xlator_notify (flow->w.graph->top, XLATOR_ENDING, NULL);
    flow_wait (flow, 0);
    log_close ();
    ck_assert (g_file_get_contents (log, &text, NULL, NULL));
    ck_assert_ptr_nonnull (strstr (text, "no call of the low queue went on for 1."));
    ck_assert_ptr_nonnull (strstr (text, "1 of 1 threads are there: iot-0 readv of process 1001 for "));
    ck_assert_ptr_nonnull (strstr (text, "from now on there may be 2"));
    flow_end (flow);
}
END_TEST

START_TEST (the_end_of_the_graph_waits_for_all_and_loses_nothing)
{
    struct flow *flow = flow_begin (BLOCKING ("2000") IOT (HANDED_OVER "option thread-count 3\noption least-rate-limit 1\n"));
    struct asked asked[60];

    for (unsigned i = 0; i < 60; i++)
        ask_read (flow, &asked[i], i % 2 ? 1001 : -1);
    fd_unref (g_steal_pointer (&flow->fd));
    graph_deactivate (flow->w.graph);
    pthread_mutex_lock (&flow->lock);
    ck_assert_uint_eq (flow->answered, flow->sent);
    pthread_mutex_unlock (&flow->lock);
    for (unsigned i = 0; i < 60; i++)
        ck_assert_int_eq (asked[i].r, 4);
    flow_end (flow);
}
END_TEST

START_TEST (root_may_ask_how_long_the_queues_are)
{
    struct flow *flow = flow_begin (BLOCKING ("50000") IOT (HANDED_OVER "option low-prio-threads 1\n"));
    struct asked asked[4];
    loc_t loc = { .inode = flow->w.root };
    struct getxattr_reply reply;
    const char *key = "trusted.glusterfs.io-thread-queue-size";

    for (unsigned i = 0; i < 4; i++)
        ask_read (flow, &asked[i], 1001);
    wait_for (flow, "low_priority_queue_length", 3);
    flow->w.client->uid = 0;
    ck_assert_int_eq (sync_getxattr (flow->w.client, &loc, key, NULL, &reply), 0);
    ck_assert_str_eq (dict_get_str (reply.dict, key), "HIGH=0 NORMAL=0 LOW=3 LEAST=0");
    getxattr_reply_drop (&reply);
    flow->w.client->uid = 1000;
    ck_assert_int_lt (sync_getxattr (flow->w.client, &loc, key, NULL, &reply), 0);
    getxattr_reply_drop (&reply);
    flow_end (flow);
}
END_TEST

int
main (void)
{
    Suite *suite = suite_create ("io-threads");
    TCase *tcase = tcase_create ("io-threads");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, sixteen_readers_wait_for_the_disk_at_once);
    tcase_add_test (tcase, one_process_with_many_keeps_no_other_waiting);
    tcase_add_test (tcase, looking_comes_before_reading_and_reading_still_gets_its_turn);
    tcase_add_test (tcase, the_least_go_at_their_rate_and_hold_nobody_up);
    tcase_add_test (tcase, what_a_call_waits_for_is_told);
    tcase_add_test (tcase, what_is_quick_stays_and_what_is_slow_is_handed_over);
    tcase_add_test (tcase, who_is_interrupted_in_a_queue_is_answered_at_once_and_nothing_is_done);
    tcase_add_test (tcase, a_flush_is_done_whoever_lost_patience);
    tcase_add_test (tcase, who_has_no_signal_waiting_is_not_answered_eintr);
    tcase_add_test (tcase, interrupts_race_with_threads_and_each_is_answered_once);
    tcase_add_test (tcase, an_unlock_never_waits_behind_those_who_wait_for_it);
    tcase_add_test (tcase, threads_come_as_calls_wait_and_go_when_they_rest);
    tcase_add_test (tcase, options_change_under_load_and_all_is_answered);
    tcase_add_test (tcase, a_stuck_queue_is_told_and_gets_one_more_thread);
    tcase_add_test (tcase, the_end_of_the_graph_waits_for_all_and_loses_nothing);
    tcase_add_test (tcase, root_may_ask_how_long_the_queues_are);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

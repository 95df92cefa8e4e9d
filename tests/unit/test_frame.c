/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* The edge: requests go down, each is answered once, and translators that break the rules are
 * named. */
#include "core/edge/stack.h"
#include "core/report/watchdog.h"
#include "mock.h"

#include "../program.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* --- translators of the tests --------------------------------------------------------------- */

struct stack {
    xlator_t leaf, layers[40];
    struct client *client;
};

static struct stack *
frame_stack_of (unsigned layers, const struct xlator_api *api)
{
    struct stack *s = g_new0 (struct stack, 1);
    xlator_t *top = mock_xlator (&s->leaf, "leaf", &mock_leaf_api, NULL);

    for (unsigned i = 0; i < layers; i++)
        top = mock_xlator (&s->layers[i], "layer", api, top);
    s->client = client_new (top);
    return s;
}

static void
frame_stack_free (struct stack *s)
{
    client_free (s->client);
    mock_free (&s->leaf);
    for (unsigned i = 0; i < G_N_ELEMENTS (s->layers); i++)
        mock_free (&s->layers[i]);
    g_free (s);
}

/* --- tests ---------------------------------------------------------------------------------- */

START_TEST (an_answer_comes_back_through_every_layer)
{
    struct stack *s = frame_stack_of (_i, &mock_pass_api);
    struct stat_reply reply;
    loc_t loc = { 0 };

    ck_assert_int_eq (sync_stat (s->client, &loc, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_size, 42);
    stat_reply_drop (&reply);
    ck_assert_uint_eq (stack_count (), 0);
    ck_assert_uint_eq (stack_misuses (), 0);
    frame_stack_free (s);
}
END_TEST

START_TEST (an_error_comes_back_as_it_is)
{
    struct stack *s = frame_stack_of (3, &mock_pass_api);
    loc_t loc = { 0 };

    ck_assert_int_eq (sync_access (s->client, &loc, R_OK, NULL, NULL), -EACCES);
    frame_stack_free (s);
}
END_TEST

START_TEST (what_nobody_implements_is_enosys)
{
    struct stack *s = frame_stack_of (2, &mock_pass_api);
    loc_t loc = { 0 };

    ck_assert_int_eq (sync_statfs (s->client, &loc, NULL, NULL), -ENOSYS);
    frame_stack_free (s);
}
END_TEST

START_TEST (a_layer_without_the_fop_is_not_on_the_way)
{
    struct stack *s = frame_stack_of (5, &mock_pass_api);

    ck_assert_ptr_eq (s->layers[4].routes.access.to, &s->leaf);
    ck_assert_ptr_eq (s->layers[4].routes.stat.to, &s->layers[4]);
    frame_stack_free (s);
}
END_TEST

START_TEST (a_layer_that_is_passed_through_is_not_on_the_way)
{
    struct stack *s = frame_stack_of (2, &mock_pass_api);

    s->layers[1].pass_through = true;
    xlator_route (&s->layers[1]);
    ck_assert_ptr_eq (s->layers[1].routes.stat.to, &s->layers[0]);
    frame_stack_free (s);
}
END_TEST

static void
twice_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt buf = { .ia_size = 1 };

    STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
    STACK_UNWIND (stat, frame, -1, EIO, NULL, NULL);
}

static const struct xlator_api twice_api = { .type = "test/twice", .fops = { .stat = twice_stat } };

/* Returns the log of a run of fn. g_free it. */
static char *
log_of (int (*fn) (struct stack *s), struct stack *s, int *ret_r)
{
    char path[] = "/tmp/windlass-test-XXXXXX";
    int fd = mkstemp (path);
    char *text = NULL;

    close (fd);
    ck_assert_int_eq (log_open (path), 0);
    *ret_r = fn (s);
    log_close ();
    ck_assert (g_file_get_contents (path, &text, NULL, NULL));
    unlink (path);
    return g_steal_pointer (&text);
}

static int
frame_ask_stat (struct stack *s)
{
    loc_t loc = { 0 };

    return sync_stat (s->client, &loc, NULL, NULL);
}

START_TEST (a_second_answer_is_dropped_and_its_translator_named)
{
    struct stack *s = frame_stack_of (1, &twice_api);
    g_autofree char *log = NULL;
    int r;

    log = log_of (frame_ask_stat, s, &r);
    ck_assert_int_eq (r, 0);
    ck_assert_uint_eq (stack_misuses (), 1);
    ck_assert_msg (strstr (log, "translator 'layer' (test/twice) answered stat twice"), "%s", log);
    frame_stack_free (s);
}
END_TEST

static void
wrong_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_UNWIND (access, frame, 0, 0, NULL);
}

static const struct xlator_api wrong_api = { .type = "test/wrong", .fops = { .stat = wrong_stat } };

START_TEST (an_answer_to_another_operation_becomes_eio)
{
    struct stack *s = frame_stack_of (1, &wrong_api);
    g_autofree char *log = NULL;
    int r;

    log = log_of (frame_ask_stat, s, &r);
    ck_assert_int_eq (r, -EIO);
    ck_assert_msg (strstr (log, "'layer' (test/wrong) was asked for stat"), "%s", log);
    frame_stack_free (s);
}
END_TEST

static void
never_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
}

static const struct xlator_api never_api = { .type = "test/never", .fops = { .stat = never_stat } };

START_TEST (a_request_that_is_never_answered_is_reported_with_its_place)
{
    struct stack *s = frame_stack_of (1, &never_api);
    g_autofree char *log = NULL;
    int r;

    s->client->patience = 50 * 1000 * 1000;
    log = log_of (frame_ask_stat, s, &r);
    ck_assert_int_eq (r, -ETIMEDOUT);
    ck_assert_msg (strstr (log, "stat at 'layer' (test/never), wound by sync_stat"), "%s", log);
    ck_assert_uint_eq (stack_count (), 1);
    frame_stack_free (s);
}
END_TEST

static call_frame_t *frame_kept; /* not answered yet */

static void
late_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    frame_kept = frame;
}

static const struct xlator_api late_api = { .type = "test/late", .fops = { .stat = late_stat } };

START_TEST (a_request_that_was_abandoned_outlives_its_client)
{
    struct stack *s = frame_stack_of (1, &late_api);
    xlator_t *top = FIRST_CHILD (&s->client->xlator);
    g_autofree char *log = NULL, *said = NULL;
    int r;

    s->client->patience = 50 * 1000 * 1000;
    log = log_of (frame_ask_stat, s, &r);
    ck_assert_int_eq (r, -ETIMEDOUT);
    client_free (s->client);
    s->client = client_new (top);
    xlators_pin ();
    said = stack_describe (frame_kept->root);
    xlators_unpin ();
    ck_assert_msg (strstr (said, "stat at 'layer' (test/late)") != NULL, "%s", said);
    STACK_UNWIND (stat, frame_kept, -1, EIO, NULL, NULL);
    ck_assert_uint_eq (stack_count (), 0);
    frame_stack_free (s);
}
END_TEST

static int
ask_and_be_watched (struct stack *s)
{
    int r;

    watchdog_set (20 * 1000 * 1000);
    r = frame_ask_stat (s);
    watchdog_set (0);
    return r;
}

START_TEST (the_watchdog_says_once_where_a_request_is_stuck)
{
    struct stack *s = frame_stack_of (2, &never_api);
    g_autofree char *log = NULL;
    const char *said;
    int r;

    s->client->patience = INT64_C (3000000000); /* more than the first report takes */
    log = log_of (ask_and_be_watched, s, &r);
    ck_assert_int_eq (r, -ETIMEDOUT);
    said = strstr (log, "no answer for ");
    ck_assert_msg (said && strstr (said, "stat at 'layer' (test/never)"), "%s", log);
    ck_assert_msg (!strstr (said + 1, "W [watchdog"), "it was said twice: %s", log);
    frame_stack_free (s);
}
END_TEST

static void
early_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND (frame, mock_pass_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
    STACK_UNWIND (stat, frame, 0, 0, NULL, NULL);
}

static const struct xlator_api early_api = { .type = "test/early", .fops = { .stat = early_stat } };

START_TEST (an_answer_before_the_child_has_answered_is_reported)
{
    struct stack *s = frame_stack_of (1, &never_api);
    xlator_t early;
    g_autofree char *log = NULL;
    int r;

    client_free (s->client);
    s->client = client_new (mock_xlator (&early, "early", &early_api, &s->layers[0]));
    log = log_of (frame_ask_stat, s, &r);
    ck_assert_int_eq (r, 0);
    ck_assert_msg (strstr (log, "'early' (test/early) answered request"), "%s", log);
    ck_assert_msg (strstr (log, "before its child 'layer' (test/never) answered stat"), "%s", log);
    mock_free (&early);
    frame_stack_free (s);
}
END_TEST

/* Winds _i times in sequence, each time from the callback of the wind before. */
struct again_local {
    int left;
};

static unsigned drops;

static void
again_drop (xlator_t *this, void *local)
{
    drops++;
}

static stat_cbk frame_again_stat_cbk;

static void
frame_again_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct again_local *local = frame_local_new (frame, sizeof *local);

    local->left = 9;
    STACK_WIND (frame, frame_again_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
frame_again_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno,
                      struct iatt *buf, dict_t *xdata)
{
    struct again_local *local = frame->local;
    loc_t loc = { 0 };

    if (local->left-- > 0)
        STACK_WIND (frame, frame_again_stat_cbk, FIRST_CHILD (this), stat, &loc, NULL);
    else
        STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

static const struct xlator_api frame_again_api = { .type = "test/again",
                                             .local_drop = again_drop,
                                             .fops = { .stat = frame_again_stat } };

START_TEST (a_frame_may_wind_again_after_its_child_answered)
{
    struct stack *s = frame_stack_of (3, &frame_again_api);

    drops = 0;
    ck_assert_int_eq (frame_ask_stat (s), 0);
    ck_assert_uint_eq (stack_misuses (), 0);
    ck_assert_uint_eq (stack_count (), 0);
    ck_assert_uint_eq (drops, 1 + 10 + 100);
    frame_stack_free (s);
}
END_TEST

/* Winds to its child from many threads at once, and answers when all winds are answered. */
#define FANS 8

struct fan_local {
    call_frame_t *frame;
    int pending, failed;
    pthread_t threads[FANS];
};

static stat_cbk frame_fan_stat_cbk;

static void *
fan_run (void *data)
{
    call_frame_t *frame = data;
    loc_t loc = { 0 };

    for (int i = 0; i < 200; i++)
        STACK_WIND_COOKIE (frame, frame_fan_stat_cbk, frame, FIRST_CHILD (frame->this), stat, &loc,
                           NULL);
    return NULL;
}

static void
frame_fan_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct fan_local *local = frame_local_new (frame, sizeof *local);

    local->pending = FANS * 200 + 1;
    STACK_WIND_COOKIE (frame, frame_fan_stat_cbk, frame, FIRST_CHILD (this), stat, loc, xdata);
    for (int i = 0; i < FANS; i++)
        pthread_create (&local->threads[i], NULL, fan_run, frame);
    for (int i = 0; i < FANS; i++)
        pthread_join (local->threads[i], NULL);
    if (local->pending == 0)
        STACK_UNWIND (stat, frame, local->failed ? -1 : 0, EIO, NULL, NULL);
}

static void
frame_fan_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno,
                    struct iatt *buf, dict_t *xdata)
{
    struct fan_local *local = frame->local;

    if (cookie != frame || op_ret != 0 || buf->ia_size != 42)
        __atomic_add_fetch (&local->failed, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch (&local->pending, 1, __ATOMIC_ACQ_REL);
}

static const struct xlator_api frame_fan_api = { .type = "test/fan",
                                                 .fops = { .stat = frame_fan_stat } };

START_TEST (many_threads_may_wind_from_one_frame)
{
    struct stack *s = frame_stack_of (4, &mock_pass_api);
    xlator_t fan;

    client_free (s->client);
    s->client = client_new (mock_xlator (&fan, "fan", &frame_fan_api, &s->layers[3]));
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq (frame_ask_stat (s), 0);
    ck_assert_uint_eq (stack_misuses (), 0);
    ck_assert_uint_eq (stack_count (), 0);
    mock_free (&fan);
    frame_stack_free (s);
}
END_TEST

START_TEST (every_wind_and_unwind_is_logged_at_trace_with_its_arguments)
{
    struct stack *s = frame_stack_of (2, &mock_pass_api);
    g_autofree char *log = NULL;
    int r;

    xlator_set_loglevel (&s->layers[0], GF_LOG_TRACE);
    log = log_of (frame_ask_stat, s, &r);
    ck_assert_int_eq (r, 0);
    ck_assert_msg (strstr (log, "stat layer -> layer: loc="), "%s", log);
    ck_assert_msg (strstr (log, "stat layer <- layer: op_ret=0, buf={"), "%s", log);
    ck_assert_msg (!strstr (log, "-> leaf"), "only one translator was to be traced: %s", log);
    xlator_set_loglevel (&s->layers[0], GF_LOG_UNSET);
    g_free (log);
    log = log_of (frame_ask_stat, s, &r);
    ck_assert_str_eq (log, "");
    frame_stack_free (s);
}
END_TEST

static void
frame_tail_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), stat, loc, xdata);
}

static const struct xlator_api frame_tail_api = { .type = "test/tail",
                                                  .fops = { .stat = frame_tail_stat } };

START_TEST (a_tail_wind_leaves_no_frame_of_its_own)
{
    struct stack *s = frame_stack_of (30, &frame_tail_api);

    ck_assert_int_eq (frame_ask_stat (s), 0);
    ck_assert_uint_eq (stack_misuses (), 0);
    frame_stack_free (s);
}
END_TEST

static void
checked_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
                off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    bool same = count == 1 && vector[0].iov_len == 5
             && memcmp (vector[0].iov_base, "hello", 5) == 0;

    STACK_UNWIND (writev, frame, same && offset == 7 ? 5 : -1, EINVAL, NULL, NULL, NULL);
}

static void *
resume_run (void *stub)
{
    call_resume (stub);
    return NULL;
}

/* Stores the write for another thread, and overwrites the lent bytes, as their owner may. */
static void
aside_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
              off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    call_stub_t *stub = fop_writev_stub (frame, checked_writev, fd, vector, count, offset, flags,
                                         iobref, xdata);
    pthread_t thread;

    memset (vector[0].iov_base, 'x', vector[0].iov_len);
    pthread_create (&thread, NULL, resume_run, stub);
    pthread_detach (thread);
}

static const struct xlator_api aside_api = { .type = "test/aside",
                                             .fops = { .writev = aside_writev } };

START_TEST (a_call_set_aside_keeps_its_arguments)
{
    struct stack *s = frame_stack_of (1, &aside_api);
    char bytes[] = "hello";
    struct iovec iov = { bytes, 5 };

    ck_assert_int_eq (sync_writev (s->client, NULL, &iov, 1, 7, 0, NULL, NULL, NULL), 5);
    frame_stack_free (s);
}
END_TEST

static Suite *
frame_suite (void)
{
    Suite *suite = suite_create ("frame");
    TCase *tcase = tcase_create ("edge");

    tcase_add_loop_test (tcase, an_answer_comes_back_through_every_layer, 0, 40);
    tcase_add_test (tcase, an_error_comes_back_as_it_is);
    tcase_add_test (tcase, what_nobody_implements_is_enosys);
    tcase_add_test (tcase, a_layer_without_the_fop_is_not_on_the_way);
    tcase_add_test (tcase, a_layer_that_is_passed_through_is_not_on_the_way);
    tcase_add_test (tcase, a_second_answer_is_dropped_and_its_translator_named);
    tcase_add_test (tcase, an_answer_to_another_operation_becomes_eio);
    tcase_add_test (tcase, a_request_that_is_never_answered_is_reported_with_its_place);
    tcase_add_test (tcase, a_request_that_was_abandoned_outlives_its_client);
    tcase_add_test (tcase, the_watchdog_says_once_where_a_request_is_stuck);
    tcase_add_test (tcase, an_answer_before_the_child_has_answered_is_reported);
    tcase_add_test (tcase, a_frame_may_wind_again_after_its_child_answered);
    tcase_add_test (tcase, many_threads_may_wind_from_one_frame);
    tcase_add_test (tcase, every_wind_and_unwind_is_logged_at_trace_with_its_arguments);
    tcase_add_test (tcase, a_tail_wind_leaves_no_frame_of_its_own);
    tcase_add_test (tcase, a_call_set_aside_keeps_its_arguments);
    suite_add_tcase (suite, tcase);
    return suite;
}

TEST_PROGRAM (test_frame)
{
    return suite_run (frame_suite ());
}

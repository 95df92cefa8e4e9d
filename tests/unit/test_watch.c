/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug valgrind */
/* Watching the edge: what watchers are told, in which order, with which times; and the trace of a
 * failed answer. */
#include "core/edge/stack.h"
#include "core/edge/watch.h"
#include "mock.h"

#include "../program.h"
#include <errno.h>
#include <unistd.h>

/* --- translators: pass on, fan-out; of mock.h: leaf that fails or is slow, hand on --- */

static stat_cbk watch_pass_stat_cbk;

static void
watch_pass_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND (frame, watch_pass_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
watch_pass_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                     int32_t op_errno,
                     struct iatt *buf, dict_t *xdata)
{
    STACK_UNWIND (stat, frame, op_ret, op_ret < 0 ? ESTALE : 0, buf, xdata);
}

static const struct xlator_api watch_pass_api = { .type = "test/pass",
                                                  .fops = { .stat = watch_pass_stat } };

static stat_cbk watch_again_stat_cbk;

static void
watch_again_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    int *rounds = frame_local_new (frame, sizeof (int));

    *rounds = 3;
    STACK_WIND (frame, watch_again_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
watch_again_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno,
                      struct iatt *buf, dict_t *xdata)
{
    int *rounds = frame->local;
    loc_t loc = { 0 };

    if (--*rounds > 0)
        STACK_WIND (frame, watch_again_stat_cbk, FIRST_CHILD (this), stat, &loc, NULL);
    else
        STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

static const struct xlator_api watch_again_api = { .type = "test/again",
                                                   .fops = { .stat = watch_again_stat } };

struct stack {
    xlator_t leaf, middle, upper;
    GPtrArray *all;
    struct client *client;
};

static struct stack *
watch_stack_of (const struct xlator_api *upper, const struct xlator_api *middle)
{
    struct stack *s = g_new0 (struct stack, 1);

    mock_xlator (&s->leaf, "leaf", &mock_leaf_api, NULL);
    mock_xlator (&s->middle, "middle", middle, &s->leaf);
    s->client = client_new (mock_xlator (&s->upper, "upper", upper, &s->middle));
    s->all = g_ptr_array_new ();
    g_ptr_array_add (s->all, &s->upper);
    g_ptr_array_add (s->all, &s->middle);
    g_ptr_array_add (s->all, &s->leaf);
    mock_leaf_errno = 0;
    return s;
}

static void
watch_stack_free (struct stack *s)
{
    client_free (s->client);
    g_ptr_array_unref (s->all);
    mock_free (&s->leaf);
    mock_free (&s->middle);
    mock_free (&s->upper);
    g_free (s);
}

static int
watch_test_ask (struct stack *s)
{
    loc_t loc = { 0 };

    return sync_stat (s->client, &loc, NULL, NULL);
}

/* --- a watcher that records its calls --------------------------------------------------------- */

static GString *story;
static uint64_t whole[3], watch_own[3]; /* nanoseconds of leaf, middle, upper */
static const char *const watch_names[] = { "leaf", "middle", "upper" };

static void
note_wind (const struct watch_event *event)
{
    ck_assert_ptr_nonnull (event->call);
    ck_assert_int_eq (event->call->op, FOP_stat);
    g_string_append_printf (story, "%s>%s%s ", event->caller->name, event->callee->name,
                            event->tail ? "!" : "");
}

static void
note_unwind (const struct watch_event *event)
{
    g_string_append_printf (story, "%s<%s=%d ", event->caller->name, event->callee->name,
                            event->op_ret < 0 ? -event->op_errno : event->op_ret);
    for (int i = 0; i < 3; i++)
        if (strcmp (watch_names[i], event->callee->name) == 0) {
            whole[i] = ticks_to_ns (event->ticks - event->begin);
            watch_own[i] = whole[i] - ticks_to_ns (event->below);
        }
}

static const struct watcher noter = {
    .name = "noter", .wants_call = true, .wind = note_wind, .unwind = note_unwind
};

/* The records of one request. */
static char *
story_of (struct stack *s, int expected)
{
    story = g_string_new (NULL);
    ck_assert_int_eq (watch_test_ask (s), expected);
    return g_string_free (g_steal_pointer (&story), FALSE);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST (each_wind_is_told_and_each_unwind)
{
    struct stack *s = watch_stack_of (&watch_pass_api, &watch_pass_api);
    g_autofree char *told = NULL;

    watch_set (s->all, &noter, true);
    told = story_of (s, 0);
    ck_assert_str_eq (
        told, "client>upper upper>middle middle>leaf middle<leaf=0 upper<middle=0 client<upper=0 ");
    watch_stack_free (s);
}
END_TEST

START_TEST (nothing_is_told_when_it_is_off)
{
    struct stack *s = watch_stack_of (&watch_pass_api, &watch_pass_api);
    g_autofree char *told = NULL;

    watch_set (s->all, &noter, true);
    ck_assert (watch_is_on (&s->leaf, &noter));
    watch_set (s->all, &noter, false);
    told = story_of (s, 0);
    ck_assert_str_eq (told, "");
    ck_assert_ptr_eq (s->upper.routes.stat.call, watch_pass_stat);
    watch_stack_free (s);
}
END_TEST

START_TEST (one_alone_can_be_watched)
{
    struct stack *s = watch_stack_of (&watch_pass_api, &watch_pass_api);
    g_autofree char *told = NULL;

    watch_set_one (&s->middle, &noter, true);
    told = story_of (s, 0);
    ck_assert_str_eq (told, "upper>middle upper<middle=0 ");
    watch_stack_free (s);
}
END_TEST

START_TEST (who_hands_its_request_on_is_answered_for_too)
{
    struct stack *s = watch_stack_of (&mock_tail_api, &mock_tail_api);
    g_autofree char *told = NULL;

    watch_set (s->all, &noter, true);
    told = story_of (s, 0);
    ck_assert_str_eq (
        told,
        "client>upper upper>middle! middle>leaf! middle<leaf=0 upper<middle=0 client<upper=0 ");
    watch_stack_free (s);
}
END_TEST

START_TEST (a_frame_that_winds_again_is_told_each_time)
{
    struct stack *s = watch_stack_of (&watch_again_api, &watch_pass_api);
    g_autofree char *told = NULL;

    watch_set (s->all, &noter, true);
    told = story_of (s, 0);
    ck_assert_str_eq (told, "client>upper upper>middle middle>leaf middle<leaf=0 upper<middle=0 "
                            "upper>middle middle>leaf "
                            "middle<leaf=0 upper<middle=0 upper>middle middle>leaf middle<leaf=0 "
                            "upper<middle=0 client<upper=0 ");
    watch_stack_free (s);
}
END_TEST

START_TEST (time_is_told_apart_from_that_of_children)
{
    struct stack *s = watch_stack_of (_i ? &mock_tail_api : &watch_again_api,
                                      _i ? &mock_tail_api : &watch_pass_api);
    const unsigned rounds = _i ? 1 : 3;

    watch_set (s->all, &noter, true);
    g_free (story_of (s, 0)); /* code may take long on its first run */
    mock_leaf_nap = 200000;
    g_free (story_of (s, 0));
    mock_leaf_nap = 0;
    ck_assert_uint_ge (whole[0], 199980000); /* in the first second a tick is known to a
                                                ten-thousandth */
    ck_assert_uint_ge (whole[2], rounds * 199980000);
    ck_assert_uint_eq (watch_own[0], whole[0]);
    ck_assert_uint_lt (watch_own[1], whole[1] / 2);
    ck_assert_uint_lt (watch_own[2], whole[2] / 2);
    watch_stack_free (s);
}
END_TEST

START_TEST (a_failed_answer_leaves_its_errno_in_the_frame)
{
    struct stack *s = watch_stack_of (&watch_pass_api, &watch_pass_api);
    g_autofree char *told = NULL;

    watch_set (s->all, &noter, true);
    mock_leaf_errno = EIO;
    told = story_of (s, -ESTALE);
    ck_assert_str_eq (told, "client>upper upper>middle middle>leaf middle<leaf=-5 "
                            "upper<middle=-116 client<upper=-116 ");
    watch_stack_free (s);
}
END_TEST

/* The frames of the last request, recorded in the callback of the top when all have answered. */
static int errnos[3];

static void
look_wind (const struct watch_event *event)
{
}

static void
look_unwind (const struct watch_event *event)
{
    for (int i = 0; i < 3; i++) {
        const call_frame_t *frame = &event->frame->root->frames[3 - i];
        errnos[i] = frame->complete && frame->failed ? frame->op_errno : 0;
    }
}

static const struct watcher looker = { .name = "looker", .wind = look_wind, .unwind = look_unwind };

START_TEST (who_failed_first_is_known_without_watching)
{
    struct stack *s = watch_stack_of (&watch_pass_api, &watch_pass_api);

    watch_set_one (&s->upper, &looker, true); /* tells when to look; others are not watched */
    mock_leaf_errno = EIO;
    ck_assert_int_eq (watch_test_ask (s), -ESTALE);
    ck_assert_int_eq (errnos[0], EIO);
    ck_assert_int_eq (errnos[1], ESTALE);
    mock_leaf_errno = 0;
    ck_assert_int_eq (watch_test_ask (s), 0);
    ck_assert_int_eq (errnos[0], 0);
    watch_stack_free (s);
}
END_TEST

START_TEST (work_knows_the_request_that_caused_it)
{
    struct stack *s = watch_stack_of (&watch_pass_api, &watch_pass_api);
    call_stack_t *first = stack_new (&s->upper),
                 *second = stack_new_like (&s->middle, &first->frames[0]);

    ck_assert_uint_eq (second->caused_by, first->unique);
    stack_done (second);
    stack_done (first);
    first = stack_new (&s->upper);
    ck_assert_uint_eq (first->caused_by, 0);
    stack_done (first);
    watch_stack_free (s);
}
END_TEST

START_TEST (ticks_are_nanoseconds_in_the_end)
{
    uint64_t ticks, ns;
    int64_t begin, end;

    ticks_init ();
    begin = clock_now ();
    ticks = ticks_now ();
    end = clock_now ();
    g_usleep (20000);
    ns = ticks_to_ns (ticks_now () - ticks);
    ck_assert_uint_gt (ns, 19000000);
    ck_assert_int_lt ((int64_t) ns, (clock_now () - begin) * 11 / 10);
    ck_assert_uint_le (ticks_to_ns (ticks_of_ns (1000000)), 1000001);
    ck_assert_int_gt (ticks_to_clock (ticks), begin - 1000000);
    ck_assert_int_lt (ticks_to_clock (ticks), end + 1000000);
}
END_TEST

TEST_PROGRAM (test_watch)
{
    Suite *suite = suite_create ("watch");
    TCase *tests = tcase_create ("watch");

    tcase_add_test (tests, each_wind_is_told_and_each_unwind);
    tcase_add_test (tests, nothing_is_told_when_it_is_off);
    tcase_add_test (tests, one_alone_can_be_watched);
    tcase_add_test (tests, who_hands_its_request_on_is_answered_for_too);
    tcase_add_test (tests, a_frame_that_winds_again_is_told_each_time);
    if (!g_getenv ("RUN")) /* under valgrind, times mean nothing */
        tcase_add_loop_test (tests, time_is_told_apart_from_that_of_children, 0, 2);
    tcase_add_test (tests, a_failed_answer_leaves_its_errno_in_the_frame);
    tcase_add_test (tests, who_failed_first_is_known_without_watching);
    tcase_add_test (tests, work_knows_the_request_that_caused_it);
    if (!g_getenv ("RUN"))
        tcase_add_test (tests, ticks_are_nanoseconds_in_the_end);
    suite_add_tcase (suite, tests);
    return suite_run (suite);
}

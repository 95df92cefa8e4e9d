/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* Timelines: records from several threads are assembled to whole requests, in whichever order they
 * arrive. */
#include "core/edge/stack.h"
#include "mock.h"
#include "trace/timeline/recording.h"

#include "../program.h"
#include <errno.h>
#include <unistd.h>

/* --- translators: one that answers on another thread, a fan-out, one with background work --- */

/* Calls for the other thread to answer. Not a queue of glib: the thread sanitizer does not see its
 * locks. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    GQueue frames; /* lock */
} timed_calls = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static void
calls_push (void *frame)
{
    pthread_mutex_lock (&timed_calls.lock);
    g_queue_push_tail (&timed_calls.frames, frame);
    pthread_cond_signal (&timed_calls.more);
    pthread_mutex_unlock (&timed_calls.lock);
}

static void *
calls_pop (void)
{
    void *frame;

    pthread_mutex_lock (&timed_calls.lock);
    while (!(frame = g_queue_pop_head (&timed_calls.frames)))
        pthread_cond_wait (&timed_calls.more, &timed_calls.lock);
    pthread_mutex_unlock (&timed_calls.lock);
    return frame;
}

static void
timed_leaf_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    calls_push (frame);
}

static void
timed_answer (call_frame_t *frame)
{
    STACK_UNWIND (stat, frame, -1, ENOSPC, NULL, NULL);
}

static bool in_pairs; /* answers no call before there are two */

static void *
answer_run (void *unused)
{
    call_frame_t *frame, *second;

    thread_adopt ("answerer");
    while ((frame = calls_pop ()) != (void *) &timed_calls) {
        second = in_pairs ? calls_pop () : NULL;
        timed_answer (frame);
        if (second)
            timed_answer (second);
    }
    return NULL;
}

static const struct xlator_api timed_leaf_api = { .type = "test/leaf",
                                                  .fops = { .stat = timed_leaf_stat } };

static stat_cbk both_stat_cbk;

static void
timed_both_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    xlator_list_t *children = this->children;

    *(int *) frame_local_new (frame, sizeof (int)) = 2;
    STACK_WIND (frame, both_stat_cbk, children->xlator, stat, loc, xdata);
    STACK_WIND (frame, both_stat_cbk, children->xlator, stat, loc, xdata);
}

static void
both_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *buf, dict_t *xdata)
{
    if (__atomic_sub_fetch ((int *) frame->local, 1, __ATOMIC_ACQ_REL) == 0)
        STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

static const struct xlator_api timed_both_api = { .type = "test/both",
                                                  .fops = { .stat = timed_both_stat } };

static unsigned behind; /* background requests under way; atomic */

static void
behind_done (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             struct iatt *buf, dict_t *xdata)
{
    stack_done (frame->root);
    __atomic_sub_fetch (&behind, 1, __ATOMIC_RELEASE);
}

static void
behind_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    call_stack_t *root = stack_new_like (this, frame);

    __atomic_add_fetch (&behind, 1, __ATOMIC_RELEASE);
    STACK_UNWIND (stat, frame, 0, 0, NULL, NULL);
    STACK_WIND (&root->frames[0], behind_done, FIRST_CHILD (this), stat, &(loc_t){ 0 }, NULL);
}

static const struct xlator_api behind_api = { .type = "test/behind",
                                              .fops = { .stat = behind_stat } };

struct stack {
    xlator_t leaf, upper;
    GPtrArray *all;
    struct client *client;
    struct itable *itable;
    pthread_t answerer;
};

static struct stack *
timed_stack_of (const struct xlator_api *upper)
{
    struct stack *s = g_new0 (struct stack, 1);

    in_pairs = upper == &timed_both_api;
    pthread_create (&s->answerer, NULL, answer_run, NULL);
    mock_xlator (&s->leaf, "leaf", &timed_leaf_api, NULL);
    s->client = client_new (mock_xlator (&s->upper, "upper", upper, &s->leaf));
    s->all = g_ptr_array_new ();
    g_ptr_array_add (s->all, &s->upper);
    g_ptr_array_add (s->all, &s->leaf);
    s->itable = itable_new (0, 16, NULL, NULL);
    return s;
}

static void
timed_stack_free (struct stack *s)
{
    while (__atomic_load_n (&behind, __ATOMIC_ACQUIRE) > 0)
        g_usleep (100);
    calls_push (&timed_calls);
    pthread_join (s->answerer, NULL);
    timeline_end ();
    client_free (s->client);
    g_ptr_array_unref (s->all);
    mock_free (&s->leaf);
    mock_free (&s->upper);
    itable_destroy (s->itable);
    g_free (s);
}

static int
timed_ask (struct stack *s)
{
    loc_t loc = { 0 };

    return sync_stat (s->client, &loc, NULL, NULL);
}

static const struct timeline_settings usual = { .fops = OPSET_ALL, .memory = 1 << 20 };

static char *
timed_print (enum timeline_format format)
{
    GString *out = g_string_new (NULL);
    uint64_t at = 0;
    bool more = true;

    while (more)
        ck_assert_int_eq (timeline_print (format, &at, 100, out, &more), 0);
    return g_string_free (out, FALSE);
}

static unsigned
timed_count_of (const char *text, const char *what)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr (at, what)); at += strlen (what))
        n++;
    return n;
}

#define HAS(text_, what_) ck_assert_msg (strstr (text_, what_), "no '%s' in:\n%s", what_, text_)

/* --- real ones ------------------------------------------------------------------------------- */

START_TEST (answer_on_another_thread_is_told)
{
    struct stack *s = timed_stack_of (&timed_both_api);
    struct timeline_counts counts;

    ck_assert_int_eq (timeline_start (s->all, s->itable, &usual), 0);
    ck_assert_int_eq (timeline_start (s->all, s->itable, &usual), -EALREADY);
    ck_assert_int_eq (timed_ask (s), -ENOSPC);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_int_eq (timeline_stop (-1, &counts), -ENOENT);
    ck_assert_uint_eq (counts.seen, 1);
    ck_assert_uint_eq (counts.at_start + counts.at_end + counts.broken + counts.lost, 0);

    g_autofree char *text = timed_print (TIMELINE_TEXT), *folded = timed_print (TIMELINE_FOLDED),
                    *json = timed_print (TIMELINE_JSON);
    HAS (text, "upper: stat = -1 ENOSPC (answered on answerer)");
    ck_assert_uint_eq (timed_count_of (text,
                                       "      leaf: stat = -1 ENOSPC (answered on answerer)"), 2);
    HAS (folded, ";upper:stat;leaf:stat ");
    /* Two at once: the second has a lane of its own, and an arrow to it. */
    ck_assert_uint_eq (timed_count_of (json, "\"ph\":\"X\""), 4);
    ck_assert_uint_eq (timed_count_of (json, "\"ph\":\"s\""), 1);
    ck_assert_uint_eq (timed_count_of (json, "\"ph\":\"f\""), 1);
    HAS (json, "\"answered_on\":\"answerer\"");
    timed_stack_free (s);
}
END_TEST

START_TEST (background_work_is_under_its_cause)
{
    struct stack *s = timed_stack_of (&behind_api);
    struct timeline_counts counts;

    ck_assert_int_eq (timeline_start (s->all, s->itable, &usual), 0);
    ck_assert_int_eq (timed_ask (s), 0);
    while (__atomic_load_n (&behind, __ATOMIC_ACQUIRE) > 0)
        g_usleep (100);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_uint_eq (counts.seen, 2);

    g_autofree char *text = timed_print (TIMELINE_TEXT), *json = timed_print (TIMELINE_JSON),
                    *folded = timed_print (TIMELINE_FOLDED);
    HAS (text, "\n    request ");
    HAS (text, "in the background, caused by request ");
    ck_assert_uint_eq (timed_count_of (text, "\nrequest "), 1);
    HAS (json, "\"name\":\"caused\"");
    HAS (json, "\"caused_by\":");
    HAS (folded, "upper (background);leaf:stat ");
    timed_stack_free (s);
}
END_TEST

START_TEST (slowest_are_kept_and_filters_leave_out)
{
    struct stack *s = timed_stack_of (&timed_both_api);
    struct timeline_settings settings = usual;
    struct timeline_counts counts;

    settings.slowest = 3;
    ck_assert_int_eq (timeline_start (s->all, s->itable, &settings), 0);
    for (int i = 0; i < 50; i++)
        timed_ask (s);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_uint_eq (counts.seen, 50);
    ck_assert_uint_eq (counts.kept, 3);

    settings = usual;
    settings.fops = OPSET_OF (FOP_writev);
    ck_assert_int_eq (timeline_start (s->all, s->itable, &settings), 0);
    timed_ask (s);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_uint_eq (counts.kept, 0);
    ck_assert_uint_eq (counts.filtered, 1);

    settings = usual;
    settings.min = 3600ULL * 1000000000;
    ck_assert_int_eq (timeline_start (s->all, s->itable, &settings), 0);
    timed_ask (s);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_uint_eq (counts.filtered, 1);

    settings = usual;
    settings.memory = 4 * sizeof (struct timeline_request);
    ck_assert_int_eq (timeline_start (s->all, s->itable, &settings), 0);
    for (int i = 0; i < 20; i++)
        timed_ask (s);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_uint_gt (counts.dropped, 0);
    ck_assert_uint_eq (counts.kept + counts.dropped, 20);
    timed_stack_free (s);
}
END_TEST

/* Requests that are in flight at the start or the end are marked. */
START_TEST (requests_under_way_are_said)
{
    struct stack *s = timed_stack_of (&timed_both_api);
    struct timeline_counts counts;
    call_stack_t *root = stack_new (&s->client->xlator), *late = stack_new (&s->client->xlator);
    call_frame_t *held;

    /* The answering thread waits for the queue, which this thread locks. */
    calls_push (&timed_calls);
    pthread_join (s->answerer, NULL);
    STACK_WIND (&root->frames[0], behind_done, &s->leaf, stat, &(loc_t){ 0 }, NULL);
    ck_assert_int_eq (timeline_start (s->all, s->itable, &usual), 0);
    behind = 2;
    STACK_WIND (&late->frames[0], behind_done, &s->leaf, stat, &(loc_t){ 0 }, NULL);
    held = calls_pop ();
    STACK_UNWIND (stat, held, 0, 0, NULL, NULL);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_uint_eq (counts.seen, 1);
    ck_assert_uint_eq (counts.at_end, 1);
    g_autofree char *text = timed_print (TIMELINE_TEXT);
    HAS (text, "leaf: stat: not answered when the recording ended");

    /* Its answer arrives while the next timeline records, and does not belong to that timeline. */
    ck_assert_int_eq (timeline_start (s->all, s->itable, &usual), 0);
    held = calls_pop ();
    STACK_UNWIND (stat, held, 0, 0, NULL, NULL);
    ck_assert_int_eq (timeline_stop (-1, &counts), 0);
    ck_assert_uint_eq (counts.seen, 0);
    pthread_create (&s->answerer, NULL, answer_run, NULL);
    timed_stack_free (s);
}
END_TEST

/* --- starts and stops under load ------------------------------------------------------------- */

static bool load_ends; /* atomic */

static void *
load_run (void *data)
{
    struct client *client = client_new (data);
    loc_t loc = { 0 };
    uintptr_t n = 0;

    for (; !__atomic_load_n (&load_ends, __ATOMIC_ACQUIRE); n++)
        ck_assert_int_eq (sync_stat (client, &loc, NULL, NULL), -ENOSPC);
    client_free (client);
    return (void *) n;
}

START_TEST (thousand_starts_under_load)
{
    struct stack *s = timed_stack_of (&timed_both_api);
    const int times = getenv ("RUN") ? 50 : 1000;     pthread_t loads[3];
    uint64_t seen = 0, broken = 0, lost = 0;

    load_ends = false;
    for (int i = 0; i < 3; i++)
        pthread_create (&loads[i], NULL, load_run, &s->upper);
    for (int i = 0; i < times; i++) {
        struct timeline_counts counts;

        ck_assert_int_eq (timeline_start (s->all, s->itable, &usual), 0);
        g_usleep (i % 10 * 50);
        ck_assert_int_eq (timeline_stop (-1, &counts), 0);
        seen += counts.seen;
        broken += counts.broken;
        lost += counts.lost;
    }
    __atomic_store_n (&load_ends, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++)
        pthread_join (loads[i], NULL);
    ck_assert_uint_gt (seen, 0);
    if (!lost)
        ck_assert_uint_eq (broken, 0);
    ck_assert_uint_eq (stack_misuses (), 0);
    timed_stack_free (s);
}
END_TEST

/* --- made-up records ------------------------------------------------------------------------- */

static GPtrArray *wholes;

static void
note_whole (struct timeline_request *request, void *data)
{
    g_ptr_array_add (wholes, request);
}

static GRefString *
no_path (const gfid_t *gfid, void *data)
{
    return g_ref_string_new ("/x");
}

static call_frame_t frames[4];
static const char *const volumes[4] = { "fuse", "a", "b", "c" };

static struct ring_record
timed_wind (unsigned depth, uint64_t ticks)
{
    return (struct ring_record){ .ticks = ticks,
                                 .request = 7,
                                 .kind = RING_WIND,
                                 .op = FOP_stat,
                                 .top = depth == 1,
                                 .thread = depth,
                                 .wind = { &frames[depth], &frames[depth - 1], volumes[depth - 1],
                                           volumes[depth], 0 } };
}

static struct ring_record
timed_unwind (unsigned depth, uint64_t begin, uint64_t ticks)
{
    return (struct ring_record){ .ticks = ticks,
                                 .request = 7,
                                 .kind = RING_UNWIND,
                                 .op = FOP_stat,
                                 .thread = 9,
                                 .unwind = { &frames[depth], volumes[depth], begin, 5, 0 } };
}

/* The request is the same in whichever order the records of the threads are concatenated. */
START_TEST (records_in_any_order_are_one_request)
{
    const struct ring_record records[] = { timed_wind (1, 10),       timed_wind (2, 20),
                                           timed_wind (3, 30),       timed_unwind (3, 30, 40),
                                           timed_unwind (2, 20, 50), timed_unwind (1, 10, 60) };
    struct assembler *assembler = assembler_new (5, g_hash_table_new (g_int64_hash, g_int64_equal),
                                                 note_whole, no_path, NULL);
    GRand *rand = g_rand_new_with_seed (_i);
    guint order[6];

    wholes = g_ptr_array_new_with_free_func ((GDestroyNotify) timeline_request_free);
    for (guint i = 0; i < 6; i++) {
        guint k = g_rand_int_range (rand, 0, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (guint i = 0; i < 6; i++)
        assembler_take (assembler, &records[order[i]]);
    assembler_round (assembler);
    assembler_round (assembler);
    ck_assert_uint_eq (wholes->len, 1);
    const struct timeline_request *request = wholes->pdata[0];
    ck_assert_uint_eq (request->n_spans, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq (request->spans[i].begin, 10 * (i + 1));
        ck_assert_uint_eq (request->spans[i].end, 60 - 10 * i);
        ck_assert_uint_eq (request->spans[i].parent, i ? i - 1 : SPAN_NONE);
        ck_assert_int_eq (request->spans[i].state, SPAN_ANSWERED);
    }
    g_rand_free (rand);
    assembler_free (assembler);
    g_ptr_array_unref (wholes);
}
END_TEST

/* A call to a server is below the span of its frame; a call for an unknown frame is dropped. */
START_TEST (call_to_a_server_is_below_its_frame)
{
    struct ring_record call = { .ticks = 25,
                                .request = 7,
                                .kind = RING_CALL,
                                .error = 5,
                                .call = { &frames[2], volumes[2], "server:/b", "WRITE", 15 } };
    struct assembler *assembler = assembler_new (5, g_hash_table_new (g_int64_hash, g_int64_equal),
                                                 note_whole, no_path, NULL);
    const struct ring_record records[] = { timed_wind (1, 8), timed_wind (2, 10),
                                           timed_unwind (2, 10, 30),
                                           timed_unwind (1, 8, 40) };
    const struct timeline_request *request;

    wholes = g_ptr_array_new_with_free_func ((GDestroyNotify) timeline_request_free);
    assembler_take (assembler, &call);
    call.call.frame = &frames[3];
    assembler_take (assembler, &call);
    for (guint i = 0; i < G_N_ELEMENTS (records); i++)
        assembler_take (assembler, &records[i]);
    assembler_round (assembler);
    assembler_round (assembler);
    ck_assert_uint_eq (wholes->len, 1);
    request = wholes->pdata[0];
    ck_assert_uint_eq (request->n_spans, 3);
    ck_assert_str_eq (request->spans[2].call, "WRITE");
    ck_assert_uint_eq (request->spans[2].parent, 1);
    ck_assert_uint_eq (request->spans[2].begin, 15);
    ck_assert_uint_eq (request->spans[2].end, 25);
    ck_assert_int_eq (request->spans[2].op_errno, 5);
    ck_assert (!request->broken);
    assembler_free (assembler);
    g_ptr_array_unref (wholes);
}
END_TEST

/* If any record is lost, the request is still delivered in the end, and is consistent. */
START_TEST (lost_records_leave_a_balanced_request)
{
    const struct ring_record records[] = { timed_wind (1, 10),       timed_wind (2, 20),
                                           timed_wind (3, 30),       timed_unwind (3, 30, 40),
                                           timed_unwind (2, 20, 50), timed_unwind (1, 10, 60) };
    struct assembler *assembler = assembler_new (5, g_hash_table_new (g_int64_hash, g_int64_equal),
                                                 note_whole, no_path, NULL);
    struct running_now now = { 100, g_hash_table_new (g_int64_hash, g_int64_equal) };

    wholes = g_ptr_array_new_with_free_func ((GDestroyNotify) timeline_request_free);
    for (int i = 0; i < 6; i++)
        if (i != _i)
            assembler_take (assembler, &records[i]);
    assembler_round (assembler);
    assembler_round (assembler);
    ck_assert_uint_eq (wholes->len, 0);
    assembler_sweep (assembler, &now);
    ck_assert_uint_eq (wholes->len, 1);
    const struct timeline_request *request = wholes->pdata[0];
    ck_assert (request->broken);
    for (unsigned i = 0; i < request->n_spans; i++) {
        const struct span *span = &request->spans[i];

        ck_assert_uint_le (span->begin, span->end);
        ck_assert (span->parent == SPAN_NONE || span->end <= request->spans[span->parent].end);
    }
    g_hash_table_unref (now.uniques);
    assembler_free (assembler);
    g_ptr_array_unref (wholes);
}
END_TEST

TEST_PROGRAM (test_timeline)
{
    Suite *suite = suite_create ("timeline");
    TCase *real = tcase_create ("real"), *made = tcase_create ("made");

    tcase_set_timeout (real, 240);
    tcase_add_test (real, answer_on_another_thread_is_told);
    tcase_add_test (real, background_work_is_under_its_cause);
    tcase_add_test (real, slowest_are_kept_and_filters_leave_out);
    tcase_add_test (real, requests_under_way_are_said);
    tcase_add_test (real, thousand_starts_under_load);
    suite_add_tcase (suite, real);
    tcase_add_loop_test (made, records_in_any_order_are_one_request, 0, 30);
    tcase_add_test (made, call_to_a_server_is_below_its_frame);
    tcase_add_loop_test (made, lost_records_leave_a_balanced_request, 0, 6);
    suite_add_tcase (suite, made);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* A translator with several children asks them in steps, and each step sees all answers of the one
 * before, whether they come at once or from other threads. */
#include "core/edge/fan-out.h"
#include "core/edge/stack.h"
#include "mock.h"

#include "../program.h"
#include <errno.h>

#define CHILDREN 3

/* --- a child: answers with its number, at once or from a thread of its own ------------------- */

struct fan_out_late {
    call_frame_t *frame;
    uint64_t number;
};

static bool from_threads;
static pthread_t fan_out_threads[CHILDREN];

static void
child_answer (call_frame_t *frame, uint64_t number)
{
    g_autoptr (dict_t) xdata = dict_new ();
    struct iatt buf = { .ia_size = number, .ia_type = IA_IFREG };

    dict_set_u64 (xdata, "number", number);
    if (number == 1)
        frame_fail_with (frame, ENOTCONN, xdata);
    else
        STACK_UNWIND (stat, frame, 0, 0, &buf, xdata);
}

static void *
child_answers_late (void *data)
{
    g_autofree struct fan_out_late *late = data;

    child_answer (late->frame, late->number);
    return NULL;
}

static void
child_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    const uint64_t number = (uint64_t) (this->name[0] - '0');
    struct fan_out_late *late;

    if (!from_threads) {
        child_answer (frame, number);
        return;
    }
    late = g_new (struct fan_out_late, 1);
    *late = (struct fan_out_late){ frame, number };
    pthread_create (&fan_out_threads[number], NULL, child_answers_late, late);
}

static void
child_access (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t mask, dict_t *xdata)
{
    STACK_UNWIND (access, frame, 0, 0, NULL);
}

static const struct xlator_api child_api = {
    .type = "test/child", .fops = { .stat = child_stat, .access = child_access }
};

/* --- the translator: asks all, then the children that succeeded once more -------------------- */

struct steps_local {
    struct fan_out fan;
    uint64_t sum;
};

static void
steps_done (call_frame_t *frame)
{
    struct steps_local *local = frame->local;
    struct iatt buf = { .ia_type = IA_IFREG, .ia_size = local->sum };

    buf.ia_nlink = fan_successes (&local->fan);
    STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
}

static void
steps_all_answered (call_frame_t *frame)
{
    struct steps_local *local = frame->local;
    struct fan_answer *answers = local->fan.answers;
    bool up[CHILDREN];
    uint64_t number;
    loc_t loc = { 0 };

    for (unsigned i = 0; i < CHILDREN; i++) {
        up[i] = answers[i].op_ret >= 0;
        ck_assert (dict_get_u64 (answers[i].stat.xdata, "number", &number) && number == i);
        local->sum += up[i] ? answers[i].stat.buf.ia_size : 100;
    }
    ck_assert_int_eq (answers[1].op_errno, ENOTCONN);
    ck_assert_ptr_eq (fan_success (&local->fan), &answers[0]);
    fan_begin (&local->fan, steps_done);
    for (xlator_list_t *c = frame->this->children; c; c = c->next) {
        const unsigned i = (unsigned) (c->xlator->name[0] - '0');
        if (up[i])
            FAN_WIND (&local->fan, i, c->xlator, access, &loc, 0, NULL);
    }
    fan_end (&local->fan);
}

static void
steps_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct steps_local *local = frame_local_new (frame, sizeof *local);
    unsigned i = 0;

    fan_init (&local->fan, frame, CHILDREN);
    fan_begin (&local->fan, steps_all_answered);
    for (xlator_list_t *c = this->children; c; c = c->next)
        FAN_WIND (&local->fan, i++, c->xlator, stat, loc, xdata);
    fan_end (&local->fan);
}

static void
steps_drop (xlator_t *this, void *local)
{
    fan_clear (&((struct steps_local *) local)->fan);
}

static const struct xlator_api steps_api = { .type = "test/steps",
                                             .local_drop = steps_drop,
                                             .fops = { .stat = steps_stat } };

/* The children, the first one at the front. */
static void
family_new (xlator_t *steps, xlator_t *children)
{
    static const char *const names[CHILDREN] = { "0", "1", "2" };

    mock_xlator (steps, "steps", &steps_api, NULL);
    for (int i = CHILDREN - 1; i >= 0; i--) {
        xlator_list_t *link = g_new0 (xlator_list_t, 1);
        link->xlator = mock_xlator (&children[i], names[i], &child_api, NULL);
        link->next = steps->children;
        steps->children = link;
    }
    xlator_route (steps);
}

START_TEST (each_step_sees_all_answers_of_the_one_before)
{
    xlator_t steps, children[CHILDREN];
    struct client *client;
    struct stat_reply reply;
    loc_t loc = { 0 };

    from_threads = _i;
    family_new (&steps, children);
    client = client_new (&steps);
    ck_assert_int_eq (sync_stat (client, &loc, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_size, 0 + 100 + 2);
    ck_assert_uint_eq (reply.buf.ia_nlink, 2);
    stat_reply_drop (&reply);
    for (int i = 0; i < CHILDREN && from_threads; i++)
        pthread_join (fan_out_threads[i], NULL);
    ck_assert_uint_eq (stack_misuses (), 0);
    ck_assert_uint_eq (stack_count (), 0);
    client_free (client);
    mock_free (&steps);
}
END_TEST

TEST_PROGRAM (test_fan_out)
{
    Suite *suite = suite_create ("fan-out");
    TCase *tcase = tcase_create ("fan-out");

    tcase_add_loop_test (tcase, each_step_sees_all_answers_of_the_one_before, 0, 2);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

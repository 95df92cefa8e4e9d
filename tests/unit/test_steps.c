/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* Tables of steps: the order of steps and of their undo, what a judge may return, interrupts, and
 * the end of a sequence. */
#include "steps_world.h"

static int
judge_refuses (void *local)
{
    return -EPERM;
}

static int
steps_judge_again (void *local)
{
    return STEP_AGAIN (EBUSY);
}

static int
judge_end (void *local)
{
    return STEP_END;
}

static int
judge_repeat (void *local)
{
    struct steps_operation *op = local;

    ck_assert_int_eq (op->seq.fan.answers[0].op, FOP_access);
    return ++op->counted < 100000 ? STEP_REPEAT : 0;
}

static void
pass_silently (void *local)
{
    loc_t loc = { 0 };

    WIND ((struct steps_operation *) local, 0, access, &loc, 0, NULL);
}

static bool
never (void *local)
{
    return false;
}

static void
check_run (const struct step *steps, int r, const char *expected)
{
    struct steps_world world;

    steps_world_new (&world, steps);
    steps_world_stat (&world);
    ck_assert_int_eq (world.r, r);
    ck_assert_str_eq (record->str, expected);
    steps_world_free (&world);
}

START_TEST (steps_run_in_the_order_of_the_table)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL), STEP ("none", pass, NULL, .when = never),
        STEP ("two", NULL, NULL), STEP ("three", pass, NULL, .undo = undo), {},
    };
    check_run (steps, 0, "one three");
}
END_TEST

START_TEST (an_error_undoes_what_was_run_in_reverse)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL, .undo = undo),
        STEP ("none", pass, NULL, .undo = undo, .when = never),
        STEP ("two", steps_change, NULL, .undo = undo),
        STEP ("three", pass, NULL),
        STEP ("four", run_fails, NULL, .undo = undo),
        STEP ("five", pass, NULL, .undo = undo),
        {},
    };
    check_run (steps, -ENOTEMPTY, "one two three four -four -two -one");
}
END_TEST

START_TEST (a_step_may_fail_without_a_wind)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL, .undo = undo), STEP ("two", NULL, judge_refuses), {},
    };
    check_run (steps, -EPERM, "one -one");
}
END_TEST

START_TEST (answers_may_be_ignored)
{
    static const struct step steps[] = { STEP ("one", run_fails, step_ignore), {} };

    check_run (steps, 0, "one");
}
END_TEST

START_TEST (again_goes_back_a_bounded_number_of_times)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL, .undo = undo), STEP ("two", pass, NULL, .undo = undo),
        STEP ("three", pass, steps_judge_again, .again = "two"), {},
    };
    check_run (steps, -EBUSY,
               "one two three -two two three -two two three -two two three -two two three -two "
               "two three -two -one");
}
END_TEST

START_TEST (always_is_undone_after_a_success)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL, .undo = undo, .always = true),
        STEP ("two", pass, NULL, .undo = undo),
        STEP ("three", pass, NULL, .undo = undo, .always = true), {},
    };
    check_run (steps, 0, "one two three -three -one");
}
END_TEST

START_TEST (a_judge_may_end_the_sequence)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL, .undo = undo, .always = true), STEP ("two", pass, judge_end),
        STEP ("three", pass, NULL), {},
    };
    check_run (steps, 0, "one two -one");
}
END_TEST

/* 100000 nested calls would not fit on the stack. */
START_TEST (a_step_may_be_repeated)
{
    static const struct step steps[] = { STEP ("one", pass_silently, judge_repeat), {} };

    check_run (steps, 0, "");
}
END_TEST

/* --- answers ---------------------------------------------------------------------------------- */

START_TEST (every_answer_is_awaited)
{
    static const struct step steps[] = {
        STEP ("one", wait_two, NULL, .undo = undo), STEP ("two", pass, NULL), {},
    };
    struct steps_world world;
    pthread_t thread;

    steps_world_new (&world, steps);
    pthread_create (&thread, NULL, steps_world_stat, &world);
    kept_await (2);
    kept_answer (0, EIO);
    ck_assert_str_eq (record->str, "one");
    kept_answer (1, 0);
    pthread_join (thread, NULL);
    ck_assert_int_eq (world.r, -EIO);
    ck_assert_str_eq (record->str, "one -one");
    steps_world_free (&world);
}
END_TEST

/* The request ends inside the unwind, and its local is poisoned. */
START_TEST (nothing_uses_the_operation_after_its_unwind)
{
    static const struct step steps[] = {
        STEP ("one", wait_lock, NULL, .undo = undo, .always = true), {},
    };
    struct steps_world world;
    pthread_t thread;

    steps_world_new (&world, steps);
    pthread_create (&thread, NULL, steps_world_stat, &world);
    kept_await (1);
    kept_answer (0, _i ? EIO : 0);
    pthread_join (thread, NULL);
    ck_assert_int_eq (world.r, _i ? -EIO : 0);
    for (size_t i = 0; i < dropped_size; i++)
        ck_assert_uint_eq (((const uint8_t *) dropped)[i], POISON);
    steps_world_free (&world);
}
END_TEST

/* --- interrupts ------------------------------------------------------------------------------- */

/* Runs the table, and interrupts the caller while the first call is kept. */
static void
interrupt_first (struct steps_world *world, pthread_t *ret_thread)
{
    const call_frame_t *own;

    pthread_create (ret_thread, NULL, steps_world_stat, world);
    kept_await (1);
    own = steps_kept.calls[0].frame->parent;
    stack_interrupt (((const struct steps_operation *) own->local)->seq.frame->root);
}

/* The call hears of it when the wind has returned to the runner. */
static void
interrupt_await (void)
{
    while (!__atomic_load_n (&steps_kept.calls[0].interrupted, __ATOMIC_ACQUIRE))
        sched_yield ();
}

START_TEST (an_interruptible_step_hears_of_an_interrupt)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL, .undo = undo),
        STEP ("two", wait_lock, NULL, .interruptible = true), {},
    };
    struct steps_world world;
    pthread_t thread;

    steps_world_new (&world, steps);
    world.client->pid = 0; /* unknown: it may be dying */
    interrupt_first (&world, &thread);
    interrupt_await ();
    kept_answer (0, EINTR);
    pthread_join (thread, NULL);
    ck_assert_int_eq (world.r, -EINTR);
    ck_assert_str_eq (record->str, "one two -one");
    steps_world_free (&world);
}
END_TEST

/* The next step's lock is waited for. */
START_TEST (an_interrupt_that_came_too_late_is_forgotten)
{
    static const struct step steps[] = {
        STEP ("one", wait_lock, NULL, .interruptible = true), STEP ("two", wait_lock, NULL), {},
    };
    struct steps_world world;
    pthread_t thread;

    steps_world_new (&world, steps);
    interrupt_first (&world, &thread);
    interrupt_await ();
    kept_answer (0, 0);
    kept_await (2);
    kept_answer (1, 0);
    pthread_join (thread, NULL);
    ck_assert (!steps_kept.calls[1].interrupted);
    ck_assert_int_eq (world.r, 0);
    steps_world_free (&world);
}
END_TEST

/* This process has no signal pending. */
START_TEST (a_harmless_signal_ends_no_sequence)
{
    static const struct step steps[] = {
        STEP ("one", wait_lock, NULL, .interruptible = true), {},
    };
    struct steps_world world;
    pthread_t thread;

    steps_world_new (&world, steps);
    world.client->pid = getpid ();
    interrupt_first (&world, &thread);
    interrupt_await ();
    kept_answer (0, EINTR);
    kept_await (2);
    kept_answer (1, 0);
    pthread_join (thread, NULL);
    ck_assert (!steps_kept.calls[1].interrupted);
    ck_assert_int_eq (world.r, 0);
    ck_assert_str_eq (record->str, "one one");
    steps_world_free (&world);
}
END_TEST

START_TEST (other_steps_hear_of_no_interrupt)
{
    static const struct step plain[] = { STEP ("one", wait_lock, NULL), {} };
    static const struct step changed[] = {
        STEP ("one", steps_change, NULL), STEP ("two", wait_lock, NULL, .interruptible = true), {},
    };
    struct steps_world world;
    pthread_t thread;

    steps_world_new (&world, _i ? changed : plain);
    interrupt_first (&world, &thread);
    kept_answer (0, 0);
    pthread_join (thread, NULL);
    ck_assert (!steps_kept.calls[0].interrupted);
    ck_assert_int_eq (world.r, 0);
    steps_world_free (&world);
}
END_TEST

/* --- reports ---------------------------------------------------------------------------------- */

START_TEST (reports_name_the_step)
{
    static const struct step steps[] = {
        STEP ("one", pass, NULL), STEP ("two", wait_lock, NULL), {},
    };
    g_autoptr (GString) text = g_string_new (NULL);
    struct steps_world world;
    pthread_t thread;
    call_frame_t *own;
    struct step_seen seen;
    struct itable *table_of_inodes = itable_new (0, 0, NULL, NULL);

    steps_world_new (&world, steps);
    world.inode = itable_root (table_of_inodes);
    pthread_create (&thread, NULL, steps_world_stat, &world);
    kept_await (1);
    own = steps_kept.calls[0].frame->parent;
    seen = step_of_frame (own, false);
    ck_assert_str_eq (seen.name, "two");
    seen = step_of_frame (((struct steps_operation *) own->local)->seq.frame, true);
    step_append (text, &seen);
    ck_assert_str_eq (text->str, "step two");
    steps_explain (&world.child, world.inode, text);
    ck_assert_str_eq (text->str, "step two");
    steps_explain (&world.runner, world.inode, text);
    ck_assert_str_eq (text->str, "step tworuns stat: step two\n");
    kept_answer (0, 0);
    pthread_join (thread, NULL);
    ck_assert_ptr_null (step_of_frame (own, true).name);
    steps_world_free (&world);
    itable_destroy (table_of_inodes);
}
END_TEST

/* --- the end of the graph --------------------------------------------------------------------- */

struct ending {
    xlator_t *runner;
    pid_t thread; /* atomic */
};

static void *
ending_run (void *data)
{
    struct ending *ending = data;

    __atomic_store_n (&ending->thread, gettid (), __ATOMIC_RELEASE);
    xlator_notify (ending->runner, XLATOR_PARENT_DOWN, NULL);
    return NULL;
}

static bool
thread_sleeps (pid_t thread)
{
    g_autofree char *path = g_strdup_printf ("/proc/self/task/%d/stat", thread), *text = NULL;
    const char *state = thread > 0 && g_file_get_contents (path, &text, NULL, NULL)
                          ? strrchr (text, ')')
                          : NULL;

    return state && state[1] == ' ' && state[2] == 'S';
}

START_TEST (parent_down_waits_for_running_sequences)
{
    static const struct step steps[] = { STEP ("one", wait_lock, NULL), {} };
    struct steps_world world;
    struct ending ending = { .runner = &world.runner };
    pthread_t thread, ender;

    steps_world_new (&world, steps);
    pthread_create (&thread, NULL, steps_world_stat, &world);
    kept_await (1);
    pthread_create (&ender, NULL, ending_run, &ending);
    while (!thread_sleeps (__atomic_load_n (&ending.thread, __ATOMIC_ACQUIRE)))
        ck_assert (!__atomic_load_n (&down_came, __ATOMIC_ACQUIRE));
    ck_assert (!__atomic_load_n (&down_came, __ATOMIC_ACQUIRE));
    kept_answer (0, 0);
    pthread_join (thread, NULL);
    pthread_join (ender, NULL);
    ck_assert (down_came);
    steps_world_free (&world);
}
END_TEST

TEST_PROGRAM (test_steps)
{
    Suite *suite = suite_create ("steps");
    TCase *tcase = tcase_create ("steps");

    tcase_add_test (tcase, steps_run_in_the_order_of_the_table);
    tcase_add_test (tcase, an_error_undoes_what_was_run_in_reverse);
    tcase_add_test (tcase, a_step_may_fail_without_a_wind);
    tcase_add_test (tcase, answers_may_be_ignored);
    tcase_add_test (tcase, again_goes_back_a_bounded_number_of_times);
    tcase_add_test (tcase, always_is_undone_after_a_success);
    tcase_add_test (tcase, a_judge_may_end_the_sequence);
    tcase_add_test (tcase, a_step_may_be_repeated);
    tcase_add_test (tcase, every_answer_is_awaited);
    tcase_add_loop_test (tcase, nothing_uses_the_operation_after_its_unwind, 0, 2);
    tcase_add_test (tcase, an_interruptible_step_hears_of_an_interrupt);
    tcase_add_test (tcase, an_interrupt_that_came_too_late_is_forgotten);
    tcase_add_test (tcase, a_harmless_signal_ends_no_sequence);
    tcase_add_loop_test (tcase, other_steps_hear_of_no_interrupt, 0, 2);
    tcase_add_test (tcase, reports_name_the_step);
    tcase_add_test (tcase, parent_down_waits_for_running_sequences);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

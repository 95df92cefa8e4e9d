/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* performance/io-threads: who waits for whom, and who doesn't wait any more: processes, interrupts, locks. */
#include "flow.h"

#include <sys/wait.h>

/* --- processes ------------------------------------------------------------------------------------ */

/* A process that is there until it is told to go; and the threads of this one. */
struct group {
    int go[2];
    pid_t pid;
};

static struct group
process_begin (void)
{
    struct group group;
    char end;

    ck_assert_int_eq (pipe (group.go), 0);
    group.pid = fork ();
    if (group.pid == 0) {
        close (group.go[1]);
        while (read (group.go[0], &end, 1) < 0)
            continue;
        _exit (0);
    }
    ck_assert_int_gt (group.pid, 0);
    close (group.go[0]);
    return group;
}

static void
process_end (struct group *group)
{
    close (group->go[1]);
    ck_assert_int_eq (waitpid (group->pid, NULL, 0), group->pid);
}

#define THREADS 8

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pid_t numbers[THREADS]; /* lock */
    unsigned n;             /* lock */
    bool over;              /* lock */
} own = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *
be_there (void *unused)
{
    pthread_mutex_lock (&own.lock);
    own.numbers[own.n++] = thread_id;
    pthread_cond_broadcast (&own.changed);
    while (!own.over)
        pthread_cond_wait (&own.changed, &own.lock);
    pthread_mutex_unlock (&own.lock);
    return NULL;
}

/* Turns are the process's: eight threads with four calls each are one that waits, not eight. */
START_TEST (threads_of_one_process_share_its_turns)
{
    struct flow *flow = flow_begin (HELD IOT (HANDED_OVER "option thread-count 1\n"));
    struct group other = process_begin ();
    struct asked first, mine[THREADS * 4], one;
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq (thread_new (&threads[i], "there", be_there, NULL), 0);
    pthread_mutex_lock (&own.lock);
    while (own.n < THREADS)
        pthread_cond_wait (&own.changed, &own.lock);
    pthread_mutex_unlock (&own.lock);
    ask_read (flow, &first, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS (mine); i++)
        ask_read (flow, &mine[i], own.numbers[i % THREADS]);
    ask_read (flow, &one, other.pid);
    let_go (flow);
    flow_wait (flow, 0);
    ck_assert_uint_le (one.turn, 5); /* one under way, the first in the queue's own number, and a turn of ours */
    pthread_mutex_lock (&own.lock);
    own.over = true;
    pthread_cond_broadcast (&own.changed);
    pthread_mutex_unlock (&own.lock);
    for (unsigned i = 0; i < THREADS; i++)
        thread_join (threads[i]);
    process_end (&other);
    flow_end (flow);
}
END_TEST

/* cleanup-disconnected-reqs. What changes something, and what others asked, is done. */
START_TEST (what_a_process_asked_that_is_gone_is_not_done)
{
    struct flow *flow = flow_begin (HELD IOT (HANDED_OVER "option thread-count 1\noption cleanup-disconnected-reqs on\n"));
    struct group gone = process_begin ();
    struct asked first, read, flush, stat, last;

    ask_read (flow, &first, getpid ());
    wait_for (flow, "current_low_priority_threads", 1);
    ask_read (flow, &read, gone.pid);
    ask_flush (flow, &flush, gone.pid);
    ask_stat (flow, &stat, gone.pid);
    ask_read (flow, &last, getpid ());
    process_end (&gone);
    let_go (flow); /* the first read ends */
    flow_wait (flow, 0);
    ck_assert_int_eq (first.r, 4);
    ck_assert_int_eq (read.r, -ENOTCONN);
    ck_assert_int_eq (stat.r, -ENOTCONN);
    ck_assert_int_eq (flush.r, 0);
    ck_assert_int_eq (last.r, 4);
    ck_assert_int_eq (went_down (flow), 2);
    ck_assert_int_eq (number (flow, "forsaken"), 2);
    flow_end (flow);
}
END_TEST

START_TEST (without_being_told_to_it_is_done_all_the_same)
{
    struct flow *flow = flow_begin (HELD IOT (HANDED_OVER "option thread-count 1\n"));
    struct group gone = process_begin ();
    struct asked first, read;

    ask_read (flow, &first, getpid ());
    wait_for (flow, "current_low_priority_threads", 1);
    ask_read (flow, &read, gone.pid);
    process_end (&gone);
    let_go (flow); /* the first read ends */
    flow_wait (flow, 0);
    ck_assert_int_eq (read.r, 4);
    ck_assert_int_eq (number (flow, "forsaken"), 0);
    flow_end (flow);
}
END_TEST

/* --- interrupts ------------------------------------------------------------------------------------ */

START_TEST (who_is_interrupted_in_a_queue_is_answered_at_once_and_nothing_is_done)
{
    struct flow *flow = flow_begin (HELD IOT (HANDED_OVER "option thread-count 1\n"));
    struct asked asked[3];

    for (unsigned i = 0; i < 3; i++)
        ask_read (flow, &asked[i], 0);
    wait_for (flow, "low_priority_queue_length", 2);
    stack_interrupt (asked[1].root);
    flow_wait (flow, 2);
    ck_assert_uint_eq (asked[1].turn, 1);
    ck_assert_int_eq (asked[1].r, -EINTR);
    let_go (flow);
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
    struct flow *flow = flow_begin (HELD IOT (HANDED_OVER "option thread-count 1\n"));
    struct asked read, flush;

    ask_read (flow, &read, 0);
    wait_for (flow, "current_low_priority_threads", 1);
    ask_flush (flow, &flush, 0);
    stack_interrupt (flush.root);
    let_go (flow);
    flow_wait (flow, 0);
    ck_assert_int_eq (flush.r, 0);
    ck_assert_int_eq (number (flow, "cancelled"), 0);
    flow_end (flow);
}
END_TEST

/* No signal waits for this process: it may have been a debugger. */
START_TEST (who_has_no_signal_waiting_is_not_answered_eintr)
{
    struct flow *flow = flow_begin (HELD IOT (HANDED_OVER "option thread-count 1\n"));
    struct asked asked[2];

    for (unsigned i = 0; i < 2; i++)
        ask_read (flow, &asked[i], getpid ());
    stack_interrupt (asked[1].root);
    let_go (flow);
    flow_wait (flow, 0);
    ck_assert_int_eq (asked[1].r, 4);
    flow_end (flow);
}
END_TEST

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

#define LOCKERS_MAX 1024 /* io-threads.h */

/* A thread for each that waits: for more there are none, and whoever is too many is told so at once. */
START_TEST (one_waiter_too_many_is_refused)
{
    struct flow *flow = flow_begin (LOCKS IOT (HANDED_OVER));
    struct asked holder, *waiters = g_new0 (struct asked, LOCKERS_MAX), more;

    ask_lk (flow, &holder, F_SETLK, F_WRLCK);
    flow_wait (flow, 0);
    for (unsigned i = 0; i < LOCKERS_MAX; i++)
        ask_lk (flow, &waiters[i], F_SETLKW, F_WRLCK);
    ask_lk (flow, &more, F_SETLKW, F_WRLCK);
    flow_wait (flow, LOCKERS_MAX);
    ck_assert_int_eq (more.r, -ENOLCK);
    fd_unref (g_steal_pointer (&flow->fd));
    graph_deactivate (flow->w.graph); /* which tells those who wait */
    for (unsigned i = 0; i < LOCKERS_MAX; i++)
        ck_assert_int_eq (waiters[i].r, -EINTR);
    g_free (waiters);
    flow_end (flow);
}
END_TEST

TEST_PROGRAM (test_io_threads_waits)
{
    Suite *suite = suite_create ("io-threads-waits");
    TCase *tcase = tcase_create ("io-threads-waits");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, threads_of_one_process_share_its_turns);
    tcase_add_test (tcase, what_a_process_asked_that_is_gone_is_not_done);
    tcase_add_test (tcase, without_being_told_to_it_is_done_all_the_same);
    tcase_add_test (tcase, who_is_interrupted_in_a_queue_is_answered_at_once_and_nothing_is_done);
    tcase_add_test (tcase, a_flush_is_done_whoever_lost_patience);
    tcase_add_test (tcase, who_has_no_signal_waiting_is_not_answered_eintr);
    tcase_add_test (tcase, interrupts_race_with_threads_and_each_is_answered_once);
    tcase_add_test (tcase, an_unlock_never_waits_behind_those_who_wait_for_it);
    tcase_add_test (tcase, one_waiter_too_many_is_refused);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

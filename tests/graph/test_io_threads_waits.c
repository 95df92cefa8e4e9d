/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* performance/io-threads: waits of processes, flushes and locks. */
#include "flow.h"

#include <sys/wait.h>

/* --- processes -------------------------------------------------------------------------------- */

/* A process that runs until told to end, and the threads of this process. */
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
} waits_own = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *
be_there (void *unused)
{
    pthread_mutex_lock (&waits_own.lock);
    waits_own.numbers[waits_own.n++] = thread_id;
    pthread_cond_broadcast (&waits_own.changed);
    while (!waits_own.over)
        pthread_cond_wait (&waits_own.changed, &waits_own.lock);
    pthread_mutex_unlock (&waits_own.lock);
    return NULL;
}

/* Turns belong to the process: eight threads with four calls each count as one waiting process, not
 * as eight. */
START_TEST (threads_of_one_process_share_its_turns)
{
    struct flow *flow = flow_begin (HELD IOT ("option thread-count 1\n"));
    struct group other = process_begin ();
    struct flow_asked first, mine[THREADS * 4], one;
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq (thread_new (&threads[i], "there", be_there, NULL), 0);
    pthread_mutex_lock (&waits_own.lock);
    while (waits_own.n < THREADS)
        pthread_cond_wait (&waits_own.changed, &waits_own.lock);
    pthread_mutex_unlock (&waits_own.lock);
    ask_read (flow, &first, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS (mine); i++)
        ask_read (flow, &mine[i], waits_own.numbers[i % THREADS]);
    ask_read (flow, &one, other.pid);
    let_go (flow);
    flow_wait (flow, 0);
    ck_assert_uint_le (one.turn, 5); /* one under way, the first in the queue's own number, and a
                                        turn of ours */
    pthread_mutex_lock (&waits_own.lock);
    waits_own.over = true;
    pthread_cond_broadcast (&waits_own.changed);
    pthread_mutex_unlock (&waits_own.lock);
    for (unsigned i = 0; i < THREADS; i++)
        thread_join (threads[i]);
    process_end (&other);
    flow_end (flow);
}
END_TEST

/* As when the process is killed and its files are closed: its locks must be released. */
START_TEST (a_flush_is_done_whoever_lost_patience)
{
    struct flow *flow = flow_begin (HELD IOT ("option thread-count 1\n"));
    struct flow_asked read, flush;

    ask_read (flow, &read, 0);
    flow_wait_for (flow, "current_low_priority_threads", 1);
    flow_ask_flush (flow, &flush, 0);
    ck_assert (!limit_cancel (flush.unique));
    let_go (flow);
    flow_wait (flow, 0);
    ck_assert_int_eq (flush.r, 0);
    ck_assert_int_eq (flow_number (flow, "normal_priority_cancelled"), 0);
    flow_end (flow);
}
END_TEST

/* --- locks ------------------------------------------------------------------------------------ */

#define LOCKS "end-volume\nvolume slow\ntype test/blocks\nsubvolumes posix\n"

static void *
wait_for_lock (void *data)
{
    struct flow_asked *waiter = data;

    ask_lk (waiter->flow, waiter, F_SETLKW, F_WRLCK);
    return NULL;
}

START_TEST (an_unlock_never_waits_behind_those_who_wait_for_it)
{
    struct flow *flow = flow_begin (
        LOCKS IOT ("option thread-count 2\noption normal-prio-threads 1\n"));
    struct flow_asked holder, waiters[20], unlock;
    pthread_t threads[20];

    ask_lk (flow, &holder, F_SETLK, F_WRLCK);
    flow_wait (flow, 0);
    ck_assert_int_eq (holder.r, 0);
    for (unsigned i = 0; i < 20; i++) {
        waiters[i].flow = flow;
        ck_assert_int_eq (thread_new (&threads[i], "waiter", wait_for_lock, &waiters[i]), 0);
    }
    pthread_mutex_lock (&flow->lock);
    while (flow->sent < 21)
        pthread_cond_wait (&flow->changed, &flow->lock);
    pthread_mutex_unlock (&flow->lock);
    for (unsigned i = 0; i <= 20; i++) {
        if (i % 2)
            ask_lk (flow, &unlock, F_SETLK, F_UNLCK);
        else
            ck_assert_int_eq (sync_flush (flow->w.client, flow->fd, NULL, NULL), 0);
        flow_wait (flow, 20 - MIN (i + 1, 20));
    }
    for (unsigned i = 0; i < 20; i++) {
        thread_join (threads[i]);
        ck_assert_int_eq (waiters[i].r, 0);
    }
    flow_end (flow);
}
END_TEST

TEST_PROGRAM (test_io_threads_waits)
{
    Suite *suite = suite_create ("io-threads-waits");
    TCase *tcase = tcase_create ("io-threads-waits");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, threads_of_one_process_share_its_turns);
    tcase_add_test (tcase, a_flush_is_done_whoever_lost_patience);
    tcase_add_test (tcase, an_unlock_never_waits_behind_those_who_wait_for_it);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* A reader moves to the processor of a caller with slow turns, and no other thread moves with
 * it. */
#include "fuse/threads/place.h"

#include "core/time/thread.h"
#include "../program.h"

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#define SLOW 60000
#define QUICK 0

static cpu_set_t place_all;

/* Does the same as threads/device.c after a turn of the given nanoseconds. */
static void
turns (struct thread_place *place, unsigned n, uint64_t nanoseconds, pid_t asks)
{
    for (unsigned i = 0; i < n; i++) {
        thread_place_turn (place, nanoseconds, asks);
        thread_place_answered (place);
    }
}

static cpu_set_t
place_mine (void)
{
    cpu_set_t set;

    ck_assert_int_eq (sched_getaffinity (0, sizeof set, &set), 0);
    return set;
}

static bool
is_only_on (int cpu)
{
    cpu_set_t set = place_mine ();

    return CPU_COUNT (&set) == 1 && CPU_ISSET (cpu, &set);
}

/* A caller that runs on a given processor. It sleeps until it is told to move or to end. */
struct caller {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pid_t id;
    int wanted, at; /* processors, lock; wanted -1: end */
};

static void *
caller_run (void *data)
{
    struct caller *caller = data;

    pthread_mutex_lock (&caller->lock);
    while (caller->wanted >= 0) {
        cpu_set_t set;

        CPU_ZERO (&set);
        CPU_SET (caller->wanted, &set);
        ck_assert_int_eq (sched_setaffinity (0, sizeof set, &set), 0);
        caller->id = gettid ();
        caller->at = caller->wanted;
        pthread_cond_broadcast (&caller->changed);
        while (caller->wanted == caller->at)
            pthread_cond_wait (&caller->changed, &caller->lock);
    }
    pthread_mutex_unlock (&caller->lock);
    return NULL;
}

static void
caller_move (struct caller *caller, int cpu)
{
    pthread_mutex_lock (&caller->lock);
    caller->wanted = cpu;
    pthread_cond_broadcast (&caller->changed);
    while (cpu >= 0 && caller->at != cpu)
        pthread_cond_wait (&caller->changed, &caller->lock);
    pthread_mutex_unlock (&caller->lock);
}

static void
caller_start (struct caller *caller, int cpu)
{
    *caller = (struct caller){ .lock = PTHREAD_MUTEX_INITIALIZER,
                               .changed = PTHREAD_COND_INITIALIZER,
                               .wanted = cpu,
                               .at = -1 };
    ck_assert_int_eq (thread_new (&caller->thread, "caller", caller_run, caller), 0);
    caller_move (caller, cpu);
}

static void
caller_end (struct caller *caller)
{
    caller_move (caller, -1);
    pthread_join (caller->thread, NULL);
}

/* Returns the nth processor that this process may use; -1: it has fewer. */
static int
nth (int n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET (cpu, &place_all) && n-- == 0)
            return cpu;
    return -1;
}

static void *
check_follows (void *unused)
{
    const int first = nth (0), second = nth (1);
    struct caller caller;
    struct thread_place place;

    thread_place_begin (&place);
    caller_start (&caller, second);
    turns (&place, 100, QUICK, caller.id);
    ck_assert (!is_only_on (second)); /* a fast reader does not move */
    turns (&place, 8, SLOW, caller.id);
    ck_assert (is_only_on (second));
    caller_move (&caller, first);
    turns (&place, 15, SLOW, caller.id);
    ck_assert (is_only_on (second)); /* the interval of the checks doubles each time, */
    turns (&place, 1, SLOW, caller.id);
    ck_assert (is_only_on (first));
    caller_move (&caller, second);
    turns (&place, 64, QUICK, caller.id); /* until all turns are fast for a while */
    turns (&place, 8, SLOW, caller.id);
    ck_assert (is_only_on (second));
    caller_end (&caller);
    return NULL;
}

START_TEST (a_reader_follows_who_asks)
{
    pthread_t thread;

    if (nth (1) < 0)
        return; /* there is no other processor */
    ck_assert_int_eq (thread_new (&thread, "reader", check_follows, NULL), 0);
    pthread_join (thread, NULL);
}
END_TEST

static void *
note_mine (void *ret_set)
{
    *(cpu_set_t *) ret_set = place_mine ();
    return NULL;
}

static void *
check_others (void *unused)
{
    struct thread_place place;
    struct caller caller;
    pthread_t thread;
    cpu_set_t theirs;

    thread_place_begin (&place);
    caller_start (&caller, nth (0));
    turns (&place, 8, SLOW, caller.id);
    ck_assert (is_only_on (nth (0)));
    ck_assert_int_eq (thread_new (&thread, "other", note_mine, &theirs), 0);
    pthread_join (thread, NULL);
    ck_assert (CPU_EQUAL (&theirs, &place_all));
    caller_end (&caller);
    return NULL;
}

START_TEST (a_thread_that_it_starts_runs_anywhere)
{
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "reader", check_others, NULL), 0);
    pthread_join (thread, NULL);
}
END_TEST

static void *
check_unseen (void *unused)
{
    struct thread_place place;
    cpu_set_t set;

    thread_place_begin (&place);
    turns (&place, 1000, SLOW, 0);           /* the kernel has no number for the caller here */
    turns (&place, 1000, SLOW, 0x7ffffffe);  /* the caller has ended */
    set = place_mine ();
    ck_assert (CPU_EQUAL (&set, &place_all));
    return NULL;
}

START_TEST (nobody_is_followed_who_cannot_be_seen)
{
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "reader", check_unseen, NULL), 0);
    pthread_join (thread, NULL);
}
END_TEST

TEST_PROGRAM (test_place)
{
    Suite *suite = suite_create ("place");
    TCase *tcase = tcase_create ("place");

    sched_getaffinity (0, sizeof place_all, &place_all);
    tcase_add_test (tcase, a_reader_follows_who_asks);
    tcase_add_test (tcase, a_thread_that_it_starts_runs_anywhere);
    tcase_add_test (tcase, nobody_is_followed_who_cannot_be_seen);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

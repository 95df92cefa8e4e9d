/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* Threads with a higher priority; and read sections. */
#include "core/time/read-section.h"
#include "core/time/thread.h"
#include "../program.h"

#include <errno.h>
#include <glib.h>
#include <sys/resource.h>

struct thread_test_seen {
    int nice, of_child;
    int r;
};

static int
nice_now (void)
{
    return getpriority (PRIO_PROCESS, 0);
}

static void *
child (void *data)
{
    *(int *) data = nice_now ();
    return NULL;
}

static int
nice_of_child (void)
{
    pthread_t thread;
    int nice = 99;

    ck_assert_int_eq (thread_new (&thread, "child", child, &nice), 0);
    thread_join (thread);
    return nice;
}

static void *
come_first (void *data)
{
    struct thread_test_seen *seen = data;

    seen->r = thread_come_first (3);
    seen->nice = nice_now ();
    seen->of_child = nice_of_child ();
    return NULL;
}

static struct thread_test_seen
seen_by (void *(*run) (void *data))
{
    struct thread_test_seen seen = { 0 };
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "one", run, &seen), 0);
    thread_join (thread);
    return seen;
}

/* If the process lacks the right, the call fails and changes nothing. */
START_TEST (who_comes_first_is_less_nice_and_who_it_starts_is_not)
{
    const int before = nice_now ();
    const struct thread_test_seen seen = seen_by (come_first);

    ck_assert_int_eq (seen.nice, seen.r == 0 ? before - 3 : before);
    ck_assert (seen.r == 0 || seen.r == -EPERM || seen.r == -EACCES);
    ck_assert_int_eq (seen.of_child, before);
    ck_assert_int_eq (nice_now (), before);
}
END_TEST

/* --- read sections ---------------------------------------------------------------------------- */

#define READERS 3
#define REPLACEMENTS 2000

/* A value that says whether it was freed. */
struct thread_test_value {
    int alive;
};

static struct {
    struct thread_test_value *now; /* atomic */
    bool stop;                     /* atomic */
} thread_test_slot;

static void *
thread_test_read (void *data)
{
    unsigned long *read = data;

    while (!__atomic_load_n (&thread_test_slot.stop, __ATOMIC_RELAXED)) {
        read_section_begin ();
        const struct thread_test_value *value =
            __atomic_load_n (&thread_test_slot.now, __ATOMIC_ACQUIRE);
        __atomic_add_fetch (read, value->alive == 1, __ATOMIC_RELAXED);
        ck_assert_int_eq (value->alive, 1);
        read_section_end ();
    }
    return NULL;
}

START_TEST (who_replaces_waits_for_who_reads)
{
    unsigned long read[READERS] = { 0 };
    pthread_t threads[READERS];

    thread_test_slot.now = g_new0 (struct thread_test_value, 1);
    thread_test_slot.now->alive = 1;
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq (thread_new (&threads[i], "reader", thread_test_read, &read[i]), 0);
    for (int i = 0; i < REPLACEMENTS || __atomic_load_n (&read[0], __ATOMIC_RELAXED) == 0; i++) {
        struct thread_test_value *value = g_new0 (struct thread_test_value, 1), *old;

        value->alive = 1;
        old = __atomic_exchange_n (&thread_test_slot.now, value, __ATOMIC_ACQ_REL);
        read_section_wait ();
        old->alive = 0;
        g_free (old);
    }
    __atomic_store_n (&thread_test_slot.stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++)
        thread_join (threads[i]);
    g_free (thread_test_slot.now);
}
END_TEST

TEST_PROGRAM (test_thread)
{
    Suite *suite = suite_create ("thread");
    TCase *tcase = tcase_create ("thread");

    tcase_add_test (tcase, who_replaces_waits_for_who_reads);
    tcase_add_test (tcase, who_comes_first_is_less_nice_and_who_it_starts_is_not);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* Memory that threads have freed is returned to the system. */
#include "core/base/malloc-trim.h"
#include "core/time/thread.h"
#include "../program.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT 200000
#define SIZE 100 /* so small that the library does not merge freed blocks */

static char *trim_all[COUNT];

/* The pages of these blocks. */
static unsigned
count_resident (void)
{
    const uintptr_t page = (uintptr_t) sysconf (_SC_PAGESIZE);
    unsigned resident = 0;
    uintptr_t before = 0;

    for (unsigned i = 0; i < COUNT; i++) {
        const uintptr_t at = (uintptr_t) trim_all[i] & ~(page - 1);
        unsigned char there = 0;

        if (at != before && mincore ((void *) at, page, &there) == 0)
            resident += there & 1;
        before = at;
    }
    return resident;
}

static void
trim_fill (void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        trim_all[i] = malloc (SIZE);
        ck_assert_ptr_nonnull (trim_all[i]);
        memset (trim_all[i], 1, SIZE);
    }
}

struct trim_turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn; /* lock: 1: the thread has freed all; 2: it may end */
};

static void
turn (struct trim_turns *turns, int to)
{
    pthread_mutex_lock (&turns->lock);
    turns->turn = to;
    pthread_cond_broadcast (&turns->changed);
    pthread_mutex_unlock (&turns->lock);
}

static void
trim_await (struct trim_turns *turns, int what)
{
    pthread_mutex_lock (&turns->lock);
    while (turns->turn != what)
        pthread_cond_wait (&turns->changed, &turns->lock);
    pthread_mutex_unlock (&turns->lock);
}

static void *
fill_and_free (void *data)
{
    struct trim_turns *turns = data;

    trim_fill ();
    ck_assert_uint_gt (count_resident (), 4000);
    for (unsigned i = 0; i < COUNT; i++)
        free (trim_all[i]);
    turn (turns, 1);
    trim_await (turns, 2);
    return NULL;
}

START_TEST (what_a_thread_freed_goes_back_while_it_waits)
{
    struct trim_turns turns = { .lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER };
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "fills", fill_and_free, &turns), 0);
    trim_await (&turns, 1);
    heaps_trim ();
    ck_assert_uint_lt (count_resident (), 200);
    turn (&turns, 2);
    thread_join (thread);
    heaps_trim ();
}
END_TEST

static void *
keep_for_a_moment (void *data)
{
    char *kept = malloc (SIZE);

    memset (kept, 1, SIZE);
    heaps_trim ();
    __atomic_add_fetch ((unsigned *) data, (unsigned) kept[SIZE - 1], __ATOMIC_RELAXED);
    free (kept);
    return NULL;
}

START_TEST (threads_come_and_go_meanwhile)
{
    pthread_t threads[8];
    unsigned whole = 0;

    for (unsigned turn = 0; turn < 20; turn++) {
        for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
            ck_assert_int_eq (thread_new (&threads[i], "comes", keep_for_a_moment, &whole), 0);
        heaps_trim ();
        for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
            thread_join (threads[i]);
    }
    ck_assert_uint_eq (whole, 20 * G_N_ELEMENTS (threads));
}
END_TEST

/* With a sanitizer or valgrind the library is another one. */
static bool
is_the_librarys_own (void)
{
    const char *preloaded = getenv ("LD_PRELOAD");

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return false;
#endif
    return !preloaded || !strstr (preloaded, "vgpreload");
}

TEST_PROGRAM (test_malloc_trim)
{
    Suite *suite = suite_create ("heaps");
    TCase *tcase = tcase_create ("heaps");

    tcase_add_test (tcase, threads_come_and_go_meanwhile);
    if (is_the_librarys_own ())
        tcase_add_test (tcase, what_a_thread_freed_goes_back_while_it_waits);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}

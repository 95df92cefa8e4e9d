/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/work/work.h"
#include "core/time/attempt.h"
#include "core/time/clock.h"
#include "core/time/thread.h"
#include "core/time/timer.h"

#include <errno.h>
#include <stdio.h>

#define REST INT64_C (10000000000) /* nanoseconds without work after which a thread ends */

struct worker {
    unsigned number;  /* constant */
    pthread_t thread; /* used by the starting thread, until the worker is joined */
    pthread_cond_t called;
    struct work_item *work; /* lock; the next work. NULL: the worker is idle, or has begun the
                             * work */
    struct worker *next;    /* lock; in pool.resting or pool.ended */
};

static struct {
    pthread_mutex_t lock;    /* guards all fields except starts; a leaf */
    pthread_cond_t changed;  /* no work is left, or a thread ended */
    unsigned users;
    struct work_item *first, **last; /* work for which there was no thread */
    unsigned waiting, busy;  /* work without a thread; work with a thread */
    unsigned threads;
    struct worker *workers[WORK_THREADS];
    struct worker *resting;  /* idle workers, the last one first */
    struct worker *ended;    /* workers to be joined */
    bool ending;
    bool helped;             /* a timer will run the waiting work */
    struct attempt starts;   /* of threads */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .last = &pool.first };

static void __attribute__ ((constructor))
pool_init (void)
{
    thread_cond_init (&pool.changed);
}

/* --- workers ---------------------------------------------------------------------------------- */

static struct work_item *
work_take_locked (void)
{
    struct work_item *work = pool.first;

    if (!work)
        return NULL;
    pool.first = work->next;
    if (!pool.first)
        pool.last = &pool.first;
    pool.waiting--;
    pool.busy++;
    return work;
}

/* Runs work, which is counted as busy already, and then the waiting work. */
static void
work_locked (struct work_item *work)
{
    for (; work; work = work_take_locked ()) {
        pthread_mutex_unlock (&pool.lock);
        work->run (work);
        pthread_mutex_lock (&pool.lock);
        if (--pool.busy == 0 && !pool.first)
            thread_cond_broadcast (&pool.changed);
    }
}

static void
unlink_resting_locked (struct worker *worker)
{
    struct worker **at = &pool.resting;

    while (*at != worker)
        at = &(*at)->next;
    *at = worker->next;
}

/* Waits for work. Returns false if none came in time, so that the thread ends. */
static bool
work_rest_locked (struct worker *worker)
{
    const int64_t until = clock_now () + REST;
    int r = 0;

    worker->next = pool.resting;
    pool.resting = worker;
    thread_set_idle (true);
    while (!worker->work && !pool.ending && r == 0)
        r = thread_cond_wait_until (&worker->called, &pool.lock, until);
    thread_set_idle (false);
    if (!worker->work)
        unlink_resting_locked (worker);
    return worker->work != NULL;
}

static void
leave_locked (struct worker *worker)
{
    pool.workers[worker->number] = NULL;
    pool.threads--;
}

static void *
work_worker_run (void *data)
{
    struct worker *worker = data;

    pthread_mutex_lock (&pool.lock);
    do
        work_locked (g_steal_pointer (&worker->work));
    while (!pool.ending && work_rest_locked (worker));
    leave_locked (worker);
    worker->next = pool.ended;
    pool.ended = worker;
    thread_cond_broadcast (&pool.changed);
    pthread_mutex_unlock (&pool.lock);
    return NULL;
}

/* --- putting work ----------------------------------------------------------------------------- */

static void
worker_free (struct worker *worker)
{
    pthread_cond_destroy (&worker->called);
    g_free (worker);
}

static struct worker *
work_worker_new_locked (void)
{
    struct worker *worker = g_new0 (struct worker, 1);

    while (pool.workers[worker->number])
        worker->number++;
    pool.workers[worker->number] = worker;
    thread_cond_init (&worker->called);
    pool.threads++;
    return worker;
}

static bool
is_short_locked (void)
{
    return !pool.resting && (pool.threads == WORK_THREADS || !attempt_is_due (&pool.starts));
}

/* Gives the work to an idle thread, or to a new one, *ret_fresh, which the caller must start.
 * Returns false if there is neither. The thread runs this work first: other work might never
 * end. */
static bool
give_locked (struct work_item *work, struct worker **ret_fresh)
{
    struct worker *worker = pool.resting;

    *ret_fresh = NULL;
    if (is_short_locked ())
        return false;
    if (worker) {
        pool.resting = worker->next;
        thread_cond_signal (&worker->called);
    } else {
        *ret_fresh = worker = work_worker_new_locked ();
    }
    worker->work = work;
    pool.busy++;
    return true;
}

static void
join_ended (void)
{
    struct worker *worker;

    pthread_mutex_lock (&pool.lock);
    while ((worker = pool.ended)) {
        pool.ended = worker->next;
        pthread_mutex_unlock (&pool.lock);
        thread_join (worker->thread);
        worker_free (worker);
        pthread_mutex_lock (&pool.lock);
    }
    pthread_mutex_unlock (&pool.lock);
}

static void
not_started (struct worker *worker)
{
    pthread_mutex_lock (&pool.lock);
    if (--pool.busy == 0 && !pool.first)
        thread_cond_broadcast (&pool.changed);
    leave_locked (worker);
    pthread_mutex_unlock (&pool.lock);
    worker_free (worker);
}

static bool
work_start (struct worker *worker)
{
    char name[16];
    int r = -EAGAIN;

    snprintf (name, sizeof name, "work-%u", worker->number);
    join_ended ();
    if (attempt_is_due (&pool.starts))
        r = attempt_ended (&pool.starts, NULL,
                           thread_new (&worker->thread, name, work_worker_run, worker),
                           "thread for operations (%s)", name);
    if (r < 0)
        not_started (worker);
    return r == 0;
}

static void
put_locked (struct work_item *work)
{
    work->next = NULL;
    *pool.last = work;
    pool.last = &work->next;
    pool.waiting++;
}

bool
work_is_short (void)
{
    bool is;

    pthread_mutex_lock (&pool.lock);
    is = is_short_locked ();
    pthread_mutex_unlock (&pool.lock);
    return is;
}

bool
work_try (struct work_item *work)
{
    struct worker *fresh;
    bool given;

    pthread_mutex_lock (&pool.lock);
    given = give_locked (work, &fresh);
    pthread_mutex_unlock (&pool.lock);
    return given && (!fresh || work_start (fresh));
}

static void
work_off (void *unused)
{
    pthread_mutex_lock (&pool.lock);
    work_locked (work_take_locked ());
    pool.helped = false;
    thread_cond_broadcast (&pool.changed);
    pthread_mutex_unlock (&pool.lock);
}

/* If the pool has no thread at all, the timer thread does the work, which may block it. The thread
 * that put the work can't do it either, since that thread may hold a lock. */
static void
help (void)
{
    bool needed;

    pthread_mutex_lock (&pool.lock);
    needed = pool.threads == 0 && !pool.helped;
    pool.helped |= needed;
    pthread_mutex_unlock (&pool.lock);
    if (needed)
        timer_after (0, work_off, NULL);
}

void
work_put (struct work_item *work)
{
    if (work_try (work))
        return;
    pthread_mutex_lock (&pool.lock);
    if (pool.resting) {
        struct worker *fresh;
        give_locked (work, &fresh);
    } else {
        put_locked (work);
    }
    pthread_mutex_unlock (&pool.lock);
    help ();
}

/* --- creation and end ------------------------------------------------------------------------- */

struct work_numbers
work_count (void)
{
    struct work_numbers numbers;

    pthread_mutex_lock (&pool.lock);
    numbers = (struct work_numbers){ pool.waiting, pool.busy, pool.threads };
    pthread_mutex_unlock (&pool.lock);
    return numbers;
}

static bool
work_wait_locked (int64_t until)
{
    int r = 0;

    while ((pool.waiting || pool.busy || pool.helped) && r == 0) {
        if (until < 0)
            thread_cond_wait (&pool.changed, &pool.lock);
        else
            r = thread_cond_wait_until (&pool.changed, &pool.lock, until);
    }
    return !pool.waiting && !pool.busy && !pool.helped;
}

bool
work_wait (int64_t until)
{
    bool done;

    pthread_mutex_lock (&pool.lock);
    done = work_wait_locked (until);
    pthread_mutex_unlock (&pool.lock);
    return done;
}

void
work_use (void)
{
    pthread_mutex_lock (&pool.lock);
    pool.users++;
    pthread_mutex_unlock (&pool.lock);
}

void
work_leave (void)
{
    pthread_mutex_lock (&pool.lock);
    if (--pool.users == 0) {
        work_wait_locked (-1);
        pool.ending = true;
        for (struct worker *at = pool.resting; at; at = at->next)
            thread_cond_signal (&at->called);
        while (pool.threads > 0)
            thread_cond_wait (&pool.changed, &pool.lock);
        pool.ending = false;
    }
    pthread_mutex_unlock (&pool.lock);
    join_ended ();
}

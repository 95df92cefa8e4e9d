/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/pool.h"
#include "core/attempt.h"
#include "core/clock.h"
#include "core/crowd.h"
#include "core/log.h"
#include "core/scheduler.h"
#include "core/thread.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>

#define REST INT64_C (10000000000) /* ns without work after which a thread goes */
#define ASK_EVERY 8                /* jobs one is asked what its thread did; asking costs some microseconds */

struct worker {
    struct pool *pool;     /* constant */
    unsigned number;       /* constant */
    pthread_t thread;      /* of who started it, until it is joined */
    pthread_cond_t called;
    bool rests;            /* pool->lock */
    struct worker *next;   /* pool->lock; in resting or gone */
    GList at_work;         /* pool->lock; in pool->at_work */
    int64_t since;         /* pool->lock; clock_now when it began with its job */
};

struct pool {
    char *name;
    unsigned most;               /* constant */
    pthread_mutex_t lock;        /* a leaf */
    pthread_cond_t changed;      /* nothing is left to do, or a thread ended */
    struct pool_job *first, **last;   /* lock; what waits */
    unsigned waiting;            /* lock; jobs that wait */
    GQueue at_work;              /* lock; threads that do one; who began first first */
    uint64_t begun;              /* lock; jobs so far */
    struct crowd crowd;          /* lock */
    bool watched;                /* lock; a thread waits until more may be at work */
    unsigned threads, awaited;   /* lock; how many there are; how many were called or started, and haven't looked yet */
    struct attempt starts;       /* of threads */
    uint64_t numbers[4];         /* lock; bits of those that threads are called by */
    struct worker *resting;      /* lock; who came last first */
    struct worker *gone;         /* lock; that are to be joined */
    bool ending;                 /* lock */
};

struct pool *
pool_new (const char *name, unsigned most)
{
    struct pool *pool = g_new0 (struct pool, 1);

    pool->name = g_strdup (name);
    pool->most = most;
    pool->last = &pool->first;
    pthread_mutex_init (&pool->lock, NULL);
    thread_cond_init (&pool->changed);
    crowd_init (&pool->crowd);
    return pool;
}

/* --- who rests ------------------------------------------------------------------------------- */

static void
unlink_resting_locked (struct worker *worker)
{
    struct worker **at = &worker->pool->resting;

    while (*at != worker)
        at = &(*at)->next;
    *at = worker->next;
}

/* False: nobody called it for so long that it goes. */
static bool
rest_locked (struct worker *worker)
{
    struct pool *pool = worker->pool;
    const int64_t until = clock_now () + REST;
    int r = 0;

    worker->rests = true;
    worker->next = pool->resting;
    pool->resting = worker;
    thread_set_idle (true);
    while (worker->rests && r == 0)
        r = thread_cond_wait_until (&worker->called, &pool->lock, until);
    thread_set_idle (false);
    if (worker->rests) {
        unlink_resting_locked (worker);
        return false;
    }
    pool->awaited--;
    return true;
}

/* How many of those at work are at it since after then. */
static unsigned
young_locked (const struct pool *pool, int64_t then)
{
    unsigned old = 0;

    for (const GList *at = pool->at_work.head; at && ((const struct worker *) at->data)->since <= then; at = at->next)
        old++;
    return pool->at_work.length - old;
}

/* With one more at work they aren't a crowd. Who hangs doesn't count. */
static bool
may_begin_locked (const struct pool *pool)
{
    const unsigned limit = crowd_limit (&pool->crowd);

    return pool->at_work.length < limit || young_locked (pool, clock_now () - CROWD_OLD) < limit;
}

/* When the next of those at work isn't young any more. */
static int64_t
next_old_locked (const struct pool *pool, int64_t now)
{
    int64_t next = now + CROWD_OLD;

    for (const GList *at = pool->at_work.tail; at && ((const struct worker *) at->data)->since > now - CROWD_OLD; at = at->prev)
        next = ((const struct worker *) at->data)->since + CROWD_OLD;
    return next;
}

/* --- calling one ------------------------------------------------------------------------------ */

static unsigned
number_locked (struct pool *pool)
{
    unsigned n = 0;

    while (n < 256 && pool->numbers[n / 64] & (uint64_t) 1 << n % 64)
        n++;
    if (n < 256)
        pool->numbers[n / 64] |= (uint64_t) 1 << n % 64;
    return n;
}

/* Somebody is on the way for each job that waits, or looks when he may begin; else one that is to be started, or NULL. */
static struct worker *
call_locked (struct pool *pool)
{
    struct worker *worker = pool->resting;

    if (pool->waiting <= pool->awaited || (pool->watched && !may_begin_locked (pool)))
        return NULL;
    if (worker) {
        pool->resting = worker->next;
        pool->awaited++;
        worker->rests = false;
        thread_cond_signal (&worker->called);
        return NULL;
    }
    if (pool->threads == pool->most)
        return NULL;
    worker = g_new0 (struct worker, 1);
    worker->pool = pool;
    worker->number = number_locked (pool);
    thread_cond_init (&worker->called);
    pool->threads++;
    pool->awaited++;
    return worker;
}

static void
worker_free (struct worker *worker)
{
    pthread_cond_destroy (&worker->called);
    g_free (worker);
}

static void
join_gone (struct pool *pool)
{
    struct worker *worker;

    pthread_mutex_lock (&pool->lock);
    while ((worker = pool->gone)) {
        pool->gone = worker->next;
        pthread_mutex_unlock (&pool->lock);
        thread_join (worker->thread);
        worker_free (worker);
        pthread_mutex_lock (&pool->lock);
    }
    pthread_mutex_unlock (&pool->lock);
}

static void work_locked (struct worker *worker);

/* With no thread at all, who brought the job does it. */
static void
not_started (struct worker *worker)
{
    struct pool *pool = worker->pool;

    pthread_mutex_lock (&pool->lock);
    pool->awaited--;
    if (worker->number < 256)
        pool->numbers[worker->number / 64] &= ~((uint64_t) 1 << worker->number % 64);
    const unsigned left = --pool->threads;
    pthread_mutex_unlock (&pool->lock);
    if (left == 0) {
        pthread_mutex_lock (&pool->lock);
        work_locked (worker);
        pthread_mutex_unlock (&pool->lock);
    }
    worker_free (worker);
}

static void *worker_run (void *data);

static void
start (struct worker *worker)
{
    char name[16];
    int r;

    snprintf (name, sizeof name, "%s-%u", worker->pool->name, worker->number);
    join_gone (worker->pool);
    r = attempt_is_due (&worker->pool->starts)
            ? attempt_ended (&worker->pool->starts, NULL, thread_new (&worker->thread, name, worker_run, worker), "thread of the pool '%s'", worker->pool->name)
            : -EAGAIN;
    if (r < 0)
        not_started (worker);
}

/* --- what it does ----------------------------------------------------------------------------- */

/* Without the time that it takes to ask. */
static void
run_asked (struct pool *pool, struct pool_job *job)
{
    const int64_t before = crowd_in_line (), began = clock_now ();

    job->run (job);
    const int64_t took = clock_now () - began, after = crowd_in_line ();
    pthread_mutex_lock (&pool->lock);
    if (before >= 0 && after >= 0)
        crowd_note (&pool->crowd, took, after - before);
    pthread_mutex_unlock (&pool->lock);
}

static void
work_locked (struct worker *worker)
{
    struct pool *pool = worker->pool;
    struct pool_job *job;

    while ((job = pool->first) && may_begin_locked (pool)) {
        pool->first = job->next;
        if (!pool->first)
            pool->last = &pool->first;
        pool->waiting--;
        worker->since = clock_now ();
        worker->at_work.data = worker;
        g_queue_push_tail_link (&pool->at_work, &worker->at_work);
        const bool asked = pool->begun++ % ASK_EVERY == 0 && !scheduler_on;
        struct worker *const next = pool->threads > 0 ? call_locked (pool) : NULL; /* this one may hang */
        pthread_mutex_unlock (&pool->lock);
        if (next)
            start (next);
        if (asked)
            run_asked (pool, job);
        else
            job->run (job);
        pthread_mutex_lock (&pool->lock);
        g_queue_unlink (&pool->at_work, &worker->at_work);
        if (pool->at_work.length == 0 && !pool->first)
            thread_cond_broadcast (&pool->changed);
    }
}

/* Jobs wait, and more at work would be a crowd: one of those without work looks again when the next of them doesn't count any more. */
static bool
watch_locked (struct worker *worker)
{
    struct pool *pool = worker->pool;

    if (!pool->first || pool->watched)
        return false;
    pool->watched = true;
    thread_set_idle (true);
    thread_cond_wait_until (&worker->called, &pool->lock, next_old_locked (pool, clock_now ()));
    thread_set_idle (false);
    pool->watched = false;
    return true;
}

static void *
worker_run (void *data)
{
    struct worker *worker = data;
    struct pool *pool = worker->pool;

    pthread_mutex_lock (&pool->lock);
    pool->awaited--;
    do
        work_locked (worker);
    while (!pool->ending && (watch_locked (worker) || rest_locked (worker)));
    pool->threads--;
    if (worker->number < 256)
        pool->numbers[worker->number / 64] &= ~((uint64_t) 1 << worker->number % 64);
    worker->next = pool->gone;
    pool->gone = worker;
    thread_cond_broadcast (&pool->changed);
    pthread_mutex_unlock (&pool->lock);
    return NULL;
}

/* --- jobs ------------------------------------------------------------------------------------- */

void
pool_put (struct pool *pool, struct pool_job *job)
{
    struct worker *fresh;

    job->next = NULL;
    pthread_mutex_lock (&pool->lock);
    *pool->last = job;
    pool->last = &job->next;
    pool->waiting++;
    fresh = call_locked (pool);
    pthread_mutex_unlock (&pool->lock);
    if (fresh)
        start (fresh);
}

bool
pool_take_back (struct pool *pool, const struct pool_job *job)
{
    struct pool_job **at = &pool->first;

    pthread_mutex_lock (&pool->lock);
    while (*at && *at != job)
        at = &(*at)->next;
    const bool found = *at;
    if (found) {
        *at = job->next;
        if (!*at)
            pool->last = at;
        if (--pool->waiting == 0 && pool->at_work.length == 0)
            thread_cond_broadcast (&pool->changed);
    }
    pthread_mutex_unlock (&pool->lock);
    return found;
}

/* --- the end ---------------------------------------------------------------------------------- */

struct pool_numbers
pool_count (struct pool *pool)
{
    struct pool_numbers numbers;

    pthread_mutex_lock (&pool->lock);
    numbers = (struct pool_numbers){ pool->waiting, pool->at_work.length, pool->threads, MIN (crowd_limit (&pool->crowd), pool->most) };
    pthread_mutex_unlock (&pool->lock);
    return numbers;
}

bool
pool_wait (struct pool *pool, int64_t until)
{
    int r = 0;

    pthread_mutex_lock (&pool->lock);
    while ((pool->waiting || pool->at_work.length) && r == 0) {
        if (until < 0)
            thread_cond_wait (&pool->changed, &pool->lock);
        else
            r = thread_cond_wait_until (&pool->changed, &pool->lock, until);
    }
    const bool done = !pool->waiting && pool->at_work.length == 0;
    pthread_mutex_unlock (&pool->lock);
    return done;
}

void
pool_free (struct pool *pool)
{
    if (!pool)
        return;
    pool_wait (pool, -1);
    pthread_mutex_lock (&pool->lock);
    pool->ending = true;
    for (struct worker *worker; (worker = pool->resting);) {
        pool->resting = worker->next;
        worker->rests = false;
        pool->awaited++;
        thread_cond_signal (&worker->called);
    }
    while (pool->threads > 0)
        thread_cond_wait (&pool->changed, &pool->lock);
    pthread_mutex_unlock (&pool->lock);
    join_gone (pool);
    pthread_cond_destroy (&pool->changed);
    pthread_mutex_destroy (&pool->lock);
    g_free (pool->name);
    g_free (pool);
}

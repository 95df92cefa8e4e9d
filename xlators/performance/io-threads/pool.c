/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads. Each takes a call, goes on with it until that returns (below may have answered, or have set it aside itself), and
 * comes back. One that finds none rests; who rested last is called first, so that those beyond what is needed rest until their time is
 * over, and go. The last stays.
 *
 * Whoever may wait for a lock does so in a thread beside the pool: else all of the pool might wait for one whose unlock is in a queue.
 */
#include "io-threads.h"

#include <stdio.h>

#define SECOND INT64_C (1000000000)

unsigned
iot_threads_locked (const iot_private_t *priv)
{
    return priv->threads + priv->raised;
}

unsigned
iot_limit_locked (const iot_private_t *priv, enum iot_priority priority)
{
    return priv->limits[priority] + priv->raised;
}

/* --- coming and going ------------------------------------------------------------------------- */

static struct iot_pool *
pool_of (const struct iot_worker *worker)
{
    iot_private_t *priv = worker->this->private;

    return worker->for_locks ? &priv->lockers : &priv->pool;
}

/* The lowest that none has; for its name alone. */
static unsigned
free_number_locked (const struct iot_pool *pool)
{
    bool used[IOT_LOCKERS_MAX + 1] = { false };
    unsigned number = 0;

    for (const GList *at = pool->workers.head; at; at = at->next)
        used[((struct iot_worker *) at->data)->number] = true;
    while (number < G_N_ELEMENTS (used) - 1 && used[number])
        number++;
    return number;
}

static struct iot_worker *
worker_new_locked (xlator_t *this, struct iot_pool *pool)
{
    struct iot_worker *worker = g_new0 (struct iot_worker, 1);

    worker->this = this;
    worker->number = free_number_locked (pool);
    worker->for_locks = pool == &((iot_private_t *) this->private)->lockers;
    worker->place.data = worker->resting.data = worker;
    thread_cond_init (&worker->wake);
    g_queue_push_tail_link (&pool->workers, &worker->place);
    pool->n++;
    pool->started++;
    return worker;
}

static void
worker_free (struct iot_worker *worker)
{
    pthread_cond_destroy (&worker->wake);
    g_free (worker);
}

/* It isn't counted any more. One that there was no room for may have been called for something: then another does it. */
static void
worker_leave (struct iot_worker *worker)
{
    iot_private_t *priv = worker->this->private;
    struct iot_pool *pool = pool_of (worker);
    struct iot_worker *fresh;

    pthread_mutex_lock (&priv->lock);
    fresh = worker->for_locks ? NULL : iot_call_thread_locked (worker->this);
    pthread_mutex_unlock (&priv->lock);
    if (fresh)
        iot_start (fresh);
    pthread_mutex_lock (&priv->lock);
    g_queue_unlink (&pool->workers, &worker->place);
    g_queue_push_tail_link (&pool->gone, &worker->place);
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
}

/* Those that ended, which takes no time. */
static void
join_gone (iot_private_t *priv, struct iot_pool *pool)
{
    GList *at;

    pthread_mutex_lock (&priv->lock);
    while ((at = g_queue_pop_head_link (&pool->gone))) {
        struct iot_worker *worker = at->data;

        pthread_mutex_unlock (&priv->lock);
        thread_join (worker->thread);
        worker_free (worker);
        pthread_mutex_lock (&priv->lock);
    }
    pthread_mutex_unlock (&priv->lock);
}

/* Until somebody calls it, or the time has come (-1: never). Whether it was called. */
static bool
rest_locked (struct iot_worker *worker, int64_t until, bool last)
{
    iot_private_t *priv = worker->this->private;
    struct iot_pool *pool = pool_of (worker);
    int r = 0;

    worker->rests = true;
    if (last)
        g_queue_push_tail_link (&pool->idle, &worker->resting);
    else
        g_queue_push_head_link (&pool->idle, &worker->resting);
    thread_set_idle (true);
    while (worker->rests && r == 0) {
        if (until < 0)
            thread_cond_wait (&worker->wake, &priv->lock);
        else
            r = thread_cond_wait_until (&worker->wake, &priv->lock, until);
    }
    thread_set_idle (false);
    if (!worker->rests)
        return true;
    worker->rests = false;
    g_queue_unlink (&pool->idle, &worker->resting);
    return false;
}

/* One that rests, awake; or NULL. */
static struct iot_worker *
call_resting_locked (struct iot_pool *pool)
{
    GList *at = g_queue_pop_head_link (&pool->idle);
    struct iot_worker *worker = at ? at->data : NULL;

    if (!worker)
        return NULL;
    worker->rests = false;
    thread_cond_signal (&worker->wake);
    return worker;
}

/* --- a call ----------------------------------------------------------------------------------- */

static void
busy_locked (struct iot_worker *worker, const call_stub_t *stub)
{
    const call_stack_t *root = call_stub_frame (stub)->root;

    worker->busy.op = call_stub_op (stub);
    worker->busy.pid = root->pid;
    worker->busy.unique = root->unique;
    worker->busy.since = clock_now ();
}

static bool
changes_nothing (enum fop op)
{
    switch (op) {
    case FOP_lookup: case FOP_stat: case FOP_fstat: case FOP_readlink: case FOP_readv: case FOP_statfs: case FOP_readdir:
    case FOP_readdirp: case FOP_getxattr: case FOP_fgetxattr: case FOP_access: case FOP_seek:
        return true;
    default:
        return false;
    }
}

/* Who asked is no more, and nothing would be missed. What a translator asks on its own account is never dropped. */
static bool
is_forsaken (const iot_private_t *priv, const call_stub_t *stub)
{
    const call_stack_t *root = call_stub_frame (stub)->root;

    return __atomic_load_n (&priv->cleanup, __ATOMIC_RELAXED) && changes_nothing (call_stub_op (stub)) && !root->caused_by
           && process_is_gone (root->pid);
}

/* The call is gone when this returns. */
static void
go_on (iot_private_t *priv, struct iot_call *call)
{
    call_stub_t *stub = call->stub;
    const enum fop op = call->op;

    if (G_UNLIKELY (is_forsaken (priv, stub))) {
        call_frame_t *frame = call_stub_frame (stub);

        if (patience_end (&call->patience))
            g_free (call);
        __atomic_add_fetch (&priv->forsaken, 1, __ATOMIC_RELAXED);
        call_stub_destroy (stub);
        frame_fail (frame, ENOTCONN);
        return;
    }
    const uint64_t begin = ticks_now ();
    iot_resume (call);
    iot_note_took (priv, op, begin, ticks_now ());
}

static void
do_locked (struct iot_worker *worker, struct iot_call *call)
{
    iot_private_t *priv = worker->this->private;
    struct iot_queue *queue = &priv->queues[call->priority];

    queue->running++;
    queue->taken++;
    queue->longest = MAX (queue->longest, clock_now () - call->since);
    busy_locked (worker, call->stub);
    pthread_mutex_unlock (&priv->lock);
    go_on (priv, call);
    pthread_mutex_lock (&priv->lock);
    worker->busy.op = FOP_NONE;
    queue->running--;
    if (--priv->set_aside == 0)
        thread_cond_broadcast (&priv->changed);
}

/* --- the pool --------------------------------------------------------------------------------- */

static bool
is_surplus_locked (const iot_private_t *priv)
{
    return priv->stopping || priv->pool.n > iot_threads_locked (priv);
}

/* One of those that rest looks when the rate lets the next of the least queue go; it rests where it is called last. False: it shall end. */
static bool
pool_rest_locked (struct iot_worker *worker)
{
    iot_private_t *priv = worker->this->private;
    const int64_t least = priv->sentry ? -1 : iot_least_wait_locked (priv);
    int64_t until = priv->pool.n > 1 ? clock_now () + priv->idle_seconds * SECOND : -1;

    if (is_surplus_locked (priv))
        return false;
    if (least >= 0) {
        until = until < 0 ? least : MIN (until, least);
        priv->sentry = true;
    }
    const bool called = rest_locked (worker, until, least >= 0);
    if (least >= 0)
        priv->sentry = false;
    if (called)
        priv->pool.awaited--;
    return called || least >= 0 || priv->pool.n == 1 || iot_ready_locked (priv) > 0;
}

static void
pool_work_locked (struct iot_worker *worker)
{
    iot_private_t *priv = worker->this->private;
    struct iot_call *call;

    priv->pool.awaited--;
    do
        while (!is_surplus_locked (priv) && (call = iot_next_locked (priv)))
            do_locked (worker, call);
    while (pool_rest_locked (worker));
}

/* Somebody is there, or on the way, for each that may go; and one who looks when the rate allows it. */
static bool
is_thread_needed_locked (const iot_private_t *priv)
{
    return iot_ready_locked (priv) > priv->pool.awaited
           || (!priv->sentry && !priv->pool.awaited && iot_least_wait_locked (priv) >= 0);
}

struct iot_worker *
iot_call_thread_locked (xlator_t *this)
{
    iot_private_t *priv = this->private;
    struct iot_pool *pool = &priv->pool;

    if (priv->stopping || !is_thread_needed_locked (priv))
        return NULL;
    if (call_resting_locked (pool)) {
        pool->awaited++;
        return NULL;
    }
    if (pool->n >= iot_threads_locked (priv))
        return NULL;
    pool->awaited++;
    return worker_new_locked (this, pool);
}

/* --- for locks -------------------------------------------------------------------------------- */

static void
lockers_work_locked (struct iot_worker *worker)
{
    iot_private_t *priv = worker->this->private;

    do {
        call_stub_t *stub = g_steal_pointer (&worker->given);

        busy_locked (worker, stub);
        pthread_mutex_unlock (&priv->lock);
        call_resume (stub);
        pthread_mutex_lock (&priv->lock);
        worker->busy.op = FOP_NONE;
    } while (!priv->stopping && rest_locked (worker, clock_now () + priv->idle_seconds * SECOND, false) && worker->given);
}

static void
refuse_lock (xlator_t *this, call_stub_t *stub)
{
    call_frame_t *frame = call_stub_frame (stub);

    gf_log (this, GF_LOG_WARNING, "no thread is left to wait for a lock in, beside %d that do", IOT_LOCKERS_MAX);
    call_stub_destroy (stub);
    frame_fail (frame, ENOLCK);
}

void
iot_wait_for_lock (xlator_t *this, call_stub_t *stub)
{
    iot_private_t *priv = this->private;
    struct iot_worker *worker, *fresh = NULL;

    pthread_mutex_lock (&priv->lock);
    worker = call_resting_locked (&priv->lockers);
    if (!worker && priv->lockers.n < IOT_LOCKERS_MAX)
        worker = fresh = worker_new_locked (this, &priv->lockers);
    if (worker)
        worker->given = stub;
    pthread_mutex_unlock (&priv->lock);
    if (fresh)
        iot_start (fresh);
    else if (!worker)
        refuse_lock (this, stub);
}

/* --- starting and stopping -------------------------------------------------------------------- */

static void *
worker_run (void *data)
{
    struct iot_worker *worker = data;
    iot_private_t *priv = worker->this->private;

    pthread_mutex_lock (&priv->lock);
    if (worker->for_locks)
        lockers_work_locked (worker);
    else
        pool_work_locked (worker);
    pool_of (worker)->n--;
    pthread_mutex_unlock (&priv->lock);
    worker_leave (worker);
    return NULL;
}

/* There is none at all: who brought the calls goes on with them. */
static void
work_here (xlator_t *this)
{
    iot_private_t *priv = this->private;
    struct iot_worker here = { .this = this };
    struct iot_call *call;

    pthread_mutex_lock (&priv->lock);
    while ((call = iot_next_locked (priv)))
        do_locked (&here, call);
    pthread_mutex_unlock (&priv->lock);
}

static void
not_started (struct iot_worker *worker, int r)
{
    xlator_t *this = worker->this;
    iot_private_t *priv = this->private;
    struct iot_pool *pool = pool_of (worker);
    call_stub_t *given = worker->given;
    unsigned left;

    pthread_mutex_lock (&priv->lock);
    g_queue_unlink (&pool->workers, &worker->place);
    left = --pool->n;
    pool->awaited -= !worker->for_locks;
    pthread_mutex_unlock (&priv->lock);
    worker_free (worker);
    gf_log (this, GF_LOG_WARNING, "no more threads than %u: %s", left, g_strerror (-r));
    if (given)
        refuse_lock (this, given);
    else if (left == 0)
        work_here (this);
}

void
iot_start (struct iot_worker *worker)
{
    iot_private_t *priv = worker->this->private;
    char name[16];
    int r;

    join_gone (priv, pool_of (worker));
    snprintf (name, sizeof name, worker->for_locks ? "iot-lock-%u" : "iot-%u", worker->number);
    r = thread_new (&worker->thread, name, worker_run, worker);
    if (r < 0)
        not_started (worker, r);
}

void
iot_wake (xlator_t *this)
{
    iot_private_t *priv = this->private;
    struct iot_worker *worker;
    unsigned n;

    pthread_mutex_lock (&priv->lock);
    n = priv->pool.n;
    for (; n > iot_threads_locked (priv) && call_resting_locked (&priv->pool); n--)
        priv->pool.awaited++;
    n = iot_length_locked (priv);
    pthread_mutex_unlock (&priv->lock);
    for (; n > 0; n--) {
        pthread_mutex_lock (&priv->lock);
        worker = iot_call_thread_locked (this);
        pthread_mutex_unlock (&priv->lock);
        if (worker)
            iot_start (worker);
    }
}

void
iot_drain (iot_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    while (priv->set_aside)
        thread_cond_wait (&priv->changed, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

void
iot_stop (iot_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    priv->stopping = true;
    while (call_resting_locked (&priv->pool))
        priv->pool.awaited++;
    while (call_resting_locked (&priv->lockers))
        continue;
    while (priv->pool.workers.length || priv->lockers.workers.length)
        thread_cond_wait (&priv->changed, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
    join_gone (priv, &priv->pool);
    join_gone (priv, &priv->lockers);
}

void
iot_pools_init (iot_private_t *priv)
{
    struct iot_pool *pools[] = { &priv->pool, &priv->lockers };

    for (unsigned i = 0; i < G_N_ELEMENTS (pools); i++) {
        g_queue_init (&pools[i]->workers);
        g_queue_init (&pools[i]->idle);
        g_queue_init (&pools[i]->gone);
    }
}

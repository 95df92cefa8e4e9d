/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/scheduler.h"
#include "core/base/process.h"
#include "core/time/random.h"

#include <errno.h>
#include <glib.h>

#define TODAY INT64_C (1000000000) /* seconds since 1970 */
#define STEP 1000                  /* nanoseconds that pass at each step */

enum task_state {
    TASK_READY,
    TASK_WAITING,
    TASK_ENDED,
};

/* A thread. All fields: scheduler.lock. */
struct task {
    pthread_t thread;
    enum task_state state;
    pthread_cond_t *on; /* the condition that it waits for */
    int64_t until;      /* end of the wait, or -1 for none */
    bool late;          /* the wait ended because of until */
    void *(*run) (void *data);
    void *data;
};

bool scheduler_on;

static struct {
    pthread_mutex_t lock;    /* a leaf */
    pthread_cond_t passed;   /* signalled when the baton is passed */
    struct task *baton;      /* the thread that runs; lock */
    struct task *main;       /* the thread that called scheduler_begin; lock */
    GPtrArray *tasks;        /* of struct task, without main, in the order of their start; lock */
    int64_t now;             /* lock */
    struct random_source random; /* of steps; lock */
    struct random_source seeds;  /* of random_seed; lock */
} scheduler = { .lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER };

static __thread struct task *scheduler_self;

/* --- the baton ------------------------------------------------------------------------------ */

static void
baton_await_locked (struct task *task)
{
    while (scheduler.baton != task)
        pthread_cond_wait (&scheduler.passed, &scheduler.lock);
}

static void
baton_pass_locked (struct task *to)
{
    scheduler.baton = to;
    pthread_cond_broadcast (&scheduler.passed);
}

static void *
task_run (void *data)
{
    struct task *task = data;
    void *result;

    scheduler_self = task;
    pthread_mutex_lock (&scheduler.lock);
    baton_await_locked (task);
    pthread_mutex_unlock (&scheduler.lock);
    result = task->run (task->data);
    pthread_mutex_lock (&scheduler.lock);
    task->state = TASK_ENDED;
    baton_pass_locked (scheduler.main);
    pthread_mutex_unlock (&scheduler.lock);
    return result;
}

int
scheduler_thread_new (pthread_t *ret_thread, void *(*run) (void *data), void *data)
{
    struct task *task = g_new0 (struct task, 1);
    int r;

    task->run = run;
    task->data = data;
    r = pthread_create (&task->thread, NULL, task_run, task);
    if (r != 0) {
        g_free (task);
        return r;
    }
    *ret_thread = task->thread;
    pthread_mutex_lock (&scheduler.lock);
    g_ptr_array_add (scheduler.tasks, task);
    pthread_mutex_unlock (&scheduler.lock);
    return 0;
}

/* --- begin and end -------------------------------------------------------------------------- */

void
scheduler_begin (uint64_t seed)
{
    g_assert (!scheduler_on);
    scheduler.random.state = seed;
    scheduler.seeds.state = ~seed;
    scheduler.now = 0;
    scheduler.tasks = g_ptr_array_new_with_free_func (g_free);
    scheduler.main = scheduler.baton = scheduler_self = g_new0 (struct task, 1);
    scheduler_on = true;
    processes_are_known = false;
}

void
scheduler_end (void)
{
    g_assert (scheduler_on && scheduler_self == scheduler.main);
    for (guint i = 0; i < scheduler.tasks->len; i++)
        g_assert (((struct task *) scheduler.tasks->pdata[i])->state == TASK_ENDED);
    timers_drop ();
    scheduler_on = false;
    processes_are_known = true;
    g_ptr_array_free (scheduler.tasks, TRUE);
    g_free (scheduler.main);
    scheduler_self = NULL;
}

/* --- steps ---------------------------------------------------------------------------------- */

static struct task *
task_ready_locked (unsigned nth)
{
    for (guint i = 0; i < scheduler.tasks->len; i++) {
        struct task *task = scheduler.tasks->pdata[i];

        if (task->state == TASK_READY && nth-- == 0)
            return task;
    }
    return NULL;
}

unsigned
scheduler_threads (void)
{
    unsigned n = 0;

    pthread_mutex_lock (&scheduler.lock);
    while (task_ready_locked (n))
        n++;
    pthread_mutex_unlock (&scheduler.lock);
    return n;
}

void
scheduler_run (unsigned thread)
{
    pthread_mutex_lock (&scheduler.lock);
    struct task *task = task_ready_locked (thread);
    g_assert (task && scheduler_self == scheduler.main);
    scheduler.now += STEP;
    baton_pass_locked (task);
    baton_await_locked (scheduler.main);
    pthread_mutex_unlock (&scheduler.lock);
}

/* Returns the waiting thread, main included, whose timed wait ends first; or NULL. */
static struct task *
task_impatient_locked (void)
{
    struct task *first = scheduler.main->state == TASK_WAITING && scheduler.main->until >= 0
                           ? scheduler.main
                           : NULL;

    for (guint i = 0; i < scheduler.tasks->len; i++) {
        struct task *task = scheduler.tasks->pdata[i];

        if (task->state == TASK_WAITING && task->until >= 0
            && (!first || task->until < first->until))
            first = task;
    }
    return first;
}

bool
scheduler_timers (void)
{
    const int64_t next = timers_next ();
    bool any;

    pthread_mutex_lock (&scheduler.lock);
    any = next >= 0 || task_impatient_locked ();
    pthread_mutex_unlock (&scheduler.lock);
    return any;
}

/* Advances the time to the next timed wait or timer. next: when the next timer is due. If a timed
 * wait ends first, wakes its thread and returns true. */
static bool
task_tire_locked (int64_t next)
{
    struct task *task = task_impatient_locked ();
    const bool first = task && (next < 0 || task->until < next);

    scheduler.now = MAX (scheduler.now + STEP, first ? task->until : next);
    if (first) {
        task->late = true;
        task->state = TASK_READY;
    }
    return first;
}

void
scheduler_fire (void)
{
    const int64_t next = timers_next ();
    bool tired;

    pthread_mutex_lock (&scheduler.lock);
    tired = task_tire_locked (next);
    pthread_mutex_unlock (&scheduler.lock);
    if (!tired && next >= 0)
        timers_call ();
}

void
scheduler_pass (int64_t nanoseconds)
{
    pthread_mutex_lock (&scheduler.lock);
    scheduler.now += nanoseconds;
    pthread_mutex_unlock (&scheduler.lock);
}

bool
scheduler_step (void)
{
    const unsigned threads = scheduler_threads ();

    if (threads)
        scheduler_run (random_below (&scheduler.random, threads));
    else if (scheduler_timers ())
        scheduler_fire ();
    else
        return false;
    return true;
}

/* --- conditions and joining ----------------------------------------------------------------- */

/* Lets other threads run until the task is woken. main runs them itself. If there is nothing left
 * to run, main would wait for ever. */
static void
task_rest (struct task *task)
{
    if (task != scheduler.main) {
        pthread_mutex_lock (&scheduler.lock);
        baton_pass_locked (scheduler.main);
        baton_await_locked (task);
        pthread_mutex_unlock (&scheduler.lock);
        return;
    }
    while (task->state == TASK_WAITING)
        if (!scheduler_step ())
            g_error ("nothing is left to run, and what the main thread waits for has not come");
}

int
scheduler_wait (pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until)
{
    struct task *task = scheduler_self;

    g_assert (task); /* otherwise the thread was not made by thread_new */
    pthread_mutex_lock (&scheduler.lock);
    task->on = cond;
    task->until = until;
    task->late = false;
    task->state = TASK_WAITING;
    pthread_mutex_unlock (&scheduler.lock);
    pthread_mutex_unlock (lock);
    task_rest (task);
    pthread_mutex_lock (lock);
    return task->late ? -ETIMEDOUT : 0;
}

static bool
task_wake_locked (struct task *task, const pthread_cond_t *cond)
{
    if (task->state != TASK_WAITING || task->on != cond)
        return false;
    task->state = TASK_READY;
    return true;
}

/* Wakes all waiting threads, or a random one. */
void
scheduler_signal (pthread_cond_t *cond, bool all)
{
    pthread_mutex_lock (&scheduler.lock);
    const guint n = scheduler.tasks->len,
                skip = all || !n ? 0 : random_below (&scheduler.random, n);
    bool woken = task_wake_locked (scheduler.main, cond);
    for (guint i = 0; i < n && (all || !woken); i++)
        woken = task_wake_locked (scheduler.tasks->pdata[(i + skip) % n], cond) || woken;
    pthread_mutex_unlock (&scheduler.lock);
}

static bool
task_ended (pthread_t thread)
{
    bool ended = true;

    pthread_mutex_lock (&scheduler.lock);
    for (guint i = 0; i < scheduler.tasks->len; i++) {
        const struct task *task = scheduler.tasks->pdata[i];
        ended = ended && (!pthread_equal (task->thread, thread) || task->state == TASK_ENDED);
    }
    pthread_mutex_unlock (&scheduler.lock);
    return ended;
}

/* A thread other than main lets other threads run, and checks again. */
void
scheduler_join (pthread_t thread)
{
    while (!task_ended (thread)) {
        if (scheduler_self != scheduler.main) {
            task_rest (scheduler_self);
        } else if (!scheduler_step ()) {
            g_error ("nothing is left to run, and a thread that is waited for has not ended");
        }
    }
}

/* --- time and random numbers ---------------------------------------------------------------- */

int64_t
scheduler_now (void)
{
    int64_t now;

    pthread_mutex_lock (&scheduler.lock);
    now = scheduler.now;
    pthread_mutex_unlock (&scheduler.lock);
    return now;
}

struct timespec
scheduler_today (void)
{
    const int64_t now = scheduler_now ();

    return (struct timespec){ TODAY + now / 1000000000, now % 1000000000 };
}

uint64_t
scheduler_seed (void)
{
    uint64_t seed;

    pthread_mutex_lock (&scheduler.lock);
    seed = random_next (&scheduler.seeds);
    pthread_mutex_unlock (&scheduler.lock);
    return seed;
}

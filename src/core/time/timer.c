/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/timer.h"
#include "core/time/attempt.h"
#include "core/time/clock.h"
#include "core/time/scheduler.h"
#include "core/time/thread.h"

#include <errno.h>
#include <glib.h>

struct core_timer {
    int64_t due;          /* by clock_now */
    uint64_t number;      /* orders timers that are due at the same time */
    void (*fn) (void *data);
    void *data;
    GSequenceIter *place; /* in timers.queue; NULL during the call of fn */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    GSequence *queue;     /* the next timer first; lock */
    uint64_t number;      /* lock */
    bool running;         /* lock */
    struct attempt start; /* of the timer thread */
} timers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int
timer_compare (gconstpointer a, gconstpointer b, gpointer unused)
{
    const core_timer_t *one = a, *other = b;

    if (one->due != other->due)
        return one->due < other->due ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

/* Takes the timer that is due out of the queue. Returns NULL after waiting if none is due. */
static core_timer_t *
timer_take_locked (void)
{
    GSequenceIter *first = g_sequence_get_begin_iter (timers.queue);

    if (g_sequence_iter_is_end (first) || scheduler_on) {
        pthread_cond_wait (&timers.changed, &timers.lock);
        return NULL;
    }
    core_timer_t *timer = g_sequence_get (first);
    if (timer->due > clock_now ()) {
        thread_cond_wait_until (&timers.changed, &timers.lock, timer->due);
        return NULL;
    }
    g_sequence_remove (first);
    timer->place = NULL;
    return timer;
}

static void *
timer_run (void *unused)
{
    thread_may_not_block = true;
    pthread_mutex_lock (&timers.lock);
    while (true) {
        core_timer_t *timer = timer_take_locked ();
        if (!timer)
            continue;
        pthread_mutex_unlock (&timers.lock);
        timer->fn (timer->data);
        g_free (timer);
        pthread_mutex_lock (&timers.lock);
    }
    return NULL;
}

/* Starts the timer thread: with the first timer, or by timers_start. The thread never ends; a
 * program without timers doesn't have it. */
static int
timers_start_locked (void)
{
    pthread_t thread;
    int r;

    if (!timers.queue)
        timers.queue = g_sequence_new (NULL);
    if (timers.running || scheduler_on)
        return 0;
    if (!attempt_is_due (&timers.start))
        return -EAGAIN;
    thread_cond_init (&timers.changed);
    r = attempt_ended (&timers.start, NULL, thread_new (&thread, "timer", timer_run, NULL),
                       "thread for timers");
    if (r < 0)
        return r;
    pthread_detach (thread);
    timers.running = true;
    return 0;
}

int
timers_start (void)
{
    int r;

    pthread_mutex_lock (&timers.lock);
    r = timers_start_locked ();
    pthread_mutex_unlock (&timers.lock);
    return r;
}

core_timer_t *
timer_after (int64_t nanoseconds, void (*fn) (void *data), void *data)
{
    core_timer_t *timer = g_new0 (core_timer_t, 1);

    timer->due = clock_now () + MAX (nanoseconds, 0);
    timer->fn = fn;
    timer->data = data;
    pthread_mutex_lock (&timers.lock);
    (void) timers_start_locked (); /* on failure, the next timer tries again */
    timer->number = timers.number++;
    timer->place = g_sequence_insert_sorted (timers.queue, timer, timer_compare, NULL);
    if (timers.running && !scheduler_on && timer->place == g_sequence_get_begin_iter (timers.queue))
        pthread_cond_signal (&timers.changed);
    pthread_mutex_unlock (&timers.lock);
    return timer;
}

bool
timer_cancel (core_timer_t *timer)
{
    bool waiting;

    pthread_mutex_lock (&timers.lock);
    waiting = timer->place != NULL;
    if (waiting)
        g_sequence_remove (timer->place);
    pthread_mutex_unlock (&timers.lock);
    if (waiting)
        g_free (timer);
    return waiting;
}

unsigned
timer_count (void)
{
    unsigned n;

    pthread_mutex_lock (&timers.lock);
    n = timers.queue ? (unsigned) g_sequence_get_length (timers.queue) : 0;
    pthread_mutex_unlock (&timers.lock);
    return n;
}

/* --- for a scheduler, which calls timers itself ----------------------------------------------- */

static core_timer_t *
timer_first_locked (void)
{
    GSequenceIter *first = timers.queue ? g_sequence_get_begin_iter (timers.queue) : NULL;

    return first && !g_sequence_iter_is_end (first) ? g_sequence_get (first) : NULL;
}

int64_t
timers_next (void)
{
    pthread_mutex_lock (&timers.lock);
    const core_timer_t *first = timer_first_locked ();
    const int64_t due = first ? first->due : -1;
    pthread_mutex_unlock (&timers.lock);
    return due;
}

static core_timer_t *
timers_pop (void)
{
    pthread_mutex_lock (&timers.lock);
    core_timer_t *timer = timer_first_locked ();
    if (timer) {
        g_sequence_remove (timer->place);
        timer->place = NULL;
    }
    pthread_mutex_unlock (&timers.lock);
    return timer;
}

void
timers_call (void)
{
    core_timer_t *timer = timers_pop ();

    if (timer)
        timer->fn (timer->data);
    g_free (timer);
}

void
timers_drop (void)
{
    core_timer_t *timer;

    while ((timer = timers_pop ()))
        g_free (timer);
}

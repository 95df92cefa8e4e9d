/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 *   held_add -> waiting --timer, release, interrupt, stop--> core/work: go_on
 *
 * The first of these events, under the lock, takes the call out of the list. A timer and an
 * interrupt may come after that, so each has a reference to the struct held.
 */
#include "core/work/delayed.h"
#include "core/time/clock.h"
#include "core/edge/frame.h"
#include "core/time/thread.h"
#include "core/time/timer.h"
#include "core/work/work.h"

#include <errno.h>

struct held {
    struct work_item work; /* first */
    int refs; /* atomic */
    struct held_calls *calls;
    call_stub_t *stub;
    void *data;
    int64_t until;       /* clock_now of its end; 0: until released. calls->lock */
    core_timer_t *timer; /* calls->lock; NULL: none, or it was called */
    GList *place;        /* calls->lock; in calls->waiting, or NULL */
    enum held_end why;   /* set when the call is taken out of calls->waiting */
    struct interrupt_watch interrupt;
};

struct held_calls {
    void (*go_on) (call_stub_t *stub, enum held_end why, void *data);
    pthread_mutex_t lock;
    pthread_cond_t quiet;           /* no call is going on, or no timer is pending */
    GQueue waiting;                 /* lock; of struct held */
    unsigned going;                 /* lock: calls taken out of waiting whose go_on has not
                                     * returned */
    unsigned timers;                /* atomic: pending timers; drops to 0 under the lock */
    bool stopped, paused;           /* lock: new calls are not held */
};

static void
held_unref (struct held *one)
{
    if (__atomic_sub_fetch (&one->refs, 1, __ATOMIC_ACQ_REL) == 0)
        g_free (one);
}

static struct held *
held_ref (struct held *one)
{
    __atomic_add_fetch (&one->refs, 1, __ATOMIC_RELAXED);
    return one;
}

/* Runs on a thread of core/work. Removes the interrupt watch first, since another request may use
 * the frame afterwards. */
static void
held_go_on (struct work_item *work)
{
    struct held *one = (struct held *) work;
    struct held_calls *calls = one->calls;

    stack_off_interrupt (call_stub_frame (one->stub)->root, &one->interrupt);
    calls->go_on (one->stub, one->why, one->data);
    held_unref (one);
    pthread_mutex_lock (&calls->lock);
    if (--calls->going == 0)
        thread_cond_broadcast (&calls->quiet);
    pthread_mutex_unlock (&calls->lock);
}

/* --- the end of holding ----------------------------------------------------------------------- */

/* Takes a call out of the list. A timer that is being called now finds that out. */
static void
held_take_locked (struct held *one, enum held_end why)
{
    struct held_calls *calls = one->calls;

    g_queue_delete_link (&calls->waiting, g_steal_pointer (&one->place));
    one->why = why;
    if (one->timer && timer_cancel (g_steal_pointer (&one->timer))) {
        __atomic_sub_fetch (&calls->timers, 1, __ATOMIC_ACQ_REL);
        held_unref (one);
    }
    calls->going++;
    one->work.run = held_go_on;
    work_put (&one->work);
}

/* Called by a timer, which had a reference. */
static void
held_end (struct held *one, enum held_end why)
{
    struct held_calls *calls = one->calls;

    pthread_mutex_lock (&calls->lock);
    if (why == HELD_DUE)
        one->timer = NULL;
    if (one->place)
        held_take_locked (one, why);
    if (__atomic_sub_fetch (&calls->timers, 1, __ATOMIC_ACQ_REL) == 0)
        thread_cond_broadcast (&calls->quiet);
    pthread_mutex_unlock (&calls->lock);
    held_unref (one);
}

static void
held_due (void *data)
{
    held_end (data, HELD_DUE);
}

static void
held_interrupted (void *data)
{
    held_end (data, HELD_INTERRUPTED);
}

/* Starts a timer, which holds a reference to the call. held_wait waits for pending timers, so calls
 * outlives them. */
static core_timer_t *
held_timer (struct held *one, int64_t nanoseconds, void (*fn) (void *one))
{
    __atomic_add_fetch (&one->calls->timers, 1, __ATOMIC_RELAXED);
    return timer_after (nanoseconds, fn, held_ref (one));
}

/* Runs under the request's lock, where calls->lock must not be taken: a timer does the rest. */
static void
held_on_interrupt (void *data)
{
    held_timer (data, 0, held_interrupted);
}

/* --- functions for translators ---------------------------------------------------------------- */

struct held_calls *
held_new (void (*go_on) (call_stub_t *stub, enum held_end why, void *data))
{
    struct held_calls *calls = g_new0 (struct held_calls, 1);

    calls->go_on = go_on;
    pthread_mutex_init (&calls->lock, NULL);
    thread_cond_init (&calls->quiet);
    work_use ();
    return calls;
}

/* Locks nest: calls->lock, then the request's; held_on_interrupt therefore doesn't take
 * calls->lock. All is done under the lock, since the call may be gone afterwards. */
static void
held_begin_locked (struct held *one, int64_t nanoseconds)
{
    struct held_calls *calls = one->calls;

    g_queue_push_tail (&calls->waiting, one);
    one->place = calls->waiting.tail;
    if (calls->stopped || calls->paused) {
        held_take_locked (one, calls->stopped ? HELD_STOPPED : HELD_RELEASED);
        return;
    }
    if (nanoseconds >= 0) {
        one->until = clock_now () + nanoseconds;
        one->timer = held_timer (one, nanoseconds, held_due);
    }
    one->interrupt = (struct interrupt_watch){ .fn = held_on_interrupt, .data = one };
    stack_on_interrupt (call_stub_frame (one->stub)->root, &one->interrupt);
}

void
held_add (struct held_calls *calls, call_stub_t *stub, int64_t nanoseconds, void *data)
{
    struct held *one = g_new0 (struct held, 1);

    *one = (struct held){ .refs = 1, .calls = calls, .stub = stub, .data = data };
    pthread_mutex_lock (&calls->lock);
    held_begin_locked (one, nanoseconds);
    pthread_mutex_unlock (&calls->lock);
}

static unsigned
held_release_locked (struct held_calls *calls, bool (*which) (const void *data, const void *arg),
                     const void *arg, enum held_end why)
{
    unsigned n = 0;

    for (GList *l = calls->waiting.head, *next; l; l = next) {
        struct held *one = l->data;

        next = l->next;
        if (which && !which (one->data, arg))
            continue;
        held_take_locked (one, why);
        n++;
    }
    return n;
}

unsigned
held_release (struct held_calls *calls, bool (*which) (const void *data, const void *arg),
              const void *arg)
{
    unsigned n;

    pthread_mutex_lock (&calls->lock);
    n = held_release_locked (calls, which, arg, HELD_RELEASED);
    pthread_mutex_unlock (&calls->lock);
    return n;
}

unsigned
held_count (struct held_calls *calls, bool (*which) (const void *data, const void *arg),
            const void *arg)
{
    unsigned n = 0;

    pthread_mutex_lock (&calls->lock);
    for (GList *l = calls->waiting.head; l; l = l->next)
        n += !which || which (((struct held *) l->data)->data, arg);
    pthread_mutex_unlock (&calls->lock);
    return n;
}

void
held_waits_for (struct held_calls *calls, const call_frame_t *frame,
                void (*more) (const void *data, GString *out), GString *out)
{
    pthread_mutex_lock (&calls->lock);
    for (GList *l = calls->waiting.head; l; l = l->next) {
        const struct held *one = l->data;

        if (call_stub_frame (one->stub) != frame)
            continue;
        if (one->until)
            g_string_append_printf (out, "the end of a delay, in %.3f s",
                                    MAX (one->until - clock_now (), 0) / 1e9);
        else
            g_string_append (out, "a release: it hangs");
        if (more)
            more (one->data, out);
        break;
    }
    pthread_mutex_unlock (&calls->lock);
}

static void
held_pause (struct held_calls *calls, bool paused)
{
    pthread_mutex_lock (&calls->lock);
    calls->paused = paused;
    if (paused)
        held_release_locked (calls, NULL, NULL, HELD_RELEASED);
    pthread_mutex_unlock (&calls->lock);
}

static void
held_stop (struct held_calls *calls)
{
    pthread_mutex_lock (&calls->lock);
    calls->stopped = true;
    held_release_locked (calls, NULL, NULL, HELD_STOPPED);
    pthread_mutex_unlock (&calls->lock);
}

static void
held_wait (struct held_calls *calls)
{
    pthread_mutex_lock (&calls->lock);
    while (calls->going || __atomic_load_n (&calls->timers, __ATOMIC_ACQUIRE))
        thread_cond_wait (&calls->quiet, &calls->lock);
    pthread_mutex_unlock (&calls->lock);
}

void
held_notify (struct held_calls *calls, enum xlator_event event)
{
    if (event == XLATOR_HOLDING || event == XLATOR_HOLD_OVER)
        held_pause (calls, event == XLATOR_HOLDING);
    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN)
        held_stop (calls);
    if (event == XLATOR_PARENT_DOWN)
        held_wait (calls);
}

void
held_free (struct held_calls *calls)
{
    if (!calls)
        return;
    held_stop (calls);
    held_wait (calls);
    work_leave ();
    pthread_cond_destroy (&calls->quiet);
    pthread_mutex_destroy (&calls->lock);
    g_free (calls);
}

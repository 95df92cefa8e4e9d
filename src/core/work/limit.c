/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A counted operation has a slot, which holds its start. The next operation takes a free slot, or
 * the slot of an operation that is old by now. If an operation finds another value in its slot at
 * its end, it was counted as old. In this way the path of a request takes no lock.
 */
#include "core/work/limit-internal.h"
#include "core/edge/frame.h"
#include "core/base/process.h"
#include "core/time/ticks.h"
#include "core/time/timer.h"
#include "core/work/turns.h"
#include "core/work/work.h"

#include <errno.h>

/* nanoseconds until the next attempt to start a thread: core/time/attempt.h */
#define NO_THREAD INT64_C (1000000000)
#define RATE_BURST INT64_C (100000000) /* nanoseconds worth of the rate that may begin at once after
                                        * a pause */

/* All limits. An interrupt doesn't know which limit its request waits for. */
pthread_mutex_t all_limits_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before a limit's lock */
GSList *all_limits;                                          /* all_limits_lock */

/* This thread runs waiting operations. Operations that these release go to core/work, so that the
 * stack of this thread stays bounded. */
static __thread bool running_waiters;

/* --- slots ------------------------------------------------------------------------------------ */

static bool
slot_swap (uint64_t *slot, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n (slot, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Returns the slot of the oldest operation, and its start. */
static unsigned
oldest_slot (const struct limit *limit, unsigned most, uint64_t now, uint64_t *ret_since)
{
    unsigned oldest = 0;

    *ret_since = now;
    for (unsigned i = 0; i < most; i++) {
        const uint64_t since = __atomic_load_n (&limit->slots[i], __ATOMIC_RELAXED);

        if (since && ticks_between (since, *ret_since) > 0) {
            *ret_since = since;
            oldest = i;
        }
    }
    return oldest;
}

/* Takes the slot of an old operation. */
static bool
slot_inherit (struct limit *limit, struct limit_turn *turn, unsigned most)
{
    uint64_t since;

    if (limit->age == 0 || __atomic_load_n (&limit->old, __ATOMIC_SEQ_CST) >= limit->most_old)
        return false;
    turn->slot = oldest_slot (limit, most, turn->since, &since);
    if (ticks_between (since, turn->since) < limit->age
        || !slot_swap (&limit->slots[turn->slot], since, turn->since))
        return false;
    __atomic_add_fetch (&limit->old, 1, __ATOMIC_SEQ_CST);
    return true;
}

static bool
slot_take (struct limit *limit, struct limit_turn *turn)
{
    const unsigned most = __atomic_load_n (&limit->most, __ATOMIC_RELAXED);

    turn->limit = limit;
    turn->since = ticks_now ();
    for (turn->slot = 0; turn->slot < most; turn->slot++)
        if (__atomic_load_n (&limit->slots[turn->slot], __ATOMIC_SEQ_CST) == 0
            && slot_swap (&limit->slots[turn->slot], 0, turn->since))
            return true;
    return slot_inherit (limit, turn, most);
}

static void
slot_leave (const struct limit_turn *turn)
{
    if (!slot_swap (&turn->limit->slots[turn->slot], turn->since, 0))
        __atomic_sub_fetch (&turn->limit->old, 1, __ATOMIC_SEQ_CST);
}

/* --- waiting operations ----------------------------------------------------------------------- */

static void limit_look (void *data);

/* Returns the clock_now at which the next operation may begin at the latest: when the oldest one
 * becomes old, or by the rate; 0: when an operation ends. */
static int64_t
next_time_locked (struct limit *limit)
{
    const uint64_t now = ticks_now ();
    uint64_t since;

    if (limit->rate && limit->next > clock_now ())
        return limit->next;
    if (limit->age == 0 || __atomic_load_n (&limit->old, __ATOMIC_SEQ_CST) >= limit->most_old)
        return 0;
    oldest_slot (limit, __atomic_load_n (&limit->most, __ATOMIC_RELAXED), now, &since);
    return clock_now ()
         + (int64_t) ticks_to_ns (limit->age - MIN (ticks_between (since, now), limit->age));
}

static void
watch_locked (struct limit *limit)
{
    const int64_t time = limit->turns.length && !limit->timer && !limit->looking
                           ? next_time_locked (limit)
                           : 0;

    if (time)
        limit->timer = timer_after (time - clock_now (), limit_look, limit);
}

static bool
may_begin_locked (struct limit *limit, struct limit_turn *turn)
{
    if (limit->rate && limit->next > clock_now ())
        return false;
    if (!slot_take (limit, turn))
        return false;
    if (limit->rate)
        limit->next = MAX (limit->next, clock_now () - RATE_BURST) + 1000000000 / limit->rate;
    return true;
}

static void
count_locked (struct limit *limit, int by)
{
    __atomic_add_fetch (&limit->held_up, by, __ATOMIC_SEQ_CST);
    if (!limit->turns.length)
        thread_cond_broadcast (&limit->changed);
}

/* Returns the next operation that may begin, with its slot; or NULL. */
static struct waiter *
next_locked (struct limit *limit)
{
    struct limit_turn turn;
    struct waiter *waiter;

    if (!limit->turns.length)
        return NULL;
    if (!may_begin_locked (limit, &turn)) {
        watch_locked (limit);
        return NULL;
    }
    waiter = (struct waiter *) turns_take (&limit->turns);
    waiter->turn = turn;
    limit->longest = MAX (limit->longest, clock_now () - waiter->since);
    count_locked (limit, -1);
    return waiter;
}

static void
waiter_run (struct waiter *waiter)
{
    call_resume (waiter->stub);
    slot_leave (&waiter->turn);
    g_free (waiter);
}

static struct waiter *
next_waiter (struct limit *limit)
{
    struct waiter *waiter;

    pthread_mutex_lock (&limit->lock);
    waiter = next_locked (limit);
    pthread_mutex_unlock (&limit->lock);
    return waiter;
}

static void
run_waiters (struct limit *limit)
{
    struct waiter *waiter;

    running_waiters = true;
    while ((waiter = next_waiter (limit)))
        waiter_run (waiter);
    running_waiters = false;
}

/* --- on core/work ----------------------------------------------------------------------------- */

static void
run_away (struct work_item *work)
{
    struct waiter *waiter = (struct waiter *) ((char *) work - offsetof (struct waiter, work));
    struct limit *limit = waiter->turn.limit;

    running_waiters = true;
    waiter_run (waiter);
    run_waiters (limit);
    pthread_mutex_lock (&limit->lock);
    __atomic_sub_fetch (&limit->away, 1, __ATOMIC_RELAXED);
    thread_cond_broadcast (&limit->changed);
    pthread_mutex_unlock (&limit->lock);
}

/* Returns whether no operation runs, so that none will start the next one at its end. */
static bool
limit_is_idle (const struct limit *limit)
{
    for (unsigned i = 0; i < LIMIT_MOST; i++)
        if (__atomic_load_n (&limit->slots[i], __ATOMIC_SEQ_CST))
            return false;
    return __atomic_load_n (&limit->old, __ATOMIC_SEQ_CST) == 0;
}

/* Without a thread, the operation waits again: for a thread, or for the end of a running
 * operation. */
static void
take_back (struct limit *limit, struct waiter *waiter)
{
    slot_leave (&waiter->turn);
    pthread_mutex_lock (&limit->lock);
    turns_put_first (&limit->turns, &waiter->entry, waiter->process);
    count_locked (limit, 1);
    if (limit->timer && limit_is_idle (limit) && timer_cancel (limit->timer))
        limit->timer = NULL;
    if (!limit->timer && !limit->looking)
        limit->timer = timer_after (limit_is_idle (limit) ? 0 : NO_THREAD, limit_look, limit);
    pthread_mutex_unlock (&limit->lock);
}

static bool
send_one_away (struct limit *limit, struct waiter *waiter)
{
    __atomic_add_fetch (&limit->away, 1, __ATOMIC_RELAXED);
    waiter->work.run = run_away;
    if (work_try (&waiter->work))
        return true;
    __atomic_sub_fetch (&limit->away, 1, __ATOMIC_RELAXED);
    if (limit->run_anyway)
        waiter_run (waiter);
    else
        take_back (limit, waiter);
    return limit->run_anyway;
}

static void
send_away (struct limit *limit)
{
    struct waiter *waiter;

    while ((waiter = next_waiter (limit)) && send_one_away (limit, waiter))
        continue;
}

static void
limit_look (void *data)
{
    struct limit *limit = data;

    pthread_mutex_lock (&limit->lock);
    limit->timer = NULL;
    limit->looking = true;
    pthread_mutex_unlock (&limit->lock);
    send_away (limit);
    /* If there is no thread, and no running operation that will start the next one at its end, the
     * timer thread runs the next one. That may block the timer thread, but no other thread would
     * run it. */
    if (limit_is_idle (limit))
        run_waiters (limit);
    pthread_mutex_lock (&limit->lock);
    limit->looking = false;
    if (limit->turns.length && work_is_short ())
        limit->timer = timer_after (NO_THREAD, limit_look, limit);
    else
        watch_locked (limit);
    thread_cond_broadcast (&limit->changed);
    pthread_mutex_unlock (&limit->lock);
}

/* Starts waiting operations. */
static void
go_on (struct limit *limit)
{
    if (thread_may_not_block || running_waiters)
        send_away (limit);
    else
        run_waiters (limit);
}

/* --- on the path of an operation -------------------------------------------------------------- */

bool
limit_enter (struct limit *limit, struct limit_turn *ret_turn)
{
    return G_LIKELY (!thread_may_not_block)
        && G_LIKELY (__atomic_load_n (&limit->held_up, __ATOMIC_RELAXED) == 0)
        && slot_take (limit, ret_turn);
}

void
limit_leave (struct limit_turn *turn)
{
    struct limit *limit = turn->limit;

    slot_leave (turn);
    if (G_UNLIKELY (__atomic_load_n (&limit->held_up, __ATOMIC_SEQ_CST)))
        go_on (limit);
}

void
limit_wait (struct limit *limit, call_frame_t *frame, call_stub_t *stub)
{
    struct waiter *waiter;

    if (!stub) {
        frame_fail (frame, ENOMEM);
        return;
    }
    waiter = g_new0 (struct waiter, 1);
    waiter->stub = stub;
    waiter->since = clock_now ();
    waiter->process = process_of_thread (frame->root->pid, waiter->since);
    pthread_mutex_lock (&limit->lock);
    turns_put (&limit->turns, &waiter->entry, waiter->process);
    limit->waited++;
    count_locked (limit, 1);
    pthread_mutex_unlock (&limit->lock);
    go_on (limit);
}

static bool
is_of_request (const struct turns_entry *entry, const void *unique)
{
    const call_stub_t *stub = ((const struct waiter *) entry)->stub;

    return call_stub_frame (stub)->root->unique == *(const uint64_t *) unique
        && !call_stub_is_owed (stub);
}

static struct waiter *
cancel_one (struct limit *limit, uint64_t unique)
{
    struct turns_entry *entry;

    pthread_mutex_lock (&limit->lock);
    entry = turns_find (&limit->turns, is_of_request, &unique);
    if (entry) {
        turns_remove (&limit->turns, entry);
        limit->cancelled++;
        count_locked (limit, -1);
    }
    pthread_mutex_unlock (&limit->lock);
    return (struct waiter *) entry;
}

static struct waiter *
cancel_anywhere (uint64_t unique)
{
    struct waiter *waiter = NULL;

    pthread_mutex_lock (&all_limits_lock);
    for (GSList *at = all_limits; at && !waiter; at = at->next)
        waiter = cancel_one (at->data, unique);
    pthread_mutex_unlock (&all_limits_lock);
    return waiter;
}

bool
limit_cancel (uint64_t unique)
{
    struct waiter *waiter = cancel_anywhere (unique);

    if (!waiter)
        return false;
    call_frame_t *frame = call_stub_frame (waiter->stub);
    call_stub_destroy (waiter->stub);
    g_free (waiter);
    frame_fail (frame, EINTR);
    return true;
}

/* --- creation and end ------------------------------------------------------------------------- */

struct limit *
limit_new (const char *kind, const char *option, unsigned most, int64_t age, unsigned most_old)
{
    struct limit *limit = g_new0 (struct limit, 1);

    ticks_init ();
    *limit = (struct limit){
        .kind = kind, .option = option, .age = ticks_of_ns (age), .most = most, .most_old = most_old
    };
    pthread_mutex_init (&limit->lock, NULL);
    thread_cond_init (&limit->changed);
    turns_init (&limit->turns);
    work_use ();
    pthread_mutex_lock (&all_limits_lock);
    all_limits = g_slist_prepend (all_limits, limit);
    pthread_mutex_unlock (&all_limits_lock);
    return limit;
}

static bool
is_busy_locked (const struct limit *limit)
{
    return limit->turns.length || limit->looking
        || __atomic_load_n (&limit->away, __ATOMIC_RELAXED);
}

bool
limit_drain (struct limit *limit, int64_t until)
{
    bool busy;
    int r = 0;

    pthread_mutex_lock (&limit->lock);
    while ((busy = is_busy_locked (limit)) && r == 0) {
        if (until < 0)
            thread_cond_wait (&limit->changed, &limit->lock);
        else
            r = thread_cond_wait_until (&limit->changed, &limit->lock, until);
    }
    pthread_mutex_unlock (&limit->lock);
    return !busy;
}

/* Stops the timer. A timer that is being called meanwhile finds no operation. */
static void
unwatch (struct limit *limit)
{
    pthread_mutex_lock (&limit->lock);
    if (limit->timer && timer_cancel (limit->timer))
        limit->timer = NULL;
    while (limit->timer || limit->looking)
        thread_cond_wait (&limit->changed, &limit->lock);
    pthread_mutex_unlock (&limit->lock);
}

void
limit_free (struct limit *limit)
{
    if (!limit)
        return;
    pthread_mutex_lock (&all_limits_lock);
    all_limits = g_slist_remove (all_limits, limit);
    pthread_mutex_unlock (&all_limits_lock);
    limit_drain (limit, -1);
    unwatch (limit);
    turns_clear (&limit->turns);
    pthread_cond_destroy (&limit->changed);
    pthread_mutex_destroy (&limit->lock);
    g_free (limit);
    work_leave ();
}

void
limit_run_anyway (struct limit *limit)
{
    limit->run_anyway = true;
}

void
limit_set (struct limit *limit, unsigned most)
{
    __atomic_store_n (&limit->most, most, __ATOMIC_SEQ_CST);
    send_away (limit);
}

void
limit_set_rate (struct limit *limit, unsigned rate)
{
    pthread_mutex_lock (&limit->lock);
    count_locked (limit, (rate != 0) - (limit->rate != 0));
    limit->rate = rate;
    limit->next = 0;
    pthread_mutex_unlock (&limit->lock);
    send_away (limit);
}

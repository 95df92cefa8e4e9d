/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quick.h"
#include "core/process.h"
#include "core/scheduler.h"
#include "core/thread.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SLOW_FOR 16                      /* times what it took */
#define SLOW_MOST INT64_C (2000000000)   /* ns; a call that hung for an hour says nothing about the next ones */

void
quick_set (struct quickness *quick, int64_t limit)
{
    const uint64_t before = __atomic_exchange_n (&quick->limit, ticks_of_ns (limit), __ATOMIC_RELAXED);

    for (unsigned i = 0; i < FOP_MAX && limit == 0; i++)
        __atomic_store_n (&quick->ops[i].slow, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < FOP_MAX && before == 0; i++)
        __atomic_store_n (&quick->ops[i].until, 0, __ATOMIC_RELAXED);
}

void
quick_init (struct quickness *quick, int64_t limit, bool slow)
{
    ticks_init ();
    *quick = (struct quickness){ 0 };
    for (unsigned i = 0; i < FOP_MAX; i++)
        quick->ops[i].slow = slow;
    quick_set (quick, limit);
}

/* How often the kernel has taken the processor from this thread. */
static long
preempted (void)
{
    struct rusage usage;

    return getrusage (RUSAGE_THREAD, &usage) < 0 ? 0 : usage.ru_nivcsw;
}

/* Since it was last asked? It may have been before the call, too. */
static bool
was_preempted (void)
{
    static __thread long before;
    const long now = preempted ();
    const bool was = now != before;

    before = now;
    return was;
}

void
quick_moving (struct moving *ret_moving)
{
    ret_moving->ran = thread_ran ();
    if (ret_moving->ran)
        ret_moving->preempted = preempted ();
}

static void
clear (bool *flag)
{
    if (__atomic_load_n (flag, __ATOMIC_RELAXED))
        __atomic_store_n (flag, false, __ATOMIC_RELAXED);
}

uint64_t
quick_moved (struct quickness *quick, enum fop op, const struct moving *moving, uint64_t begin)
{
    const uint64_t ran = ticks_of_ns ((uint64_t) (thread_ran () - moving->ran)), now = ticks_now (), end = now - ran;
    const uint64_t limit = __atomic_load_n (&quick->limit, __ATOMIC_RELAXED);
    bool *doubtful = &quick->ops[op].moved_slowly;

    if (ticks_between (begin, now) < limit / 4)
        clear (&quick->ops[op].close);
    if (ticks_between (begin, end) < limit) {
        clear (doubtful);
        return end;
    }
    if (moving->behind || preempted () != moving->preempted)
        return 0;
    return __atomic_exchange_n (doubtful, true, __ATOMIC_RELAXED) ? end : 0;
}

/* Somebody steps through it, and nothing takes as long as it took. */
static bool
is_traced (void)
{
    g_autofree char *status = process_status (getpid ());
    const char *at = status ? strstr (status, "\nTracerPid:") : NULL;

    return at && atoi (at + strlen ("\nTracerPid:")) != 0;
}

static uint64_t
slow_for (uint64_t took)
{
    return MIN (took * SLOW_FOR, ticks_of_ns (SLOW_MOST));
}

bool
quick_judge (struct quickness *quick, enum fop op, uint64_t begin, uint64_t end, bool preempted)
{
    const uint64_t took = ticks_between (begin, end);
    const bool quick_now = took < __atomic_load_n (&quick->limit, __ATOMIC_RELAXED);
    uint64_t *until = &quick->ops[op].until, *doubtful = &quick->ops[op].doubtful;

    if (quick_now && end < __atomic_load_n (until, __ATOMIC_RELAXED))
        return false;
    if (quick_now)
        return __atomic_exchange_n (&quick->ops[op].slow, false, __ATOMIC_RELAXED);
    if (preempted && quick_is (quick, op) && end > __atomic_load_n (doubtful, __ATOMIC_RELAXED)) {
        __atomic_store_n (doubtful, end + slow_for (took), __ATOMIC_RELAXED);
        return false;
    }
    __atomic_store_n (&quick->ops[op].took, took, __ATOMIC_RELAXED);
    __atomic_store_n (until, MAX (__atomic_load_n (until, __ATOMIC_RELAXED), end + slow_for (took)), __ATOMIC_RELAXED);
    return !__atomic_exchange_n (&quick->ops[op].slow, true, __ATOMIC_RELAXED);
}

bool
quick_look (struct quickness *quick, enum fop op, uint64_t begin, uint64_t end)
{
    const uint64_t took = ticks_between (begin, end), limit = __atomic_load_n (&quick->limit, __ATOMIC_RELAXED);

    if (took >= limit / 2)
        __atomic_store_n (&quick->ops[op].close, true, __ATOMIC_RELAXED);
    if (took < limit && quick_is (quick, op))
        return false;
    /* It looks slow, and others of its kind weren't. Under a scheduler it is slow, as the time is made up. */
    const bool surprising = quick_is (quick, op) && !scheduler_on;

    if (surprising && is_traced ())
        return false;
    return quick_judge (quick, op, begin, end, surprising && was_preempted ());
}

bool
quick_note_stuck (struct quickness *quick, enum fop op, uint64_t begin, uint64_t now)
{
    if (!quick_is (quick, op) || is_traced ())
        return false;
    return quick_judge (quick, op, begin, now, false);
}

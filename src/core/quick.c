/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quick.h"
#include "core/process.h"
#include "core/scheduler.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SLOW_FOR 16                      /* times what it took */
#define WATCHED_FOR INT64_C (1000000000) /* ns */
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

/* Has the kernel taken the processor from this thread since it was last asked? It may have been before the call, too. */
static bool
was_preempted (void)
{
    static __thread long before;
    struct rusage usage;

    if (getrusage (RUSAGE_THREAD, &usage) < 0 || usage.ru_nivcsw == before)
        return false;
    before = usage.ru_nivcsw;
    return true;
}

void
quick_ask (struct quick_cost *ret_cost)
{
    struct rusage usage;
    struct timespec cpu;

    if (getrusage (RUSAGE_THREAD, &usage) < 0 || clock_gettime (CLOCK_THREAD_CPUTIME_ID, &cpu) < 0)
        return;
    *ret_cost = (struct quick_cost){ true, usage.ru_nvcsw, cpu.tv_sec * INT64_C (1000000000) + cpu.tv_nsec };
}

/* It neither waited nor worked for that long. */
static bool
cost_little (const struct quick_cost *before, int64_t limit)
{
    struct quick_cost now = { 0 };

    quick_ask (&now);
    return now.known && now.waits == before->waits && now.cpu - before->cpu < limit;
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
quick_judge (struct quickness *quick, enum fop op, uint64_t begin, uint64_t end, bool lost)
{
    const uint64_t took = ticks_between (begin, end);
    const bool quick_now = lost || took < __atomic_load_n (&quick->limit, __ATOMIC_RELAXED);
    uint64_t *until = &quick->ops[op].until;

    if (quick_now && end < __atomic_load_n (until, __ATOMIC_RELAXED))
        return false;
    if (quick_now)
        return __atomic_exchange_n (&quick->ops[op].slow, false, __ATOMIC_RELAXED);
    __atomic_store_n (&quick->ops[op].took, took, __ATOMIC_RELAXED);
    __atomic_store_n (until, MAX (__atomic_load_n (until, __ATOMIC_RELAXED), end + slow_for (took)), __ATOMIC_RELAXED);
    return !__atomic_exchange_n (&quick->ops[op].slow, true, __ATOMIC_RELAXED);
}

/* Of one that looks slow. Where nothing is known of it that is found out of the next ones; one that was quick before has the benefit of the
 * doubt. */
static bool
only_lost_processor (struct quickness *quick, enum fop op, const struct quick_cost *cost, uint64_t end)
{
    if (cost->known)
        return cost_little (cost, (int64_t) ticks_to_ns (__atomic_load_n (&quick->limit, __ATOMIC_RELAXED)));
    if (!was_preempted () && end >= __atomic_load_n (&quick->watched, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n (&quick->watched, end + ticks_of_ns (WATCHED_FOR), __ATOMIC_RELAXED);
    return quick_is (quick, op);
}

/* Under a scheduler all is as slow as it looks, as the time is made up; and with no limit all is slow. */
bool
quick_look (struct quickness *quick, enum fop op, uint64_t begin, const struct quick_cost *cost, uint64_t end)
{
    const uint64_t limit = __atomic_load_n (&quick->limit, __ATOMIC_RELAXED);
    const bool looks_slow = ticks_between (begin, end) >= limit;
    const bool lost = looks_slow && limit > 0 && !scheduler_on && only_lost_processor (quick, op, cost, end);

    if (looks_slow && !lost && quick_is (quick, op) && !scheduler_on && is_traced ())
        return false;
    return quick_judge (quick, op, begin, end, lost);
}

bool
quick_note_stuck (struct quickness *quick, enum fop op, uint64_t begin, uint64_t now)
{
    if (!quick_is (quick, op) || is_traced ())
        return false;
    return quick_judge (quick, op, begin, now, false);
}

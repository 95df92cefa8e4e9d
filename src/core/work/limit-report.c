/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What reports say of limits: how many operations run and wait, and what a call waits for. */
#include "core/work/limit-internal.h"

#include "core/base/process.h"
#include "core/edge/frame.h"
#include "core/time/clock.h"
#include "core/time/ticks.h"

/* An operation keeps its slot after it has become old, until another operation needs the slot. */
static void
count_slot (const struct limit *limit, unsigned slot, struct limit_numbers *numbers)
{
    const uint64_t since = __atomic_load_n (&limit->slots[slot], __ATOMIC_RELAXED);

    if (since && limit->age && ticks_between (since, ticks_now ()) >= limit->age)
        numbers->old++;
    else if (since)
        numbers->running++;
}

struct limit_numbers
limit_count (struct limit *limit)
{
    struct limit_numbers numbers = { .most = __atomic_load_n (&limit->most, __ATOMIC_RELAXED),
                                     .old = __atomic_load_n (&limit->old, __ATOMIC_RELAXED) };

    for (unsigned i = 0; i < LIMIT_MOST; i++)
        count_slot (limit, i, &numbers);
    pthread_mutex_lock (&limit->lock);
    numbers.waiting = limit->turns.length;
    numbers.waited = limit->waited;
    numbers.cancelled = limit->cancelled;
    numbers.longest = limit->longest;
    pthread_mutex_unlock (&limit->lock);
    return numbers;
}

static bool
is_of_frame (const struct turns_entry *entry, const void *frame)
{
    return call_stub_frame (((const struct waiter *) entry)->stub) == frame;
}

static void
tell_locked (const struct limit *limit, const struct turns_entry *entry, GString *out)
{
    const unsigned before = turns_place (&limit->turns, entry),
                   old = __atomic_load_n (&limit->old, __ATOMIC_RELAXED);

    g_string_append_printf (out, "one of %u %s (%s), %u before it",
                            __atomic_load_n (&limit->most, __ATOMIC_RELAXED), limit->kind,
                            limit->option, before);
    if (old)
        g_string_append_printf (out, ", %u have been at it for long", old);
    if (limit->rate)
        g_string_append_printf (out, ", %u begin in a second", limit->rate);
}

void
limit_waits_for (const call_frame_t *frame, GString *out)
{
    pthread_mutex_lock (&all_limits_lock);
    for (GSList *at = all_limits; at; at = at->next) {
        struct limit *limit = at->data;
        const struct turns_entry *entry;

        pthread_mutex_lock (&limit->lock);
        entry = turns_find (&limit->turns, is_of_frame, frame);
        if (entry)
            tell_locked (limit, entry, out);
        pthread_mutex_unlock (&limit->lock);
    }
    pthread_mutex_unlock (&all_limits_lock);
}

void
limit_list (GString *out)
{
    pthread_mutex_lock (&all_limits_lock);
    for (GSList *at = all_limits; at; at = at->next) {
        struct limit *limit = at->data;
        const struct limit_numbers n = limit_count (limit);

        if (n.waiting)
            g_string_append_printf (out,
                                    "%u wait for one of %u %s (%s); %u have been at it for long\n",
                                    n.waiting, n.most, limit->kind, limit->option, n.old);
    }
    pthread_mutex_unlock (&all_limits_lock);
}

unsigned
limit_count_waiting (void)
{
    unsigned n = 0;

    pthread_mutex_lock (&all_limits_lock);
    for (GSList *at = all_limits; at; at = at->next)
        n += limit_count (at->data).waiting;
    pthread_mutex_unlock (&all_limits_lock);
    return n;
}

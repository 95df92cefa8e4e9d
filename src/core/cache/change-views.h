/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which answers a cache may keep, and for how long. What is cached is told apart by places: an
 * inode's attributes, a name in a directory, everything at once. Each has a struct change_view; one
 * clock counts all changes.
 *
 *   asked = change_clock_now (&clock);            before a question is wound
 *   change_view_holds (&view, asked)              when the answer is there: may it be kept? And
 *                                                 whenever it is used again: does it still hold?
 *
 *   begun = change_begin (&clock, &view);         before a change is wound
 *   at = change_end (&clock, &view, begun);       when it was answered; not 0: nothing else changed
 *                                                 the place meanwhile, so what the answer says of
 *                                                 it holds, as one that was asked for at `at`
 *   change_happened (&clock, &view);              somebody else changed it
 *
 * So an answer that was on its way while a change was, whichever storage did first, is never kept,
 * nor is what was kept before a change used after it. change_begin, change_end and change_happened
 * of one view are called under the caller's lock; the rest takes none.
 */
#ifndef WINDLASS_CORE_CACHE_CHANGE_VIEWS_H
#define WINDLASS_CORE_CACHE_CHANGE_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

struct change_clock {
    uint64_t now; /* atomic; starts at 0 */
};

struct change_view {
    uint64_t changed_at; /* atomic; written under the caller's lock */
    uint32_t under_way;  /* atomic; written under the caller's lock */
};

static inline uint64_t
change_clock_now (const struct change_clock *clock)
{
    return __atomic_load_n (&clock->now, __ATOMIC_ACQUIRE);
}

static inline uint64_t
change_clock_next (struct change_clock *clock)
{
    return __atomic_add_fetch (&clock->now, 1, __ATOMIC_ACQ_REL);
}

/* under_way is read first: whoever ends a change writes it last. */
static inline bool
change_view_holds (const struct change_view *view, uint64_t asked)
{
    return __atomic_load_n (&view->under_way, __ATOMIC_ACQUIRE) == 0
        && __atomic_load_n (&view->changed_at, __ATOMIC_ACQUIRE) <= asked;
}

static inline uint64_t
change_happened (struct change_clock *clock, struct change_view *view)
{
    const uint64_t at = change_clock_next (clock);

    __atomic_store_n (&view->changed_at, at, __ATOMIC_RELEASE);
    return at;
}

static inline uint64_t
change_begin (struct change_clock *clock, struct change_view *view)
{
    __atomic_store_n (&view->under_way, view->under_way + 1, __ATOMIC_RELEASE);
    return change_happened (clock, view);
}

static inline uint64_t
change_end (struct change_clock *clock, struct change_view *view, uint64_t begun)
{
    const bool alone = view->under_way == 1 && view->changed_at == begun;
    const uint64_t at = change_happened (clock, view);

    __atomic_store_n (&view->under_way, view->under_way - 1, __ATOMIC_RELEASE);
    return alone ? at : 0;
}

#endif

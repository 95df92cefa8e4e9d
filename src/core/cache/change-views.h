/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides which answers a cache may keep, and for how long. A struct change_view stands for each
 * cached place: an inode's attributes, a name in a directory, or everything at once. One clock
 * counts all changes.
 *
 *   asked = change_clock_now (&clock);            before a question is wound
 *   change_view_holds (&view, asked)              at the answer: may it be kept? At each later use:
 *                                                 is it still valid?
 *
 *   begun = change_begin (&clock, &view);         before a change is wound
 *   at = change_end (&clock, &view, begun);       at its answer. If at is not 0, there was no other
 *                                                 change of the place meanwhile: the attributes in
 *                                                 the answer are valid, as if asked for at `at`
 *   change_happened (&clock, &view);              for a change by another client
 *
 * An answer that was under way at the same time as a change is never kept, whichever of the two
 * storage did first. An answer kept before a change is not used after it. change_begin, change_end
 * and change_happened of one view are called under the caller's lock; the rest takes no lock.
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

/* Reads under_way first: change_end writes it last. */
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/threads/dying.h"

#include "core/base/process.h"
#include "core/time/clock.h"
#include "fuse/state.h"

#define AS_THEY_COME INT64_C (1000000000) /* nanoseconds after a dying caller */

static uint64_t *
dying_place (struct bridge *bridge, uint64_t about)
{
    return &bridge->dying.inodes[g_int64_hash (&about) % G_N_ELEMENTS (bridge->dying.inodes)];
}

void
dying_note (struct bridge *bridge, uint64_t about)
{
    if (!__atomic_load_n (&bridge->dying.noted, __ATOMIC_RELAXED))
        return;
    __atomic_store_n (dying_place (bridge, about), about, __ATOMIC_RELAXED);
    __atomic_store_n (&bridge->dying.until, clock_roughly () + AS_THEY_COME, __ATOMIC_RELAXED);
}

bool
dying_is_next (struct bridge *bridge, uint64_t about, pid_t pid)
{
    if (clock_roughly () >= __atomic_load_n (&bridge->dying.until, __ATOMIC_RELAXED)
        || __atomic_load_n (dying_place (bridge, about), __ATOMIC_RELAXED) != about
        || !process_is_dying (pid))
        return false;
    dying_note (bridge, about);
    return true;
}

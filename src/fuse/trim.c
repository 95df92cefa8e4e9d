/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory back to the system. The C library keeps what is freed, which after a walk through a large tree is all that
 * its inodes took. So when the kernel has forgotten many, what is free is given back a while later.
 */
#include "fuse/internal.h"

#include "core/timer.h"

#include <malloc.h>

#define MANY 10000
#define LATER (2LL * 1000000000)

static void
trim (void *unused)
{
    malloc_trim (0);
}

void
trim_note (struct bridge *bridge, unsigned forgotten)
{
    unsigned before = __atomic_fetch_add (&bridge->n_forgotten, forgotten, __ATOMIC_RELAXED);

    if (before / MANY != (before + forgotten) / MANY)
        timer_after (LATER, trim, NULL);
}

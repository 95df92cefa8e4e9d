/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Returns memory to the system. The C library keeps freed memory, and the table keeps the numbers
 * of inodes; after a walk through a large tree that is all that its inodes took. When the kernel
 * has forgotten many inodes, this frees the unused memory a while later.
 */
#include "fuse/trim.h"

#include "core/base/malloc-trim.h"
#include "core/data/spare-buffers.h"
#include "core/time/timer.h"
#include "fuse/state.h"

#define MANY 1000
#define LATER (2LL * 1000000000)

/* taken before the lock of a table */
static pthread_mutex_t trim_lock = PTHREAD_MUTEX_INITIALIZER;
static GSList *trim_bridges; /* trim_lock */
static bool trim_is_due;     /* atomic */

void
trim_begin (struct bridge *bridge)
{
    pthread_mutex_lock (&trim_lock);
    trim_bridges = g_slist_prepend (trim_bridges, bridge);
    pthread_mutex_unlock (&trim_lock);
}

void
trim_end (struct bridge *bridge)
{
    pthread_mutex_lock (&trim_lock);
    trim_bridges = g_slist_remove (trim_bridges, bridge);
    pthread_mutex_unlock (&trim_lock);
}

static void
trim (void *unused)
{
    /* first, so that inodes forgotten from now on start another trim */
    __atomic_store_n (&trim_is_due, false, __ATOMIC_SEQ_CST);
    pthread_mutex_lock (&trim_lock);
    for (GSList *at = trim_bridges; at; at = at->next)
        itable_trim (((struct bridge *) at->data)->itable);
    pthread_mutex_unlock (&trim_lock);
    iobuf_trim ();
    heaps_trim ();
}

void
trim_note (struct bridge *bridge, unsigned forgotten)
{
    unsigned before = __atomic_fetch_add (&bridge->n_forgotten, forgotten, __ATOMIC_RELAXED);

    if (before / MANY != (before + forgotten) / MANY
        && !__atomic_exchange_n (&trim_is_due, true, __ATOMIC_SEQ_CST))
        timer_after (LATER, trim, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * USDT probes: the semaphores that the path of a request reads. bpftrace, perf and the like
 * increment them while they are attached. src/trace/probes.c has the probes.
 *
 * The semaphores of <fop>_start and <fop>_end are adjacent, as are those of wind and unwind: a
 * request finds with two loads and one branch that no tracer is attached.
 */
#ifndef WINDLASS_CORE_REPORT_PROBE_H
#define WINDLASS_CORE_REPORT_PROBE_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "core/table/fops.h"

#ifdef HAVE_SYS_SDT_H

/* Two semaphores of 16 bits each: of the operation's start and end; of wind and unwind in
 * [FOP_NONE]. Atomic; written by tracers. */
extern uint32_t probe_semaphores[FOP_MAX];

static inline bool
probe_pair_is_on (enum fop op)
{
    return __atomic_load_n (&probe_semaphores[op], __ATOMIC_RELAXED) != 0;
}

/* Calls probe_hook: a tracer is attached. Called by code that creates the kernel's requests. */
void probe_wanted (void);

/* Call this before the first wind of a request. */
static inline void
probe_look (enum fop op)
{
    const uint32_t both = __atomic_load_n (&probe_semaphores[op], __ATOMIC_RELAXED)
                          | __atomic_load_n (&probe_semaphores[FOP_NONE], __ATOMIC_RELAXED);

    if (__builtin_expect (both != 0, 0))
        probe_wanted ();
}

/* Called by probe_wanted; NULL: no call. Atomic. */
extern void (*probe_hook) (void);

#else

static inline void
probe_look (enum fop op)
{
}

#endif
#endif

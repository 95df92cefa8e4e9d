/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * USDT probes, as far as the path of a request knows of them: their semaphores, which bpftrace,
 * perf and the like count up while they are attached. The probes themselves are in
 * src/trace/probes.c.
 *
 * The semaphores of <fop>_start and <fop>_end are side by side, and so are those of wind and
 * unwind: so it takes two loads and one branch for a request to see that nobody looks.
 */
#ifndef WINDLASS_CORE_REPORT_PROBE_H
#define WINDLASS_CORE_REPORT_PROBE_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "core/table/fops.h"

#ifdef HAVE_SYS_SDT_H

/* Two of 16 bits each: of fop's start and end; of wind and unwind in [FOP_NONE]. Atomic; others' to
 * write. */
extern uint32_t probe_semaphores[FOP_MAX];

static inline bool
probe_pair_is_on (enum fop op)
{
    return __atomic_load_n (&probe_semaphores[op], __ATOMIC_RELAXED) != 0;
}

/* Somebody looks, and nobody has taken notice. Called by whoever makes requests of the kernel's. */
void probe_wanted (void);

/* Before the first wind of a request. */
static inline void
probe_look (enum fop op)
{
    const uint32_t both = __atomic_load_n (&probe_semaphores[op], __ATOMIC_RELAXED)
                          | __atomic_load_n (&probe_semaphores[FOP_NONE], __ATOMIC_RELAXED);

    if (__builtin_expect (both != 0, 0))
        probe_wanted ();
}

/* Whom probe_wanted tells; NULL: nobody. Atomic. */
extern void (*probe_hook) (void);

#else

static inline void
probe_look (enum fop op)
{
}

#endif
#endif

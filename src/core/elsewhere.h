/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that a thread doesn't do itself, since it serves others too: where they were slow lately (core/quick.h), winds to a
 * translator land in a stub that a thread of a pool goes on with. A route leads there as it leads to who watches (core/translator.c); so
 * what is quick costs nothing, and neither does what isn't used.
 */
#ifndef WINDLASS_CORE_ELSEWHERE_H
#define WINDLASS_CORE_ELSEWHERE_H

#include "core/pool.h"
#include "core/quick.h"
#include "core/translator.h"

struct elsewhere {
    xlator_t *xl;           /* winds to which are meant; constant */
    struct quickness quick;
    struct pool *pool;
    uint64_t handed;        /* how many were handed over; atomic */
};

/* For winds to xl, before the first. limit: nanoseconds, as of quick_init. They have whole names: "slow-0" is a thread. */
struct elsewhere *elsewhere_new (xlator_t *xl, int64_t limit, bool slow);

/* Waits for all. No request comes any more. Takes NULL. */
void elsewhere_free (struct elsewhere *elsewhere);

/* quick says something else since: so the route is another. */
void elsewhere_changed (struct elsewhere *elsewhere);

/* This thread gives the answer to a request that it didn't take: what it was handed took as long as until now. The answer wakes somebody, who may
 * take the processor from it at once. */
void elsewhere_answers (void);

/* What this thread was handed had to wait for others of its kind: struct moving. */
void elsewhere_was_behind (void);

/* What this thread did itself, between two of ticks_now; nothing is noted if end is 0. */
static inline void
elsewhere_note (struct elsewhere *elsewhere, enum fop op, uint64_t begin, uint64_t end)
{
    if (__builtin_expect (end && quick_note (&elsewhere->quick, op, begin, end), 0))
        elsewhere_changed (elsewhere);
}

/* What routes have in the place of a fop of a translator below elsewhere->xl, or its own. */
#define FOP(name) name##_fop elsewhere_##name;
#define ARG(kind, name)
#define REPLY(name)
#define RET(kind, name)
#define END(name)
#include "fops.def"
#include "core/undef.h"

#endif

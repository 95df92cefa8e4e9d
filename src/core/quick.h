/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which operations are quick: whether a thread that serves others too may do one itself, or has another thread do it. Learnt from what
 * they took. One that took T, longer than the limit, counts as slow for sixteen times T, and longer as long as such come: so
 * trying it again in place keeps others waiting for a seventeenth of the time at most. Then the first quick one makes it quick again.
 *
 * The time is the clock's, since asking how long a thread was blocked is a system call. But a call that only lost the processor looks as
 * slow as one that waited for a disk: so of one that looks slow it is asked whether the kernel took the processor from the thread since
 * it was last asked; then it is in doubt, and only the next one counts that comes soon. Where it may well have computed, it is asked at
 * the beginning as well (struct moving). Under a debugger nothing is slow.
 */
#ifndef WINDLASS_CORE_QUICK_H
#define WINDLASS_CORE_QUICK_H

#include "core/fops.h"
#include "core/ticks.h"

struct quickness {
    uint64_t limit; /* ticks; atomic. 0: nothing is quick */
    struct {
        bool slow;          /* atomic */
        uint64_t until;     /* ticks_now from which on it may be quick again; atomic */
        uint64_t doubtful;  /* ticks_now until which another slow one counts, whatever the processor did; atomic */
        uint64_t took;      /* ticks of the last slow one; atomic */
        bool moved_slowly;  /* one was in doubt (struct moving), and none was quick since; atomic */
        bool close;         /* one took half the limit, and none that was asked only a quarter since; atomic */
    } ops[FOP_MAX];
};

/* limit in nanoseconds. slow: what hasn't been done yet. */
void quick_init (struct quickness *quick, int64_t limit, bool slow);

/* 0: all are slow from now on. Else those that were slow by that may be quick again. */
void quick_set (struct quickness *quick, int64_t limit);

static inline bool
quick_is (const struct quickness *quick, enum fop op)
{
    return !__atomic_load_n (&quick->ops[op].slow, __ATOMIC_RELAXED);
}

/* What a thread did besides waiting, of one that may take long without: it moves many bytes, or those of its operation are close to the limit. What
 * the thread had a processor for doesn't count, as no other would have been quicker; and it tells nothing if it lost the processor, or had to
 * wait for others of its kind. Else it is in doubt, as it may have waited for somebody else's lock: two count, with no quick one between them. */
struct moving {
    int64_t ran;    /* thread_ran, when it began; 0: it wasn't asked, which takes half a microsecond, or time is made up */
    long preempted; /* how often the thread had lost the processor until then */
    bool behind;    /* others were before it; atomic */
};

/* Those of this operation took as long lately that it is worth asking. */
static inline bool
quick_is_close (const struct quickness *quick, enum fop op)
{
    return __atomic_load_n (&quick->ops[op].close, __ATOMIC_RELAXED);
}

void quick_moving (struct moving *ret_moving);

/* ticks_now of when it would have ended without what doesn't count; 0: it tells nothing. */
uint64_t quick_moved (struct quickness *quick, enum fop op, const struct moving *moving, uint64_t begin);

/* When one ends that began then. 0: it tells nothing. */
static inline uint64_t
quick_end (struct quickness *quick, enum fop op, const struct moving *moving, uint64_t begin)
{
    return __builtin_expect (moving->ran == 0, 1) ? ticks_now () : quick_moved (quick, op, moving, begin);
}

/* What quick_note does for one that isn't quick, or wasn't, or isn't by much. preempted: the thread lost the processor. */
bool quick_judge (struct quickness *quick, enum fop op, uint64_t begin, uint64_t end, bool preempted);
bool quick_look (struct quickness *quick, enum fop op, uint64_t begin, uint64_t end);

/* One was done by this thread, between these two of ticks_now. Whether quick_is says something else since. */
static inline bool
quick_note (struct quickness *quick, enum fop op, uint64_t begin, uint64_t end)
{
    if (__builtin_expect (end - begin < __atomic_load_n (&quick->limit, __ATOMIC_RELAXED) / 2 && quick_is (quick, op), 1))
        return false;
    return quick_look (quick, op, begin, end);
}

/* One is still being done, by another thread, and has been since begin: it is slow. Whether that is new. */
bool quick_note_stuck (struct quickness *quick, enum fop op, uint64_t begin, uint64_t now);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside limits: the structs that limit.c changes and limit-report.c reads. Not for translators. */
#ifndef WINDLASS_CORE_WORK_LIMIT_INTERNAL_H
#define WINDLASS_CORE_WORK_LIMIT_INTERNAL_H

#include "core/time/timer.h"
#include "core/work/limit.h"
#include "core/work/turns.h"
#include "core/work/work.h"

struct limit {
    const char *kind, *option; /* constant */
    uint64_t age;              /* ticks; constant */
    unsigned most_old;         /* constant */
    bool run_anyway;           /* constant after the first operation */
    unsigned most;             /* atomic */
    unsigned old;              /* atomic: running operations without a slot */
    unsigned held_up;          /* atomic, changed under lock: waiting operations, plus one if there
                                * is a rate. 0: the next operation may take a slot at once */
    unsigned away;             /* atomic: operations handed to core/work */
    uint64_t slots[LIMIT_MOST]; /* atomic; 0: free */

    pthread_mutex_t lock; /* a leaf, except for the lock of timers */
    pthread_cond_t changed; /* no operation waits, or core/work has finished one */
    struct turns turns;   /* lock; of struct waiter */
    core_timer_t *timer;  /* lock; NULL: no timer, or it is being called */
    bool looking;         /* lock; the timer is being called */
    unsigned rate;        /* lock; 0: none */
    int64_t next;         /* lock; with a rate: clock_now when the next operation may begin */
    uint64_t waited, cancelled; /* lock */
    int64_t longest;      /* lock */
};

struct waiter {
    struct turns_entry entry; /* first */
    struct work_item work;
    struct limit_turn turn;
    call_stub_t *stub;
    pid_t process;
    int64_t since; /* clock_now when it began to wait */
};

extern pthread_mutex_t all_limits_lock; /* taken before a limit's own */
extern GSList *all_limits;              /* all_limits_lock */

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The processor of a thread that handles requests. Only that thread uses the struct. */
#ifndef WINDLASS_FUSE_THREADS_PLACE_H
#define WINDLASS_FUSE_THREADS_PLACE_H

#include <stdint.h>
#include <sys/types.h>

struct thread_place {
    int cpu;           /* that the thread is bound to, or -1 */
    pid_t asks;        /* the last caller in a slow turn; 0: not visible in this pid namespace */
    uint64_t answered; /* ticks of the last answer */
    unsigned slow, quick, after; /* turns in a row; the thread checks after `after` slow ones */
};

void thread_place_begin (struct thread_place *ret_place);

/* thread_place_taken: the thread has taken a request. thread_place_answered: the request was
 * handled. */
void thread_place_taken (struct thread_place *place, pid_t asks);
void thread_place_answered (struct thread_place *place);

/* Like thread_place_taken, with the nanoseconds since the previous answer. */
void thread_place_turn (struct thread_place *place, uint64_t nanoseconds, pid_t asks);

#endif

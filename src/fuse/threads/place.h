/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The processor of a thread that handles requests. Only that thread uses the struct. */
#ifndef WINDLASS_FUSE_THREADS_PLACE_H
#define WINDLASS_FUSE_THREADS_PLACE_H

#include <stdint.h>
#include <sys/types.h>

struct place {
    int cpu;           /* that the thread is bound to, or -1 */
    pid_t asks;        /* the last caller in a slow turn; 0: not visible in this pid namespace */
    uint64_t answered; /* ticks of the last answer */
    unsigned slow, quick, after; /* turns in a row; the thread checks after `after` slow ones */
};

void place_begin (struct place *ret_place);

/* place_taken: the thread has taken a request. place_answered: the request was handled. */
void place_taken (struct place *place, pid_t asks);
void place_answered (struct place *place);

/* Like place_taken, with the nanoseconds since the previous answer. */
void place_turn (struct place *place, uint64_t nanoseconds, pid_t asks);

#endif

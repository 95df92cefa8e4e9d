/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a thread that handles requests runs. All of it is that thread's own. */
#ifndef WINDLASS_FUSE_THREADS_PLACE_H
#define WINDLASS_FUSE_THREADS_PLACE_H

#include <stdint.h>
#include <sys/types.h>

struct place {
    int cpu;           /* that it stays on, or -1 */
    pid_t asks;        /* who asked last, in a slow turn; 0: nobody that can be seen from here */
    uint64_t answered; /* ticks */
    unsigned slow, quick, after; /* turns; after so many slow ones it looks */
};

void place_begin (struct place *ret_place);

/* A request of that thread was taken, and what could be done about it at once was done. */
void place_taken (struct place *place, pid_t asks);
void place_answered (struct place *place);

/* The first, so many nanoseconds after the one before was answered. */
void place_turn (struct place *place, uint64_t nanoseconds, pid_t asks);

#endif

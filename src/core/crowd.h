/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many threads at a time are worth having. One that waits, for a disk or for somebody, costs nothing. But one that is in line for a
 * processor makes the line longer for everybody, and nothing is done sooner by it: sixty-four that read from a disk which is quicker than two
 * processors kept those who take requests from both. So some are asked for how much of their time they had a processor or
 * were in line for one (the kernel's schedstat), and no more of them are worth having than keep two for each processor there.
 */
#ifndef WINDLASS_CORE_CROWD_H
#define WINDLASS_CORE_CROWD_H

#include <stdint.h>

#define CROWD_IN_LINE 2 /* for each processor: one that runs, and the next */
#define CROWD_OLD INT64_C (10000000) /* ns; who has been at something for so long waits for it, and isn't one of the crowd */

struct crowd {
    unsigned processors;    /* that this process may run on */
    unsigned noted;
    int64_t took, in_line;  /* ns, of those that were noted last */
};

void crowd_init (struct crowd *ret_crowd);

/* At least two for each processor; as many as there are if nothing was noted, or nobody was in line. */
unsigned crowd_limit (const struct crowd *crowd);

/* Something took so long, in nanoseconds, and so much of that its thread had a processor or was in line for one. */
void crowd_note (struct crowd *crowd, int64_t took, int64_t in_line);

/* How long this thread has had a processor or been in line for one since it began, in nanoseconds; -1 if the kernel doesn't say: it takes
 * CONFIG_SCHED_INFO, and /proc. */
int64_t crowd_in_line (void);

#endif

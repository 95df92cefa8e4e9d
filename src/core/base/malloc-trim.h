/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that the C library keeps after it was freed, and that goes back to the system. Threads
 * have heaps of their own there, and what is free at the end of one goes back only when something
 * large is freed in it, which malloc_trim doesn't do: after many small things it stays.
 *
 * Up to 20 MB of 300,000 forgotten files stayed so. The trim reallocates something of each thread,
 * larger and smaller, which makes the library look at the end of its heap.
 */
#ifndef WINDLASS_CORE_BASE_MALLOC_TRIM_H
#define WINDLASS_CORE_BASE_MALLOC_TRIM_H

/* This thread's heap is one of those. Of core/time/thread.c. */
void heaps_join (void);

/* Gives back what is free in all of them, but for some hundred kilobytes each. Any thread; takes
 * milliseconds for what takes gigabytes. */
void heaps_trim (void);

#endif

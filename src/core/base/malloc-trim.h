/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Returns memory to the system that the C library keeps after free. The library gives each thread a
 * heap. Free memory at the end of a heap is returned only when a large block is freed in that heap,
 * which malloc_trim doesn't cause. After many small blocks the memory stays: up to 20 MB after
 * 300,000 inodes were freed.
 *
 * The trim reallocates a block in each thread's heap, larger and smaller, which makes the library
 * examine the end of the heap.
 */
#ifndef WINDLASS_CORE_BASE_MALLOC_TRIM_H
#define WINDLASS_CORE_BASE_MALLOC_TRIM_H

/* Registers this thread's heap. For core/time/thread.c. */
void heaps_join (void);

/* Returns free memory of all registered heaps, except some hundred kilobytes each. Call it on any
 * thread; takes milliseconds for gigabytes. */
void heaps_trim (void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/malloc-trim.h"

#include <glib.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

/* bytes left at the end of a heap. The library's own limit grows to twice the largest block that
 * was ever freed */
#define KEPT (256 * 1024)
#define SMALL 16
/* the library examines the heap's end when it frees 64 KiB (FASTBIN_CONSOLIDATION_THRESHOLD) or
 * more; blocks from 128 KiB on are outside of heaps */
#define LARGE (96 * 1024)

/* A block in a thread's heap. realloc keeps it in that heap, on whichever thread it is called. */
struct anchor {
    GList link;   /* lock */
    void *memory; /* lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static GList *anchors; /* lock */
static pthread_key_t mine;

static void
trim_leave (void *data)
{
    struct anchor *anchor = data;

    pthread_mutex_lock (&lock);
    anchors = g_list_remove_link (anchors, &anchor->link);
    pthread_mutex_unlock (&lock);
    free (anchor->memory);
    free (anchor);
}

static void
init (void)
{
    mallopt (M_TRIM_THRESHOLD, KEPT);
    pthread_key_create (&mine, trim_leave);
}

void
heaps_join (void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct anchor *anchor = calloc (1, sizeof *anchor);

    pthread_once (&once, init);
    if (!anchor)
        return;
    anchor->memory = malloc (SMALL);
    anchor->link.data = anchor;
    pthread_mutex_lock (&lock);
    anchors = g_list_concat (&anchor->link, anchors);
    pthread_mutex_unlock (&lock);
    pthread_setspecific (mine, anchor);
}

static void
resize (struct anchor *anchor, size_t size)
{
    void *memory = realloc (anchor->memory, size);

    if (memory)
        anchor->memory = memory;
}

/* Frees a large block in the thread's heap, so that the library examines the heap's end. */
static void
grow_and_shrink (void *data, void *unused)
{
    struct anchor *anchor = data;

    resize (anchor, LARGE);
    resize (anchor, SMALL);
}

/* Calls malloc_trim first, which merges free blocks. All under the lock: with a sanitizer's malloc,
 * the first call initialises the library's own malloc, which two threads must not do at once. */
void
heaps_trim (void)
{
    pthread_mutex_lock (&lock);
    malloc_trim (0);
    g_list_foreach (anchors, grow_and_shrink, NULL);
    pthread_mutex_unlock (&lock);
}

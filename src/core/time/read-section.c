/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/read-section.h"

#include <glib.h>
#include <time.h>

#define PAUSE 50000 /* nanoseconds between two looks at a thread that is in a section */
#define STORES_SEEN 10000000 /* nanoseconds: a store leaves a processor's buffer sooner */

static struct {
    pthread_mutex_t lock; /* a leaf */
    struct section_reader *first; /* lock */
    pthread_once_t once;
    pthread_key_t key; /* its destructor gives the struct back when the thread ends */
} readers = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

__thread struct section_reader *section_reader;

static void
section_reader_leave (void *data)
{
    struct section_reader *reader = data;

    pthread_mutex_lock (&readers.lock);
    reader->taken = false;
    pthread_mutex_unlock (&readers.lock);
    section_reader = NULL;
}

static void
section_readers_init (void)
{
    pthread_key_create (&readers.key, section_reader_leave);
}

struct section_reader *
section_reader_new (void)
{
    struct section_reader *reader;

    pthread_once (&readers.once, section_readers_init);
    pthread_mutex_lock (&readers.lock);
    for (reader = readers.first; reader && reader->taken;)
        reader = reader->next;
    if (!reader) {
        reader = g_new0 (struct section_reader, 1);
        reader->next = readers.first;
        readers.first = reader;
    }
    reader->taken = true;
    pthread_mutex_unlock (&readers.lock);
    pthread_setspecific (readers.key, reader);
    return section_reader = reader;
}

/* A thread that has its first section while this waits, begins it after the replacer's store, which
 * the lock orders. */
void
read_section_wait (void)
{
    static const struct timespec pause = { 0, PAUSE }, stores_seen = { 0, STORES_SEEN };
    struct section_reader *reader;

    if (!thread_barrier ())
        nanosleep (&stores_seen, NULL);
    pthread_mutex_lock (&readers.lock);
    reader = readers.first;
    pthread_mutex_unlock (&readers.lock);
    for (; reader; reader = reader->next) {
        const uint32_t sections = __atomic_load_n (&reader->sections, __ATOMIC_ACQUIRE);

        while (sections % 2
               && __atomic_load_n (&reader->sections, __ATOMIC_ACQUIRE) == sections)
            nanosleep (&pause, NULL);
    }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Entries of several kinds in memory with a common limit. The entry used longest ago is evicted
 * first; all entries of a lower class are evicted before any of a higher class.
 *
 *   lru --classes[c]--> entry <-> entry <-> entry        the one used longest ago first
 *
 * The user embeds a struct lru_entry in each object, and has a table of objects with its own lock:
 *
 *   gone = lru_add (&lru, &page->entry, class, size, &fits);   with or without the user's lock
 *   while (gone) ... lru_next (&gone) ...                       without a lock
 *
 * lru.lock is a leaf. The caller owns each entry of gone.
 *
 * An entry belongs to the thread that takes it out. lru_remove returns false if another thread is
 * evicting the entry and is about to look for it in the table. Until that thread has done so, no
 * memory of the entry may be freed, and the table must exist: let each entry hold a reference to
 * it.
 *
 * Every call is O(1), apart from the evicted entries. Any thread may call.
 */
#ifndef WINDLASS_CORE_CACHE_LRU_H
#define WINDLASS_CORE_CACHE_LRU_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LRU_CLASSES 64

struct lru_entry {
    struct lru_entry *next, *prev; /* lru.lock while the entry is in; after its eviction next
                                    * belongs to the caller */
    uint64_t cost;                 /* constant while it is in */
    uint64_t stamp;                /* lru.moves when the entry was moved to the end. Atomic, written
                                    * under lru.lock */
    uint8_t class;                 /* constant while it is in */
    bool in;                       /* atomic, written under lru.lock */
};

struct lru {
    pthread_mutex_t lock;
    uint64_t limit;    /* lock; bytes */
    uint64_t bytes;    /* cost of all entries, at most limit. Atomic, written under lock */
    uint64_t count;    /* number of entries. Atomic, written under lock */
    uint64_t moves;    /* how often an entry was put at an end. Atomic, written under lock */
    uint64_t evicted;  /* entries evicted for others, or because the limit shrank. Atomic, written
                        * under lock */
    uint64_t refused;  /* entries that found no room. Atomic, written under lock */
    uint64_t used;     /* lock; a bit for each class that has entries */
    struct lru_class {
        struct lru_entry *first, *last; /* lock */
        uint64_t bytes;                 /* lock */
    } classes[LRU_CLASSES];
};

void lru_init (struct lru *lru, uint64_t limit);
void lru_destroy (struct lru *lru); /* there must be no entries */

/* Adds an entry as the one used last. Returns the evicted entries, or NULL. *ret_fits false: the
 * cost exceeds the memory for its class and lower ones; the entry isn't added and none is
 * evicted. */
struct lru_entry *
lru_add (struct lru *lru, struct lru_entry *entry, unsigned class, uint64_t cost, bool *ret_fits);

/* Marks the entry as used. Takes no lock if the entry is among those used last; the order of these
 * isn't kept exactly. */
void lru_touch (struct lru *lru, struct lru_entry *entry);

/* Takes the entry out. Returns false if the entry isn't in: it was never added, or another thread
 * has taken it out. */
bool lru_remove (struct lru *lru, struct lru_entry *entry);

/* Sets the limit, and returns the entries that are evicted for it. */
struct lru_entry *lru_set_limit (struct lru *lru, uint64_t limit);

/* Takes the first entry off a list of evicted entries; NULL at its end. */
struct lru_entry *lru_next (struct lru_entry **list);

static inline uint64_t
lru_number (const uint64_t *number)
{
    return __atomic_load_n (number, __ATOMIC_RELAXED);
}

/* Appends "key=value" lines for a dump: limit, bytes, entries, evicted, refused. */
void lru_dump (struct lru *lru, GString *out);

/* For an option's xlator_option.check: an amount of memory, at most that of the machine. */
int lru_check_size (const char *text, char **ret_allowed);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory in which several things are kept under one bound. The entry used longest ago goes first;
 * all entries of a lower class go before any of a higher class.
 *
 *   lru --classes[c]--> entry <-> entry <-> entry        the one used longest ago first
 *
 * The user has a struct lru_entry in each thing, and a lock of its own for the table in which it
 * finds them:
 *
 *   gone = lru_add (&lru, &page->entry, class, size, &fits);   with or without the user's lock
 *   while (gone) ... lru_next (&gone) ...                       without a lock
 *
 * lru.lock is a leaf. The caller owns each entry of gone.
 *
 * An entry belongs to the thread that takes it out. lru_remove returns false if another thread is
 * evicting the entry and is about to look for it in the table. Nothing of the entry may be freed
 * until that thread has done so, and the table has to live as long: let each entry hold a reference
 * of it.
 *
 * Every call is O(1), but for the entries that go. Any thread.
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
    struct lru_entry *next, *prev; /* lru.lock while it is in; of what goes, next is the caller's */
    uint64_t cost;                 /* constant while it is in */
    uint64_t stamp;                /* lru.moves when it was put at the end. Atomic, written under
                                      lru.lock */
    uint8_t class;                 /* constant while it is in */
    bool in;                       /* atomic, written under lru.lock */
};

struct lru {
    pthread_mutex_t lock;
    uint64_t limit;    /* lock; bytes */
    uint64_t bytes;    /* what all cost together, at most limit. Atomic, written under lock */
    uint64_t count;    /* how many there are. Atomic, written under lock */
    uint64_t moves;    /* how often anything was put at an end. Atomic, written under lock */
    uint64_t evicted;  /* how many went because others came, or the limit shrank. Atomic, written
                          under lock */
    uint64_t refused;  /* how many found no room. Atomic, written under lock */
    uint64_t used;     /* lock; a bit for each class that has entries */
    struct lru_class {
        struct lru_entry *first, *last; /* lock */
        uint64_t bytes;                 /* lock */
    } classes[LRU_CLASSES];
};

void lru_init (struct lru *lru, uint64_t limit);
void lru_destroy (struct lru *lru); /* nothing is in it any more */

/* Puts it in as the one used last. Returns what has to go for it, NULL: nothing. *ret_fits false:
 * it is larger than all that is there for its class and lower ones, so it isn't in and nothing
 * goes. */
struct lru_entry *
lru_add (struct lru *lru, struct lru_entry *entry, unsigned class, uint64_t cost, bool *ret_fits);

/* It was used. Takes no lock when it was among those used last anyway; which of these came first
 * isn't remembered then. */
void lru_touch (struct lru *lru, struct lru_entry *entry);

/* Takes it out. false: it isn't in; if it ever was, somebody else has it. */
bool lru_remove (struct lru *lru, struct lru_entry *entry);

/* Sets the limit, and returns what has to go for that. */
struct lru_entry *lru_set_limit (struct lru *lru, uint64_t limit);

/* Takes the first one off a list of those that go; NULL at its end. */
struct lru_entry *lru_next (struct lru_entry **list);

static inline uint64_t
lru_number (const uint64_t *number)
{
    return __atomic_load_n (number, __ATOMIC_RELAXED);
}

/* "key=value" lines for a dump: limit, bytes, entries, evicted, refused. */
void lru_dump (struct lru *lru, GString *out);

/* For an option of how much memory there is to be (xlator_option.check): at most what the machine
 * has. */
int lru_check_size (const char *text, char **ret_allowed);

#endif

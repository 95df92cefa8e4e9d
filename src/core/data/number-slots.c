/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inode numbers that are unique over several file systems. */
#include "core/data/file-system.h"

#include <string.h>

#define NUMBER_BITS 48
#define NUMBER_SLOTS ((1U << 14) - 1) /* 1 and so on */
#define NUMBER_HASHED ((uint64_t) 1 << 62)

void
number_slots_init (struct number_slots *slots)
{
    pthread_mutex_init (&slots->lock, NULL);
    slots->slots = g_hash_table_new (NULL, NULL);
    slots->of = g_hash_table_new (NULL, NULL);
}

void
number_slots_destroy (struct number_slots *slots)
{
    g_hash_table_unref (slots->of);
    g_hash_table_unref (slots->slots);
    pthread_mutex_destroy (&slots->lock);
}

/* A file system that is gone leaves its slot to the next one that comes to it. */
static bool
slot_is_free_locked (struct number_slots *slots, unsigned slot)
{
    const struct file_system *fs = g_hash_table_lookup (slots->slots, GUINT_TO_POINTER (slot));

    if (fs && !__atomic_load_n (&fs->gone, __ATOMIC_RELAXED))
        return false;
    if (fs)
        g_hash_table_remove (slots->of, fs);
    return true;
}

/* Returns a slot, or 0 if none is free. */
static unsigned
slot_of_locked (struct number_slots *slots, const struct file_system *fs)
{
    const unsigned first = gfid_hash (&fs->key) % NUMBER_SLOTS;
    unsigned slot = GPOINTER_TO_UINT (g_hash_table_lookup (slots->of, fs));

    for (unsigned i = 0; slot == 0 && i < NUMBER_SLOTS; i++) {
        slot = 1 + (first + i) % NUMBER_SLOTS;
        if (!slot_is_free_locked (slots, slot)) {
            slot = 0;
            continue;
        }
        g_hash_table_insert (slots->slots, GUINT_TO_POINTER (slot), (gpointer) fs);
        g_hash_table_insert (slots->of, (gpointer) fs, GUINT_TO_POINTER (slot));
    }
    return slot;
}

/* Each step is a bijection, so one file system's numbers have different hashes; number_shown keeps
 * 62 bits, so two may then be equal. */
static uint64_t
number_hash (uint64_t seed, uint64_t ino)
{
    uint64_t hash = ino ^ seed;

    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

uint64_t
number_shown (struct number_slots *slots, const struct file_system *fs, uint64_t ino)
{
    unsigned slot = 0;
    uint64_t seed;

    if (ino >> NUMBER_BITS == 0) {
        pthread_mutex_lock (&slots->lock);
        slot = slot_of_locked (slots, fs);
        pthread_mutex_unlock (&slots->lock);
    }
    if (slot)
        return (uint64_t) slot << NUMBER_BITS | ino;
    memcpy (&seed, fs->key.b, sizeof seed);
    return NUMBER_HASHED | (number_hash (seed, ino) & (NUMBER_HASHED - 1));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/short-numbers.h"

#include "core/time/random.h"

#include <glib.h>
#include <pthread.h>

/* An offset, and the short one that the kernel was told. */
struct short_pair {
    uint64_t directory, offset;
    uint32_t given;
};

/* A hash of the family "multiply-shift" (Dietzfelbinger 1996): with random numbers, any two offsets
 * meet with the chance of random ones. */
struct short_key {
    unsigned __int128 factor, addend;
};

/* When `recent` is full, it becomes `before`, whose pairs are dropped. A pair that is used again
 * moves from `before` to `recent`. */
struct short_numbers {
    unsigned limit;                     /* of recent; constant */
    struct short_key keys[SHORT_TRIES]; /* constant */
    pthread_mutex_t lock;               /* a leaf */
    GHashTable *recent, *before; /* sets of struct short_pair, keyed by directory and given; lock */
};

/* Mixes all bits of a number into all others, since numbers of file systems differ in few. */
static uint64_t
short_mix (uint64_t number)
{
    number = (number ^ number >> 33) * UINT64_C (0xff51afd7ed558ccd);
    number = (number ^ number >> 33) * UINT64_C (0xc4ceb9fe1a85ec53);
    return number ^ number >> 33;
}

static guint
short_pair_hash (gconstpointer data)
{
    const struct short_pair *pair = data;

    return (guint) short_mix (pair->directory ^ (uint64_t) pair->given << 32);
}

static gboolean
short_pair_equal (gconstpointer a, gconstpointer b)
{
    const struct short_pair *x = a, *y = b;

    return x->directory == y->directory && x->given == y->given;
}

static GHashTable *
short_set_new (void)
{
    return g_hash_table_new_full (short_pair_hash, short_pair_equal, g_free, NULL);
}

static unsigned __int128
short_random (struct random_source *source)
{
    const uint64_t upper = random_next (source);

    return (unsigned __int128) upper << 64 | random_next (source);
}

struct short_numbers *
short_numbers_new (unsigned limit)
{
    struct short_numbers *all = g_new0 (struct short_numbers, 1);
    struct random_source source = { random_seed () };

    all->limit = limit;
    for (unsigned i = 0; i < SHORT_TRIES; i++)
        all->keys[i] = (struct short_key){ short_random (&source) | 1, short_random (&source) };
    pthread_mutex_init (&all->lock, NULL);
    all->recent = short_set_new ();
    all->before = short_set_new ();
    return all;
}

void
short_numbers_free (struct short_numbers *all)
{
    if (!all)
        return;
    g_hash_table_destroy (all->recent);
    g_hash_table_destroy (all->before);
    pthread_mutex_destroy (&all->lock);
    g_free (all);
}

uint64_t
short_ino (uint64_t ino)
{
    return ino <= UINT32_MAX ? ino : UINT64_C (1) << 31 | short_mix (ino) >> 33;
}

static void
short_keep_locked (struct short_numbers *all, struct short_pair *pair)
{
    if (g_hash_table_size (all->recent) >= all->limit) {
        g_hash_table_destroy (all->before);
        all->before = all->recent;
        all->recent = short_set_new ();
    }
    g_hash_table_add (all->recent, pair);
}

/* Returns NULL if the table has no such pair. */
static const struct short_pair *
short_find_locked (struct short_numbers *all, const struct short_pair *key)
{
    struct short_pair *pair = g_hash_table_lookup (all->recent, key);

    if (pair)
        return pair;
    pair = g_hash_table_lookup (all->before, key);
    if (pair) {
        g_hash_table_steal (all->before, pair);
        short_keep_locked (all, pair);
    }
    return pair;
}

static uint32_t
short_try (const struct short_numbers *all, unsigned i, uint64_t offset)
{
    const unsigned __int128 hash = all->keys[i].factor * offset + all->keys[i].addend;

    return (uint32_t) SHORT_OFFSET_MIN | (uint32_t) (hash >> 98);
}

uint64_t
short_offset (struct short_numbers *all, uint64_t directory, uint64_t offset)
{
    struct short_pair pair = { .directory = directory, .offset = offset };
    const struct short_pair *known = NULL;

    if (offset < SHORT_OFFSET_MIN)
        return offset;
    pthread_mutex_lock (&all->lock);
    for (unsigned i = 0; i < SHORT_TRIES; i++) {
        pair.given = short_try (all, i, offset);
        known = short_find_locked (all, &pair);
        if (!known || known->offset == offset)
            break;
    }
    if (!known || known->offset != offset)
        short_keep_locked (all, g_memdup2 (&pair, sizeof pair));
    pthread_mutex_unlock (&all->lock);
    return pair.given;
}

bool
short_offset_fits (const struct short_numbers *all, uint64_t offset, uint64_t given)
{
    bool fits = false;

    for (unsigned i = 0; i < SHORT_TRIES && offset >= SHORT_OFFSET_MIN; i++)
        fits |= short_try (all, i, offset) == given;
    return fits;
}

void
short_offset_put (struct short_numbers *all, uint64_t directory, uint64_t offset, uint64_t given)
{
    const struct short_pair pair = { directory, offset, (uint32_t) given };

    pthread_mutex_lock (&all->lock);
    if (!short_find_locked (all, &pair))
        short_keep_locked (all, g_memdup2 (&pair, sizeof pair));
    pthread_mutex_unlock (&all->lock);
}

bool
short_offset_find (struct short_numbers *all, uint64_t directory, uint64_t given,
                   uint64_t *ret_offset)
{
    const struct short_pair key = { .directory = directory, .given = (uint32_t) given };
    const struct short_pair *pair;

    if (given < SHORT_OFFSET_MIN) {
        *ret_offset = given;
        return true;
    }
    if (given > SHORT_OFFSET_MAX)
        return false;
    pthread_mutex_lock (&all->lock);
    pair = short_find_locked (all, &key);
    if (pair)
        *ret_offset = pair->offset;
    pthread_mutex_unlock (&all->lock);
    return pair != NULL;
}

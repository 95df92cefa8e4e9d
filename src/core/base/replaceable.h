/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A value that many threads read and one thread may replace, such as the options that a reload
 * changes. A value in a slot never changes. Each reader holds a reference, so that an old value
 * lives while a thread uses it.
 *
 *   struct settings { struct shared shared; ... };        shared comes first
 *   struct settings *now = shared_get (&priv->slot);      ... shared_unref (&now->shared);
 */
#ifndef WINDLASS_CORE_BASE_REPLACEABLE_H
#define WINDLASS_CORE_BASE_REPLACEABLE_H

#include <pthread.h>

struct shared {
    int refs; /* atomic */
    void (*free) (void *value);
};

struct shared_slot {
    pthread_mutex_t lock; /* a leaf */
    struct shared *now;   /* lock; holds a reference */
};

static inline void
shared_unref (struct shared *value) /* takes NULL */
{
    if (value && __atomic_sub_fetch (&value->refs, 1, __ATOMIC_ACQ_REL) == 0)
        value->free (value);
}

static inline void *
shared_ref (struct shared *value)
{
    __atomic_add_fetch (&value->refs, 1, __ATOMIC_RELAXED);
    return value;
}

/* Returns the current value, with a reference. */
static inline void *
shared_get (struct shared_slot *slot)
{
    void *value;

    pthread_mutex_lock (&slot->lock);
    value = shared_ref (slot->now);
    pthread_mutex_unlock (&slot->lock);
    return value;
}

/* Stores value, and takes over its one reference. Returns the old value, whose reference the caller
 * gets; NULL the first time. A slot is initially all zeros. */
static inline void *
shared_set (struct shared_slot *slot, struct shared *value)
{
    struct shared *old;

    pthread_mutex_lock (&slot->lock);
    old = slot->now;
    slot->now = value;
    pthread_mutex_unlock (&slot->lock);
    return old;
}

#endif

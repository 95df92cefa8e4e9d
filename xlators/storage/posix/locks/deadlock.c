/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds out whether a wait for a record lock would close a circle of owners that wait for each
 * other, which fcntl(2) refuses with EDEADLK.
 *
 * The system does not look for circles among open file description locks, which stand for the
 * owners' locks in the directory. So each wait is listed. Before a wait begins, its owner is
 * searched among the owners that it would wait for, directly or through their own waits. The locks
 * of an owner are read from the kernel's lists at that time, so they are current. A circle is
 * closed by the last wait in it, and waits are added one at a time.
 */
#include "internal.h"

void
posix_wanted_init (struct posix_wanted *wanted)
{
    pthread_mutex_init (&wanted->lock, NULL);
    wanted->list = g_ptr_array_new ();
}

void
posix_wanted_destroy (struct posix_wanted *wanted)
{
    pthread_mutex_destroy (&wanted->lock);
    g_ptr_array_unref (wanted->list);
}

static bool
holds_against (const struct lock_wait *wait, const struct lock_wait *other)
{
    return wait->owner->id != other->owner->id
        && posix_locks_held_against (wait->pi, other->owner->id, &wait->range);
}

/* Adds to reached the waits of all owners that hold a lock that conflicts with `from`. */
static void
reach_next (const GPtrArray *list, const struct lock_wait *from, GPtrArray *reached)
{
    for (guint i = 0; i < list->len; i++)
        if (!g_ptr_array_find (reached, list->pdata[i], NULL)
            && holds_against (from, list->pdata[i]))
            g_ptr_array_add (reached, list->pdata[i]);
}

static bool
closes_circle (const GPtrArray *list, struct lock_wait *wait)
{
    g_autoptr (GPtrArray) reached = g_ptr_array_new ();
    bool closes = false;

    g_ptr_array_add (reached, wait);
    for (guint i = 0; i < reached->len && !closes; i++) {
        closes = holds_against (reached->pdata[i], wait);
        reach_next (list, reached->pdata[i], reached);
    }
    return closes;
}

int
posix_wanted_add (struct posix_wanted *wanted, struct lock_wait *wait)
{
    bool closes;

    pthread_mutex_lock (&wanted->lock);
    closes = closes_circle (wanted->list, wait);
    if (!closes)
        g_ptr_array_add (wanted->list, wait);
    pthread_mutex_unlock (&wanted->lock);
    return closes ? -EDEADLK : 0;
}

void
posix_wanted_remove (struct posix_wanted *wanted, struct lock_wait *wait)
{
    pthread_mutex_lock (&wanted->lock);
    g_ptr_array_remove_fast (wanted->list, wait);
    pthread_mutex_unlock (&wanted->lock);
}

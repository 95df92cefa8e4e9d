/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/cache/lru.h"
#include "core/edge/option.h"

#include <errno.h>
#include <unistd.h>

/* Up to this many entries the order is exact. With more, an entry in the last quarter isn't moved
 * to the end when it is used. */
#define EXACT 64

void
lru_init (struct lru *lru, uint64_t limit)
{
    *lru = (struct lru){ .limit = limit };
    pthread_mutex_init (&lru->lock, NULL);
}

void
lru_destroy (struct lru *lru)
{
    g_assert (lru->count == 0);
    pthread_mutex_destroy (&lru->lock);
}

/* Adds to a number that other threads read without the lock. */
static void
number_add_locked (uint64_t *number, uint64_t by)
{
    __atomic_store_n (number, *number + by, __ATOMIC_RELAXED);
}

static void
append_locked (struct lru *lru, struct lru_entry *entry)
{
    struct lru_class *class = &lru->classes[entry->class];

    entry->next = NULL;
    entry->prev = class->last;
    if (class->last)
        class->last->next = entry;
    else
        class->first = entry;
    class->last = entry;
    number_add_locked (&lru->moves, 1);
    __atomic_store_n (&entry->stamp, lru->moves, __ATOMIC_RELAXED);
}

static void
unlink_locked (struct lru *lru, struct lru_entry *entry)
{
    struct lru_class *class = &lru->classes[entry->class];

    if (entry->prev)
        entry->prev->next = entry->next;
    else
        class->first = entry->next;
    if (entry->next)
        entry->next->prev = entry->prev;
    else
        class->last = entry->prev;
}

static void
insert_locked (struct lru *lru, struct lru_entry *entry)
{
    append_locked (lru, entry);
    lru->used |= (uint64_t) 1 << entry->class;
    lru->classes[entry->class].bytes += entry->cost;
    number_add_locked (&lru->bytes, entry->cost);
    number_add_locked (&lru->count, 1);
    __atomic_store_n (&entry->in, true, __ATOMIC_RELEASE);
}

static void
take_out_locked (struct lru *lru, struct lru_entry *entry)
{
    unlink_locked (lru, entry);
    lru->classes[entry->class].bytes -= entry->cost;
    if (!lru->classes[entry->class].first)
        lru->used &= ~((uint64_t) 1 << entry->class);
    number_add_locked (&lru->bytes, -entry->cost);
    number_add_locked (&lru->count, (uint64_t) -1);
    __atomic_store_n (&entry->in, false, __ATOMIC_RELEASE);
}

/* Takes out entries until the rest and `room` fit in the limit, the lowest class first. */
static struct lru_entry *
shrink_locked (struct lru *lru, uint64_t room)
{
    struct lru_entry *gone = NULL, **end = &gone;

    while (lru->used && lru->bytes + room > lru->limit) {
        struct lru_entry *entry = lru->classes[__builtin_ctzll (lru->used)].first;

        take_out_locked (lru, entry);
        number_add_locked (&lru->evicted, 1);
        entry->next = NULL;
        *end = entry;
        end = &entry->next;
    }
    return gone;
}

/* Memory of higher classes is not available. */
static bool
has_room_locked (const struct lru *lru, unsigned class, uint64_t cost)
{
    uint64_t above = 0;

    for (unsigned c = class + 1; c < LRU_CLASSES; c++)
        above += lru->classes[c].bytes;
    return cost <= lru->limit && above <= lru->limit - cost;
}

struct lru_entry *
lru_add (struct lru *lru, struct lru_entry *entry, unsigned class, uint64_t cost, bool *ret_fits)
{
    struct lru_entry *gone = NULL;

    g_assert (class < LRU_CLASSES);
    pthread_mutex_lock (&lru->lock);
    g_assert (!entry->in);
    *ret_fits = has_room_locked (lru, class, cost);
    if (*ret_fits) {
        gone = shrink_locked (lru, cost);
        entry->class = class;
        entry->cost = cost;
        insert_locked (lru, entry);
    } else {
        number_add_locked (&lru->refused, 1);
    }
    pthread_mutex_unlock (&lru->lock);
    return gone;
}

/* Returns whether the entry is surely in the last quarter: so few moves were made since it was put
 * at the end. */
static bool
is_recent (const struct lru *lru, const struct lru_entry *entry)
{
    const uint64_t count = lru_number (&lru->count);
    const uint64_t since = lru_number (&lru->moves) - lru_number (&entry->stamp);

    return since <= (count < EXACT ? 0 : count / 4);
}

void
lru_touch (struct lru *lru, struct lru_entry *entry)
{
    if (is_recent (lru, entry))
        return;
    pthread_mutex_lock (&lru->lock);
    if (entry->in) {
        unlink_locked (lru, entry);
        append_locked (lru, entry);
    }
    pthread_mutex_unlock (&lru->lock);
}

bool
lru_remove (struct lru *lru, struct lru_entry *entry)
{
    bool in;

    if (!__atomic_load_n (&entry->in, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock (&lru->lock);
    in = entry->in;
    if (in)
        take_out_locked (lru, entry);
    pthread_mutex_unlock (&lru->lock);
    return in;
}

struct lru_entry *
lru_set_limit (struct lru *lru, uint64_t limit)
{
    struct lru_entry *gone;

    pthread_mutex_lock (&lru->lock);
    lru->limit = limit;
    gone = shrink_locked (lru, 0);
    pthread_mutex_unlock (&lru->lock);
    return gone;
}

struct lru_entry *
lru_next (struct lru_entry **list)
{
    struct lru_entry *first = *list;

    if (first)
        *list = first->next;
    return first;
}

void
lru_dump (struct lru *lru, GString *out)
{
    uint64_t limit;

    pthread_mutex_lock (&lru->lock);
    limit = lru->limit;
    pthread_mutex_unlock (&lru->lock);
    g_string_append_printf (out,
                            "limit=%" G_GUINT64_FORMAT "\nbytes=%" G_GUINT64_FORMAT
                            "\nentries=%" G_GUINT64_FORMAT "\n",
                            limit, lru_number (&lru->bytes), lru_number (&lru->count));
    g_string_append_printf (out, "evicted=%" G_GUINT64_FORMAT "\nrefused=%" G_GUINT64_FORMAT "\n",
                            lru_number (&lru->evicted), lru_number (&lru->refused));
}

int
lru_check_size (const char *text, char **ret_allowed)
{
    static const struct xlator_option plain = { .type = OPTION_SIZE, .size = sizeof (uint64_t) };
    const uint64_t memory = (uint64_t) sysconf (_SC_PHYS_PAGES) * (uint64_t) sysconf (_SC_PAGESIZE);
    uint64_t size = 0;

    if (option_parse (&plain, text, &size, ret_allowed) < 0)
        return -EINVAL;
    if (size <= memory)
        return 0;
    *ret_allowed = g_strdup_printf ("must be at most the memory of this machine, %" G_GUINT64_FORMAT
                                    "MB",
                                    memory >> 20);
    return -EINVAL;
}

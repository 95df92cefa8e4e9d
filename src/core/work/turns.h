/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A queue in which processes take turns: a process with a thousand entries delays the first entry
 * of another process by one turn. The owner of the queue guards it with a lock.
 */
#ifndef WINDLASS_CORE_WORK_TURNS_H
#define WINDLASS_CORE_WORK_TURNS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct turns {
    GQueue clients;         /* of struct turns_client, in the order of turns */
    GHashTable *by_process; /* the same clients, by process */
    unsigned length;        /* number of entries */
};

/* Embedded in the struct that waits. */
struct turns_entry {
    GList place; /* in the client's entries; its data is the entry */
    struct turns_client *client;
};

void turns_init (struct turns *turns);
void turns_clear (struct turns *turns); /* must be empty */

/* Appends an entry to those of its process. */
void turns_put (struct turns *turns, struct turns_entry *entry, pid_t process);

/* Returns a taken entry to the head of the queue. */
void turns_put_first (struct turns *turns, struct turns_entry *entry, pid_t process);

/* Takes the entry whose turn it is; NULL if the queue is empty. */
struct turns_entry *turns_take (struct turns *turns);
void turns_remove (struct turns *turns, struct turns_entry *entry);

/* Returns the first entry for which is (entry, data) is true, or NULL. */
struct turns_entry *
turns_find (const struct turns *turns,
            bool (*is) (const struct turns_entry *entry, const void *data), const void *data);

/* Returns how many entries will be taken before this one. */
unsigned turns_place (const struct turns *turns, const struct turns_entry *entry);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A queue in which processes take turns: a process with a thousand entries delays another one's
 * first entry by one turn. The user's lock guards it.
 */
#ifndef WINDLASS_CORE_WORK_TURNS_H
#define WINDLASS_CORE_WORK_TURNS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct turns {
    GQueue clients;         /* of struct turns_client, the next one first */
    GHashTable *by_process; /* the same */
    unsigned length;        /* entries */
};

/* Embedded in what waits. */
struct turns_entry {
    GList place; /* in the client's entries; its data is the entry */
    struct turns_client *client;
};

void turns_init (struct turns *turns);
void turns_clear (struct turns *turns); /* empty by now */

/* At the end of what that process has here. */
void turns_put (struct turns *turns, struct turns_entry *entry, pid_t process);

/* Back to where it was taken from: before all others. */
void turns_put_first (struct turns *turns, struct turns_entry *entry, pid_t process);

/* The entry whose turn it is, taken out; NULL when there is none. */
struct turns_entry *turns_take (struct turns *turns);
void turns_remove (struct turns *turns, struct turns_entry *entry);

/* The first entry for which is (entry, data) holds, or NULL. */
struct turns_entry *
turns_find (const struct turns *turns,
            bool (*is) (const struct turns_entry *entry, const void *data), const void *data);

/* How many go before it. */
unsigned turns_place (const struct turns *turns, const struct turns_entry *entry);

#endif

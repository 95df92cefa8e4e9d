/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/work/turns.h"

/* A process that has entries in the queue. */
struct turns_client {
    pid_t process;
    GQueue entries;
    GList place; /* in turns.clients */
};

void
turns_init (struct turns *turns)
{
    g_queue_init (&turns->clients);
    turns->by_process = g_hash_table_new (g_int_hash, g_int_equal);
    turns->length = 0;
}

void
turns_clear (struct turns *turns)
{
    g_clear_pointer (&turns->by_process, g_hash_table_unref);
}

static struct turns_client *
turns_client_of (struct turns *turns, pid_t process)
{
    struct turns_client *client = g_hash_table_lookup (turns->by_process, &process);

    if (client)
        return client;
    client = g_new0 (struct turns_client, 1);
    client->process = process;
    client->place.data = client;
    g_queue_push_tail_link (&turns->clients, &client->place);
    g_hash_table_insert (turns->by_process, &client->process, client);
    return client;
}

void
turns_put (struct turns *turns, struct turns_entry *entry, pid_t process)
{
    entry->client = turns_client_of (turns, process);
    entry->place = (GList){ .data = entry };
    g_queue_push_tail_link (&entry->client->entries, &entry->place);
    turns->length++;
}

void
turns_put_first (struct turns *turns, struct turns_entry *entry, pid_t process)
{
    entry->client = turns_client_of (turns, process);
    entry->place = (GList){ .data = entry };
    g_queue_push_head_link (&entry->client->entries, &entry->place);
    g_queue_unlink (&turns->clients, &entry->client->place);
    g_queue_push_head_link (&turns->clients, &entry->client->place);
    turns->length++;
}

void
turns_remove (struct turns *turns, struct turns_entry *entry)
{
    struct turns_client *client = g_steal_pointer (&entry->client);

    g_queue_unlink (&client->entries, &entry->place);
    turns->length--;
    if (client->entries.length)
        return;
    g_queue_unlink (&turns->clients, &client->place);
    g_hash_table_remove (turns->by_process, &client->process);
    g_free (client);
}

struct turns_entry *
turns_take (struct turns *turns)
{
    struct turns_client *client = g_queue_peek_head (&turns->clients);
    struct turns_entry *entry;

    if (!client)
        return NULL;
    entry = g_queue_peek_head (&client->entries);
    g_queue_unlink (&turns->clients, &client->place);
    g_queue_push_tail_link (&turns->clients, &client->place);
    turns_remove (turns, entry);
    return entry;
}

struct turns_entry *
turns_find (const struct turns *turns,
            bool (*is) (const struct turns_entry *entry, const void *data), const void *data)
{
    for (const GList *turn = turns->clients.head; turn; turn = turn->next)
        for (const GList *at = ((const struct turns_client *) turn->data)->entries.head; at;
             at = at->next)
            if (is (at->data, data))
                return at->data;
    return NULL;
}

/* Each process whose turn comes before that of this entry's process takes one turn more than this
 * process has entries before this one; each other process takes as many turns. */
unsigned
turns_place (const struct turns *turns, const struct turns_entry *entry)
{
    const unsigned own = (unsigned) g_queue_link_index (&entry->client->entries,
                                                        (GList *) &entry->place);
    unsigned place = own;
    bool before = true;

    for (const GList *at = turns->clients.head; at; at = at->next) {
        const struct turns_client *client = at->data;

        if (client == entry->client)
            before = false;
        else
            place += MIN (client->entries.length, own + before);
    }
    return place;
}

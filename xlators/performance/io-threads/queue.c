/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queues. The higher one comes first, as far as the threads go that its operations may have; but each that waits gets a turn now and
 * then, or a process that only looks at names could stop all reading. Within a queue processes take turns, so who has sixty
 * calls there keeps nobody with one waiting for longer than one of them.
 */
#include "io-threads.h"

/* So often others come first, at most. */
static const unsigned patience[IOT_PRIORITIES] = { [IOT_NORMAL] = 8, [IOT_LOW] = 8, [IOT_LEAST] = 64 };

#define LEAST_BURST INT64_C (100000000) /* ns of its rate that the least queue may have at once, having had nothing */

static guint
process_hash (gconstpointer key)
{
    return (guint) *(const pid_t *) key * 2654435761u;
}

static gboolean
process_equal (gconstpointer a, gconstpointer b)
{
    return *(const pid_t *) a == *(const pid_t *) b;
}

void
iot_queues_init (iot_private_t *priv)
{
    for (unsigned i = 0; i < IOT_PRIORITIES; i++) {
        g_queue_init (&priv->queues[i].turns);
        priv->queues[i].clients = g_hash_table_new (process_hash, process_equal);
    }
}

void
iot_queues_free (iot_private_t *priv)
{
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        g_clear_pointer (&priv->queues[i].clients, g_hash_table_unref);
}

/* --- in and out ----------------------------------------------------------------------------- */

static struct iot_client *
client_of_locked (struct iot_queue *queue, pid_t process)
{
    struct iot_client *client = g_hash_table_lookup (queue->clients, &process);

    if (client)
        return client;
    client = g_new0 (struct iot_client, 1);
    client->process = process;
    client->place.data = client;
    g_queue_push_tail_link (&queue->turns, &client->place);
    g_hash_table_insert (queue->clients, &client->process, client);
    return client;
}

static void
count_locked (iot_private_t *priv, enum iot_priority priority, int by)
{
    priv->queues[priority].length += by;
    if (priority != IOT_LEAST)
        __atomic_store_n (&priv->waiting, priv->waiting + by, __ATOMIC_RELAXED);
}

void
iot_put_locked (iot_private_t *priv, struct iot_call *call, pid_t process)
{
    struct iot_queue *queue = &priv->queues[call->priority];

    call->client = client_of_locked (queue, process);
    call->place.data = call;
    g_queue_push_tail_link (&call->client->calls, &call->place);
    count_locked (priv, call->priority, 1);
}

void
iot_remove_locked (iot_private_t *priv, struct iot_call *call)
{
    struct iot_queue *queue = &priv->queues[call->priority];
    struct iot_client *client = g_steal_pointer (&call->client);

    g_queue_unlink (&client->calls, &call->place);
    count_locked (priv, call->priority, -1);
    if (client->calls.length)
        return;
    g_queue_unlink (&queue->turns, &client->place);
    g_hash_table_remove (queue->clients, &client->process);
    g_free (client);
}

/* --- the least queue's rate ------------------------------------------------------------------- */

static bool
is_limited (const iot_private_t *priv)
{
    return priv->least_rate > 0 && !__atomic_load_n (&priv->ending, __ATOMIC_RELAXED);
}

static bool
least_may_go_locked (const iot_private_t *priv)
{
    return !is_limited (priv) || priv->least_next <= clock_now ();
}

static void
least_goes_locked (iot_private_t *priv)
{
    if (is_limited (priv))
        priv->least_next = MAX (priv->least_next, clock_now () - LEAST_BURST) + 1000000000 / priv->least_rate;
}

int64_t
iot_least_wait_locked (const iot_private_t *priv)
{
    const struct iot_queue *queue = &priv->queues[IOT_LEAST];

    if (!queue->length || !is_limited (priv) || queue->running >= iot_limit_locked (priv, IOT_LEAST))
        return -1;
    return priv->least_next;
}

/* --- whose turn it is ------------------------------------------------------------------------- */

static bool
is_ready_locked (const iot_private_t *priv, enum iot_priority priority)
{
    const struct iot_queue *queue = &priv->queues[priority];

    return queue->length && queue->running < iot_limit_locked (priv, priority)
           && (priority != IOT_LEAST || least_may_go_locked (priv));
}

unsigned
iot_ready_locked (const iot_private_t *priv)
{
    unsigned ready = 0;

    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        if (is_ready_locked (priv, i))
            ready += i == IOT_LEAST && is_limited (priv)
                     ? 1 : MIN (priv->queues[i].length, iot_limit_locked (priv, i) - priv->queues[i].running);
    return ready;
}

/* IOT_PRIORITIES: none. */
static enum iot_priority
choose_locked (const iot_private_t *priv)
{
    enum iot_priority first = IOT_PRIORITIES;

    for (int i = IOT_LEAST; i >= IOT_HIGH; i--) {
        if (!is_ready_locked (priv, i))
            continue;
        if (i != IOT_HIGH && priv->queues[i].passed >= patience[i])
            return i;
        first = i;
    }
    return first;
}

struct iot_call *
iot_next_locked (iot_private_t *priv)
{
    const enum iot_priority priority = choose_locked (priv);

    if (priority == IOT_PRIORITIES)
        return NULL;
    struct iot_queue *queue = &priv->queues[priority];
    struct iot_client *client = g_queue_peek_head (&queue->turns);
    struct iot_call *call = g_queue_peek_head (&client->calls);
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        priv->queues[i].passed += i != priority && priv->queues[i].length > 0;
    queue->passed = 0;
    if (priority == IOT_LEAST)
        least_goes_locked (priv);
    g_queue_unlink (&queue->turns, &client->place);
    g_queue_push_tail_link (&queue->turns, &client->place);
    iot_remove_locked (priv, call);
    return call;
}

/* --- for those who look ----------------------------------------------------------------------- */

unsigned
iot_length_locked (const iot_private_t *priv)
{
    unsigned n = 0;

    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        n += priv->queues[i].length;
    return n;
}

/* Of each process that has its turn before ours as many go first as of ours and one more, of the others as many. */
unsigned
iot_place_locked (const iot_private_t *priv, const struct iot_call *call)
{
    const struct iot_queue *queue = &priv->queues[call->priority];
    const unsigned own = (unsigned) g_queue_link_index (&call->client->calls, (GList *) &call->place);
    unsigned place = own;
    bool before = true;

    for (const GList *at = queue->turns.head; at; at = at->next) {
        const struct iot_client *client = at->data;

        if (client == call->client)
            before = false;
        else
            place += MIN (client->calls.length, own + before);
    }
    return place;
}

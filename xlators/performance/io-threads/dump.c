/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How it stands: state dump, what a call waits for, what is done with a file, and the lengths of the queues as an extended attribute. */
#include "io-threads.h"

#include <string.h>

#define SIZES_KEY "trusted.glusterfs.io-thread-queue-size"

/* --- state dump ------------------------------------------------------------------------------- */

static void
dump_threads_locked (const iot_private_t *priv, GString *out)
{
    g_string_append_printf (out, "maximum_threads_count=%u\ncurrent_threads_count=%u\nsleep_count=%u\nidle_time=%d\n",
                            iot_threads_locked (priv), priv->pool.n, priv->pool.idle.length, priv->idle_seconds);
    g_string_append_printf (out, "threads_started=%" G_GUINT64_FORMAT "\nraised_by=%u\n", priv->pool.started, priv->raised);
    g_string_append_printf (out, "lock_threads_count=%u\nlock_threads_sleep_count=%u\n", priv->lockers.n, priv->lockers.idle.length);
}

static void
dump_queue_locked (const iot_private_t *priv, enum iot_priority i, GString *out)
{
    const struct iot_queue *queue = &priv->queues[i];
    const char *name = iot_priority_names[i];

    g_string_append_printf (out, "max_%s_priority_threads=%u\ncurrent_%s_priority_threads=%u\n", name, iot_limit_locked (priv, i), name,
                            queue->running);
    g_string_append_printf (out, "%s_priority_queue_length=%u\n%s_priority_processes=%u\n", name, queue->length, name,
                            queue->turns.length);
    g_string_append_printf (out, "%s_priority_taken=%" G_GUINT64_FORMAT "\n%s_priority_longest_wait_us=%" G_GINT64_FORMAT "\n", name,
                            queue->taken, name, queue->longest / 1000);
}

static void
dump_busy_locked (const struct iot_pool *pool, GString *out)
{
    const int64_t now = clock_now ();

    for (const GList *at = pool->workers.head; at; at = at->next) {
        const struct iot_worker *worker = at->data;

        if (worker->busy.op != FOP_NONE)
            g_string_append_printf (out, "thread[iot-%s%u]=%s, process %d, unique %" G_GUINT64_FORMAT ", for %.3f s\n",
                                    worker->for_locks ? "lock-" : "", worker->number, fop_name (worker->busy.op), worker->busy.pid,
                                    worker->busy.unique, (now - worker->busy.since) / 1e9);
    }
}

/* What operations take below decides whether they stay. */
static void
dump_took (iot_private_t *priv, GString *out)
{
    uint64_t stayed = 0;

    for (unsigned i = 0; i < FOP_MAX; i++)
        stayed += __atomic_load_n (&priv->stayed[i], __ATOMIC_RELAXED);
    g_string_append_printf (out, "in_place=%" G_GUINT64_FORMAT "\n", stayed);
    for (unsigned i = FOP_NONE + 1; i < FOP_MAX; i++) {
        const uint64_t n = __atomic_load_n (&priv->stayed[i], __ATOMIC_RELAXED);

        if (n)
            g_string_append_printf (out, "in_place[%s]=%" G_GUINT64_FORMAT "%s\n", fop_name (i), n,
                                    quick_is (&priv->quick, i) ? "" : ", but not now");
    }
}

void
iot_dump (xlator_t *this, GString *out)
{
    iot_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    dump_threads_locked (priv, out);
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        dump_queue_locked (priv, i, out);
    g_string_append_printf (out, "least_rate_limit=%d\nwatchdog_seconds=%d\n", priv->least_rate, priv->watchdog_seconds);
    dump_busy_locked (&priv->pool, out);
    dump_busy_locked (&priv->lockers, out);
    pthread_mutex_unlock (&priv->lock);
    g_string_append_printf (out, "cancelled=%" G_GUINT64_FORMAT "\nforsaken=%" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&priv->cancelled, __ATOMIC_RELAXED), __atomic_load_n (&priv->forsaken, __ATOMIC_RELAXED));
    dump_took (priv, out);
}

/* --- what a call waits for -------------------------------------------------------------------- */

static void
tell_turn_locked (const iot_private_t *priv, const struct iot_call *call, GString *out)
{
    static const char *const ordinals[] = { "first", "second", "third" };
    const unsigned place = iot_place_locked (priv, call);
    const struct iot_queue *queue = &priv->queues[call->priority];
    const char *name = iot_priority_names[call->priority];

    if (place < G_N_ELEMENTS (ordinals))
        g_string_append_printf (out, "its turn: %s in the %s queue", ordinals[place], name);
    else
        g_string_append_printf (out, "its turn: number %u in the %s queue", place + 1, name);
    if (call->priority == IOT_LEAST && iot_least_wait_locked (priv) > clock_now ())
        g_string_append_printf (out, ", of which %d a second may go (least-rate-limit)", priv->least_rate);
    else if (queue->running >= iot_limit_locked (priv, call->priority) && queue->running < iot_threads_locked (priv))
        g_string_append_printf (out, ", %u of %u threads that it may have busy (%s-prio-threads)", queue->running,
                                iot_limit_locked (priv, call->priority), name);
    else
        g_string_append_printf (out, ", %u of %u threads busy", priv->pool.n - priv->pool.idle.length, iot_threads_locked (priv));
}

void
iot_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    iot_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        for (const GList *turn = priv->queues[i].turns.head; turn; turn = turn->next)
            for (const GList *at = ((struct iot_client *) turn->data)->calls.head; at; at = at->next)
                if (call_stub_frame (((struct iot_call *) at->data)->stub) == frame)
                    tell_turn_locked (priv, at->data, out);
    pthread_mutex_unlock (&priv->lock);
}

/* --- what is done with a file ------------------------------------------------------------------- */

void
iot_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    iot_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    g_string_append_printf (out, "operations on it, as on any other, go on in up to %d threads (thread-count); processes take turns\n",
                            priv->threads);
    g_string_append_printf (out, "looking at it comes first (up to %d threads, high-prio-threads), then names and attributes "
                            "(%d, normal-prio-threads), then its bytes (%d, low-prio-threads)\n", priv->limits[IOT_HIGH],
                            priv->limits[IOT_NORMAL], priv->limits[IOT_LOW]);
    if (__atomic_load_n (&priv->least, __ATOMIC_RELAXED))
        g_string_append_printf (out, "what processes ask that run with ionice -c idle comes last: %d threads (least-prio-threads)",
                                priv->limits[IOT_LEAST]);
    if (__atomic_load_n (&priv->least, __ATOMIC_RELAXED) && priv->least_rate)
        g_string_append_printf (out, ", %d a second (least-rate-limit)", priv->least_rate);
    if (__atomic_load_n (&priv->least, __ATOMIC_RELAXED))
        g_string_append_c (out, '\n');
    if (priv->in_place)
        g_string_append_printf (out, "while nobody waits, operations of a kind that took less than %.0f us lately go on in the thread that "
                                "brought them (in-place-limit)\n", priv->in_place / 1e3);
    g_string_append_printf (out, "%u calls wait in its queues, %u of %u threads rest\n", iot_length_locked (priv),
                            priv->pool.idle.length, priv->pool.n);
    pthread_mutex_unlock (&priv->lock);
}

/* --- lengths of the queues, for root ------------------------------------------------------------ */

static dict_t *
iot_sizes (iot_private_t *priv)
{
    unsigned n[IOT_PRIORITIES];
    dict_t *dict = dict_new ();

    pthread_mutex_lock (&priv->lock);
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        n[i] = priv->queues[i].length;
    pthread_mutex_unlock (&priv->lock);
    g_autofree char *text = g_strdup_printf ("HIGH=%u NORMAL=%u LOW=%u LEAST=%u", n[IOT_HIGH], n[IOT_NORMAL], n[IOT_LOW], n[IOT_LEAST]);
    dict_set_str (dict, SIZES_KEY, text);
    return dict;
}

bool
iot_answers_sizes (const struct call *call)
{
    if (G_LIKELY (call->op != FOP_getxattr && call->op != FOP_fgetxattr) || !call->name || strcmp (call->name, SIZES_KEY) != 0
        || call->frame->root->uid != 0)
        return false;
    g_autoptr (dict_t) dict = iot_sizes (call->this->private);
    if (call->op == FOP_getxattr)
        STACK_UNWIND (getxattr, call->frame, 0, 0, dict, NULL);
    else
        STACK_UNWIND (fgetxattr, call->frame, 0, 0, dict, NULL);
    return true;
}

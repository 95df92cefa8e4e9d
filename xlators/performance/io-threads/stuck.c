/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * watchdog-secs: a queue that doesn't move is said in the log, with what the threads are busy with, and one more thread is let in. It
 * is looked at by a timer, which there is only while something waits.
 */
#include "io-threads.h"

#define SECOND INT64_C (1000000000)

static void iot_look (void *data);

static void
arm_locked (xlator_t *this)
{
    iot_private_t *priv = this->private;

    priv->watch.timer = timer_after (priv->watchdog_seconds * SECOND / 5, iot_look, this);
}

void
iot_watch_locked (xlator_t *this)
{
    iot_private_t *priv = this->private;

    if (priv->watchdog_seconds == 0 || priv->watch.timer || priv->watch.busy || priv->stopping)
        return;
    for (unsigned i = 0; i < IOT_PRIORITIES; i++) {
        priv->watch.taken[i] = priv->queues[i].taken;
        priv->watch.moved[i] = clock_now ();
    }
    arm_locked (this);
}

/* --- what is stuck ------------------------------------------------------------------------------ */

/* Nothing of the queue went on for so long, though its rate would let it. */
static bool
is_stuck_locked (iot_private_t *priv, enum iot_priority i, int64_t now)
{
    const struct iot_queue *queue = &priv->queues[i];
    const bool by_rate = i == IOT_LEAST && iot_least_wait_locked (priv) > now;

    if (!queue->length || by_rate || queue->taken != priv->watch.taken[i]) {
        priv->watch.taken[i] = queue->taken;
        priv->watch.moved[i] = now;
    }
    return now - priv->watch.moved[i] >= priv->watchdog_seconds * SECOND;
}

static void
tell_busy_locked (const struct iot_pool *pool, int64_t now, GString *out)
{
    for (const GList *at = pool->workers.head; at; at = at->next) {
        const struct iot_worker *worker = at->data;

        if (worker->busy.op != FOP_NONE)
            g_string_append_printf (out, "%siot-%u %s of process %d for %.1f s (request %" G_GUINT64_FORMAT ")", out->len ? ", " : "",
                                    worker->number, fop_name (worker->busy.op), worker->busy.pid, (now - worker->busy.since) / 1e9,
                                    worker->busy.unique);
    }
}

static void
tell_stuck_locked (iot_private_t *priv, enum iot_priority i, int64_t now, GString *out)
{
    g_autoptr (GString) busy = g_string_new (NULL);

    tell_busy_locked (&priv->pool, now, busy);
    g_string_append_printf (out, "%sno call of the %s queue went on for %.1f s; %u wait there, and %u of %u threads are there: %s",
                            out->len ? "; " : "", iot_priority_names[i], (now - priv->watch.moved[i]) / 1e9, priv->queues[i].length,
                            priv->pool.n, iot_threads_locked (priv), busy->len ? busy->str : "none is busy");
    priv->watch.moved[i] = now;
}

/* Lets one more in; when nothing waits any more, those beyond what options say may go. */
static char *
look_locked (iot_private_t *priv)
{
    g_autoptr (GString) out = g_string_new (NULL);
    const int64_t now = clock_now ();

    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        if (is_stuck_locked (priv, i, now))
            tell_stuck_locked (priv, i, now, out);
    if (!iot_length_locked (priv))
        priv->raised = 0;
    if (!out->len)
        return NULL;
    if (priv->raised < IOT_RAISED_MAX)
        priv->raised++;
    g_string_append_printf (out, "; from now on there may be %u", iot_threads_locked (priv));
    return g_strdup (out->str);
}

static void
iot_look (void *data)
{
    xlator_t *this = data;
    iot_private_t *priv = this->private;
    g_autofree char *stuck = NULL;

    pthread_mutex_lock (&priv->lock);
    priv->watch.timer = NULL;
    priv->watch.busy = true;
    stuck = priv->watchdog_seconds ? look_locked (priv) : NULL;
    pthread_mutex_unlock (&priv->lock);
    if (stuck)
        gf_log (this, GF_LOG_WARNING, "%s", stuck);
    iot_wake (this);
    pthread_mutex_lock (&priv->lock);
    priv->watch.busy = false;
    if (priv->watchdog_seconds && !priv->stopping && (iot_length_locked (priv) || priv->raised))
        arm_locked (this);
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
}

/* No thread is left, and the timer is not called any more. */
void
iot_unwatch (iot_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    if (priv->watch.timer && timer_cancel (priv->watch.timer))
        priv->watch.timer = NULL;
    while (priv->watch.timer || priv->watch.busy)
        thread_cond_wait (&priv->changed, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

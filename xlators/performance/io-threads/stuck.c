/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watchdog-secs: if calls of a priority wait and none has gone on for so long, logs that and
 * permits one more to run. */
#include "io-threads.h"

#define SECOND INT64_C (1000000000)

static void iot_look (void *data);

void
iot_watch_locked (xlator_t *this)
{
    iot_private_t *priv = this->private;

    if (priv->watchdog_seconds > 0 && !priv->timer && !priv->looking)
        priv->timer = timer_after (priv->watchdog_seconds * SECOND, iot_look, this);
}

static void
raise_one (xlator_t *this, enum iot_priority i, unsigned waiting, int seconds)
{
    iot_private_t *priv = this->private;
    struct iot_seen *seen = &priv->seen[i];
    unsigned most;

    pthread_mutex_lock (&priv->lock);
    most = MIN (iot_most_locked (priv, i) + seen->raised + 1, IOT_THREADS_MAX);
    pthread_mutex_unlock (&priv->lock);
    seen->raised++;
    gf_log (this, GF_LOG_WARNING,
            "no call of %s priority that waits went on for %d s; %u wait; from now on %u may run "
            "at a time (watchdog-secs); "
            "'windlass inflight' says what they are at",
            iot_priority_names[i], seconds, waiting, most);
    limit_set (priv->of[i], most);
}

/* Additions stay until no call waits. */
static void
stuck_look_at (xlator_t *this, enum iot_priority i, int seconds)
{
    iot_private_t *priv = this->private;
    struct iot_seen *seen = &priv->seen[i];
    const struct limit_numbers n = limit_count (priv->of[i]);
    const uint64_t begun = n.waited - n.waiting - n.cancelled;

    if (n.waiting && begun == seen->begun) {
        raise_one (this, i, n.waiting, seconds);
    } else if (!n.waiting && seen->raised) {
        seen->raised = 0;
        pthread_mutex_lock (&priv->lock);
        const unsigned most = iot_most_locked (priv, i);
        pthread_mutex_unlock (&priv->lock);
        limit_set (priv->of[i], most);
    }
    seen->begun = begun;
}

static void
iot_look (void *data)
{
    xlator_t *this = data;
    iot_private_t *priv = this->private;
    int seconds;

    pthread_mutex_lock (&priv->lock);
    priv->timer = NULL;
    priv->looking = true;
    seconds = priv->watchdog_seconds;
    pthread_mutex_unlock (&priv->lock);
    for (unsigned i = 0; i < IOT_PRIORITIES && seconds > 0; i++)
        stuck_look_at (this, i, seconds);
    pthread_mutex_lock (&priv->lock);
    priv->looking = false;
    iot_watch_locked (this);
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
}

void
iot_unwatch (iot_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    priv->watchdog_seconds = 0;
    if (priv->timer && timer_cancel (priv->timer))
        priv->timer = NULL;
    while (priv->timer || priv->looking)
        thread_cond_wait (&priv->changed, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Without trickling-writes a small write waits until others have made it a large one, whatever else happens. But not for ever: a thread,
 * started when there is the first, sends what has waited for a second.
 */
#include "write-behind.h"

#define NUDGE_AFTER 1000000000 /* nanoseconds */

void
wb_nudge_all (xlator_t *this)
{
    GPtrArray *inodes = wb_busy_inodes (this);
    wb_ready_t ready = WB_READY_INIT;

    for (guint i = 0; i < inodes->len; i++)
        wb_queue_nudge (wb_inode_get (this, inodes->pdata[i]), &ready);
    g_ptr_array_unref (inodes);
    wb_run (this, &ready);
}

static void *
nudge_run (void *data)
{
    xlator_t *this = data;
    wb_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    while (!priv->nudge.ending) {
        if (!priv->nudge.asked) {
            thread_cond_wait (&priv->nudge.wake, &priv->lock);
            continue;
        }
        const int64_t until = clock_now () + NUDGE_AFTER;
        while (!priv->nudge.ending && thread_cond_wait_until (&priv->nudge.wake, &priv->lock, until) == 0)
            continue;
        priv->nudge.asked = false;
        pthread_mutex_unlock (&priv->lock);
        wb_nudge_all (this);
        pthread_mutex_lock (&priv->lock);
    }
    pthread_mutex_unlock (&priv->lock);
    return NULL;
}

bool
wb_nudge_later (xlator_t *this)
{
    wb_private_t *priv = this->private;
    bool started;

    pthread_mutex_lock (&priv->lock);
    if (!priv->nudge.started)
        priv->nudge.started = thread_new (&priv->nudge.thread, "write-behind", nudge_run, this) == 0;
    started = priv->nudge.started;
    priv->nudge.asked = true;
    thread_cond_signal (&priv->nudge.wake);
    pthread_mutex_unlock (&priv->lock);
    return started;
}

void
wb_nudge_end (xlator_t *this)
{
    wb_private_t *priv = this->private;
    bool started;

    pthread_mutex_lock (&priv->lock);
    started = priv->nudge.started;
    priv->nudge.ending = true;
    thread_cond_signal (&priv->nudge.wake);
    pthread_mutex_unlock (&priv->lock);
    if (started)
        thread_join (priv->nudge.thread);
}

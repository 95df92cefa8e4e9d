/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The nudge thread. It starts when it is first needed.
 *
 * Without trickling-writes, a small write waits until other writes have joined it and made it
 * large. The thread sends a write that has waited for one second.
 *
 * The thread also tells the translators above about an inode that lost answered bytes. The kernel
 * has these bytes in its page cache and would go on showing them: then a database takes an
 * incomplete log for complete. The invalidation may have to wait for requests. So it is not made on
 * a thread that handles one.
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

/* Starts the nodes whose number has been reached. Releases the lock meanwhile. */
static void
go_on_after_locked (xlator_t *this)
{
    wb_private_t *priv = this->private;
    wb_ready_t ready = WB_READY_INIT;
    struct wb_after *first;

    while ((first = g_queue_peek_head (&priv->nudge.after))
           && first->number <= priv->nudge.n_told) {
        g_queue_pop_head (&priv->nudge.after);
        g_queue_push_tail (&ready, &first->node);
    }
    pthread_mutex_unlock (&priv->lock);
    wb_run (this, &ready);
    pthread_mutex_lock (&priv->lock);
}

/* Once the mount is ending, no invalidation is needed: the kernel drops its pages anyway. */
static void
tell_lost_locked (xlator_t *this)
{
    wb_private_t *priv = this->private;
    inode_t *inode = g_queue_pop_head (&priv->nudge.lost);

    priv->nudge.telling = true;
    pthread_mutex_unlock (&priv->lock);
    if (!WB_OPTION (this, ending))
        xlator_pass_on (this, XLATOR_INVALIDATE,
                        &(struct invalidation){ .inode = inode,
                                                .what = INVALIDATE_DATA | INVALIDATE_ATTRIBUTES });
    inode_unref (inode);
    pthread_mutex_lock (&priv->lock);
    priv->nudge.n_told++;
    go_on_after_locked (this);
    priv->nudge.telling = false;
    thread_cond_broadcast (&priv->idle);
}

/* Waits for a second, or until the thread has other work, then sends the delayed writes. */
static void
wait_for_company_locked (xlator_t *this)
{
    wb_private_t *priv = this->private;
    const int64_t until = clock_now () + NUDGE_AFTER;

    while (!priv->nudge.ending && !priv->nudge.lost.length
           && thread_cond_wait_until (&priv->nudge.wake, &priv->lock, until) == 0)
        continue;
    priv->nudge.asked = false;
    pthread_mutex_unlock (&priv->lock);
    wb_nudge_all (this);
    pthread_mutex_lock (&priv->lock);
}

static void *
nudge_run (void *data)
{
    xlator_t *this = data;
    wb_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    while (!priv->nudge.ending) {
        if (priv->nudge.lost.length)
            tell_lost_locked (this);
        else if (priv->nudge.asked)
            wait_for_company_locked (this);
        else
            thread_cond_wait (&priv->nudge.wake, &priv->lock);
    }
    pthread_mutex_unlock (&priv->lock);
    return NULL;
}

static bool
nudge_start_locked (xlator_t *this)
{
    wb_private_t *priv = this->private;

    if (!priv->nudge.started && attempt_is_due (&priv->nudge.start))
        priv->nudge.started =
            attempt_ended (&priv->nudge.start, this,
                           thread_new (&priv->nudge.thread, "write-behind", nudge_run, this),
                           "thread that writes later")
            == 0;
    thread_cond_signal (&priv->nudge.wake);
    return priv->nudge.started;
}

bool
wb_nudge_later (xlator_t *this)
{
    wb_private_t *priv = this->private;
    bool started;

    pthread_mutex_lock (&priv->lock);
    started = nudge_start_locked (this);
    priv->nudge.asked = true;
    pthread_mutex_unlock (&priv->lock);
    return started;
}

void
wb_nudge_lost (xlator_t *this, inode_t *inode)
{
    wb_private_t *priv = this->private;
    bool started;

    pthread_mutex_lock (&priv->lock);
    started = nudge_start_locked (this);
    if (started) {
        g_queue_push_tail (&priv->nudge.lost, inode_ref (inode));
        priv->nudge.n_lost++;
    }
    pthread_mutex_unlock (&priv->lock);
}

void
wb_nudge_after (xlator_t *this, struct wb_after *after)
{
    wb_private_t *priv = this->private;
    wb_ready_t ready = WB_READY_INIT;

    pthread_mutex_lock (&priv->lock);
    after->number = priv->nudge.n_lost;
    if (priv->nudge.n_told < after->number)
        g_queue_push_tail (&priv->nudge.after, after);
    else
        g_queue_push_tail (&ready, &after->node);
    pthread_mutex_unlock (&priv->lock);
    wb_run (this, &ready);
}

void
wb_nudge_wait (xlator_t *this)
{
    wb_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    while (priv->nudge.telling || priv->nudge.lost.length)
        thread_cond_wait (&priv->idle, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
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

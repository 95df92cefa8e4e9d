/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The thread that makes all changes, which gives them an order. */
#include "power-cut.h"

static struct cut_job *
worker_next (power_cut_private_t *priv)
{
    struct cut_job *job;

    pthread_mutex_lock (&priv->lock);
    while (priv->jobs.length == 0 && !priv->stopping)
        thread_cond_wait (&priv->changed, &priv->lock);
    job = g_queue_pop_head (&priv->jobs);
    pthread_mutex_unlock (&priv->lock);
    return job;
}

/* The next daemon has no use for files in the hidden folder. */
static void
worker_end (xlator_t *this)
{
    struct cut_log *log = &cut_priv (this)->log;

    cut_log_clear (this);
    if (log->hidden)
        cut_hidden_sweep (this);
}

static void *
cut_worker_run (void *data)
{
    xlator_t *this = data;
    struct cut_job *job;

    while ((job = worker_next (cut_priv (this))))
        job->run (this, job);
    worker_end (this);
    return NULL;
}

int
cut_worker_start (xlator_t *this)
{
    power_cut_private_t *priv = cut_priv (this);
    int r = thread_new (&priv->worker, "power-cut", cut_worker_run, this);

    priv->has_worker = r == 0;
    return r;
}

void
cut_worker_stop (xlator_t *this)
{
    power_cut_private_t *priv = cut_priv (this);

    if (!priv->has_worker)
        return;
    pthread_mutex_lock (&priv->lock);
    priv->stopping = true;
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
    thread_join (priv->worker);
    priv->has_worker = false;
}

/* Jobs after the end are about files that are closed only now: no change is left to note. */
void
cut_worker_do (xlator_t *this, struct cut_job *job)
{
    power_cut_private_t *priv = cut_priv (this);
    bool over;

    pthread_mutex_lock (&priv->lock);
    over = priv->stopping;
    if (!over)
        g_queue_push_tail (&priv->jobs, job);
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
    if (over)
        job->run (this, job);
}

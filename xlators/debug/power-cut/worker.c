/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The thread that makes all changes, which gives them an order. */
#include "power-cut.h"

static struct cut_job *
worker_next (struct cut_disk *disk)
{
    struct cut_job *job;

    pthread_mutex_lock (&disk->lock);
    while (disk->jobs.length == 0 && !disk->stopping)
        thread_cond_wait (&disk->changed, &disk->lock);
    job = g_queue_pop_head (&disk->jobs);
    pthread_mutex_unlock (&disk->lock);
    return job;
}

/* run frees the job. */
static void
worker_run_job (struct cut_disk *disk, struct cut_job *job)
{
    xlator_t *this = job->this;

    job->run (this, job);
    pthread_mutex_lock (&disk->lock);
    cut_priv (this)->pending--;
    thread_cond_broadcast (&disk->changed);
    pthread_mutex_unlock (&disk->lock);
}

/* The next daemon has no use for files in the hidden folder. */
static void
worker_clean (xlator_t *this)
{
    struct cut_log *log = &cut_disk (this)->log;

    cut_log_clear (this);
    if (log->hidden)
        cut_hidden_sweep (this);
}

static void *
cut_worker_run (void *data)
{
    struct cut_disk *disk = data;
    struct cut_job *job;

    while ((job = worker_next (disk)))
        worker_run_job (disk, job);
    if (disk->last)
        worker_clean (disk->last);
    return NULL;
}

int
cut_worker_start (struct cut_disk *disk)
{
    int r = thread_new (&disk->worker, "power-cut", cut_worker_run, disk);

    disk->has_worker = r == 0;
    return r;
}

void
cut_worker_end (struct cut_disk *disk)
{
    if (!disk->has_worker)
        return;
    pthread_mutex_lock (&disk->lock);
    disk->stopping = true;
    thread_cond_broadcast (&disk->changed);
    pthread_mutex_unlock (&disk->lock);
    thread_join (disk->worker);
    disk->has_worker = false;
}

void
cut_worker_use (xlator_t *this)
{
    struct cut_disk *disk = cut_disk (this);

    pthread_mutex_lock (&disk->lock);
    cut_priv (this)->user = true;
    disk->users++;
    pthread_mutex_unlock (&disk->lock);
}

void
cut_worker_leave (xlator_t *this)
{
    power_cut_private_t *priv = cut_priv (this);
    struct cut_disk *disk = priv->disk;
    bool last;

    pthread_mutex_lock (&disk->lock);
    last = priv->user && --disk->users == 0;
    priv->user = false;
    if (last)
        disk->last = this;
    while (!last && priv->pending > 0)
        thread_cond_wait (&disk->changed, &disk->lock);
    pthread_mutex_unlock (&disk->lock);
    if (last)
        cut_worker_end (disk);
}

/* Jobs after the end are about files that are closed only now: no change is left to note. */
void
cut_worker_do (xlator_t *this, struct cut_job *job)
{
    power_cut_private_t *priv = cut_priv (this);
    struct cut_disk *disk = priv->disk;
    bool over;

    pthread_mutex_lock (&disk->lock);
    over = disk->stopping;
    if (!over) {
        job->this = this;
        priv->pending++;
        g_queue_push_tail (&disk->jobs, job);
    }
    thread_cond_broadcast (&disk->changed);
    while (!over && !priv->user && priv->pending > 0)
        thread_cond_wait (&disk->changed, &disk->lock); /* this graph is about to be freed */
    pthread_mutex_unlock (&disk->lock);
    if (over)
        job->run (this, job);
}

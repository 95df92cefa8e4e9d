/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory that was moved to work has a whiteout for each name that its lowers have. A job
 * removes them after the answer; what it does not come to, the next start removes. */
#include "overlay.h"

struct overlay_sweep {
    struct overlay_act act;
    struct job *job;
};

static int
overlay_sweep_name (const struct sync_tree *tree, inode_t *directory, const char *name,
                    inode_t *inode, const struct iatt *buf)
{
    struct overlay_sweep *sweep = tree->data;

    return job_next (sweep->job) ? sync_tree_remove (tree, directory, name, inode, buf) : -EINTR;
}

static int
overlay_sweep_tree (struct overlay_sweep *sweep, const char *name)
{
    const struct sync_tree tree = { .client = overlay_daemon (&sweep->act, OVERLAY_UPPER),
                                    .fds = overlay_fds (&sweep->act, OVERLAY_UPPER),
                                    .fn = overlay_sweep_name, .data = sweep };
    const int r = sync_tree_each (&tree, overlay_work (&sweep->act), name);

    if (r < 0 && r != -EINTR)
        gf_log (sweep->act.this, GF_LOG_WARNING, "'%s' stays in the work directory: %s", name,
                g_strerror (-r));
    return r == -EINTR ? r : 0;
}

/* Returns the next name; NULL: none is left, or the job must stop, and the next name needs a new
 * one. g_free it. */
static char *
overlay_sweep_next (xlator_t *this, bool stopped)
{
    overlay_private_t *priv = overlay_priv (this);
    char *name;

    pthread_mutex_lock (&priv->lock);
    name = stopped ? NULL : g_queue_pop_head (&priv->swept);
    priv->sweeping = name != NULL;
    pthread_mutex_unlock (&priv->lock);
    return name;
}

static int
overlay_sweep_run (struct job *job, void *data)
{
    struct overlay_sweep sweep = { .job = job };
    xlator_t *this = data;
    char *name;
    int r = 0;

    overlay_act_begin (&sweep.act, this, NULL, realm_root_above (this));
    while ((name = overlay_sweep_next (this, r < 0))) {
        r = overlay_sweep_tree (&sweep, name);
        g_free (name);
    }
    overlay_act_end (&sweep.act);
    return r;
}

void
overlay_sweep (xlator_t *this, char *name)
{
    const struct job_plan plan = { .name = "sweep", .about = overlay_priv (this)->work_directory,
                                   .run = overlay_sweep_run, .data = this };
    overlay_private_t *priv = overlay_priv (this);
    bool begins;

    pthread_mutex_lock (&priv->lock);
    begins = !priv->sweeping;
    priv->sweeping = true;
    g_queue_push_tail (&priv->swept, name);
    pthread_mutex_unlock (&priv->lock);
    if (begins && job_begin (this, &plan) < 0)
        overlay_sweep_next (this, true);
}

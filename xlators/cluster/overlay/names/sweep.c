/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory that was removed from the view, and lies in the work directory, with a whiteout for
 * each name that its lowers have. A job removes it after the answer; what the job does not come to,
 * the next start removes.
 *
 * The directory that it came from is synced first. Otherwise a power cut could bring the name back
 * without what was in it: the view would show names of the lowers again that it had removed.
 */
#include "links.h"

struct overlay_sweep {
    struct overlay_act act;
    struct job *job;
};

struct overlay_swept {
    char *name;         /* in work, or in the index; owned */
    inode_t *directory; /* of the upper, from which it came; with a reference */
    inode_t *copy;      /* the name in the index is of this one, with a reference; else NULL */
};

static void
swept_free (void *data)
{
    struct overlay_swept *one = data;

    inode_unref (one->directory);
    inode_unref (one->copy);
    g_free (one->name);
    g_free (one);
}

static int
overlay_sweep_name (const struct sync_tree *tree, inode_t *directory, const char *name,
                    inode_t *inode, const struct iatt *buf)
{
    struct overlay_sweep *sweep = tree->data;

    return job_next (sweep->job) ? sync_tree_remove (tree, directory, name, inode, buf) : -EINTR;
}

static int
overlay_sweep_tree (struct overlay_sweep *sweep, const struct overlay_swept *one)
{
    const struct sync_tree tree = { .client = overlay_daemon (&sweep->act, OVERLAY_UPPER),
                                    .fds = overlay_fds (&sweep->act, OVERLAY_UPPER),
                                    .fn = overlay_sweep_name, .data = sweep };
    const int r = overlay_sync_directory (&sweep->act, one->directory);

    return r < 0 ? r : sync_tree_each (&tree, overlay_work (&sweep->act), one->name);
}

static int
overlay_sweep_one (struct overlay_sweep *sweep, const struct overlay_swept *one)
{
    const int r = one->copy ? overlay_index_sweep (&sweep->act, one->name, one->copy)
                            : overlay_sweep_tree (sweep, one);

    if (r < 0 && r != -EINTR)
        gf_log (sweep->act.this, GF_LOG_WARNING, "'%s' stays in the work directory: %s", one->name,
                g_strerror (-r));
    return r == -EINTR ? r : 0;
}

/* Returns the next name; NULL: none is left, or the job must stop, and the next name needs a new
 * one. */
static struct overlay_swept *
overlay_sweep_next (xlator_t *this, bool stopped)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_swept *one;

    pthread_mutex_lock (&priv->lock);
    one = stopped ? NULL : g_queue_pop_head (&priv->swept);
    priv->sweeping = one != NULL;
    pthread_mutex_unlock (&priv->lock);
    return one;
}

static int
overlay_sweep_run (struct job *job, void *data)
{
    struct overlay_sweep sweep = { .job = job };
    struct overlay_swept *one;
    xlator_t *this = data;
    int r = 0;

    overlay_act_begin (&sweep.act, this, NULL, realm_root_above (this));
    while ((one = overlay_sweep_next (this, r < 0))) {
        r = overlay_sweep_one (&sweep, one);
        swept_free (one);
    }
    overlay_act_end (&sweep.act);
    return r;
}

/* Takes one over. */
static void
overlay_sweep_add (xlator_t *this, struct overlay_swept *one)
{
    const struct job_plan plan = { .name = "sweep", .about = overlay_priv (this)->work_directory,
                                   .run = overlay_sweep_run, .data = this };
    overlay_private_t *priv = overlay_priv (this);
    bool begins;

    pthread_mutex_lock (&priv->lock);
    begins = !priv->sweeping;
    priv->sweeping = true;
    g_queue_push_tail (&priv->swept, one);
    pthread_mutex_unlock (&priv->lock);
    if (begins && job_begin (this, &plan) < 0)
        overlay_sweep_next (this, true);
}

void
overlay_sweep (xlator_t *this, inode_t *directory, char *name)
{
    struct overlay_swept *one = g_new0 (struct overlay_swept, 1);

    *one = (struct overlay_swept){ .name = name, .directory = inode_ref (directory) };
    overlay_unsynced (this, directory);
    overlay_sweep_add (this, one);
}

void
overlay_sweep_index (xlator_t *this, char *name, inode_t *copy)
{
    struct overlay_swept *one = g_new0 (struct overlay_swept, 1);

    *one = (struct overlay_swept){ .name = name, .copy = inode_ref (copy) };
    overlay_sweep_add (this, one);
}

void
overlay_sweep_forget (overlay_private_t *priv)
{
    g_queue_clear_full (&priv->swept, swept_free);
}

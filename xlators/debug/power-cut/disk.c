/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part that goes on in the next graph: the log, and the thread that makes all changes. */
#include "power-cut.h"

#include <errno.h>

static void
cut_disk_free (void *value)
{
    struct cut_disk *disk = value;

    cut_worker_end (disk);
    cut_store_free (disk->store);
    g_hash_table_unref (disk->asides);
    g_hash_table_unref (disk->log.nodes);
    pthread_cond_destroy (&disk->changed);
    pthread_mutex_destroy (&disk->asides_lock);
    pthread_mutex_destroy (&disk->lock);
    g_free (disk);
}

static struct cut_disk *
cut_disk_new (const power_cut_private_t *options)
{
    struct cut_disk *disk = g_new0 (struct cut_disk, 1);

    disk->shared = (struct shared){ 1, cut_disk_free };
    pthread_mutex_init (&disk->lock, NULL);
    pthread_mutex_init (&disk->asides_lock, NULL);
    thread_cond_init (&disk->changed);
    g_queue_init (&disk->jobs);
    g_queue_init (&disk->log.dirty);
    g_queue_init (&disk->log.slots);
    disk->log.nodes = g_hash_table_new (gfid_hash, gfid_same);
    disk->asides = g_hash_table_new_full (gfid_hash, gfid_same, g_free, NULL);
    disk->store = cut_store_new (options->memory_limit);
    return disk;
}

struct cut_disk *
cut_disk_get (xlator_t *this, const xlator_t *predecessor)
{
    struct cut_disk *disk;

    if (predecessor)
        return shared_ref (&cut_disk (predecessor)->shared);
    disk = cut_disk_new (cut_priv (this));
    if (cut_worker_start (disk) == 0)
        return disk;
    gf_log (this, GF_LOG_ERROR, "can't start the thread that makes all changes");
    shared_unref (&disk->shared);
    return NULL;
}

/* --- in the next graph ------------------------------------------------------------------------ */

/* Has the child look the inode up under that name. */
static void
cut_find (xlator_t *this, inode_t *inode, inode_t *parent, const char *name)
{
    loc_t loc = { .parent = parent, .name = name, .inode = inode };
    struct lookup_reply reply = { 0 };
    int r = sync_lookup (cut_priv (this)->client, &loc, NULL, &reply);

    if (r >= 0 && !gfid_equal (&reply.buf.ia_gfid, &inode->gfid))
        r = -ESTALE;
    if (r < 0)
        gf_log (this, GF_LOG_WARNING, "can't find '%s' in the new graph, of which a cut may lose "
                "changes: %s", name ? name : "a file without a name", g_strerror (-r));
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
}

/* The directories above it come first. */
static void
cut_find_by_name (xlator_t *this, inode_t *inode)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (inode == itable_root (inode->table))
        return;
    if (inode_a_name (inode, &parent, &name))
        cut_find_by_name (this, parent);
    cut_find (this, inode, parent, name);
}

struct join_job {
    struct cut_job job;
    bool new_seed; /* the option has changed */
};

static void
cut_join_run (xlator_t *this, struct cut_job *job)
{
    const power_cut_private_t *priv = cut_priv (this);
    struct cut_log *log = &priv->disk->log;
    GHashTableIter at;
    gpointer value;

    if (log->hidden)
        cut_find (this, log->hidden, log->root, CUT_HIDDEN);
    g_hash_table_iter_init (&at, log->nodes);
    while (g_hash_table_iter_next (&at, NULL, &value)) {
        const struct cut_node *node = value;
        g_autofree char *aside = node->aside ? cut_aside_name (node->aside) : NULL;

        if (aside)
            cut_find (this, node->inode, log->hidden, aside);
        else if (!node->gone && !node->nameless)
            cut_find_by_name (this, node->inode);
    }
    if (((struct join_job *) job)->new_seed)
        log->chance.state = priv->seed;
    cut_store_set_limit (priv->disk->store, priv->memory_limit);
    g_free (job);
}

void
cut_disk_join (xlator_t *this, const xlator_t *predecessor)
{
    struct join_job *join = g_new0 (struct join_job, 1);

    join->job.run = cut_join_run;
    join->new_seed = cut_priv (this)->seed != cut_priv (predecessor)->seed;
    cut_worker_do (this, &join->job);
}

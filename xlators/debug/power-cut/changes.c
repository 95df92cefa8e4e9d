/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of a change: set aside, prepared when it is its turn, wound, answered, noted, passed
 * on. */
#include "power-cut.h"

#include <errno.h>
#include <fcntl.h>

static const struct cut_op *
op_of (const struct call *call)
{
    const struct cut_op *op = &cut_data_ops[call->op];

    if (call->op == FOP_open && !(call->flags & O_TRUNC))
        return NULL;
    if (!op->prepare)
        op = &cut_name_ops[call->op];
    return op->prepare ? op : NULL;
}

static void
change_free (xlator_t *this, struct cut_change *change)
{
    cut_node_unref (this, change->node);
    cut_node_unref (this, change->dir);
    cut_node_unref (this, change->newdir);
    cut_node_unref (this, change->victim);
    inode_unref (change->inode);
    fd_unref (change->fd);
    g_free (change->name);
    g_free (change->newname);
    g_free (change->bytes);
    g_free (change);
}

static void
change_wait (xlator_t *this, struct cut_change *change)
{
    power_cut_private_t *priv = cut_priv (this);

    pthread_mutex_lock (&priv->disk->lock);
    while (!change->answered)
        thread_cond_wait (&priv->disk->changed, &priv->disk->lock);
    pthread_mutex_unlock (&priv->disk->lock);
}

static void
change_hand_on (xlator_t *this, struct cut_change *change, call_frame_t *frame)
{
    if (change->answer && !cut_is_dead (this)) {
        answer_resume (change->answer);
        return;
    }
    frame_fail (frame, change->answer ? EIO : ENOMEM);
    if (change->answer)
        answer_stub_destroy (change->answer);
}

/* A change that was set aside when the power failed has not happened. */
static void
change_run (xlator_t *this, struct cut_job *job)
{
    struct cut_change *change = (struct cut_change *) job;
    call_frame_t *frame = call_stub_frame (change->stub);

    if (cut_is_dead (this)) {
        call_stub_destroy (change->stub);
        frame_fail (frame, EIO);
        change_free (this, change);
        return;
    }
    cut_disk (this)->log.root = change->root;
    if (!cut_disk (this)->log.swept)
        cut_hidden_sweep (this);
    call_resume (change->stub); /* to cut_change_wind */
    if (!change->refused) {
        change_wait (this, change);
        if (change->op_ret >= 0 && change->op->commit)
            change->op->commit (this, change);
    }
    if (change->op->settle)
        change->op->settle (this, change);
    if (!change->refused)
        change_hand_on (this, change, frame);
    change_free (this, change);
}

/* The inode of the call, if there is one: with create, fd has none yet. */
static inode_t *
cut_inode_of (const struct call *call)
{
    if (!call->loc)
        return call->fd->inode;
    return call->loc->parent ? call->loc->parent : call->loc->inode;
}

bool
cut_change_take (const struct call *call)
{
    const struct cut_op *op = op_of (call);
    struct cut_change *change, **local;

    if (!op)
        return false;
    change = g_new0 (struct cut_change, 1);
    change->job.run = change_run;
    change->op = op;
    change->root = itable_root (cut_inode_of (call)->table);
    local = frame_local_new (call->frame, sizeof *local);
    *local = change;
    change->stub = call_keep (call);
    if (change->stub) {
        cut_worker_do (call->this, &change->job);
    } else {
        change_free (call->this, change);
        call_fail (call, ENOMEM);
    }
    return true;
}

static struct cut_change *
change_of (const call_frame_t *frame)
{
    return *(struct cut_change **) frame->local;
}

/* On the worker. */
void
cut_change_wind (const struct call *call)
{
    struct cut_change *change = change_of (call->frame);
    int r = change->op->prepare (call->this, call, change);

    if (r < 0) {
        change->refused = true;
        call_fail (call, -r);
    } else {
        call_wind (call, FIRST_CHILD (call->this), NULL);
    }
}

/* On any thread. */
void
cut_change_answered (const struct answer *answer)
{
    power_cut_private_t *priv = cut_priv (answer->this);
    struct cut_change *change = change_of (answer->frame);

    size_t size;

    change->op_ret = answer->op_ret;
    change->synced_all = answer->op_ret >= 0 && change->op->commit && answer->xdata
                      && dict_get (answer->xdata, XDATA_SYNC_ALL, &size);
    if (answer->op_ret >= 0 && answer->inode)
        change->inode = inode_ref (answer->inode);
    if (answer->op_ret >= 0 && answer->buf)
        change->made = *answer->buf;
    if (answer->op_ret >= 0 && answer->fd)
        change->fd = fd_ref (answer->fd);
    change->answer = answer_keep (answer);
    pthread_mutex_lock (&priv->disk->lock);
    change->answered = true;
    thread_cond_broadcast (&priv->disk->changed);
    pthread_mutex_unlock (&priv->disk->lock);
}

/* --- release of a file without a name --- */

struct release_job {
    struct cut_job job;
    gfid_t gfid;
};

static void
release_run (xlator_t *this, struct cut_job *job)
{
    struct release_job *release = (struct release_job *) job;
    struct cut_node *node = cut_node_find (this, &release->gfid);

    if (node && node->nameless && !cut_is_dead (this)) {
        node->refs++;
        cut_data_durable (this, node);
        cut_meta_durable (this, node, ~0u);
        cut_node_unref (this, node);
    }
    g_free (release);
}

void
cut_release (xlator_t *this, fd_t *fd)
{
    struct release_job *release;

    if (!fd_ctx_get (fd, this))
        return;
    fd_ctx_set (fd, this, NULL);
    release = g_new0 (struct release_job, 1);
    release->job.run = release_run;
    release->gfid = fd->inode->gfid;
    cut_worker_do (this, &release->job);
}

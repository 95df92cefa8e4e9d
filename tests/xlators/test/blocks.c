/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A single lock. A request that waits for it (F_SETLKW) blocks its thread until an unlock, a flush,
 * or the end of the graph. */
#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool locked, ending; /* lock */
} blocks_private_t;

static void
blocks_unlock (blocks_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    priv->locked = false;
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
}

static int
blocks_lock (blocks_private_t *priv, bool wait)
{
    int r = 0;

    pthread_mutex_lock (&priv->lock);
    while (priv->locked && wait && !priv->ending)
        thread_cond_wait (&priv->changed, &priv->lock);
    if (priv->locked)
        r = priv->ending ? EINTR : EAGAIN;
    else
        priv->locked = true;
    pthread_mutex_unlock (&priv->lock);
    return r;
}

static void
blocks_lk (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t cmd, struct gf_flock *lock,
           dict_t *xdata)
{
    blocks_private_t *priv = this->private;
    int r = 0;

    if (lock->l_type == F_UNLCK)
        blocks_unlock (priv);
    else
        r = blocks_lock (priv, cmd == F_SETLKW);
    STACK_UNWIND (lk, frame, r ? -1 : 0, r, r ? NULL : lock, NULL);
}

static void
blocks_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    blocks_unlock (this->private);
    STACK_UNWIND (flush, frame, 0, 0, NULL);
}

static int
blocks_init (xlator_t *this)
{
    blocks_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->changed);
    return 0;
}

static void
blocks_notify (xlator_t *this, enum xlator_event event, void *data)
{
    blocks_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    priv->ending |= event == XLATOR_PARENT_DOWN;
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
    xlator_pass_on (this, event, data);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/blocks",
    .about = "keeps threads that wait for a lock",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (blocks_private_t),
    .init = blocks_init,
    .notify = blocks_notify,
    .fops = { .lk = blocks_lk, .flush = blocks_flush },
};

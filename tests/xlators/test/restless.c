/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes requests of its own from the first stat until the end, one after the other, on a thread of
 * its own: at almost any time one of them is in use. */
#include "xlator.h"

typedef struct {
    struct client *client;
    inode_t *root;    /* no reference is needed */
    pthread_t thread;
    bool runs, ends;  /* atomic */
} restless_private_t;

static void *
restless_work (void *data)
{
    restless_private_t *priv = data;
    loc_t loc = { .inode = priv->root };

    while (!__atomic_load_n (&priv->ends, __ATOMIC_ACQUIRE))
        sync_stat (priv->client, &loc, NULL, NULL);
    loc_wipe_path (&loc);
    return NULL;
}

static void
restless_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    restless_private_t *priv = this->private;

    if (!__atomic_exchange_n (&priv->runs, true, __ATOMIC_ACQ_REL)) {
        priv->client = client_new_internal (this, FIRST_CHILD (this));
        priv->root = itable_root (loc->inode->table);
        g_assert (thread_new (&priv->thread, "restless", restless_work, priv) == 0);
    }
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), stat, loc, xdata);
}

static void
restless_notify (xlator_t *this, enum xlator_event event, void *data)
{
    restless_private_t *priv = this->private;

    if (event == XLATOR_PARENT_DOWN && priv->runs) {
        __atomic_store_n (&priv->ends, true, __ATOMIC_RELEASE);
        pthread_join (priv->thread, NULL);
        client_free (priv->client);
    }
    xlator_pass_on (this, event, data);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/restless",
    .about = "makes requests of its own all the time",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (restless_private_t),
    .notify = restless_notify,
    .fops = { .stat = restless_stat },
};

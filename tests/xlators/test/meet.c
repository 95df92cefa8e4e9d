/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks the threads of readv until the given number is blocked at the same time, then releases
 * all. If that number is not reached, readv fails with ETIMEDOUT. */
#include "xlator.h"

#define PATIENCE (60 * INT64_C (1000000000)) /* with a sanitizer, on a busy machine */

typedef struct {
    int64_t readers; /* option */
    pthread_mutex_t lock;
    pthread_cond_t met;
    int64_t here; /* lock */
    bool all;     /* lock; stays */
} meet_private_t;

static bool
meet_wait (meet_private_t *priv)
{
    const int64_t end = clock_now () + PATIENCE;
    int r = 0;

    pthread_mutex_lock (&priv->lock);
    priv->all |= ++priv->here >= priv->readers;
    if (priv->all)
        thread_cond_broadcast (&priv->met);
    while (!priv->all && r == 0)
        r = thread_cond_wait_until (&priv->met, &priv->lock, end);
    priv->here--;
    pthread_mutex_unlock (&priv->lock);
    return r == 0;
}

static void
meet_any_fop (const struct call *call)
{
    if (call->op != FOP_readv || meet_wait (call->this->private))
        call_pass (call);
    else
        call_fail (call, ETIMEDOUT);
}

static int
meet_init (xlator_t *this)
{
    meet_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->met);
    return 0;
}

static void
meet_fini (xlator_t *this)
{
    meet_private_t *priv = this->private;

    pthread_cond_destroy (&priv->met);
    pthread_mutex_destroy (&priv->lock);
}

static const struct xlator_option meet_options[] = {
    { OPTION ("readers", INT, meet_private_t, readers, "2"), .min = 1, .max = 1e6,
      .help = "that have to be here at once" },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/meet",
    .about = "lets reads go on together",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (meet_private_t),
    .options = meet_options,
    .init = meet_init,
    .fini = meet_fini,
    .any_fop = meet_any_fop,
};

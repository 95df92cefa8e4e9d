/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept with an open file or directory. */
#include "distribute.h"

struct fd_context {
    pthread_mutex_t lock; /* a leaf */
    bool open_on[]; /* lock */
};

static struct fd_context *
fd_context_new (const dht_private_t *priv)
{
    struct fd_context *context = g_malloc0 (sizeof *context + priv->n * sizeof (bool));

    pthread_mutex_init (&context->lock, NULL);
    return context;
}

void
dht_release (xlator_t *this, fd_t *fd)
{
    struct fd_context *context = fd_ctx_get (fd, this);

    if (!context)
        return;
    pthread_mutex_destroy (&context->lock);
    g_free (context);
}

bool
fd_is_open_on (xlator_t *this, fd_t *fd, int child)
{
    struct fd_context *context = fd_ctx_get (fd, this);
    bool is_open;

    if (!context)
        return false;
    pthread_mutex_lock (&context->lock);
    is_open = context->open_on[child];
    pthread_mutex_unlock (&context->lock);
    return is_open;
}

/* The first call is before the open is answered, so only one thread makes the context. */
void
fd_set_open_on (xlator_t *this, fd_t *fd, int child)
{
    struct fd_context *context = fd_ctx_get (fd, this);

    if (!context) {
        context = fd_context_new (this->private);
        fd_ctx_set (fd, this, context);
    }
    pthread_mutex_lock (&context->lock);
    context->open_on[child] = true;
    pthread_mutex_unlock (&context->lock);
}

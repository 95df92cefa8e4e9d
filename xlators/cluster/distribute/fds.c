/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept with an open file or directory. */
#include "distribute.h"

/* The n-th large offset of a directory: list.c. */
struct kept_place {
    unsigned child;
    uint64_t offset;
};

struct fd_context {
    pthread_mutex_t lock; /* a leaf */
    GArray *places;       /* of struct kept_place; NULL: none; lock */
    bool open_on[];       /* lock */
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
    if (context->places)
        g_array_unref (context->places);
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

/* A directory is mostly read from its beginning to its end, so the same place comes again only
 * after a rewind. */
uint64_t
fd_keep_place (xlator_t *this, fd_t *fd, unsigned child, uint64_t offset)
{
    struct fd_context *context = fd_ctx_get (fd, this);
    const struct kept_place place = { child, offset };
    uint64_t number;

    pthread_mutex_lock (&context->lock);
    if (!context->places)
        context->places = g_array_new (FALSE, FALSE, sizeof place);
    number = context->places->len;
    g_array_append_val (context->places, place);
    pthread_mutex_unlock (&context->lock);
    return number;
}

bool
fd_kept_place (xlator_t *this, fd_t *fd, uint64_t number, unsigned *ret_child,
               uint64_t *ret_offset)
{
    struct fd_context *context = fd_ctx_get (fd, this);
    const struct kept_place *place;
    bool found = false;

    if (!context)
        return false;
    pthread_mutex_lock (&context->lock);
    if (context->places && number < context->places->len) {
        place = &g_array_index (context->places, struct kept_place, number);
        *ret_child = place->child;
        *ret_offset = place->offset;
        found = true;
    }
    pthread_mutex_unlock (&context->lock);
    return found;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept with an open file or directory. */
#include "distribute.h"

struct fd_context {
    pthread_mutex_t lock; /* a leaf */
    inode_t *inode;       /* of a file: in whose list the fd is; with a reference; constant */
    uint64_t given, exact; /* lock: where a listing goes on: fd_note_place */
    bool open_on[];       /* lock */
};

static struct fd_context *
fd_context_new (xlator_t *this, fd_t *fd)
{
    const dht_private_t *priv = this->private;
    struct fd_context *context = g_malloc0 (sizeof *context + priv->n * sizeof (bool));

    pthread_mutex_init (&context->lock, NULL);
    if (fd->inode && fd->inode->ia_type != IA_IFDIR) {
        context->inode = inode_ref (fd->inode);
        inode_add_fd (this, fd->inode, fd);
    }
    return context;
}

void
dht_release (xlator_t *this, fd_t *fd)
{
    struct fd_context *context = fd_ctx_get (fd, this);

    if (!context)
        return;
    if (context->inode)
        inode_remove_fd (this, context->inode, fd);
    inode_unref (context->inode);
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
        context = fd_context_new (this, fd);
        fd_ctx_set (fd, this, context);
    }
    pthread_mutex_lock (&context->lock);
    context->open_on[child] = true;
    pthread_mutex_unlock (&context->lock);
}

void
fd_note_place (xlator_t *this, fd_t *fd, uint64_t given, uint64_t exact)
{
    struct fd_context *context = fd_ctx_get (fd, this);

    pthread_mutex_lock (&context->lock);
    context->given = given;
    context->exact = exact;
    pthread_mutex_unlock (&context->lock);
}

uint64_t
fd_place (xlator_t *this, fd_t *fd, uint64_t given, uint64_t otherwise)
{
    struct fd_context *context = fd_ctx_get (fd, this);
    uint64_t exact = otherwise;

    if (!context)
        return exact;
    pthread_mutex_lock (&context->lock);
    if (context->given == given)
        exact = context->exact;
    pthread_mutex_unlock (&context->lock);
    return exact;
}

/* --- flush ------------------------------------------------------------------------------------ */

struct flushing {
    struct op op;
    int home; /* the subvolume whose answer counts, or NO_CHILD */
};

static void
flush_answered (call_frame_t *frame)
{
    const struct flushing *flushing = OP_OF (frame);
    const struct op *op = &flushing->op;
    const struct fan_answer *answer =
        flushing->home == NO_CHILD ? NULL : &op->fan.answers[flushing->home];

    if (answer && answer->op != FOP_NONE && answer->op_ret < 0)
        frame_fail (frame, answer->op_errno);
    else
        STACK_UNWIND (flush, frame, 0, 0, NULL);
}

/* A flush releases record locks, and does nothing else. The owner may have some on each subvolume
 * on which the file was while it was open. The file itself need not be anywhere any more. */
void
dht_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct flushing *flushing = op_new (frame, this, sizeof *flushing, NULL, NULL, xdata);
    struct op *op = &flushing->op;

    flushing->home = inode_home (this, fd->inode);
    step_begin (op, flush_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (fd_is_open_on (this, fd, (int) i))
            ASK (op, i, flush, fd, xdata);
    step_end (op);
}

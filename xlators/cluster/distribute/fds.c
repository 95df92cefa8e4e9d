/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context that distribute keeps for each open file or directory; and the flush. */
#include "distribute.h"

struct fd_context {
    pthread_mutex_t lock; /* guards given, exact and open_on; no other lock is taken under it */
    inode_t *inode;       /* inode of the file, whose list of fds has this fd (inode_add_fd); with a
                           * reference; NULL: the fd is of a directory */
    /* The offset of the last entry that a listing has given to its caller, maybe rounded, and the
     * exact offset of that entry on its subvolume (fd_note_place). Guarded by `lock`. */
    uint64_t given, exact;
    bool open_on[];       /* by subvolume: the fd is open there; guarded by `lock` */
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

/* The first call for an fd makes the fd's context. That needs no lock, since only one thread uses
 * the fd before the open of the fd is answered. */
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
    int home; /* cached subvolume, or NO_CHILD; the flush fails only if this subvolume fails it */
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

/* The only effect of a flush is that bricks release the record locks of the lock owner. The file
 * may have moved while it was open, so the owner may have locks on each subvolume where the fd is
 * open. The flush goes to all of them, even if the file has been removed. */
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

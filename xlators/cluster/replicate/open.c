/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening files and directories. An open goes to all children that are up. The first operation
 * after another child has come up opens the file on that child, too. */
#include "changes/changes.h"

#include <errno.h>
#include <fcntl.h>

#define REOPEN_EVERY 1000000000ll /* least time between two reopens of a file, in nanoseconds */

/* --- the context of an fd --------------------------------------------------------------------- */

struct fd_wait {
    void (*done) (void *data);
    void *data;
};

struct replicate_fd *
replicate_fd_of (xlator_t *this, fd_t *fd)
{
    return fd_ctx_get (fd, this);
}

copies_t
fd_opened (xlator_t *this, fd_t *fd)
{
    struct replicate_fd *opened = replicate_fd_of (this, fd);
    copies_t on;

    if (!opened)
        return 0;
    pthread_mutex_lock (&opened->lock);
    on = opened->opened;
    pthread_mutex_unlock (&opened->lock);
    return on;
}

void
fd_was_opened (xlator_t *this, fd_t *fd, uint32_t flags, bool directory, copies_t on)
{
    struct replicate_fd *opened = g_new0 (struct replicate_fd, 1);

    pthread_mutex_init (&opened->lock, NULL);
    g_queue_init (&opened->waiting);
    opened->opened = on;
    opened->flags = flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    opened->directory = directory;
    opened->reader = -1;
    fd_ctx_set (fd, this, opened);
}

void
replicate_release (xlator_t *this, fd_t *fd)
{
    struct replicate_fd *opened = replicate_fd_of (this, fd);

    if (!opened)
        return;
    fd_ctx_set (fd, this, NULL);
    pthread_mutex_destroy (&opened->lock);
    if (opened->names)
        g_array_unref (opened->names);
    if (opened->last)
        g_array_unref (opened->last);
    g_free (opened);
}

/* --- reopening -------------------------------------------------------------------------------- */

struct reopen {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    struct fan_out fan;
    fd_t *fd;
    loc_t loc;
};

static void
reopen_drop (void *local)
{
    struct reopen *reopen = local;

    fan_clear (&reopen->fan);
    loc_wipe (&reopen->loc);
    fd_unref (reopen->fd);
}

static void
waiting_wake (GQueue *waiting)
{
    struct fd_wait *wait;

    while ((wait = g_queue_pop_head (waiting))) {
        wait->done (wait->data);
        g_free (wait);
    }
}

static void
reopened (call_frame_t *frame)
{
    struct reopen *reopen = frame->local;
    xlator_t *this = reopen->this;
    struct replicate_fd *opened = replicate_fd_of (this, reopen->fd);
    GQueue waiting;

    pthread_mutex_lock (&opened->lock);
    opened->opened |= fan_succeeded (&reopen->fan);
    opened->opening = false;
    opened->tried = clock_now ();
    waiting = opened->waiting;
    g_queue_init (&opened->waiting);
    pthread_mutex_unlock (&opened->lock);
    request_done (this, frame);
    waiting_wake (&waiting);
}

static void
reopening_begin (xlator_t *this, fd_t *fd, const struct replicate_fd *opened, copies_t on)
{
    replicate_t *priv = this->private;
    call_frame_t *frame = request_new (this, NULL);
    struct reopen *reopen = frame_local_new (frame, sizeof *reopen);

    reopen->head.drop = reopen_drop;
    reopen->this = this;
    reopen->frame = frame;
    reopen->fd = fd_ref (fd);
    reopen->loc.inode = inode_ref (fd->inode);
    fan_init (&reopen->fan, frame, priv->n);
    fan_begin (&reopen->fan, reopened);
    for (unsigned i = 0; i < priv->n; i++) {
        if (!(on & COPY (i)))
            continue;
        if (opened->directory)
            FAN_WIND (&reopen->fan, i, priv->children[i], opendir, &reopen->loc, fd, NULL);
        else
            FAN_WIND (&reopen->fan, i, priv->children[i], open, &reopen->loc, opened->flags, fd,
                      NULL);
    }
    fan_end (&reopen->fan);
}

void
fd_prepare (xlator_t *this, fd_t *fd, void (*done) (void *data), void *data)
{
    struct replicate_fd *opened = replicate_fd_of (this, fd);
    copies_t missing = 0;
    bool begin = false;

    if (opened) {
        pthread_mutex_lock (&opened->lock);
        missing = children_up (this->private) & ~opened->opened;
        if (missing && (opened->opening || clock_now () - opened->tried > REOPEN_EVERY)) {
            struct fd_wait *wait = g_new (struct fd_wait, 1);

            *wait = (struct fd_wait){ done, data };
            g_queue_push_tail (&opened->waiting, wait);
            begin = !opened->opening;
            opened->opening = true;
        } else {
            missing = 0;
        }
        pthread_mutex_unlock (&opened->lock);
    }
    if (begin)
        reopening_begin (this, fd, opened, missing);
    else if (!missing)
        done (data);
}

/* --- open, opendir ---------------------------------------------------------------------------- */

struct opening {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    struct fan_out fan;
    call_stub_t *stub;
    fd_t *fd;
    uint32_t flags;
    bool directory;
};

static void
opening_drop (void *local)
{
    struct opening *opening = local;

    if (opening->stub)
        call_stub_destroy (opening->stub);
    fan_clear (&opening->fan);
    fd_unref (opening->fd);
}

/* Returns 0 if the set `on`, on which the file is open, has a good copy and is a quorum; else an
 * errno. */
static int
opening_error (const struct opening *opening, copies_t on)
{
    struct readable readable;

    inode_is_fresh (opening->this, opening->fd->inode, &readable);
    if (!on)
        return copies_error (&opening->fan);
    if (!readable.data && readable.found)
        return EIO;
    if (!(readable.data & on) || !children_quorum (opening->this->private, on))
        return copies_error (&opening->fan);
    return 0;
}

static void
open_truncated (struct changing *op)
{
    STACK_UNWIND (open, op->frame, 0, 0, op->fd, NULL);
}

static void
opening_done (call_frame_t *frame)
{
    struct opening *opening = frame->local;
    const copies_t on = fan_succeeded (&opening->fan);
    const int error = opening_error (opening, on);

    if (on)
        fd_was_opened (opening->this, opening->fd, opening->flags, opening->directory, on);
    if (!error && !opening->directory)
        heal_later (opening->this, opening->fd->inode, heals_at_open (opening->this->private));
    if (error)
        frame_fail (frame, error);
    else if (opening->directory)
        STACK_UNWIND (opendir, frame, 0, 0, opening->fd, NULL);
    else if (opening->flags & O_TRUNC)
        open_truncate (frame, opening->this, opening->fd, NULL, open_truncated);
    else
        STACK_UNWIND (open, frame, 0, 0, opening->fd, NULL);
}

/* Sends the call to all children that are up. O_TRUNC is removed: opening_done truncates the file
 * in another step. */
static void
opening_wind (struct opening *opening, const struct call *call)
{
    replicate_t *priv = opening->this->private;
    const copies_t up = children_up (priv);
    struct changed_call changed;

    call_change (call, &changed);
    if (call->op == FOP_open)
        changed.args.open.flags &= ~(uint32_t) O_TRUNC;
    fan_begin (&opening->fan, opening_done);
    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i))
            fan_call (&opening->fan, i, priv->children[i], &changed.call);
    fan_end (&opening->fan);
}

static void
opening_refreshed (void *data, int error)
{
    struct opening *opening = data;

    if (error)
        frame_fail (opening->frame, error);
    else
        call_resume (g_steal_pointer (&opening->stub));
}

static struct opening *
opening_new (const struct call *call)
{
    struct opening *opening = frame_local_new (call->frame, sizeof *opening);

    opening->head.drop = opening_drop;
    opening->this = call->this;
    opening->frame = call->frame;
    opening->fd = fd_ref (call->fd);
    opening->directory = call->op == FOP_opendir;
    opening->flags = opening->directory ? O_DIRECTORY : call->flags;
    opening->stub = call_keep (call);
    fan_init (&opening->fan, call->frame, ((replicate_t *) call->this->private)->n);
    return opening;
}

static void
opening_begin (struct opening *opening)
{
    replicate_t *priv = opening->this->private;
    struct readable readable;

    if (!children_quorum (priv, children_up (priv)))
        frame_fail (opening->frame, ENOTCONN);
    else if (inode_is_fresh (opening->this, opening->fd->inode, &readable))
        call_resume (g_steal_pointer (&opening->stub));
    else
        inode_refresh (opening->this, opening->fd->inode, opening_refreshed, opening);
}

/* Gets each call twice. The first time it keeps the call, and opening_begin resumes it, after a
 * refresh if one is needed. The second time it sends the call to the children. */
void
opening_any_fop (const struct call *call)
{
    struct opening *opening = call->frame->local;

    if (opening)
        opening_wind (opening, call);
    else
        opening_begin (opening_new (call));
}

/* --- flush, fsyncdir -------------------------------------------------------------------------- */

struct closing {
    struct replicate_local head;
    struct fan_out fan;
};

static void
closing_drop (void *local)
{
    fan_clear (&((struct closing *) local)->fan);
}

static void
closing_done (call_frame_t *frame)
{
    const struct closing *closing = frame->local;
    const copies_t done = fan_succeeded (&closing->fan);

    if (children_quorum (frame->this->private, done))
        fan_pass (&closing->fan, (unsigned) copies_first (done));
    else
        frame_fail (frame, copies_error (&closing->fan));
}

/* Sends a flush or fsyncdir to all copies on which the file is open. A flush also ends the eager
 * lock of the file, since a file that was closed is rarely written again soon. */
void
closing_any_fop (const struct call *call)
{
    replicate_t *priv = call->this->private;
    const copies_t on = fd_opened (call->this, call->fd) & children_up (priv);
    struct closing *closing = frame_local_new (call->frame, sizeof *closing);

    closing->head.drop = closing_drop;
    if (call->op == FOP_flush)
        eager_release (call->this, call->fd->inode);
    fan_init (&closing->fan, call->frame, priv->n);
    fan_begin (&closing->fan, closing_done);
    for (unsigned i = 0; i < priv->n; i++)
        if (on & COPY (i))
            fan_call (&closing->fan, i, priv->children[i], call);
    fan_end (&closing->fan);
}

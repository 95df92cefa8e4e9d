/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Open files and directories: on all copies that were there, and later on those that came back. */
#include "changes/changes.h"

#include <errno.h>
#include <fcntl.h>

#define TRY_AGAIN_AFTER 1000000000ll /* nanoseconds, for a copy on which the file can't be opened */

/* --- the context of an fd --------------------------------------------------------------------- */

struct fd_wait {
    void (*done) (void *data);
    void *data;
};

struct replicate_fd *
fd_of (xlator_t *this, fd_t *fd)
{
    return fd_ctx_get (fd, this);
}

copies_t
fd_opened (xlator_t *this, fd_t *fd)
{
    struct replicate_fd *opened = fd_of (this, fd);
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
    struct replicate_fd *opened = fd_of (this, fd);

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

/* --- opening again ---------------------------------------------------------------------------- */

struct reopen {
    struct local head;
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
    struct replicate_fd *opened = fd_of (this, reopen->fd);
    GQueue waiting;

    pthread_mutex_lock (&opened->lock);
    for (unsigned i = 0; i < reopen->fan.n; i++)
        if (reopen->fan.answers[i].op != FOP_NONE && reopen->fan.answers[i].op_ret >= 0)
            opened->opened |= COPY (i);
    opened->opening = false;
    opened->tried = clock_now ();
    waiting = opened->waiting;
    g_queue_init (&opened->waiting);
    pthread_mutex_unlock (&opened->lock);
    request_done (this, frame);
    waiting_wake (&waiting);
}

static void
reopen_begin (xlator_t *this, fd_t *fd, const struct replicate_fd *opened, copies_t on)
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
    struct replicate_fd *opened = fd_of (this, fd);
    copies_t missing = 0;
    bool begin = false;

    if (opened) {
        pthread_mutex_lock (&opened->lock);
        missing = children_up (this->private) & ~opened->opened;
        if (missing && (opened->opening || clock_now () - opened->tried > TRY_AGAIN_AFTER)) {
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
        reopen_begin (this, fd, opened, missing);
    else if (!missing)
        done (data);
}

/* --- open, opendir ---------------------------------------------------------------------------- */

struct opening {
    struct local head;
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

static copies_t
opening_successes (const struct opening *opening)
{
    copies_t on = 0;

    for (unsigned i = 0; i < opening->fan.n; i++)
        if (opening->fan.answers[i].op != FOP_NONE && opening->fan.answers[i].op_ret >= 0)
            on |= COPY (i);
    return on;
}

/* A good copy must be open; and enough of them, to write. */
static int
opening_error (const struct opening *opening, copies_t on)
{
    struct readable readable;

    inode_is_fresh (opening->this, opening->fd->inode, &readable);
    if (!on)
        return fan_error (&opening->fan);
    if (!readable.data && readable.found)
        return EIO;
    if (!(readable.data & on) || !children_quorum (opening->this->private, on))
        return fan_error (&opening->fan);
    return 0;
}

static void
open_truncated (struct op *op)
{
    STACK_UNWIND (open, op->frame, 0, 0, op->fd, NULL);
}

static void
opening_done (call_frame_t *frame)
{
    struct opening *opening = frame->local;
    const copies_t on = opening_successes (opening);
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

static void
open_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
           dict_t *xdata)
{
    struct opening *opening = frame->local;
    replicate_t *priv = this->private;
    const copies_t up = children_up (priv);

    fan_begin (&opening->fan, opening_done);
    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i))
            FAN_WIND (&opening->fan, i, priv->children[i], open, loc, flags & ~(uint32_t) O_TRUNC,
                      fd, xdata);
    fan_end (&opening->fan);
}

static void
opendir_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    struct opening *opening = frame->local;
    replicate_t *priv = this->private;
    const copies_t up = children_up (priv);

    fan_begin (&opening->fan, opening_done);
    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i))
            FAN_WIND (&opening->fan, i, priv->children[i], opendir, loc, fd, xdata);
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
opening_new (call_frame_t *frame, xlator_t *this, fd_t *fd, uint32_t flags, bool directory)
{
    struct opening *opening = frame_local_new (frame, sizeof *opening);

    opening->head.drop = opening_drop;
    opening->this = this;
    opening->frame = frame;
    opening->fd = fd_ref (fd);
    opening->flags = flags;
    opening->directory = directory;
    fan_init (&opening->fan, frame, ((replicate_t *) this->private)->n);
    return opening;
}

static void
opening_begin (struct opening *opening, call_stub_t *stub)
{
    replicate_t *priv = opening->this->private;
    struct readable readable;

    opening->stub = stub;
    if (!stub)
        frame_fail (opening->frame, ENOMEM);
    else if (!children_quorum (priv, children_up (priv)))
        frame_fail (opening->frame, ENOTCONN);
    else if (inode_is_fresh (opening->this, opening->fd->inode, &readable))
        call_resume (g_steal_pointer (&opening->stub));
    else
        inode_refresh (opening->this, opening->fd->inode, opening_refreshed, opening);
}

void
replicate_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
                dict_t *xdata)
{
    opening_begin (opening_new (frame, this, fd, flags, false),
                   fop_open_stub (frame, open_wind, loc, flags, fd, xdata));
}

void
replicate_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    opening_begin (opening_new (frame, this, fd, O_DIRECTORY, true),
                   fop_opendir_stub (frame, opendir_wind, loc, fd, xdata));
}

/* --- flush, fsyncdir -------------------------------------------------------------------------- */

struct closing {
    struct local head;
    struct fan_out fan;
};

static void
closing_drop (void *local)
{
    fan_clear (&((struct closing *) local)->fan);
}

static struct fan_out *
closing_begin (call_frame_t *frame, xlator_t *this, void (*next) (call_frame_t *frame))
{
    struct closing *closing = frame_local_new (frame, sizeof *closing);

    closing->head.drop = closing_drop;
    fan_init (&closing->fan, frame, ((replicate_t *) this->private)->n);
    fan_begin (&closing->fan, next);
    return &closing->fan;
}

/* Returns 0 if enough copies did it, else an error. */
static int
closing_error (call_frame_t *frame)
{
    const struct closing *closing = frame->local;
    copies_t done = 0;

    for (unsigned i = 0; i < closing->fan.n; i++)
        if (closing->fan.answers[i].op != FOP_NONE && closing->fan.answers[i].op_ret >= 0)
            done |= COPY (i);
    return children_quorum (frame->this->private, done) ? 0 : fan_error (&closing->fan);
}

static void
flushed (call_frame_t *frame)
{
    const int error = closing_error (frame);

    if (error)
        frame_fail (frame, error);
    else
        STACK_UNWIND (flush, frame, 0, 0, NULL);
}

/* A file that is closed is likely not to be written soon: its hold ends. */
void
replicate_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    replicate_t *priv = this->private;
    const copies_t on = fd_opened (this, fd) & children_up (priv);
    struct fan_out *fan;

    eager_release (this, fd->inode);
    fan = closing_begin (frame, this, flushed);
    for (unsigned i = 0; i < priv->n; i++)
        if (on & COPY (i))
            FAN_WIND (fan, i, priv->children[i], flush, fd, xdata);
    fan_end (fan);
}

static void
directory_synced (call_frame_t *frame)
{
    const int error = closing_error (frame);

    if (error)
        frame_fail (frame, error);
    else
        STACK_UNWIND (fsyncdir, frame, 0, 0, NULL);
}

void
replicate_fsyncdir (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    replicate_t *priv = this->private;
    const copies_t on = fd_opened (this, fd) & children_up (priv);
    struct fan_out *fan = closing_begin (frame, this, directory_synced);

    for (unsigned i = 0; i < priv->n; i++)
        if (on & COPY (i))
            FAN_WIND (fan, i, priv->children[i], fsyncdir, fd, datasync, xdata);
    fan_end (fan);
}

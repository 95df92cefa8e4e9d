/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * layout gluster: a file that becomes shorter, by truncate, ftruncate or O_TRUNC, is copied to the
 * trash first. The copy is the daemon's, in the line `entries`, since it may take long; it gets the
 * owner and the mode of the file. If the operation then fails, the copy is removed before the
 * answer.
 */
#include "gluster.h"

#include <errno.h>
#include <fcntl.h>

#define COPY_STEP (128 * 1024) /* bytes, as GlusterFS */

struct excerpt {
    struct trash_task task; /* first; in the frame's memory */
    call_frame_t *frame;
    void (*refuse) (call_frame_t *frame, int error);
    int error;              /* of the operation, a positive errno */
    inode_t *folder, *copy; /* with references; copy NULL: nothing was kept */
    char *name;             /* in folder */
};

/* --- the copy --------------------------------------------------------------------------------- */

/* Bytes that are appended meanwhile don't belong to the old content. */
static int
copy_data (struct client *client, fd_t *from, fd_t *to, off_t size)
{
    struct readv_reply reply;
    off_t offset = 0;
    int r = 1, written;

    while (r > 0 && offset < size) {
        r = sync_readv (client, from, MIN (COPY_STEP, size - offset), offset, 0, NULL, &reply);
        if (r > 0) {
            written = sync_writev (client, to, reply.vector, reply.count, offset, 0, reply.iobref,
                                   NULL, NULL);
            r = written < 0 || written == r ? written : -ENOSPC;
            offset += MAX (r, 0);
        }
        readv_reply_drop (&reply);
    }
    return error_or_0 (r);
}

/* A user's daemon can't give files away. */
static void
copy_attributes (struct client *client, inode_t *copy, const struct iatt *buf)
{
    loc_t loc = { .inode = copy };
    struct iatt to = *buf;
    const uint32_t owner = client->uid == 0 ? IATT_UID | IATT_GID : 0;

    sync_setattr (client, &loc, &to, owner, NULL, NULL);
    sync_setattr (client, &loc, &to, IATT_MODE, NULL, NULL);
    loc_wipe_path (&loc);
}

static int
copy_create (xlator_t *this, struct client *client, struct excerpt *excerpt, fd_t **ret_fd)
{
    g_autoptr (inode_t) fresh = inode_new (excerpt->folder->table);
    g_autoptr (fd_t) fd = fd_new (this->fd_maker, NULL, O_RDWR | O_EXCL, client->pid);
    loc_t loc = { .name = excerpt->name, .parent = excerpt->folder, .inode = fresh };
    struct create_reply reply;
    int r = sync_create (client, &loc, O_RDWR | O_EXCL | O_CREAT, 0600, 0, fd, NULL, &reply);

    if (r >= 0) {
        excerpt->copy = inode_link (reply.inode, excerpt->folder, excerpt->name, &reply.buf);
        if (!fd->inode)
            fd->inode = inode_ref (excerpt->copy);
        *ret_fd = g_steal_pointer (&fd);
    }
    create_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static void
copy_remove (xlator_t *this, struct excerpt *excerpt)
{
    if (excerpt->copy)
        sync_name_remove (trash_priv (this)->entries.client, excerpt->folder, excerpt->name,
                          excerpt->copy);
    g_clear_pointer (&excerpt->copy, inode_unref);
}

static int
copy_make (xlator_t *this, struct excerpt *excerpt, inode_t *inode, const char *name,
           const struct iatt *buf)
{
    struct client *client = trash_priv (this)->entries.client;
    g_autoptr (fd_t) from = NULL, to = NULL;
    int r = sync_name_open (client, this->fd_maker, inode, O_RDONLY | O_NOATIME, &from);

    if (r < 0) /* not the owner, or a storage without the flag */
        r = sync_name_open (client, this->fd_maker, inode, O_RDONLY, &from);
    if (r < 0)
        return r;
    r = -EEXIST;
    for (unsigned try = 1; r == -EEXIST && try <= TRASH_GLUSTER_TRIES; try++) {
        g_free (excerpt->name);
        excerpt->name = trash_gluster_name (name, try);
        r = copy_create (this, client, excerpt, &to);
    }
    if (r == 0)
        r = copy_data (client, from, to, buf->ia_size);
    if (r == 0)
        copy_attributes (client, excerpt->copy, buf);
    else
        copy_remove (this, excerpt);
    return r;
}

/* Copies the file if it is one that the layout keeps and becomes shorter. A task of entries. */
static void
excerpt_keep (call_frame_t *frame, xlator_t *this, inode_t *inode, off_t size)
{
    struct excerpt *excerpt = frame_local_new (frame, sizeof *excerpt);
    const uint64_t most = __atomic_load_n (&trash_priv (this)->max_filesize, __ATOMIC_RELAXED);
    struct client *client = trash_priv (this)->entries.client;
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    struct iatt buf;
    int r;

    trash_folder_stat (client, inode, &buf);
    if (buf.ia_type != IA_IFREG || buf.ia_nlink != 1 || buf.ia_size > most
        || buf.ia_size <= (uint64_t) size || !inode_a_name (inode, &parent, &name)
        || !trash_gluster_keeps (this, frame->root, parent, name))
        return;
    r = trash_gluster_folder (this, client, parent, &excerpt->folder);
    if (r == 0)
        r = copy_make (this, excerpt, inode, name, &buf);
    if (r < 0)
        trash_count_for_good (this, -r, name);
    else
        trash_notice (this, excerpt->folder, excerpt->name);
}

/* --- after ------------------------------------------------------------------------------------ */

static void
excerpt_drop (struct excerpt *excerpt)
{
    inode_unref (excerpt->folder);
    inode_unref (excerpt->copy);
    g_free (excerpt->name);
}

static void
excerpt_undo (xlator_t *this, struct trash_task *task)
{
    struct excerpt *excerpt = (struct excerpt *) task;

    stack_taken (excerpt->frame->root);
    copy_remove (this, excerpt);
    excerpt_drop (excerpt);
    excerpt->refuse (excerpt->frame, excerpt->error);
}

/* Returns whether the operation has failed and its answer waits for the end of the copy: `refuse`
 * gives it. */
static bool
excerpt_fails (call_frame_t *frame, xlator_t *this, int op_ret, int error,
               void (*refuse) (call_frame_t *frame, int error))
{
    trash_private_t *priv = this->private;
    struct excerpt *excerpt = frame->local;

    if (op_ret < 0 && excerpt->copy) {
        excerpt->task.run = excerpt_undo;
        excerpt->frame = frame;
        excerpt->refuse = refuse;
        excerpt->error = error;
        trash_line_add (&priv->entries, &excerpt->task);
        return true;
    }
    if (excerpt->copy)
        __atomic_add_fetch (&priv->kept, 1, __ATOMIC_RELAXED);
    excerpt_drop (excerpt);
    return false;
}

/* --- the operations --------------------------------------------------------------------------- */

static void
refuse_truncate (call_frame_t *frame, int error)
{
    STACK_UNWIND (truncate, frame, -1, error, NULL, NULL, NULL);
}

static void
refuse_ftruncate (call_frame_t *frame, int error)
{
    STACK_UNWIND (ftruncate, frame, -1, error, NULL, NULL, NULL);
}

static void
refuse_open (call_frame_t *frame, int error)
{
    STACK_UNWIND (open, frame, -1, error, NULL, NULL);
}

static void
excerpt_truncate_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    if (!excerpt_fails (frame, this, op_ret, op_errno, refuse_truncate))
        STACK_UNWIND (truncate, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

static void
excerpt_ftruncate_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                       int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    if (!excerpt_fails (frame, this, op_ret, op_errno, refuse_ftruncate))
        STACK_UNWIND (ftruncate, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

static void
excerpt_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    if (!excerpt_fails (frame, this, op_ret, op_errno, refuse_open))
        STACK_UNWIND (open, frame, op_ret, op_errno, fd, xdata);
}

static void
excerpt_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    excerpt_keep (frame, this, loc->inode, offset);
    STACK_WIND (frame, excerpt_truncate_cbk, FIRST_CHILD (this), truncate, loc, offset, xdata);
}

static void
excerpt_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    excerpt_keep (frame, this, fd->inode, offset);
    STACK_WIND (frame, excerpt_ftruncate_cbk, FIRST_CHILD (this), ftruncate, fd, offset, xdata);
}

static void
excerpt_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
              dict_t *xdata)
{
    excerpt_keep (frame, this, loc->inode, 0);
    STACK_WIND (frame, excerpt_open_cbk, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static bool
is_cutting (xlator_t *this, const call_stack_t *root, const inode_t *inode)
{
    return trash_priv (this)->layout == TRASH_GLUSTER && inode && trash_takes (this, root);
}

void
trash_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (is_cutting (this, frame->root, loc->inode))
        stub = fop_truncate_stub (frame, excerpt_truncate, loc, offset, xdata);
    if (stub)
        trash_line_resume (&trash_priv (this)->entries, stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), truncate, loc, offset, xdata);
}

void
trash_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (is_cutting (this, frame->root, fd->inode))
        stub = fop_ftruncate_stub (frame, excerpt_ftruncate, fd, offset, xdata);
    if (stub)
        trash_line_resume (&trash_priv (this)->entries, stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), ftruncate, fd, offset, xdata);
}

void
trash_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
            dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (flags & O_TRUNC && is_cutting (this, frame->root, loc->inode))
        stub = fop_open_stub (frame, excerpt_open, loc, flags, fd, xdata);
    if (stub)
        trash_line_resume (&trash_priv (this)->entries, stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

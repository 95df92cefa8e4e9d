/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * truncate, ftruncate, open and create of a file that loses content, or may lose it, in both
 * layouts: the copy first, then the operation. If the operation fails, the copy is removed before
 * the answer. The rest is in copy.h.
 */
#include "../gluster/gluster.h"
#include "copy.h"

#include <errno.h>
#include <fcntl.h>

struct excerpt {
    struct trash_task task; /* first; in the frame's memory */
    call_frame_t *frame;
    void (*refuse) (call_frame_t *frame, int error);
    int error;              /* of the operation, a positive errno */
    struct trash_version version; /* copy.inode NULL: nothing was kept */
    fd_t *fd;               /* that is opened; NULL: the file is cut */
};

/* --- layout gluster --------------------------------------------------------------------------- */

static int
excerpt_copy (xlator_t *this, struct trash_copy *copy, inode_t *inode, const char *name)
{
    struct client *client = trash_priv (this)->entries.client;
    int r = -EEXIST;

    for (unsigned try = 1; r == -EEXIST && try <= TRASH_GLUSTER_TRIES; try++) {
        g_free (copy->name);
        copy->name = trash_gluster_name (name, try);
        r = trash_copy_begin (this, client, copy, inode);
    }
    if (r == 0)
        r = trash_copy_data (client, copy);
    if (r == 0)
        trash_copy_end (client, copy, NULL);
    trash_copy_close (copy);
    if (r < 0)
        trash_copy_remove (client, copy);
    return r;
}

/* Copies the file if it is one that the layout keeps and becomes shorter. A task of entries. */
static void
excerpt_keep_gluster (xlator_t *this, const call_stack_t *root, struct trash_copy *copy,
                      inode_t *inode, off_t size)
{
    const uint64_t most = __atomic_load_n (&trash_priv (this)->max_filesize, __ATOMIC_RELAXED);
    struct client *client = trash_priv (this)->entries.client;
    const struct iatt *buf = &copy->before;
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    int r;

    trash_folder_stat (client, inode, &copy->before);
    if (buf->ia_type != IA_IFREG || buf->ia_nlink != 1 || buf->ia_size > most
        || buf->ia_size <= (uint64_t) size || !inode_a_name (inode, &parent, &name)
        || !trash_gluster_keeps (this, root, parent, name)
        || trash_is_eliminated (this, root, FOP_truncate,
                                &(loc_t){ .inode = inode, .parent = parent, .name = name }, buf))
        return;
    r = trash_gluster_folder (this, client, parent, &copy->folder);
    if (r == 0)
        r = excerpt_copy (this, copy, inode, name);
    if (r < 0)
        trash_count_for_good (this, -r, name);
}

/* --- before ----------------------------------------------------------------------------------- */

/* Makes the copy. Returns true if the call has to be set aside once more, for the line `entries`:
 * it then comes here again. */
static bool
excerpt_begin (call_frame_t *frame, xlator_t *this, inode_t *inode, off_t size, fd_t *fd,
               enum trash_cut why)
{
    struct excerpt *excerpt = frame->local;

    if (excerpt) {
        trash_version_data (this, &excerpt->version);
        return false;
    }
    excerpt = frame_local_new (frame, sizeof *excerpt);
    excerpt->fd = fd;
    if (trash_priv (this)->layout == TRASH_FREEDESKTOP)
        return trash_version_make (this, frame->root, inode, size, why, &excerpt->version);
    excerpt_keep_gluster (this, frame->root, &excerpt->version.copy, inode, size);
    return false;
}

/* Sets the call aside, or, without memory for that, lets it go without a copy. */
static bool
excerpt_goes_on (call_frame_t *frame, xlator_t *this, call_stub_t *stub)
{
    struct excerpt *excerpt = frame->local;

    if (stub)
        trash_line_resume (&trash_priv (this)->entries, 0, stub);
    else
        trash_version_drop (this, &excerpt->version);
    return stub != NULL;
}

/* --- after ------------------------------------------------------------------------------------ */

static void
excerpt_remove (xlator_t *this, struct trash_version *version)
{
    if (trash_priv (this)->layout == TRASH_FREEDESKTOP) {
        trash_version_drop (this, version);
        return;
    }
    trash_copy_remove (trash_priv (this)->entries.client, &version->copy);
    trash_copy_clear (&version->copy);
}

static void
excerpt_undo (xlator_t *this, struct trash_task *task)
{
    struct excerpt *excerpt = (struct excerpt *) task;

    stack_taken (excerpt->frame->root);
    excerpt_remove (this, &excerpt->version);
    excerpt->refuse (excerpt->frame, excerpt->error);
}

static void
excerpt_leave (xlator_t *this, struct excerpt *excerpt)
{
    struct trash_version *version = &excerpt->version;

    if (trash_priv (this)->layout == TRASH_GLUSTER) {
        if (version->copy.inode)
            __atomic_add_fetch (&trash_priv (this)->kept, 1, __ATOMIC_RELAXED);
        trash_copy_clear (&version->copy);
    } else if (excerpt->fd && version->copy.inode) {
        trash_version_wait (this, excerpt->fd, version);
    } else {
        trash_version_keep (this, version);
    }
}

/* Returns whether the operation has failed and its answer waits for the end of the copy: `refuse`
 * gives it. */
static bool
excerpt_fails (call_frame_t *frame, xlator_t *this, int op_ret, int error,
               void (*refuse) (call_frame_t *frame, int error))
{
    trash_private_t *priv = this->private;
    struct excerpt *excerpt = frame->local;
    const bool gluster = priv->layout == TRASH_GLUSTER;

    if (op_ret < 0 && excerpt->version.copy.inode) {
        excerpt->task.run = excerpt_undo;
        excerpt->frame = frame;
        excerpt->refuse = refuse;
        excerpt->error = error;
        trash_line_add (gluster ? &priv->entries : &priv->maker, &excerpt->task);
        return true;
    }
    excerpt_leave (this, excerpt);
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

/* Whether the bytes have to be copied yet, the operations below learn in the line `maker`. */

static void
excerpt_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    if (excerpt_begin (frame, this, loc->inode, offset, NULL, TRASH_CUT)
        && excerpt_goes_on (frame, this,
                            fop_truncate_stub (frame, excerpt_truncate, loc, offset, xdata)))
        return;
    STACK_WIND (frame, excerpt_truncate_cbk, FIRST_CHILD (this), truncate, loc, offset, xdata);
}

static void
excerpt_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    if (excerpt_begin (frame, this, fd->inode, offset, NULL, TRASH_CUT)
        && excerpt_goes_on (frame, this,
                            fop_ftruncate_stub (frame, excerpt_ftruncate, fd, offset, xdata)))
        return;
    STACK_WIND (frame, excerpt_ftruncate_cbk, FIRST_CHILD (this), ftruncate, fd, offset, xdata);
}

static void
excerpt_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
              dict_t *xdata)
{
    const enum trash_cut why = flags & O_TRUNC ? TRASH_CUT : TRASH_OPEN_TO_WRITE;

    if (excerpt_begin (frame, this, loc->inode, 0, fd, why)
        && excerpt_goes_on (frame, this,
                            fop_open_stub (frame, excerpt_open, loc, flags, fd, xdata)))
        return;
    STACK_WIND (frame, excerpt_open_cbk, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

/* Returns whether a file that is cut is to be copied. */
static bool
is_cutting (xlator_t *this, const call_stack_t *root, const inode_t *inode)
{
    const trash_private_t *priv = this->private;

    return (priv->layout == TRASH_GLUSTER
            || __atomic_load_n (&priv->keep, __ATOMIC_RELAXED) & TRASH_TRUNCATED)
        && inode && trash_takes (this, root);
}

/* What is only appended to loses nothing; who may read, too, may write through a mapping. */
static bool
is_opening_to_write (const xlator_t *this, uint32_t flags)
{
    const bool appends = (flags & (O_ACCMODE | O_APPEND)) == (O_WRONLY | O_APPEND);

    return trash_priv (this)->layout == TRASH_FREEDESKTOP && (flags & O_ACCMODE) != O_RDONLY
        && !appends;
}

static struct trash_line *
excerpt_line (xlator_t *this)
{
    trash_private_t *priv = this->private;

    return priv->layout == TRASH_GLUSTER ? &priv->entries : &priv->maker;
}

void
trash_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (is_cutting (this, frame->root, loc->inode))
        stub = fop_truncate_stub (frame, excerpt_truncate, loc, offset, xdata);
    if (stub)
        trash_line_resume (excerpt_line (this), 0, stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), truncate, loc, offset, xdata);
}

void
trash_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (is_cutting (this, frame->root, fd->inode) && !trash_version_has (this, fd))
        stub = fop_ftruncate_stub (frame, excerpt_ftruncate, fd, offset, xdata);
    if (stub)
        trash_line_resume (excerpt_line (this), 0, stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), ftruncate, fd, offset, xdata);
}

void
trash_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
            dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if ((flags & O_TRUNC || is_opening_to_write (this, flags))
        && is_cutting (this, frame->root, loc->inode))
        stub = fop_open_stub (frame, excerpt_open, loc, flags, fd, xdata);
    if (stub)
        trash_line_resume (excerpt_line (this), 0, stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

/* --- create ----------------------------------------------------------------------------------- */

/*
 * The kernel sends a create for a name that it takes for free. Somebody else may have made the file
 * since: then the create is an open, which may cut the file.
 */

static create_cbk trash_create_cbk;

static void
refuse_create (call_frame_t *frame, int error)
{
    STACK_UNWIND (create, frame, -1, error, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* Makes the copy of a file that has the name already. Returns true if the call has to be set aside
 * once more, as excerpt_begin. In the line `maker`. */
static bool
excerpt_begin_named (call_frame_t *frame, xlator_t *this, const loc_t *loc, uint32_t flags,
                     fd_t *fd)
{
    const enum trash_cut why = flags & O_TRUNC ? TRASH_CUT : TRASH_OPEN_TO_WRITE;
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;

    if (!frame->local
        && (sync_name_look (trash_priv (this)->maker.client, loc->parent, loc->name, &there, &buf)
                < 0
            || buf.ia_type != IA_IFREG))
        return false;
    return excerpt_begin (frame, this, there, 0, fd, why);
}

static void
excerpt_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
                mode_t umask, fd_t *fd, dict_t *xdata)
{
    if (excerpt_begin_named (frame, this, loc, flags, fd)
        && excerpt_goes_on (frame, this,
                            fop_create_stub (frame, excerpt_create, loc, flags, mode, umask, fd,
                                             xdata)))
        return;
    STACK_WIND_COOKIE (frame, trash_create_cbk, GUINT_TO_POINTER (flags), FIRST_CHILD (this),
                       create, loc, flags, mode, umask, fd, xdata);
}

static void
trash_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf,
                  struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    const bool there = frame->local != NULL;

    if (there && excerpt_fails (frame, this, op_ret, op_errno, refuse_create))
        return;
    if (!there && op_ret >= 0 && inode)
        trash_note_made (this, frame->root, GPOINTER_TO_UINT (cookie), fd, inode);
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

/* Returns whether a create may meet a file whose content is kept. */
static bool
is_cutting_named (xlator_t *this, uint32_t flags)
{
    const trash_private_t *priv = this->private;

    return !(flags & O_EXCL) && (flags & O_TRUNC || is_opening_to_write (this, flags))
        && __atomic_load_n (&priv->keep, __ATOMIC_RELAXED) & TRASH_TRUNCATED;
}

void
trash_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
              mode_t umask, fd_t *fd, dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (!trash_makers_count (this, frame->root)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
        return;
    }
    if (is_cutting_named (this, flags))
        stub = fop_create_stub (frame, excerpt_create, loc, flags, mode, umask, fd, xdata);
    if (stub)
        trash_line_resume (&trash_priv (this)->maker, 0, stub);
    else
        STACK_WIND_COOKIE (frame, trash_create_cbk, GUINT_TO_POINTER (flags), FIRST_CHILD (this),
                           create, loc, flags, mode, umask, fd, xdata);
}

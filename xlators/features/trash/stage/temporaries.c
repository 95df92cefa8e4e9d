/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Temporary files, which the process that removes them has made itself: with O_EXCL, and has not
 * closed since; or a short while ago. So the files that programs make and remove in the course of
 * their work, such as git's lock files and a database's journals, don't fill the trash. The rm of a
 * person has made nothing. The first flush of a file, which a close waits for, counts as its close:
 * a release comes later than the close returns.
 */
#include "../trash.h"

#include <errno.h>
#include <fcntl.h>

/* The context of an inode, and of the file that made it. The file may outlive the inode: the table
 * may know the object by another inode by now. */
struct made {
    int refs;       /* of the two contexts; atomic */
    pid_t maker;    /* the process, or 0; atomic */
    uint64_t mark;  /* process_mark of maker when it made the file; atomic */
    int64_t since;  /* clock_now; atomic */
    bool exclusive; /* made with O_EXCL, and still open; atomic */
};

bool
trash_makers_count (xlator_t *this, const call_stack_t *root)
{
    return trash_priv (this)->layout == TRASH_FREEDESKTOP && trash_takes (this, root);
}

static void *
made_new (xlator_t *this, inode_t *inode)
{
    struct made *made = g_new0 (struct made, 1);

    made->refs = 1;
    return made;
}

static void
made_unref (void *data)
{
    struct made *made = data;

    if (made && __atomic_sub_fetch (&made->refs, 1, __ATOMIC_ACQ_REL) == 0)
        g_free (made);
}

/* Without O_EXCL the file may be an old one, which the table then knows. */
static bool
is_made (const inode_t *inode, uint32_t flags)
{
    return flags & O_EXCL || gfid_is_null (&inode->gfid);
}

static struct made *
made_now (xlator_t *this, inode_t *inode, const call_stack_t *root, bool exclusive)
{
    struct made *made = rules_own_make (this, inode, made_new, made_unref);
    const pid_t maker = process_of_thread (root->pid, clock_roughly ());

    __atomic_store_n (&made->since, clock_roughly (), __ATOMIC_RELAXED);
    __atomic_store_n (&made->exclusive, exclusive, __ATOMIC_RELAXED);
    __atomic_store_n (&made->mark, process_mark (maker), __ATOMIC_RELAXED);
    __atomic_store_n (&made->maker, maker, __ATOMIC_RELAXED);
    return made;
}

void
trash_note_made (xlator_t *this, const call_stack_t *root, uint32_t flags, fd_t *fd, inode_t *inode)
{
    struct made *made;

    if (!is_made (inode, flags))
        return;
    made = made_now (this, inode, root, flags & O_EXCL);
    __atomic_add_fetch (&made->refs, 1, __ATOMIC_RELAXED);
    trash_file_make (this, fd)->made = made;
}

/* Programs make links to find out whether they can, as git does. */
static symlink_cbk trash_symlink_cbk;

void
trash_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc, mode_t umask,
               dict_t *xdata)
{
    if (trash_makers_count (this, frame->root))
        STACK_WIND (frame, trash_symlink_cbk, FIRST_CHILD (this), symlink, linkpath, loc, umask,
                    xdata);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), symlink, linkpath, loc, umask, xdata);
}

static void
trash_symlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, inode_t *inode, struct iatt *buf, struct iatt *preparent,
                   struct iatt *postparent, dict_t *xdata)
{
    if (op_ret >= 0 && inode)
        made_now (this, inode, frame->root, false);
    STACK_UNWIND (symlink, frame, op_ret, op_errno, inode, buf, preparent, postparent, xdata);
}

static void
made_closed (xlator_t *this, fd_t *fd)
{
    const struct trash_file *file = fd_ctx_get (fd, this);

    if (file && file->made)
        __atomic_store_n (&file->made->exclusive, false, __ATOMIC_RELAXED);
}

void
trash_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    made_closed (this, fd);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), flush, fd, xdata);
}

void
trash_temporary_release (xlator_t *this, fd_t *fd)
{
    const struct trash_file *file = fd_ctx_get (fd, this);

    made_closed (this, fd);
    made_unref (file ? file->made : NULL);
}

/* Returns whether the process that made the file is the one that `process` stands for: not a later
 * one with its number, and not another program that it has executed since. Unknown counts as
 * another, so that the file is kept. */
static bool
is_by_its_maker (const struct made *made, pid_t process)
{
    const uint64_t mark = __atomic_load_n (&made->mark, __ATOMIC_RELAXED);

    return process > 0 && __atomic_load_n (&made->maker, __ATOMIC_RELAXED) == process && mark != 0
        && process_mark (process) == mark;
}

bool
trash_is_temporary (xlator_t *this, const call_stack_t *root, inode_t *inode)
{
    const int64_t young = __atomic_load_n (&trash_priv (this)->temporaries, __ATOMIC_RELAXED);
    const struct made *made = rules_own (this, inode);
    const int64_t now = clock_roughly ();

    return made
        && (__atomic_load_n (&made->exclusive, __ATOMIC_RELAXED)
            || now - __atomic_load_n (&made->since, __ATOMIC_RELAXED) < young)
        && is_by_its_maker (made, process_of_thread (root->pid, now));
}

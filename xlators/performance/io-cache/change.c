/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes of a file, through any fd. Pages that a change may affect are dropped when it comes, and
 * no page is added until it is done. */
#include "io-cache.h"

/* An end of -1 is the end of the file. Also for a file without pages: a page may be requested
 * before the change is done. */
static struct ioc_inode *
file_begin (xlator_t *this, inode_t *inode, off_t offset, off_t ioc_bracket_end)
{
    struct ioc_inode *ioc = ioc_inode_ref (ioc_inode_make (this, inode));

    pthread_mutex_lock (&ioc->lock);
    change_begin (&ioc_priv (this)->clock, &ioc->changes);
    if (ioc_pages_drop_locked (ioc, offset, ioc_bracket_end))
        IOC_COUNT (this, invalidations);
    pthread_mutex_unlock (&ioc->lock);
    return ioc;
}

/* Takes the reference of file_begin. */
static void
ioc_file_end (struct ioc_inode *ioc)
{
    pthread_mutex_lock (&ioc->lock);
    change_end (&ioc_priv (ioc->this)->clock, &ioc->changes, 0);
    pthread_mutex_unlock (&ioc->lock);
    ioc_inode_unref (ioc);
}

/* Drops all knowledge of the file. */
static void
drop_all (xlator_t *this, struct ioc_inode *ioc)
{
    pthread_mutex_lock (&ioc->lock);
    change_happened (&ioc_priv (this)->clock, &ioc->changes);
    if (ioc_pages_drop_locked (ioc, 0, -1))
        IOC_COUNT (this, invalidations);
    ioc->known = false;
    pthread_mutex_unlock (&ioc->lock);
}

/* --- the bracket ------------------------------------------------------------------------------ */

/* An append changes no page but the last one, which every change drops. */
static struct ioc_inode *
ioc_write_begin (const struct call *call, inode_t *inode)
{
    const off_t offset = MAX (call->offset, 0);

    if (call->fd->flags & O_APPEND && !(call->flags & WRITE_AT_OFFSET))
        return file_begin (call->this, inode, 0, 0);
    if (call->offset < 0 || offset > G_MAXINT64 / 2)
        return file_begin (call->this, inode, offset, call->offset < 0 ? 0 : -1);
    return file_begin (call->this, inode, offset, offset + (off_t) call->size);
}

/* The file that a create truncates is known only when it is done. Until then no page of any file is
 * served. */
static void
ioc_bracket_begin (const struct call *call, struct change *change)
{
    const bool cuts = call->op == FOP_truncate || call->op == FOP_ftruncate;
    struct ioc_inode *ioc = NULL;

    if (!(change->what & CHANGES_DATA))
        ioc = ioc_inode_known (call->this, change->inode);
    else if (!change->inode)
        __atomic_add_fetch (&ioc_priv (call->this)->blind, 1, __ATOMIC_ACQ_REL);
    else if (call->op == FOP_writev)
        ioc = ioc_write_begin (call, change->inode);
    else
        ioc = file_begin (call->this, change->inode, cuts ? MAX (call->offset, 0) : 0, -1);
    change->own[0] = (uintptr_t) ioc;
}

/* A caller that takes a lock cooperates with other processes, which may have changed the file
 * directly in the directory below. So its attributes are requested again. Takes the reference. */
static void
lock_was_taken (struct ioc_inode *ioc)
{
    pthread_mutex_lock (&ioc->lock);
    ioc->looked_at = ioc->old_until = G_MININT64 / 2;
    ioc->doubted_at = clock_roughly ();
    pthread_mutex_unlock (&ioc->lock);
    ioc_inode_unref (ioc);
}

/* A create that failed may still have truncated a file. */
static void
ioc_create_end (const struct answer *answer, inode_t *inode)
{
    if (answer->op_ret < 0 || inode)
        ioc_invalidate (answer->this, inode);
    __atomic_sub_fetch (&ioc_priv (answer->this)->blind, 1, __ATOMIC_ACQ_REL);
}

static void
ioc_bracket_end (const struct answer *answer, struct change *change)
{
    struct ioc_inode *ioc = (struct ioc_inode *) (uintptr_t) change->own[0];

    if (ioc && change->what & CHANGES_DATA)
        ioc_file_end (ioc);
    else if (ioc)
        lock_was_taken (ioc);
    else if (change->what & CHANGES_DATA)
        ioc_create_end (answer, change->inode);
}

static const struct change_bracket ioc_bracket = {
    CHANGES_DATA | CHANGES_LOCKS, ioc_bracket_begin, ioc_bracket_end
};

/* The class of a file depends on its path, which may have changed since the last open. */
void
ioc_any_fop (const struct call *call)
{
    struct ioc_inode *ioc = call->op == FOP_open && ioc_priv (call->this)->priorities
                              ? ioc_inode_get (call->this, call->loc->inode)
                              : NULL;

    if (ioc)
        ioc_inode_classify (ioc, call->loc->inode);
    change_bracket_call (&ioc_bracket, call);
}

void
ioc_any_fop_cbk (const struct answer *answer)
{
    change_bracket_answer (&ioc_bracket, answer);
}

/* --- invalidation ----------------------------------------------------------------------------- */

void
ioc_invalidate (xlator_t *this, inode_t *inode)
{
    struct ioc_inode *ioc = ioc_inode_get (this, inode);

    if (!inode)
        __atomic_add_fetch (&ioc_priv (this)->epoch, 1, __ATOMIC_ACQ_REL);
    else if (ioc)
        drop_all (this, ioc);
}

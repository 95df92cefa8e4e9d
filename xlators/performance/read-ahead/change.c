/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes of a file, through any fd. Its pages are dropped when a change comes. Until it is done,
 * no page is fetched or served. */
#include "read-ahead.h"

static void
file_changes (xlator_t *this, struct ra_inode *inode)
{
    pthread_mutex_lock (&inode->lock);
    change_begin (&ra_priv (this)->clock, &inode->changes);
    if (inode->files.head)
        RA_COUNT (this, changes, 1);
    ra_inode_drop_locked (inode);
    pthread_mutex_unlock (&inode->lock);
}

static void
file_changed (xlator_t *this, struct ra_inode *inode)
{
    pthread_mutex_lock (&inode->lock);
    change_end (&ra_priv (this)->clock, &inode->changes, 0);
    pthread_mutex_unlock (&inode->lock);
}

static void
attributes_change (xlator_t *this)
{
    __atomic_add_fetch (&ra_priv (this)->attributes, 1, __ATOMIC_ACQ_REL);
}

/* --- the bracket ------------------------------------------------------------------------------ */

/* Also for an inode without pages: a page might be fetched before the change is done. The file that
 * a create truncates is known only when it is done; until then no page of any file is served. */
static void
ra_bracket_begin (const struct call *call, struct change *change)
{
    struct ra_inode *rai = NULL;

    if (change->what != CHANGES_LOCKS)
        attributes_change (call->this);
    if (!(change->what & CHANGES_DATA)) {
        rai = change->what & CHANGES_LOCKS ? ra_inode_get (call->this, change->inode) : NULL;
        change->own[0] = rai ? (uintptr_t) ra_inode_ref (rai) : 0;
    } else if (change->inode) {
        rai = ra_inode_ref (ra_inode_make (call->this, change->inode));
        file_changes (call->this, rai);
        change->own[0] = (uintptr_t) rai;
    } else {
        __atomic_add_fetch (&ra_priv (call->this)->blind, 1, __ATOMIC_ACQ_REL);
    }
}

/* A create that failed may still have truncated a file. */
static void
ra_create_end (const struct answer *answer, inode_t *inode)
{
    if (answer->op_ret < 0 || inode)
        ra_invalidate (answer->this, inode);
    __atomic_sub_fetch (&ra_priv (answer->this)->blind, 1, __ATOMIC_ACQ_REL);
}

/* A caller that takes a lock cooperates with other processes, which may have changed the file
 * directly in the directory below. */
static void
ra_bracket_end (const struct answer *answer, struct change *change)
{
    struct ra_inode *rai = (struct ra_inode *) (uintptr_t) change->own[0];

    if (change->what != CHANGES_LOCKS)
        attributes_change (answer->this);
    if (!rai && change->what & CHANGES_DATA)
        ra_create_end (answer, change->inode);
    if (!rai)
        return;
    if (change->what & CHANGES_LOCKS)
        file_changes (answer->this, rai);
    file_changed (answer->this, rai);
    ra_inode_unref (rai);
}

static const struct change_bracket ra_bracket = {
    CHANGES_DATA | CHANGES_ATTRIBUTES | CHANGES_XATTRS | CHANGES_LOCKS, ra_bracket_begin,
    ra_bracket_end
};

void
ra_any_fop (const struct call *call)
{
    change_bracket_call (&ra_bracket, call);
}

void
ra_any_fop_cbk (const struct answer *answer)
{
    change_bracket_answer (&ra_bracket, answer);
}

/* --- closing, syncing ------------------------------------------------------------------------- */

/* A caller that closes or syncs is not in the midst of reading. */
static void
forget_pages (xlator_t *this, fd_t *fd)
{
    struct ra_file *file = ra_file_get (this, fd);

    if (!file)
        return;
    pthread_mutex_lock (&file->inode->lock);
    ra_file_drop_locked (file);
    file->run = 0;
    file->reads = 0;
    pthread_mutex_unlock (&file->inode->lock);
}

void
ra_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    forget_pages (this, fd);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), flush, fd, xdata);
}

void
ra_fsync (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    forget_pages (this, fd);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), fsync, fd, datasync, xdata);
}

/* --- invalidation ----------------------------------------------------------------------------- */

void
ra_invalidate (xlator_t *this, inode_t *inode)
{
    struct ra_inode *rai = ra_inode_get (this, inode);

    attributes_change (this);
    if (!inode) {
        __atomic_add_fetch (&ra_priv (this)->epoch, 1, __ATOMIC_ACQ_REL);
        ra_drop_all (this);
    } else if (rai) {
        file_changes (this, rai);
        file_changed (this, rai);
    }
}

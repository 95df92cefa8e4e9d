/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which callers storage would let open a file. Storage decides that when an open reaches it; an
 * open that is answered early must have the same result. So only these are answered early:
 *
 *   the superuser, and the owner if the owner's mode bits permit it, by attributes that storage
 *       answered with the inode, by lookup or readdirp;
 *   a caller that has opened the file to read before, with the same groups.
 *
 * For all other callers, which an access control list may admit or refuse, the open goes down at
 * once. All knowledge of an inode is dropped when a change begins that may invalidate it, and an
 * answer requested before the change ended is not used. A change behind the mount shows as an error
 * of the first operation that needs the open.
 */
#include "open-behind.h"

#include <string.h>
#include <sys/stat.h>

static lookup_cbk ob_lookup_cbk;
static readdirp_cbk ob_readdirp_cbk;
static create_cbk ob_create_cbk;

/* --- invalidation ----------------------------------------------------------------------------- */

void
ob_callers_clear (struct ob_inode *obi)
{
    for (unsigned i = 0; i < OB_CALLERS; i++)
        g_clear_pointer (&obi->callers[i], g_free);
}

static void
unknow_locked (struct ob_inode *obi)
{
    obi->known = false;
    ob_callers_clear (obi);
}

void
ob_unknow (xlator_t *this, struct ob_inode *obi)
{
    ob_private_t *priv = this->private;
    pthread_mutex_t *const lock = obi ? &obi->lock : &priv->lock;

    pthread_mutex_lock (lock);
    change_happened (&priv->clock, obi ? &obi->view : &priv->any);
    if (obi)
        unknow_locked (obi);
    pthread_mutex_unlock (lock);
}

void
ob_change_begin (xlator_t *this, struct ob_inode *obi)
{
    ob_private_t *priv = this->private;
    pthread_mutex_t *const lock = obi ? &obi->lock : &priv->lock;

    pthread_mutex_lock (lock);
    change_begin (&priv->clock, obi ? &obi->view : &priv->any);
    if (obi)
        unknow_locked (obi);
    pthread_mutex_unlock (lock);
}

void
ob_change_end (xlator_t *this, struct ob_inode *obi)
{
    ob_private_t *priv = this->private;
    pthread_mutex_t *const lock = obi ? &obi->lock : &priv->lock;

    pthread_mutex_lock (lock);
    change_end (&priv->clock, obi ? &obi->view : &priv->any, 0);
    if (obi)
        unknow_locked (obi);
    pthread_mutex_unlock (lock);
}

/* --- knowledge -------------------------------------------------------------------------------- */

static bool
is_so_still (xlator_t *this, const struct ob_inode *obi, uint64_t asked)
{
    return change_view_holds (&obi->view, asked) && change_view_holds (&ob_priv (this)->any, asked);
}

static bool
is_remembered_locked (const struct ob_inode *obi, const struct stack_caller *caller)
{
    for (unsigned i = 0; i < OB_CALLERS && obi->callers[i]; i++)
        if (stack_caller_same (obi->callers[i], caller))
            return true;
    return false;
}

bool
ob_is_let_in_locked (xlator_t *this, const struct ob_inode *obi, const struct stack_caller *caller)
{
    if (!obi->known || obi->locked || !is_so_still (this, obi, obi->known_at))
        return false;
    if (caller->uid == 0 || (caller->uid == obi->uid && obi->mode & S_IRUSR))
        return true;
    return is_remembered_locked (obi, caller);
}

/* Returns true if the attributes that decide about rights differ. A change of an access control
 * list shows only in the ctime. */
static bool
differs_locked (const struct ob_inode *obi, const struct iatt *buf)
{
    return obi->uid != buf->ia_uid || obi->mode != buf->ia_prot || obi->ctime != buf->ia_ctime
           || obi->ctime_nsec != buf->ia_ctime_nsec;
}

/* Keeps the attributes that were requested at that clock. */
static void
know (xlator_t *this, struct ob_inode *obi, const struct iatt *buf, uint64_t asked)
{
    pthread_mutex_lock (&obi->lock);
    if (is_so_still (this, obi, asked)) {
        obi->known = true;
        obi->known_at = asked;
        if (differs_locked (obi, buf))
            ob_callers_clear (obi);
        obi->uid = buf->ia_uid;
        obi->mode = buf->ia_prot;
        obi->ctime = buf->ia_ctime;
        obi->ctime_nsec = buf->ia_ctime_nsec;
    }
    pthread_mutex_unlock (&obi->lock);
}

void
ob_let_in (xlator_t *this, struct ob_inode *obi, struct stack_caller *caller, uint64_t clock)
{
    struct stack_caller *last = caller;

    pthread_mutex_lock (&obi->lock);
    if (is_so_still (this, obi, clock) && !is_remembered_locked (obi, caller)) {
        last = obi->callers[OB_CALLERS - 1];
        memmove (obi->callers + 1, obi->callers, (OB_CALLERS - 1) * sizeof obi->callers[0]);
        obi->callers[0] = caller;
    }
    pthread_mutex_unlock (&obi->lock);
    g_free (last);
}

static void
know_inode (xlator_t *this, inode_t *inode, const struct iatt *buf, uint64_t asked)
{
    if (inode && buf->ia_type == IA_IFREG)
        know (this, ob_inode_make (this, inode), buf, asked);
}

void
ob_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct ob_local *local = frame_local_new (frame, sizeof *local);

    local->clock = ob_clock (this);
    STACK_WIND (frame, ob_lookup_cbk, FIRST_CHILD (this), lookup, loc, xdata);
}

/* No copy of the file may be read, or nothing is known of its mode: the open may fail. */
static bool
storage_doubts (const dict_t *xdata)
{
    return dict_has (xdata, XDATA_NO_GOOD_DATA) || dict_has (xdata, XDATA_NO_GOOD_METADATA);
}

static void
ob_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    if (op_ret >= 0 && !storage_doubts (xdata))
        know_inode (this, inode, buf, ((struct ob_local *) frame->local)->clock);
    else if (op_ret >= 0 && ob_inode_get (this, inode))
        ob_unknow (this, ob_inode_get (this, inode));
    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf, xdata, postparent);
}

void
ob_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             dict_t *xdata)
{
    struct ob_local *local = frame_local_new (frame, sizeof *local);

    local->clock = ob_clock (this);
    STACK_WIND (frame, ob_readdirp_cbk, FIRST_CHILD (this), readdirp, fd, size, offset, xdata);
}

static void
ob_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    for (const gf_dirent_t *entry = entries; entry; entry = entry->next)
        know_inode (this, entry->inode, &entry->d_stat, ((struct ob_local *) frame->local)->clock);
    STACK_UNWIND (readdirp, frame, op_ret, op_errno, entries, xdata);
}

/* A create opens its file itself. Later opens of the file may be answered early. */
void
ob_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
           mode_t umask, fd_t *fd, dict_t *xdata)
{
    struct ob_local *local = frame_local_new (frame, sizeof *local);

    local->clock = ob_clock (this);
    STACK_WIND (frame, ob_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask, fd,
                xdata);
}

static void
ob_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               fd_t *fd, inode_t *inode, struct iatt *buf, struct iatt *preparent,
               struct iatt *postparent, dict_t *xdata)
{
    if (op_ret >= 0)
        know_inode (this, inode, buf, ((struct ob_local *) frame->local)->clock);
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

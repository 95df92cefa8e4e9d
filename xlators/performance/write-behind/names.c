/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lookup, readdirp and create. They answer attributes of an inode that is known for sure only when
 * the answer arrives, because a caller may use one name for a file that was written by another
 * name. The size must include every write that was answered before the call. Where storage may have
 * finished such a write only after it read the size, lookup asks again, and readdirp omits the
 * attributes.
 */
#include "write-behind.h"

static lookup_cbk wb_lookup_cbk;
static readdirp_cbk wb_readdirp_cbk;
static create_cbk wb_create_cbk;

void
wb_local_drop (xlator_t *this, void *data)
{
    struct wb_local *local = data;

    fd_unref (local->fd);
    loc_wipe (&local->loc);
    dict_unref (local->xdata);
    inode_unref (local->waited);
    if (local->again)
        call_stub_destroy (local->again);
}

/* No answered write is unfinished, so the call need not wait. A write that is answered later may or
 * may not be in the result. */
static bool
wb_is_idle (xlator_t *this)
{
    return __atomic_load_n (&wb_priv (this)->unfinished, __ATOMIC_ACQUIRE) == 0;
}

static uint64_t
clock_of (xlator_t *this)
{
    return __atomic_load_n (&wb_priv (this)->clock, __ATOMIC_ACQUIRE);
}

/* Returns the inode, with a reference, if one of its writes is unfinished or was finished after
 * `clock`; else NULL. The inode table may hold the file under another inode than the answered
 * one. */
static inode_t *
stale (xlator_t *this, inode_t *answered, const struct iatt *buf, uint64_t clock)
{
    inode_t *inode = inode_find (answered->table, &buf->ia_gfid);
    struct wb_inode *wbi = wb_inode_get (this, inode);
    bool stale = false;

    if (wbi) {
        pthread_mutex_lock (&wbi->lock);
        stale = wbi->writes.length > 0 || wbi->done_at > clock;
        pthread_mutex_unlock (&wbi->lock);
    }
    if (!stale)
        g_clear_pointer (&inode, inode_unref);
    return inode;
}

/* --- lookup ----------------------------------------------------------------------------------- */

static void
wb_lookup_go (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    ((struct wb_local *) frame->local)->clock = clock_of (this);
    STACK_WIND (frame, wb_lookup_cbk, FIRST_CHILD (this), lookup, loc, xdata);
}

static void
lookup_after (call_frame_t *frame, xlator_t *this, inode_t *inode, loc_t *loc, dict_t *xdata)
{
    struct wb_local *local = frame->local;

    inode_unref (local->waited);
    local->waited = inode;
    wb_wait (this, frame, fop_lookup_stub (frame, wb_lookup_go, loc, xdata),
             wb_inode_get (this, inode), 0, -1);
}

void
wb_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct wb_local *local;

    if (wb_is_idle (this)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), lookup, loc, xdata);
        return;
    }
    local = frame_local_new (frame, sizeof *local);
    loc_copy (&local->loc, loc);
    local->xdata = dict_ref (xdata);
    if (wb_is_busy (wb_inode_get (this, loc->inode)))
        lookup_after (frame, this, inode_ref (loc->inode), loc, xdata);
    else
        wb_lookup_go (frame, this, loc, xdata);
}

/* Waits only once for each inode. Later writes of the same inode were answered after the lookup had
 * begun, so they do not count. */
static void
wb_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    struct wb_local *local = frame->local;
    inode_t *found = op_ret >= 0 ? stale (this, inode, buf, local->clock) : NULL;

    if (found && found != local->waited) {
        lookup_after (frame, this, found, &local->loc, local->xdata);
        return;
    }
    inode_unref (found);
    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf, xdata, postparent);
}

/* --- readdirp --------------------------------------------------------------------------------- */

void
wb_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             dict_t *xdata)
{
    struct wb_local *local;

    if (wb_is_idle (this)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readdirp, fd, size, offset, xdata);
        return;
    }
    local = frame_local_new (frame, sizeof *local);
    local->clock = clock_of (this);
    STACK_WIND (frame, wb_readdirp_cbk, FIRST_CHILD (this), readdirp, fd, size, offset, xdata);
}

static bool
entry_is_stale (xlator_t *this, const gf_dirent_t *entry, uint64_t clock)
{
    g_autoptr (inode_t) found = entry->inode ? stale (this, entry->inode, &entry->d_stat, clock)
                                             : NULL;

    return found != NULL;
}

static bool
any_is_stale (xlator_t *this, const gf_dirent_t *entries, uint64_t clock)
{
    for (; entries; entries = entries->next)
        if (entry_is_stale (this, entries, clock))
            return true;
    return false;
}

/* Returns a copy of the entries. An entry whose size is uncertain has no attributes, so that the
 * kernel looks it up when it needs them. */
static gf_dirent_t *
without_stale (xlator_t *this, const gf_dirent_t *entries, uint64_t clock)
{
    gf_dirent_t *copy = dirents_copy (entries);

    for (gf_dirent_t *entry = copy; entry; entry = entry->next) {
        if (!entry_is_stale (this, entry, clock))
            continue;
        g_clear_pointer (&entry->inode, inode_unref);
        entry->d_stat = (struct iatt){ .ia_type = IA_INVAL };
    }
    return copy;
}

static void
wb_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    const struct wb_local *local = frame->local;
    gf_dirent_t *changed = NULL;

    if (any_is_stale (this, entries, local->clock))
        changed = without_stale (this, entries, local->clock);
    STACK_UNWIND (readdirp, frame, op_ret, op_errno, changed ? changed : entries, xdata);
    dirents_free (changed);
}

/* --- create ----------------------------------------------------------------------------------- */

/* Without O_EXCL, a create may open an existing file and truncate it before the answered writes to
 * that file are done. Which file that is cannot be known beforehand. So the first call adds O_EXCL.
 * If a file exists, the create is repeated after all answered writes. */
static void
wb_create_again (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
                 mode_t umask, fd_t *fd, dict_t *xdata)
{
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

void
wb_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
           mode_t umask, fd_t *fd, dict_t *xdata)
{
    struct wb_local *local;

    if (flags & O_EXCL || wb_is_idle (this)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
        return;
    }
    local = frame_local_new (frame, sizeof *local);
    local->again = fop_create_stub (frame, wb_create_again, loc, flags, mode, umask, fd, xdata);
    STACK_WIND (frame, wb_create_cbk, FIRST_CHILD (this), create, loc, flags | O_EXCL, mode, umask,
                fd, xdata);
}

static void
create_after_all (call_frame_t *frame, xlator_t *this)
{
    struct wb_local *local = frame->local;
    struct wb_node *waiter = wb_waiter_new (g_steal_pointer (&local->again));
    wb_ready_t ready = WB_READY_INIT;

    wb_wait_for_all (this, waiter, &ready);
    wb_waiter_start (this, waiter, &ready);
}

static void
wb_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               fd_t *fd, inode_t *inode, struct iatt *buf, struct iatt *preparent,
               struct iatt *postparent, dict_t *xdata)
{
    if (op_ret < 0 && op_errno == EEXIST)
        create_after_all (frame, this);
    else
        STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent,
                      xdata);
}

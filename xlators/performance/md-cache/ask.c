/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that ask for attributes. */
#include "md-cache.h"

static lookup_cbk mdc_lookup_cbk;
static stat_cbk mdc_stat_cbk;
static fstat_cbk mdc_fstat_cbk;
static readlink_cbk mdc_readlink_cbk;
static readv_cbk mdc_readv_cbk;
static statfs_cbk mdc_statfs_cbk;

struct mdc_local *
mdc_ask (call_frame_t *frame, xlator_t *this, inode_t *inode)
{
    struct mdc_local *local = frame_local_new (frame, sizeof *local);

    local->at = mdc_now (this);
    local->names_at = names_now ();
    local->inode = inode_ref (inode);
    return local;
}

void
mdc_local_drop (xlator_t *this, void *data)
{
    struct mdc_local *local = data;

    inode_unref (local->inode);
    inode_unref (local->parent);
    if (local->fd)
        fd_unref (local->fd);
    g_free (local->xattr);
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* A caller that may search the directory may see the attributes of an entry, as long as the entry
 * still has that name. */
static bool
lookup_is_kept (call_frame_t *frame, xlator_t *this, const loc_t *loc, uint64_t name, dict_t *xdata,
                struct iatt *ret_buf)
{
    if (!loc->inode || dict_count (xdata) > 0)
        return false;
    if (!loc->name)
        return mdc_attributes (this, loc->inode, ret_buf);
    return name && frame->root->checked && mdc_attributes_of_name (this, loc->inode, name, ret_buf);
}

/* Returns 0 if there is no name to keep. */
static uint64_t
name_to_keep (xlator_t *this, const loc_t *loc)
{
    return loc->name && loc->parent && !name_is_dots (loc->name) && !inode_is_unkept (loc->parent)
             ? mdc_name_hash (this, loc->parent, loc->name)
             : 0;
}

void
mdc_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    mdc_private_t *priv = this->private;
    const uint64_t name = name_to_keep (this, loc);
    g_autoptr (dict_t) asked = NULL;
    struct iatt buf;
    struct mdc_local *local;
    call_stack_t *ahead;

    if (lookup_is_kept (frame, this, loc, name, xdata, &buf)) {
        mdc_count (&priv->count.lookup_hit);
        ahead = name ? mdc_ahead (frame, this, loc->parent, true) : NULL;
        STACK_UNWIND (lookup, frame, 0, 0, loc->inode, &buf, NULL, NULL);
        mdc_ahead_begin (this, ahead);
        return;
    }
    mdc_count (&priv->count.lookup_miss);
    local = mdc_ask (frame, this, loc->inode);
    local->name = name;
    local->parent = name && dict_count (xdata) == 0 ? inode_ref (loc->parent) : NULL;
    asked = mdc_xattrs_ask (this, xdata);
    STACK_WIND (frame, mdc_lookup_cbk, FIRST_CHILD (this), lookup, loc, asked);
}

static void
lookup_keep (xlator_t *this, const struct mdc_local *local, inode_t *inode, const struct iatt *buf,
             const dict_t *xdata)
{
    g_autoptr (inode_t) other = NULL;
    inode_t *known = mdc_keep (this, inode, buf, local->at, &other);

    if (known)
        mdc_xattrs_take (this, known, xdata, local->at);
    if (local->name && known)
        mdc_keep_name (this, known, local->name, local->at);
    if (local->name && local->inode != known)
        mdc_drop_name (this, local->inode, local->name);
}

static void
mdc_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    const struct mdc_local *local = frame->local;
    call_stack_t *ahead = op_ret < 0 ? NULL : mdc_ahead (frame, this, local->parent, false);

    if (op_ret >= 0) {
        lookup_keep (this, local, inode, buf, xdata);
    } else if (op_errno == ENOENT && local->name) {
        mdc_name_absent (this, local->name, local->at);
        mdc_drop_name (this, local->inode, local->name);
    } else if (op_errno == ESTALE && local->inode && !gfid_is_null (&local->inode->gfid)) {
        mdc_changed (this, local->inode, true, true);
    }
    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf, xdata, postparent);
    mdc_ahead_begin (this, ahead);
}

/* --- stat, fstat ------------------------------------------------------------------------------ */

void
mdc_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    mdc_private_t *priv = this->private;
    struct iatt buf;

    if (dict_count (xdata) == 0 && mdc_attributes (this, loc->inode, &buf)) {
        mdc_count (&priv->count.stat_hit);
        STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
        return;
    }
    mdc_count (&priv->count.stat_miss);
    mdc_ask (frame, this, loc->inode);
    STACK_WIND (frame, mdc_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
keep_or_drop (xlator_t *this, const struct mdc_local *local, int op_ret, int op_errno,
              const struct iatt *buf)
{
    if (op_ret >= 0)
        mdc_keep_simply (this, local->inode, buf, local->at);
    else if ((op_errno == ENOENT || op_errno == ESTALE) && local->inode)
        mdc_changed (this, local->inode, true, true);
}

static void
mdc_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *buf, dict_t *xdata)
{
    keep_or_drop (this, frame->local, op_ret, op_errno, buf);
    STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

void
mdc_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    mdc_private_t *priv = this->private;
    struct iatt buf;

    if (dict_count (xdata) == 0 && mdc_attributes (this, fd->inode, &buf)) {
        mdc_count (&priv->count.stat_hit);
        STACK_UNWIND (fstat, frame, 0, 0, &buf, NULL);
        return;
    }
    mdc_count (&priv->count.stat_miss);
    mdc_ask (frame, this, fd->inode);
    STACK_WIND (frame, mdc_fstat_cbk, FIRST_CHILD (this), fstat, fd, xdata);
}

static void
mdc_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *buf, dict_t *xdata)
{
    keep_or_drop (this, frame->local, op_ret, op_errno, buf);
    STACK_UNWIND (fstat, frame, op_ret, op_errno, buf, xdata);
}

/* --- reading ---------------------------------------------------------------------------------- */

void
mdc_readlink (call_frame_t *frame, xlator_t *this, loc_t *loc, size_t size, dict_t *xdata)
{
    mdc_ask (frame, this, loc->inode);
    STACK_WIND (frame, mdc_readlink_cbk, FIRST_CHILD (this), readlink, loc, size, xdata);
}

/* A read changes at most the atime. */
static void
was_read (xlator_t *this, const struct mdc_local *local, int op_ret, const struct iatt *buf)
{
    if (op_ret >= 0 && buf)
        mdc_keep_simply (this, local->inode, buf, local->at);
    else if (op_ret >= 0)
        mdc_was_read (this, local->inode);
}

static void
mdc_readlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, const char *path, struct iatt *buf, dict_t *xdata)
{
    was_read (this, frame->local, op_ret, buf);
    STACK_UNWIND (readlink, frame, op_ret, op_errno, path, buf, xdata);
}

void
mdc_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
           dict_t *xdata)
{
    mdc_ask (frame, this, fd->inode);
    STACK_WIND (frame, mdc_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

static void
mdc_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
               dict_t *xdata)
{
    was_read (this, frame->local, op_ret, stbuf);
    STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
}

/* --- statfs ----------------------------------------------------------------------------------- */

static bool
statfs_is_kept (xlator_t *this, const inode_t *inode, struct statvfs *ret_buf)
{
    mdc_private_t *priv = this->private;
    struct mdc_asked at;
    bool holds;

    pthread_mutex_lock (&priv->lock);
    at = (struct mdc_asked){ priv->statfs_kept.asked, priv->statfs_kept.time };
    holds = inode && priv->statfs_kept.nodeid == inode_nodeid (inode)
         && at.asked == change_clock_now (&priv->clock)
         && mdc_is_young (this, &at, clock_roughly ());
    if (holds)
        *ret_buf = priv->statfs_kept.buf;
    pthread_mutex_unlock (&priv->lock);
    return holds;
}

/* Free space changes with nearly every change, so the answer is kept until the next change of any
 * file. */
void
mdc_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    mdc_private_t *priv = this->private;
    struct statvfs buf;

    if (!MDC_OPTION (this, statfs)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), statfs, loc, xdata);
        return;
    }
    if (statfs_is_kept (this, loc->inode, &buf)) {
        mdc_count (&priv->count.statfs_hit);
        STACK_UNWIND (statfs, frame, 0, 0, &buf, NULL);
        return;
    }
    mdc_count (&priv->count.statfs_miss);
    mdc_ask (frame, this, loc->inode);
    STACK_WIND (frame, mdc_statfs_cbk, FIRST_CHILD (this), statfs, loc, xdata);
}

static void
mdc_statfs_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct statvfs *buf, dict_t *xdata)
{
    const struct mdc_local *local = frame->local;
    mdc_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    if (op_ret >= 0 && local->inode && local->at.asked == change_clock_now (&priv->clock)) {
        priv->statfs_kept.buf = *buf;
        priv->statfs_kept.nodeid = inode_nodeid (local->inode);
        priv->statfs_kept.asked = local->at.asked;
        priv->statfs_kept.time = local->at.time;
    }
    pthread_mutex_unlock (&priv->lock);
    STACK_UNWIND (statfs, frame, op_ret, op_errno, buf, xdata);
}

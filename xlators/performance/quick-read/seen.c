/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers that describe a file: lookup brings small content, if requested, and so does a readdirp
 * in place of lookups; the others bring attributes, which validate the content or not. */
#include "quick-read.h"

static lookup_cbk qr_lookup_cbk;
static stat_cbk qr_stat_cbk;
static fstat_cbk qr_fstat_cbk;
static readdirp_cbk qr_readdirp_cbk;

static struct qr_local *
local_new (call_frame_t *frame, xlator_t *this)
{
    struct qr_local *local = frame_local_new (frame, sizeof *local);

    local->stamp = qr_stamp_now (this);
    return local;
}

static void
see (xlator_t *this, const struct qr_local *local, inode_t *inode, const struct iatt *buf)
{
    struct qr_inode *qri = inode && buf && buf->ia_type == IA_IFREG
                             ? qr_inode_of_answer (this, inode, buf, false)
                             : NULL;

    if (qr_has_content (qri))
        qr_validate (this, qri, &local->stamp, buf);
}

/* No copy may be read, or the permission to read is not known: the kept content is no longer
 * served. */
static void
qr_seen_forget (xlator_t *this, inode_t *inode, const struct iatt *buf)
{
    struct qr_inode *qri = qr_inode_of_answer (this, inode, buf, false);

    if (qr_has_content (qri))
        qr_drop (this, qri);
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* Content is not requested if settled content is there already, nor for an inode that is not a
 * regular file. */
static bool
wants_content (xlator_t *this, loc_t *loc, struct qr_local *local)
{
    const qr_private_t *priv = this->private;

    if (!priv->wanted
        || (loc->inode && loc->inode->ia_type != IA_INVAL && loc->inode->ia_type != IA_IFREG))
        return false;
    if (qr_content_is_good (qr_inode_get (this, loc->inode)))
        return false;
    local->class = qr_class (this, loc->inode, loc->name && loc->parent ? loc : NULL);
    return local->class != PRIORITY_UNCACHED;
}

/* max_size: of a file whose content is wanted. */
static dict_t *
qr_seen_ask (xlator_t *this, dict_t *xdata, uint64_t max_size)
{
    const qr_private_t *priv = this->private;
    dict_t *both;

    if (!xdata)
        return dict_ref (priv->wanted);
    both = dict_copy (xdata);
    dict_set_u64 (both, QR_CONTENT_KEY, max_size);
    if (priv->modes_prove)
        dict_set_u64 (both, QR_ACL_KEY, 0);
    return both;
}

void
qr_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct qr_local *local = local_new (frame, this);
    g_autoptr (dict_t) asked = NULL;

    local->given = dict_has (xdata, QR_CONTENT_KEY);
    local->acl_given = dict_has (xdata, QR_ACL_KEY);
    local->asked = wants_content (this, loc, local);
    if (local->asked)
        __atomic_store_n (&qr_priv (this)->sated, 0, __ATOMIC_RELAXED);
    else if (qr_has_content (qr_inode_get (this, loc->inode)))
        __atomic_add_fetch (&qr_priv (this)->sated, 1, __ATOMIC_RELAXED);
    if (local->asked) {
        QR_COUNT (this, lookups);
        local->caller = qr_priv (this)->lookups_prove ? stack_caller_new (frame->root) : NULL;
    }
    if (local->asked && !local->given)
        asked = qr_seen_ask (this, xdata, qr_priv (this)->max_size);
    STACK_WIND (frame, qr_lookup_cbk, FIRST_CHILD (this), lookup, loc, asked ? asked : xdata);
}

static bool
all_may_read (const struct iatt *buf, const dict_t *xdata)
{
    const mode_t all = S_IRUSR | S_IRGRP | S_IROTH;

    return (buf->ia_prot & all) == all && !dict_has (xdata, QR_ACL_KEY)
        && !dict_has (xdata, XDATA_NO_GOOD_METADATA);
}

static void
qr_seen_take (xlator_t *this, struct qr_local *local, inode_t *inode, const struct iatt *buf,
              const dict_t *xdata)
{
    size_t size = 0;
    const void *bytes = dict_get (xdata, QR_CONTENT_KEY, &size);
    struct qr_inode *qri;

    if (!bytes || size != buf->ia_size || size > qr_priv (this)->max_size
        || buf->ia_type != IA_IFREG) {
        see (this, local, inode, buf);
        return;
    }
    qri = qr_inode_of_answer (this, inode, buf, true);
    qr_keep (this, qri, &local->stamp, buf, local->class, &(struct iovec){ (void *) bytes, size },
             1);
    if (local->caller && qr_has_content (qri))
        qr_reader_add (this, qri, &local->stamp, g_steal_pointer (&local->caller));
    if (qr_priv (this)->modes_prove && !local->given && all_may_read (buf, xdata))
        qr_all_may_read (this, qri, &local->stamp);
}

/* Returns xdata without what no translator above requested. */
static dict_t *
without_mine (dict_t *xdata, const struct qr_local *local)
{
    dict_t *less = dict_copy (xdata);

    dict_del (less, QR_CONTENT_KEY);
    if (!local->acl_given)
        dict_del (less, QR_ACL_KEY);
    if (dict_count (less) == 0)
        g_clear_pointer (&less, dict_unref);
    return less;
}

static void
qr_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    struct qr_local *local = frame->local;
    const bool mine = op_ret >= 0 && local->asked && !local->given
                   && (dict_has (xdata, QR_CONTENT_KEY) || dict_has (xdata, QR_ACL_KEY));
    dict_t *less = mine ? without_mine (xdata, local) : NULL;

    if (op_ret >= 0
        && (dict_has (xdata, XDATA_NO_GOOD_DATA) || dict_has (xdata, XDATA_NO_GOOD_METADATA)))
        qr_seen_forget (this, inode, buf);
    else if (op_ret >= 0 && local->asked)
        qr_seen_take (this, local, inode, buf, xdata);
    else if (op_ret >= 0)
        see (this, local, inode, buf);
    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf, mine ? less : xdata, postparent);
    dict_unref (less);
}

/* --- attributes ------------------------------------------------------------------------------- */

void
qr_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    if (!qr_has_content (qr_inode_get (this, loc->inode))) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), stat, loc, xdata);
        return;
    }
    local_new (frame, this)->inode = inode_ref (loc->inode);
    STACK_WIND (frame, qr_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
qr_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             struct iatt *buf, dict_t *xdata)
{
    const struct qr_local *local = frame->local;

    if (op_ret >= 0)
        see (this, local, local->inode, buf);
    STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

void
qr_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    if (!qr_has_content (qr_inode_get (this, fd->inode))) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), fstat, fd, xdata);
        return;
    }
    local_new (frame, this)->inode = inode_ref (fd->inode);
    STACK_WIND (frame, qr_fstat_cbk, FIRST_CHILD (this), fstat, fd, xdata);
}

static void
qr_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *buf, dict_t *xdata)
{
    const struct qr_local *local = frame->local;

    if (op_ret >= 0)
        see (this, local, local->inode, buf);
    STACK_UNWIND (fstat, frame, op_ret, op_errno, buf, xdata);
}

/* Returns xdata of a listing in place of lookups. A brick counts 152 bytes or more for a name. */
static dict_t *
ask_ahead (xlator_t *this, const struct qr_local *local, size_t size, dict_t *xdata)
{
    const uint64_t each = QR_AHEAD_CONTENT / (MAX (size, 4096) / 152 + 1);
    dict_t *asked = local->asked ? qr_seen_ask (this, xdata, MIN (qr_priv (this)->max_size, each))
                                 : dict_copy (xdata);

    dict_del (asked, XDATA_LOOKS_AHEAD);
    return asked;
}

/* Contents come along while those of files that are looked up are wanted: later, most are kept. */
void
qr_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             dict_t *xdata)
{
    struct qr_local *local = local_new (frame, this);
    const bool ahead = dict_has (xdata, XDATA_LOOKS_AHEAD);
    g_autoptr (dict_t) asked = NULL;

    local->inode = inode_ref (fd->inode);
    local->asked = ahead && qr_priv (this)->wanted
                && __atomic_load_n (&qr_priv (this)->sated, __ATOMIC_RELAXED) < QR_SATED;
    asked = ahead ? ask_ahead (this, local, size, xdata) : NULL;
    STACK_WIND (frame, qr_readdirp_cbk, FIRST_CHILD (this), readdirp, fd, size, offset,
                asked ? asked : xdata);
}

static void
take_entry (xlator_t *this, struct qr_local *local, const gf_dirent_t *entry)
{
    loc_t loc = { .parent = local->inode, .inode = entry->inode, .name = entry->d_name };

    local->class = entry->inode ? qr_class (this, entry->inode, &loc) : PRIORITY_UNCACHED;
    if (local->class == PRIORITY_UNCACHED)
        see (this, local, entry->inode, &entry->d_stat);
    else
        qr_seen_take (this, local, entry->inode, &entry->d_stat, entry->dict);
    loc_wipe_path (&loc);
}

static void
qr_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    struct qr_local *local = frame->local;

    for (const gf_dirent_t *entry = entries; entry; entry = entry->next)
        if (local->asked)
            take_entry (this, local, entry);
        else
            see (this, local, entry->inode, &entry->d_stat);
    STACK_UNWIND (readdirp, frame, op_ret, op_errno, entries, xdata);
}

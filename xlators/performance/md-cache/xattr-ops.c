/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * getxattr and fgetxattr. Storage, acting as the caller, decides whether the caller may read an
 * attribute. So the cache answers only if the kernel, or another maker of the request, has already
 * checked that.
 */
#include "md-cache.h"

static getxattr_cbk mdc_getxattr_cbk;
static fgetxattr_cbk mdc_fgetxattr_cbk;

static enum mdc_xattr_known
mdc_xattr_look (xlator_t *this, const call_frame_t *frame, inode_t *inode, const char *name,
                dict_t **ret_dict)
{
    mdc_private_t *priv = mdc_priv (this);
    enum mdc_xattr_known known = MDC_XATTR_UNKNOWN;

    if (!name)
        return known;
    if (frame->root->checked)
        known = mdc_xattr_find (this, inode, name, ret_dict);
    mdc_count (known == MDC_XATTR_THERE    ? &priv->count.xattr_hit
               : known == MDC_XATTR_ABSENT ? &priv->count.negative_xattr_hit
                                           : &priv->count.xattr_miss);
    return known;
}

void
mdc_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    dict_t *dict = NULL;
    const enum mdc_xattr_known known = mdc_xattr_look (this, frame, loc->inode, name, &dict);

    if (known == MDC_XATTR_UNKNOWN) {
        mdc_ask (frame, this, loc->inode)->xattr = g_strdup (name);
        STACK_WIND (frame, mdc_getxattr_cbk, FIRST_CHILD (this), getxattr, loc, name, xdata);
        return;
    }
    STACK_UNWIND (getxattr, frame, dict ? 0 : -1, dict ? 0 : ENODATA, dict, NULL);
    dict_unref (dict);
}

void
mdc_fgetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name, dict_t *xdata)
{
    dict_t *dict = NULL;
    const enum mdc_xattr_known known = mdc_xattr_look (this, frame, fd->inode, name, &dict);

    if (known == MDC_XATTR_UNKNOWN) {
        mdc_ask (frame, this, fd->inode)->xattr = g_strdup (name);
        STACK_WIND (frame, mdc_fgetxattr_cbk, FIRST_CHILD (this), fgetxattr, fd, name, xdata);
        return;
    }
    STACK_UNWIND (fgetxattr, frame, dict ? 0 : -1, dict ? 0 : ENODATA, dict, NULL);
    dict_unref (dict);
}

static void
keep_answer (xlator_t *this, const struct mdc_local *local, int op_ret, int op_errno, dict_t *dict)
{
    if (op_ret >= 0 && !local->xattr)
        mdc_xattr_keep_list (this, local->inode, dict, local->at);
    else if (op_ret >= 0 || op_errno == ENODATA)
        if (local->xattr)
            mdc_xattr_keep (this, local->inode, local->xattr, op_ret < 0 ? NULL : dict, local->at);
}

static void
mdc_getxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    keep_answer (this, frame->local, op_ret, op_errno, dict);
    STACK_UNWIND (getxattr, frame, op_ret, op_errno, dict, xdata);
}

static void
mdc_fgetxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    keep_answer (this, frame->local, op_ret, op_errno, dict);
    STACK_UNWIND (fgetxattr, frame, op_ret, op_errno, dict, xdata);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * create, mknod, symlink: on the hashed subvolume. If that is full or leaves the volume, on another
 * one, with a linkto on the hashed.
 *
 * A server refuses a create if the range of the directory that it has is no longer the one that the
 * client counted on. The client then looks the directory up again, and tries again.
 */
#include "../distribute.h"

#include <fcntl.h>
#include <string.h>

struct making {
    struct op op;
    enum fop what;
    uint32_t flags;
    mode_t mode, umask;
    dev_t rdev;
    fd_t *fd;
    char *target;  /* of a symbolic link */
    int hashed, child;
    bool linked;   /* there is a linkto on hashed */
    gfid_t gfid;   /* of the new file, if it is linked */
    /* the answer */
    inode_t *inode;
    struct iatt buf, preparent, postparent;
    dict_t *xdata;
};

static void
making_clear (struct op *op)
{
    struct making *making = (struct making *) op;

    fd_unref (making->fd);
    g_free (making->target);
    inode_unref (making->inode);
    dict_unref (making->xdata);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void
making_answer (struct op *op)
{
    struct making *making = (struct making *) op;
    struct iatt *pre = directory_attributes_of_one (op->this, op->loc.parent, &making->preparent),
                *post = directory_attributes_of_one (op->this, op->loc.parent, &making->postparent);

    if (making->what == FOP_create)
        STACK_UNWIND (create, op->frame, 0, 0, making->fd, making->inode, &making->buf, pre, post,
                      making->xdata);
    else if (making->what == FOP_mknod)
        STACK_UNWIND (mknod, op->frame, 0, 0, making->inode, &making->buf, pre, post,
                      making->xdata);
    else
        STACK_UNWIND (symlink, op->frame, 0, 0, making->inode, &making->buf, pre, post,
                      making->xdata);
}

static void
making_kept (struct making *making)
{
    struct op *op = &making->op;

    inode_set_cached (op->this, making->inode, making->child);
    if (making->fd)
        fd_set_open_on (op->this, making->fd, making->child);
    op_end (op, making_answer);
}

#define MAKING_TAKE(making_, reply_)                                                               \
    do {                                                                                           \
        (making_)->inode = inode_ref ((reply_)->inode);                                            \
        (making_)->buf = (reply_)->buf;                                                            \
        (making_)->preparent = (reply_)->preparent;                                                \
        (making_)->postparent = (reply_)->postparent;                                              \
        (making_)->xdata = dict_ref ((reply_)->xdata);                                             \
    } while (0)

/* --- failures --------------------------------------------------------------------------------- */

static void making_begin (struct making *making);

static void
making_refreshed (call_frame_t *own)
{
    struct making *making = OP_OF (own);
    const struct lookup_reply *reply = &making->op.own_fan.answers[SELF (&making->op)].lookup;

    if (reply->op_ret < 0)
        op_fail (&making->op, reply->op_errno);
    else
        making_begin (making);
}

static void
making_unlinked (call_frame_t *own)
{
    struct op *op = OP_OF (own);

    op_fail (op, op->op_errno);
}

static void
making_failed (struct making *making, int op_errno, dict_t *xdata)
{
    struct op *op = &making->op;
    loc_t parent = { .inode = op->loc.parent };
    g_autoptr (dict_t) only = NULL;

    if (dict_has (xdata, "glusterfs.preop.check.failed") && op->tries++ < TRIES) {
        own_lookup (op, &parent, making_refreshed);
        return;
    }
    op->op_errno = op_errno;
    name_no_room (op->this, &op->loc, (unsigned) making->child, op_errno);
    if (!making->linked) {
        op_fail (op, op_errno);
        return;
    }
    only = xdata_only_linkto ();
    OWN_ONE (op, making_unlinked, (unsigned) making->hashed, unlink, &op->loc, 0, only);
}

/* --- making ----------------------------------------------------------------------------------- */

/* A name that exists after all may be a linkto: the caller looks it up again. */
static bool
making_opened_linkto (const struct making *making)
{
    return iatt_may_be_linkto (&making->buf)
        && (making->mode & ~making->umask & 07777) != S_ISVTX;
}

static void
making_created (call_frame_t *frame)
{
    struct making *making = OP_OF (frame);
    struct create_reply *reply = &making->op.fan.answers[making->child].create;

    if (reply->op_ret < 0) {
        making_failed (making, reply->op_errno, reply->xdata);
        return;
    }
    MAKING_TAKE (making, reply);
    if (making_opened_linkto (making))
        op_fail (&making->op, ESTALE);
    else
        making_kept (making);
}

static void
making_mknoded (call_frame_t *frame)
{
    struct making *making = OP_OF (frame);
    struct mknod_reply *reply = &making->op.fan.answers[making->child].mknod;

    if (reply->op_ret < 0) {
        making_failed (making, reply->op_errno, reply->xdata);
        return;
    }
    MAKING_TAKE (making, reply);
    making_kept (making);
}

static void
making_symlinked (call_frame_t *frame)
{
    struct making *making = OP_OF (frame);
    struct symlink_reply *reply = &making->op.fan.answers[making->child].symlink;

    if (reply->op_ret < 0) {
        making_failed (making, reply->op_errno, reply->xdata);
        return;
    }
    MAKING_TAKE (making, reply);
    making_kept (making);
}

/* What the server compares with its own range of the directory. */
static void
guard_add (struct making *making, dict_t *xdata)
{
    struct op *op = &making->op;
    struct layout *layout = inode_layout (op->this, op->loc.parent);
    uint8_t range[LAYOUT_DISK_SIZE];

    if (layout && layout->ranges[making->child].state == RANGE_SET) {
        layout_write (layout, (unsigned) making->child, range);
        dict_set_str (xdata, "glusterfs.preop.parent.key", op->priv->layout_key);
        dict_set (xdata, op->priv->layout_key, range, sizeof range);
    }
    layout_unref (layout);
}

static void
making_ask (struct making *making)
{
    struct op *op = &making->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);
    const unsigned child = (unsigned) making->child;

    if (making->linked)
        dict_set (xdata, "gfid-req", making->gfid.b, sizeof making->gfid.b);
    else if (making->what == FOP_create)
        guard_add (making, xdata);
    if (making->what == FOP_create)
        ASK_ONE (op, making_created, child, create, &op->loc, making->flags, making->mode,
                 making->umask, making->fd, xdata);
    else if (making->what == FOP_mknod)
        ASK_ONE (op, making_mknoded, child, mknod, &op->loc, making->mode, making->rdev,
                 making->umask, xdata);
    else
        ASK_ONE (op, making_symlinked, child, symlink, making->target, &op->loc, making->umask,
                 xdata);
}

static void
making_linked (call_frame_t *own)
{
    struct making *making = OP_OF (own);

    making->linked = making->op.op_errno == 0;
    if (making->linked)
        making_ask (making);
    else
        op_fail (&making->op, making->op.op_errno);
}

/* A create is refused by the server if the layout has changed; the others are not. */
static bool
making_needs_layout (const struct making *making)
{
    return making->hashed == NO_CHILD
        || (making->what != FOP_create && making->op.priv->n > 1
            && !layout_is_fresh (making->op.this, making->op.loc.parent));
}

static void
making_begin (struct making *making)
{
    struct op *op = &making->op;
    const struct iatt like = { .ia_uid = op->frame->root->uid, .ia_gid = op->frame->root->gid };
    loc_t parent = { .inode = op->loc.parent };

    making->hashed = name_hashed (op->this, op->loc.parent, op->loc.name);
    if (making_needs_layout (making) && op->tries++ < TRIES) {
        own_lookup (op, &parent, making_refreshed);
        return;
    }
    if (making->hashed == NO_CHILD) {
        op_fail (op, name_unhashed (op->this, &op->loc));
        return;
    }
    making->child = space_best (op->this, (unsigned) making->hashed);
    if (making->child == making->hashed) {
        making_ask (making);
        return;
    }
    making->gfid = gfid_new (op->priv);
    linkto_make (op, (unsigned) making->hashed, (unsigned) making->child, &op->loc, &making->gfid,
                 &like, making_linked);
}

static struct making *
making_new (call_frame_t *frame, xlator_t *this, enum fop what, loc_t *loc, mode_t mode,
            mode_t umask, dict_t *xdata)
{
    struct making *making = op_new (frame, this, sizeof *making, loc, NULL, xdata);

    making->op.clear = making_clear;
    making->what = what;
    making->mode = mode;
    making->umask = umask;
    space_refresh (&making->op);
    return making;
}

void
dht_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
            mode_t umask, fd_t *fd, dict_t *xdata)
{
    struct making *making = making_new (frame, this, FOP_create, loc, mode, umask, xdata);

    making->flags = flags;
    making->fd = fd_ref (fd);
    making_begin (making);
}

void
dht_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev, mode_t umask,
           dict_t *xdata)
{
    struct making *making = making_new (frame, this, FOP_mknod, loc, mode, umask, xdata);

    making->rdev = rdev;
    making_begin (making);
}

void
dht_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc, mode_t umask,
             dict_t *xdata)
{
    struct making *making = making_new (frame, this, FOP_symlink, loc, 0777, umask, xdata);

    making->target = g_strdup (linkpath);
    making_begin (making);
}

static void
making_tmpfile_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf, dict_t *xdata)
{
    if (op_ret >= 0) {
        inode_set_cached (this, inode, 0);
        fd_set_open_on (this, fd, 0);
    }
    STACK_UNWIND (tmpfile, frame, op_ret, op_errno, fd, inode, buf, xdata);
}

/* A file without a name has no hash; servers have none anyway. */
void
dht_tmpfile (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
             mode_t umask, fd_t *fd, dict_t *xdata)
{
    const dht_private_t *priv = this->private;

    if (priv->n == 1)
        STACK_WIND (frame, making_tmpfile_cbk, priv->children[0], tmpfile, loc, flags, mode, umask,
                    fd, xdata);
    else
        frame_fail (frame, EOPNOTSUPP);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * create, mknod, symlink: the file is made on its hashed subvolume. If that subvolume is short of
 * space or is being decommissioned, the file is made on another one, and the hashed subvolume gets
 * a linkto.
 *
 * The xdata of a create on the hashed subvolume has the range of hashes that this subvolume has in
 * the directory, as far as this client knows (op_guard). The brick refuses the create if the
 * directory has another range there. The client then looks the directory up, and tries again.
 */
#include "../distribute.h"

#include <fcntl.h>
#include <string.h>

struct making_op {
    struct op op;
    enum fop what;
    uint32_t flags;
    mode_t mode, umask;
    dev_t rdev;
    fd_t *fd;
    char *target;  /* target of a symbolic link */
    unsigned hashed, child;
    bool linkto_made; /* the operation has made a linkto on `hashed` */
    gfid_t gfid;      /* gfid of the new file and of its linkto; set if a linkto is made */
    /* members for the answer */
    inode_t *inode;
    struct iatt buf, preparent, postparent;
    dict_t *xdata;
};

static void
making_clear (struct op *op)
{
    struct making_op *making = (struct making_op *) op;

    fd_unref (making->fd);
    g_free (making->target);
    inode_unref (making->inode);
    dict_unref (making->xdata);
}

/* --- plan ------------------------------------------------------------------------------------- */

/* Returns whether the client must read the layout again before it makes the file. That is so if
 * no known range has the hash of the name. It is also so for a mknod or a symlink, unless the
 * layout was read just now: a brick refuses a create if the layout has changed, but not a mknod
 * or a symlink. */
static bool
making_needs_layout (const struct making_op *making, int hashed)
{
    return hashed == NO_CHILD
        || (making->what != FOP_create && making->op.priv->n > 1
            && !layout_is_fresh (making->op.this, making->op.loc.parent));
}

static int
making_plan (void *local)
{
    struct making_op *making = local;
    struct op *op = &making->op;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name);

    if (making_needs_layout (making, hashed) && op->seq.tries < STEPS_TRIES)
        return STEP_AGAIN (EIO);
    if (hashed == NO_CHILD)
        return -name_unhashed (op->this, &op->loc);
    making->hashed = (unsigned) hashed;
    making->child = (unsigned) space_best (op->this, making->hashed);
    return 0;
}

/* --- make linkto ------------------------------------------------------------------------------ */

static bool
making_crosses (void *local)
{
    const struct making_op *making = local;

    return making->child != making->hashed;
}

static void
making_make_linkto (void *local)
{
    struct making_op *making = local;
    struct op *op = &making->op;
    const struct iatt like = { .ia_uid = op->frame->root->uid, .ia_gid = op->frame->root->gid };

    if (op->linkto.phase == LINKTO_BEGIN)
        making->gfid = random_gfid (&op->priv->random);
    linkto_run (op, making->hashed, making->child, &op->loc, &making->gfid, &like);
}

static int
making_linkto_made (void *local)
{
    struct making_op *making = local;
    const int r = linkto_judge (local);

    making->linkto_made = r == 0;
    return r;
}

static void
making_undo_linkto (void *local)
{
    struct making_op *making = local;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    if (making->linkto_made)
        AS_SELF (&making->op, making->hashed, unlink, &making->op.loc, 0, only);
}

/* --- make ------------------------------------------------------------------------------------- */

static void
making_make (void *local)
{
    struct making_op *making = local;
    struct op *op = &making->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);

    if (making->linkto_made)
        dict_set (xdata, "gfid-req", making->gfid.b, sizeof making->gfid.b);
    else if (making->what == FOP_create)
        op_guard (op, making->child, xdata);
    if (making->what == FOP_create)
        AS_CALLER (op, making->child, create, &op->loc, making->flags, making->mode,
                   making->umask, making->fd, xdata);
    else if (making->what == FOP_mknod)
        AS_CALLER (op, making->child, mknod, &op->loc, making->mode, making->rdev, making->umask,
                   xdata);
    else
        AS_CALLER (op, making->child, symlink, making->target, &op->loc, making->umask, xdata);
}

static int
making_failed (struct making_op *making, int op_errno, dict_t *xdata)
{
    if (op_guard_refused (xdata))
        return STEP_AGAIN (op_errno);
    name_no_room (making->op.this, &making->op.loc, making->child, op_errno);
    return -op_errno;
}

#define MAKING_TAKE(making_, reply_)                                                               \
    do {                                                                                           \
        (making_)->inode = inode_ref ((reply_)->inode);                                            \
        (making_)->buf = (reply_)->buf;                                                            \
        (making_)->preparent = (reply_)->preparent;                                                \
        (making_)->postparent = (reply_)->postparent;                                              \
        (making_)->xdata = dict_ref ((reply_)->xdata);                                             \
    } while (0)

/* Returns whether the create has opened an existing linkto, not a new file. The operation then
 * fails with ESTALE, so that the caller looks the name up, and finds the file. */
static bool
making_opened_linkto (const struct making_op *making)
{
    return making->what == FOP_create && iatt_may_be_linkto (&making->buf)
        && (making->mode & ~making->umask & 07777) != S_ISVTX;
}

static int
making_made (void *local)
{
    struct making_op *making = local;
    struct op *op = &making->op;
    const struct fan_answer *answer = &op->seq.fan.answers[making->child];

    if (answer->op_ret < 0)
        return making_failed (making, answer->op_errno,
                              making->what == FOP_create  ? answer->create.xdata
                              : making->what == FOP_mknod ? answer->mknod.xdata
                                                          : answer->symlink.xdata);
    if (making->what == FOP_create)
        MAKING_TAKE (making, &answer->create);
    else if (making->what == FOP_mknod)
        MAKING_TAKE (making, &answer->mknod);
    else
        MAKING_TAKE (making, &answer->symlink);
    if (making_opened_linkto (making)) {
        making->linkto_made = false; /* the undo must not remove the existing linkto */
        return -ESTALE;
    }
    inode_set_cached (op->this, making->inode, (int) making->child);
    if (making->fd)
        fd_set_open_on (op->this, making->fd, (int) making->child);
    return 0;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void
making_answer (void *local)
{
    struct making_op *making = local;
    struct op *op = &making->op;
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

static const struct step making_steps[] = {
    STEP ("refresh", op_refresh, NULL, .when = op_is_again),
    STEP ("plan", NULL, making_plan, .again = "refresh"),
    STEP ("make linkto", making_make_linkto, making_linkto_made, .undo = making_undo_linkto,
          .when = making_crosses),
    STEP ("make", making_make, making_made, .again = "refresh"),
    {},
};

static struct making_op *
making_new (call_frame_t *frame, xlator_t *this, enum fop what, loc_t *loc, mode_t mode,
            mode_t umask, dict_t *xdata)
{
    struct making_op *making = op_new (frame, this, sizeof *making, loc, NULL, xdata);

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
    struct making_op *making = making_new (frame, this, FOP_create, loc, mode, umask, xdata);

    making->flags = flags;
    making->fd = fd_ref (fd);
    op_run (&making->op, making_steps, making_answer);
}

void
dht_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev, mode_t umask,
           dict_t *xdata)
{
    struct making_op *making = making_new (frame, this, FOP_mknod, loc, mode, umask, xdata);

    making->rdev = rdev;
    op_run (&making->op, making_steps, making_answer);
}

void
dht_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc, mode_t umask,
             dict_t *xdata)
{
    struct making_op *making = making_new (frame, this, FOP_symlink, loc, 0777, umask, xdata);

    making->target = g_strdup (linkpath);
    op_run (&making->op, making_steps, making_answer);
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

/* Fails with EOPNOTSUPP if there are several subvolumes: the file has no name, so no hash
 * chooses one of them. GlusterFS's servers do not support tmpfile anyway. */
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

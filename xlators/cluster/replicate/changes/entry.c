/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that change the names of a directory. A new object has the same gfid on all copies. */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* --- what they share -------------------------------------------------------------------------- */

static struct op *
entry_op (call_frame_t *frame, xlator_t *this, enum fop fop, const loc_t *loc,
          void (*answer) (struct op *op))
{
    struct op *op = op_new (frame, this, fop, COUNTER_ENTRY, loc->parent, answer);

    op->entry[0] = g_strdup (loc->name);
    op_lock (op, loc->parent, true, loc->name);
    return op;
}

/* Returns xdata with a gfid for the new object, with a reference. */
static dict_t *
with_gfid (xlator_t *this, dict_t *xdata)
{
    const gfid_t gfid = gfid_new (this->private);
    dict_t *dict;

    if (dict_has (xdata, NEW_GFID_KEY))
        return dict_ref (xdata);
    dict = xdata ? dict_copy (xdata) : dict_new ();
    dict_set (dict, NEW_GFID_KEY, gfid.b, sizeof gfid.b);
    return dict;
}

/* Begins an operation that makes an object. */
static void
make_begin (struct op *op, call_stub_t *stub, dict_t *xdata)
{
    op->makes = true;
    dict_unref (xdata);
    op_begin (op, stub);
}

#define ANSWER_MADE(name_)                                                                         \
    static void name_##_answer (struct op *op)                                                     \
    {                                                                                              \
        struct name_##_reply *reply = OP_REPLY (op, name_);                                        \
                                                                                                   \
        STACK_UNWIND (name_, op->frame, 0, 0, reply->inode, &reply->buf, &reply->preparent,        \
                      &reply->postparent, reply->xdata);                                           \
    }

ANSWER_MADE (mknod)
ANSWER_MADE (mkdir)
ANSWER_MADE (symlink)
ANSWER_MADE (link)

#define ANSWER_REMOVED(name_)                                                                      \
    static void name_##_answer (struct op *op)                                                     \
    {                                                                                              \
        struct name_##_reply *reply = OP_REPLY (op, name_);                                        \
                                                                                                   \
        STACK_UNWIND (name_, op->frame, 0, 0, &reply->preparent, &reply->postparent,               \
                      reply->xdata);                                                               \
    }

ANSWER_REMOVED (unlink)
ANSWER_REMOVED (rmdir)

/* --- create ----------------------------------------------------------------------------------- */

static void
create_unwind (struct op *op)
{
    struct create_reply *reply = OP_REPLY (op, create);

    STACK_UNWIND (create, op->frame, 0, 0, reply->fd, reply->inode, &reply->buf,
                  &reply->preparent, &reply->postparent, reply->xdata);
}

static void
create_truncated (struct op *op)
{
    struct create_reply *reply = OP_REPLY (op->create, create);

    reply->buf.ia_size = 0;
    reply->buf.ia_blocks = 0;
    create_unwind (op->create);
}

/* Returns whether another caller had made the file, and has written to it. */
static bool
create_found_data (const struct op *op)
{
    uint64_t size = 0;

    for (unsigned i = 0; i < op->fan.n; i++)
        if (op->succeeded & COPY (i))
            size |= op->fan.answers[i].create.buf.ia_size;
    return size > 0;
}

static void
create_answer (struct op *op)
{
    fd_t *fd = OP_REPLY (op, create)->fd;

    fd_was_opened (op->this, fd, op->flags, false, op->succeeded);
    if (op->flags & O_TRUNC && create_found_data (op))
        open_truncate (op->frame, op->this, fd, op, create_truncated);
    else
        create_unwind (op);
}

static void
create_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
             mode_t umask, fd_t *fd, dict_t *xdata)
{
    OP_WIND (frame, create, loc, flags & ~(uint32_t) O_TRUNC, mode, umask, fd, xdata);
}

void
replicate_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
                  mode_t umask, fd_t *fd, dict_t *xdata)
{
    struct op *op = entry_op (frame, this, FOP_create, loc, create_answer);

    op->flags = flags;
    xdata = with_gfid (this, xdata);
    make_begin (op, fop_create_stub (frame, create_wind, loc, flags, mode, umask, fd, xdata),
                xdata);
}

/* --- mknod, mkdir, symlink, link -------------------------------------------------------------- */

static void
mknod_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev,
            mode_t umask, dict_t *xdata)
{
    OP_WIND (frame, mknod, loc, mode, rdev, umask, xdata);
}

void
replicate_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev,
                 mode_t umask, dict_t *xdata)
{
    xdata = with_gfid (this, xdata);
    make_begin (entry_op (frame, this, FOP_mknod, loc, mknod_answer),
                fop_mknod_stub (frame, mknod_wind, loc, mode, rdev, umask, xdata), xdata);
}

static void
mkdir_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
            dict_t *xdata)
{
    OP_WIND (frame, mkdir, loc, mode, umask, xdata);
}

void
replicate_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
                 dict_t *xdata)
{
    xdata = with_gfid (this, xdata);
    make_begin (entry_op (frame, this, FOP_mkdir, loc, mkdir_answer),
                fop_mkdir_stub (frame, mkdir_wind, loc, mode, umask, xdata), xdata);
}

static void
symlink_wind (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc, mode_t umask,
              dict_t *xdata)
{
    OP_WIND (frame, symlink, linkpath, loc, umask, xdata);
}

void
replicate_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc,
                   mode_t umask, dict_t *xdata)
{
    xdata = with_gfid (this, xdata);
    make_begin (entry_op (frame, this, FOP_symlink, loc, symlink_answer),
                fop_symlink_stub (frame, symlink_wind, linkpath, loc, umask, xdata), xdata);
}

static void
link_wind (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    OP_WIND (frame, link, oldloc, newloc, xdata);
}

void
replicate_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    struct op *op = entry_op (frame, this, FOP_link, newloc, link_answer);

    op->object = inode_ref (oldloc->inode);
    op_begin (op, fop_link_stub (frame, link_wind, oldloc, newloc, xdata));
}

/* --- unlink, rmdir ---------------------------------------------------------------------------- */

static void
unlink_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    OP_WIND (frame, unlink, loc, xflag, xdata);
}

void
replicate_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    op_begin (entry_op (frame, this, FOP_unlink, loc, unlink_answer),
              fop_unlink_stub (frame, unlink_wind, loc, xflag, xdata));
}

static void
rmdir_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    OP_WIND (frame, rmdir, loc, flags, xdata);
}

void
replicate_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    struct op *op = entry_op (frame, this, FOP_rmdir, loc, rmdir_answer);

    if (loc->inode)
        op_empties (op, loc->inode);
    op_begin (op, fop_rmdir_stub (frame, rmdir_wind, loc, flags, xdata));
}

/* --- rename ----------------------------------------------------------------------------------- */

static void
rename_answer (struct op *op)
{
    struct rename_reply *reply = OP_REPLY (op, rename);

    STACK_UNWIND (rename, op->frame, 0, 0, &reply->buf, &reply->preoldparent,
                  &reply->postoldparent, &reply->prenewparent, &reply->postnewparent,
                  reply->xdata);
}

static void
rename_wind (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
             dict_t *xdata)
{
    OP_WIND (frame, rename, oldloc, newloc, flags, xdata);
}

/* Both directories are marked, and if they are one directory, that one twice, as GlusterFS does. */
void
replicate_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc,
                  uint32_t flags, dict_t *xdata)
{
    struct op *op;

    if (flags != 0) {
        frame_fail (frame, EINVAL);
        return;
    }
    op = entry_op (frame, this, FOP_rename, oldloc, rename_answer);
    op->object = inode_ref (oldloc->inode);
    op->subject[1] = inode_ref (newloc->parent);
    op->entry[1] = g_strdup (newloc->name);
    op_lock (op, newloc->parent, true, newloc->name);
    if (newloc->inode && newloc->inode->ia_type == IA_IFDIR)
        op_empties (op, newloc->inode);
    op_begin (op, fop_rename_stub (frame, rename_wind, oldloc, newloc, flags, xdata));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that change attributes and extended attributes. */
#include "changes.h"

#include <errno.h>

static struct op *
metadata_op (call_frame_t *frame, xlator_t *this, enum fop fop, inode_t *inode, fd_t *fd,
             void (*answer) (struct op *op))
{
    struct op *op = op_new (frame, this, fop, COUNTER_METADATA, inode, answer);

    op->fd = fd_ref (fd);
    op_lock (op, inode, false, NULL);
    return op;
}

#define ANSWER_PLAIN(name_)                                                                        \
    static void name_##_answer (struct op *op)                                                     \
    {                                                                                              \
        STACK_UNWIND (name_, op->frame, 0, 0, OP_REPLY (op, name_)->xdata);                        \
    }

ANSWER_PLAIN (setxattr)
ANSWER_PLAIN (fsetxattr)
ANSWER_PLAIN (removexattr)
ANSWER_PLAIN (fremovexattr)

/* --- setattr ---------------------------------------------------------------------------------- */

static void
setattr_answer (struct op *op)
{
    struct setattr_reply *reply = OP_REPLY (op, setattr);

    STACK_UNWIND (setattr, op->frame, 0, 0, &reply->statpre, &reply->statpost, reply->xdata);
}

static void
setattr_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf, uint32_t valid,
              dict_t *xdata)
{
    OP_WIND (frame, setattr, loc, stbuf, valid, xdata);
}

void
replicate_setattr (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf,
                   uint32_t valid, dict_t *xdata)
{
    op_begin (metadata_op (frame, this, FOP_setattr, loc->inode, NULL, setattr_answer),
              fop_setattr_stub (frame, setattr_wind, loc, stbuf, valid, xdata));
}

static void
fsetattr_answer (struct op *op)
{
    struct fsetattr_reply *reply = OP_REPLY (op, fsetattr);

    STACK_UNWIND (fsetattr, op->frame, 0, 0, &reply->statpre, &reply->statpost, reply->xdata);
}

static void
fsetattr_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iatt *stbuf, uint32_t valid,
               dict_t *xdata)
{
    OP_WIND (frame, fsetattr, fd, stbuf, valid, xdata);
}

void
replicate_fsetattr (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iatt *stbuf,
                    uint32_t valid, dict_t *xdata)
{
    op_begin (metadata_op (frame, this, FOP_fsetattr, fd->inode, fd, fsetattr_answer),
              fop_fsetattr_stub (frame, fsetattr_wind, fd, stbuf, valid, xdata));
}

/* --- extended attributes ---------------------------------------------------------------------- */

/* The marks are the file system's own, as is what GlusterFS's healer notes. */
static bool
name_is_ours (const char *name)
{
    return g_str_has_prefix (name, "trusted.afr.")
        || g_str_has_prefix (name, "trusted.glusterfs.afr.");
}

static bool
dict_is_ours (const dict_t *dict)
{
    const char *key;
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        if (name_is_ours (key))
            return true;
    }
    return false;
}

static void
setxattr_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict, uint32_t flags,
               dict_t *xdata)
{
    OP_WIND (frame, setxattr, loc, dict, flags, xdata);
}

void
replicate_setxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict, uint32_t flags,
                    dict_t *xdata)
{
    if (choice_takes (frame, this, loc, dict))
        return;
    if (dict_is_ours (dict))
        frame_fail (frame, EPERM);
    else
        op_begin (metadata_op (frame, this, FOP_setxattr, loc->inode, NULL, setxattr_answer),
                  fop_setxattr_stub (frame, setxattr_wind, loc, dict, flags, xdata));
}

static void
fsetxattr_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *dict, uint32_t flags,
                dict_t *xdata)
{
    OP_WIND (frame, fsetxattr, fd, dict, flags, xdata);
}

void
replicate_fsetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *dict, uint32_t flags,
                     dict_t *xdata)
{
    if (dict_is_ours (dict))
        frame_fail (frame, EPERM);
    else
        op_begin (metadata_op (frame, this, FOP_fsetxattr, fd->inode, fd, fsetxattr_answer),
                  fop_fsetxattr_stub (frame, fsetxattr_wind, fd, dict, flags, xdata));
}

static void
removexattr_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    OP_WIND (frame, removexattr, loc, name, xdata);
}

void
replicate_removexattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name,
                       dict_t *xdata)
{
    if (name_is_ours (name))
        frame_fail (frame, EPERM);
    else
        op_begin (metadata_op (frame, this, FOP_removexattr, loc->inode, NULL, removexattr_answer),
                  fop_removexattr_stub (frame, removexattr_wind, loc, name, xdata));
}

static void
fremovexattr_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name, dict_t *xdata)
{
    OP_WIND (frame, fremovexattr, fd, name, xdata);
}

void
replicate_fremovexattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name,
                        dict_t *xdata)
{
    if (name_is_ours (name))
        frame_fail (frame, EPERM);
    else
        op_begin (metadata_op (frame, this, FOP_fremovexattr, fd->inode, fd, fremovexattr_answer),
                  fop_fremovexattr_stub (frame, fremovexattr_wind, fd, name, xdata));
}

/* --- numbers of translators above ------------------------------------------------------------- */

static void
xattrop_answer (struct op *op)
{
    struct xattrop_reply *reply = OP_REPLY (op, xattrop);

    STACK_UNWIND (xattrop, op->frame, 0, 0, reply->dict, reply->xdata);
}

static void
xattrop_wind (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, dict_t *dict,
              dict_t *xdata)
{
    OP_WIND (frame, xattrop, loc, flags, dict, xdata);
}

void
replicate_xattrop (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, dict_t *dict,
                   dict_t *xdata)
{
    op_begin (metadata_op (frame, this, FOP_xattrop, loc->inode, NULL, xattrop_answer),
              fop_xattrop_stub (frame, xattrop_wind, loc, flags, dict, xdata));
}

static void
fxattrop_answer (struct op *op)
{
    struct fxattrop_reply *reply = OP_REPLY (op, fxattrop);

    STACK_UNWIND (fxattrop, op->frame, 0, 0, reply->dict, reply->xdata);
}

static void
fxattrop_wind (call_frame_t *frame, xlator_t *this, fd_t *fd, uint32_t flags, dict_t *dict,
               dict_t *xdata)
{
    OP_WIND (frame, fxattrop, fd, flags, dict, xdata);
}

void
replicate_fxattrop (call_frame_t *frame, xlator_t *this, fd_t *fd, uint32_t flags, dict_t *dict,
                    dict_t *xdata)
{
    op_begin (metadata_op (frame, this, FOP_fxattrop, fd->inode, fd, fxattrop_answer),
              fop_fxattrop_stub (frame, fxattrop_wind, fd, flags, dict, xdata));
}

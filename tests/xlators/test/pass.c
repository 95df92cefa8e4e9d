/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes a few fops on through its own callbacks, and changes nothing. */
#include "xlator.h"

static lookup_cbk pass_lookup_cbk;
static stat_cbk pass_stat_cbk;
static fstat_cbk pass_fstat_cbk;
static open_cbk pass_open_cbk;
static readv_cbk pass_readv_cbk;
static writev_cbk pass_writev_cbk;

static void
pass_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND (frame, pass_lookup_cbk, FIRST_CHILD (this), lookup, loc, xdata);
}

static void
pass_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, inode_t *inode, struct iatt *buf, dict_t *xdata,
                 struct iatt *postparent)
{
    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf, xdata, postparent);
}

static void
pass_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND (frame, pass_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
pass_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *buf, dict_t *xdata)
{
    STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

static void
pass_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    STACK_WIND (frame, pass_fstat_cbk, FIRST_CHILD (this), fstat, fd, xdata);
}

static void
pass_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *buf, dict_t *xdata)
{
    STACK_UNWIND (fstat, frame, op_ret, op_errno, buf, xdata);
}

static void
pass_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    STACK_WIND (frame, pass_open_cbk, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
pass_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               fd_t *fd, dict_t *xdata)
{
    STACK_UNWIND (open, frame, op_ret, op_errno, fd, xdata);
}

static void
pass_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
            uint32_t flags, dict_t *xdata)
{
    STACK_WIND (frame, pass_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

static void
pass_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
                dict_t *xdata)
{
    STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
}

static void
pass_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
             off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    STACK_WIND (frame, pass_writev_cbk, FIRST_CHILD (this), writev, fd, vector, count, offset,
                flags, iobref, xdata);
}

static void
pass_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/pass",
    .about = "passes requests on through callbacks of its own",
    .children = { .min = 1, .max = 1 },
    .fops = {
        .lookup = pass_lookup,
        .stat = pass_stat,
        .fstat = pass_fstat,
        .open = pass_open,
        .readv = pass_readv,
        .writev = pass_writev,
    },
};

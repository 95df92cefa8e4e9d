/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ignores holes: computes the number of blocks of a file from its size. Used by doc/debugging.md,
 * which shows a line of this file. */
#include "xlator.h"

static lookup_cbk thick_lookup_cbk;
static stat_cbk thick_stat_cbk;
static fstat_cbk thick_fstat_cbk;

/* Attributes are lent: the answer is a copy. */
static struct iatt
thick_iatt (const struct iatt *buf)
{
    struct iatt thick = *buf;

    if (buf->ia_type == IA_IFREG)
        thick.ia_blocks = (buf->ia_size + 511) / 512;
    return thick;
}

static void
thick_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND (frame, thick_lookup_cbk, FIRST_CHILD (this), lookup, loc, xdata);
}

static void
thick_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, inode_t *inode, struct iatt *buf, dict_t *xdata,
                  struct iatt *postparent)
{
    struct iatt thick = buf ? thick_iatt (buf) : (struct iatt){ 0 };

    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf ? &thick : NULL, xdata, postparent);
}

static void
thick_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND (frame, thick_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
thick_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *buf, dict_t *xdata)
{
    struct iatt thick = buf ? thick_iatt (buf) : (struct iatt){ 0 };

    STACK_UNWIND (stat, frame, op_ret, op_errno, buf ? &thick : NULL, xdata);
}

static void
thick_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    STACK_WIND (frame, thick_fstat_cbk, FIRST_CHILD (this), fstat, fd, xdata);
}

static void
thick_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    struct iatt thick = buf ? thick_iatt (buf) : (struct iatt){ 0 };

    STACK_UNWIND (fstat, frame, op_ret, op_errno, buf ? &thick : NULL, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/thick",
    .about = "says that files have no holes",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_METADATA,
    .fops = { .lookup = thick_lookup, .stat = thick_stat, .fstat = thick_fstat },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Storage that answers at once and keeps nothing: to measure what is above it. */
#include "xlator.h"

static struct iatt
instant_iatt (void)
{
    return (struct iatt){ .ia_gfid = gfid_root, .ia_ino = 1, .ia_nlink = 2, .ia_type = IA_IFDIR, .ia_prot = 0755, .ia_ctime = 1, .ia_mtime = 1 };
}

static void
instant_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt buf = instant_iatt ();

    STACK_UNWIND (lookup, frame, 0, 0, loc->inode, &buf, NULL, NULL);
}

static void
instant_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt buf = instant_iatt ();

    STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
}

static void
instant_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count, off_t offset, uint32_t flags,
                struct iobref *iobref, dict_t *xdata)
{
    struct iatt buf = instant_iatt ();

    STACK_UNWIND (writev, frame, (int32_t) iov_length (vector, count), 0, &buf, &buf, NULL);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/instant",
    .about = "answers at once, and keeps nothing",
    .fops = { .lookup = instant_lookup, .stat = instant_stat, .writev = instant_writev },
};

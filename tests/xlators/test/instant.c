/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A storage that answers at once and stores nothing: for measurements of the translators above. It
 * has two files, `small` with 4 KiB and `large` with 1 TiB; any other name is the root. */
#include "xlator.h"

#include <errno.h>
#include <string.h>

#define SMALL 4096
#define LARGE (1ll << 40)

static struct iatt
instant_root (void)
{
    return (struct iatt){ .ia_gfid = gfid_root,
                          .ia_ino = 1,
                          .ia_nlink = 2,
                          .ia_type = IA_IFDIR,
                          .ia_prot = 0755,
                          .ia_ctime = 1,
                          .ia_mtime = 1 };
}

static struct iatt
instant_file (bool large)
{
    struct iatt buf = { .ia_ino = large ? 3 : 2,
                        .ia_nlink = 1,
                        .ia_type = IA_IFREG,
                        .ia_prot = 0644,
                        .ia_ctime = 1,
                        .ia_mtime = 1,
                        .ia_size = large ? LARGE : SMALL };

    memset (&buf.ia_gfid, large ? 3 : 2, sizeof buf.ia_gfid);
    return buf;
}

static struct iatt
iatt_of (const inode_t *inode)
{
    const struct iatt large = instant_file (true);

    if (inode->ia_type != IA_IFREG)
        return instant_root ();
    return instant_file (memcmp (&inode->gfid, &large.ia_gfid, sizeof large.ia_gfid) == 0);
}

static void
instant_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    const bool large = g_strcmp0 (loc->name, "large") == 0;
    struct iatt buf = large || g_strcmp0 (loc->name, "small") == 0 ? instant_file (large)
                                                                   : instant_root ();

    STACK_UNWIND (lookup, frame, 0, 0, loc->inode, &buf, NULL, NULL);
}

static void
instant_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt buf = iatt_of (loc->inode);

    STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
}

static void
instant_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct iatt buf = iatt_of (fd->inode);

    STACK_UNWIND (fstat, frame, 0, 0, &buf, NULL);
}

static void
instant_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
              dict_t *xdata)
{
    STACK_UNWIND (open, frame, 0, 0, fd, NULL);
}

static void
instant_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
               uint32_t flags, dict_t *xdata)
{
    struct iatt buf = iatt_of (fd->inode);
    const uint64_t left = (uint64_t) offset < buf.ia_size ? buf.ia_size - (uint64_t) offset : 0;
    struct iobuf *iobuf = iobuf_new (size);
    struct iobref *iobref = iobref_new ();
    struct iovec vector = { iobuf->ptr, MIN (size, left) };

    iobref_add (iobref, iobuf);
    iobuf_unref (iobuf);
    STACK_UNWIND (readv, frame, (int32_t) vector.iov_len, 0, &vector, 1, &buf, iobref, NULL);
    iobref_unref (iobref);
}

static void
instant_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
                off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    struct iatt buf = iatt_of (fd->inode);

    STACK_UNWIND (writev, frame, (int32_t) iov_length (vector, count), 0, &buf, &buf, NULL);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/instant",
    .about = "answers at once, and keeps nothing",
    .fops = { .lookup = instant_lookup,
              .stat = instant_stat,
              .fstat = instant_fstat,
              .open = instant_open,
              .readv = instant_readv,
              .writev = instant_writev },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a copy takes over: the bytes of a file, with its holes, and attributes. */
#include "overlay.h"

#define OVERLAY_PIECE ((size_t) 1 << 20)

/* --- bytes ------------------------------------------------------------------------------------ */

struct overlay_copying {
    struct client *reader, *writer;
    fd_t *from, *to; /* with references */
};

/* Returns how many bytes were copied; 0: the end. */
static int
overlay_copy_piece (const struct overlay_copying *copying, off_t offset, size_t size)
{
    struct readv_reply reply;
    int r = sync_readv (copying->reader, copying->from, size, offset, 0, NULL, &reply), n = r;

    for (int done = 0; n > 0 && r >= 0 && done == 0; done = 1)
        r = sync_writev (copying->writer, copying->to, reply.vector, reply.count, offset,
                         WRITE_AT_OFFSET, reply.iobref, NULL, NULL);
    readv_reply_drop (&reply);
    if (r < 0)
        return r;
    return n > 0 && r < n ? -EIO : n;
}

/* Finds the next data from offset on, and its end. Storage that can't tell has data everywhere.
 * Returns 0, -ENXIO if only a hole is left, or another error. */
static int
overlay_next_data (const struct overlay_copying *copying, off_t offset, uint64_t size,
                   off_t *ret_data, off_t *ret_hole)
{
    struct seek_reply reply;
    int r = sync_seek (copying->reader, copying->from, offset, SEEK_DATA, NULL, &reply);

    *ret_data = r >= 0 ? reply.offset : offset;
    seek_reply_drop (&reply);
    *ret_hole = (off_t) size;
    if (r == -ENXIO)
        return r;
    if (r < 0)
        return 0;
    r = sync_seek (copying->reader, copying->from, *ret_data, SEEK_HOLE, NULL, &reply);
    if (r >= 0)
        *ret_hole = MIN (reply.offset, (off_t) size);
    seek_reply_drop (&reply);
    return 0;
}

static int
overlay_copy_bytes (const struct overlay_copying *copying, uint64_t size)
{
    off_t offset = 0, hole = 0;
    int r = 0;

    while (r >= 0 && offset < (off_t) size) {
        if (offset >= hole)
            r = overlay_next_data (copying, offset, size, &offset, &hole);
        if (r == -ENXIO)
            break;
        if (r >= 0)
            r = overlay_copy_piece (copying, offset,
                                    MIN (OVERLAY_PIECE, (size_t) (hole - offset)));
        if (r == 0)
            break;
        offset += MAX (r, 0);
    }
    return r == -ENXIO ? 0 : error_or_0 (r);
}

int
overlay_copy_data (struct overlay_act *act, unsigned slot, inode_t *from, inode_t *to,
                   uint64_t size)
{
    struct overlay_copying copying = { .reader = overlay_daemon (act, slot),
                                       .writer = overlay_daemon (act, OVERLAY_UPPER) };
    int r = sync_name_open (copying.reader, overlay_fds (act, slot), from, O_RDONLY, &copying.from);

    if (r == 0)
        r = sync_name_open (copying.writer, overlay_fds (act, OVERLAY_UPPER), to, O_WRONLY,
                            &copying.to);
    if (r == 0)
        r = overlay_copy_bytes (&copying, size);
    if (r == 0)
        r = sync_ftruncate (copying.writer, copying.to, (off_t) size, NULL, NULL);
    if (r >= 0)
        r = sync_fsync (copying.writer, copying.to, 0, NULL, NULL);
    fd_unref (copying.from);
    fd_unref (copying.to);
    return error_or_0 (r);
}

/* --- extended attributes ---------------------------------------------------------------------- */

#define OVERLAY_CAPABILITY "security.capability"

/* What the upper refuses of these is left out. */
static bool
overlay_may_miss (const char *name)
{
    return g_str_has_prefix (name, "security.") || g_str_has_prefix (name, "trusted.");
}

static int
overlay_copy_xattr (struct overlay_act *act, unsigned slot, inode_t *from, inode_t *to,
                    const char *name)
{
    loc_t source = { .inode = from }, target = { .inode = to };
    struct getxattr_reply reply;
    int r = sync_getxattr (overlay_daemon (act, slot), &source, name, NULL, &reply);

    if (r == -ENODATA)
        r = 0;
    else if (r >= 0)
        r = sync_setxattr (overlay_daemon (act, OVERLAY_UPPER), &target, reply.dict, 0, NULL, NULL);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&source);
    loc_wipe_path (&target);
    return r < 0 && !overlay_may_miss (name) ? r : 0;
}

/* The capability is the last one: other changes remove it. */
static int
overlay_copy_xattrs (struct overlay_act *act, unsigned slot, inode_t *from, inode_t *to)
{
    loc_t loc = { .inode = from };
    struct getxattr_reply list;
    const char *name;
    const void *value;
    size_t size;
    int r = sync_getxattr (overlay_daemon (act, slot), &loc, NULL, NULL, &list);

    if (r == -EOPNOTSUPP)
        r = 0;
    for (size_t i = 0; r >= 0 && i < dict_count (list.dict); i++) {
        dict_nth (list.dict, i, &name, &value, &size);
        if (!overlay_mark_is (name) && strcmp (name, OVERLAY_CAPABILITY) != 0)
            r = overlay_copy_xattr (act, slot, from, to, name);
    }
    if (r >= 0 && dict_has (list.dict, OVERLAY_CAPABILITY))
        r = overlay_copy_xattr (act, slot, from, to, OVERLAY_CAPABILITY);
    getxattr_reply_drop (&list);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* --- attributes ------------------------------------------------------------------------------- */

static int
overlay_set (struct overlay_act *act, inode_t *to, const struct iatt *buf, uint32_t valid)
{
    struct iatt set = *buf;
    loc_t loc = { .inode = to };
    int r = sync_setattr (overlay_daemon (act, OVERLAY_UPPER), &loc, &set, valid, NULL, NULL);

    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
overlay_copy_attributes (struct overlay_act *act, unsigned slot, inode_t *from,
                         const struct iatt *buf, inode_t *to)
{
    int r = overlay_set (act, to, buf, IATT_UID | IATT_GID);

    if (r == 0 && buf->ia_type != IA_IFLNK)
        r = overlay_set (act, to, buf, IATT_MODE);
    if (r == 0)
        r = overlay_copy_xattrs (act, slot, from, to);
    return r < 0 ? r : overlay_set (act, to, buf, IATT_ATIME | IATT_MTIME);
}

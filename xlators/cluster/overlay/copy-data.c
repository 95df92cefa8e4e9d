/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a copy takes over: the bytes of a file, with its holes, and attributes. */
#include "overlay.h"

/* --- bytes ------------------------------------------------------------------------------------ */

/* The size is set last, as the target may end with a hole. */
static int
overlay_copy_bytes (struct copy_between *copy)
{
    int r = copy_between (copy);

    if (r == 0)
        r = sync_ftruncate (copy->writer, copy->to, (off_t) copy->size, NULL, NULL);
    if (r >= 0)
        r = sync_fsync (copy->writer, copy->to, 0, NULL, NULL);
    return error_or_0 (r);
}

int
overlay_copy_data (struct overlay_act *act, unsigned slot, inode_t *from, inode_t *to,
                   uint64_t size)
{
    struct copy_between copy = { .reader = overlay_daemon (act, slot),
                                 .writer = overlay_daemon (act, OVERLAY_UPPER), .size = size };
    int r = sync_name_open (copy.reader, overlay_fds (act, slot), from, O_RDONLY, &copy.from);

    if (r == 0)
        r = sync_name_open (copy.writer, overlay_fds (act, OVERLAY_UPPER), to, O_WRONLY, &copy.to);
    if (r == 0)
        r = overlay_copy_bytes (&copy);
    fd_unref (copy.from);
    fd_unref (copy.to);
    return r;
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
overlay_copy_xattr (struct overlay_act *act, unsigned slot, inode_t *from, unsigned onto,
                    inode_t *to, const char *name)
{
    loc_t source = { .inode = from }, target = { .inode = to };
    struct getxattr_reply reply;
    int r = sync_getxattr (overlay_daemon (act, slot), &source, name, NULL, &reply);

    if (r == -ENODATA)
        r = 0;
    else if (r >= 0)
        r = sync_setxattr (overlay_daemon (act, onto), &target, reply.dict, 0, NULL, NULL);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&source);
    loc_wipe_path (&target);
    return r < 0 && !overlay_may_miss (name) ? r : 0;
}

/* The capability is the last one: other changes remove it. */
static int
overlay_copy_xattrs (struct overlay_act *act, unsigned slot, inode_t *from, unsigned onto,
                     inode_t *to)
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
        if (!overlay_attribute_is_mark (name) && strcmp (name, OVERLAY_CAPABILITY) != 0)
            r = overlay_copy_xattr (act, slot, from, onto, to, name);
    }
    if (r >= 0 && dict_has (list.dict, OVERLAY_CAPABILITY))
        r = overlay_copy_xattr (act, slot, from, onto, to, OVERLAY_CAPABILITY);
    getxattr_reply_drop (&list);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* --- attributes ------------------------------------------------------------------------------- */

static int
overlay_set (struct overlay_act *act, unsigned onto, inode_t *to, const struct iatt *buf,
             uint32_t valid)
{
    struct iatt set = *buf;
    loc_t loc = { .inode = to };
    int r = sync_setattr (overlay_daemon (act, onto), &loc, &set, valid, NULL, NULL);

    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
overlay_copy_attributes_to (struct overlay_act *act, unsigned slot, inode_t *from,
                            const struct iatt *buf, unsigned onto, inode_t *to)
{
    int r = overlay_set (act, onto, to, buf, IATT_UID | IATT_GID);

    if (r == 0 && buf->ia_type != IA_IFLNK)
        r = overlay_set (act, onto, to, buf, IATT_MODE);
    if (r == 0)
        r = overlay_copy_xattrs (act, slot, from, onto, to);
    return r < 0 ? r : overlay_set (act, onto, to, buf, IATT_ATIME | IATT_MTIME);
}

int
overlay_copy_attributes (struct overlay_act *act, unsigned slot, inode_t *from,
                         const struct iatt *buf, inode_t *to)
{
    return overlay_copy_attributes_to (act, slot, from, buf, OVERLAY_UPPER, to);
}

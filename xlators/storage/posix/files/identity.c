/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The identity of an inode. The kernel's file handle holds inode number and generation, so it is
 * never used twice. If a file system has no handles, the time of birth replaces the generation.
 *
 * A derived gfid of a handle of up to 12 bytes, as most are, is the handle itself:
 *
 *   1xxxxxxx xxxxxxxx xxxxxxxx xxxxxxxx   hash of file system, handle type and size; the 1 is not
 *                                         in gfid_root
 *   handle, padded with zeros
 *
 * which is unique by construction and costs nothing. A longer handle goes through SHA-256. The file
 * system is known by what it says of itself (core/data/file-system.h), not by its device, whose
 * number may change when the machine starts again.
 */
#include "../posix.h"

#include <sys/random.h>
#include <sys/xattr.h>

#define GFID_HANDLE_MAX 12

static int
identity_statx (int fd, struct statx *ret_stx)
{
    return posix_result (statx (fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, ret_stx));
}

int
posix_iatt (xlator_t *this, int fd, const gfid_t *gfid, struct iatt *ret_buf)
{
    struct statx stx;
    int r = identity_statx (fd, &stx);

    if (r < 0)
        return r;
    iatt_of_statx (ret_buf, &stx);
    ret_buf->ia_ino = posix_number (this, fd, ret_buf->ia_dev, ret_buf->ia_ino);
    ret_buf->ia_gfid = *gfid;
    return 0;
}

/* While pi is open its number is no other file's. The name may have become a mount point, even of
 * the mount that is served: on a file system of this machine AT_STATX_DONT_SYNC changes nothing for
 * the file itself, and makes no request to another. */
bool
posix_is_named (xlator_t *this, const struct posix_inode *pi, int dirfd, const char *name,
                struct iatt *ret_buf)
{
    const posix_private_t *priv = posix_priv (this);
    const bool local = priv->closes_silently && pi->fs == priv->root->fs;
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (local ? AT_STATX_DONT_SYNC : 0);
    struct statx stx;

    if (posix_has_moved (pi)
        || statx (dirfd, name, flags, STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
        return false;
    iatt_of_statx (ret_buf, &stx);
    if (ret_buf->ia_dev != file_system_dev (pi->fs) || ret_buf->ia_ino != pi->ino)
        return false;
    ret_buf->ia_ino = posix_number_of (this, pi->fs, pi->ino);
    ret_buf->ia_gfid = pi->gfid;
    return true;
}

int
posix_handle_of (int fd, struct posix_ident *ident, int *ret_mount_id)
{
    union {
        struct file_handle head;
        char room[sizeof (struct file_handle) + POSIX_HANDLE_MAX];
    } handle = { .head.handle_bytes = POSIX_HANDLE_MAX };

    ident->handle_size = 0;
    ident->handle_type = 0;
    if (name_to_handle_at (fd, "", &handle.head, ret_mount_id, AT_EMPTY_PATH) < 0)
        return -errno;
    if (handle.head.handle_bytes == 0 || handle.head.handle_bytes > POSIX_HANDLE_MAX)
        return -EOVERFLOW;
    ident->handle_type = handle.head.handle_type;
    ident->handle_size = handle.head.handle_bytes;
    memcpy (ident->handle, handle.room + offsetof (struct file_handle, f_handle),
            ident->handle_size);
    return 0;
}

static uint32_t
identity_tag (const struct posix_ident *ident)
{
    const uint64_t parts[] = { (uint64_t) (uint32_t) ident->handle_type, ident->handle_size };

    return fnv32 (fnv32 (FNV32_START, ident->fs->key.b, sizeof ident->fs->key.b), parts,
                  sizeof parts);
}

static gfid_t
gfid_of_handle (const struct posix_ident *ident)
{
    uint32_t tag = identity_tag (ident);
    gfid_t gfid = { { (uint8_t) (tag >> 24) | 0x80, (uint8_t) (tag >> 16), (uint8_t) (tag >> 8),
                      (uint8_t) tag } };

    memcpy (gfid.b + sizeof tag, ident->handle, ident->handle_size);
    return gfid;
}

static gfid_t
gfid_of_long_handle (const struct posix_ident *ident)
{
    unsigned char bytes[24 + POSIX_HANDLE_MAX] = { 0 };

    memcpy (bytes, ident->fs->key.b, 16);
    memcpy (bytes + 16, &ident->handle_type, 4);
    memcpy (bytes + 20, &ident->handle_size, 4);
    memcpy (bytes + 24, ident->handle, ident->handle_size);
    return gfid_of_bytes (bytes, 24 + ident->handle_size);
}

static gfid_t
gfid_of_birth (const struct posix_ident *ident, const struct iatt *buf)
{
    uint64_t parts[6] = { [2] = ident->ino, ident->ia_type, (uint64_t) buf->ia_btime,
                          buf->ia_btime_nsec };

    memcpy (parts, ident->fs->key.b, sizeof ident->fs->key.b);
    return gfid_of_bytes (parts, sizeof parts);
}

static gfid_t
gfid_derive (const struct posix_ident *ident, const struct iatt *buf)
{
    if (ident->handle_size == 0)
        return gfid_of_birth (ident, buf);
    return ident->handle_size <= GFID_HANDLE_MAX ? gfid_of_handle (ident)
                                                 : gfid_of_long_handle (ident);
}

static int
gfid_random (gfid_t *ret_gfid)
{
    if (getrandom (ret_gfid->b, sizeof ret_gfid->b, 0) != (ssize_t) sizeof ret_gfid->b)
        return -EIO;
    ret_gfid->b[6] = (ret_gfid->b[6] & 0x0f) | 0x40; /* a version 4 UUID */
    ret_gfid->b[8] = (ret_gfid->b[8] & 0x3f) | 0x80;
    return 0;
}

/* Reads the gfid that is stored with a file. Stores a new one if there is none. */
static int
gfid_stored (int fd, gfid_t *ret_gfid)
{
    struct posix_path path = posix_path_of (fd);
    int r;

    /* Twice, in case another thread stores one meanwhile. */
    for (int i = 0; i < 2; i++) {
        ssize_t n = getxattr (path.text, POSIX_GFID_XATTR, ret_gfid->b, sizeof ret_gfid->b);

        if (n == (ssize_t) sizeof ret_gfid->b)
            return gfid_is_null (ret_gfid) ? -EIO : 0;
        if (n >= 0 || errno == ERANGE)
            return -EIO;
        if (errno != ENODATA)
            return -errno;
        r = gfid_random (ret_gfid);
        if (r < 0)
            return r;
        if (setxattr (path.text, POSIX_GFID_XATTR, ret_gfid->b, sizeof ret_gfid->b, XATTR_CREATE)
            == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EAGAIN;
}

int
posix_gfid_renew (xlator_t *this, int fd, struct posix_ident *ident)
{
    struct posix_path path = posix_path_of (fd);
    char text[GFID_TEXT_SIZE];
    int r;

    gf_log (this, GF_LOG_WARNING,
            "inode %" G_GUINT64_FORMAT
            " has the stored gfid %s of another one, as a copy made with its "
            "extended attributes has: it gets a gfid of its own",
            ident->ino, gfid_text (&ident->gfid, text));
    r = gfid_random (&ident->gfid);
    if (r < 0)
        return r;
    return posix_result (
        setxattr (path.text, POSIX_GFID_XATTR, ident->gfid.b, sizeof ident->gfid.b, 0));
}

int
posix_identify (xlator_t *this, int fd, struct posix_ident *ret_ident, struct iatt *ret_buf)
{
    const posix_private_t *priv = posix_priv (this);
    struct statx stx;
    int mount_id = -1;
    int r = identity_statx (fd, &stx);

    if (r < 0)
        return r;
    iatt_of_statx (ret_buf, &stx);
    ret_ident->fs = posix_file_system (this, fd, ret_buf);
    ret_ident->ino = ret_buf->ia_ino;
    ret_ident->ia_type = ret_buf->ia_type;
    ret_ident->handle_size = 0;
    ret_ident->handle_type = 0;
    if (priv->has_handles)
        posix_handle_of (fd, ret_ident, &mount_id); /* without a handle, the birth time serves */
    ret_ident->by_handle = priv->by_handle && ret_ident->handle_size > 0
                        && mount_id == priv->mount_id;
    if (priv->gfid_mode == GFID_XATTR)
        r = gfid_stored (fd, &ret_ident->gfid);
    else
        ret_ident->gfid = gfid_derive (ret_ident, ret_buf);
    ret_buf->ia_ino = posix_number_of (this, ret_ident->fs, ret_buf->ia_ino);
    ret_buf->ia_gfid = ret_ident->gfid;
    return r;
}

bool
posix_is (const struct posix_inode *pi, const struct posix_ident *ident)
{
    if (pi->fs != ident->fs || pi->ino != ident->ino || pi->handle_size != ident->handle_size)
        return false;
    if (pi->handle_size == 0)
        return gfid_equal (&pi->gfid, &ident->gfid);
    return pi->handle_type == ident->handle_type
        && memcmp (pi->handle, ident->handle, pi->handle_size) == 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What file systems say of themselves, and the list of those that were met. */
#include "core/data/file-system.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* --- what a file system says of itself -------------------------------------------------------- */

struct fs_uuid {
    uint8_t size;
    unsigned char bytes[16];
};

/* The beginning of struct xfs_fsop_geom_v1 is numbers. */
struct fs_xfs {
    uint32_t sizes[8];
    uint64_t blocks[4];
    unsigned char uuid[16];
    uint32_t more[7];
};

/* struct btrfs_ioctl_fs_info_args, and struct fsuuid of ext4 with room for its UUID. */
struct fs_btrfs {
    uint64_t max_id, num_devices;
    unsigned char uuid[16];
    unsigned char more[992];
};

struct fs_ext4 {
    uint32_t size, flags;
    unsigned char uuid[16];
};

#define FS_GET_UUID _IOR (0x15, 0, struct fs_uuid)    /* FS_IOC_GETFSUUID, Linux 6.9 */
#define FS_GET_XFS _IOR ('X', 100, struct fs_xfs)     /* XFS_IOC_FSGEOMETRY_V1 */
#define FS_GET_BTRFS _IOR (0x94, 31, struct fs_btrfs) /* BTRFS_IOC_FS_INFO */
#define FS_GET_EXT4 _IOR ('f', 44, uint64_t)          /* EXT4_IOC_GETFSUUID, Linux 6.0; its type
                                                       * has the 8 bytes before the UUID */

/* NFS has no UUID. A server of FUSE would get the ioctl as a request. */
static bool
fs_is_silent (const struct statfs *fs)
{
    return fs->f_type == NFS_SUPER_MAGIC || fs->f_type == FUSE_SUPER_MAGIC;
}

static const unsigned char *
fs_own_uuid (int dir, const struct statfs *fs, unsigned char room[sizeof (struct fs_btrfs)])
{
    struct fs_xfs *xfs = (void *) room;
    struct fs_btrfs *btrfs = (void *) room;
    struct fs_ext4 *ext4 = (void *) room;

    memset (room, 0, sizeof *btrfs);
    if (fs->f_type == XFS_SUPER_MAGIC)
        return ioctl (dir, FS_GET_XFS, xfs) == 0 ? xfs->uuid : NULL;
    if (fs->f_type == BTRFS_SUPER_MAGIC)
        return ioctl (dir, FS_GET_BTRFS, btrfs) == 0 ? btrfs->uuid : NULL;
    ext4->size = sizeof ext4->uuid;
    return fs->f_type == EXT4_SUPER_MAGIC && ioctl (dir, FS_GET_EXT4, ext4) == 0 ? ext4->uuid
                                                                                 : NULL;
}

bool
file_system_uuid (int dir, unsigned char ret_uuid[16])
{
    _Alignas (8) unsigned char room[sizeof (struct fs_btrfs)];
    struct fs_uuid uuid = { 0 };
    const unsigned char *own;
    struct statfs fs;

    if (fstatfs (dir, &fs) < 0 || fs_is_silent (&fs))
        return false;
    own = ioctl (dir, FS_GET_UUID, &uuid) == 0 && uuid.size == sizeof uuid.bytes
            ? uuid.bytes
            : fs_own_uuid (dir, &fs, room);
    if (!own || gfid_is_null ((const gfid_t *) own))
        return false;
    memcpy (ret_uuid, own, sizeof uuid.bytes);
    return true;
}

/* f_fsid comes first: on ext4 and btrfs it is the UUID folded to 64 bits, in all kernels, so the id
 * does not change with a kernel that has FS_IOC_GETFSUUID. On btrfs it has the subvolume, too. On
 * XFS, and on file systems that don't set it, it is the number of the device. */
bool
file_system_ask (int fd, struct file_system_says *ret)
{
    struct statfs fs = { 0 };
    struct stat st;
    uint64_t parts[2];

    *ret = (struct file_system_says){ 0 };
    if (fstatfs (fd, &fs) < 0 || fstat (fd, &st) < 0 || fs_is_silent (&fs))
        return true;
    ret->subvolumes = fs.f_type == BTRFS_SUPER_MAGIC;
    parts[0] = (uint64_t) fs.f_type;
    memcpy (&parts[1], &fs.f_fsid, sizeof parts[1]);
    if (parts[1] == 0 || parts[1] == st.st_dev || fs.f_type == XFS_SUPER_MAGIC)
        return false;
    ret->id = gfid_of_bytes (parts, sizeof parts);
    return true;
}

void
file_system_ask_directory (int dir, struct file_system_says *ret)
{
    ret->has_uuid = file_system_uuid (dir, ret->uuid);
    if (ret->has_uuid && gfid_is_null (&ret->id))
        ret->id = gfid_of_bytes (ret->uuid, sizeof ret->uuid);
}

/* --- which file systems are mounted ----------------------------------------------------------- */

/* Files of btrfs, and some of overlayfs, have other devices than their mount. */
GHashTable *
file_systems_mounted (void)
{
    GHashTable *devices = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
    FILE *mounts = fopen ("/proc/self/mountinfo", "re");
    g_autofree char *line = NULL;
    unsigned major, minor;
    size_t size = 0;

    while (mounts && getline (&line, &size, mounts) > 0)
        if (sscanf (line, "%*d %*d %u:%u", &major, &minor) == 2) {
            const gint64 dev = (gint64) makedev (major, minor);

            g_hash_table_add (devices, g_memdup2 (&dev, sizeof dev));
        }
    if (mounts)
        fclose (mounts);
    return devices;
}

/* --- the list --------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* a leaf */
    GHashTable *by_dev;   /* struct file_system that has the device now, by dev; lock */
    GHashTable *by_key;   /* all; lock */
} file_systems = { PTHREAD_MUTEX_INITIALIZER, NULL, NULL };

static struct file_system *
fs_of_dev_locked (uint64_t dev)
{
    return file_systems.by_dev ? g_hash_table_lookup (file_systems.by_dev, &dev) : NULL;
}

const struct file_system *
file_system_of (uint64_t dev)
{
    const struct file_system *fs;

    pthread_mutex_lock (&file_systems.lock);
    fs = fs_of_dev_locked (dev);
    pthread_mutex_unlock (&file_systems.lock);
    return fs;
}

/* A null id rules nothing out: a UUID can't be asked for through a file, as where a file is mounted
 * by itself. */
static bool
fs_may_be (const struct file_system *fs, const gfid_t *id)
{
    return gfid_is_null (&fs->id) || gfid_is_null (id) || gfid_equal (&fs->id, id);
}

/* Returns whether the file system that has this key may have moved to dev. Its earlier device is
 * then no mount's any more, and nobody's if it is that of a subvolume. */
static bool
fs_has_moved (const struct file_system *fs, uint64_t dev, GHashTable *mounted)
{
    const uint64_t before = file_system_dev (fs);

    return before == dev || __atomic_load_n (&fs->gone, __ATOMIC_RELAXED)
        || !g_hash_table_contains (mounted, &before);
}

static gfid_t
fs_key_with_dev (const gfid_t *id, uint64_t dev)
{
    const struct {
        gfid_t id;
        uint64_t dev;
    } both = { *id, dev };

    return gfid_of_bytes (&both, sizeof both);
}

/* The id alone, unless two file systems may have it: copies of a disk that are both mounted. btrfs
 * mounts no copies. A device that no mount has may be of a part of a file system, which only the
 * device tells apart. */
static gfid_t
fs_key_locked (uint64_t dev, const struct file_system_says *says, GHashTable *mounted)
{
    const struct file_system *other = g_hash_table_lookup (file_systems.by_key, &says->id);

    if (!gfid_is_null (&says->id) && (says->subvolumes || g_hash_table_contains (mounted, &dev))
        && (!other || fs_has_moved (other, dev, mounted)))
        return says->id;
    return fs_key_with_dev (&says->id, dev);
}

static void
fs_give_dev_locked (struct file_system *fs, uint64_t dev)
{
    struct file_system *old = fs_of_dev_locked (dev);
    uint64_t *key = g_memdup2 (&dev, sizeof dev);
    const uint64_t before = file_system_dev (fs);

    if (old)
        __atomic_store_n (&old->gone, true, __ATOMIC_RELAXED);
    if (before != dev && fs_of_dev_locked (before) == fs)
        g_hash_table_remove (file_systems.by_dev, &before);
    if (before != dev)
        __atomic_add_fetch (&fs->moves, 1, __ATOMIC_RELAXED);
    __atomic_store_n (&fs->dev, dev, __ATOMIC_RELAXED);
    __atomic_store_n (&fs->gone, false, __ATOMIC_RELAXED);
    g_hash_table_replace (file_systems.by_dev, key, fs);
}

static struct file_system *
fs_learn_locked (uint64_t dev, const struct file_system_says *says, GHashTable *mounted)
{
    struct file_system *fs = fs_of_dev_locked (dev);
    gfid_t key;

    if (fs && fs_may_be (fs, &says->id))
        return fs;
    if (!file_systems.by_dev) {
        file_systems.by_dev = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
        file_systems.by_key = g_hash_table_new (gfid_hash, gfid_same);
    }
    key = fs_key_locked (dev, says, mounted);
    fs = g_hash_table_lookup (file_systems.by_key, &key);
    if (!fs) {
        fs = g_new (struct file_system, 1);
        *fs = (struct file_system){ .dev = dev, .id = says->id, .key = key,
                                    .has_uuid = says->has_uuid };
        memcpy (fs->uuid, says->uuid, sizeof fs->uuid);
        g_hash_table_insert (file_systems.by_key, &fs->key, fs);
    }
    fs_give_dev_locked (fs, dev);
    return fs;
}

const struct file_system *
file_system_learn (uint64_t dev, const struct file_system_says *says, GHashTable *mounted)
{
    const struct file_system *fs;

    pthread_mutex_lock (&file_systems.lock);
    fs = fs_learn_locked (dev, says, mounted);
    pthread_mutex_unlock (&file_systems.lock);
    return fs;
}

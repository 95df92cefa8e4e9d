/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inode numbers as callers see them. The mount is one device, while the directory may contain other
 * file systems and btrfs subvolumes, whose numbers are equal to its own. Programs take two names
 * with one device and inode number for one file. So:
 *
 *   file                               bit 63  62  61 ... 48  47 ... 0
 *   on the directory's own device       the number of storage, whatever it is
 *   on another device                       0   0  slot       number
 *   if that number has over 48 bits         0   1  hash of file system and number
 *
 * The slot of a file system is made of what the file system says of itself (its UUID, a
 * subvolume's number), so that it is the same in the next mount of either. A file system whose slot
 * is taken gets the next free one, which then depends on which came first. Two files have one
 * number only if two hashes are equal, or if the directory's own numbers have more than 48 bits.
 * Bit 63 is for .meta.
 */
#include "../posix.h"

#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define NUMBER_BITS 48
#define NUMBER_SLOTS ((1U << 14) - 1) /* 1 and so on */
#define NUMBER_HASHED ((uint64_t) 1 << 62)
#define NUMBER_OF_SUBVOLUME 256 /* of the top directory of each btrfs subvolume */

/* Another file system below the directory. */
struct number_file_system {
    uint64_t dev;
    gfid_t id;     /* what it says of itself, the same wherever it is mounted; null: nothing */
    gfid_t key;    /* the same, or made of it and dev: equal only if both are one file system */
    unsigned slot; /* 0: none was free */
};

void
posix_numbers_init (struct posix_numbers *numbers)
{
    pthread_mutex_init (&numbers->lock, NULL);
    numbers->by_dev = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
    numbers->slots = g_hash_table_new (NULL, NULL);
}

void
posix_numbers_destroy (struct posix_numbers *numbers)
{
    g_hash_table_unref (numbers->slots);
    g_hash_table_unref (numbers->by_dev);
    pthread_mutex_destroy (&numbers->lock);
}

/* --- what a file system says of itself -------------------------------------------------------- */

struct number_uuid {
    uint8_t size;
    unsigned char bytes[16];
};

/* The beginning of struct xfs_fsop_geom_v1 is numbers. */
struct number_xfs {
    uint32_t sizes[8];
    uint64_t blocks[4];
    unsigned char uuid[16];
    uint32_t more[7];
};

#define NUMBER_GET_UUID _IOR (0x15, 0, struct number_uuid) /* FS_IOC_GETFSUUID, Linux 6.9 */
#define NUMBER_GET_XFS _IOR ('X', 100, struct number_xfs)  /* XFS_IOC_FSGEOMETRY_V1 */

/* Through a directory: to open a file may break a lease. */
static bool
number_uuid (xlator_t *this, int fd, bool xfs, gfid_t *ret_id)
{
    const struct posix_caller caller = posix_caller_leave (posix_priv (this));
    const int dir = posix_openat (this, fd, ".", O_RDONLY | O_DIRECTORY, 0);
    struct number_uuid uuid = { 0 };
    struct number_xfs geometry = { 0 };
    bool got = false;

    if (dir >= 0 && ioctl (dir, NUMBER_GET_UUID, &uuid) == 0) {
        got = true;
        *ret_id = gfid_of_bytes (uuid.bytes, sizeof uuid.bytes);
    } else if (dir >= 0 && xfs && ioctl (dir, NUMBER_GET_XFS, &geometry) == 0) {
        got = true;
        *ret_id = gfid_of_bytes (geometry.uuid, sizeof geometry.uuid);
    }
    if (dir >= 0)
        close (dir);
    posix_caller_return (posix_priv (this), caller);
    return got;
}

/* f_fsid is the UUID folded to 64 bits, on btrfs with the subvolume's number; on XFS it is the
 * device number, on NFS and FUSE 0. */
static gfid_t
number_id (xlator_t *this, int fd, uint64_t dev, bool *ret_subvolumes)
{
    struct statfs fs = { 0 };
    uint64_t parts[2];
    gfid_t id = { 0 };

    if (fstatfs (fd, &fs) < 0)
        return id;
    *ret_subvolumes = fs.f_type == BTRFS_SUPER_MAGIC;
    parts[0] = (uint64_t) fs.f_type;
    memcpy (&parts[1], &fs.f_fsid, sizeof parts[1]);
    if (parts[1] != 0 && parts[1] != dev)
        id = gfid_of_bytes (parts, sizeof parts);
    else
        number_uuid (this, fd, fs.f_type == XFS_SUPER_MAGIC, &id);
    return id;
}

/* --- which file systems are mounted ----------------------------------------------------------- */

/* Returns the devices of all mounts, as a set. Files of btrfs, and some of overlayfs, have other
 * devices than their mount. */
static GHashTable *
number_mounted (void)
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

/* Two copies of a disk have one UUID; both are mounted, so the device tells them apart. A file
 * system that was mounted again under another device is the same one, since its earlier device is
 * not mounted any more. btrfs mounts no copies. A device that no mount has may be of a part of a
 * file system: only the device tells parts apart. */
static gfid_t
number_key (const gfid_t *id, uint64_t dev, bool subvolumes, GHashTable *mounted)
{
    const struct {
        gfid_t id;
        uint64_t dev;
    } both = { *id, dev };

    if (!gfid_is_null (id) && (subvolumes || g_hash_table_contains (mounted, &dev)))
        return *id;
    return gfid_of_bytes (&both, sizeof both);
}

/* --- slots ------------------------------------------------------------------------------------ */

static void
number_remove_locked (struct posix_numbers *numbers, struct number_file_system *fs)
{
    if (fs->slot)
        g_hash_table_remove (numbers->slots, GUINT_TO_POINTER (fs->slot));
    g_hash_table_remove (numbers->by_dev, &fs->dev);
}

/* Returns a free slot, or that of the same file system under an earlier device, or 0. */
static unsigned
number_slot_locked (struct posix_numbers *numbers, const gfid_t *key, GHashTable *mounted)
{
    const unsigned first = gfid_hash (key) % NUMBER_SLOTS;
    struct number_file_system *other;
    unsigned slot;

    for (unsigned i = 0; i < NUMBER_SLOTS; i++) {
        slot = 1 + (first + i) % NUMBER_SLOTS;
        other = g_hash_table_lookup (numbers->slots, GUINT_TO_POINTER (slot));
        if (other && gfid_equal (&other->key, key)
            && !g_hash_table_contains (mounted, &other->dev)) {
            number_remove_locked (numbers, other);
            other = NULL;
        }
        if (!other)
            return slot;
    }
    return 0;
}

/* Returns whether a device that is known as one file system may still be that one. A null identity
 * rules nothing out: a UUID can't be asked through a file, as where a file is mounted by itself. */
static bool
number_may_be (const gfid_t *known, const gfid_t *found)
{
    return gfid_is_null (known) || gfid_is_null (found) || gfid_equal (known, found);
}

/* fs->slot is not set yet. Another thread may have added the device meanwhile. */
static void
posix_number_add_locked (struct posix_numbers *numbers, struct number_file_system *fs,
                         GHashTable *mounted)
{
    struct number_file_system *old = g_hash_table_lookup (numbers->by_dev, &fs->dev), *kept;

    if (old && number_may_be (&old->id, &fs->id)) {
        *fs = *old;
        return;
    }
    if (old)
        number_remove_locked (numbers, old); /* unmounted, and its device is another's */
    fs->slot = number_slot_locked (numbers, &fs->key, mounted);
    kept = g_memdup2 (fs, sizeof *fs);
    g_hash_table_insert (numbers->by_dev, &kept->dev, kept);
    if (kept->slot)
        g_hash_table_insert (numbers->slots, GUINT_TO_POINTER (kept->slot), kept);
}

static bool
number_known (struct posix_numbers *numbers, uint64_t dev, struct number_file_system *ret_fs)
{
    const struct number_file_system *fs;

    pthread_mutex_lock (&numbers->lock);
    fs = g_hash_table_lookup (numbers->by_dev, &dev);
    if (fs)
        *ret_fs = *fs;
    pthread_mutex_unlock (&numbers->lock);
    return fs != NULL;
}

static void
number_learn (xlator_t *this, int fd, uint64_t dev, bool known, struct number_file_system *fs)
{
    struct posix_numbers *numbers = &posix_priv (this)->numbers;
    bool subvolumes = false;
    const gfid_t id = number_id (this, fd, dev, &subvolumes);
    GHashTable *mounted;

    if (known && number_may_be (&fs->id, &id))
        return;
    mounted = number_mounted ();
    *fs = (struct number_file_system){
        .dev = dev, .id = id, .key = number_key (&id, dev, subvolumes, mounted)
    };
    pthread_mutex_lock (&numbers->lock);
    posix_number_add_locked (numbers, fs, mounted);
    pthread_mutex_unlock (&numbers->lock);
    g_hash_table_unref (mounted);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Each step is a bijection, so one file system's numbers have different hashes; number_in keeps 62
 * bits, so two may then be equal. */
static uint64_t
number_hash (uint64_t seed, uint64_t ino)
{
    uint64_t hash = ino ^ seed;

    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

static uint64_t
number_in (const struct number_file_system *fs, uint64_t ino)
{
    uint64_t seed;

    if (fs->slot && ino >> NUMBER_BITS == 0)
        return (uint64_t) fs->slot << NUMBER_BITS | ino;
    memcpy (&seed, fs->key.b, sizeof seed);
    return NUMBER_HASHED | (number_hash (seed, ino) & (NUMBER_HASHED - 1));
}

bool
posix_number_is_own (const posix_private_t *priv, uint64_t dev)
{
    return !priv->root || dev == priv->root->dev;
}

uint64_t
posix_number (xlator_t *this, int fd, uint64_t dev, uint64_t ino)
{
    struct number_file_system fs;

    if (posix_number_is_own (posix_priv (this), dev))
        return ino;
    if (!number_known (&posix_priv (this)->numbers, dev, &fs))
        number_learn (this, fd, dev, false, &fs);
    return number_in (&fs, ino);
}

uint64_t
posix_number_of_found (xlator_t *this, int fd, const struct iatt *buf)
{
    const bool top = buf->ia_attributes & STATX_ATTR_MOUNT_ROOT
                  || (buf->ia_ino == NUMBER_OF_SUBVOLUME && buf->ia_type == IA_IFDIR);
    struct number_file_system fs;
    bool known;

    if (posix_number_is_own (posix_priv (this), buf->ia_dev))
        return buf->ia_ino;
    known = number_known (&posix_priv (this)->numbers, buf->ia_dev, &fs);
    if (!known || top)
        number_learn (this, fd, buf->ia_dev, known, &fs);
    return number_in (&fs, buf->ia_ino);
}

bool
posix_number_known (xlator_t *this, const struct posix_inode *pi, uint64_t *ret_number)
{
    struct number_file_system fs;

    if (!number_known (&posix_priv (this)->numbers, pi->dev, &fs))
        return false;
    *ret_number = number_in (&fs, pi->ino);
    return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which file system a file of the directory is on, and the inode number that callers see. The mount
 * is one device, while the directory may contain other file systems and btrfs subvolumes, whose
 * numbers are equal to its own: core/data/file-system.h. */
#include "../posix.h"

#define NUMBER_OF_SUBVOLUME 256 /* of the top directory of each btrfs subvolume */

/* Through a directory: to open a file may break a lease. */
static void
number_ask_directory (xlator_t *this, int fd, struct file_system_says *ret)
{
    const struct posix_caller caller = posix_caller_leave (posix_priv (this));
    const int dir = posix_openat (this, fd, ".", O_RDONLY | O_DIRECTORY, 0);

    if (dir >= 0) {
        file_system_ask_directory (dir, ret);
        close (dir);
    }
    posix_caller_return (posix_priv (this), caller);
}

static const struct file_system *
number_learn (xlator_t *this, int fd, uint64_t dev)
{
    const struct file_system *fs;
    struct file_system_says says;
    GHashTable *mounted;

    if (!file_system_ask (fd, &says) || !file_system_of (dev))
        number_ask_directory (this, fd, &says);
    mounted = file_systems_mounted ();
    fs = file_system_learn (dev, &says, mounted);
    g_hash_table_unref (mounted);
    return fs;
}

static bool
number_is_of_root (const posix_private_t *priv, uint64_t dev)
{
    return priv->root && dev == file_system_dev (priv->root->fs);
}

/* fd: any descriptor of that device. */
static const struct file_system *
number_file_system (xlator_t *this, int fd, uint64_t dev)
{
    const posix_private_t *priv = posix_priv (this);
    const struct file_system *fs = number_is_of_root (priv, dev) ? priv->root->fs
                                                                 : file_system_of (dev);

    return fs ? fs : number_learn (this, fd, dev);
}

/* The numbers of devices are used again. So at the top of a file system, and at the start, it is
 * asked again. From then on the root's can't be unmounted. */
const struct file_system *
posix_file_system (xlator_t *this, int fd, const struct iatt *buf)
{
    const posix_private_t *priv = posix_priv (this);
    const bool top = !priv->root || buf->ia_attributes & STATX_ATTR_MOUNT_ROOT
                  || (buf->ia_ino == NUMBER_OF_SUBVOLUME && buf->ia_type == IA_IFDIR);

    return top && !number_is_of_root (priv, buf->ia_dev)
             ? number_learn (this, fd, buf->ia_dev)
             : number_file_system (this, fd, buf->ia_dev);
}

bool
posix_number_is_own (const posix_private_t *priv, const struct file_system *fs)
{
    return !priv->root || fs == priv->root->fs;
}

uint64_t
posix_number_of (xlator_t *this, const struct file_system *fs, uint64_t ino)
{
    posix_private_t *priv = posix_priv (this);

    return posix_number_is_own (priv, fs) ? ino : number_shown (&priv->numbers, fs, ino);
}

uint64_t
posix_number (xlator_t *this, int fd, uint64_t dev, uint64_t ino)
{
    return number_is_of_root (posix_priv (this), dev)
             ? ino
             : posix_number_of (this, number_file_system (this, fd, dev), ino);
}

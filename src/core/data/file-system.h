/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file systems of this machine that files come from, and inode numbers that are unique over
 * several of them.
 *
 * The number of a device (st_dev) may be another one after a restart of the machine, and stand for
 * another file system after an unmount. So a file system is known by what it says of itself: its
 * UUID, and on btrfs the subvolume's number. Two copies of a disk say the same. If both are
 * mounted, the second one that is met is known by its device, too. A file system that says nothing,
 * as NFS and FUSE, is known by its device alone.
 *
 * The list of file systems belongs to the process, so that all graphs know a file system by one
 * key. It grows with each file system that is met, and nothing in it is freed.
 */
#ifndef WINDLASS_CORE_DATA_FILE_SYSTEM_H
#define WINDLASS_CORE_DATA_FILE_SYSTEM_H

#include "core/base/gfid.h"

#include <pthread.h>

struct file_system {
    uint64_t dev; /* st_dev of its files, where it was met last. Atomic; the rest is constant */
    gfid_t id;    /* made of what it says of itself; null: nothing */
    gfid_t key;   /* different for each file system of the process. The same after a restart if id
                   * is not null and no other mounted file system says the same */
    bool has_uuid;          /* the UUID could be asked for when it was met first */
    unsigned char uuid[16]; /* as the kernel knows it */
    bool gone;    /* another file system has its device now. Atomic */
    uint16_t moves; /* how often it came under another device. Descriptors from before lead to what
                     * was unmounted, or to a disk that is gone. Atomic */
};

/* What a file system says of itself. */
struct file_system_says {
    gfid_t id;       /* null: nothing */
    bool has_uuid;
    unsigned char uuid[16];
    bool subvolumes; /* its files have devices that no mount has, one for each subvolume: btrfs */
};

/* Asks through fd, any descriptor (O_PATH is enough). Returns false if ret->id takes a directory of
 * the file system that is open for reading: file_system_ask_directory adds it, if there is none
 * yet, and the UUID. */
bool file_system_ask (int fd, struct file_system_says *ret);
void file_system_ask_directory (int dir, struct file_system_says *ret);

/* Stores the UUID that the kernel knows the file system by (s_uuid), as overlayfs records it.
 * Returns false if there is none that can be asked for, or only zeros. dir: a directory, open for
 * reading. */
bool file_system_uuid (int dir, unsigned char ret_uuid[16]);

/* Returns the devices of all mounts, as a set of gint64. g_hash_table_unref it. */
GHashTable *file_systems_mounted (void);

/* Returns the file system of a device, if it is known; else NULL. */
const struct file_system *file_system_of (uint64_t dev);

/* Returns the file system of a device, of which says is true. If that can't be the known one,
 * another one has its device now. mounted: from file_systems_mounted. */
const struct file_system *file_system_learn (uint64_t dev, const struct file_system_says *says,
                                             GHashTable *mounted);

static inline uint64_t
file_system_dev (const struct file_system *fs)
{
    return __atomic_load_n (&fs->dev, __ATOMIC_RELAXED);
}

static inline uint16_t
file_system_moves (const struct file_system *fs)
{
    return __atomic_load_n (&fs->moves, __ATOMIC_RELAXED);
}

/* --- inode numbers ---------------------------------------------------------------------------- */

/*
 * A view of several file systems shows one device, and programs take two names with one device and
 * inode number for one file. So:
 *
 *   file                               bit 63  62  61 ... 48  47 ... 0
 *   of the view's own file system       the number that it has, whatever it is
 *   of another one                          0   0  slot       number
 *   if that number has over 48 bits         0   1  hash of file system and number
 *
 * The slot of a file system is made of its key. A file system whose slot is taken gets the next
 * free one, which then depends on which came first. Two files have one number only if two hashes
 * are equal, or if numbers of the view's own have more than 48 bits. Bit 63 is for .meta.
 */
struct number_slots {
    pthread_mutex_t lock; /* a leaf */
    GHashTable *slots;    /* slot to const struct file_system *; lock */
    GHashTable *of;       /* the other way; lock */
};

void number_slots_init (struct number_slots *slots);
void number_slots_destroy (struct number_slots *slots);

/* Returns the number that a view shows for the file that has the number ino in fs. */
uint64_t number_shown (struct number_slots *slots, const struct file_system *fs, uint64_t ino);

#endif

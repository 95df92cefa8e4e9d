/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel caches of an inode: what the bridge tells it, how long it may remember that, and
 * what it has to drop.
 */
#ifndef WINDLASS_FUSE_KERNEL_CACHE_H
#define WINDLASS_FUSE_KERNEL_CACHE_H

#include "fuse/state.h"

/* What the bridge notes of an inode for the kernel's sake. It lies in the inode itself, in
 * inode->maker, so that it costs no memory and no look-up of its own. All are atomic. */
struct kernel_view {
    uint32_t privileges;     /* how often the kernel was told that the file is setuid or setgid,
                              * since it was last told to ask again */
    uint32_t cached_opens;   /* descriptors of the kernel that may use its page cache */
    uint32_t direct_writes;  /* 1: a write bypassed that cache since the last open */
    uint32_t listed_at;      /* begin of the last listing with attributes, in milliseconds */
    uint32_t no_default_acl; /* when the directory was last seen without a default ACL, in
                              * milliseconds; 0: never */
};

G_STATIC_ASSERT (sizeof (struct kernel_view) <= sizeof ((inode_t *) NULL)->maker);

static inline struct kernel_view *
kernel_view (const inode_t *inode)
{
    return (struct kernel_view *) inode->maker;
}

/* --- facts as the kernel gets them --- */

/* Returns st_blksize for the kernel, in bytes. A directory's is at least 128 KiB, since readdir(3)
 * asks for so much at a time, and each request has its price. */
uint32_t kernel_block_size (const struct iatt *iatt);

/* Returns an inode number as the kernel gets it: fuse/short-numbers.h. */
uint64_t kernel_ino (const struct bridge *bridge, uint64_t ino);

/* Returns how long the kernel may cache facts about an inode with that number, given the usual
 * timeout in seconds. 0 if a translator has to see each lookup; and for the hidden graph where the
 * kernel checks no rights: it would show cached facts to callers without a right to them. */
static inline double
kernel_remembers (const struct bridge *bridge, uint64_t nodeid, double timeout)
{
    if (G_UNLIKELY (__atomic_load_n (&bridge->graph->sees_names, __ATOMIC_RELAXED)))
        return 0;
    return G_UNLIKELY (nodeid & INODE_BESIDE) && !bridge->terms.checked ? 0 : timeout;
}

/* Returns how long the kernel may cache attributes of an inode with that number, in seconds. */
double kernel_attribute_timeout (const struct bridge *bridge, uint64_t nodeid,
                                 const struct iatt *iatt);

/* Returns how long the kernel may cache that a directory has no such name, in seconds. */
double kernel_negative_timeout (const struct bridge *bridge, const inode_t *directory);

/* Returns whether the inode is a device, a pipe or a socket and the kernel checks no rights. The
 * kernel opens such inodes without a request. The bridge then lets only callers that may read and
 * write them look them up, and their owner, who could change the mode; and has the kernel look them
 * up each time. */
static inline bool
kernel_is_guarded (const struct bridge *bridge, const struct iatt *iatt)
{
    return G_UNLIKELY (!bridge->terms.checked)
           && (iatt->ia_type == IA_IFBLK || iatt->ia_type == IA_IFCHR || iatt->ia_type == IA_IFIFO
               || iatt->ia_type == IA_IFSOCK);
}

/* Fills in a stat, and an entry of a directory, as the kernel takes them. inode NULL: an entry
 * without an inode; parent NULL: the kernel asks for an inode, by no name. */
void kernel_stat (const struct bridge *bridge, struct stat *ret_st, const struct iatt *iatt);
void kernel_entry (struct bridge *bridge, struct fuse_entry_param *ret_entry, inode_t *inode,
                   const inode_t *parent, const struct iatt *iatt);

/* --- setuid and setgid --- */

/* Records attributes of an inode number that the kernel is about to be told. */
void kernel_note_mode (struct bridge *bridge, uint64_t nodeid, const struct iatt *iatt);
/* Returns whether the kernel was told that the file is setuid or setgid. */
bool kernel_knows_privileges (const inode_t *inode);
/* Has the kernel ask for the mode again when it needs it, if it was told of setuid or setgid, which
 * may be gone now. */
void kernel_forget_mode (struct bridge *bridge, inode_t *inode);

/* --- pages --- */

/* Counts opens of the file by the kernel: change is 1 or -1. */
void kernel_note_open (const fd_t *fd, int change);
/* Records that a write has bypassed the page cache. Returns whether the kernel may have pages of
 * the file, which are stale then. */
bool kernel_note_direct_write (inode_t *inode);
/* Returns whether an open may keep the pages that the kernel has cached: no write bypassed them
 * since the last open. */
bool kernel_may_keep_pages (inode_t *inode);

/* --- invalidate.c: XLATOR_INVALIDATE --- */

/* entrance: the bridge as the top's parent in the graph that sent it. XLATOR_INVALIDATE tells which
 * threads may call this. */
void bridge_invalidate (xlator_t *entrance, const struct invalidation *gone);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/kernel-cache.h"

#include "fuse/short-numbers.h"

#include <fcntl.h>
#include <string.h>

/* --- facts as the kernel gets them ------------------------------------------------------------ */

uint32_t
kernel_block_size (const struct iatt *iatt)
{
    return iatt->ia_type == IA_IFDIR ? MAX (iatt->ia_blksize, 128 << 10) : iatt->ia_blksize;
}

uint64_t
kernel_ino (const struct bridge *bridge, uint64_t ino)
{
    return bridge->short_numbers ? short_ino (ino) : ino;
}

void
kernel_stat (const struct bridge *bridge, struct stat *ret_st, const struct iatt *iatt)
{
    stat_of_iatt (ret_st, iatt);
    ret_st->st_ino = kernel_ino (bridge, iatt->ia_ino);
    ret_st->st_blksize = kernel_block_size (iatt);
}

/* Returns `timeout`, unless the kernel may keep nothing of the inode, or of names in it. Without an
 * inode (NULL) it may. */
static double
kernel_keeps (const struct bridge *bridge, uint64_t nodeid, const inode_t *inode, double timeout)
{
    return inode && inode_is_unkept (inode) ? 0 : kernel_remembers (bridge, nodeid, timeout);
}

/* Only a directory may be unkept: others need no look at their inodes. */
double
kernel_attribute_timeout (const struct bridge *bridge, uint64_t nodeid, const struct iatt *iatt)
{
    const inode_t *inode = iatt->ia_type == IA_IFDIR && !(nodeid & INODE_BESIDE)
                             ? inode_of_nodeid (bridge->graph->itable, nodeid)
                             : NULL;

    return kernel_keeps (bridge, nodeid, inode, bridge->settings.attribute_timeout);
}

double
kernel_negative_timeout (const struct bridge *bridge, const inode_t *directory)
{
    return kernel_keeps (bridge, 0, directory, bridge->settings.negative_timeout);
}

void
kernel_entry (struct bridge *bridge, struct fuse_entry_param *ret_entry, inode_t *inode,
              const inode_t *parent, const struct iatt *iatt)
{
    memset (ret_entry, 0, sizeof *ret_entry);
    ret_entry->ino = inode ? inode_nodeid (inode) : 0;
    ret_entry->generation = bridge->generation;
    ret_entry->attr_timeout = kernel_keeps (bridge, ret_entry->ino, inode,
                                            bridge->settings.attribute_timeout);
    ret_entry->entry_timeout = kernel_is_guarded (bridge, iatt)
                                 ? 0
                                 : kernel_keeps (bridge, ret_entry->ino, parent,
                                                 bridge->settings.entry_timeout);
    kernel_stat (bridge, &ret_entry->attr, iatt);
    kernel_note_mode (bridge, ret_entry->ino, iatt);
}

/* --- setuid and setgid ------------------------------------------------------------------------ */

/* Counts how often the kernel was told that the file is setuid or setgid, since it was last told to
 * ask again. A program that the kernel starts with a cached mode would otherwise run newly written
 * code with the file owner's rights. */
void
kernel_note_mode (struct bridge *bridge, uint64_t nodeid, const struct iatt *iatt)
{
    inode_t *inode;

    if (G_LIKELY (!(iatt->ia_prot & (S_ISUID | S_ISGID))) || iatt->ia_type != IA_IFREG
        || nodeid & INODE_BESIDE)
        return;
    inode = inode_of_nodeid (bridge->graph->itable, nodeid);
    if (inode)
        __atomic_add_fetch (&kernel_view (inode)->privileges, 1, __ATOMIC_SEQ_CST);
}

bool
kernel_knows_privileges (const inode_t *inode)
{
    return __atomic_load_n (&kernel_view (inode)->privileges, __ATOMIC_SEQ_CST) != 0;
}

/* Keeps the count if another request told the kernel of the mode meanwhile. */
void
kernel_forget_mode (struct bridge *bridge, inode_t *inode)
{
    uint32_t *privileges = &kernel_view (inode)->privileges;
    uint32_t told = __atomic_load_n (privileges, __ATOMIC_SEQ_CST);

    if (G_LIKELY (told == 0))
        return;
    fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (inode), -1, 0);
    __atomic_compare_exchange_n (privileges, &told, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* --- pages ------------------------------------------------------------------------------------ */

void
kernel_note_open (const fd_t *fd, int change)
{
    if (!(fd->flags & O_DIRECT))
        __atomic_add_fetch (&kernel_view (fd->inode)->cached_opens, change, __ATOMIC_SEQ_CST);
}

bool
kernel_note_direct_write (inode_t *inode)
{
    __atomic_store_n (&kernel_view (inode)->direct_writes, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n (&kernel_view (inode)->cached_opens, __ATOMIC_SEQ_CST) > 0;
}

bool
kernel_may_keep_pages (inode_t *inode)
{
    uint32_t *direct_writes = &kernel_view (inode)->direct_writes;

    return !__atomic_load_n (direct_writes, __ATOMIC_RELAXED)
        || !__atomic_exchange_n (direct_writes, 0, __ATOMIC_SEQ_CST);
}

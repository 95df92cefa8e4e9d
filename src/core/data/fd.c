/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/fd.h"
#include "core/base/audit.h"
#include "core/data/itable.h"

fd_t *
fd_new (const struct fd_maker *maker, inode_t *inode, uint32_t flags, pid_t pid)
{
    fd_t *fd = g_malloc0 (sizeof *fd + maker->keepers * sizeof fd->ctx[0]);

    fd->magic = FD_MAGIC;
    fd->refs = 1;
    fd->flags = flags;
    fd->pid = pid;
    fd->inode = inode_ref_by_core (inode);
    fd->keepers = maker->keepers;
    fd->release = maker->release;
    fd->data = maker->data;
    AUDIT (FD, fd, 1);
    return fd;
}

fd_t *
fd_ref (fd_t *fd)
{
    if (!fd)
        return NULL;
    AUDIT (FD, fd, 1);
    __atomic_add_fetch (&fd->refs, 1, __ATOMIC_RELAXED);
    return fd;
}

bool
fd_ref_living (fd_t *fd)
{
    int refs = __atomic_load_n (&fd->refs, __ATOMIC_RELAXED);

    while (refs > 0
           && !__atomic_compare_exchange_n (&fd->refs, &refs, refs + 1, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
        continue;
    if (refs > 0)
        AUDIT (FD, fd, 1);
    return refs > 0;
}

void
fd_adopt (fd_t *fd, inode_t *linked)
{
    inode_t *before = fd->inode;

    if (before == linked)
        return;
    fd->inode = inode_ref_by_core (linked);
    inode_unref_by_core (before);
}

void
fd_unref (fd_t *fd)
{
    if (!fd || AUDIT (FD, fd, -1) || __atomic_sub_fetch (&fd->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (fd->release)
        fd->release (fd, fd->data);
    fd_unref (fd->moved);
    inode_unref_by_core (fd->inode);
    fd->magic = 0;
    g_free (fd);
}

void
fd_move (fd_t *fd, fd_t *to)
{
    fd->moved = fd_ref (to);
    if (fd->release)
        fd->release (fd, fd->data);
    fd->release = NULL;
}

void
fd_shorten (fd_t *fd)
{
    while (fd->moved && fd->moved->moved) {
        fd_t *between = fd->moved;

        fd->moved = fd_ref (between->moved);
        fd_unref (between);
    }
}

void *
fd_ctx_get_at (fd_t *fd, int slot)
{
    g_assert (slot >= 0 && (unsigned) slot < fd->keepers);
    return __atomic_load_n (&fd->ctx[slot], __ATOMIC_ACQUIRE);
}

void
fd_ctx_set_at (fd_t *fd, int slot, void *ctx)
{
    g_assert (slot >= 0 && (unsigned) slot < fd->keepers);
    __atomic_store_n (&fd->ctx[slot], ctx, __ATOMIC_RELEASE);
}

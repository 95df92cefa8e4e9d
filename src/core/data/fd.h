/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An open file or directory. */
#ifndef WINDLASS_CORE_DATA_FD_H
#define WINDLASS_CORE_DATA_FD_H

#include "core/data/inode.h"

#define FD_MAGIC 0x46444553u

/* In the flags of a writev: the offset counts, although the fd was opened to append. What a shared
 * map brings comes so, and what is written after fcntl (F_SETFL) took O_APPEND away. */
#define WRITE_AT_OFFSET (1u << 30)

struct fd {
    uint32_t magic;
    int refs; /* atomic */
    uint32_t flags; /* of open(2); constant once the open was answered */
    pid_t pid;      /* who opened it */
    inode_t *inode; /* with a reference; set by fd_new, or by create and tmpfile before they
                       answer */
    unsigned keepers;
    bool closes_silently; /* a flush would say nothing: storage knows that its file system has
                             nothing to say. Set before the open is answered */
    void (*release) (fd_t *fd, void *data);
    void *data;
    void *ctx[]; /* one per translator that keeps fds; atomic */
};

/* How fds of a graph are made: how many translators keep something with one (xlator.fd_slot is
 * below that), and who is told when the last reference goes. */
struct fd_maker {
    unsigned keepers;
    void (*release) (fd_t *fd, void *data);
    void *data;
};

/* One reference. inode may be NULL for create and tmpfile. */
fd_t *fd_new (const struct fd_maker *maker, inode_t *inode, uint32_t flags, pid_t pid);
fd_t *fd_ref (fd_t *fd);  /* takes NULL */
void fd_unref (fd_t *fd); /* takes NULL */

/* For one who was shown fd and kept no reference: takes one, unless the last one is gone and
 * release is about to be called. The caller sees to it that release isn't over, by a lock that
 * release takes. */
bool fd_ref_living (fd_t *fd);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (fd_t, fd_unref)

/* What is kept with the fd in a slot: xlator.fd_slot. fd_ctx_get and fd_ctx_set of
 * core/edge/translator.h are for translators. */
void *fd_ctx_get_at (fd_t *fd, int slot);
void fd_ctx_set_at (fd_t *fd, int slot, void *ctx);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who locks what, for lock.c and holders.c. */
#ifndef STORAGE_POSIX_LOCK_H
#define STORAGE_POSIX_LOCK_H

#include "posix.h"

struct lock_owner {
    int refs; /* atomic */
    uint64_t owner;
    pid_t pid;
    int fd;
    const struct posix_fd *via; /* what he locked through; posix_locks.lock */
    bool via_several;           /* posix_locks.lock */
};

struct posix_locks {
    pthread_mutex_t lock;
    GHashTable *by_owner; /* uint64_t -> struct lock_owner; lock */
};

/* Bytes from first to last, both among them. */
struct lock_range {
    bool write;
    int64_t first, last;
};

/* --- holders.c: who is in the way, as the kernel's own lists have it, so that no file system is asked: it may be the one that is stuck --- */

/* Appends who holds a record lock that is in the way of that owner's. */
void posix_locks_tell (struct posix_inode *pi, const struct lock_range *wanted, uint64_t owner, GString *out);
/* The same of flock. */
void posix_flock_tell (const struct posix_inode *pi, GString *out);

#endif

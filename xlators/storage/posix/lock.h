/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who locks what, for lock.c, holders.c and deadlock.c. */
#ifndef STORAGE_POSIX_LOCK_H
#define STORAGE_POSIX_LOCK_H

#include "posix.h"

/* A process, or an open file description; the kernel tells no difference. */
struct lock_owner {
    int refs; /* atomic */
    uint64_t id;
    pid_t pid; /* of the process that locked first */
    uint64_t number; /* in the order in which owners came; posix_locks.lock */
    int fd;
    bool was_granted;           /* a lock, at any time. Atomic */
    GHashTable *via;            /* the open files that it locked through; posix_locks.lock */
};

struct posix_locks {
    pthread_mutex_t lock;
    GHashTable *by_owner; /* uint64_t -> struct lock_owner; lock */
    uint64_t n_owners;    /* that there ever were; lock */
};

/* Bytes from first to last, both among them. */
struct lock_range {
    bool write;
    int64_t first, last;
};

struct lock_wait {
    fd_t *fd;
    struct posix_inode *pi;   /* of fd */
    struct lock_owner *owner; /* of lk, as are the next two */
    struct gf_flock lock;
    struct lock_range range;
    int real, operation; /* of flock */
};

/* --- deadlock.c --- */

/* Before wait begins: -EDEADLK if it would close a circle, else it is listed, and has to be removed
 * when it ends. */
int posix_wanted_add (struct posix_wanted *wanted, struct lock_wait *wait);
void posix_wanted_remove (struct posix_wanted *wanted, struct lock_wait *wait);

/* --- holders.c: which process is in the way. The kernel's own lists say it: the file system may be
 * the one that is stuck --- */

/* The process that holds exactly this lock, of several the first that came; -1: none does any
 * more. */
pid_t posix_lock_process (struct posix_locks *locks, struct lock_range held);
/* Does the owner with that id hold a record lock of the file that is in the way? */
bool
posix_locks_held_against (struct posix_inode *pi, uint64_t id, const struct lock_range *wanted);
/* Appends which process holds a record lock that is in the way of the owner with that id. */
void posix_locks_tell (struct posix_inode *pi, const struct lock_range *wanted, uint64_t id,
                       GString *out);
/* The same of flock. */
void posix_flock_tell (const struct posix_inode *pi, GString *out);

#endif

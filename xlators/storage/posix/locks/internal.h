/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Owners of locks, for lock.c, holders.c and deadlock.c. */
#ifndef STORAGE_POSIX_LOCKS_INTERNAL_H
#define STORAGE_POSIX_LOCKS_INTERNAL_H

#include "../posix.h"

/* A process or an open file description; the kernel does not tell the difference. */
struct lock_owner {
    int refs; /* atomic */
    uint64_t id;
    pid_t pid; /* of the process that took the first lock */
    uint64_t number; /* in order of creation; posix_locks.lock */
    int fd;
    bool was_granted;           /* was ever granted a lock. Atomic */
    GHashTable *via;            /* the open files through which it locked; posix_locks.lock */
};

struct posix_locks {
    pthread_mutex_t lock;
    GHashTable *by_owner; /* uint64_t -> struct lock_owner; lock */
    uint64_t n_owners;    /* number of owners created so far; lock */
};

/* Bytes from first to last, inclusive. */
struct lock_range {
    bool write;
    int64_t first, last;
};

struct lock_wait {
    fd_t *fd;
    struct posix_inode *pi;   /* of fd */
    struct lock_owner *owner; /* for lk, like the two fields below */
    struct gf_flock lock;
    struct lock_range range;
    int real, operation; /* for flock */
};

/* --- deadlock.c --- */

/* Before a wait begins. Returns -EDEADLK if it would close a circle. Otherwise lists the wait, and
 * the caller removes it when it ends. */
int posix_wanted_add (struct posix_wanted *wanted, struct lock_wait *wait);
void posix_wanted_remove (struct posix_wanted *wanted, struct lock_wait *wait);

/* --- holders.c: which process holds a conflicting lock, by the kernel's own lists: the file system
 * may be stuck --- */

/* The process that holds exactly this lock, the first owner if there are several; -1: none does any
 * more. */
pid_t posix_lock_process (struct posix_locks *locks, struct lock_range held);
/* Returns true if the owner with that id holds a record lock of the file that conflicts with
 * wanted. */
bool
posix_locks_held_against (struct posix_inode *pi, uint64_t id, const struct lock_range *wanted);
/* Appends which process holds a record lock that conflicts with the owner's wanted range. */
void posix_locks_tell (struct posix_inode *pi, const struct lock_range *wanted, uint64_t id,
                       GString *out);
/* The same for flock. */
void posix_flock_tell (const struct posix_inode *pi, GString *out);

#endif

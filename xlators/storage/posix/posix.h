/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * storage/posix: the bottom of a graph. Each operation becomes system calls on `directory`.
 *
 *   inode_t --ctx--> posix_inode { identity, handle, descriptor }
 *                        |                              |
 *                        +--locks--> owners             +-- cache.ring: at most `limit` open ones
 *   fd_t ----ctx--> posix_fd { a real descriptor; for a directory also entries read ahead }
 *
 * The descriptor of an inode is O_PATH and may be closed for a while. A posix_fd has none where
 * descriptors run short.
 *
 * Locks, in order: posix_fd.lock; waiters.lock; wanted.lock; posix_locks.lock; cache.lock;
 * reserve.lock, descriptors.lock, numbers.lock and watch.lock are leaves.
 *
 * Reasons (files/descriptors.c, files/identity.c, files/number.c, locks/lock.c and watch/internal.h
 * have theirs at their heads):
 *
 * - The table of descriptors gets its size when storage starts. The kernel doubles it as it fills
 *   up, and waits for all processors when there are threads: a cold stat of 5,000 files then takes
 *   25 us each in place of 15.6.
 * - lookup opens the named object (O_PATH) and queries the descriptor. Asking for handle and
 *   attributes by name is 0.7 us shorter, but a rename in between would give a file the attributes
 *   of another one. It answers no postparent (GlusterFS does): the directory has not changed.
 * - A gfid is the file handle itself if that fits in 96 bits, else a SHA-256 of it: no table and no
 *   extended attribute is needed.
 * - reserve is 0 (1 % in GlusterFS) and max-hardlinks 0, which is no limit (100): it is the user's
 *   own directory. There is no health check: it would write into the directory.
 * - Users are switched with the bare system calls setfsuid, setfsgid and setgroups; those of the C
 *   library change all threads. A thread that serves the same caller again makes no such call.
 * - The position of a directory is set before each getdents64. Its offsets mean the same in another
 *   description, or NFS could not serve it.
 */
#ifndef STORAGE_POSIX_H
#define STORAGE_POSIX_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POSIX_INODE_MAGIC 0x70696e6fu
#define POSIX_FD_MAGIC 0x70666473u
#define POSIX_HANDLE_MAX 128 /* MAX_HANDLE_SZ of the kernel */
#define POSIX_GFID_XATTR "trusted.gfid"

enum posix_gfid_mode { GFID_DERIVED, GFID_XATTR };
enum posix_handles { HANDLES_AUTO, HANDLES_FILE_HANDLE, HANDLES_DESCRIPTOR };
enum posix_watching { WATCH_OFF, WATCH_AUTO, WATCH_FILESYSTEM, WATCH_INODES };

struct posix_locks;
struct posix_watch;

/* The context of an inode. The identity is constant. */
struct posix_inode {
    uint32_t magic;
    int state; /* atomic: number of users of fd, or POSIX_CLOSED; opened and closed under
                  cache.lock */
    int fd;                 /* O_PATH; valid while state is not POSIX_CLOSED */
    int place;              /* in cache.ring, or -1; cache.lock */
    int handle_type;
    uint8_t used;           /* atomic; recently used, for eviction */
    uint8_t ia_type;
    uint8_t handle_size;    /* 0: the file system has no handles */
    bool by_handle : 1;     /* can be opened again by its handle */
    bool kept;              /* its descriptor stays until forget; cache.lock */
    bool nameless;          /* it may have lost its last name; if an open file keeps it, that file's
                               descriptor is handed to it; atomic, set under cache.lock */
    uint16_t moves;         /* file_system_moves (fs) when fd was opened; cache.lock to change */
    const struct file_system *fs;
    uint64_t ino;
    gfid_t gfid;
    struct posix_locks *locks; /* atomic; NULL until there is one */
    struct posix_fd *open;     /* its open files and directories; cache.lock */
    unsigned char handle[];
};

#define POSIX_CLOSED (-1)

/* The identity of an inode. */
struct posix_ident {
    const struct file_system *fs;
    uint64_t ino;
    int handle_type;
    unsigned handle_size;
    bool by_handle;
    ia_type_t ia_type;
    gfid_t gfid;
    unsigned char handle[POSIX_HANDLE_MAX];
};

/* The descriptor of an inode, pinned: it is not closed before posix_unpin. */
typedef struct posix_pin {
    struct posix_inode *pi;
    int fd;
} posix_pin_t;

struct posix_cache {
    pthread_mutex_t lock;
    GPtrArray *ring; /* struct posix_inode; lock */
    unsigned hand;   /* lock */
    unsigned limit;
    int most;        /* descriptor numbers from here on are too many. Constant */
    uint64_t hits, misses; /* atomic */
    struct posix_watch *watch; /* watches inodes while their descriptors are open, or NULL.
                                  Constant */
};

/* The limit of descriptors, and the open files without one: descriptors.c. */
struct posix_descriptors {
    int limit;       /* of the process; constant, like many */
    int many;        /* a descriptor with this number or above shows that they run short. G_MAXINT:
                        open files always keep theirs */
    unsigned files;  /* number of open files without a descriptor; atomic */
    uint64_t opened; /* how often a descriptor was opened for a single request; atomic */
    bool said_many, said_full; /* atomic */
    int64_t in_vain; /* clock_now when a request last gave up waiting for a descriptor; atomic */
    pthread_mutex_t lock;
    pthread_cond_t closed;     /* signalled when a descriptor was closed; lock */
    unsigned waiting;          /* number of requests that wait for that; atomic */
};

/* The threads that wait for a lock. */
struct posix_waiters {
    pthread_mutex_t lock;
    pthread_cond_t none;
    GList *list;     /* struct posix_waiter; lock */
    unsigned count;  /* lock */
    bool down;       /* waiting is not allowed any more; lock */
};

/* The waits for record locks, in which deadlock.c looks for circles. */
struct posix_wanted {
    pthread_mutex_t lock;
    GPtrArray *list; /* struct lock_wait; lock */
};

struct posix_reserve {
    pthread_mutex_t lock;
    struct option_share share; /* lock, once running */
    int64_t checked;           /* clock_now; lock */
    bool full;                 /* lock */
};

typedef struct posix_private {
    /* options */
    char *directory;
    bool export_statfs_size, o_direct;
    int64_t brick_uid, brick_gid;
    struct option_share reserve_option;
    int force_create_mode, force_directory_mode; /* atomic, like the three fields below */
    int create_mask, create_directory_mask;
    int64_t max_hardlinks;
    int gfid_mode;
    int handles;
    int64_t descriptor_cache;
    int watch_mode;

    const struct root *where; /* of `directory`, as the graph has opened it */
    struct posix_inode *root; /* of `directory`; its descriptor is never closed */
    int mount_fd;             /* for open_by_handle_at; -1: not allowed */
    int mount_id;             /* of the mount that contains `directory` */
    bool steps_inside;        /* openat2 may be used, which can stay on a mount */
    bool has_handles;         /* the file system supports file handles */
    bool by_handle;           /* and the daemon may open them */
    bool closes_silently;     /* closing a file of root's file system reports no error */
    bool acts_as_caller;      /* the daemon is root and acts as the caller */
    bool dumps_core;          /* the daemon dumps core, and has to stay able to after a change of
                                 identity */
    bool has_reserve;         /* atomic */
    bool said_no_handles;     /* atomic */
    bool ready;               /* init has initialised the locks */
    struct posix_cache cache;
    struct posix_descriptors descriptors;
    struct posix_waiters waiters;
    struct posix_wanted wanted;
    struct posix_reserve reserve;
    struct number_slots numbers; /* of other file systems below the directory */
    struct posix_watch *watch; /* NULL: off. Constant */
} posix_private_t;

/* The context of an open file or directory. */
struct posix_fd {
    uint32_t magic;
    int fd;          /* -1: none of its own. Once there is one it stays until release; atomic */
    uint32_t flags;
    int again;       /* without one: the flags with which a request opens it. Constant */
    int late;        /* the error of closing such a descriptor, for the next flush; atomic */
    bool left;       /* the inode has fd too, and will close it; cache.lock */
    bool wanders;    /* it was without one: the next description may be at another directory
                        position. Constant */
    gfid_t gfid;
    struct posix_fd *next_open; /* of pi; cache.lock */
    struct posix_inode *pi;     /* the inode whose list of open files contains this, or NULL */
    /* for a directory */
    pthread_mutex_t lock;
    char *buf;         /* the result of getdents64; lock */
    size_t used, next; /* bytes in buf, and the position in it; lock */
    off_t at;          /* the offset of buf + next; lock */
};

/* A descriptor of an open file for one operation: between posix_use_begin and posix_use_end. */
typedef struct posix_use {
    struct posix_fd *pfd;
    int fd;
    struct posix_descriptors *brief; /* NULL: the descriptor is the file's own */
} posix_use_t;

/* Attributes before and after an operation, if a translator above wants them, or if the change gets
 * the time of the request. */
struct posix_change {
    bool wanted;
    const struct timespec *stamp; /* of the request, or NULL */
    struct iatt pre, post;
};

/* The object of a name. The reference and the pin are held until the answer has been processed, and
 * the name is known by then: without a name, an inode without a file handle could not be opened
 * again. */
typedef struct posix_found {
    inode_t *inode;
    struct posix_pin pin;
    struct iatt buf;
} posix_found_t;

/* "/proc/self/fd/N": an object by its descriptor, for calls that take a path. It leads to the
 * object itself, also if that is a symbolic link. */
struct posix_path {
    char text[32];
};

/* op_ret, op_errno of an answer with the result r_. */
#define POSIX_RET(r_) ((r_) < 0 ? -1 : (int32_t) (r_)), ((r_) < 0 ? (int32_t) - (r_) : 0)

/* --- posix.c -------------------------------------------------------------------------------- */

static inline posix_private_t *
posix_priv (const xlator_t *this)
{
    return this->private;
}

static inline int
posix_result (int64_t ret)
{
    return ret < 0 ? -errno : 0;
}

/* --- init.c --------------------------------------------------------------------------------- */

int posix_init (xlator_t *this);
void posix_fini (xlator_t *this);

/* --- reserve.c ------------------------------------------------------------------------------ */

/* Returns 0, or -ENOSPC if less than the reserve is free. */
int posix_reserve_check (xlator_t *this);
void posix_reserve_set (posix_private_t *priv, struct option_share share);

#include "ops/ops.h"
#include "files/files.h"
#include "locks/locks.h"
#include "watch/watch.h"

#endif

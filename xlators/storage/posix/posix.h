/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * storage/posix: the bottom of a graph. Each operation becomes system calls on `directory`.
 *
 *   inode_t --ctx--> posix_inode { identity, handle, descriptor }
 *                        |                              |
 *                        +--locks--> owners             +-- cache.ring: at most `limit` open ones
 *   fd_t ----ctx--> posix_fd { a real descriptor; of a directory what was read ahead }
 *
 * The descriptor of an inode is O_PATH and may be closed for a while. A posix_fd has none where
 * descriptors run short.
 *
 * Locks, in order: posix_fd.lock; waiters.lock; wanted.lock; posix_locks.lock; cache.lock;
 * reserve.lock, descriptors.lock and watch.lock are leaves.
 *
 * Reasons (descriptors.c, lock.c, watch.h and identity.c have theirs at their heads):
 *
 * - The table of descriptors gets its size when storage starts. The kernel doubles it as it fills
 *   up, and waits for all processors when there are threads: a cold stat of 5,000 files then takes
 *   25 us each in place of 15.6.
 * - lookup opens what a name stands for (O_PATH) and asks the descriptor. Asking for handle and
 *   attributes by name is 0.7 us shorter, but a rename in between would give a file the attributes
 *   of another one.
 * - A gfid is the file handle itself where that fits in 96 bits, else a SHA-256 of it: no table and
 *   no extended attribute is needed.
 * - reserve is 0 (1 % in GlusterFS) and max-hardlinks 0, which is no limit (100): it is the user's
 *   own directory. There is no health check: it would write into the directory.
 * - Users are switched with the bare system calls setfsuid, setfsgid and setgroups; those of the C
 *   library change all threads. A thread that serves the same caller again makes none.
 * - The place of a directory is set before each getdents64. Its offsets mean the same in another
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

struct posix_locks;
struct posix_watch;

/* What we keep with an inode. The identity is constant. */
struct posix_inode {
    uint32_t magic;
    int state; /* atomic: how many use fd, or POSIX_CLOSED; goes there and back under cache.lock */
    int fd;                 /* O_PATH; valid while state is not POSIX_CLOSED */
    int place;              /* in cache.ring, or -1; cache.lock */
    int handle_type;
    uint8_t used;           /* atomic; a hint for the clock */
    uint8_t ia_type;
    uint8_t handle_size;    /* 0: the file system has none */
    bool by_handle : 1;     /* it may be opened again by its handle */
    bool kept;              /* its descriptor stays until forget; cache.lock */
    bool nameless;          /* it may have lost its last name; an open file keeps it, whose
                               descriptor is left to it; atomic, set under cache.lock */
    uint64_t dev, ino;
    gfid_t gfid;
    struct posix_locks *locks; /* atomic; NULL until there is one */
    struct posix_fd *open;     /* its open files and directories; cache.lock */
    unsigned char handle[];
};

#define POSIX_CLOSED (-1)

/* What tells an inode from every other. */
struct posix_ident {
    uint64_t dev, ino;
    int handle_type;
    unsigned handle_size;
    bool by_handle;
    ia_type_t ia_type;
    gfid_t gfid;
    unsigned char handle[POSIX_HANDLE_MAX];
};

/* The descriptor of an inode, in use: it isn't closed before posix_unpin. */
typedef struct posix_pin {
    struct posix_inode *pi;
    int fd;
} posix_pin_t;

struct posix_cache {
    pthread_mutex_t lock;
    GPtrArray *ring; /* struct posix_inode; lock */
    unsigned hand;   /* lock */
    unsigned limit;
    int most;        /* a descriptor with that number is one too many. Constant */
    uint64_t hits, misses; /* atomic */
    struct posix_watch *watch; /* that watches inodes while their descriptors are open, or NULL.
                                  Constant */
};

/* How many descriptors the process may have, and who has none: descriptors.c. */
struct posix_descriptors {
    int limit;       /* of the process; constant, as is the next one */
    int many;        /* a descriptor with that number says that they run short. G_MAXINT: open files
                        keep theirs in any case */
    unsigned files;  /* open files that have none; atomic */
    uint64_t opened; /* how often one was opened for a request; atomic */
    bool said_many, said_full; /* atomic */
    int64_t in_vain; /* clock_now of when a request gave up waiting for one; atomic */
    pthread_mutex_t lock;
    pthread_cond_t closed;     /* one was; lock */
    unsigned waiting;          /* who waits for that; atomic */
};

/* Those who wait for a lock. */
struct posix_waiters {
    pthread_mutex_t lock;
    pthread_cond_t none;
    GList *list;     /* struct posix_waiter; lock */
    unsigned count;  /* lock */
    bool down;       /* nobody may wait any more; lock */
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
    int force_create_mode, force_directory_mode; /* atomic, as are the next three */
    int create_mask, create_directory_mask;
    int64_t max_hardlinks;
    int gfid_mode;
    int handles;
    int64_t descriptor_cache;
    int watch_mode;

    struct posix_inode *root; /* of `directory`; its descriptor is never closed */
    int mount_fd;             /* for open_by_handle_at; -1: not allowed */
    int mount_id;             /* of the mount it is in */
    bool has_handles;         /* the file system gives file handles */
    bool by_handle;           /* and we may open them */
    bool acts_as_caller;      /* the daemon is root */
    bool dumps_core;          /* and is to go on doing so when it acts as others */
    bool has_reserve;         /* atomic */
    bool ready;               /* init got as far as the locks */
    struct posix_cache cache;
    struct posix_descriptors descriptors;
    struct posix_waiters waiters;
    struct posix_wanted wanted;
    struct posix_reserve reserve;
    struct posix_watch *watch; /* NULL: off. Constant */
} posix_private_t;

/* What we keep with an open file or directory. */
struct posix_fd {
    uint32_t magic;
    int fd;          /* -1: none that lasts. Once there is one it stays until release; atomic */
    uint32_t flags;
    int again;       /* without one: with which flags a request opens it. Constant */
    int late;        /* what closing one of these failed with, for the next flush; atomic */
    bool left;       /* the inode has fd too, and closes it; cache.lock */
    bool wanders;    /* it was without one: the next may stand elsewhere in a directory. Constant */
    gfid_t gfid;
    struct posix_fd *next_open; /* of pi; cache.lock */
    struct posix_inode *pi;     /* in whose list of open files this is, or NULL */
    /* of a directory */
    pthread_mutex_t lock;
    char *buf;         /* what getdents64 gave; lock */
    size_t used, next; /* bytes in buf, and where to go on; lock */
    off_t at;          /* the offset of buf + next; lock */
};

/* A descriptor of an open file, for as long as an operation takes: between posix_use_begin and
 * posix_use_end. */
typedef struct posix_use {
    struct posix_fd *pfd;
    int fd;
    struct posix_descriptors *brief; /* NULL: it is the file's own */
} posix_use_t;

/* Attributes before and after an operation, if somebody above wants them, or what changed gets the
 * time of the request. */
struct posix_change {
    bool wanted;
    const struct timespec *stamp; /* of the request, or NULL */
    struct iatt pre, post;
};

/* What a name stands for. The reference and the pin are held until the answer was taken, so that
 * the name is known by then: before, an inode without a file handle could not be opened again. */
typedef struct posix_found {
    inode_t *inode;
    struct posix_pin pin;
    struct iatt buf;
} posix_found_t;

/* "/proc/self/fd/N": an object by its descriptor, for calls that want a path. It leads to the
 * object itself, also when that is a symbolic link. */
struct posix_path {
    char text[32];
};

/* op_ret, op_errno of an answer whose result is r_. */
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

struct posix_path posix_path_of (int fd);

/* --- init.c --------------------------------------------------------------------------------- */

int posix_init (xlator_t *this);
void posix_fini (xlator_t *this);

/* --- reserve.c ------------------------------------------------------------------------------ */

/* 0, or -ENOSPC when less than the reserve is free. */
int posix_reserve_check (xlator_t *this);
void posix_reserve_set (posix_private_t *priv, struct option_share share);

/* --- cache.c -------------------------------------------------------------------------------- */

void posix_cache_init (struct posix_cache *cache, unsigned limit);
void posix_cache_destroy (struct posix_cache *cache);

/* One more use of pi's descriptor, if it is open. */
bool posix_cache_pin (struct posix_inode *pi);
void posix_cache_unpin (struct posix_inode *pi);

/* fd becomes pi's, unless it has one: then fd is closed. Either way it is pinned. */
void posix_cache_insert (struct posix_cache *cache, struct posix_inode *pi, int fd);

/* The descriptor stays until forget. The caller has it pinned. */
void posix_cache_keep (struct posix_cache *cache, struct posix_inode *pi);

/* The same for an inode that may have lost its last name. Where one of its open files has a
 * descriptor, that one keeps the inode until it is released, and the inode needs none; else the
 * caller has it pinned. */
void posix_cache_keep_nameless (struct posix_cache *cache, struct posix_inode *pi);
void posix_cache_forget (struct posix_cache *cache, struct posix_inode *pi);

/* pfd is one of pi's open files from now on. */
void posix_cache_opened (struct posix_cache *cache, struct posix_inode *pi, struct posix_fd *pfd);

/* pfd is none any more. true: its descriptor is left to the inode, which has no name and lives by
 * it. */
bool posix_cache_released (struct posix_cache *cache, struct posix_fd *pfd);

/* Pins a nameless inode by the descriptor of one of its open files, which both of them have from
 * then on. false: there is none. */
bool posix_cache_borrow (struct posix_cache *cache, struct posix_inode *pi);

/* A copy of a descriptor of one of pi's open files. -ENOENT when none has one. */
int posix_cache_copy_open (struct posix_cache *cache, struct posix_inode *pi);

/* Which open files pi has. */
/* none; some, all without a descriptor; one at least that has its own */
enum posix_holders { HOLDERS_NONE, HOLDERS_BRIEF, HOLDERS_OWN };
enum posix_holders posix_cache_holders (struct posix_cache *cache, const struct posix_inode *pi);

/* Closes at most n that nobody uses; how many. */
unsigned posix_cache_evict (struct posix_cache *cache, unsigned n);

/* The same while there are many, so that open files get theirs. */
void posix_cache_shrink (struct posix_cache *cache, unsigned n);

/* --- handle.c ------------------------------------------------------------------------------- */

/* openat, which closes other descriptors when there are too many. A descriptor or a negative
 * errno. */
int posix_openat (xlator_t *this, int dirfd, const char *name, int flags, mode_t mode);

/* Opens pi by its handle, as the daemon. A descriptor or a negative errno. _once closes no others
 * if there are too many. */
int posix_handle_open (xlator_t *this, const struct posix_inode *pi, int flags);
int posix_handle_open_once (xlator_t *this, const struct posix_inode *pi, int flags);

/* May files be opened by handle? 0, or a negative errno. */
int posix_handle_probe (int mount_fd, const struct posix_ident *ident);

struct posix_inode *posix_inode_new (const struct posix_ident *ident);
struct posix_inode *posix_inode_get (xlator_t *this, inode_t *inode);

/* May switch to root: call posix_act_as after it. */
int posix_pin (xlator_t *this, inode_t *inode, struct posix_pin *ret_pin);
void posix_unpin (struct posix_pin *pin);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_pin_t, posix_unpin)

/* Takes over fd (O_PATH) of what ident tells: finds the inode that is known already, or uses given,
 * if it is new, or makes one. posix_adopt_closed only looks at fd: the inode's own is opened when
 * needed. */
int posix_adopt (xlator_t *this, struct itable *table, inode_t *given, int fd,
                 struct posix_ident *ident, struct posix_found *found);
int posix_adopt_closed (xlator_t *this, struct itable *table, inode_t *given, int fd,
                        struct posix_ident *ident, struct posix_found *found);
void posix_found_clear (struct posix_found *found);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_found_t, posix_found_clear)
void posix_forget (xlator_t *this, inode_t *inode);

/* --- identity.c ----------------------------------------------------------------------------- */

int posix_iatt (int fd, const gfid_t *gfid, struct iatt *ret_buf);
int posix_identify (xlator_t *this, int fd, struct posix_ident *ret_ident, struct iatt *ret_buf);
bool posix_is (const struct posix_inode *pi, const struct posix_ident *ident);

/* Gives what fd is another stored gfid: the one it has belongs to somebody else. */
int posix_gfid_renew (xlator_t *this, int fd, struct posix_ident *ident);

/* Handle and mount of fd's object; a size of 0 where there is none. */
int posix_handle_of (int fd, struct posix_ident *ident, int *ret_mount_id);

/* --- content.c ------------------------------------------------------------------------------ */

/* In lookup's xdata how large a file may be; in its answer's what is in it */
#define POSIX_CONTENT_KEY "glusterfs.content"

/* The answer's xdata for a lookup that asks for what is in the file, or NULL. */
dict_t *posix_content (call_frame_t *frame, xlator_t *this, const struct posix_found *found,
                       const dict_t *xdata);

/* --- creds.c -------------------------------------------------------------------------------- */

/* This thread acts as the caller from now on. */
int posix_act_as (const posix_private_t *priv, call_frame_t *frame);

/* The same without the groups, which open files don't ask for. */
int posix_act_as_owner (const posix_private_t *priv, const call_frame_t *frame);
void posix_act_as_root (const posix_private_t *priv);
bool posix_may_act (void);
bool posix_may_open_all (void);

/* As root for a moment, and then again as whoever it was. */
struct posix_caller {
    uid_t uid;
    gid_t gid;
};
struct posix_caller posix_caller_leave (const posix_private_t *priv);
void posix_caller_return (const posix_private_t *priv, struct posix_caller caller);

/* --- attr.c --------------------------------------------------------------------------------- */

/* frame NULL: it is no change. */
void posix_before (const call_frame_t *frame, xlator_t *this, unsigned wants, int fd,
                   const gfid_t *gfid, struct posix_change *change);
void posix_after (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change);

/* As utimensat, on a descriptor of any kind; times[0] is atime. */
int posix_set_times (int fd, const struct timespec times[2]);

/* What to answer: NULL after a failure or when nobody wants it. */
struct iatt *posix_pre (struct posix_change *change, int64_t r);
struct iatt *posix_post (struct posix_change *change, int64_t r);

/* --- stamp.c -------------------------------------------------------------------------------- */

/* The time of the request, if what it changes gets that; or NULL. */
const struct timespec *posix_stamp_of (const call_frame_t *frame);

/* An operation that has a stamp is done: what it moved on gets that. As root from then on. */
void posix_stamp_change (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change);

/* What is new gets it, and buf with it. The same. */
void posix_stamp_new (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf);

/* It was opened with O_TRUNC. buf may be NULL. The same. */
void posix_stamp_cut_off (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf);

/* "now" was set, as the caller, who needn't be the owner: it becomes the stamp. valid as of
 * setattr. The same. */
int posix_stamp_now (const call_frame_t *frame, xlator_t *this, int fd, uint32_t valid);

/* --- entry-ops.c ---------------------------------------------------------------------------- */

int posix_check_name (const char *name);

/* Checks loc's name, pins its parent, looks at it if somebody above wants that, and acts as the
 * caller. Unpin before the answer: from then on nobody keeps the parent alive. */
int posix_dir_begin (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                     struct posix_pin *ret_pin, struct posix_change *change);
void posix_dir_after (xlator_t *this, const struct posix_pin *pin, struct posix_change *change);

/* The mode and, in *umask, the umask with which to make a file or directory, as options have it. */
mode_t posix_create_mode (const posix_private_t *priv, mode_t mode, bool directory, mode_t *umask);

/* --- fd-ops.c ------------------------------------------------------------------------------- */

struct posix_fd *posix_fd_get (xlator_t *this, fd_t *fd);


/* fd was opened as real, which is taken over and may be closed by it. */
void posix_fd_set (xlator_t *this, fd_t *fd, int real, uint32_t flags, const gfid_t *gfid,
                   struct posix_inode *pi);
void posix_release (xlator_t *this, fd_t *fd);

/* --- descriptors.c -------------------------------------------------------------------------- */

void posix_descriptors_init (struct posix_descriptors *all);
void posix_descriptors_limit (posix_private_t *priv); /* when it is known what the daemon may do */
void posix_descriptors_destroy (struct posix_descriptors *all);
void posix_descriptors_dump (const posix_private_t *priv, GString *out);
void posix_descriptors_explain (const posix_private_t *priv, GString *out);

/* After an open that failed with error, attempt counting from 0: is it worth to try again? May wait
 * for a moment. */
bool posix_make_room (xlator_t *this, int error, int attempt);

/* What to answer then, as a negative errno. */
int posix_open_failed (xlator_t *this, int error);
/* May it stay for long, such as that of a lock? The last eighth of all is for requests. */
bool posix_descriptor_may_last (const posix_private_t *priv, int fd);

/* pfd, which no other thread knows yet, is one of pi's, and descriptors run short. If its own can
 * be had again, it is closed, and pfd is among pi's open files; else false. */
bool posix_brief_begin (xlator_t *this, struct posix_inode *pi, struct posix_fd *pfd);
void posix_brief_end (posix_private_t *priv, const struct posix_fd *pfd); /* it is released */

int posix_use_brief (xlator_t *this, fd_t *fd, struct posix_use *use);
void posix_use_close (struct posix_use *use);

/* The descriptor that fd has until it is released; it gets one if need be. */
int posix_fd_own (xlator_t *this, fd_t *fd);

/* The same, or -1 if it has none. pfd may be NULL. */
static inline int
posix_fd_lasting (const struct posix_fd *pfd)
{
    return pfd ? __atomic_load_n (&pfd->fd, __ATOMIC_RELAXED) : -1;
}

/* 0, -EBADF, or why there is no descriptor. May switch to root: call posix_act_as after it. */
static inline int
posix_use_begin (xlator_t *this, fd_t *fd, struct posix_use *use)
{
    struct posix_fd *pfd = posix_fd_get (this, fd);

    if (G_UNLIKELY (!pfd))
        return -EBADF;
    *use = (struct posix_use){ .pfd = pfd, .fd = posix_fd_lasting (pfd) };
    return G_LIKELY (use->fd >= 0) ? 0 : posix_use_brief (this, fd, use);
}

/* Before the answer: from then on nobody keeps the file open. Takes one that wasn't begun ({ 0
 * }). */
static inline void
posix_use_end (struct posix_use *use)
{
    if (G_UNLIKELY (use->brief != NULL))
        posix_use_close (use);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_use_t, posix_use_end)

/* --- lookup.c ------------------------------------------------------------------------------- */

/* What name in the directory dirfd stands for. given is the inode known so far, or NULL. */
int posix_look (xlator_t *this, int dirfd, const char *name, struct itable *table, inode_t *given,
                struct posix_found *found);

/* --- lock.c --------------------------------------------------------------------------------- */

/* The caller closed the file: his locks go. */
void posix_locks_drop (struct posix_inode *pi, uint64_t owner);
/* It is closed for good: so go what was locked through it alone. */
void posix_locks_drop_via (struct posix_inode *pi, const struct posix_fd *pfd);
void posix_locks_free (struct posix_locks *locks); /* takes NULL */
void posix_wanted_init (struct posix_wanted *wanted);
void posix_wanted_destroy (struct posix_wanted *wanted);

/* --- wait.c --------------------------------------------------------------------------------- */

/* Waits in a thread of its own until wait (data) is 0 or an error other than EINTR, or the request
 * is interrupted, then calls answer (frame, data, result), which answers. On failure it is still to
 * be answered. tell says for reports what is waited for, on any thread, under a lock. */
int posix_wait (call_frame_t *frame, int (*wait) (void *data),
                void (*tell) (const void *data, GString *out),
                void (*answer) (call_frame_t *frame, void *data, int r), void *data);
/* What the wait of that frame is for, if there is one: dumpops.waits_for. */
void posix_waits_for (xlator_t *this, const call_frame_t *frame, GString *out);
void posix_waiters_init (struct posix_waiters *waiters);
void posix_waiters_down (struct posix_waiters *waiters);
void posix_waiters_destroy (struct posix_waiters *waiters);

/* --- watch.c, watch-marks.c: watch.h ---------------------------------------------------------- */

/* By option `watch`: sets priv->watch, or leaves it NULL. 0, or a negative errno after a log. */
int posix_watch_init (xlator_t *this);
void posix_watch_start (struct posix_watch *watch);
void posix_watch_stop (struct posix_watch *watch); /* nothing is told after it */
void posix_watch_free (struct posix_watch *watch);
void posix_watch_ring (struct posix_watch *watch);
void posix_watch_dump (const posix_private_t *priv, GString *out);
void posix_watch_explain (const posix_private_t *priv, GString *out);

/* From now on changes of the inode, of which fd is a descriptor, are told; no more of one that
 * goes. What was read of it before may be older. */
void
posix_watch_know (struct posix_watch *watch, struct itable *table, struct posix_inode *pi, int fd);
void posix_watch_forget (struct posix_watch *watch, struct posix_inode *pi);

/* Its descriptor was opened, or is about to be closed; tell: while somebody may remember things of
 * it. Under cache.lock. */
void posix_watch_mark (struct posix_watch *watch, const struct posix_inode *pi, int fd);
void
posix_watch_unmark (struct posix_watch *watch, const struct posix_inode *pi, int fd, bool tell);

void posix_watch_table (struct posix_watch *watch, struct itable *table);

/* --- the operations, by file ----------------------------------------------------------------- */

lookup_fop posix_lookup;

stat_fop posix_stat;
fstat_fop posix_fstat;
setattr_fop posix_setattr;
fsetattr_fop posix_fsetattr;

readlink_fop posix_readlink;
truncate_fop posix_truncate;
access_fop posix_access;
statfs_fop posix_statfs;

mknod_fop posix_mknod;
mkdir_fop posix_mkdir;
symlink_fop posix_symlink;
link_fop posix_link;
unlink_fop posix_unlink;
rmdir_fop posix_rmdir;
rename_fop posix_rename;

open_fop posix_open;
create_fop posix_create;
tmpfile_fop posix_tmpfile;
opendir_fop posix_opendir;
flush_fop posix_flush;
fsync_fop posix_fsync;
fsyncdir_fop posix_fsyncdir;

readv_fop posix_readv;
writev_fop posix_writev;
copy_file_range_fop posix_copy_file_range;
seek_fop posix_seek;
poll_fop posix_poll;

ftruncate_fop posix_ftruncate;
fallocate_fop posix_allocate; /* the C library has a posix_fallocate */
discard_fop posix_discard;
zerofill_fop posix_zerofill;

readdir_fop posix_readdir;
readdirp_fop posix_readdirp;

setxattr_fop posix_setxattr;
getxattr_fop posix_getxattr;
removexattr_fop posix_removexattr;
fsetxattr_fop posix_fsetxattr;
fgetxattr_fop posix_fgetxattr;
fremovexattr_fop posix_fremovexattr;

lk_fop posix_lk;
flock_fop posix_flock;

ioctl_fop posix_ioctl;

#endif

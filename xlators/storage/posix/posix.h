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
 * reserve.lock, descriptors.lock and watch.lock are leaves.
 *
 * Reasons (descriptors.c, lock.c, watch.h and identity.c have theirs at their heads):
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
    uint64_t dev, ino;
    gfid_t gfid;
    struct posix_locks *locks; /* atomic; NULL until there is one */
    struct posix_fd *open;     /* its open files and directories; cache.lock */
    unsigned char handle[];
};

#define POSIX_CLOSED (-1)

/* The identity of an inode. */
struct posix_ident {
    uint64_t dev, ino;
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

    struct posix_inode *root; /* of `directory`; its descriptor is never closed */
    int mount_fd;             /* for open_by_handle_at; -1: not allowed */
    int mount_id;             /* of the mount that contains `directory` */
    bool has_handles;         /* the file system supports file handles */
    bool by_handle;           /* and the daemon may open them */
    bool closes_silently;     /* closing a file of root's file system reports no error */
    bool acts_as_caller;      /* the daemon is root and acts as the caller */
    bool dumps_core;          /* the daemon dumps core, and has to stay able to after a change of
                                 identity */
    bool has_reserve;         /* atomic */
    bool ready;               /* init has initialised the locks */
    struct posix_cache cache;
    struct posix_descriptors descriptors;
    struct posix_waiters waiters;
    struct posix_wanted wanted;
    struct posix_reserve reserve;
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

struct posix_path posix_path_of (int fd);

/* --- init.c --------------------------------------------------------------------------------- */

int posix_init (xlator_t *this);
void posix_fini (xlator_t *this);

/* --- reserve.c ------------------------------------------------------------------------------ */

/* Returns 0, or -ENOSPC if less than the reserve is free. */
int posix_reserve_check (xlator_t *this);
void posix_reserve_set (posix_private_t *priv, struct option_share share);

/* --- cache.c -------------------------------------------------------------------------------- */

void posix_cache_init (struct posix_cache *cache, unsigned limit);
void posix_cache_destroy (struct posix_cache *cache);

/* Pins pi's descriptor, if it is open. */
bool posix_cache_pin (struct posix_inode *pi);
void posix_cache_unpin (struct posix_inode *pi);

/* Gives fd to pi. If pi has one already, fd is closed. Either way pi is pinned. */
void posix_cache_insert (struct posix_cache *cache, struct posix_inode *pi, int fd);

/* Keeps the descriptor until forget. The caller has it pinned. */
void posix_cache_keep (struct posix_cache *cache, struct posix_inode *pi);

/* The same for an inode that may have lost its last name. If one of its open files has a
 * descriptor, that file keeps the inode until it is released, and the inode needs none; else the
 * caller has it pinned. */
void posix_cache_keep_nameless (struct posix_cache *cache, struct posix_inode *pi);
void posix_cache_forget (struct posix_cache *cache, struct posix_inode *pi);

/* Adds pfd to pi's open files. */
void posix_cache_opened (struct posix_cache *cache, struct posix_inode *pi, struct posix_fd *pfd);

/* Removes pfd from its inode's open files. Returns true if its descriptor was handed to the inode,
 * which has no name and needs it. */
bool posix_cache_released (struct posix_cache *cache, struct posix_fd *pfd);

/* Pins a nameless inode by the descriptor of one of its open files, which both share from then on.
 * Returns false if there is none. */
bool posix_cache_borrow (struct posix_cache *cache, struct posix_inode *pi);

/* Returns a duplicate of a descriptor of one of pi's open files, or -ENOENT if none has one. */
int posix_cache_copy_open (struct posix_cache *cache, struct posix_inode *pi);

/* Which open files pi has. */
/* none; some, none of which has a descriptor; at least one with its own */
enum posix_holders { HOLDERS_NONE, HOLDERS_BRIEF, HOLDERS_OWN };
enum posix_holders posix_cache_holders (struct posix_cache *cache, const struct posix_inode *pi);

/* Closes at most n unused descriptors; returns how many. */
unsigned posix_cache_evict (struct posix_cache *cache, unsigned n);

/* The same, but only while they run short, so that open files get theirs. */
void posix_cache_shrink (struct posix_cache *cache, unsigned n);

/* --- handle.c ------------------------------------------------------------------------------- */

/* openat, which closes other descriptors if there are too many. Returns a descriptor or a negative
 * errno. */
int posix_openat (xlator_t *this, int dirfd, const char *name, int flags, mode_t mode);

/* Opens pi by its handle, as the daemon. Returns a descriptor or a negative errno. _once closes no
 * others if there are too many. */
int posix_handle_open (xlator_t *this, const struct posix_inode *pi, int flags);
int posix_handle_open_once (xlator_t *this, const struct posix_inode *pi, int flags);

/* Tests whether files can be opened by handle. Returns 0 or a negative errno. */
int posix_handle_probe (int mount_fd, const struct posix_ident *ident);

struct posix_inode *posix_inode_new (const struct posix_ident *ident);
struct posix_inode *posix_inode_get (xlator_t *this, inode_t *inode);

/* May switch to root: call posix_act_as after it. */
int posix_pin (xlator_t *this, inode_t *inode, struct posix_pin *ret_pin);
void posix_unpin (struct posix_pin *pin);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_pin_t, posix_unpin)

/* Takes ownership of fd (O_PATH) of the object with that identity. Finds the known inode, or uses
 * given if it is new, or makes one. posix_adopt_closed only reads fd: the inode's own descriptor is
 * opened on demand. */
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

/* Stores another gfid with fd's object: the stored one belongs to another object. */
int posix_gfid_renew (xlator_t *this, int fd, struct posix_ident *ident);

/* Handle and mount of fd's object; a size of 0 if there is no handle. */
int posix_handle_of (int fd, struct posix_ident *ident, int *ret_mount_id);

/* --- content.c ------------------------------------------------------------------------------ */

/* In lookup's xdata: the maximum size of the file; in its answer's xdata: the content. */
#define POSIX_CONTENT_KEY "glusterfs.content"

/* The answer's xdata for a lookup that requests content, or NULL. */
dict_t *posix_content (call_frame_t *frame, xlator_t *this, const struct posix_found *found,
                       const dict_t *xdata);

/* --- creds.c -------------------------------------------------------------------------------- */

/* Makes this thread act as the caller. */
int posix_act_as (const posix_private_t *priv, call_frame_t *frame);

/* The same without the groups, which operations on open files do not need. */
int posix_act_as_owner (const posix_private_t *priv, const call_frame_t *frame);
void posix_act_as_root (const posix_private_t *priv);
bool posix_may_act (void);
bool posix_may_open_all (void);

/* Switches to root for a moment, and then back. */
struct posix_caller {
    uid_t uid;
    gid_t gid;
};
struct posix_caller posix_caller_leave (const posix_private_t *priv);
void posix_caller_return (const posix_private_t *priv, struct posix_caller caller);

/* --- attr.c --------------------------------------------------------------------------------- */

/* frame NULL: the operation changes nothing. */
void posix_before (const call_frame_t *frame, xlator_t *this, unsigned wants, int fd,
                   const gfid_t *gfid, struct posix_change *change);
void posix_after (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change);

/* As utimensat, on a descriptor of any kind; times[0] is atime. */
int posix_set_times (int fd, const struct timespec times[2]);

/* The attributes to answer: NULL after a failure or if no translator wants them. */
struct iatt *posix_pre (struct posix_change *change, int64_t r);
struct iatt *posix_post (struct posix_change *change, int64_t r);

/* --- stamp.c -------------------------------------------------------------------------------- */

/* The time of the request, if changes get it; or NULL. */
const struct timespec *posix_stamp_of (const call_frame_t *frame);

/* Sets the times that an operation has moved to its stamp. As root from then on. */
void posix_stamp_change (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change);

/* Sets the times of a new file, and of buf, to the stamp. As root from then on. */
void posix_stamp_new (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf);

/* The same for a file opened with O_TRUNC. buf may be NULL. */
void posix_stamp_cut_off (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf);

/* The caller, which need not be the owner, has set the times to "now": they become the stamp. valid
 * as in setattr. As root from then on. */
int posix_stamp_now (const call_frame_t *frame, xlator_t *this, int fd, uint32_t valid);

/* --- entry-ops.c ---------------------------------------------------------------------------- */

int posix_check_name (const char *name);

/* Checks loc's name, pins its parent, reads its attributes if a translator above wants them, and
 * acts as the caller. Unpin before the answer: after it the parent may go. */
int posix_dir_begin (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                     struct posix_pin *ret_pin, struct posix_change *change);
void posix_dir_after (xlator_t *this, const struct posix_pin *pin, struct posix_change *change);

/* The mode and, in *umask, the umask for making a file or directory, after applying options. */
mode_t posix_create_mode (const posix_private_t *priv, mode_t mode, bool directory, mode_t *umask);

/* --- fd-ops.c ------------------------------------------------------------------------------- */

struct posix_fd *posix_fd_get (xlator_t *this, fd_t *fd);
bool posix_closes_silently (int fd);

/* Takes ownership of real, the descriptor with which fd was opened, and may close it. */
void posix_fd_set (xlator_t *this, fd_t *fd, int real, uint32_t flags, const gfid_t *gfid,
                   struct posix_inode *pi);
void posix_release (xlator_t *this, fd_t *fd);

/* --- descriptors.c -------------------------------------------------------------------------- */

void posix_descriptors_init (struct posix_descriptors *all);
void posix_descriptors_limit (posix_private_t *priv); /* call when the daemon's capabilities are
                                                         known */
void posix_descriptors_destroy (struct posix_descriptors *all);
void posix_descriptors_dump (const posix_private_t *priv, GString *out);
void posix_descriptors_explain (const posix_private_t *priv, GString *out);

/* After an open that failed with error, attempt counting from 0: returns true if it should be tried
 * again. May wait for a moment. */
bool posix_make_room (xlator_t *this, int error, int attempt);

/* The negative errno to answer then. */
int posix_open_failed (xlator_t *this, int error);
/* Returns true if a long-lived descriptor, such as that of a lock, may be kept. The last eighth of
 * the numbers is for requests. */
bool posix_descriptor_may_last (const posix_private_t *priv, int fd);

/* pfd, which no other thread knows yet, is an open file of pi, and descriptors run short. If its
 * descriptor can be opened again, closes it, adds pfd to pi's open files, and returns true. */
bool posix_brief_begin (xlator_t *this, struct posix_inode *pi, struct posix_fd *pfd);
void posix_brief_end (posix_private_t *priv, const struct posix_fd *pfd); /* call at release */

int posix_use_brief (xlator_t *this, fd_t *fd, struct posix_use *use);
void posix_use_close (struct posix_use *use);

/* The descriptor that fd has until it is released; opens one on demand. */
int posix_fd_own (xlator_t *this, fd_t *fd);

/* The same, or -1 if there is none. pfd may be NULL. */
static inline int
posix_fd_lasting (const struct posix_fd *pfd)
{
    return pfd ? __atomic_load_n (&pfd->fd, __ATOMIC_RELAXED) : -1;
}

/* Returns 0, -EBADF, or the error of opening a descriptor. May switch to root: call posix_act_as
 * after it. */
static inline int
posix_use_begin (xlator_t *this, fd_t *fd, struct posix_use *use)
{
    struct posix_fd *pfd = posix_fd_get (this, fd);

    if (G_UNLIKELY (!pfd))
        return -EBADF;
    *use = (struct posix_use){ .pfd = pfd, .fd = posix_fd_lasting (pfd) };
    return G_LIKELY (use->fd >= 0) ? 0 : posix_use_brief (this, fd, use);
}

/* Call before the answer: after it the file may be closed. Takes one that was not begun ({ 0 }). */
static inline void
posix_use_end (struct posix_use *use)
{
    if (G_UNLIKELY (use->brief != NULL))
        posix_use_close (use);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_use_t, posix_use_end)

/* --- lookup.c ------------------------------------------------------------------------------- */

/* Finds the object of name in the directory dirfd. given is the inode known so far, or NULL. */
int posix_look (xlator_t *this, int dirfd, const char *name, struct itable *table, inode_t *given,
                struct posix_found *found);

/* --- lock.c --------------------------------------------------------------------------------- */

/* Releases the locks of an owner that closed the file. */
void posix_locks_drop (struct posix_inode *pi, uint64_t owner);
/* Releases the owners that locked only through pfd, which is being released. */
void posix_locks_drop_via (struct posix_inode *pi, const struct posix_fd *pfd);
void posix_locks_free (struct posix_locks *locks); /* takes NULL */
void posix_wanted_init (struct posix_wanted *wanted);
void posix_wanted_destroy (struct posix_wanted *wanted);

/* --- wait.c --------------------------------------------------------------------------------- */

/* Runs wait (data) in a thread of its own until it returns 0 or an error other than EINTR, or the
 * request is interrupted. Then calls answer (frame, data, result), which answers the request. On
 * failure the caller still has to answer. tell describes the wait for reports, on any thread, under
 * a lock. */
int posix_wait (call_frame_t *frame, int (*wait) (void *data),
                void (*tell) (const void *data, GString *out),
                void (*answer) (call_frame_t *frame, void *data, int r), void *data);
/* Describes the wait of that frame, if there is one: dumpops.waits_for. */
void posix_waits_for (xlator_t *this, const call_frame_t *frame, GString *out);
void posix_waiters_init (struct posix_waiters *waiters);
void posix_waiters_down (struct posix_waiters *waiters);
void posix_waiters_destroy (struct posix_waiters *waiters);

/* --- watch.c, watch-marks.c: watch.h ---------------------------------------------------------- */

/* By option `watch`: sets priv->watch, or leaves it NULL. Returns 0, or a negative errno after a
 * log. */
int posix_watch_init (xlator_t *this);
void posix_watch_start (struct posix_watch *watch);
void posix_watch_stop (struct posix_watch *watch); /* no invalidation comes after it */
void posix_watch_free (struct posix_watch *watch);
void posix_watch_ring (struct posix_watch *watch);
void posix_watch_dump (const posix_private_t *priv, GString *out);
void posix_watch_explain (const posix_private_t *priv, GString *out);

/* Reports changes of the inode from now on, fd being a descriptor of it; stops for an inode that
 * goes. Attributes read before may be outdated. */
void
posix_watch_know (struct posix_watch *watch, struct itable *table, struct posix_inode *pi, int fd);
void posix_watch_forget (struct posix_watch *watch, struct posix_inode *pi);

/* Called when the inode's descriptor was opened, or is about to be closed; tell: caches above may
 * know the inode. Under cache.lock. */
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

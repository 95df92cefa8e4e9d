/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the files of the fuse bridge share. */
#ifndef WINDLASS_FUSE_INTERNAL_H
#define WINDLASS_FUSE_INTERNAL_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "core/time/attempt.h"
#include "core/data/iobuf.h"
#include "core/work/limit.h"
#include "core/work/work.h"
#include "fuse/bridge.h"
#include "fuse/threads/place.h"
#include "xlator.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* The largest payload of a request, and the size of the kernel's header of a write, which precedes
 * the payload. A write's payload is placed on a page boundary, so that storage can use it for
 * direct I/O. */
#define MAX_PAYLOAD (1 << 20)
#define WRITE_HEADER 80
#define PAYLOAD_OFFSET 4096

/* Whether the kernel may read and write files by itself, in the order of the option's values. */
enum passthrough_choice { PASSTHROUGH_AUTO, PASSTHROUGH_OFF, PASSTHROUGH_REQUIRED };

/* The decider about a caller's rights: the kernel, by modes and ACLs or by modes alone, or
 * system/posix-acl. */
enum decides { DECIDES_KERNEL, DECIDES_KERNEL_BY_MODE, DECIDES_TRANSLATOR };

/* Whether requests come through io_uring, in the order of the option's values. */
enum io_uring_mode { IO_URING_AUTO, IO_URING_OFF, IO_URING_REQUIRED };

/* Classes of operations, each with its own limit. */
enum limit_class { LIMIT_DATA, LIMIT_NAMES, LIMIT_SYNC, LIMIT_CLASSES };

struct bridge_settings {
    double attribute_timeout, entry_timeout, negative_timeout; /* seconds */
    int direct_io, keep_cache, passthrough_direct, lock_forwarding; /* enum option_switch */
    int acl;                                                        /* enum decides */
    int passthrough;                                                /* PASSTHROUGH_* */
    bool read_only, writeback, auto_invalidation, readdirp, idmapped, exclusive, follow_callers,
        passthrough_append, selinux, short_numbers;
    int64_t gid_timeout, stuck_after; /* nanoseconds */
    int limits[LIMIT_CLASSES]; /* 0: a number that depends on the processors */
    bool measure; /* used by src/daemon */
    int64_t lru_limit;
    uint64_t read_ahead; /* bytes */
    char *meta_dir_name; /* empty: no directory */
    int background_qlen, congestion_threshold, reader_threads, time_granularity;
    int io_uring, io_uring_depth, io_uring_haste; /* io_uring is an enum io_uring_mode */
    bool io_uring_pinned;
};

/* The flags that the kernel offered at the start of the session, and those to add to libfuse's
 * answer. */
struct init_flags {
    uint64_t unique; /* of the INIT request; 0 before and after it */
    uint64_t offered;
    uint64_t wanted;
};

struct groups_cache;
struct short_numbers;
struct old_graph;

/* A thread that reads requests and winds them. */
struct reader {
    struct bridge *bridge;
    pthread_t thread;
    struct place place;
    struct iobref *iobref; /* the buffer for the kernel's next request; with a ring, for the data of
                            * a write */
    bool in_ring;          /* the reader takes requests from the ring instead: ring.h */
    bool running;          /* the thread was started; bridge->lock */
    bool busy;             /* it handles a request of the kernel; atomic */
};

#define READERS_MAX 64

enum bridge_state { BRIDGE_WAITING, BRIDGE_READY, BRIDGE_OVER };

struct fuse_local;

/* Results of the negotiation with the kernel. Set before the kernel's first request. */
struct terms {
    struct init_flags init; /* used by one thread at a time: there is no other request before INIT
                             * is answered */
    bool session_up;        /* INIT was answered; atomic */
    unsigned proto_minor;   /* minor version of the protocol */
    unsigned times;         /* root->times of each request: TIMES_NOT_OF_READING if the mount has ro
                             * or noatime */
    bool checked;           /* the kernel checks rights before it sends a request
                             * (default_permissions) */
    bool checks_all;        /* the kernel checks ACLs too, so that storage would refuse no request
                             * that the kernel lets pass */
    bool is_root;           /* the daemon runs as root: storage refuses root nothing */
    bool for_others;        /* the mount options allow_other or allow_root were given */
    bool direct_opens;      /* a file opened with O_DIRECT uses the kernel's direct I/O: writes in
                             * parallel, and no other thread between a caller and its answer */
    bool idmapped;          /* the mount may be mounted again with mapped ids: only requests that
                             * create an inode carry the caller's ids */
    bool remote;            /* servers have the files */
    bool locks;             /* the kernel sends locks */
    bool expires;           /* the kernel can be told that a name may have changed */
    bool labels;            /* the kernel runs SELinux, or the option selinux says so */
    bool keep_cache, direct_io, writeback, spares_flush; /* for every open */
};

/* The threads that read requests: threads/readers.c. bridge->lock guards the fields that aren't
 * atomic. */
struct reader_threads {
    unsigned idle;          /* readers that wait for a request; atomic */
    unsigned parked;        /* readers that aren't needed now; atomic, changed under the lock */
    int64_t grown;          /* clock_now when the last reader was added */
    pthread_cond_t needed;  /* for parked readers */
    struct attempt starts;  /* starts of threads, with the resources of each */
    unsigned n_readers, n_running; /* n_readers: readers in the array; n_running: these and the
                                    * threads of the ring */
    struct reader readers[READERS_MAX]; /* those with running set; the others are free */
};

/* The limits of operations that run at a time: threads/limits.c. Constant. */
struct bridge_limits {
    struct limits routes; /* the gate for winds to the graph */
    struct limit *classes[LIMIT_CLASSES];
};

/* What the kernel has asked for root about a file's capabilities: ops/privileges.c. */
struct privileges_ask {
    pid_t thread;
    uint64_t nodeid;
    unsigned times; /* that it asked whether there are any, and there were */
    bool removed;   /* it has removed them */
};
#define PRIVILEGES_ASKS 16 /* by the number of the thread */

struct bridge {
    xlator_t xlator;
    xlator_list_t child;
    xlator_list_t parent; /* the parent of the graph's top: the bridge */
    struct graph *graph;   /* changes only while no request runs */
    struct itable *itable; /* of all graphs that the mount has had; constant */
    /* The bridge as the top's parent in the hidden graph; its graph is NULL if there is none. */
    xlator_t hidden;
    xlator_list_t hidden_child;
    /* By the highest bit of an inode's number: &xlator, and &hidden, or &xlator if there is
     * none. */
    xlator_t *realms[2];
    struct bridge_settings settings;
    struct terms terms;
    char *mountpoint;
    bool mounted;
    struct fuse_session *session;
    GString *libfuse_says; /* libfuse's messages during the mount */
    uint32_t generation;   /* part of every inode's identity; differs between mounts, so that
                            * handles of an earlier mount are stale */
    unsigned n_forgotten;  /* inodes that the kernel ever forgot; atomic */
    struct groups_cache *groups;
    struct short_numbers *short_numbers; /* NULL without enable-ino32; constant */
    bool said_endless;     /* a listing without an end was logged; atomic */
    unsigned lock_waiters; /* requests that wait for a lock; atomic */
    struct passthrough *passthrough;
    struct bridge_limits limits;
    struct ring *ring;     /* NULL: no ring; set before the first thread starts, freed after the
                            * last one ends */
    const char *no_ring;   /* the reason why requests don't come through a ring; set before the
                            * first request */
    pthread_mutex_t fds_lock; /* a leaf */
    GHashTable *fds;          /* fds_lock; the fds that the kernel has open */
    int64_t looks_until;      /* until this clock_now, ring_caller_dies looks at callers; atomic */
    bool held;                /* requests wait until the mount has moved; atomic, changed under
                               * lock */
    struct old_graph *old_used; /* list of the old graphs that open files may use; atomic, changes
                                 * under fds_lock while requests are held */
    GSList *old_graphs;         /* struct old_graph: all that aren't freed yet; the main thread's */

    const struct bridge_hooks *hooks; /* set when the bridge starts */
    bool stopping;    /* atomic */
    bool leaves_mounted; /* bridge_stop leaves the mount; set before the mount */
    bool stuck;       /* bridge_stop ended, but some work didn't */
    bool left;        /* bridge_stop ended, but the mount remains: no process for unmounting could
                       * be started */
    pthread_mutex_t lock; /* guards the fields below; only timers.lock is taken under it */
    pthread_cond_t changed;
    enum bridge_state state;
    struct privileges_ask asks[PRIVILEGES_ASKS];
    unsigned timers; /* pending timers that refer to the bridge, which lives until they are done */
    struct reader_threads threads;
};

/* --- options.c: the rows of options, and their values --- */
int bridge_options_read (struct bridge *bridge, const char *const *options, char **ret_error);

/* --- rights.c: the decider about rights --- */

/* Has the kernel look up each name of a path again. Returns 0, or -EINVAL and the conflicting
 * option in *ret_error. */
int bridge_remember_no_names (struct bridge *bridge, char **ret_error);
/* For acl=translator: the kernel checks no rights and caches no names. Returns 0, or -EINVAL and
 * the problem in *ret_error. */
int bridge_leave_to_translator (struct bridge *bridge, bool default_permissions, char **ret_error);

/* --- init-flags.c: between libfuse and the device --- */
extern const struct fuse_custom_io init_flags_io;

#define FLAG_PASSTHROUGH (1ULL << 37) /* since kernel 6.9 */
/* Number of stacked file systems, this one on top: an overlay may still be stacked on it. */
#define PASSTHROUGH_DEPTH 1

/* The open that this thread answers next names a backing file. */
void init_flags_backing (struct fuse_file_info *fi, int id);

/* --- mount-cause.c --- */

/* After a mount failed: returns the known cause and what to do, or NULL. g_free it. */
char *bridge_mount_cause (const struct bridge *bridge);

/* --- session.c: negotiation and mount --- */
void session_read_ahead (struct bridge *bridge);

/* --- invalidate.c: drops cached state in the kernel --- */

/* entrance: the bridge as the top's parent in the graph that sent it. XLATOR_INVALIDATE tells which
 * threads may call this. */
void bridge_invalidate (xlator_t *entrance, const struct invalidation *gone);

/* --- dump.c: for xlator_dumpops --- */
void bridge_dump (xlator_t *this, GString *out);

/* --- threads/readers.c --- */
/* Count pending timers that refer to the bridge: begins before the timer is set, ends after its
 * work. Call them without a lock. */
void bridge_timer_begins (struct bridge *bridge);
void bridge_timer_ends (struct bridge *bridge);
void loop_set_state (struct bridge *bridge, enum bridge_state state);
/* The buffer of this thread's current request, the number in its header, and groups_sent of it.
 * loop_lend sets them. */
struct iobref *loop_iobref (void);
uint64_t loop_number (void);
gid_t loop_group (void);
void loop_lend (struct iobref *iobref, const void *message, size_t size);
/* Makes sure that reader->iobref is a buffer that no other code uses. Returns false if there is no
 * memory. */
bool loop_buffer (struct reader *reader);
/* Starts a thread of the ring, counted with the other readers. Under bridge->lock. 0, or a negative
 * errno. */
int loop_start_locked (struct reader *reader, const char *name);
/* Makes each thread end after its current request. Returns whether all ended within so many
 * nanoseconds. */
bool loop_stop (struct bridge *bridge, int64_t patience);

/* --- ops/privileges.c: whether a setattr of nothing is a chown --- */
/* Notes that the kernel has asked for an attribute that the file has; or that it removes one. */
void privileges_note (const call_frame_t *frame, const char *name, bool removes);
/* Returns whether a setattr of nothing by root announces a write. */
bool privileges_announce_write (const call_frame_t *frame);

/* --- limits.c: the number of operations that run at a time --- */
void limits_begin (struct bridge *bridge);
/* No more requests may come. Waits until a time of clock_now for operations that wait for a limit
 * or run on core/work. Returns whether none is left. */
bool limits_stop (struct bridge *bridge, int64_t until);
void limits_end (struct bridge *bridge);
void limits_dump (const struct bridge *bridge, GString *out);
void limits_explain (const struct bridge *bridge, GString *out);

/* --- interrupt.c: callers that no longer wait --- */

/* Answers a request under way with an errno, given the request's number in its header. A later
 * answer to it has no effect. In init-flags.c. */
void answer_early (struct bridge *bridge, uint64_t number, int error);

/* libfuse's handler for an interrupt of the request root. */
void interrupt_request (fuse_req_t req, void *root);

/* --- ring/: requests through io_uring --- */

/* Called after the mount, before the first request. Creates bridge->ring if options and kernel
 * allow it. 0, or a negative errno and the problem in *ret_error. */
int ring_prepare (struct bridge *bridge, char **ret_error);
/* ring_start starts the ring's threads before INIT is answered, and returns whether the ring can be
 * used. After that, call one of ring_go and ring_refuse. */
bool ring_start (struct bridge *bridge);
void ring_go (struct bridge *bridge);
void ring_refuse (struct bridge *bridge, const char *why);
/* The main function of the ring's threads. */
void ring_run (struct reader *reader);
/* For loop_stop: ring_signal_locked under bridge->lock, ring_join after it. */
void ring_signal_locked (struct bridge *bridge, int signal_number);
/* The mount is gone, so no answer matters any more. */
void ring_gone_locked (struct bridge *bridge);
void ring_join (struct bridge *bridge);
void ring_end (struct bridge *bridge);
/* ring_has returns whether an answer belongs to a request of the ring. If so, ring_answer sends it
 * there, and returns as writev(2) does. */
bool ring_has (const struct bridge *bridge, const struct iovec *iov);
ssize_t ring_answer (struct bridge *bridge, const struct iovec *iov, int count);
/* Handles a message from the device that may concern a request of the ring. */
void ring_interrupt (struct bridge *bridge, void *message, size_t size);
/* Record that the caller of a request about that inode was found dying, and return whether another
 * caller of the same inode is dying, soon after: ring/dying.c. Without a ring nothing is recorded;
 * ring_caller_dies may be called once bridge->looks_until is set. */
void ring_note_dying (struct bridge *bridge, uint64_t about);
bool ring_caller_dies (struct bridge *bridge, uint64_t about, pid_t pid);
/* No request is looked at any more; under bridge->lock. */
void ring_unwatch_locked (struct bridge *bridge);
/* Append a text for explain, and one for a dump. */
void ring_describe (const struct bridge *bridge, GString *out);
void ring_dump (const struct bridge *bridge, GString *out);

/* --- trim.c: returns memory of forgotten inodes to the system; `forgotten` more of them --- */
void trim_note (struct bridge *bridge, unsigned forgotten);
/* trim_begin is called when the bridge has its graph, trim_end before the graph is freed. */
void trim_begin (struct bridge *bridge);
void trim_end (struct bridge *bridge);

void bridge_explain (xlator_t *this, const char *path, inode_t *inode, GString *out); /* dump.c */

/* --- about.c: the path that a running request is about, for reports --- */
bool
bridge_path (xlator_t *this, const call_stack_t *root, bool may_wait, char *ret_path, size_t size);

/* --- groups.c: supplementary groups of callers --- */
struct groups_cache *groups_cache_new (int64_t timeout);
void groups_cache_free (struct groups_cache *cache);
int groups_find (call_stack_t *root);
/* Returns the group that the kernel sent along with a message, or NO_GROUP. */
#define NO_GROUP ((gid_t) -1)
gid_t groups_sent (const void *message, size_t size);
/* Adds a group to those of the caller. Before the first wind of the request. */
void groups_add (call_stack_t *root, gid_t group);

/* --- request.c: beginning and end of each request --- */

/* State of a request for its callbacks. */
struct fuse_local {
    inode_t *inode;               /* with a reference */
    inode_t *other;               /* with a reference: the inode that a rename replaces */
    fd_t *fd;                     /* with a reference */
    inode_t *parent, *new_parent; /* lent, as root->maker.lent_inodes */
    const char *name, *new_name;  /* stored in text */
    struct fuse_file_info fi;
    struct call_stub *make; /* a new object, while the bridge asks about its directory: umask.c */
    bool masks;             /* the bridge applies the umask */
    bool opens_as_daemon; /* open: the caller was refused, but has the right that matters: open.c */
    struct iatt attributes; /* setattr: the attributes that remain to be set */
    uint32_t valid;
    uint32_t wound; /* setattr: the attributes that the last wind was to set, IATT_* */
    bool keeps_size; /* fallocate: is to zero a range and keep the size of the file */
    size_t size; /* readdir, getxattr: size of the kernel's buffer; fallocate: length */
    struct iobref *iobref; /* with a reference: the buffer of a write of cached pages */
    struct iovec rest;     /* the part of that write that remains */
    off_t offset;          /* and its offset in the file; fallocate: the same; readdir: the one that
                            * the kernel knows */
    off_t from;            /* readdir: of storage, of the last wind */
    unsigned passed;       /* readdir: entries that were not for the kernel */
    char text[];
};

/* Returns a new request about an inode, or about a name in it; NULL if it was refused and answered.
 * frame->local isn't set. */
call_frame_t *request_begin (fuse_req_t req, fuse_ino_t about, enum fop op);
/* Returns whether the kernel didn't tell the caller's ids; the kernel has then checked the caller's
 * rights itself. */
bool request_is_anonymous (fuse_req_t req);
/* The identity for the next winds: the caller's, or the daemon's for requests of the kernel's own
 * and for those whose caller the kernel has checked. All calls of the request must have been
 * answered. */
void request_act_as_daemon (call_frame_t *frame);
void request_act_as_caller (call_frame_t *frame);
bool request_acts_as_daemon (const call_frame_t *frame);
/* Allocates the local. Copies the names, since the kernel's are gone when the answer comes later;
 * either may be NULL. */
struct fuse_local *request_local (call_frame_t *frame, const char *name, const char *new_name);
void request_local_drop (xlator_t *this, void *local);

/* Returns the kernel's request, to answer it. The request can't be interrupted any more. */
fuse_req_t request_answer (call_frame_t *frame);
/* Answers with an errno, or with 0 for plain success, and ends the request. */
#define request_err(frame_, op_ret_, op_errno_) \
    request_err_at (frame_, op_ret_, op_errno_, CALL_SITE)
void request_err_at (call_frame_t *frame, int op_ret, int op_errno, const struct call_site *site);
void request_attr (call_frame_t *frame, const struct iatt *iatt);
/* Enters the inode of an answer in the table. Returns it with a reference. */
inode_t *request_link (inode_t *inode, inode_t *parent, const char *name, const struct iatt *iatt);
/* Enters the inode in the table, answers with it, and ends the request. */
void request_entry (call_frame_t *frame, inode_t *inode, inode_t *parent, const char *name,
                    const struct iatt *iatt);
void request_open (call_frame_t *frame, fd_t *fd, bool directory);
/* Answers with a new file: an entry and an open in one. parent and name are NULL for a file without
 * a name. */
void request_create (call_frame_t *frame, fd_t *fd, inode_t *inode, inode_t *parent,
                     const char *name, const struct iatt *iatt);

/* Returns st_blksize for the kernel, in bytes. A directory's is at least 128 KiB, since readdir(3)
 * asks for so much at a time, and each request has its price. */
uint32_t kernel_block_size (const struct iatt *iatt);

/* Returns an inode number as the kernel gets it: fuse/short-numbers.h. */
uint64_t kernel_ino (const struct bridge *bridge, uint64_t ino);

/* Fills in an entry as the kernel takes it; inode NULL: an entry without an inode. */
void request_fill_entry (struct bridge *bridge, struct fuse_entry_param *ret_entry, inode_t *inode,
                         const struct iatt *iatt);

/* Returns whether the request is about inodes of the hidden graph. */
static inline bool
request_is_hidden (const call_frame_t *frame)
{
    const struct bridge *bridge = frame->this->private;

    return frame->this == &bridge->hidden;
}

/* Returns how long the kernel may cache facts about an inode with that number, given the usual
 * timeout in seconds. 0 for the hidden graph where the kernel checks no rights: it would show
 * cached facts to callers without a right to them. */
static inline double
kernel_remembers (const struct bridge *bridge, uint64_t nodeid, double timeout)
{
    return G_UNLIKELY (nodeid & INODE_REALM) && !bridge->terms.checked ? 0 : timeout;
}

/* Returns whether the inode is a device, a pipe or a socket and the kernel checks no rights. The
 * kernel opens such inodes without a request. The bridge then lets only callers that may read and
 * write them look them up, and their owner, who could change the mode; and has the kernel look them
 * up each time. */
static inline bool
request_is_guarded (const struct bridge *bridge, const struct iatt *iatt)
{
    return G_UNLIKELY (!bridge->terms.checked)
           && (iatt->ia_type == IA_IFBLK || iatt->ia_type == IA_IFCHR || iatt->ia_type == IA_IFIFO
               || iatt->ia_type == IA_IFSOCK);
}

/* Returns whether the name, in the root of the mount, stands for the hidden graph. */
static inline bool
name_is_hidden (const struct bridge *bridge, fuse_ino_t parent, const char *name)
{
    const char *hidden = bridge->settings.meta_dir_name;

    /* Compares the first byte first, since most names differ there. */
    return parent == FUSE_ROOT_ID && bridge->hidden.graph && *name == *hidden
           && strcmp (name, hidden) == 0;
}

/* Fill in a loc that borrows its members. Return false if the request was answered: the number is
 * unknown, or the name is invalid. */
bool request_loc_inode (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t ino);
bool request_loc_entry (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t parent, const char *name);
/* Returns the open file of a request; NULL if the request was answered. */
fd_t *request_fd (call_frame_t *frame, const struct fuse_file_info *fi);
/* fd_given returns the fd as the kernel names it, fd_now and fd_of the one that it stands for since
 * the mount has moved to another graph. */
fd_t *fd_given (const struct fuse_file_info *fi);
fd_t *fd_of (const struct fuse_file_info *fi);

static inline fd_t *
fd_now (fd_t *fd)
{
    while (G_UNLIKELY (fd->moved))
        fd = fd->moved;
    return fd;
}

/* Record that the kernel has fd open, with a reference, until it releases fd or the mount ends. */
void request_fd_keep (struct bridge *bridge, fd_t *fd);
void request_fd_release (struct bridge *bridge, fd_t *fd);
void request_fds_release (struct bridge *bridge);
/* Returns whether the kernel has the inode open for writing. Searches all open fds. */
bool request_fd_to_write (struct bridge *bridge, const inode_t *inode);

/* For a loc on the stack: `g_auto (loc_t) loc`. Frees only the path, which loc_path may have
 * computed. */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (loc_t, loc_wipe_path)

static inline struct bridge *
bridge_of (fuse_req_t req)
{
    return fuse_req_userdata (req);
}

/* --- passthrough.c: files that the kernel reads and writes itself --- */
struct passthrough *passthrough_new (void);
void passthrough_free (struct passthrough *all); /* takes NULL */
/* Asks the kernel for passthrough, if allowed, while INIT is answered. */
void passthrough_negotiate (struct bridge *bridge, struct fuse_conn_info *conn);
/* Completes fi, whose other fields are filled in, for an open of fd that is about to be answered.
 * passthrough_release must follow. */
void
passthrough_open (struct bridge *bridge, call_frame_t *frame, fd_t *fd, struct fuse_file_info *fi);
/* Returns whether the kernel writes the inode itself, for one of its opens. */
bool passthrough_writes (struct bridge *bridge, const inode_t *inode);
/* Ends an open: the kernel released it, or never got it. */
void passthrough_release (struct bridge *bridge, const fd_t *fd);
/* Has the kernel ask for the file's attributes again if stores through a mapping of this open, of
 * which nobody is told, may have changed times. Before a flush is answered, since close(2) does not
 * wait for the release, and at the release. */
void passthrough_forget_times (struct bridge *bridge, const fd_t *fd);
/* Returns whether data read with fi enters the kernel's page cache while other opens write past
 * that cache. After such an answer, the kernel has to drop the pages. */
bool passthrough_is_stale_soon (struct bridge *bridge, const fd_t *fd,
                                const struct fuse_file_info *fi);

/* --- write.c --- */

/* Returns whether the kernel was told that the file is setuid or setgid. */
bool write_is_privileged (const inode_t *inode);

/* Records attributes of an inode number that the kernel is about to be told. */
void write_note_mode (struct bridge *bridge, uint64_t nodeid, const struct iatt *iatt);
/* Has the kernel ask for the mode again when it needs it, if it was told of setuid or setgid, which
 * may be gone now. */
void write_forget_mode (struct bridge *bridge, inode_t *inode);
/* Counts opens of the file by the kernel: change is 1 or -1. */
void write_note_open (const fd_t *fd, int change);
/* Returns whether an open may keep the pages that the kernel has cached: no write bypassed them
 * since the last open. */
bool write_may_keep (inode_t *inode);
/* Returns whether the kernel reads or writes the inode itself, for one of its opens. */
bool passthrough_has (struct bridge *bridge, const inode_t *inode);
void passthrough_dump (const struct bridge *bridge, GString *out);

/* --- open.c --- */
/* Converts the flags that the kernel sent to those with which the file is opened below. */
uint32_t request_flags (const struct bridge *bridge, int flags);

/* --- a function for each group of handlers --- */
void entry_handlers (struct fuse_lowlevel_ops *ops);

/* --- ops/unknown-name.c: look-ups that fail without telling whether the name exists --- */

/* Returns whether the failed look-up is one of a name that the kernel may have and must not drop.
 * unknown_name_answer then answers it. */
bool unknown_name_is (const call_frame_t *frame, int error);
void unknown_name_answer (call_frame_t *frame, int error);

/* --- ops/umask.c: the caller's umask, and default ACLs --- */

/* Is it known whether the bridge or storage applies it to this mode of a new object, whose
 * directory is local->parent? Else umask_settle finds out, and resumes the stub. */
bool umask_is_settled (call_frame_t *frame, mode_t mode);
void umask_settle (call_frame_t *frame, call_stub_t *make);

/* The parts for both. */
mode_t umask_of_bridge (const call_frame_t *frame);
mode_t umask_of_storage (const call_frame_t *frame);

/* The directory's default ACL changes. */
void umask_forget (inode_t *directory);
void names_handlers (struct fuse_lowlevel_ops *ops);
void attr_handlers (struct fuse_lowlevel_ops *ops);
void open_handlers (struct fuse_lowlevel_ops *ops);
void file_handlers (struct fuse_lowlevel_ops *ops);
void write_handlers (struct fuse_lowlevel_ops *ops);
void dir_handlers (struct fuse_lowlevel_ops *ops);
void xattr_handlers (struct fuse_lowlevel_ops *ops);
void lock_handlers (struct fuse_lowlevel_ops *ops);
void ioctl_handlers (struct fuse_lowlevel_ops *ops);

#endif

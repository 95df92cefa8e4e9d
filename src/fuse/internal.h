/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the fuse bridge. */
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

/* The largest payload of a request, and the kernel's header of a write, which comes before it. The
 * payload of a write is put on a page boundary, so that storage can use it as it is for direct I/O.
 */
#define MAX_PAYLOAD (1 << 20)
#define WRITE_HEADER 80
#define PAYLOAD_OFFSET 4096

/* Three-valued options: what "auto" means depends on what the kernel can do. */
enum choice { CHOICE_AUTO, CHOICE_ON, CHOICE_OFF };

/* Whether the kernel may read and write files by itself. As the option's values are ordered. */
enum passthrough_choice { PASSTHROUGH_AUTO, PASSTHROUGH_OFF, PASSTHROUGH_REQUIRED };

/* Who decides what a caller may: the kernel, by modes and ACLs or by modes alone, or
 * system/posix-acl. */
enum decides { DECIDES_KERNEL, DECIDES_KERNEL_BY_MODE, DECIDES_TRANSLATOR };

/* Whether requests come through io_uring: in the order of the option's values. */
enum io_uring_mode { IO_URING_AUTO, IO_URING_OFF, IO_URING_REQUIRED };

/* Operations with a limit of their own. */
enum limit_class { LIMIT_DATA, LIMIT_NAMES, LIMIT_SYNC, LIMIT_CLASSES };

struct bridge_settings {
    double attribute_timeout, entry_timeout, negative_timeout; /* seconds */
    int direct_io, keep_cache; /* of choice_values: ask choice_of */
    int acl; /* of acl_values: ask acl_of */
    int passthrough; /* PASSTHROUGH_* */
    int passthrough_direct; /* of choice_values */
    bool read_only, writeback, auto_invalidation, readdirp, lock_forwarding, idmapped, exclusive,
        follow_callers;
    int64_t gid_timeout, stuck_after; /* nanoseconds */
    int limits[LIMIT_CLASSES]; /* 0: as many as the processors are worth */
    bool measure; /* of src/daemon */
    int64_t lru_limit;
    uint64_t read_ahead; /* bytes */
    char *meta_dir_name; /* empty: none */
    int background_qlen, congestion_threshold, reader_threads, time_granularity;
    int io_uring, io_uring_depth, io_uring_haste; /* the first is an enum io_uring_mode */
    bool io_uring_pinned;
};

/* What the kernel offered when it was mounted, and what is added to the library's answer. */
struct init_flags {
    uint64_t unique; /* of the INIT request; 0 before and after it */
    uint64_t offered;
    uint64_t wanted;
};

struct groups_cache;

/* One thread that reads requests and winds them. */
struct reader {
    struct bridge *bridge;
    pthread_t thread;
    struct place place;
    struct iobref *iobref; /* of the one buffer that the kernel's next request goes to; with a ring,
                              that of a write */
    bool in_ring;          /* it takes them from the ring instead: ring.h */
    bool running;          /* it was started; bridge->lock */
};

#define READERS_MAX 64

enum bridge_state { BRIDGE_WAITING, BRIDGE_READY, BRIDGE_OVER };

struct fuse_local;

/* What the mount and the kernel agreed on. Set before the kernel's first request. */
struct terms {
    struct init_flags init; /* of one thread at a time: before INIT is answered there is no other
                               request */
    bool session_up;        /* INIT was answered; atomic */
    unsigned proto_minor;   /* of the protocol */
    unsigned times;         /* root->times of each request: TIMES_NOT_OF_READING with ro or
                               noatime */
    bool checked;           /* the kernel checks rights before it asks (default_permissions), */
    bool checks_all;        /* and ACLs too, so that storage refuses no caller that it lets pass */
    bool is_root;           /* the daemon is root: storage refuses root nothing */
    bool for_others;        /* other users than the mounting one may use the mount */
    bool direct_opens;      /* a file opened with O_DIRECT has the kernel's direct I/O: writes go
                               side by side, on the caller's own way */
    bool idmapped;          /* the mount may be mounted again with other ids: requests that make
                               nothing have no caller */
    bool keep_cache, direct_io, writeback, spares_flush; /* of every open */
};

/* The threads that read requests: threads/readers.c. bridge->lock guards what is not atomic. */
struct reader_threads {
    unsigned idle;          /* readers that wait for a request; atomic */
    unsigned parked;        /* readers that are not needed now; atomic, changed under the lock */
    int64_t grown;          /* clock_now of when a reader was added last */
    pthread_cond_t needed;  /* for parked readers */
    struct attempt starts;  /* of threads, with what each needs */
    unsigned n_readers, n_running; /* readers; readers and threads of the ring */
    struct reader readers[READERS_MAX]; /* those whose running is set; others are free */
};

/* How many operations run at a time: threads/limits.c. Constant. */
struct bridge_limits {
    struct limits routes; /* of winds to the graph */
    struct limit *classes[LIMIT_CLASSES];
};

struct bridge {
    xlator_t xlator;
    xlator_list_t child;
    xlator_list_t parent; /* of the graph's top: the bridge */
    struct graph *graph;
    /* The bridge once more, on top of the hidden graph; its graph is NULL where there is none. */
    xlator_t hidden;
    xlator_list_t hidden_child;
    /* By the highest bit of an inode's number: xlator, and hidden, or xlator again. */
    xlator_t *realms[2];
    struct bridge_settings settings;
    struct terms terms;
    char *mountpoint;
    bool mounted;
    struct fuse_session *session;
    GString *libfuse_says; /* the library's complaints while it mounts */
    uint32_t generation;   /* of every inode number: another for each mount, so that the handles of
                              an older mount are stale */
    unsigned n_forgotten;  /* inodes, ever; atomic */
    struct groups_cache *groups;
    struct passthrough *passthrough;
    struct bridge_limits limits;
    struct ring *ring;     /* NULL: none; set before the first thread, freed after the last */
    const char *no_ring;   /* why requests don't come through a ring; set before the first
                              request */
    pthread_mutex_t fds_lock; /* a leaf */
    GHashTable *fds;          /* fds_lock; those that the kernel has open */

    void (*done) (void *data); /* the first reader calls it when the mount is over */
    void *done_data;
    bool stopping;    /* atomic */
    bool stuck;       /* it stopped, but not all of it did */
    bool left;        /* it stopped, but is mounted: no process could be started that unmounts */
    pthread_mutex_t lock; /* guards what follows; a leaf */
    pthread_cond_t changed;
    enum bridge_state state;
    unsigned timers; /* that will come: the bridge ends after them */
    struct reader_threads threads;
};

/* --- options.c: the rows, and their values --- */
int bridge_options_read (struct bridge *bridge, const char *const *options, char **ret_error);
enum choice choice_of (int value);
enum decides acl_of (int value);

/* --- rights.c: who decides --- */

/* The kernel asks for each name of a path. 0, or -EINVAL and what is wrong with that: an option
 * says otherwise. */
int bridge_remember_no_names (struct bridge *bridge, char **ret_error);
/* With acl=translator: the kernel checks nothing and remembers no names. 0, or -EINVAL and what is
 * wrong with that. */
int bridge_leave_to_translator (struct bridge *bridge, bool default_permissions, char **ret_error);

/* --- init-flags.c: between libfuse and the device --- */
extern const struct fuse_custom_io init_flags_io;

#define FLAG_PASSTHROUGH (1ULL << 37) /* of kernel 6.9 */
/* File systems that stand on each other, ours the uppermost: so an overlay may still stand on
 * ours. */
#define PASSTHROUGH_DEPTH 1

/* The open that this thread answers next names a backing file. */
void init_flags_backing (struct fuse_file_info *fi, int id);

/* --- session.c: what is negotiated, and the mount --- */
void session_read_ahead (struct bridge *bridge);

/* --- invalidate.c: what the kernel is to forget. On a thread that no request waits for --- */
void bridge_invalidate (struct bridge *bridge, const struct invalidation *gone);

/* --- dump.c: for xlator_dumpops --- */
void bridge_dump (xlator_t *this, GString *out);

/* --- threads/readers.c --- */
/* A timer that knows the bridge will come; it has come, and is done. No lock is held. */
void bridge_timer_begins (struct bridge *bridge);
void bridge_timer_ends (struct bridge *bridge);
void loop_set_state (struct bridge *bridge, enum bridge_state state);
/* The buffer of the request that this thread handles, and the number that it has in its header;
 * sets them. */
struct iobref *loop_iobref (void);
uint64_t loop_number (void);
void loop_lend (struct iobref *iobref, uint64_t number);
/* Sees to it that reader->iobref is a buffer that nobody else uses. false: there is no memory. */
bool loop_buffer (struct reader *reader);
/* A thread of the ring, counted with the others. Under bridge->lock. 0, or a negative errno. */
int loop_start_locked (struct reader *reader, const char *name);
/* Will the kernel send no request any more? */
bool bridge_connection_is_gone (const struct bridge *bridge);
/* Makes the threads end after what they do now; whether they all did within so many nanoseconds. */
bool loop_stop (struct bridge *bridge, int64_t patience);

/* --- limits.c: how many operations run at a time --- */
void limits_begin (struct bridge *bridge);
/* No request comes any more: waits until that time of clock_now for those that wait or run
 * elsewhere. Returns whether none is left. */
bool limits_stop (struct bridge *bridge, int64_t until);
void limits_end (struct bridge *bridge);
void limits_dump (const struct bridge *bridge, GString *out);
void limits_explain (const struct bridge *bridge, GString *out);

/* --- interrupt.c: callers that don't wait any more --- */

/* Answers a request that is under way with that errno, by the number that its reader knows it by.
 * What is answered to it later goes nowhere. In init-flags.c. */
void answer_early (struct bridge *bridge, uint64_t number, int error);

/* The library's function for an interrupt of the request whose root that is. */
void interrupt_request (fuse_req_t req, void *root);

/* --- ring/: requests through io_uring --- */

/* Before a request comes, and after it is mounted: makes bridge->ring, if options and kernel let
 * it. 0, or a negative errno and what is wrong. */
int ring_prepare (struct bridge *bridge, char **ret_error);
/* Along with the answer to INIT: starts its threads; whether it can be used. Then either of the
 * others. */
bool ring_start (struct bridge *bridge);
void ring_go (struct bridge *bridge);
void ring_refuse (struct bridge *bridge, const char *why);
/* What a thread of it does. */
void ring_run (struct reader *reader);
/* For loop_stop, under bridge->lock and after it. */
void ring_signal_locked (struct bridge *bridge, int signal_number);
/* The mount is gone: no answer matters any more. */
void ring_gone_locked (struct bridge *bridge);
void ring_join (struct bridge *bridge);
void ring_end (struct bridge *bridge);
/* Is this an answer to one of its requests? Then it goes back there. As writev does. */
bool ring_has (const struct bridge *bridge, const struct iovec *iov);
ssize_t ring_answer (struct bridge *bridge, const struct iovec *iov, int count);
/* What was read from the device may be about one of its requests. */
void ring_interrupt (struct bridge *bridge, void *message, size_t size);
/* For explain, and for a dump. */
void ring_describe (const struct bridge *bridge, GString *out);
void ring_dump (const struct bridge *bridge, GString *out);

/* --- trim.c: gives back the memory of what the kernel forgets; so many more --- */
void trim_note (struct bridge *bridge, unsigned forgotten);
/* From when it has a graph until before it goes. */
void trim_begin (struct bridge *bridge);
void trim_end (struct bridge *bridge);

void bridge_explain (xlator_t *this, const char *path, inode_t *inode, GString *out); /* dump.c */

/* --- about.c: what a running request is about, as reports have it --- */
bool
bridge_path (xlator_t *this, const call_stack_t *root, bool may_wait, char *ret_path, size_t size);

/* --- groups.c: supplementary groups of callers --- */
struct groups_cache *groups_cache_new (int64_t timeout);
void groups_cache_free (struct groups_cache *cache);
int groups_find (call_stack_t *root);

/* --- requests.c: how each request begins and ends --- */

/* What a callback needs to know of its request. */
struct fuse_local {
    inode_t *inode;               /* with a reference */
    inode_t *other;               /* with a reference: what a rename replaces */
    fd_t *fd;                     /* with a reference */
    inode_t *parent, *new_parent; /* lent, as root->maker.lent_inodes */
    const char *name, *new_name;  /* in text */
    struct fuse_file_info fi;
    bool opens_as_daemon; /* open: the caller was refused, who has the right that matters: open.c */
    struct iatt attributes; /* setattr: what is still to be done */
    uint32_t valid;
    uint32_t wound; /* setattr: what the last one below was to set, IATT_* */
    size_t size; /* readdir, getxattr: of the kernel's buffer */
    struct iobref *iobref; /* with a reference: a write of the kernel's own, */
    struct iovec rest;     /* what of it isn't written yet, */
    off_t offset;          /* and where that goes */
    char text[];
};

/* A new request about that inode, or about a name in it; NULL when it was refused and answered.
 * frame->local isn't set. */
call_frame_t *request_begin (fuse_req_t req, fuse_ino_t about, enum fop op);
/* Would it change something? */
bool request_modifies (enum fop op);
/* The kernel didn't say who asks: it has checked what that one may do. */
bool request_is_anonymous (fuse_req_t req);
/* Whose ids what is wound next is done with: the caller's, unless the kernel asks on its own
 * account, or has checked that the caller may. What is under way must have been answered. */
void request_act_as_daemon (call_frame_t *frame);
void request_act_as_caller (call_frame_t *frame);
bool request_acts_as_daemon (const call_frame_t *frame);
/* names are copied, since the kernel's are gone when the answer comes late; either may be NULL. */
struct fuse_local *request_local (call_frame_t *frame, const char *name, const char *new_name);
void request_local_drop (xlator_t *this, void *local);

/* The kernel's request, to answer it: from here on it can't be interrupted any more. */
fuse_req_t request_answer (call_frame_t *frame);
/* Answers with an errno, or with 0 for plain success, and ends the request. */
#define request_err(frame_, op_ret_, op_errno_) \
    request_err_at (frame_, op_ret_, op_errno_, CALL_SITE)
void request_err_at (call_frame_t *frame, int op_ret, int op_errno, const struct call_site *site);
void request_attr (call_frame_t *frame, const struct iatt *iatt);
/* The inode that an answer is about, known to the table from now on, with a reference. */
inode_t *request_link (inode_t *inode, inode_t *parent, const char *name, const struct iatt *iatt);
/* Links the inode, tells the kernel of it, and ends the request. */
void request_entry (call_frame_t *frame, inode_t *inode, inode_t *parent, const char *name,
                    const struct iatt *iatt);
void request_open (call_frame_t *frame, fd_t *fd, bool directory);
/* With a new file: an entry and an open in one. parent and name are NULL for a file without a name.
 */
void request_create (call_frame_t *frame, fd_t *fd, inode_t *inode, inode_t *parent,
                     const char *name, const struct iatt *iatt);

/* An entry as the kernel takes it; inode NULL: it isn't told of any. */
void request_fill_entry (struct bridge *bridge, struct fuse_entry_param *ret_entry, inode_t *inode,
                         const struct iatt *iatt);

/* Is the request about the hidden graph's inodes? */
static inline bool
request_is_hidden (const call_frame_t *frame)
{
    const struct bridge *bridge = frame->this->private;

    return frame->this == &bridge->hidden;
}

/* For how long the kernel may remember what an inode of that number is, which it could for so many
 * seconds. Of the hidden graph's nothing, where it checks no rights: it would tell those who may
 * not ask. */
static inline double
kernel_remembers (const struct bridge *bridge, uint64_t nodeid, double timeout)
{
    return G_UNLIKELY (nodeid & INODE_REALM) && !bridge->terms.checked ? 0 : timeout;
}

/* A device, a pipe or a socket, which the kernel opens without asking here. Where it checks no
 * rights, it finds one only for those who may read and write it, and asks here each time. */
static inline bool
request_is_guarded (const struct bridge *bridge, const struct iatt *iatt)
{
    return G_UNLIKELY (!bridge->terms.checked)
           && (iatt->ia_type == IA_IFBLK || iatt->ia_type == IA_IFCHR || iatt->ia_type == IA_IFIFO
               || iatt->ia_type == IA_IFSOCK);
}

/* Does the name, in the root of the mount, stand for the hidden graph? */
static inline bool
name_is_hidden (const struct bridge *bridge, fuse_ino_t parent, const char *name)
{
    const char *hidden = bridge->settings.meta_dir_name;

    /* Most names begin with something else. */
    return parent == FUSE_ROOT_ID && bridge->hidden.graph && *name == *hidden
           && strcmp (name, hidden) == 0;
}

/* A loc that borrows. false when the request was answered: the number is unknown, or the name can't
 * be one. */
bool request_loc_inode (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t ino);
bool request_loc_entry (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t parent, const char *name);
/* The open file of a request; NULL when the request was answered. */
fd_t *request_fd (call_frame_t *frame, const struct fuse_file_info *fi);
fd_t *fd_of (const struct fuse_file_info *fi);

/* The kernel has fd open, with a reference, until it releases it, or the mount ends. */
void request_fd_keep (struct bridge *bridge, fd_t *fd);
void request_fd_release (struct bridge *bridge, fd_t *fd);
void request_fds_release (struct bridge *bridge);
/* Has somebody the inode open to write? Looks at all that are open. */
bool request_fd_to_write (struct bridge *bridge, const inode_t *inode);

/* For a loc on the stack: `g_auto (loc_t) loc`. Only the path that somebody may have asked for is
 * its own. */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (loc_t, loc_wipe_path)

static inline struct bridge *
bridge_of (fuse_req_t req)
{
    return fuse_req_userdata (req);
}

/* --- passthrough.c: files that the kernel reads and writes itself --- */
struct passthrough *passthrough_new (void);
void passthrough_free (struct passthrough *all); /* takes NULL */
/* While INIT is answered: asks for it, if it may. */
void passthrough_negotiate (struct bridge *bridge, struct fuse_conn_info *conn);
/* fd is about to be answered, and fi filled in but for that: the rest of it. passthrough_release
 * has to follow. */
void
passthrough_open (struct bridge *bridge, call_frame_t *frame, fd_t *fd, struct fuse_file_info *fi);
/* Does the kernel write the inode itself, for one of those that have it open? */
bool passthrough_writes (struct bridge *bridge, const inode_t *inode);
/* The kernel has it open no more, or never had. */
void passthrough_release (struct bridge *bridge, const fd_t *fd);
/* What is read with fi gets into the kernel's page cache, while others write past it: once it was
 * answered, the kernel is to forget it. */
bool
passthrough_is_stale_soon (struct bridge *bridge, const fd_t *fd, const struct fuse_file_info *fi);
void passthrough_forget_pages (struct bridge *bridge, inode_t *inode);

/* --- write.c --- */

/* Has the kernel been told that the file is setuid or setgid? */
bool write_is_privileged (const inode_t *inode);

/* The kernel is about to be told these attributes of the inode with that number. */
void write_note_mode (struct bridge *bridge, uint64_t nodeid, const struct iatt *iatt);
/* Setuid and setgid may be gone: if the kernel was told of any, it asks for the mode when it needs
 * it next. */
void write_forget_mode (struct bridge *bridge, inode_t *inode);
/* The kernel has the file open by this one more (1), or no more (-1). */
void write_note_open (const fd_t *fd, int change);
/* Whether an open may keep the pages that the kernel has: nobody wrote past them since the last
 * one. */
bool write_may_keep (inode_t *inode);
void passthrough_dump (const struct bridge *bridge, GString *out);

/* --- open.c --- */
/* The flags with which a file is opened below, of those that the kernel sent. */
uint32_t request_flags (const struct bridge *bridge, int flags);

/* --- one for each group of handlers --- */
void entry_handlers (struct fuse_lowlevel_ops *ops);
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

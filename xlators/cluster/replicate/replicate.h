/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cluster/replicate: every child has a copy of each file and directory.
 *
 *   an operation that reads     read.c: one good copy, and the next one if that fails
 *   an operation that changes   changes/: checks (changing.c), then a transaction
 *                               (transaction.c):
 *
 *     lock    all copies (lock.c), against other clients and healers
 *     pre-op  raise the dirty counter of each copy
 *     wind    the operation to all copies whose children are up
 *     post-op bring the data to the disks, raise the pending counters against the copies that
 *             failed, lower the dirty counters
 *     unlock
 *
 * The order keeps the copies safe. A copy's dirty counter is on the disk of its brick before the
 * change. It is lowered only after two other writes to that disk: the change, and the pending
 * counter against a copy that missed the change. So at whatever moment this client dies, a copy
 * that differs has a raised dirty counter, or another copy's pending counter accuses it.
 *
 * Changes of the data of one file share a transaction (changes/eager-lock.c): while the eager lock
 * is kept, a further write needs only the wind. Changes of attributes and names skip pre-op and
 * post-op while all children are up, as in GlusterFS.
 *
 * The context of an inode (copies/) stores which of its copies may be read. Whenever a child comes
 * or goes, a new generation begins: the next operation on each inode begins with a refresh, which
 * asks all copies again.
 *
 * Locks: a thread that holds replicate_inode.lock may take timers.lock. A thread that holds another
 * lock takes no further one.
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_REPLICATE_H
#define WINDLASS_CLUSTER_REPLICATE_REPLICATE_H

#include "copies/sources.h"
#include "xlator.h"

struct txn;

/* Values of the option data-self-heal: the operations after which the data of a file is healed. */
enum heals_data { HEALS_DATA_NEVER, HEALS_DATA_AT_LOOKUP, HEALS_DATA_AT_OPEN };

typedef struct {
    /* Values of the options. Those that can change on a mounted volume are atomic. */
    char *pending_names, *dirty_name, *read_name, *thin_arbiter;
    int quorum_type, favorite, read_mode;
    int64_t quorum_count, read_index, arbiters, post_op_delay, heal_window, heals_max,
        heals_waiting_max, heal_pace;
    bool eager, durable, granular, optimistic, choose_local, heals_metadata, heals_entries;
    int heals_data; /* enum heals_data; atomic */

    /* Members that init sets, and that are constant afterwards. */
    unsigned n;                /* number of children */
    xlator_t *children[COPIES_MAX];
    const char *names[COPIES_MAX]; /* names of the children */
    char *pending[COPIES_MAX]; /* names of the pending counters, by child */
    struct changelog_names changelog; /* `pending` and the name of the dirty counter */
    int arbiter;               /* number of the arbiter's child; -1: the volume has none */
    copies_t near;             /* children whose bricks are on this machine */

    copies_t up;         /* children that are up; atomic */
    unsigned generation; /* number that changes whenever a child comes or goes; never 0; atomic */
    uint64_t owners;     /* number of lock owners that owner_new has made; atomic */
    uint64_t lookups;    /* number of calls of lookup_started since init; atomic */
    /* By child: time when its brick last reported whether its index is empty (copies/refresh.c), by
     * clock_now. The time is negative if the index was not empty, or the report was missing; 0: no
     * report since a child came or went. Atomic. */
    int64_t indexes[COPIES_MAX];
    uint64_t pending_reads[COPIES_MAX]; /* number of reads under way, by child; atomic */
    uint64_t latency[COPIES_MAX]; /* mean time of the last reads, by child, in nanoseconds;
                                   * atomic */
    int64_t choice_lasts; /* time for which a split-brain-choice is valid, in nanoseconds; atomic */
    /* By child: time of the last message about a change that failed on its brick, by clock_now; 0:
     * none yet; atomic. */
    int64_t failure_logged[COPIES_MAX];
    struct {
        uint64_t transactions, eager_locks, accusations, refreshes, failovers, heals; /* all
                                                                                       * atomic */
    } numbers; /* number of events of each kind since init, for state dumps */

    pthread_mutex_t lock;  /* no other lock is taken while this one is held */
    pthread_cond_t idle;   /* signalled when `requests` becomes 0 */
    unsigned requests;     /* number of replicate's own requests under way; guarded by `lock` */
    bool ending, holding;  /* the mount ends, or moves to another graph, so eager locks end at
                            * once; atomic */
    GQueue eager_locks;    /* of struct txn: transactions with an eager lock; guarded by `lock` */
    struct heals *heals;   /* all heals; see heal/heal.h */
    struct itable *table;  /* the graph's table of inodes; NULL before the first lookup; atomic */
    struct random_source random; /* source of the gfids of new objects */
} replicate_t;

/* The first member of every struct that this translator stores as the local of a frame. drop frees
 * the members of that struct; NULL: there is nothing to free. */
struct replicate_local {
    void (*drop) (void *local);
};

void replicate_local_drop (xlator_t *this, void *local);

/* --- children.c ------------------------------------------------------------------------------- */

int children_init (xlator_t *this);
void children_fini (xlator_t *this);
void children_notify (xlator_t *this, enum xlator_event event, void *data);
copies_t children_up (const replicate_t *priv);
unsigned children_generation (const replicate_t *priv);
bool children_quorum (const replicate_t *priv, copies_t copies);
int child_of_name (const replicate_t *priv, const char *name); /* returns -1 if none has it */
char *copies_text (const replicate_t *priv, copies_t copies); /* names; to be g_freed */

/* Returns the most significant error among the answers; ENOTCONN: there is none. ENOTCONN is the
 * least significant, since a brick that can't be reached reports nothing about the object. */
int copies_error (const struct fan_out *fan);

/* Returns the copies whose children succeeded, in a fan-out with one answer for each child. */
copies_t fan_succeeded (const struct fan_out *fan);

/* request_new makes a frame for a request of this translator's own, sent as root; request_done ends
 * the request. Work without a frame is put between requests_add and requests_drop instead.
 * requests_wait returns when no such request or work is left, and then the mount ends. So `this`
 * may be freed after request_done or requests_drop; their caller must not use it any more. */
call_frame_t *request_new (xlator_t *this, const call_frame_t *like);
void request_done (xlator_t *this, call_frame_t *frame);
void requests_add (xlator_t *this);
void requests_drop (xlator_t *this);
void requests_wait (xlator_t *this);

/* Returns a new lock owner, different from those returned before. */
uint64_t owner_new (replicate_t *priv);

/* The key in xdata under which a client sends a brick the gfid for a new object. */
#define NEW_GFID_KEY "gfid-req"

/* --- open.c ----------------------------------------------------------------------------------- */

struct replicate_fd {
    pthread_mutex_t lock;  /* no other lock is taken while this one is held */
    copies_t opened;       /* copies on which the file is open; guarded by `lock` */
    uint32_t flags;        /* flags of open(2); constant */
    bool directory;        /* whether the fd is of a directory; constant */
    bool opening;          /* whether a reopen is under way; guarded by `lock` */
    int64_t tried;         /* end of the last reopen, by clock_now; guarded by `lock` */
    GQueue waiting;        /* of struct fd_wait: operations to resume after the reopen; guarded by
                            * `lock` */

    /* The state of a listing (readdir.c), for directories only; guarded by `lock`. */
    int reader;            /* number of the copy that the listing reads; -1: none yet */
    GArray *names;         /* of guint64: hashes of the names that callers have received */
    guint sorted;          /* number of hashes at the start of `names` that are sorted: those of
                            * the names received from copies before `reader` */
    GArray *last;          /* of struct listed: the entries of the last answer */
};

struct replicate_fd *replicate_fd_of (xlator_t *this, fd_t *fd); /* NULL: fd not opened */
copies_t fd_opened (xlator_t *this, fd_t *fd);
void fd_was_opened (xlator_t *this, fd_t *fd, uint32_t flags, bool directory, copies_t on);

/* Opens the file on the children that were down when the caller opened it, and are up now; then
 * calls done. */
void fd_prepare (xlator_t *this, fd_t *fd, void (*done) (void *data), void *data);
any_fop_t opening_any_fop, closing_any_fop;
#define OPENS (OPSET_OF (FOP_open) | OPSET_OF (FOP_opendir))
#define CLOSES (OPSET_OF (FOP_flush) | OPSET_OF (FOP_fsyncdir))
void replicate_release (xlator_t *this, fd_t *fd);

/* --- lookup.c, read.c, readdir.c -------------------------------------------------------------- */

/* Returns whether a name is internal to the bricks: .glusterfs in the root, or a directory to which
 * GlusterFS's healer moves removed objects. Callers don't see such a name, and replicate doesn't
 * heal it. */
bool replicate_hides (xlator_t *this, inode_t *directory, const char *name);

lookup_fop replicate_lookup;
any_fop_t read_any_fop;
any_fop_cbk_t read_any_fop_cbk;
#define READS                                                                                      \
    (OPSET_OF (FOP_stat) | OPSET_OF (FOP_fstat) | OPSET_OF (FOP_readlink) | OPSET_OF (FOP_access)  \
     | OPSET_OF (FOP_readv) | OPSET_OF (FOP_seek) | OPSET_OF (FOP_getxattr)                        \
     | OPSET_OF (FOP_fgetxattr))
statfs_fop replicate_statfs;
readdir_fop replicate_readdir;
readdirp_fop replicate_readdirp;

/* Returns whether the error may concern one copy only, so that the reader asks another copy. */
bool error_is_of_copy (int error);

/* --- virtual.c: virtual attributes; passes any other getxattr to read.c ----------------------- */

getxattr_fop replicate_getxattr;

/* --- choice.c --------------------------------------------------------------------------------- */

/* Returns whether a setxattr sets one of the virtual attributes with which root ends a split brain.
 * If it does, choice_takes also answers the setxattr. */
bool choice_takes (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict);

/* --- locks.c: locks of callers ---------------------------------------------------------------- */

any_fop_t caller_lock_any_fop;
#define CALLER_LOCKS                                                                               \
    (OPSET_OF (FOP_lk) | OPSET_OF (FOP_flock) | OPSET_OF (FOP_inodelk) | OPSET_OF (FOP_finodelk)   \
     | OPSET_OF (FOP_entrylk) | OPSET_OF (FOP_fentrylk))

/* --- report.c --------------------------------------------------------------------------------- */

void replicate_dump (xlator_t *this, GString *out);
void replicate_dump_inode (xlator_t *this, inode_t *inode, GString *out);
void replicate_dump_fd (xlator_t *this, fd_t *fd, GString *out);
void replicate_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

/* --- heal/heal.c ------------------------------------------------------------------------------ */

enum { HEAL_DATA = 1 << COUNTER_DATA, HEAL_METADATA = 1 << COUNTER_METADATA,
       HEAL_ENTRIES = 1 << COUNTER_ENTRY, HEAL_ALL = 7 };

void heals_init (xlator_t *this);
void heals_fini (xlator_t *this);
void heals_wait (xlator_t *this);
extern const struct xlator_command heal_commands[];

/* Begins a background heal of an object that was looked up or opened. `what`, a set of HEAL_*,
 * limits the heal to these parts. If background-self-heal-count heals run, the object waits in a
 * queue; if that queue is full, the object is left to a later lookup or open. */
void heal_later (xlator_t *this, inode_t *inode, unsigned what);

/* Heals the data and attributes of a file, then calls done. In a split brain the source is the copy
 * of `child`. The inode must not be a directory: see heal_invalidate. */
void heal_from (xlator_t *this, inode_t *inode, int child, void (*done) (void *data, bool failed),
                void *data);

/* Return the set of HEAL_* that the options allow to heal after a lookup, or after an open. Defined
 * in replicate.c. */
unsigned heals_at_lookup (const replicate_t *priv);
unsigned heals_at_open (const replicate_t *priv);

#endif

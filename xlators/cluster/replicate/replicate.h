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
 * change. It is lowered only after the change is on that disk, and after the pending counter
 * against a copy that missed the change. So at whatever moment this client dies, a copy that
 * differs is accused by another copy, or dirty.
 *
 * Changes of the data of one file share a transaction (changes/eager-lock.c): while the eager lock
 * is kept, a further write needs only the wind. Changes of attributes and names skip pre-op and
 * post-op while all children are up, as in GlusterFS.
 *
 * The context of an inode (copies/) has the copies that may be read. A refresh asks the copies
 * again whenever a child has come or gone: each time begins a new generation.
 *
 * Locks: replicate_inode.lock may be held while timers.lock is taken; all others are leaves.
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_REPLICATE_H
#define WINDLASS_CLUSTER_REPLICATE_REPLICATE_H

#include "copies/sources.h"
#include "xlator.h"

struct txn;

/* When the data of a file is healed: the option data-self-heal. */
enum heals_data { HEALS_DATA_NEVER, HEALS_DATA_AT_LOOKUP, HEALS_DATA_AT_OPEN };

typedef struct {
    /* Options. Online ones are atomic. */
    char *pending_names, *dirty_name, *read_name, *thin_arbiter;
    int quorum_type, favorite, read_mode;
    int64_t quorum_count, read_index, arbiters, post_op_delay, heal_window, heals_max,
        heals_waiting_max;
    bool eager, durable, granular, optimistic, choose_local, heals_metadata, heals_entries;
    int heals_data; /* enum heals_data; atomic */

    /* Constant after init. */
    unsigned n;
    xlator_t *children[COPIES_MAX];
    const char *names[COPIES_MAX];
    char *pending[COPIES_MAX]; /* names of the pending counters */
    struct changelog_names changelog;
    int arbiter;               /* -1: none */
    copies_t near;             /* children on this machine */

    copies_t up;         /* atomic */
    unsigned generation; /* changes with up; never 0; atomic */
    uint64_t owners;     /* owners of locks that owner_new has made; atomic */
    uint64_t lookups;    /* lookups on the copies that have begun; atomic */
    /* By child: time of its last answer to a lookup; negative unless that answer reported an empty
     * index; atomic. See copies/refresh.c. */
    int64_t indexes[COPIES_MAX];
    uint64_t pending_reads[COPIES_MAX]; /* reads under way; atomic */
    uint64_t latency[COPIES_MAX]; /* mean of the last reads, in nanoseconds; atomic */
    int64_t choice_lasts; /* choice.c: validity of a choice, in nanoseconds; atomic */
    int64_t failure_logged[COPIES_MAX]; /* time of the last message about a failed change; atomic */
    struct {
        uint64_t transactions, eager_locks, accusations, refreshes, failovers; /* atomic */
    } numbers;

    pthread_mutex_t lock;  /* a leaf */
    pthread_cond_t idle;   /* requests is 0 */
    unsigned requests;     /* requests that this translator made and that have not ended; lock */
    bool ending;           /* no eager lock is kept any more; atomic */
    GQueue eager_locks;    /* of struct txn; lock */
    struct heals *heals;   /* heal/heal.h */
    struct itable *table;  /* the graph's, from the first lookup on; atomic */
    struct random_source random; /* for new gfids */
} replicate_t;

/* All locals of this translator begin with this. */
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
int child_of_name (const replicate_t *priv, const char *name); /* -1: none */
char *copies_text (const replicate_t *priv, copies_t copies); /* "one, two". g_free it */

/* Returns the most significant error among the answers: a brick that is gone reports nothing of the
 * object. */
int copies_error (const struct fan_out *fan);

/* Returns the copies whose children succeeded, in a fan-out with one answer for each child. */
copies_t fan_succeeded (const struct fan_out *fan);

/* A request that this translator makes, as root. The end of the mount waits for all of them.
 * requests_add and requests_drop count work without a frame in the same way; after requests_drop,
 * `this` may be freed. requests_wait returns when none is left. */
call_frame_t *request_new (xlator_t *this, const call_frame_t *like);
void request_done (xlator_t *this, call_frame_t *frame);
void requests_add (xlator_t *this);
void requests_drop (xlator_t *this);
void requests_wait (xlator_t *this);

/* Returns a new owner of locks. */
uint64_t owner_new (replicate_t *priv);

/* The key of xdata that has the gfid of a new object. */
#define NEW_GFID_KEY "gfid-req"

/* --- open.c ----------------------------------------------------------------------------------- */

struct replicate_fd {
    pthread_mutex_t lock;  /* a leaf */
    copies_t opened;       /* copies on which it is open; lock */
    uint32_t flags;        /* of open(2); constant */
    bool directory;        /* constant */
    bool opening;          /* a reopen is under way; lock */
    int64_t tried;         /* time of the last reopen; lock */
    GQueue waiting;        /* of struct fd_wait: callers that wait for the reopen; lock */

    /* readdir.c, of a directory */
    int reader;            /* the copy that gave the offsets; -1: none; lock */
    GArray *names;         /* of guint64: hashes of names that were listed; lock */
    guint sorted;          /* number of names listed from copies before `reader`; lock */
    GArray *last;          /* of struct listed: the last answer; lock */
};

struct replicate_fd *replicate_fd_of (xlator_t *this, fd_t *fd); /* NULL: not open */
copies_t fd_opened (xlator_t *this, fd_t *fd);
void fd_was_opened (xlator_t *this, fd_t *fd, uint32_t flags, bool directory, copies_t on);

/* Opens the file on children that have come up since its open; then calls done. */
void fd_prepare (xlator_t *this, fd_t *fd, void (*done) (void *data), void *data);
any_fop_t opening_any_fop, closing_any_fop;
#define OPENS (OPSET_OF (FOP_open) | OPSET_OF (FOP_opendir))
#define CLOSES (OPSET_OF (FOP_flush) | OPSET_OF (FOP_fsyncdir))
void replicate_release (xlator_t *this, fd_t *fd);

/* --- lookup.c, read.c, readdir.c -------------------------------------------------------------- */

/* Returns whether a name in the root belongs to the bricks: GlusterFS's healer moves removed
 * objects there. Such names are not listed or healed; a lookup fails with EPERM, as on a brick. */
bool name_is_of_brick (const inode_t *directory, const char *name);

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

/* Returns whether another copy may succeed after this error. */
bool error_is_of_copy (int error);

/* --- virtual.c: virtual attributes; passes any other getxattr to read.c ----------------------- */

getxattr_fop replicate_getxattr;

/* --- choice.c --------------------------------------------------------------------------------- */

/* Returns whether a setxattr is a command that ends a split brain, and then answers it. */
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
void heals_end (xlator_t *this); /* starts no further heal, and stops those that run */
void heals_wait (xlator_t *this);
unsigned heals_begun (xlator_t *this); /* number of heals since init */
extern const struct xlator_command heal_commands[];

/* After a lookup or an open: heals in the background the part of `what`, a set of HEAL_*, that
 * needs it, unless too many heals run. */
void heal_later (xlator_t *this, inode_t *inode, unsigned what);

/* Heals the data and attributes of a file, not of a directory (heal_invalidate); in a split brain
 * from this copy. Then calls done. */
void heal_from (xlator_t *this, inode_t *inode, int child, void (*done) (void *data, bool failed),
                void *data);

/* replicate.c: the HEAL_* that the options let a lookup, or an open, heal. */
unsigned heals_at_lookup (const replicate_t *priv);
unsigned heals_at_open (const replicate_t *priv);

#endif

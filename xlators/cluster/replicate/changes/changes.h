/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that change something, and their transactions.
 *
 *   calls.c         makes the operation of a call, and sends the call to the copies
 *   changing.c      the checks before a transaction, and the result from the answers
 *   transaction.c   lock, pre-op, post-op, unlock
 *   lock.c          the locks on all copies
 *   eager-lock.c    the transaction that the changes of a file's data share
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_CHANGES_H
#define WINDLASS_CLUSTER_REPLICATE_CHANGES_H

#include "../copies/copies.h"

/* --- changing.c ------------------------------------------------------------------------------- */

#define LOCKS_MAX 3

/* A lock that an operation takes on all copies. */
struct lockee {
    inode_t *inode;  /* inode to lock, or directory of the name to lock; with a reference */
    bool entry;      /* whether to lock a name in the directory, not the inode */
    char *name;      /* name to lock, with `entry`; NULL: all names in the directory */
    copies_t locked; /* copies that have granted it */
};

/* A changing operation: the local of the caller's frame. */
struct changing {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    enum fop fop;
    enum counter_kind kind;        /* part of the inode that changes: data, attributes or names */
    call_stub_t *stub;             /* kept call; NULL after it was resumed to go to the copies */
    void (*answer) (struct changing *op); /* function that answers the caller after success; NULL:
                                           * changing_answer passes on the answer of `best` */
    inode_t *subject[2];           /* inodes whose changelogs record a failure: the changed file, or
                                    * the directories of the changed names; with references */
    char *entry[2];                /* names that change, by directory in `subject`; or NULL */
    inode_t *object;               /* object that a link or rename gives a name, with a reference;
                                    * or NULL */
    inode_t *emptied;              /* directory that the operation removes or replaces, with a
                                    * reference; or NULL */
    fd_t *fd;                      /* open file of the call, with a reference; or NULL */
    struct lockee locks[LOCKS_MAX]; /* locks to take, for a change of attributes or names */
    unsigned n_locks;
    struct byte_claim claim;       /* range of bytes that a change of data needs for itself, in
                                    * replicate_inode.claims; guarded by replicate_inode.lock */
    uint32_t flags;                /* flags of open(2), of a create */
    bool makes;                    /* whether the call makes an object; the answers have its
                                    * inode */
    unsigned generation;           /* priv->generation when the operation began */
    copies_t children;             /* copies to which the call goes */

    struct fan_out fan;            /* answers of the copies, by child */
    copies_t succeeded, failed;    /* copies with the change, and copies that missed it */
    int op_ret, op_errno;          /* result for the caller */
    int best;                      /* number of the copy whose answer the caller gets */
    struct readable readable;      /* good copies of subject[0], before the operation */
    unsigned checked;              /* number of inodes that need no further refresh, in the order
                                    * subject[0], subject[1], emptied */
    struct txn *txn;               /* transaction that the operation runs in; NULL before it */
    struct changing *create;       /* operation of the create that this truncate completes;
                                    * or NULL */
};

/* Makes the struct of an operation, and stores it as the local of `frame`. `inode` becomes
 * subject[0]: if the operation fails on a copy, its changelog on the other copies accuses that
 * copy. */
struct changing *changing_new (call_frame_t *frame, xlator_t *this, enum fop fop,
                               enum counter_kind kind, inode_t *inode);
void changing_lock (struct changing *op, inode_t *inode, bool entry, const char *name);

/* Records that the operation removes or replaces `directory`. It then locks all names in it, so
 * that no other client makes one. */
void changing_empties (struct changing *op, inode_t *directory);

/* Begins the checks of the operation, which later resume the kept call `stub`; NULL: there was no
 * memory to keep it, so the operation fails. `op` may be freed when changing_begin returns. */
void changing_begin (struct changing *op, call_stub_t *stub);

void changing_run (struct changing *op, copies_t children);
void changing_done (call_frame_t *frame); /* called when all children have answered */
void changing_answer (struct changing *op); /* answers the caller; may free `op` */
void changing_fail (struct changing *op, int error);

/* --- transaction.c ---------------------------------------------------------------------------- */

enum eager_state { EAGER_LOCKING, EAGER_LOCKED, EAGER_ENDING };

/* The writes to a file on one copy since its last fsync. */
struct written {
    off_t size_before; /* smallest size that the file had before one of them; INT64_MAX: none */
    off_t first;       /* first byte that one of them wrote, without appends; INT64_MAX: none */
};

struct txn {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame; /* frame of the transaction's own requests to the copies */
    struct fan_out fan;  /* answers to the last of these requests */
    enum counter_kind kind; /* kind of the counters: data, attributes or names */
    inode_t *subject[2]; /* inodes whose counters change, with references; or NULL */
    char *entry[2];      /* names that change, by directory in `subject`; or NULL */
    fd_t *fd;            /* open file for the fsync, with a reference; or NULL */
    loc_t locs[2];       /* locations of the subjects, without references of their own */
    struct lockee locks[LOCKS_MAX]; /* locks of the transaction */
    unsigned n_locks;

    copies_t children;   /* copies to lock: their children were up when the transaction began */
    copies_t locked;     /* copies that have granted all locks */
    copies_t failed;     /* copies among `locked` on which a later step failed; for changes of data,
                          * guarded by replicate_inode.lock */
    bool dirtied;        /* whether a pre-op was sent, which raises the dirty counters */
    bool changed;        /* whether an operation has changed a copy */
    bool doubtful;       /* whether an operation failed on a copy, which may have changed
                          * nevertheless */
    bool missed[2];      /* by subject: the flag that inode_missed sets and inode_recorded clears;
                          * guarded by replicate_inode.lock */
    bool no_quorum;      /* whether the change reached too few copies: the post-op then accuses no
                          * copy, and leaves the dirty counters raised */
    int error;           /* last errno of the locks, the pre-op or the post-op; 0: none */
    void (*next) (struct txn *txn); /* function to call after the locks or unlocks */
    unsigned at;         /* number of locks tried until now, if they are taken one by one */
    struct changing *op; /* operation of a transaction of attributes or names; else NULL */
    void *data;          /* argument for `next`, in a transaction made by txn_of_name */

    /* A new object that some copies lack. The copies that have it accuse the others. */
    inode_t *made;       /* its inode, with a reference; or NULL */
    ia_type_t made_type;
    copies_t made_on;    /* copies that have it */

    /* Members of a transaction with an eager lock (eager-lock.c). replicate_inode.lock guards them,
     * except generation, refs and link. */
    enum eager_state state;
    GQueue unanswered;   /* of struct changing: operations that failed on a copy, whose callers get
                          * the answer after the post-op */
    bool release;        /* whether to end the transaction as soon as no operation runs */
    bool patient;        /* whether to wait post-op-delay-secs for another operation */
    struct written written[COPIES_MAX]; /* unsynced writes, by copy */
    core_timer_t *timer; /* timer of post-op-delay-secs; NULL: not running */
    unsigned generation; /* priv->generation when the transaction began; constant */
    int refs;            /* number of references: one, and another while the timer runs; atomic */
    GList link;          /* link in priv->eager_locks; guarded by priv->lock */
};

struct txn *txn_new (xlator_t *this, struct changing *op);

/* Makes a transaction that only locks a name, without pre-op and post-op. The caller calls
 * txn_lock, txn_unlock and txn_free for it. `data` is for the function that txn_lock calls. */
struct txn *txn_of_name (xlator_t *this, call_frame_t *caller, inode_t *directory, const char *name,
                         void *data);
void txn_free (struct txn *txn);

/* Takes the locks and does the pre-op. Then calls eager_ready for changes of data, or runs the
 * operation on attributes or names. */
void txn_begin (struct txn *txn);

/* Does the post-op and releases the locks. */
void txn_end (struct txn *txn);

/* Ends a transaction of attributes or names. Called when all copies have answered its operation. */
void txn_op_done (struct txn *txn, struct changing *op);

/* --- lock.c ----------------------------------------------------------------------------------- */

/* Takes the locks of the transaction on all copies, and sets txn->locked; then calls next. */
void txn_lock (struct txn *txn, void (*next) (struct txn *txn));
void txn_unlock (struct txn *txn, void (*next) (struct txn *txn));

/* --- eager-lock.c ----------------------------------------------------------------------------- */

/* Runs an operation on data under the inode's eager lock, as soon as the lock is held and no
 * earlier operation touches the same bytes. */
void eager_begin (struct changing *op);
void eager_op_done (struct changing *op);

/* transaction.c calls eager_ready after the locks and the pre-op have succeeded. If they failed, it
 * calls eager_give_up, and then fails the operations in *ret_ops. It calls eager_ended after the
 * unlock. */
void eager_ready (struct txn *txn);
void eager_give_up (struct txn *txn, GQueue *ret_ops);
void eager_ended (struct txn *txn);

/* Returns whether the transaction has overwritten bytes whose new values may not be on the disk of
 * a brick yet. */
bool eager_overwrote (const struct txn *eager);

/* eager_release releases the eager lock of an inode as soon as no operation runs under it.
 * eager_wanted does so if another client waits for that lock. eager_release_all does so for all
 * inodes. */
void eager_release (xlator_t *this, inode_t *inode);
void eager_wanted (xlator_t *this, const struct lock_contention *wanted);
void eager_release_all (xlator_t *this);

/* --- calls.c ---------------------------------------------------------------------------------- */

/* Handles all operations that change something, except an open with O_TRUNC. */
any_fop_t change_any_fop;
#define CHANGES                                                                                    \
    ((OPS_CHANGE & ~OPSET_OF (FOP_open)) | OPSET_OF (FOP_fsync) | OPSET_OF (FOP_xattrop)           \
     | OPSET_OF (FOP_fxattrop))

/* Truncates a file that was opened with O_TRUNC, as an operation under its eager lock: a concurrent
 * write then comes before the truncation on all copies, or after it on all. After success calls
 * `answer` with that operation. Its member `create` is set to `create`, the operation that has
 * opened the file, or NULL after an open(2). */
void open_truncate (call_frame_t *frame, xlator_t *this, fd_t *fd, struct changing *create,
                    void (*answer) (struct changing *op));
void create_answer (struct changing *op);

#endif

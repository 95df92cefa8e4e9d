/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that change something, and their transactions.
 *
 *   calls.c         from a call to its operation, and to the copies
 *   changing.c      the checks before a transaction, and the judgement of the answers
 *   transaction.c   lock, pre-op, post-op, unlock
 *   lock.c          the locks on all copies
 *   eager-lock.c    the transaction that the changes of a file's data share
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_CHANGES_H
#define WINDLASS_CLUSTER_REPLICATE_CHANGES_H

#include "../copies/copies.h"

/* --- changing.c ------------------------------------------------------------------------------- */

#define LOCKS_MAX 3

/* A lock on all copies: on an inode, or with `entry` on a name in a directory; name NULL: on all
 * its names. */
struct lockee {
    inode_t *inode;  /* with a reference */
    bool entry;
    char *name;
    copies_t locked; /* copies that have granted it */
};

/* A changing operation: the local of the caller's frame. */
struct changing {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    enum fop fop;
    enum counter_kind kind;
    call_stub_t *stub;             /* the call, until it goes to the copies */
    void (*answer) (struct changing *op); /* called after success; NULL: changing_answer passes the
                                           * answer of the best copy on */
    inode_t *subject[2];           /* inodes whose changelog accuses: the file, or the directories
                                    * of the names; with references */
    char *entry[2];                /* names that change in these directories */
    inode_t *object;               /* the inode of a link or rename, with a reference; or NULL */
    inode_t *emptied;              /* a directory that must be empty, with a reference; or NULL */
    fd_t *fd;                      /* with a reference, or NULL */
    struct lockee locks[LOCKS_MAX];
    unsigned n_locks;
    struct byte_claim claim;       /* of a change of data; replicate_inode.lock */
    uint32_t flags;                /* of a create */
    bool makes;                    /* the call makes an object; the answers have its inode */
    unsigned generation;           /* priv->generation when the operation began */
    copies_t children;             /* that get the call */

    struct fan_out fan;            /* the answers, by child */
    copies_t succeeded, failed;
    int op_ret, op_errno;          /* for the caller */
    int best;                      /* the copy whose answer the caller gets */
    struct readable readable;      /* of subject[0] */
    unsigned checked;              /* number of inodes that need no further refresh, in the order
                                    * subject[0], subject[1], emptied */
    struct txn *txn;
    struct changing *create;       /* the create that a truncate is a part of, or NULL */
};

/* Makes the struct of an operation, and stores it as the local of `frame`. If the operation
 * fails on a copy, the changelog of `inode` accuses that copy. */
struct changing *changing_new (call_frame_t *frame, xlator_t *this, enum fop fop,
                               enum counter_kind kind, inode_t *inode);
void changing_lock (struct changing *op, inode_t *inode, bool entry, const char *name);

/* The operation removes this directory, so it locks all names in it. */
void changing_empties (struct changing *op, inode_t *directory);

/* Takes the kept call; NULL: there was no memory. The last step of the call. */
void changing_begin (struct changing *op, call_stub_t *stub);

void changing_run (struct changing *op, copies_t children);
void changing_done (call_frame_t *frame); /* all children have answered */
void changing_answer (struct changing *op); /* the last step */
void changing_fail (struct changing *op, int error);

/* --- transaction.c ---------------------------------------------------------------------------- */

enum eager_state { EAGER_LOCKING, EAGER_LOCKED, EAGER_ENDING };

/* The writes on a copy since its last fsync; INT64_MAX: none. */
struct written {
    off_t size_before; /* smallest file size before such a write */
    off_t first;       /* first byte of those that were no append */
};

struct txn {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame; /* of a request of its own */
    struct fan_out fan;
    enum counter_kind kind;
    inode_t *subject[2]; /* with references */
    char *entry[2];
    fd_t *fd;            /* with a reference, or NULL */
    loc_t locs[2];       /* of the subjects, which they borrow */
    struct lockee locks[LOCKS_MAX];
    unsigned n_locks;

    copies_t children;   /* up at the start */
    copies_t locked;     /* copies that have granted all locks */
    copies_t failed;     /* of those; with an eager lock, replicate_inode.lock guards it */
    bool dirtied;        /* the pre-op has raised the dirty counters */
    bool changed;        /* an operation has changed a copy */
    bool doubtful;       /* an operation failed on a copy, which may have done it nevertheless */
    bool missed[2];      /* of the subjects: inode_missed; replicate_inode.lock */
    bool no_quorum;      /* the change reached too few copies: it accuses none, and stays dirty */
    int error;           /* of the locks, or of the post-op */
    void (*next) (struct txn *txn);
    unsigned at;         /* of locks that are taken one by one */
    struct changing *op; /* of attributes and names */
    void *data;          /* for `next`, of a transaction made by txn_of_name */

    /* A new object, which accuses the copies that lack it. */
    inode_t *made;       /* with a reference, or NULL */
    ia_type_t made_type;
    copies_t made_on;

    /* eager-lock.c; guarded by replicate_inode.lock, but for generation, refs, link */
    enum eager_state state;
    GQueue unanswered;   /* of struct changing: operations that failed on a copy */
    bool release;        /* end as soon as no operation runs */
    bool patient;        /* wait post-op-delay-secs for another operation */
    struct written written[COPIES_MAX];
    core_timer_t *timer;
    unsigned generation; /* priv->generation when the transaction began; constant */
    int refs;            /* one, and one for the timer; atomic */
    GList link;          /* in priv->eager_locks; priv->lock */
};

struct txn *txn_new (xlator_t *this, struct changing *op);

/* A transaction that only locks a name: for txn_lock, txn_unlock and txn_free. */
struct txn *txn_of_name (xlator_t *this, call_frame_t *caller, inode_t *directory, const char *name,
                         void *data);
void txn_free (struct txn *txn);

/* Lock and pre-op; then calls eager_ready for a change of data, else runs the operation. */
void txn_begin (struct txn *txn);

/* Post-op and unlock. */
void txn_end (struct txn *txn);

/* All copies have answered the operation of a transaction of attributes or names. */
void txn_op_done (struct txn *txn, struct changing *op);

/* --- lock.c ----------------------------------------------------------------------------------- */

/* Locks all copies, and sets txn->locked; then calls next. */
void txn_lock (struct txn *txn, void (*next) (struct txn *txn));
void txn_unlock (struct txn *txn, void (*next) (struct txn *txn));

/* --- eager-lock.c ----------------------------------------------------------------------------- */

/* Runs an operation on data under the inode's eager lock, as soon as it may. */
void eager_begin (struct changing *op);
void eager_op_done (struct changing *op);

/* Called by transaction.c: lock and pre-op have succeeded; or failed, and the caller fails the
 * operations in *ret_ops; the transaction has ended. */
void eager_ready (struct txn *txn);
void eager_give_up (struct txn *txn, GQueue *ret_ops);
void eager_ended (struct txn *txn);

/* Returns whether the transaction has overwritten bytes that may be in a brick's memory only. */
bool eager_overwrote (const struct txn *eager);

/* Gives the eager lock of an inode up once no operation runs under it; eager_wanted: if it is the
 * lock that another client waits for; eager_release_all: of all inodes. */
void eager_release (xlator_t *this, inode_t *inode);
void eager_wanted (xlator_t *this, const struct lock_contention *wanted);
void eager_release_all (xlator_t *this);

/* --- calls.c ---------------------------------------------------------------------------------- */

/* All operations that change something, except an open with O_TRUNC. */
any_fop_t change_any_fop;
#define CHANGES                                                                                    \
    ((OPS_CHANGE & ~OPSET_OF (FOP_open)) | OPSET_OF (FOP_fsync) | OPSET_OF (FOP_xattrop)           \
     | OPSET_OF (FOP_fxattrop))

/* Truncates a file that was opened with O_TRUNC, under its eager lock: a concurrent write comes
 * before the truncation on all copies, or after it. Then calls answer, with `create` in its
 * operation. */
void open_truncate (call_frame_t *frame, xlator_t *this, fd_t *fd, struct changing *create,
                    void (*answer) (struct changing *op));
void create_answer (struct changing *op);

#endif

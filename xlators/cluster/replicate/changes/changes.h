/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that change something, and their transactions. */
#ifndef WINDLASS_CLUSTER_REPLICATE_CHANGES_H
#define WINDLASS_CLUSTER_REPLICATE_CHANGES_H

#include "../copies/copies.h"

/* --- op.c ------------------------------------------------------------------------------------- */

#define LOCKS_MAX 3

/* Something to lock on all copies: an inode, or with `entry` a name in it; name NULL: all names. */
struct lockee {
    inode_t *inode; /* with a reference */
    bool entry;
    char *name;
    copies_t locked;
};

/* A changing operation: the local of the caller's frame. */
struct op {
    struct local head;
    xlator_t *this;
    call_frame_t *frame;
    enum fop fop;
    enum counter_kind kind;
    call_stub_t *stub;                /* winds to children */
    void (*answer) (struct op *op);   /* answers after success; NULL: with the best copy's answer */
    inode_t *subject[2];              /* what is marked: the file, or the directories; with
                                       * references */
    char *entry[2];                   /* names that change in these directories */
    inode_t *object;                  /* that link or rename names; with a reference, or NULL */
    inode_t *emptied;                 /* a directory that must be empty, with a reference, or
                                       * NULL */
    fd_t *fd;                         /* with a reference, or NULL */
    struct lockee locks[LOCKS_MAX];
    unsigned n_locks;
    struct byte_claim claim;          /* of data: replicate_inode.lock */
    uint32_t flags;                   /* of a create */
    bool makes;                       /* an object: its inode is in the answers */
    unsigned generation;              /* of children, at the start */
    copies_t children;                /* asked */

    struct fan_out fan;
    copies_t succeeded, failed;
    int op_ret, op_errno;
    int best;                         /* the child whose answer is returned */
    struct readable readable;         /* of subject[0] */
    unsigned checked;                 /* inodes that are fresh: the subjects, then `emptied` */
    struct txn *txn;
    struct op *create;                /* that a truncate belongs to, or NULL */
};

/* Returns the operation of frame, as its local. A copy that fails is accused by `inode`. */
struct op *op_new (call_frame_t *frame, xlator_t *this, enum fop fop, enum counter_kind kind,
                   inode_t *inode);
void op_lock (struct op *op, inode_t *inode, bool entry, const char *name);

/* The operation removes this directory: no copy may get a new name in it meanwhile. */
void op_empties (struct op *op, inode_t *directory);

/* Takes the kept call; NULL: there was no memory. The last step of the call. */
void op_begin (struct op *op, call_stub_t *stub);

void op_run (struct op *op, copies_t children);
void op_done (call_frame_t *frame); /* all children have answered */
void op_answer (struct op *op);     /* the last step */
void op_fail (struct op *op, int error);

/* --- transaction.c ---------------------------------------------------------------------------- */

enum eager_state { EAGER_LOCKING, EAGER_LOCKED, EAGER_ENDING };

/* What a copy has written since the last fsync. INT64_MAX: there was no such write. */
struct written {
    off_t size_before; /* the smallest size of the file that a write found */
    off_t first;       /* the first byte of writes that were no append */
};

struct txn {
    struct local head;
    xlator_t *this;
    call_frame_t *frame; /* of a request of its own */
    struct fan_out fan;
    enum counter_kind kind;
    inode_t *subject[2]; /* with references */
    char *entry[2];
    fd_t *fd;            /* with a reference, or NULL */
    loc_t locs[2];       /* of the subjects; they borrow them */
    struct lockee locks[LOCKS_MAX];
    unsigned n_locks;

    copies_t children;   /* that were up at the start */
    copies_t locked;     /* on which all is locked */
    copies_t failed;     /* of those; a hold: replicate_inode.lock */
    bool dirtied;        /* the pre-op has marked them */
    bool changed;        /* an operation has changed something */
    bool missed[2];      /* of the subjects: inode_missed; the lock of the inode's context */
    bool no_quorum;     /* the change has no quorum: it stays dirty, and accuses no copy */
    int error;           /* of the locks, or of the post-op */
    void (*next) (struct txn *txn);
    unsigned at;         /* of locks taken one by one */
    struct op *op;       /* of metadata, entries */
    void *data;          /* for `next` of one that only locks: txn_of_name */

    /* A new object, to be marked on the copies that have it. */
    inode_t *made;       /* with a reference, or NULL */
    ia_type_t made_type;
    copies_t made_on;

    /* hold.c; under the lock of the inode's context */
    enum eager_state state;
    GQueue unanswered; /* of struct op */
    bool release, patient;
    struct written written[COPIES_MAX];
    core_timer_t *timer;
    unsigned generation; /* of children, at the start; constant */
    int refs;            /* the eager, and its timer; atomic */
    GList link;          /* in priv->eager_locks; priv->lock */
};

struct txn *txn_new (xlator_t *this, struct op *op);

/* Only to lock a name, as if it were changed: for txn_lock, txn_unlock and txn_free. */
struct txn *txn_of_name (xlator_t *this, call_frame_t *caller, inode_t *directory, const char *name,
                         void *data);
void txn_free (struct txn *txn);

/* Locks and marks; then calls eager_ready for data, or runs the operation. */
void txn_begin (struct txn *txn);

/* Post-op and unlock. */
void txn_end (struct txn *txn);

/* The operation of a transaction of its own has run. */
void txn_op_done (struct txn *txn, struct op *op);

/* --- lock.c ----------------------------------------------------------------------------------- */

/* Locks all copies; then next, with txn->locked. */
void txn_lock (struct txn *txn, void (*next) (struct txn *txn));
void txn_unlock (struct txn *txn, void (*next) (struct txn *txn));

/* --- eager-lock.c ----------------------------------------------------------------------------- */

/* An operation on data: it joins the eager, or waits for one. */
void eager_begin (struct op *op);
void eager_op_done (struct op *op);
void eager_ready (struct txn *txn);              /* locked and marked */
void eager_give_up (struct txn *txn, GQueue *ret_ops); /* not locked: its operations are to fail */
void eager_ended (struct txn *txn);

/* Has it written bytes that were there before, and that may be in the memory of a brick only? */
bool eager_overwrote (const struct txn *eager);

/* Ends the hold of an inode, or all of them, once nothing runs in it. */
void eager_release (xlator_t *this, inode_t *inode);
void eager_wanted (xlator_t *this, const struct lock_contention *wanted);
void eager_release_all (xlator_t *this);

/* --- change.c --------------------------------------------------------------------------------- */

/* All operations that change something, but an open with O_TRUNC. */
any_fop_t change_any_fop;
#define CHANGES                                                                                    \
    ((OPS_CHANGE & ~OPSET_OF (FOP_open)) | OPSET_OF (FOP_fsync) | OPSET_OF (FOP_xattrop)           \
     | OPSET_OF (FOP_fxattrop))

/* Truncates a file that was opened with O_TRUNC, under the lock of its data: a write beside it
 * comes before or after it on all copies. Then calls answer, with `create` in its operation. */
void open_truncate (call_frame_t *frame, xlator_t *this, fd_t *fd, struct op *create,
                    void (*answer) (struct op *op));
void create_answer (struct op *op);

#endif

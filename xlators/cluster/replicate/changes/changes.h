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
    void (*answer) (struct op *op);   /* answers after success, from op->best */
    inode_t *subject[2];              /* what is marked: the file, or the directories; with
                                       * references */
    char *entry[2];                   /* names that change in these directories */
    inode_t *object;                  /* that link or rename names; with a reference, or NULL */
    inode_t *emptied;                 /* a directory that must be empty, with a reference, or
                                       * NULL */
    fd_t *fd;                         /* with a reference, or NULL */
    struct lockee locks[LOCKS_MAX];
    unsigned n_locks;
    off_t from, to;                   /* of data: the bytes that it may change */
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

/* Returns frame's operation as the local of frame. inode is what is marked. */
struct op *op_new (call_frame_t *frame, xlator_t *this, enum fop fop, enum counter_kind kind,
                   inode_t *inode, void (*answer) (struct op *op));
void op_lock (struct op *op, inode_t *inode, bool entry, const char *name);

/* The operation removes this directory: no copy may get a new name in it meanwhile. */
void op_empties (struct op *op, inode_t *directory);

/* Takes a stub that winds with OP_WIND; NULL: there was no memory. The last step of a fop. */
void op_begin (struct op *op, call_stub_t *stub);

/* Winds the operation of frame to all its children. */
#define OP_WIND(frame_, fop_, ...)                                                                 \
    do {                                                                                           \
        struct op *const op_ = (frame_)->local;                                                    \
        replicate_t *const priv_ = op_->this->private;                                             \
        fan_begin (&op_->fan, op_done);                                                            \
        for (unsigned at_ = 0; at_ < priv_->n; at_++)                                              \
            if (op_->children & COPY (at_))                                                        \
                FAN_WIND (&op_->fan, at_, priv_->children[at_], fop_, __VA_ARGS__);                \
        fan_end (&op_->fan);                                                                       \
    } while (0)

void op_run (struct op *op, copies_t children);
void op_done (call_frame_t *frame); /* all children have answered */
void op_answer (struct op *op);     /* the last step */
void op_fail (struct op *op, int error);

/* The answer to return, of the operation's own type. */
#define OP_REPLY(op_, fop_) (&(op_)->fan.answers[(op_)->best].fop_)

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
    GQueue running, unanswered; /* of struct op */
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

/* --- changing operations ---------------------------------------------------------------------- */

/* data.c */
writev_fop replicate_writev;
truncate_fop replicate_truncate;
ftruncate_fop replicate_ftruncate;
fallocate_fop replicate_fallocate;
discard_fop replicate_discard;
zerofill_fop replicate_zerofill;
fsync_fop replicate_fsync;
copy_file_range_fop replicate_copy_file_range;

/* Truncates a file that was opened with O_TRUNC, and then calls answer, with `create` in the
 * operation. A write beside it comes before or after it on all copies, which truncate under the
 * lock of the data. */
void open_truncate (call_frame_t *frame, xlator_t *this, fd_t *fd, struct op *create,
                    void (*answer) (struct op *op));

/* metadata.c */
setattr_fop replicate_setattr;
fsetattr_fop replicate_fsetattr;
setxattr_fop replicate_setxattr;
fsetxattr_fop replicate_fsetxattr;
removexattr_fop replicate_removexattr;
fremovexattr_fop replicate_fremovexattr;
xattrop_fop replicate_xattrop;
fxattrop_fop replicate_fxattrop;

/* entry.c */
create_fop replicate_create;
mknod_fop replicate_mknod;
mkdir_fop replicate_mkdir;
symlink_fop replicate_symlink;
link_fop replicate_link;
unlink_fop replicate_unlink;
rmdir_fop replicate_rmdir;
rename_fop replicate_rename;

#endif

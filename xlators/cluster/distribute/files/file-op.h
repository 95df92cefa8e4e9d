/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An operation on one subvolume, mostly on a file, which a rebalance may move meanwhile. files.c
 * winds it; rebalance.c has the steps that follow its answer. */
#ifndef WINDLASS_DISTRIBUTE_FILE_OP_H
#define WINDLASS_DISTRIBUTE_FILE_OP_H

#include "../distribute.h"

#define TRIES 5 /* maximum number of attempts to find a file that a rebalance moves */

/* Steps of rebalance.c.
 *
 * FILE_ASK_FOR_END: the operation has changed data, owner, group or mode of a file while a
 * rebalance copies the file. The operation is not repeated on the copy, for two reasons. The
 * rebalance would set the old owner and mode on the copy. And if the rebalance abandoned the
 * move, data that clients had written to the copy would stay there, and be in the file after the
 * next move. So the client makes the rebalance abandon the move, waits for the end of the move,
 * and repeats the operation if the file has moved nevertheless.
 *
 * FILE_RESTORE: the operation has given a new mode to the linkto that the move of a file has
 * left. Clients recognise a linkto by its mode. Without that mode, they would not notice the
 * move, and would continue to use the fds that are open on the linkto.
 *
 * FILE_WAIT: the operation has truncated a file that has no marks of a move. A rebalance gives
 * the copy the size of the file a moment before it sets the marks. If the truncate came between
 * the two, the copy would keep the old size. */
enum {
    FILE_ASK_FOR_BOTH = 1 << 0, /* find the copy of a move, and do the operation on it, too */
    FILE_ASK_FOR_END = 1 << 1,  /* find the copy, make the rebalance abandon the move, and wait */
    FILE_ASK_FOR_MARK = 1 << 2, /* find the copy, then FILE_MARK: a setattr has removed the marks */
    FILE_MARK = 1 << 3,         /* set again the mode bits that mark a moving file */
    FILE_RESTORE = 1 << 4,      /* undo the call's change of the mode of a linkto */
    FILE_PROTECT = 1 << 5,      /* make the brick refuse the rebalance's writes to the copy */
    FILE_WAIT = 1 << 6,         /* wait for the end of a move, by taking the data lock */
    FILE_CHECK = 1 << 7,        /* stat the file: see whether it had moved before the operation */
    FILE_UNLOCK = 1 << 8,       /* release a record lock that was taken on a linkto */
    FILE_FIND = 1 << 9,         /* look the file up, to find its subvolume */
    FILE_EMPTY = 1 << 10,       /* truncate to 0 bytes the linkto that the move has left behind */
    FILE_GO = 1 << 11,          /* open the file on `child`, and repeat the call there */
};

/* State of an operation that is wound to one subvolume, mostly an operation on a file. */
struct file_op {
    struct op op;
    unsigned todo;              /* set of FILE_*: the steps that are still to run */
    struct call_stub *call;     /* arguments of the call, which may be repeated; or NULL */
    struct answer_stub *answer; /* answer of subvolume `answered`, kept while steps run, or NULL;
                                 * afterwards it is passed on, or the call is repeated */
    int answered;               /* subvolume that has sent `answer`, or NO_CHILD */
    inode_t *inode;             /* inode of the file; with a reference */
    fd_t *fd;                   /* fd of the call, with a reference; or NULL */
    int child;                  /* subvolume to which the call is wound */
    int target;                 /* subvolume to which the file is being copied, or NO_CHILD */
    bool chosen;                /* `child` is already set for the repeated call */
    bool both;                  /* the call is repeated on the copy of a move, on `child` */
    bool settled;               /* any move that began before the call has ended */
    bool dirty;                 /* the call has written data to a linkto on `answered` */
    bool checks;                /* FILE_CHECK follows if the call succeeds */
    uint32_t rights;            /* set of IATT_*: those of owner, group, mode that the call sets */
    struct iatt changed;        /* attributes of the file after the call, if `rights` is not 0 */
};

/* Looks the file up, since it may have moved. If it has, repeats the operation on its new
 * subvolume. If not, passes the kept answer on, or fails with op_errno if no answer was kept. */
void file_find (struct file_op *file, int op_errno);

/* Returns whether an operation takes or releases record locks. A flock counts: GlusterFS's
 * protocol carries it as a record lock on the whole file. */
static inline bool
op_locks (enum fop op)
{
    return op == FOP_lk || op == FOP_flock;
}

static inline bool
op_truncates (enum fop op)
{
    return op == FOP_truncate || op == FOP_ftruncate;
}

/* Repeats the kept call on subvolume `child`. For a call on an fd, first opens the fds of the
 * file on `child`. */
void file_go (struct file_op *file, int child);

/* Runs the steps in `todo`, a set of FILE_*. Then passes the kept answer on, or winds the call
 * again. */
void file_do (struct file_op *file, unsigned todo);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/open-behind.
 *
 *   open-behind.c   options, init and fini, dumps
 *   open.c          open: answered early or passed through; sent when an operation needs it
 *   order.c         the operations that need it: those on the fd, and those on its inode after
 *                   which the open could be refused
 *   known.c         which callers storage is known to let open an inode
 *
 * An open that was answered and not sent is a struct ob_fd in the fd's slot:
 *
 *   inode --ctx--> ob_inode --pending--> ob_fd, ob_fd, ...   answered, not done; no reference of
 *                                          |                 an fd whose open was not sent
 *                                          blocked: calls that wait for it, once it was sent
 *
 *   OB_WAITING --an operation needs it--> OB_SENT --> OB_OPEN or OB_FAILED
 *
 * From OB_FAILED on every operation on the fd fails with that error.
 *
 * Locks: ob_inode.lock and private.lock, both leaves; no lock is held across a wind or an unwind.
 *
 * Reasons:
 *
 * - Only an open to read is answered early, and only for callers that storage is known to admit:
 *   the superuser, the owner by the mode, and callers that opened the file before. So open(2)
 *   itself returns EACCES, ETXTBSY and EROFS, also without default_permissions, and execve of a
 *   program that can't be read works. GlusterFS answers all opens but O_TRUNC, and the first read
 *   fails.
 * - The open is sent in a request of its own, with the opener's identity (struct stack_caller, kept
 *   with the fd): the operation that needs it may be another caller's. Its error stays with the fd.
 * - An operation after which opens may be refused counts in the inode from before it waits until it
 *   is answered, and opens meanwhile pass through. So the operation waits for earlier opens, never
 *   for later ones, and knowledge requested meanwhile is not used.
 * - Pending fds are found by their inode without a reference, so that release comes:
 *   fd_ref_living.
 * - Attributes of a pending fd are those of its inode, by stat: that needs no open.
 */
#ifndef WINDLASS_OPEN_BEHIND_H
#define WINDLASS_OPEN_BEHIND_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

#define OB_CALLERS 4 /* callers per inode that are remembered to have opened it */

typedef struct {
    bool lazy; /* option; atomic */

    struct change_clock clock; /* counts changes after which an open may be refused */
    struct change_view any;    /* such changes of an unknown inode; written under lock */

    struct {
        uint64_t early, through, sent, spared, failed, stats, closes; /* atomic, for the dump */
    } count;

    pthread_mutex_t lock;
    pthread_cond_t idle;   /* signalled when sent becomes 0 */
    unsigned sent;         /* atomic, written under lock: opens on their way */
} ob_private_t;

enum ob_state { OB_WAITING, OB_SENT, OB_OPEN, OB_FAILED };

struct ob_fd {
    fd_t *fd;                    /* with a reference while OB_SENT */
    struct ob_inode *obi;        /* constant */
    uint32_t flags;              /* flags of the open; constant */
    int state;                   /* atomic, written under obi->lock */
    int error;                   /* positive errno of OB_FAILED; set before state */
    GList place;                 /* in obi->pending; obi->lock */
    GQueue blocked;              /* of struct ob_waiter; obi->lock */
    struct stack_caller *caller; /* constant */
};

struct ob_inode {
    pthread_mutex_t lock;
    GQueue pending;      /* lock: of struct ob_fd, OB_WAITING and OB_SENT */
    unsigned n_pending;  /* length of pending; atomic, written under lock */
    struct change_view view; /* lock: operations after which an open could be refused */
    bool locked;         /* lock: a record lock or flock was taken; from then on no open is answered
                            early, since closes count */

    /* Attributes from storage that decide about opens; lock. */
    bool known;
    uint64_t known_at;   /* private.clock when they were requested */
    uint32_t uid, mode;
    int64_t ctime;
    uint32_t ctime_nsec;
    struct stack_caller *callers[OB_CALLERS]; /* callers that opened it to read since its last
                                                 change, the most recent first; NULL: free */
};

/* Kept with a request until its answer; unused fields are NULL. */
struct ob_local {
    struct stack_caller *caller; /* the opener */
    uint64_t clock;              /* private.clock when the request went down */
    bool begun;                  /* a change has begun for first and second */
    bool any;                    /* and for all inodes, since the changed inode is not known */
    inode_t *first, *second;
};

/* An operation that waits for opens; resumes when blockers reaches 0. */
struct ob_waiter {
    int blockers; /* atomic */
    call_stub_t *stub;
};

/* Work collected under a lock. Passed to ob_run after the lock is released. */
struct ob_work {
    GQueue send;  /* of struct ob_fd, which have just become OB_SENT */
    GQueue ready; /* of struct ob_waiter */
};

#define OB_WORK_INIT { G_QUEUE_INIT, G_QUEUE_INIT }

/* --- open-behind.c --- */

static inline ob_private_t *
ob_priv (const xlator_t *this)
{
    return this->private;
}

void ob_local_drop (xlator_t *this, void *local);

#define OB_COUNT(this_, field_) \
    __atomic_add_fetch (&ob_priv (this_)->count.field_, 1, __ATOMIC_RELAXED)

struct ob_inode *ob_inode_get (xlator_t *this, inode_t *inode);  /* NULL if there is none, or if
                                                                    inode is NULL */
struct ob_inode *ob_inode_make (xlator_t *this, inode_t *inode); /* never NULL */

/* --- open.c --- */

open_fop ob_open;
void ob_release (xlator_t *this, fd_t *fd);

/* The fd's state if its open was answered early, else NULL. */
static inline struct ob_fd *
ob_fd_get (xlator_t *this, fd_t *fd)
{
    return fd ? fd_ctx_get (fd, this) : NULL;
}

static inline enum ob_state
ob_state (const struct ob_fd *obf)
{
    return __atomic_load_n (&obf->state, __ATOMIC_ACQUIRE);
}

/* Returns true if the fd needs no care: its open is done, or was never early. Takes NULL. */
static inline bool
ob_is_open (const struct ob_fd *obf)
{
    return !obf || ob_state (obf) == OB_OPEN;
}

/* Makes waiter wait for the open. Sends the open if it is pending. */
void ob_wait_for (struct ob_fd *obf, struct ob_waiter *waiter, struct ob_work *work);

/* Makes waiter wait for all pending opens of the inode. */
void ob_wait_for_all (struct ob_inode *obi, struct ob_waiter *waiter, struct ob_work *work);

/* Sends the opens and resumes the waiters in work. Without locks; afterwards the caller's frame may
 * be gone. */
void ob_run (xlator_t *this, struct ob_work *work);

/* --- order.c --- */

any_fop_t ob_any_fop;
any_fop_cbk_t ob_any_fop_cbk;
readv_fop ob_readv;
writev_fop ob_writev;
fstat_fop ob_fstat;
flush_fop ob_flush;

/* Operations after which an open may be refused that was permitted before. */
#define OB_CHANGING                                                                                \
    (OPS_CHANGE_XATTRS | OPSET_OF (FOP_unlink) | OPSET_OF (FOP_rename) | OPSET_OF (FOP_truncate)   \
     | OPSET_OF (FOP_ftruncate))

#define OB_LOCKING OPS_CHANGE_LOCKS

/* All other operations that need an open fd. */
#define OB_USING                                                                                   \
    (OPS_CHANGE_DATA | OPSET_OF (FOP_fsync) | OPSET_OF (FOP_fgetxattr) | OPSET_OF (FOP_seek))

/* --- known.c --- */

lookup_fop ob_lookup;
readdirp_fop ob_readdirp;
create_fop ob_create;

/* Begins and ends a change after which opens of the inode may be refused; NULL: the inode is not
 * known. */
void ob_change_begin (xlator_t *this, struct ob_inode *obi);
void ob_change_end (xlator_t *this, struct ob_inode *obi);

/* Drops the knowledge of an inode; NULL: of all. */
void ob_unknow (xlator_t *this, struct ob_inode *obi);

/* Returns true if storage is known to let the caller open the file to read. Under obi->lock. */
bool
ob_is_let_in_locked (xlator_t *this, const struct ob_inode *obi, const struct stack_caller *caller);

/* Notes that storage let the caller in, by an open that went down at that clock. Takes ownership of
 * caller. */
void ob_let_in (xlator_t *this, struct ob_inode *obi, struct stack_caller *caller, uint64_t clock);

void ob_callers_clear (struct ob_inode *obi);

static inline uint64_t
ob_clock (xlator_t *this)
{
    return change_clock_now (&ob_priv (this)->clock);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/open-behind.
 *
 *   open-behind.c   options, beginning and end, dumps
 *   open.c          an open: answered at once, or passed through; sent when somebody needs it
 *   order.c         what needs it: operations on the fd, and those on its inode after which the
 *                   open could be refused
 *   known.c         what is known of an inode, so that nobody is let in whom storage would refuse
 *
 * An open that was answered and not sent is a struct ob_fd in the fd's slot:
 *
 *   inode --ctx--> ob_inode --pending--> ob_fd, ob_fd, ...   answered, not done; no reference of
 *                                          |                 an fd whose open wasn't sent
 *                                          blocked: calls that wait for it, once it was sent
 *
 *   OB_WAITING --something needs it--> OB_SENT --> OB_OPEN or OB_FAILED
 *
 * From OB_FAILED on every operation on the fd fails with that error.
 *
 * Locks: ob_inode.lock and private.lock, both leaves; nothing is wound or answered under them.
 *
 * Reasons:
 *
 * - Only an open to read is answered early, and only for callers whom storage has shown to admit:
 *   the superuser, the owner by the mode, and callers that opened the file before. So open(2)
 *   itself returns EACCES, ETXTBSY and EROFS, also without default_permissions, and execve of a
 *   program that can't be read works. GlusterFS answers all opens but O_TRUNC, and the first read
 *   fails.
 * - The open is sent in a request of its own, as the caller that opened (struct stack_caller, kept
 *   with the fd): the operation that needs it may be another caller's. Its error stays with the fd.
 * - What may have opens refused counts in the inode from before it waits until it is answered, and
 *   opens meanwhile pass through. So it waits for earlier opens, never for later ones, and an
 *   answer that was asked for meanwhile isn't believed.
 * - fds that wait are found by their inode without a reference, so that release comes:
 *   fd_ref_living.
 * - Attributes of an fd that waits are those of its inode, by stat: that needs no open.
 */
#ifndef WINDLASS_OPEN_BEHIND_H
#define WINDLASS_OPEN_BEHIND_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

#define OB_CALLERS 4 /* of an inode, who are remembered to have opened it */

typedef struct {
    bool lazy; /* option; atomic */

    struct change_clock clock; /* of what may have an open refused */
    struct change_view any;    /* of that, what is about an inode that isn't known; written under
                                  lock */

    struct {
        uint64_t early, through, sent, spared, failed, stats, closes; /* atomic, for the dump */
    } count;

    pthread_mutex_t lock;
    pthread_cond_t idle;   /* sent has become 0 */
    unsigned sent;         /* atomic, written under lock: opens that are on their way */
} ob_private_t;

enum ob_state { OB_WAITING, OB_SENT, OB_OPEN, OB_FAILED };

struct ob_fd {
    fd_t *fd;                    /* a reference is held while it is OB_SENT */
    struct ob_inode *obi;        /* constant */
    uint32_t flags;              /* of the open; constant */
    int state;                   /* atomic, written under obi->lock */
    int error;                   /* positive, of OB_FAILED; set before state */
    GList place;                 /* in obi->pending; obi->lock */
    GQueue blocked;              /* of struct ob_waiter; obi->lock */
    struct stack_caller *caller; /* constant */
};

struct ob_inode {
    pthread_mutex_t lock;
    GQueue pending;      /* lock: of struct ob_fd, OB_WAITING and OB_SENT */
    unsigned n_pending;  /* its length; atomic, written under lock */
    struct change_view view; /* lock: of operations after which an open could be refused */
    bool locked;         /* lock: there was a record lock, or flock; from then on no open is
                            answered early, since closes count */

    /* What storage said of it, as far as it decides about opens; lock. */
    bool known;
    uint64_t known_at;   /* private.clock when it was asked */
    uint32_t uid, mode;
    int64_t ctime;
    uint32_t ctime_nsec;
    struct stack_caller *callers[OB_CALLERS]; /* who opened it to read since it changed last, the
                                                 latest first; NULL: none */
};

/* Kept with a request until its answer; what isn't needed is NULL. */
struct ob_local {
    struct stack_caller *caller; /* who opens */
    uint64_t clock;              /* private.clock when it went down */
    bool begun;                  /* a change, which was told to first and second */
    bool any;                    /* and to all, since which inode it was about isn't known */
    inode_t *first, *second;
};

/* An operation that waits for opens; at 0 it goes on. */
struct ob_waiter {
    int blockers; /* atomic */
    call_stub_t *stub;
};

/* What is to be done, collected under a lock, for ob_run without one. */
struct ob_work {
    GQueue send;  /* of struct ob_fd, just made OB_SENT */
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

struct ob_inode *ob_inode_get (xlator_t *this, inode_t *inode);  /* NULL: none, or inode is NULL */
struct ob_inode *ob_inode_make (xlator_t *this, inode_t *inode); /* never NULL */

/* --- open.c --- */

open_fop ob_open;
void ob_release (xlator_t *this, fd_t *fd);

/* The fd's open if it was answered before it was done, else NULL. */
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

/* Is there nothing special about it? Takes NULL. */
static inline bool
ob_is_open (const struct ob_fd *obf)
{
    return !obf || ob_state (obf) == OB_OPEN;
}

/* Has waiter wait for the open, which is sent if it wasn't. */
void ob_wait_for (struct ob_fd *obf, struct ob_waiter *waiter, struct ob_work *work);

/* The same for all opens of the inode. */
void ob_wait_for_all (struct ob_inode *obi, struct ob_waiter *waiter, struct ob_work *work);

/* Sends what is to be sent, and lets go on what can. Without locks; nothing of the caller's may be
 * needed afterwards. */
void ob_run (xlator_t *this, struct ob_work *work);

/* --- order.c --- */

every_fop ob_every;
every_cbk ob_every_cbk;
readv_fop ob_readv;
writev_fop ob_writev;
fstat_fop ob_fstat;
flush_fop ob_flush;

/* After which a file that could be opened before may no longer be. */
#define OB_CHANGING                                                                                \
    (OPS_CHANGE_XATTRS | OPSET_OF (FOP_unlink) | OPSET_OF (FOP_rename) | OPSET_OF (FOP_truncate)   \
     | OPSET_OF (FOP_ftruncate))

#define OB_LOCKING OPS_CHANGE_LOCKS

/* All others that need an fd that is open. */
#define OB_USING                                                                                   \
    (OPS_CHANGE_DATA | OPSET_OF (FOP_fsync) | OPSET_OF (FOP_fgetxattr) | OPSET_OF (FOP_seek)       \
     | OPSET_OF (FOP_poll))

/* --- known.c --- */

lookup_fop ob_lookup;
readdirp_fop ob_readdirp;
create_fop ob_create;

/* An operation that may have opens of the inode refused begins, or has ended; NULL: which inode
 * isn't known. */
void ob_change_begin (xlator_t *this, struct ob_inode *obi);
void ob_change_end (xlator_t *this, struct ob_inode *obi);

/* What was known of it isn't so any more; NULL: of any. */
void ob_unknow (xlator_t *this, struct ob_inode *obi);

/* Would storage let him open the file to read, as far as is known? Under obi->lock. */
bool
ob_is_let_in_locked (xlator_t *this, const struct ob_inode *obi, const struct stack_caller *caller);

/* Storage let him, who asked at that clock. Takes caller over. */
void ob_let_in (xlator_t *this, struct ob_inode *obi, struct stack_caller *caller, uint64_t clock);

void ob_callers_clear (struct ob_inode *obi);

static inline uint64_t
ob_clock (xlator_t *this)
{
    return change_clock_now (&ob_priv (this)->clock);
}

#endif

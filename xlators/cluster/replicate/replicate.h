/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cluster/replicate: every child has a copy of everything.
 *
 *   a reading operation -> read.c: one good copy, and the next one if that fails
 *   a changing one      -> changes/op.c: checks, then a transaction (changes/transaction.c):
 *
 *     lock    all copies (changes/lock.c), against other clients and healers
 *     pre-op  mark the copies "dirty"
 *     wind    the operation to all copies that are there
 *     post-op make the data durable, mark the copies that failed, clear "dirty"
 *     unlock
 *
 * The order is what makes it safe. A mark "dirty" is on the disk of a brick before the change, and
 * is cleared only after the change is on its disk, and after the mark against a copy that missed
 * it. So whenever this client dies, a copy that differs is accused by another, or dirty.
 *
 * Changes of the data of one file share a transaction (changes/hold.c): while it is held, further
 * writes need only the wind. Metadata and entries skip pre-op and post-op while all copies are
 * there, as GlusterFS does.
 *
 * What is known of the copies of an inode is its context (copies.c): which may be read. It is known
 * anew (refresh.c) whenever a child comes or goes: the generation.
 *
 * Locks: replicate_inode.lock may be held while timers.lock is taken; all others are leaves.
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_REPLICATE_H
#define WINDLASS_CLUSTER_REPLICATE_REPLICATE_H

#include "sources.h"
#include "xlator.h"

struct txn;

typedef struct {
    /* Options. Online ones are atomic. */
    char *pending_names, *dirty_name, *read_name, *thin_arbiter;
    int quorum_type, favorite, read_mode;
    int64_t quorum_count, read_index, arbiters, post_op_delay, heal_window, heals_max,
        heals_waiting_max;
    bool eager, durable, granular, optimistic, choose_local, heals_metadata, heals_entries;
    int heals_data; /* index in data_heals of replicate.c */

    /* Constant after init. */
    unsigned n;
    xlator_t *children[COPIES_MAX];
    const char *names[COPIES_MAX];
    char *pending[COPIES_MAX]; /* names of marks */
    struct mark_names marks;
    int arbiter;               /* -1: none */
    copies_t near;             /* children on this machine */

    copies_t up;         /* atomic */
    unsigned generation; /* changes with up; never 0; atomic */
    uint64_t owners;     /* made so far: owners of locks; atomic */
    uint64_t looks;      /* at copies, begun so far; atomic */
    int64_t indexes[COPIES_MAX]; /* refresh.c: when a brick told of its index; atomic */
    uint64_t pending_reads[COPIES_MAX], latency[COPIES_MAX]; /* atomic */
    int64_t choice_lasts; /* choice.c: nanoseconds; atomic */
    int64_t failure_told[COPIES_MAX]; /* changes/op.c: when the log told of one; atomic */
    struct {
        uint64_t transactions, holds, accusations, refreshes, failovers; /* atomic */
    } numbers;

    pthread_mutex_t lock;  /* a leaf */
    pthread_cond_t idle;   /* requests is 0 */
    unsigned requests;     /* of our own, that have not ended; lock */
    bool ending;           /* holds nothing any more; atomic */
    GQueue holds;          /* of struct txn; lock */
    struct heals *heals;   /* heal/heal.h */
    struct itable *table;  /* of the graph: known from the first lookup on; atomic */
    pthread_mutex_t random_lock;
    struct random_source random; /* random_lock */
} replicate_t;

/* What the locals of this translator begin with. */
struct local {
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
/* Returns the first error of the answers that says most. */
int fan_error (const struct fan_out *fan);

/* A request of our own, which the end of the mount waits for. Its frame acts as root. */
call_frame_t *request_new (xlator_t *this, const call_frame_t *like);
void request_done (xlator_t *this, call_frame_t *frame);
void requests_add (xlator_t *this); /* work without a frame, which the end waits for as well */
void requests_drop (xlator_t *this); /* it has ended: this must not be used any more */
void requests_wait (xlator_t *this); /* until none is there */

/* Returns a new owner of locks. */
uint64_t owner_new (replicate_t *priv);

/* A random gfid: a version 4 UUID (RFC 9562); and the key of xdata that has a new object's. */
gfid_t gfid_new (replicate_t *priv);
#define NEW_GFID_KEY "gfid-req"

/* --- copies.c --------------------------------------------------------------------------------- */

/* The context of an inode. */
struct replicate_inode {
    pthread_mutex_t lock; /* see above */
    unsigned generation;      /* in which the copies were looked at; 0: never; lock */
    struct readable readable; /* lock */
    bool favored;             /* readable is the choice of favorite-child-policy; lock */
    struct copy *copies;      /* what they said if one accuses or is dirty, else NULL; lock */

    /* Copies that miss a change whose marks are not on the bricks yet: what is looked up meanwhile
     * does not tell. */
    copies_t spoilt[MARK_KINDS]; /* lock */
    unsigned unmarked;           /* transactions that spoilt some; lock */
    uint64_t marked_at;          /* by priv->looks, when the last of them had marked; lock */

    /* choice.c: the copy to read in a split brain, and until when by clock_now; lock */
    copies_t chosen;
    int64_t chosen_until;

    /* changes/hold.c */
    struct txn *hold;  /* lock */
    GQueue waiting;    /* of struct op, that want a hold; lock */
    bool pumping, pump_again; /* lock */
};

struct replicate_inode *inode_of (xlator_t *this, inode_t *inode);
void replicate_forget (xlator_t *this, inode_t *inode);

/* When the copies are looked at. */
struct look {
    unsigned generation;
    uint64_t at; /* by priv->looks */
};

struct look look_begin (replicate_t *priv);

/* Stores what all reachable copies said. */
void inode_learn (xlator_t *this, inode_t *inode, const struct copy *copies,
                  const struct look *look);

/* Returns whether the context is of the present generation; and what may be read of it. */
bool inode_is_fresh (xlator_t *this, inode_t *inode, struct readable *ret_readable);

/* Returns the copies that a change may go by: without the one that split-brain-choice lets callers
 * read. */
void inode_good (xlator_t *this, inode_t *inode, struct readable *ret_readable);

/* Returns what the marks of the last look say, before favorite-child-policy is applied. */
struct readable inode_said (xlator_t *this, inode_t *inode);

/* In a split brain this copy is read until then, by clock_now; 0: none. */
void inode_choose (xlator_t *this, inode_t *inode, copies_t chosen, int64_t until);

/* These copies miss a change: they may not be read. *spoilt, of the transaction, is set until
 * inode_marked, when marks tell of it. */
void inode_spoil (xlator_t *this, inode_t *inode, enum mark_kind kind, copies_t missing,
                  bool *spoilt);
void inode_marked (xlator_t *this, inode_t *inode, bool *spoilt);

/* Nothing is to be healed: all copies that are there are good. */
void inode_assume_good (xlator_t *this, inode_t *inode, ia_type_t type, const struct look *look);

/* A new object: these copies have it. */
void inode_made (xlator_t *this, inode_t *inode, ia_type_t type, copies_t copies,
                 unsigned generation);

/* Returns what is to be healed as the copies said last, a set of HEAL_*, where a good copy is
 * there; *ret_found: the copies that were found. */
unsigned inode_ails (xlator_t *this, inode_t *inode, copies_t *ret_found);

/* The next use looks at the copies again. */
void inode_stale (xlator_t *this, inode_t *inode);

/* Returns the copy to read from, of a set; -1: the set is empty. */
int choose_copy (replicate_t *priv, copies_t readable, const inode_t *inode);

/* Without the arbiter. */
copies_t copies_with_data (const replicate_t *priv, copies_t copies);

/* --- refresh.c -------------------------------------------------------------------------------- */

/* Adds the names of marks to a new dict, made from xdata, which may be NULL. */
dict_t *marks_asked (xlator_t *this, dict_t *xdata);

/* Reads an answer to a lookup. */
void copy_read (const replicate_t *priv, const struct lookup_reply *reply, struct copy *ret_copy);

/* The index of a brick lists what is to be healed from it. Notes what a brick says of it in an
 * answer to marks_asked, for a second. */
void index_note (replicate_t *priv, unsigned child, const struct lookup_reply *reply,
                 const struct look *look);
bool index_is_known (replicate_t *priv); /* of all copies that are there */
bool index_is_empty (replicate_t *priv);

/* Looks at all copies; then calls done, with 0 or a positive errno. */
void inode_refresh (xlator_t *this, inode_t *inode, void (*done) (void *data, int error),
                    void *data);

/* --- open.c ----------------------------------------------------------------------------------- */

struct replicate_fd {
    pthread_mutex_t lock;  /* a leaf */
    copies_t opened;       /* lock */
    uint32_t flags;
    bool directory, opening; /* lock: opening */
    int64_t tried;         /* when it was last opened again; lock */
    GQueue waiting;        /* of struct fd_wait: until opening is false; lock */

    /* readdir.c: a directory */
    int reader;            /* the copy that offsets are of; -1: none; lock */
    GArray *names;         /* of guint64: hashes of names that were listed; lock */
    guint sorted;          /* so many of them were listed from copies read earlier; lock */
    GArray *last;          /* of struct listed: the last answer; lock */
};

struct replicate_fd *fd_of (xlator_t *this, fd_t *fd); /* NULL: not opened here */
copies_t fd_opened (xlator_t *this, fd_t *fd);
void fd_was_opened (xlator_t *this, fd_t *fd, uint32_t flags, bool directory, copies_t on);

/* Opens the file on the children that came after it was opened; then calls done. */
void fd_prepare (xlator_t *this, fd_t *fd, void (*done) (void *data), void *data);
open_fop replicate_open;
opendir_fop replicate_opendir;
flush_fop replicate_flush;
fsyncdir_fop replicate_fsyncdir;
void replicate_release (xlator_t *this, fd_t *fd);

/* --- lookup.c, read.c, readdir.c -------------------------------------------------------------- */

/* Names in the root that are no files of the volume, but the bricks' own: GlusterFS's healer keeps
 * there what it removes. They are not listed, healed or found (EPERM, as from a brick). */
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

/* Returns whether an error says something of the copy, not of the object. */
bool error_is_of_copy (int error);

/* --- virtual.c: also every other getxattr ----------------------------------------------------- */

getxattr_fop replicate_getxattr;

/* --- choice.c --------------------------------------------------------------------------------- */

/* Returns whether the setxattr is one that ends a split brain by hand, and takes it then. */
bool choice_takes (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict);

/* --- locks.c: locks of callers ---------------------------------------------------------------- */

lk_fop replicate_lk;
flock_fop replicate_flock;
inodelk_fop replicate_inodelk;
finodelk_fop replicate_finodelk;
entrylk_fop replicate_entrylk;
fentrylk_fop replicate_fentrylk;

/* --- report.c --------------------------------------------------------------------------------- */

void replicate_dump (xlator_t *this, GString *out);
void replicate_dump_inode (xlator_t *this, inode_t *inode, GString *out);
void replicate_dump_fd (xlator_t *this, fd_t *fd, GString *out);
void replicate_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

/* --- heal/heal.c ------------------------------------------------------------------------------ */

enum { HEAL_DATA = 1 << MARK_DATA, HEAL_METADATA = 1 << MARK_METADATA,
       HEAL_ENTRIES = 1 << MARK_ENTRY, HEAL_ALL = 7 };

void heals_init (xlator_t *this);
void heals_fini (xlator_t *this);
void heals_end (xlator_t *this); /* begins no more, and cuts short what runs */
void heals_wait (xlator_t *this);
unsigned heals_begun (xlator_t *this); /* so far */
extern const struct xlator_command heal_commands[];

/* After a lookup or an open has looked at the copies: heals in the background what ails of `what`,
 * a set of HEAL_*, if not too many are being healed. */
void heal_later (xlator_t *this, inode_t *inode, unsigned what);

/* Heals the data and attributes of a file, not of a directory (heal_invalidate); in a split brain
 * from this copy. Then calls done. */
void heal_from (xlator_t *this, inode_t *inode, int child, void (*done) (void *data, bool failed),
                void *data);

/* replicate.c: what the options let a lookup, or an open, heal: a set of HEAL_*. */
unsigned heals_at_lookup (const replicate_t *priv);
unsigned heals_at_open (const replicate_t *priv);

#endif

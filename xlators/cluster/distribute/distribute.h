/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cluster/distribute: spreads the files of a volume over several subvolumes, as GlusterFS does.
 *
 *   /             exists on all subvolumes, as every directory does
 *   /dir          each subvolume has a range of the hashes of the names in it: layout.h
 *   /dir/file     exists on the subvolume whose range has the hash of "file"
 *   /dir/other    may exist on another subvolume after a rename, or after the ranges have changed;
 *                 the subvolume whose range has the hash of "other" then has a linkto, an empty
 *                 file with an extended attribute that names the subvolume with the data
 *
 * The hashed subvolume of a name is the one whose range has the name's hash; the cached subvolume
 * of a file is the one that has its data. The context of an inode has the cached subvolume of a
 * file, or the layout of a directory.
 *
 * An operation that takes several steps has a struct op, which is the local of the caller's frame,
 * and a table of steps (core/edge/steps.h) at the end of the operation's source file. Some calls
 * are wound with the caller's identity. Others, those for locks, linktos and layouts, are wound as
 * distribute itself, with a request of its own (op_own). Other clients and a rebalance work on the
 * same files at the same time, so operations that change names take the locks that GlusterFS's
 * clients take, in the same order: locks.c.
 *
 * files/ has the operations on files, and on names that may be files; when a rebalance moves an
 * open file, these operations open the file's fds on its new subvolume. directories/ has the
 * operations on directories, and the heal of directories.
 *
 * A subvolume may be hostile: the names of subvolumes, layouts and attributes in its answers are
 * checked before they are used.
 */
#ifndef WINDLASS_DISTRIBUTE_H
#define WINDLASS_DISTRIBUTE_H

#include "hash.h"
#include "layout.h"
#include "xlator.h"

#include <errno.h>

enum lookup_unhashed { UNHASHED_OFF, UNHASHED_ON, UNHASHED_AUTO };

/* Free space of a subvolume, from its last answer to statfs. */
struct subvolume_space {
    bool known;         /* the subvolume has answered a statfs */
    double free;        /* free space, in bytes */
    double free_percent, free_inodes; /* free space and free inodes, in percent of all */
    uint32_t chunks;    /* size of the subvolume's disk, in MiB; 0: not known */
};

struct space {
    pthread_mutex_t lock;  /* guards the members below; while held, no other lock is taken */
    int64_t asked;         /* clock_now when the subvolumes last got a statfs; 0: never */
    struct subvolume_space *of; /* array with an element for each subvolume */
    bool *told_short;      /* by subvolume: the log has a warning that its space is short */
    bool *told_full;       /* by subvolume: the log has a warning that it is full */
    struct option_share min_free_disk;
    double min_free_inodes; /* value of the option min-free-inodes */
};

typedef struct {
    /* values of options; those that a reload may change are marked "atomic" */
    int lookup_unhashed;  /* atomic */
    bool lookup_optimize, assert_no_child_down, weighted, by_gfid; /* atomic */
    struct option_share min_free_disk;
    double min_free_inodes;
    int64_t spread, forced_commit;
    char *decommissioned, *rsync_regex, *extra_regex, *layout_key;
    /* members that are constant after init, unless marked "atomic" or guarded by a lock */
    unsigned n;           /* number of subvolumes */
    xlator_t **children;
    unsigned *by_name;    /* indices of `children`, sorted by the names of the subvolumes */
    bool *leaving;        /* by subvolume: the option decommissioned-bricks names it; atomic */
    char *linkto_key, *mds_key, *commit_key; /* names of distribute's own extended attributes */
    struct hash_rules rules;
    uint32_t commit;      /* commit hash of the volume (layout.h); atomic */
    struct space space;
    struct random_source random; /* generator of gfids of new files; random_gfid needs no lock */
} dht_private_t;

/* --- context.c: the context of an inode ------------------------------------------------------- */

#define NO_CHILD (-1)

/* inode_cached returns the cached subvolume of a file, the one that has its data, or NO_CHILD if
 * it is not known. inode_set_cached sets it. */
int inode_cached (xlator_t *this, inode_t *inode);
void inode_set_cached (xlator_t *this, inode_t *inode, int child);

/* inode_target returns the subvolume to which a rebalance is copying the file, or NO_CHILD.
 * inode_set_target sets it. */
int inode_target (xlator_t *this, inode_t *inode);
void inode_set_target (xlator_t *this, inode_t *inode, int child);

/* The context of an inode has a list of the open fds of the file, without references. When a
 * rebalance moves the file to another subvolume, these fds are opened on that subvolume, too.
 * inode_fds returns an array of the fds in the list that are not being freed, with a reference
 * to each. */
void inode_add_fd (xlator_t *this, inode_t *inode, fd_t *fd);
void inode_remove_fd (xlator_t *this, inode_t *inode, fd_t *fd);
GPtrArray *inode_fds (xlator_t *this, inode_t *inode);

/* inode_layout returns the layout of a directory, with a reference, or NULL. inode_mds returns
 * the directory's MDS, or NO_CHILD. The MDS is the subvolume whose owner, mode and xattrs of the
 * directory are right if the subvolumes differ. */
struct layout *inode_layout (xlator_t *this, inode_t *inode);
void inode_set_layout (xlator_t *this, inode_t *inode, struct layout *layout, int mds);
int inode_mds (xlator_t *this, inode_t *inode);

/* Returns whether the directory's layout was read from a subvolume in the last 10 ms. */
bool layout_is_fresh (xlator_t *this, inode_t *inode);

/* Returns whether subvolume `child`'s range in its answer to a lookup of the directory equals
 * its range in the layout that the inode's context has. If so, the time when that layout was
 * last read becomes now (layout_is_fresh). */
bool layout_is_still (xlator_t *this, inode_t *inode, unsigned child,
                      const struct lookup_reply *reply);

/* Returns the hashed subvolume of a name in directory `parent`, or NO_CHILD if no known range
 * has the hash of the name. */
int name_hashed (xlator_t *this, inode_t *parent, const char *name);

/* Returns the errno for an operation on a name whose hash is in no range: ENOTCONN if a
 * subvolume was down when the layout was read. Else logs that the layout has a hole, and returns
 * EIO. */
int name_unhashed (xlator_t *this, loc_t *loc);

/* Both functions prepare attributes of a directory for the answer to the caller: they set the
 * size, which is the same for all directories, and store the times in the inode's context.
 * directory_attributes takes attributes that iatt_merge has merged from all subvolumes.
 * directory_attributes_of_one takes the attributes of one subvolume, and replaces times that are
 * older than those in the context, so that the caller's times do not go back. It returns buf, or
 * NULL if buf has not the attributes of a directory. */
void directory_attributes (xlator_t *this, inode_t *inode, struct iatt *buf);
struct iatt *directory_attributes_of_one (xlator_t *this, inode_t *inode, struct iatt *buf);

/* Merges one subvolume's attributes of a directory into `to`, which keeps the latest of each
 * time, and the largest number of links. */
void iatt_merge (struct iatt *to, const struct iatt *from);

void dht_forget (xlator_t *this, inode_t *inode);

/* --- op.c: operations of several steps -------------------------------------------------------- */

/* State of a step that makes a linkto (linkto_run). */
struct linkto {
    unsigned on, to;  /* subvolume that gets the linkto, and subvolume that the linkto names */
    loc_t *loc;       /* directory and name of the linkto; points to a loc_t of the operation */
    gfid_t gfid;      /* gfid of the file and of the linkto */
    struct iatt like; /* attributes whose owner and group the linkto gets */
    bool retried;     /* one lookup of the name is answered; a second one ends the step */
    enum { LINKTO_BEGIN, LINKTO_MAKE, LINKTO_LOOK, LINKTO_REMOVE, LINKTO_OWN } phase;
};

/* State of a step that opens a file's fds on another subvolume (follow_run). */
struct following {
    unsigned child;  /* subvolume on which the fds are opened */
    inode_t *inode;  /* inode of the file; with a reference */
    GPtrArray *fds;  /* fds to open on `child`; with references; NULL: the step has not begun */
    guint begun;     /* number of elements at the start of `fds` whose open was answered */
    unsigned asked;  /* number of elements after the first `begun` whose open is not answered */
};

struct op {
    struct sequence seq;     /* state of the operation's table of steps; must be the first member */
    xlator_t *this;
    dht_private_t *priv;
    call_frame_t *frame;     /* frame of the caller's request */
    struct fan_out fan;      /* calls to subvolumes outside of a table of steps (ASK) */
    GArray *locks;           /* locks to take, or held: struct distribute_lock (locks.c); or NULL */
    void (*clear) (struct op *op); /* frees the members that come after struct op; or NULL */
    int op_errno;            /* errno that a step stores for later steps */
    unsigned tries;          /* number of attempts so far to find a file */
    uint64_t names_at;       /* names_now before the last lookup that op_look has wound, or, of a
                              * lookup, at its begin: for inode_link_asked */
    struct linkto linkto;
    struct following following;
    loc_t loc, newloc;
    dict_t *xdata;           /* xdata of the caller's request, or NULL */
};

#define OP_OF(frame_) ((void *) (frame_)->local)

/* Begins an operation: allocates `size` bytes for a struct whose first member is struct op, and
 * makes that struct the local of the frame. loc, newloc and xdata may be NULL. */
void *op_new (call_frame_t *frame, xlator_t *this, size_t size, const loc_t *loc,
              const loc_t *newloc, dict_t *xdata);

/* Returns the frame of a second request, with which the operation winds calls as distribute
 * itself (as root, not as the caller). The first call of op_own makes that request. */
call_frame_t *op_own (struct op *op);

/* Unwinds op->frame with the error op_errno, or EIO if op_errno is 0. For an operation that has
 * no table of steps. */
void op_fail (struct op *op, int op_errno);

void op_drop (xlator_t *this, void *local);

/* An operation that has no table of steps winds calls to several subvolumes at once with
 * step_begin, then any number of ASK, then step_end. When all calls are answered, `next` is
 * called; the answer of subvolume i is op->fan.answers[i]. */
#define ASK(op_, i_, fop_, ...)                                                                    \
    FAN_WIND (&(op_)->fan, i_, (op_)->priv->children[i_], fop_, __VA_ARGS__)

void step_begin (struct op *op, void (*next) (call_frame_t *frame));
#define step_end(op_) fan_end (&(op_)->fan)

/* Winds a call to subvolume i_ alone, and calls next_ after the answer. */
#define ASK_ONE(op_, next_, i_, fop_, ...)                                                         \
    do {                                                                                           \
        step_begin (op_, next_);                                                                   \
        ASK (op_, i_, fop_, __VA_ARGS__);                                                          \
        step_end (op_);                                                                            \
    } while (0)

/* AS_CALLER and AS_SELF wind a call to subvolume i_ in a step of a table: AS_CALLER with the
 * caller's identity, AS_SELF as distribute itself. The answer is seq.fan.answers[i_]. AS_SELF_AT
 * winds as distribute itself to the translator child_; the answer is seq.fan.answers[slot_]. */
#define AS_CALLER(op_, i_, fop_, ...)                                                              \
    STEP_WIND (&(op_)->seq, (op_)->frame, i_, (op_)->priv->children[i_], fop_, __VA_ARGS__)
#define AS_SELF(op_, i_, fop_, ...)                                                                \
    AS_SELF_AT (op_, i_, (op_)->priv->children[i_], fop_, __VA_ARGS__)
#define AS_SELF_AT(op_, slot_, child_, fop_, ...)                                                  \
    STEP_WIND (&(op_)->seq, op_own (op_), slot_, child_, fop_, __VA_ARGS__)

/* Runs the steps of a table. After the last step, `answer` is called: it unwinds op->frame with
 * success, or continues the operation without a table. If a step fails, op->frame is unwound
 * with the error of that step. */
void op_run (struct op *op, const struct step *steps, void (*answer) (void *op));

unsigned op_slots (const struct op *op); /* returns the number of elements of seq.fan.answers */

/* op_look winds a lookup to this translator itself. The lookup updates the contexts of inodes
 * with changes that other clients or a rebalance have made. Its answer is
 * seq.fan.answers[SELF (op)].lookup. */
#define SELF(op_) ((op_)->priv->n)
void op_look (struct op *op, loc_t *loc);
/* Enters the successful answer to an op_look of op->loc in the table of inodes: op->loc has that
 * inode from now on. */
void op_link_found (struct op *op);

/* op_refresh and op_is_again are the `run` and the `when` of the first step of operations that
 * make a name. op_is_again returns whether a later step has sent the sequence back to the first
 * step. Then op_refresh looks the directory up, so that its layout is read again. */
bool op_is_again (void *op);
void op_refresh (void *op);

/* op_guard adds to the xdata of an operation the range of hashes that subvolume `child` has in
 * the parent directory, according to the layout that this client knows. If the brick has another
 * range, it refuses the operation; op_guard_refused returns whether the xdata of an answer
 * reports that. */
void op_guard (struct op *op, unsigned child, dict_t *xdata);
bool op_guard_refused (dict_t *xdata);

/* iatt_may_be_linkto returns whether the type and the mode are those of a linkto. linkto_target
 * also reads the linkto's extended attribute in xdata: it sets *ret_is_linkto, and returns the
 * subvolume that the linkto names, or NO_CHILD if there is no such subvolume. */
bool iatt_may_be_linkto (const struct iatt *buf);
int linkto_target (xlator_t *this, const struct iatt *buf, dict_t *xdata, bool *ret_is_linkto);

bool child_is_up (const dht_private_t *priv, unsigned i);

/* Returns whether the option decommissioned-bricks names subvolume i. */
bool child_is_leaving (const dht_private_t *priv, unsigned i);

bool children_are_up (const dht_private_t *priv); /* returns whether all subvolumes are up */
int child_first_up (const dht_private_t *priv);
bool is_missing (int op_errno); /* returns whether op_errno is ENOENT or ESTALE */

/* The gfid of an inode as a text, for messages. */
#define GFID_OF(inode_) gfid_text (&(inode_)->gfid, (char[GFID_TEXT_SIZE]){ 0 })

/* --- locks.c ---------------------------------------------------------------------------------- */

/* lock_layout, lock_entry, lock_data and lock_name add a lock to the operation's list
 * (op->locks). STEP_LOCK defines the step that takes the locks of the list, one after the other;
 * its undo releases them and empties the list. locks_undo can also be the `run` of a step. If
 * may_be_gone is true, the step does not fail when the inode is missing. */
#define STEP_LOCK(name_, ...)                                                                      \
    STEP (name_, locks_run, locks_judge, .undo = locks_undo, .always = true, __VA_ARGS__)

void lock_layout (struct op *op, unsigned child, inode_t *directory, bool to_write);
void lock_entry (struct op *op, unsigned child, inode_t *directory, const char *name);
void lock_data (struct op *op, unsigned child, inode_t *inode, bool may_be_gone);
void locks_run (void *op);
int locks_judge (void *op);
void locks_undo (void *op);
void locks_clear (struct op *op);

/* Adds the two locks that protect a name to the operation's list: a read lock on the layout of
 * the name's directory, and the lock of the name. */
void lock_name (struct op *op, unsigned child, const loc_t *loc);

/* --- rename-names.c: rename of a file, and of a directory ------------------------------------- */

/* Adds the locks of the old and the new name to the operation's list, in the order in which all
 * clients take them. */
void rename_note_name_locks (struct op *op, unsigned hashed, unsigned new_hashed);

/* Returns whether the inode is the directory with this gfid, or lies below it, according to the
 * names in the inode table. Returns false if the table lacks a name on the path to that
 * directory. */
bool rename_is_below (inode_t *inode, const gfid_t *directory);

/* Returns whether the hashed subvolumes of both names still have the ranges that this client
 * knows. If not, other subvolumes may be the hashed ones, and the wrong locks were taken. To be
 * called after the lookups of rename_look_locked were answered. */
bool rename_layouts_are_still (struct op *op, unsigned hashed, unsigned new_hashed);

/* Each of these functions is the `run` of a step. rename_refresh looks up the directories of
 * both names, so that their layouts are read. rename_look looks up both names before the locks
 * are taken, rename_look_locked while they are held. The answers for the names are
 * seq.fan.answers[SELF (op)] and [SELF (op) + 1]. */
void rename_refresh (void *op);
void rename_look (void *op);
void rename_look_locked (void *op);

/* --- linkto.c --------------------------------------------------------------------------------- */

/* Functions of a step that makes a linkto on subvolume `on`. The linkto has the name `loc`, the
 * gfid `gfid` and the owner of `like`; its extended attribute names subvolume `to`. The step's
 * `run` calls linkto_run, each time with the same arguments. The step's `judge` is linkto_judge,
 * which returns an error if the linkto could not be made, or linkto_try, which logs that error
 * and returns 0. */
void linkto_run (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
                const struct iatt *like);
int linkto_judge (void *op);
int linkto_try (void *op);

/* Is called in place of linkto_run for a linkto that an earlier step has made. It makes the
 * linkto again if another client has removed it meanwhile. */
void linkto_keep_run (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
                     const struct iatt *like);

/* Winds the mknod that makes a linkto, and no further call. linkto_run uses it; so does the undo
 * of a step that has removed a linkto, since the answers to the calls of an undo are not judged. */
void linkto_put_back (struct op *op, unsigned on, unsigned to, const loc_t *name,
                      const gfid_t *gfid);

/* --- xdata.c ---------------------------------------------------------------------------------- */

/* xdata_internal returns xdata that mark a call to a brick as one of GlusterFS itself, not of a
 * user. xdata_only_linkto returns the same for an unlink, with a key that makes the unlink fail
 * unless the file is a linkto. */
dict_t *xdata_internal (void);
dict_t *xdata_only_linkto (void);

/* Returns xdata with the key WITHOUT_HEALING, for a lookup that an operation winds to this
 * translator while it holds locks. The lookup must not heal, since the heal would wait for these
 * locks. xdata_lookup removes the key, so that no subvolume gets it. */
dict_t *xdata_without_healing (void);
#define WITHOUT_HEALING "distribute.without-healing"

/* Returns the xdata for a lookup on a subvolume: the caller's xdata, with the keys of the extended
 * attributes that distribute needs in the answer. */
dict_t *xdata_lookup (const dht_private_t *priv, dict_t *xdata, inode_t *inode);

/* --- lookup.c, lookup-heals.c, lookup-directory.c, heal.c ------------------------------------- */

#define LOOKUP_TRIES 3 /* times that a lookup is repeated, at most */

struct distribute_lookup {
    struct op op;
    dict_t *wanted;     /* xdata of the lookups: keys of the xattrs that the answers must have */
    inode_t *inode;     /* inode, buf, postparent and found (xdata) are results for the answer */
    struct iatt buf, postparent;
    dict_t *found;
    int asked;          /* cached subvolume when the lookup began, or NO_CHILD */
    int hashed;         /* hashed subvolume of the name, or NO_CHILD */
    int linked;         /* subvolume that the linkto on `hashed` names, or NO_CHILD */
    bool has_linkto;    /* `hashed` has a linkto of the name */
    bool any_linkto;    /* a subvolume has a linkto of the name */
    bool no_gfid;       /* a subvolume has a file or directory of the name without a gfid */
    bool named;         /* the lookup has given a gfid to files or directories without one */
    bool absent;        /* `hashed` answered that the name does not exist there */
    gfid_t linkto_gfid; /* gfid of the linkto on `hashed` */
    bool by_name;       /* true: the lookup is of a name; false: of an inode */
    bool heals;         /* the lookup may heal; false: its caller holds locks that a heal needs */
    bool sure;          /* the range that `hashed` has in the parent directory was checked */
    int down;           /* errno of a subvolume whose lookup failed: it may have the name; or 0 */
    /* members for the lookup of a directory */
    struct layout *layout;
    struct layout_faults faults;
    struct iatt *bufs;  /* by subvolume: attributes of its directory; ia_type 0: no directory */
    dict_t **dicts;     /* by subvolume: xattrs of its directory; NULL: no directory */
    int mds;            /* subvolume with the xattr that marks the MDS, or NO_CHILD */
    int source;         /* subvolume whose owner, mode and xattrs a heal copies to the others */
    bool xattrs_differ; /* the counter of the MDS is not 0: other subvolumes may lack a change */
    bool *made;         /* by subvolume: the heal has made the directory there */
    bool *leftovers;    /* by subvolume: it has a stale linkto with the directory's name */
    /* members for the heal of the directory */
    bool lacks;         /* a subvolume lacked the directory at the lookup */
    bool divides;       /* the heal has to set ranges of hashes */
    bool divides_anew;  /* the heal sets the ranges of all subvolumes, not only missing ones */
};

lookup_fop dht_lookup;
void lookup_all (struct distribute_lookup *lookup);      /* winds the lookup to all subvolumes */
void lookup_answer (void *lookup);
void lookup_retry (void *lookup); /* begins the lookup anew */

/* Returns whether the subvolume that sent the reply has the file itself: no directory or linkto. */
bool lookup_reply_is_file (xlator_t *this, const struct lookup_reply *reply);

/* Each of these takes the lock of the name, and mends. lookup_link makes a linkto on the hashed
 * subvolume, and answers the lookup. lookup_unlink removes a linkto without a file; the lookup then
 * fails, or is repeated. lookup_give_gfids gives a gfid to the files and directories that have
 * none, and repeats the lookup. */
void lookup_link (struct distribute_lookup *lookup);
void lookup_unlink (struct distribute_lookup *lookup);
void lookup_give_gfids (struct distribute_lookup *lookup);

void lookup_directory (struct distribute_lookup *lookup); /* called after lookup_all found one */
void heal_directory (struct distribute_lookup *lookup);

/* directory_gather reads all subvolumes' answers to a lookup of the directory. It returns false,
 * with an errno in op.op_errno, if no subvolume has the directory or the answers contradict each
 * other. directory_ails returns whether the directory needs a heal that this lookup may do now. */
bool directory_gather (struct distribute_lookup *lookup, struct fan_out *fan);
bool directory_ails (const struct distribute_lookup *lookup);

/* layout_assign divides all hashes anew among the subvolumes that have the directory, which are
 * those in state RANGE_UNSET or RANGE_SET. Ranges are proportional to the sizes of the disks if
 * all sizes are known and the option weighted-rebalance is on, or else equal. layout_value
 * returns subvolume i's range as an extended attribute. */
void layout_assign (xlator_t *this, struct layout *layout, loc_t *loc, const gfid_t *gfid,
                    uint32_t commit);
dict_t *layout_value (xlator_t *this, const struct layout *layout, unsigned i);

/* --- empty.c ---------------------------------------------------------------------------------- */

/* State of the steps that make sure that a directory is empty. It is the first member of the
 * operation's own struct. */
struct emptying {
    struct op op;
    inode_t *directory; /* the directory that must be empty; without a reference */
    fd_t *fd;           /* fd of the directory, open on all subvolumes */
    off_t *at;          /* by subvolume: offset for the next readdirp; -1: the listing has ended */
    GPtrArray *linktos; /* linktos in the listings, each a struct empty_linkto (empty.c) */
    guint removed;      /* number of elements at the start of `linktos` whose unlink was wound */
};

/* Functions of the steps that make sure that a directory is empty: the steps open the directory,
 * list it on all subvolumes, and remove linktos. If the directory has any other name, they fail
 * with ENOTEMPTY. */
void empty_open (void *empty);
void empty_list (void *empty);
int empty_listed (void *empty);
bool empty_has_linktos (void *empty);
void empty_unlink (void *empty);
int empty_unlinked (void *empty);
void emptying_clear (struct emptying *empty);

/* --- space.c ---------------------------------------------------------------------------------- */

void space_init (xlator_t *this);
void space_fini (dht_private_t *priv);

/* Winds a statfs to each subvolume, unless one was wound in the last 10 seconds. Does not wait
 * for the answers. */
void space_refresh (struct op *op);

/* Returns whether a subvolume has less free space than min-free-disk, or fewer free inodes than
 * min-free-inodes. */
bool space_is_short (xlator_t *this, unsigned child);

/* Returns the subvolume on which to make a new file whose hashed subvolume is `child`. That is
 * `child`, unless it is short of space or is named in decommissioned-bricks; then it is the
 * subvolume with the most free space, or `child` again if no other has enough space. */
int space_best (xlator_t *this, unsigned child);

/* If op_errno is ENOSPC or EDQUOT, logs that the name can't be made on `child`. Logs that only
 * once, until a statfs shows that `child` has enough space again. */
void name_no_room (xlator_t *this, loc_t *loc, unsigned child, int op_errno);

/* Returns the size of a subvolume's disk in MiB; 0: not known. */
uint32_t space_chunks (xlator_t *this, unsigned child);
statfs_fop dht_statfs;

/* --- operations ------------------------------------------------------------------------------- */

create_fop dht_create;
mknod_fop dht_mknod;
symlink_fop dht_symlink;
tmpfile_fop dht_tmpfile;
mkdir_fop dht_mkdir;
unlink_fop dht_unlink;
rmdir_fop dht_rmdir;
link_fop dht_link;
rename_fop dht_rename;
void rename_directory (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc,
                       dict_t *xdata);
stat_fop dht_stat;
fstat_fop dht_fstat;
setattr_fop dht_setattr;
fsetattr_fop dht_fsetattr;
setxattr_fop dht_setxattr;
fsetxattr_fop dht_fsetxattr;
removexattr_fop dht_removexattr;
fremovexattr_fop dht_fremovexattr;
opendir_fop dht_opendir;
fsyncdir_fop dht_fsyncdir;
readdir_fop dht_readdir;
readdirp_fop dht_readdirp;

/* --- fds.c, follow.c -------------------------------------------------------------------------- */

/* fd_is_open_on returns whether an fd is open on subvolume `child`. fd_set_open_on records that
 * it is. */
bool fd_is_open_on (xlator_t *this, fd_t *fd, int child);
void fd_set_open_on (xlator_t *this, fd_t *fd, int child);

/* The offsets that a listing gives to its caller may be rounded (list.c). fd_note_place records
 * the last offset that the caller got, `given`, and the exact offset on the subvolume. fd_place
 * returns the exact offset if `given` is the recorded one, and else returns `otherwise`. */
void fd_note_place (xlator_t *this, fd_t *fd, uint64_t given, uint64_t exact);
uint64_t fd_place (xlator_t *this, fd_t *fd, uint64_t given, uint64_t otherwise);

void dht_release (xlator_t *this, fd_t *fd);
flush_fop dht_flush;

/* Functions of a step that opens all open fds of a file on subvolume `child`, and also `fd` if
 * it is not NULL. An operation has this step if the file has moved to `child`, or if the
 * operation removes the file's name on `child`: a removed file can't be opened later. The step's
 * `run` calls follow_run, each time with the same arguments. follow_judge never fails. It stores
 * the error of the last open that failed, or 0, in op->op_errno. */
void follow_run (struct op *op, inode_t *inode, fd_t *fd, unsigned child);
int follow_judge (void *op);
void following_clear (struct op *op);

/* --- files.c, rebalance.c --------------------------------------------------------------------- */

any_fop_t file_any_fop;
any_fop_cbk_t file_any_fop_cbk;

/* Returns the subvolume to which an operation on an inode is wound: for a file its cached
 * subvolume; for a directory its MDS, or the first subvolume that is up if the MDS is down or
 * not known. Returns NO_CHILD if there is none. */
int inode_home (xlator_t *this, inode_t *inode);

/* A rebalance marks a file that it moves with two mode bits, setgid and sticky. iatt_is_moving
 * returns whether both bits are set; marks_strip removes them, so that the caller does not see
 * them. */
bool iatt_is_moving (const struct iatt *buf);
void marks_strip (struct iatt *buf);

/* --- report.c --------------------------------------------------------------------------------- */

void dht_dump (xlator_t *this, GString *out);
void dht_dump_inode (xlator_t *this, inode_t *inode, GString *out);
void dht_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

/* Returns the answer to getxattr of the virtual attribute "dht.file.hashed-subvol.NAME": the
 * hashed subvolume of NAME in the directory. Returns NULL if `name` is another attribute, or if
 * the hash of NAME is in no range. */
dict_t *virtual_xattr (xlator_t *this, inode_t *directory, const char *name);

/* --- real-filename.c -------------------------------------------------------------------------- */

bool name_is_real_filename (const char *name);
getxattr_fop real_filename_ask;

/* --- pathinfo.c ------------------------------------------------------------------------------- */

getxattr_fop dht_getxattr;

#endif

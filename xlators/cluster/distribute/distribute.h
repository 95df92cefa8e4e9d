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
 * An operation that takes several steps is a struct op, the local of the caller's frame, and a
 * table of steps (core/edge/steps.h), which stands at the end of its file. Some calls are wound as
 * the caller, others as distribute itself, with a request of its own (op_own): locks, linktos and
 * layouts. Other clients and a rebalance work on the same files at the same time, so changes of
 * names take the locks that GlusterFS's clients take, in the same order: locks.c.
 *
 * files/ has the operations on files, and on names that may be files; it also follows the files
 * that a rebalance moves. directories/ has the operations on directories, and heals directories.
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
    uint32_t chunks;    /* size of the disk, in MiB; 0: not known */
};

struct space {
    pthread_mutex_t lock;  /* no other lock is taken under it; guards the members below */
    int64_t asked;         /* time of the last statfs to the subvolumes, of clock_now; 0: never */
    struct subvolume_space *of; /* array with an element for each subvolume */
    bool *told_short;      /* by subvolume: the log says that it is below the limits */
    bool *told_full;       /* by subvolume: the log says that it is full */
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
    unsigned *by_name;    /* numbers of the subvolumes, in the order of their names */
    bool *leaving;        /* by subvolume: it is in decommissioned-bricks; atomic */
    char *linkto_key, *mds_key, *commit_key; /* names of distribute's own extended attributes */
    struct hash_rules rules;
    uint32_t commit;      /* commit hash of the volume (layout.h); atomic */
    struct space space;
    struct random_source random; /* generator of the gfids of new files */
} dht_private_t;

/* --- context.c: the context of an inode ------------------------------------------------------- */

#define NO_CHILD (-1)

/* Get and set the cached subvolume of a file: the one that has its data, or NO_CHILD. */
int inode_cached (xlator_t *this, inode_t *inode);
void inode_set_cached (xlator_t *this, inode_t *inode, int child);

/* Get and set the subvolume to which a rebalance is copying the file, or NO_CHILD. */
int inode_target (xlator_t *this, inode_t *inode);
void inode_set_target (xlator_t *this, inode_t *inode, int child);

/* The list of the open fds of a file. When a rebalance moves the file to another subvolume, its fds
 * are opened there, too. The list has no references; inode_fds returns an array with a reference to
 * each fd that is not being freed. */
void inode_add_fd (xlator_t *this, inode_t *inode, fd_t *fd);
void inode_remove_fd (xlator_t *this, inode_t *inode, fd_t *fd);
GPtrArray *inode_fds (xlator_t *this, inode_t *inode);

/* inode_layout returns the layout of a directory, with a reference, or NULL. inode_mds returns
 * its MDS, or NO_CHILD: the subvolume whose owner, mode and xattrs are right if the subvolumes
 * differ. */
struct layout *inode_layout (xlator_t *this, inode_t *inode);
void inode_set_layout (xlator_t *this, inode_t *inode, struct layout *layout, int mds);
int inode_mds (xlator_t *this, inode_t *inode);

/* Returns whether the directory's layout was read from a subvolume in the last 10 ms. */
bool layout_is_fresh (xlator_t *this, inode_t *inode);

/* Returns whether the range in subvolume `child`'s answer to a lookup of the directory equals its
 * range in the layout that the inode's context has. If so, that layout counts as read now. */
bool layout_is_still (xlator_t *this, inode_t *inode, unsigned child,
                      const struct lookup_reply *reply);

/* Returns the hashed subvolume of a name in directory `parent`, or NO_CHILD. */
int name_hashed (xlator_t *this, inode_t *parent, const char *name);

/* Returns the errno for a name whose hash is in no range: ENOTCONN if a subvolume is down. Else
 * logs that the layout has a hole, and returns EIO. */
int name_unhashed (xlator_t *this, loc_t *loc);

/* Prepare attributes of a directory for the caller: set the size that is shown for all directories,
 * and note the times. directory_attributes takes attributes that iatt_merge has merged from all
 * subvolumes. directory_attributes_of_one takes those of one subvolume, and replaces times that are
 * older than the caller has seen; it returns buf, or NULL if buf is not of a directory. */
void directory_attributes (xlator_t *this, inode_t *inode, struct iatt *buf);
struct iatt *directory_attributes_of_one (xlator_t *this, inode_t *inode, struct iatt *buf);

/* Merges one subvolume's attributes of a directory into `to`: `to` keeps the latest of each time,
 * and the largest number of links. */
void iatt_merge (struct iatt *to, const struct iatt *from);

void dht_forget (xlator_t *this, inode_t *inode);

/* --- op.c: operations of several steps -------------------------------------------------------- */

/* State of the step that makes a linkto. */
struct linkto {
    unsigned on, to;  /* subvolume that gets the linkto, and subvolume that the linkto names */
    loc_t *loc;       /* name of the linkto; points into the operation */
    gfid_t gfid;      /* gfid of the file, which the linkto gets, too */
    struct iatt like; /* attributes whose owner and group the linkto gets */
    bool retried;     /* the name was looked up; the step ends after a second lookup */
    enum { LINKTO_BEGIN, LINKTO_MAKE, LINKTO_LOOK, LINKTO_REMOVE, LINKTO_OWN } phase;
};

/* State of the step that opens a file's fds on the subvolume that has it now. */
struct following {
    unsigned child;  /* subvolume on which the fds are opened */
    inode_t *inode;  /* inode of the file; with a reference */
    GPtrArray *fds;  /* fds to open on `child`; with references; NULL: the step has not begun */
    guint begun;     /* number of fds, from the first on, whose open was answered */
    unsigned asked;  /* number of fds, from fds[begun] on, whose open is under way */
};

struct op {
    struct sequence seq;     /* the run of the operation's table of steps; first member */
    xlator_t *this;
    dht_private_t *priv;
    call_frame_t *frame;     /* frame of the caller's request */
    struct fan_out fan;      /* calls to subvolumes, if there is no table of steps */
    GArray *locks;           /* list of struct distribute_lock (locks.c), or NULL */
    void (*clear) (struct op *op); /* frees the operation's own members; or NULL */
    int op_errno;            /* errno that a step leaves to the steps after it */
    unsigned tries;          /* number of attempts so far to find a file */
    struct linkto linkto;
    struct following following;
    loc_t loc, newloc;
    dict_t *xdata;           /* xdata of the caller's request, or NULL */
};

#define OP_OF(frame_) ((void *) (frame_)->local)

/* Begins an operation: allocates `size` bytes for a struct whose first member is struct op, and
 * makes it the local of the frame. loc, newloc and xdata may be NULL. */
void *op_new (call_frame_t *frame, xlator_t *this, size_t size, const loc_t *loc,
              const loc_t *newloc, dict_t *xdata);

/* Returns the frame of a second request, with which the operation winds calls as distribute itself
 * (root, not the caller). Makes the request at the first call. */
call_frame_t *op_own (struct op *op);

/* Fails op->frame with an errno (0: EIO), for an operation that has no table of steps. */
void op_fail (struct op *op, int op_errno);

void op_drop (xlator_t *this, void *local);

/* Calls to several subvolumes at once, for an operation that has no table of steps: step_begin,
 * then any number of ASK, then step_end. When all calls are answered, `next` is called; the answer
 * of subvolume i is fan.answers[i]. */
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

/* Wind a call to subvolume i_ in a step of a table: AS_CALLER with the caller's identity, AS_SELF
 * as distribute itself. The answer is seq.fan.answers[i_]. AS_SELF_AT winds to any translator, and
 * stores the answer at slot_. */
#define AS_CALLER(op_, i_, fop_, ...)                                                              \
    STEP_WIND (&(op_)->seq, (op_)->frame, i_, (op_)->priv->children[i_], fop_, __VA_ARGS__)
#define AS_SELF(op_, i_, fop_, ...)                                                                \
    AS_SELF_AT (op_, i_, (op_)->priv->children[i_], fop_, __VA_ARGS__)
#define AS_SELF_AT(op_, slot_, child_, fop_, ...)                                                  \
    STEP_WIND (&(op_)->seq, op_own (op_), slot_, child_, fop_, __VA_ARGS__)

/* Runs the steps of a table. After the last one, `answer` unwinds op->frame with success; an error
 * of a step fails op->frame. */
void op_run (struct op *op, const struct step *steps, void (*answer) (void *op));

unsigned op_slots (const struct op *op); /* returns the number of elements of seq.fan.answers */

/* op_look winds a lookup to this translator itself, to find what other clients or a rebalance have
 * changed. Its answer is seq.fan.answers[SELF (op)].lookup. */
#define SELF(op_) ((op_)->priv->n)
void op_look (struct op *op, loc_t *loc);

/* `run` and `when` of the first step of an operation that makes a name. If a later step has sent
 * the sequence back to it (op_is_again), op_refresh reads the layout of the directory again. */
bool op_is_again (void *op);
void op_refresh (void *op);

/* op_guard adds the range that this client knows of the directory on `child` to the xdata of an
 * operation. A brick whose range differs refuses the operation; op_guard_refused returns whether
 * the xdata of an answer reports that. */
void op_guard (struct op *op, unsigned child, dict_t *xdata);
bool op_guard_refused (dict_t *xdata);

/* iatt_may_be_linkto returns whether the type and the mode are those of a linkto. linkto_target
 * also reads the linkto's extended attribute in xdata: it sets *ret_is_linkto, and returns the
 * subvolume that the linkto names, or NO_CHILD. */
bool iatt_may_be_linkto (const struct iatt *buf);
int linkto_target (xlator_t *this, const struct iatt *buf, dict_t *xdata, bool *ret_is_linkto);

bool child_is_up (const dht_private_t *priv, unsigned i);
bool child_is_leaving (const dht_private_t *priv, unsigned i); /* whether it is in
                                                                * decommissioned-bricks */
bool children_are_up (const dht_private_t *priv); /* returns whether all subvolumes are up */
int child_first_up (const dht_private_t *priv);
bool is_missing (int op_errno); /* returns whether it is ENOENT or ESTALE */

/* The gfid of an inode as a text, for messages. */
#define GFID_OF(inode_) gfid_text (&(inode_)->gfid, (char[GFID_TEXT_SIZE]){ 0 })

/* --- locks.c ---------------------------------------------------------------------------------- */

/* lock_layout, lock_entry, lock_data and lock_name add a lock to the operation's list. STEP_LOCK is
 * the step that takes the locks of the list, one after the other; its undo releases them and
 * empties the list. locks_undo can also be the `run` of a step. may_be_gone: a missing inode is no
 * error. */
#define STEP_LOCK(name_, ...)                                                                      \
    STEP (name_, locks_run, locks_judge, .undo = locks_undo, .always = true, __VA_ARGS__)

void lock_layout (struct op *op, unsigned child, inode_t *directory, bool to_write);
void lock_entry (struct op *op, unsigned child, inode_t *directory, const char *name);
void lock_data (struct op *op, unsigned child, inode_t *inode, bool may_be_gone);
void locks_run (void *op);
int locks_judge (void *op);
void locks_undo (void *op);
void locks_clear (struct op *op);

/* Adds the two locks that protect a name to the operation's list: the lock of the layout of its
 * directory, and the lock of the name. */
void lock_name (struct op *op, unsigned child, const loc_t *loc);

/* --- rename-names.c: for both kinds of rename ------------------------------------------------- */

/* Adds the locks of the old and the new name to the operation's list, in the order in which all
 * clients take them. */
void rename_note_name_locks (struct op *op, unsigned hashed, unsigned new_hashed);

/* Returns whether the inode is the directory, or lies below it, by the names in the inode table.
 * False if the table does not have all names on the way up. */
bool rename_is_below (inode_t *inode, const gfid_t *directory);

/* Returns whether the directories of both names still have the ranges by which the hashed
 * subvolumes, and so the locks, were chosen. Reads the answers of rename_look_locked. */
bool rename_layouts_are_still (struct op *op, unsigned hashed, unsigned new_hashed);

/* Each is the `run` of a step. rename_refresh looks up the directories of both names, which reads
 * their layouts. rename_look looks up both names before the locks are taken, rename_look_locked
 * under the locks. The answers for the names are seq.fan.answers[SELF (op)] and [SELF (op) + 1]. */
void rename_refresh (void *op);
void rename_look (void *op);
void rename_look_locked (void *op);

/* --- linkto.c --------------------------------------------------------------------------------- */

/* Functions of a step that makes a linkto on subvolume `on`: its name is loc, its gfid is gfid, it
 * names subvolume `to`, and it gets the owner of `like`. The step's `run` calls linkto_run, each
 * time with the same arguments. Its `judge` is linkto_judge, which returns an error if the linkto
 * could not be made, or linkto_try, which logs that error and returns 0. */
void linkto_run (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
                const struct iatt *like);
int linkto_judge (void *op);
int linkto_try (void *op);

/* Like linkto_run, for a linkto that an earlier step has made: makes it again if it has
 * vanished. */
void linkto_keep_run (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
                     const struct iatt *like);

/* Winds the mknod of a linkto, also in the undo of a step, where nothing reads the answer. */
void linkto_put_back (struct op *op, unsigned on, unsigned to, const loc_t *name,
                      const gfid_t *gfid);

/* --- xdata.c ---------------------------------------------------------------------------------- */

/* xdata_internal returns xdata that mark a call to a brick as one of GlusterFS itself, not of a
 * user. xdata_only_linkto returns xdata that also make an unlink fail unless the file is a
 * linkto. */
dict_t *xdata_internal (void);
dict_t *xdata_only_linkto (void);

/* Returns the xdata for a lookup that an operation winds to this translator while it holds
 * locks. The lookup must not heal, since the heal would wait for these locks. No subvolume gets
 * the key. */
dict_t *xdata_without_healing (void);
#define WITHOUT_HEALING "distribute.without-healing"

/* Returns the xdata for a lookup on a subvolume: the caller's xdata, with the keys of the extended
 * attributes that distribute needs in the answer. */
dict_t *xdata_lookup (const dht_private_t *priv, dict_t *xdata, inode_t *inode);

/* --- lookup.c, lookup-directory.c, heal.c ----------------------------------------------------- */

struct distribute_lookup {
    struct op op;
    dict_t *wanted;     /* xdata of the lookups: keys of the xattrs that the answers must have */
    inode_t *inode;     /* inode in the answer; so are buf, postparent and found (the xdata) */
    struct iatt buf, postparent;
    dict_t *found;
    int asked;          /* cached subvolume before the lookup, or NO_CHILD */
    int hashed;         /* hashed subvolume of the name, or NO_CHILD */
    int linked;         /* subvolume that the linkto on `hashed` names, or NO_CHILD */
    bool has_linkto;    /* `hashed` has a linkto of the name */
    bool any_linkto;    /* a subvolume has a linkto of the name */
    bool no_gfid;       /* a subvolume has an object of the name without a gfid */
    bool named;         /* the lookup has given a gfid to objects without one */
    bool absent;        /* `hashed` has nothing of the name */
    gfid_t linkto_gfid; /* gfid of the linkto on `hashed` */
    bool by_name;       /* true: lookup of a name; false: of an inode */
    bool heals;         /* false: the caller holds locks that a heal needs */
    bool sure;          /* the parent's layout was compared with the range on `hashed` */
    int down;           /* errno of a subvolume that may have the name, but failed; or 0 */
    /* members for the lookup of a directory */
    struct layout *layout;
    struct layout_faults faults;
    struct iatt *bufs;  /* attributes on each subvolume; ia_type 0: no directory there */
    dict_t **dicts;     /* xattrs on each subvolume; NULL: no directory there */
    int mds;            /* subvolume with the xattr that marks the MDS, or NO_CHILD */
    int source;         /* subvolume whose owner, mode and xattrs the others get */
    bool xattrs_differ; /* the counter of the MDS says that others may lack a change */
    bool *made;         /* by subvolume: the heal has made the directory there */
    bool *leftovers;    /* by subvolume: a stale linkto has the directory's name */
    /* members for the heal of the directory */
    bool lacks;         /* a subvolume lacked the directory at the lookup */
    bool divides;       /* the heal has to set ranges of hashes */
    bool divides_anew;  /* `divides` is for all subvolumes, not only those without a range */
};

lookup_fop dht_lookup;
void lookup_all (struct distribute_lookup *lookup);      /* winds the lookup to all subvolumes */
void lookup_answer (void *lookup);
void lookup_directory (struct distribute_lookup *lookup); /* after lookup_all found a directory */
void heal_directory (struct distribute_lookup *lookup);

/* directory_gather reads all subvolumes' answers to a lookup of the directory. It returns false,
 * with an errno in op.op_errno, if no subvolume has the directory or the answers contradict each
 * other. directory_ails returns whether the directory needs a heal, and may get one. */
bool directory_gather (struct distribute_lookup *lookup, struct fan_out *fan);
bool directory_ails (const struct distribute_lookup *lookup);

/* Divides all hashes anew among the subvolumes that have the directory (RANGE_UNSET, RANGE_SET), by
 * the sizes of their disks. layout_value returns subvolume i's range as an extended attribute. */
void layout_assign (xlator_t *this, struct layout *layout, loc_t *loc, const gfid_t *gfid,
                    uint32_t commit);
dict_t *layout_value (xlator_t *this, const struct layout *layout, unsigned i);

/* --- empty.c ---------------------------------------------------------------------------------- */

/* State of the steps that make sure that a directory is empty; begins the operation's own
 * struct. */
struct emptying {
    struct op op;
    inode_t *directory; /* the directory that must be empty; without a reference */
    fd_t *fd;           /* fd of the directory, open on all subvolumes */
    off_t *at;          /* by subvolume: offset where its listing continues; -1: it has ended */
    GPtrArray *linktos; /* linktos in the listings: struct empty_linkto of empty.c */
    guint removed;      /* number of linktos, from the first on, whose unlink was wound */
};

/* Functions of the steps that make sure that a directory is empty: they open it, list it on all
 * subvolumes, and remove linktos. Any other name in it fails the operation with ENOTEMPTY. */
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

/* Winds a statfs to each subvolume, unless that was done in the last 10 seconds; does not wait. */
void space_refresh (struct op *op);

/* Returns whether a subvolume has less free space than min-free-disk, or fewer free inodes than
 * min-free-inodes. */
bool space_is_short (xlator_t *this, unsigned child);

/* Returns the subvolume that gets a new file whose hashed subvolume is `child`: `child`; or, if it
 * is short of space or leaves the volume, the one with the most free space. */
int space_best (xlator_t *this, unsigned child);

/* If op_errno is ENOSPC or EDQUOT, logs that the name can't be made on `child`. The message is not
 * repeated until the subvolume has had enough space again. */
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

/* Get and set whether an fd is open on subvolume `child`. */
bool fd_is_open_on (xlator_t *this, fd_t *fd, int child);
void fd_set_open_on (xlator_t *this, fd_t *fd, int child);

/* The offsets that a listing gives to its caller may be rounded (list.c). fd_note_place records the
 * last one, `given`, with the exact offset on the subvolume. fd_place returns that exact offset if
 * `given` is the recorded one, and else returns `otherwise`. */
void fd_note_place (xlator_t *this, fd_t *fd, uint64_t given, uint64_t exact);
uint64_t fd_place (xlator_t *this, fd_t *fd, uint64_t given, uint64_t otherwise);

void dht_release (xlator_t *this, fd_t *fd);
flush_fop dht_flush;

/* Functions of a step that opens all open fds of a file on subvolume `child`, and also `fd` if it
 * is not NULL. The step runs when the client finds that the file has moved to `child`, and before
 * the file's name is removed there: afterwards it could not be opened. The step's `run` calls
 * follow_run, each time with the same arguments. follow_judge never fails, and leaves the last
 * error, or 0, in op->op_errno. */
void follow_run (struct op *op, inode_t *inode, fd_t *fd, unsigned child);
int follow_judge (void *op);
void following_clear (struct op *op);

/* --- files.c, rebalance.c --------------------------------------------------------------------- */

#define TRIES 5 /* maximum of attempts to find a file that others move meanwhile */

/* Steps of rebalance.c.
 *
 * FILE_ASK_FOR_END: the operation has changed data, owner, group or mode of a file while a
 * rebalance copies it. The operation is not repeated on the copy, for two reasons: the rebalance
 * would set the old owner and mode there, and it may abandon the move; data that other clients then
 * write to the abandoned copy would be part of the next move. So the client makes the rebalance
 * abandon the move, waits for its end, and repeats the operation if the file has moved
 * nevertheless.
 *
 * FILE_RESTORE: the operation has given a new mode to the linkto that the move of a file has left.
 * Clients don't recognise it as a linkto then, and would continue to use their open files there.
 *
 * FILE_WAIT: the operation has truncated a file that has no marks of a move. A rebalance gives the
 * copy the size of the file a moment before it sets the marks. If the truncate came in between, the
 * copy would keep the old size. */
enum {
    FILE_ASK_FOR_BOTH = 1 << 0, /* find the copy, and do the operation on it, too */
    FILE_ASK_FOR_END = 1 << 1,  /* find the copy, make the rebalance abandon the move, and wait */
    FILE_ASK_FOR_MARK = 1 << 2, /* find the copy, and set the marks that a new mode has removed */
    FILE_MARK = 1 << 3,         /* set the marks of the move on the file again */
    FILE_RESTORE = 1 << 4,      /* set the mode of a linkto again, which the call has changed */
    FILE_PROTECT = 1 << 5,      /* make the brick refuse the rebalance's writes to the copy */
    FILE_WAIT = 1 << 6,         /* wait for the end of a move, by taking the data lock */
    FILE_CHECK = 1 << 7,        /* stat the file: had it moved before the operation? */
    FILE_UNLOCK = 1 << 8,       /* release a record lock that was taken on a linkto */
    FILE_FIND = 1 << 9,         /* look the file up, to find its subvolume */
    FILE_EMPTY = 1 << 10,       /* truncate the linkto that the move has left, to 0 bytes */
    FILE_GO = 1 << 11,          /* open the file on `child`, and make the call there */
};

/* An operation that is wound to one subvolume, mostly on a file. */
struct file_op {
    struct op op;
    unsigned todo;              /* set of FILE_*: the steps that are still to run */
    struct call_stub *call;     /* arguments of the call, for another attempt; or NULL */
    struct answer_stub *answer; /* kept while steps run: the first subvolume's answer before the
                                 * copy's, or the answer of a subvolume that may have lost the file;
                                 * or NULL */
    int answered;               /* subvolume that has sent `answer`, or NO_CHILD */
    inode_t *inode;             /* inode of the file; with a reference */
    fd_t *fd;                   /* fd of the call, with a reference; or NULL */
    int child;                  /* subvolume to which the call is wound */
    int target;                 /* subvolume to which the file is being copied, or NO_CHILD */
    bool chosen;                /* `child` is already set for the next attempt */
    bool both;                  /* the call was repeated on the copy, which `child` has */
    bool settled;               /* no move that began before the call is still running */
    bool dirty;                 /* the call has written data to a linkto on `answered` */
    bool checks;                /* a success of the call is followed by FILE_CHECK */
    uint32_t rights;            /* set of IATT_*: owner, group, mode, if the call sets them */
    struct iatt changed;        /* attributes of the file after the call, if `rights` is not 0 */
};

any_fop_t file_any_fop;
any_fop_cbk_t file_any_fop_cbk;

/* Returns the subvolume that gets an operation on an inode: the cached subvolume of a file; for a
 * directory its MDS, or else the first one that is up; NO_CHILD: none. */
int inode_home (xlator_t *this, inode_t *inode);

/* Looks the file up, since it may have moved. If it has, repeats the operation there. If not,
 * passes on the kept answer, or op_errno if there is none. In rebalance.c. */
void file_find (struct file_op *file, int op_errno);

/* Returns whether an operation takes or releases record locks. In the protocol a flock is a record
 * lock on the whole file. */
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

/* Winds the call to child. For an operation on an open file, opens the file there first. */
void file_go (struct file_op *file, int child);

/* Runs the steps in todo (FILE_*). Then passes the kept answer on, or winds the call again. */
void file_do (struct file_op *file, unsigned todo);

/* A rebalance marks a file that it moves with two mode bits, setgid and sticky. iatt_is_moving
 * tests for both bits; marks_strip removes them, so that the caller does not see them. */
bool iatt_is_moving (const struct iatt *buf);
void marks_strip (struct iatt *buf);

/* --- report.c --------------------------------------------------------------------------------- */

void dht_dump (xlator_t *this, GString *out);
void dht_dump_inode (xlator_t *this, inode_t *inode, GString *out);
void dht_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

/* Returns the answer to getxattr of the virtual attribute "dht.file.hashed-subvol.NAME": the hashed
 * subvolume of NAME in the directory. NULL: another attribute, or the hash is in no range. */
dict_t *virtual_xattr (xlator_t *this, inode_t *directory, const char *name);

/* --- real-filename.c -------------------------------------------------------------------------- */

bool name_is_real_filename (const char *name);
getxattr_fop real_filename_ask;

/* --- pathinfo.c ------------------------------------------------------------------------------- */

getxattr_fop dht_getxattr;

#endif

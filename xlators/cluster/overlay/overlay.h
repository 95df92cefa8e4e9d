/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cluster/overlay: a view of directories, one over the other. Changes go to the first one, the
 * upper; the others, the lowers, are only read.
 *
 *   view        /a      /b (changed)   /c (removed)   /d (new)
 *   upper               b              c = whiteout   d           slot 0: folder F, layers/0
 *   lower       a       b              c                          slots 1 and on
 *
 * An inode above has an inode below in each layer that has the object: a file in one layer, or,
 * from its copy on, in the upper as well; a directory in all layers that are merged. The first slot
 * with an inode has what the view shows.
 *
 *   - Operations on an inode go to that slot (pass.c). One that changes something of a lower's
 *     object waits until the object is copied to the upper (copy/up.c). An fd is opened in a slot
 *     when it is first used there, so that open files see the change.
 *   - Operations that change names are straight functions on a thread of core/work
 *     (names/names.c). They hold the turns of the directories that they change.
 *   - The lookup of a name is a sequence through the layers (lookup/lookup.c).
 *   - Formats are those of the kernel's overlayfs: whiteouts are character devices 0:0, opaque
 *     directories and the like are marked in extended attributes (formats/marks.c).
 *
 * The rooms:
 *
 *   start      what graphs share, the claim of the upper, the layers, their roots
 *   lookup     names, and the inodes above
 *   copy       from a lower to the upper
 *   names      operations that change names; hard links; what is removed after the answer
 *   formats    marks in extended attributes, origins, redirects, and records for apply
 *   commands   diff, apply, discard, freeze, as they are given
 *   diff       what the upper changes
 *   apply      changes of the base
 *   commit     frozen layers that become part of the base
 *
 * Order: a thread that holds turns waits for no copy. A thread that copies holds no turn, except to
 * give the finished copy its name. A rename of a directory takes the turn of the work directory
 * before those of its directories; otherwise no thread that holds a turn waits for another one.
 */
#ifndef WINDLASS_OVERLAY_H
#define WINDLASS_OVERLAY_H

#include "formats/marks.h"
#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define OVERLAY_UPPER 0 /* slot of the upper */
#define OVERLAY_INDEX "index" /* directory of work: names/links.c */
#define OVERLAY_USERS "users" /* directory of the first child, with the names of views that read the
                               * frozen layers: `windlass run overlay --from` */
#define OVERLAY_SENTENCES_MAX 100 /* about wrong marks, that a graph writes to its log */

struct overlay_layer {
    xlator_t *xlator; /* a child */
    const char *path; /* of a layer in the first child: where it lies; interned. NULL: the child's
                       * root is the layer */
    uint64_t dev;     /* of its root; set at the start */
    uint64_t seed;    /* of inode numbers; 0: they pass unchanged. Set at the start */
    struct client *daemon; /* requests as the daemon; NULL: none was made yet. Atomic */
    bool origins;     /* finds files by origin (XDATA_ORIGIN). Set at the start */
    bool wh;          /* whiteouts may be files ".wh.NAME": formats/wh.c. Constant */
    bool has_folder;  /* its root is the directory that the folder of changes lies in. Set at the
                       * start */
};

/* What goes on in the next graph at a reload: start/shared.c. */
struct overlay_shared {
    struct shared shared;
    bool was_lent;               /* a second graph has used it. Atomic */
    const char *prefix;          /* of marks; NULL: init has not tried the upper yet */
    char *instance;              /* begins the names of this daemon's copies in work */
    uint64_t serial;             /* of the last name in work. Atomic */
    pthread_mutex_t lock;        /* guards what follows, and the states of inodes */
    pthread_cond_t changed;      /* a copy or a turn has ended */
    GHashTable *turns;           /* inodes of directories that threads change */
    GHashTable *inodes;          /* inode above -> its struct overlay_inode */
    GHashTable *kept;            /* inode number -> inode above that has it, though its object was
                                  * applied, so that the file system may use the number again */
    unsigned n_kept;             /* of them. Atomic */
    GHashTable *applied;         /* gfid in a layer -> gfid above, of objects that were applied, as
                                  * long as an inode has that gfid: lookup/inodes.c */
    unsigned n_applied;          /* of them. Atomic */
    GHashTable *unsynced;        /* directories of the upper, with references: copies got names in
                                  * them that may not outlast a power cut */
    unsigned n_unsynced;         /* of them. Atomic */
    unsigned freezes;            /* layers that were frozen since. Changes in a pause. Atomic */
    unsigned discards;           /* discards since. Changes in a pause. Atomic */
    GArray *discards_at;         /* of unsigned: the value of `freezes` at each discard */
    unsigned moves;              /* how often the turn of the work directory was taken or given, so
                                  * an odd number means that a directory is renamed. Atomic */
    unsigned owned;              /* copies that belong to the daemon and not to their owner.
                                  * Atomic */
    bool has_index;              /* the index has, or has had, a name. Atomic */
    pthread_mutex_t tasks_lock;  /* a leaf */
    pthread_cond_t tasks_changed; /* a task has begun or ended */
    unsigned tasks;              /* those of all graphs; tasks_lock */
};

enum overlay_owner { OVERLAY_OWNER_KEEP, OVERLAY_OWNER_DAEMON };

typedef struct {
    char *upper, *work_directory; /* options: paths in the first child */
    enum overlay_owner owner;     /* option */
    char *wh_volumes;             /* option: names, between commas; or NULL */
    bool has_own_mount;           /* the mount itself was found in a lower. Atomic */
    struct held_calls *held;      /* calls that wait for copies */
    struct overlay_layer *slots;  /* of all slots, as they were made: start/layers.c */
    unsigned capacity;            /* of them: for layers in the first child. Set at init */
    unsigned frozen;              /* slots 1 to `frozen` are layers that were frozen. This and the
                                   * next one change in a pause */
    unsigned n;                   /* slots of layers; slot n is the work directory, n + 1 its
                                   * index */
    bool local;                   /* all layers are storage of this machine. Set at init */
    struct overlay_layer *layers; /* that of slot 0, and those behind it */
    const char *prefix;           /* of marks: "trusted.overlay." or "user.overlay.". Set by
                                   * overlay_prepare */
    struct overlay_shared *parts; /* from before init on */
    struct shared *claims;        /* of start/claim.c; from before init on */
    fd_t *claimed[2];             /* lock files of work and of the upper; NULL: storage has no
                                   * locks */
    uint64_t folder_dev, folder_ino; /* of the first child's root; set by overlay_prepare */
    struct root_place place;      /* where that lies; no name: not known. The same */
    bool cleans;                  /* no other graph of this daemon uses the work directory */

    pthread_mutex_t lock;         /* guards what follows */
    pthread_cond_t changed;       /* a start has ended */
    bool prepared;                /* overlay_prepare has succeeded */
    int refused;                  /* a negative errno that a start gets, for good; or 0 */
    bool started;                 /* the roots of the slots are known. Atomic */
    bool starting;
    int start_error;              /* of the last start, for the log */
    unsigned tasks;               /* tasks on threads of core/work; parts->tasks_lock */
    unsigned sentences;           /* about wrong marks, in the log. Atomic */
    GQueue swept;                 /* of names/sweep.c: what is removed from work next */
    bool sweeping;                /* a job removes it */
    GPtrArray *old_roots;         /* inode_t, with references, of uppers that were thrown away; used
                                   * by one pause at a time, and at the end */
    gfid_t whiteout;              /* of the last one that was made in the upper; or null */
    unsigned whiteout_names;      /* that it was given */
    GSList *claims_layers;        /* struct overlay_order of commands that apply, freeze or commit,
                                   * and run: while one freezes or commits it is the only one */
    struct store *records;        /* formats/records.h; constant from init to PARENT_DOWN. NULL: a
                                   * read-only mount has none to read */
} overlay_private_t;

/* The state of an inode above, which is its context in each graph that knows it; parts->lock,
 * except where atomic. */
struct overlay_inode {
    struct overlay_shared *parts;
    inode_t *inode;      /* above; no reference is needed */
    unsigned graphs;     /* whose context this is */
    unsigned freezes;    /* parts->freezes when what follows was true of the upper. Atomic */
    unsigned discards;   /* parts->discards when lost_names and links were true. Atomic */
    inode_t *copy;       /* in the upper, with a reference, once it was made here. Atomic */
    uint64_t number;     /* st_ino; 0: that of the first slot's object. Atomic */
    uint64_t marked;     /* of a directory: the slots in which files may have marks. Atomic */
    unsigned data_slot;  /* of a lower's copy without data: which lower has them; 0: no such copy.
                          * Atomic */
    uint64_t blocks;     /* st_blocks of the data; set before data_slot */
    bool copied;         /* the upper's object has an origin. Atomic */
    bool impure;         /* of a directory: the upper's has this mark. Atomic */
    bool queued;         /* a task will copy the object for the waiters */
    bool copying;        /* a thread copies the object */
    bool rests;          /* the job that copies rests: the waiters are counted (stack_rest_waits) */
    unsigned threads;    /* that want the copy */
    bool own_mount;      /* a directory where the mount itself is: lookup/own-mount.c. Atomic */
    bool dead;           /* a removed directory: no name can be made in it. Atomic */
    unsigned turns;      /* of a directory: how often its turn was taken or given, so an odd number
                          * means that a thread has it. Atomic */
    unsigned lost_names; /* names of a lower's file that were removed in the view. Atomic */
    unsigned lost_frozen; /* of them: those that a frozen layer has removed */
    bool indexed;        /* the copy has a name in the index. Atomic */
    unsigned other_names; /* of an indexed copy: those that only the lower has. Atomic */
    enum { LINKS_UNKNOWN, LINKS_GUESSED, LINKS_EXACT } links; /* how other_names is known */
    GQueue waiters;      /* of copy/wait.c */
    gfid_t applied;      /* of an object that was applied: gfid of the first layer's object, since
                          * then that in the base; else null */
};

/* A lookup of a name. Layers from `slot` on are asked for `names`. */
struct overlay_look {
    loc_t loc;          /* as asked, with references */
    unsigned turns;     /* overlay_inode.turns of its directory, before the upper was asked */
    uint64_t names_at;  /* names_now before the present layer was asked */
    char **names;       /* a name of the parent, or the names from the layers' roots; owned */
    bool absolute;      /* the latter */
    unsigned at;        /* which of the names is looked up */
    inode_t *directory; /* where, if at > 0; with a reference */
    enum { WH_NOT_ASKED, WH_OF_NAME, WH_OF_DIRECTORY } wh; /* which file of formats/wh.c is asked
                                                            * for: the whiteout of the name, or the
                                                            * one that makes `found` opaque */
    bool marks;         /* the names of marks are asked for */
    bool values;        /* their values are */
    inode_t *found;     /* whose, with a reference */
    struct iatt found_buf;
    struct overlay_marks found_marks;

    inode_t **below;    /* by slot, with references; n of them */
    unsigned n;
    unsigned first;     /* the slot that has what the view shows; n: none yet */
    bool done;          /* no further layer counts */
    bool own_mount;     /* the mount itself is there: lookup/own-mount.c */
    struct overlay_marks first_marks;
    uint64_t marked;    /* as overlay_inode.marked */
    bool wants_data;    /* a copy without data was found, and not its data yet */
    unsigned data_slot; /* as overlay_inode.data_slot */
    uint64_t blocks;

    inode_t *origin;    /* the file that an origin tells, in slot `asked`; with a reference */
    unsigned asked;     /* slot that is asked for the file of an origin; 0: none yet */
    unsigned hops;      /* origins that were followed */
    gfid_t gfid;        /* of the end of the chain of origins; null: none */
    uint64_t number;    /* st_ino of it; 0: none */
    unsigned lower_links; /* link count of the lower's file; 0: not known */
    unsigned links;     /* link count of a copy that is in the index */
    bool indexed;       /* below[OVERLAY_UPPER] is in the index */
};

/* The local of a call. */
struct overlay_local {
    struct sequence sequence; /* of a lookup */
    bool on_thread;           /* the call has come to a thread of core/work */
    bool emptied;             /* the call has tried to make an empty copy */
    inode_t *inode;           /* that the answer is about, with a reference; or NULL */
    inode_t *source;          /* of copy_file_range, with a reference; or NULL */
    unsigned slot;            /* where the call was wound, or where the lookup is */
    fd_t *opens;              /* of an open that waits for an answer, with a reference; or NULL */
    struct iatt buf;          /* the answer of a lookup */
    struct overlay_look look;
};

static inline overlay_private_t *
overlay_priv (const xlator_t *this)
{
    return this->private;
}

/* --- lookup/inodes.c: inodes above and below -------------------------------------------------- */

/* Returns the first slot that has the inode; the number of slots: none has it. */
unsigned overlay_slot (xlator_t *this, inode_t *inode);
bool overlay_is_dead (xlator_t *this, inode_t *directory); /* it was removed: it shows no name */

/* The slot's bit in overlay_inode.marked. Slots from 63 on share one. */
static inline uint64_t
overlay_slot_bit (unsigned slot)
{
    return (uint64_t) 1 << MIN (slot, 63);
}

/* Returns the slot from which the bytes of an inode are read, if slot is its first one. */
unsigned overlay_data_slot (xlator_t *this, inode_t *inode, unsigned slot);
bool overlay_is_copied (xlator_t *this, inode_t *inode); /* from a lower to the upper */

/* Returns the inode above with the gfid: given if that has it or none yet, else the known one, else
 * a new one. With a reference. */
inode_t *overlay_above (inode_t *given, struct itable *table, const gfid_t *gfid);

/* An object of a slot was applied: the base has it now, as `below`. The inode above keeps its gfid
 * and its number until it is forgotten. For a pause. */
void overlay_inode_applied (xlator_t *this, inode_t *inode, unsigned slot, inode_t *below);
/* Returns the gfid that an object of a layer has above: it is the same, or was applied. */
gfid_t overlay_gfid_above (xlator_t *this, const gfid_t *gfid);
/* A lookup has found the inode above for an object of a layer with that gfid. If the gfids differ
 * (overlay_gfid_above), the object keeps the gfid above until the inode is forgotten. */
void overlay_applied_join (xlator_t *this, inode_t *inode, const gfid_t *gfid);
gfid_t overlay_applied (struct overlay_inode *state); /* its member of that name */
void overlay_applied_drop_locked (struct overlay_inode *state); /* the inode is forgotten */
GHashTable *overlay_applied_new (void);
/* Changes the inode number of a name to the one that its object has above, if it is known, and
 * objects were applied. */
void overlay_number_applied (xlator_t *this, inode_t *directory, const char *name,
                             uint64_t *number);

#define OVERLAY_HASHED ((uint64_t) 1 << 62) /* a bit of inode numbers that are hashes */

/* Returns the inode number above of an object of a slot. */
uint64_t overlay_number (xlator_t *this, unsigned slot, uint64_t number);

/* Changes attributes of an object of a slot to those that the inode has above. */
void overlay_iatt_above (xlator_t *this, inode_t *inode, unsigned slot, struct iatt *iatt);

/* Whether the attributes are those of a whiteout. */
bool overlay_is_whiteout (const struct iatt *iatt);

/* Whether a name in a directory of a slot, below, is the folder of the first child, which a lower
 * may contain, or a temporary name of an apply. No lower shows these. dev, ino: of the object, as
 * far as they are known. */
bool overlay_is_ours (xlator_t *this, unsigned slot, inode_t *directory, const char *name,
                      uint64_t dev, uint64_t ino);
/* The folder alone. */
bool overlay_is_folder (xlator_t *this, unsigned slot, const inode_t *directory, const char *name,
                        uint64_t dev, uint64_t ino);

/* --- start/shared.c --------------------------------------------------------------------------- */

int overlay_take_over_prepare (xlator_t *this, xlator_t *predecessor);
struct overlay_inode *overlay_inode_get (xlator_t *this, inode_t *inode);
struct overlay_inode *overlay_inode_known (xlator_t *this, inode_t *inode); /* or NULL */
void overlay_inode_drop (struct overlay_inode *state); /* of one graph; frees the last one's */
/* Has no other object get the number of an inode whose object was applied, until it is dropped. */
void overlay_number_keep (struct overlay_inode *state);
/* Returns whether another inode than this one keeps the number. */
bool overlay_number_is_kept (struct overlay_shared *parts, uint64_t number, const inode_t *inode);
void overlay_inode_forget (xlator_t *this, inode_t *inode); /* lookup/inodes.c */

/* Returns an inode of the call that another graph has copied, which this graph does not know yet;
 * or NULL. */
inode_t *overlay_lacks_copy (const struct call *call);
/* On a thread: finds the copy that another graph has made of the inode, if any. Returns 0 or a
 * negative errno. */
int overlay_inherit (xlator_t *this, inode_t *inode);

/* --- tasks.c: calls that go on on a thread, turns --------------------------------------------- */

struct overlay_local *overlay_local_of (call_frame_t *frame);

/* Sets the call aside and has a thread continue it by api->any_fop, with local->on_thread. lacks:
 * of overlay_lacks_copy, or NULL. */
void overlay_to_thread (const struct call *call, inode_t *lacks);

/* Returns whether the thread that brings a call of a straight function may run it: the layers
 * answer it at once, and no copy is made for it. */
bool overlay_runs_here (const struct call *call);

/* Counts a task: the end of its graph waits for it, and so does a pause of any graph that has the
 * same parts. */
void overlay_task_begin (xlator_t *this);
void overlay_task_end (xlator_t *this);
void overlay_tasks_wait (xlator_t *this);     /* for those of this graph */
void overlay_all_tasks_wait (xlator_t *this, int64_t until); /* for those of all of these graphs, or
                                                             * until a time of clock_now */
unsigned overlay_all_tasks (xlator_t *this);  /* how many run in all of these graphs */

/* Waits until no other thread has the turn of one or two directories, and takes it. b may be NULL,
 * or a. */
void overlay_turns_take (xlator_t *this, inode_t *a, inode_t *b);
void overlay_turns_give (xlator_t *this, inode_t *a, inode_t *b);
unsigned overlay_turns (xlator_t *this, inode_t *directory); /* overlay_inode.turns of it */
/* Waits, half a minute at most, while a directory is renamed, and returns overlay_shared.moves; and
 * whether a directory was renamed since it had that value: a walk of the view may then have met a
 * directory twice, or never. For threads of jobs. */
#define OVERLAY_MOVES_TRIES 10 /* walks of a view whose directories programs rename */
unsigned overlay_moves (const xlator_t *this);
bool overlay_moved_since (const xlator_t *this, unsigned moves);

/* --- act.c: what a straight function needs ---------------------------------------------------- */

struct overlay_act {
    xlator_t *this;
    call_frame_t *frame;      /* of the call; NULL: a copy */
    struct itable *above;     /* the table above */
    struct client *caller;    /* to the upper, as the caller; made when first used */
    /* Asked between pieces of a copy (struct copy_between); NULL: nobody stops it. A copy that is
     * stopped fails with -ECANCELED. */
    bool (*stops) (void *stops_data, off_t at);
    void *stops_data;
};

void overlay_act_begin (struct overlay_act *act, xlator_t *this, call_frame_t *frame,
                        inode_t *any);
void overlay_act_end (struct overlay_act *act);
struct client *overlay_daemon (const struct overlay_act *act, unsigned slot);
struct client *overlay_caller (struct overlay_act *act);
const struct fd_maker *overlay_fds (const struct overlay_act *act, unsigned slot);

/* Finds the directory of a path in a slot, from a directory on: `depth` names, of which empty ones
 * are left out. Makes those that are missing if `make`. *ret_buf: attributes of the last name that
 * was looked up; unchanged if there is none. Returns 0 or a negative errno: -ENOTDIR if something
 * else is there. */
int overlay_walk (struct overlay_act *act, unsigned slot, inode_t *from, char **names, guint depth,
                  bool make, inode_t **ret_inode, struct iatt *ret_buf);

inode_t *overlay_work (struct overlay_act *act); /* the work directory */
char *overlay_work_name (xlator_t *this);        /* a new name in it; g_free it */

/* What the layers have of a name. */
struct overlay_name {
    inode_t *upper; /* with a reference; a whiteout, too; NULL: nothing */
    struct iatt upper_buf;
    bool whiteout;
    unsigned lower; /* the first lower that shows the name; 0: none */
    inode_t *lower_inode; /* with a reference */
    struct iatt lower_buf;
};

/* Returns 0, also if no layer has the name; or a negative errno: -ENOENT if the directory was
 * removed. */
int overlay_name_look (struct overlay_act *act, inode_t *parent, const char *name,
                       struct overlay_name *ret_name);
void overlay_name_clear (struct overlay_name *name);

typedef struct overlay_name overlay_name_t;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (overlay_name_t, overlay_name_clear)

/* Whether files of a directory above may have marks in a layer. */
bool overlay_files_have_marks (xlator_t *this, inode_t *directory, unsigned slot);
/* Whether an object that a slot has in a directory above is a whiteout, also one that was made
 * without a device: an empty file with a mark. */
bool overlay_hides (struct overlay_act *act, unsigned slot, inode_t *directory, inode_t *inode,
                    const struct iatt *buf);

static inline bool
overlay_name_shows (const struct overlay_name *name)
{
    return !name->whiteout && (name->upper || name->lower);
}

/* Attributes of what a name shows. */
static inline const struct iatt *
overlay_name_buf (const struct overlay_name *name)
{
    return name->upper ? &name->upper_buf : &name->lower_buf;
}

/* Returns 0, or -EACCES or -EPERM if the caller may not change names in the directory, or not
 * remove the object. For what the daemon then does in the caller's place. victim may be NULL. */
int overlay_may_change (struct overlay_act *act, inode_t *parent, const struct iatt *victim);

int overlay_stat_upper (struct overlay_act *act, inode_t *inode, struct iatt *ret_buf);

/* --- start/claim.c ---------------------------------------------------------------------------- */

/* A directory of the upper's file system, below, and the name of a lock file in it. */
struct overlay_claim {
    inode_t *directory;
    const char *name;
};

struct shared *overlay_claims_new (void); /* of all graphs of the mount; one reference */

/* Makes and locks the file. *ret_fd: open and locked, with a reference; unchanged if storage has no
 * locks. *ret_first: no other graph of this daemon has it locked. Returns 0 or a negative errno:
 * -EAGAIN if another daemon has it locked; then *ret_holder names that one, g_free it. */
int overlay_claim (struct overlay_act *act, const struct overlay_claim *claim, fd_t **ret_fd,
                   char **ret_holder, bool *ret_first);

/* --- formats/origin.c: which file a copy is a copy of ----------------------------------------- */

/* Whether a layer finds its files by origin. */
bool overlay_origins_are_found (struct overlay_act *act, unsigned slot, inode_t *root);
/* Marks a copy with where it comes from: `from` in a slot. */
int overlay_origin_set (struct overlay_act *act, unsigned slot, inode_t *from, inode_t *made,
                        const gfid_t *gfid, uint64_t number);
/* Marks a directory of the upper (above) before it gets a copy as an entry. */
int overlay_impure_set (struct overlay_act *act, inode_t *directory);

/* Asks a layer for the file of an origin. Returns 0; *ret_gfid is null if the layer has no such
 * file; or a negative errno. */
int overlay_origin_find (struct overlay_act *act, unsigned slot, const void *origin, size_t size,
                         gfid_t *ret_gfid);

/* Steps of a lookup, whose local they get. */
bool overlay_origin_when (void *data);
void overlay_origin_run (void *data);
int overlay_origin_judge (void *data);

/* --- formats/redirect.c: directories that come from another place ----------------------------- */

/* Splits a redirect as the kernel reads it. Returns false if it is none: *ret_reason then completes
 * a sentence. g_strfreev *ret_names. */
bool overlay_redirect_read (const char *redirect, char ***ret_names, bool *ret_absolute,
                            const char **ret_reason);
/* In a lookup: layers below have the directory elsewhere. Returns 0, or -EIO after a sentence. */
int overlay_look_follow (struct overlay_local *local);
/* Marks a directory of the upper that has lowers with its place in them, before it is renamed.
 * same: within its directory. Returns -EXDEV where that can't be. */
int overlay_redirect_set (struct overlay_act *act, inode_t *parent, const char *name,
                          inode_t *inode, bool same);

/* An object of a slot that is copied. */
struct overlay_model {
    unsigned slot;
    inode_t *inode;         /* below */
    const struct iatt *buf; /* of it */
};

/* --- the rest --------------------------------------------------------------------------------- */

/* start/start.c: claims the directories, and tries what the upper must be able to do. Returns
 * 0, or a negative errno after a log line; -ENOTCONN without one: the first child is not connected
 * yet. */
int overlay_prepare (xlator_t *this);
int overlay_start (xlator_t *this, inode_t *any);

void overlay_lookup (const struct call *call);
/* The gfid by which the lowers know what the lookup has found. */
const gfid_t *overlay_look_gfid (const struct overlay_local *local);
/* Begins again with the layers, in a step. */
void overlay_look_again (struct overlay_local *local);

void overlay_lookup_drop (struct overlay_local *local);

void overlay_pass (const struct call *call);
void overlay_pass_cbk (const struct answer *answer);

void overlay_list (const struct call *call); /* on a thread */
void overlay_list_forget (xlator_t *this, fd_t *fd);

/* Copies the object to the upper, with its parents, unless it is there. Waits. */
int overlay_copy_up (xlator_t *this, inode_t *inode);
/* copy/empty.c: whether a call leaves no bytes in the file. overlay_empty goes on with it, on a
 * thread: it makes a copy without bytes. */
bool overlay_empties (const struct call *call, const inode_t *inode);
void overlay_empty (const struct call *call, inode_t *inode);
/* Sets the call aside until the object is in the upper. */
void overlay_copy_up_wait (const struct call *call, inode_t *inode);
void overlay_held_go_on (call_stub_t *stub, enum held_end why, void *data); /* for held_new */

/* --- sync.c: names of copies ------------------------------------------------------------------ */

/* Names of a directory of the upper, below, have changed for a copy or a removal. That is synced
 * when a program syncs something below the directory, and at the end of the graph. */
void overlay_unsynced (xlator_t *this, inode_t *directory);

/* Syncs the names of all copies. Returns 0 or a negative errno. */
int overlay_sync_all (struct overlay_act *act);

/* Syncs a directory of a slot, below: its attributes and its names; overlay_sync_directory one of
 * the upper, only if names of it are not synced. */
int overlay_sync_inode (struct overlay_act *act, unsigned slot, inode_t *directory);
int overlay_sync_directory (struct overlay_act *act, inode_t *directory);

void overlay_sync_ending (xlator_t *this); /* all, at the end of the graph */

/* fsync and fsyncdir, on a thread: the names first, then the call. */
void overlay_sync (const struct call *call);

/* Makes an object of the same type in a directory of another slot, with the target or the device
 * numbers, without bytes, for its owner alone. */
int overlay_make_like (struct overlay_act *act, const struct overlay_model *model, unsigned onto,
                       inode_t *directory, const char *name, inode_t **ret_made);
/* Copies the bytes of a file to a new file of another slot, which is open for writing. */
int overlay_copy_data (struct overlay_act *act, const struct overlay_model *model, unsigned onto,
                       fd_t *to);
int overlay_copy_attributes (struct overlay_act *act, unsigned slot, inode_t *from,
                             const struct iatt *buf, inode_t *to);
/* The same from any slot to any other. */
int overlay_copy_attributes_to (struct overlay_act *act, unsigned slot, inode_t *from,
                                const struct iatt *buf, unsigned onto, inode_t *to);

void overlay_names (const struct call *call); /* on a thread */
void overlay_make (struct overlay_act *act, const struct call *call);
void overlay_link (struct overlay_act *act, const struct call *call);
void overlay_remove (struct overlay_act *act, const struct call *call);
void overlay_rename (struct overlay_act *act, const struct call *call);

/* Moves an object of the upper, below, to a new name of work, *ret_there (g_free it). flags: as of
 * sync_name_rename. */
int overlay_move_to_work (struct overlay_act *act, inode_t *directory, const char *name,
                          inode_t *inode, uint32_t flags, char **ret_there);
/* Removes a name of work, with all below it. An error is not reported: the next start tries
 * again. */
void overlay_work_remove (struct overlay_act *act, const char *name);
/* Makes a whiteout for a name of which the upper has nothing. */
int overlay_whiteout (struct overlay_act *act, inode_t *parent, const char *name);
/* Replaces a file of the upper, below, by a whiteout. That is one step, as in the kernel's
 * overlayfs: a program that has the file open sees the loss of the name as soon as others do. */
int overlay_cover (struct overlay_act *act, inode_t *parent, const char *name, inode_t *file);
/* Moves the upper's directory of a name to work; leaves a whiteout if the name has lowers. A job
 * then removes it from work with all that is in it. */
int overlay_take_away (struct overlay_act *act, inode_t *parent, const char *name,
                       const struct overlay_name *at);
/* names/sweep.c: has a job remove a directory from work, with all below it, that came from a
 * directory of the upper, below. Takes name over. */
void overlay_sweep (xlator_t *this, inode_t *directory, char *name);
/* Has a job remove the name of a copy from the index (overlay_index_sweep). Takes name over. */
void overlay_sweep_index (xlator_t *this, char *name, inode_t *copy);
void overlay_sweep_forget (overlay_private_t *priv); /* what is left in the queue */
/* Returns 0, or -ENOTEMPTY if the merged directory shows a name. */
int overlay_is_empty (struct overlay_act *act, inode_t *directory);

#endif

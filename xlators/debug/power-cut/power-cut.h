/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/power-cut: shared by its files.
 *
 * A change goes down at once; the old state is kept until the new one is durable:
 *
 *   log --nodes--> node (a file or directory that is not durable in all respects)
 *                    data    its durable size, and the old content of each block that changed
 *                    meta    its durable mode, owner, times, extended attributes
 *                    slots   of a directory: the names in it that are not durable
 *
 *   slot: a name in a directory     durable -> node or none      restored by a cut
 *                                   current -> node or none      the present state
 *   group: slots that become durable, or are lost, only together: the two of a rename
 *
 * All of that belongs to one thread, the worker, which makes every change, one after the other: it
 * looks at the present state, winds the request, waits for its answer, notes it and passes it on.
 * So changes have one order, and no lock is needed. Requests that change nothing do not go through
 * the worker.
 *
 * Reasons:
 *
 * - Changes go down at once and the old state is kept. An overlay that holds changes back would
 *   have to answer every question about names, sizes, holes and locks itself.
 * - With one worker, the log needs no lock, and a synchronous call for old content
 *   (core/edge/sync.h) blocks no thread that answers it.
 * - For each changed name, the log has its durable node, not a list of changes and their inverses.
 *   Undoing changes backwards would need each intermediate state to be possible, once some of them
 *   are durable. fsync of a directory drops its names.
 * - Names that a rename touches are coupled: they become durable, or are lost, together. So are a
 *   rename's target and the names that lead to its directory, if those are not durable, and the
 *   names in a directory with its removal. Otherwise an fsync in between could lose a durable file
 *   or make a circle of directories.
 * - `names ordered` decides at run time when the journal is written, so that a prefix of the
 *   changes survives without keeping each state in between.
 * - A removed file is kept by a hard link in a hidden folder. A descriptor would keep it too, but
 *   could not give it a name again.
 * - A translator that ends the mount sends XLATOR_GONE upwards; the bridge is the parent of
 *   the graph's top while it is mounted.
 */
#ifndef WINDLASS_POWER_CUT_H
#define WINDLASS_POWER_CUT_H

#include "xlator.h"

#define CUT_BLOCK 4096
#define CUT_SECTOR 512
#define CUT_HIDDEN ".windlass-power-cut"

enum cut_data { CUT_DATA_BY_MODEL, CUT_DATA_LOSE, CUT_DATA_RANDOM, CUT_DATA_TORN, CUT_DATA_KEEP };
enum cut_sizes { CUT_SIZES_BY_MODEL, CUT_SIZES_DATA, CUT_SIZES_EARLY };
enum cut_names {
    CUT_NAMES_BY_MODEL,
    CUT_NAMES_LOSE,
    CUT_NAMES_ORDERED,
    CUT_NAMES_RANDOM,
    CUT_NAMES_KEEP
};
enum cut_metadata {
    CUT_METADATA_BY_MODEL,
    CUT_METADATA_LOSE,
    CUT_METADATA_RANDOM,
    CUT_METADATA_KEEP
};
enum cut_fsync { CUT_FSYNC_BY_MODEL, CUT_FSYNC_FILE, CUT_FSYNC_FILE_AND_NAMES };

/* What is durable when, and what may be lost, by the model or by options. */
struct cut_rules {
    int data, sizes, names, metadata, fsync; /* values of the enums above, never BY_MODEL */
};

/* Data that only the worker uses. */
struct cut_log {
    GHashTable *nodes;   /* gfid -> struct cut_node; no reference */
    GQueue dirty;        /* struct cut_node with data or meta, in the order in which they got it;
                            with references */
    GQueue slots;        /* all struct cut_slot, in the order in which they became dirty */
    uint64_t numbers;    /* the last number used for an aside */
    inode_t *root;       /* of the child; no reference is needed */
    inode_t *hidden;     /* the hidden folder, or NULL until it is needed; with a reference */
    bool swept;          /* remains of an earlier daemon were removed */
    struct random_source chance;
};

typedef struct {
    /* options */
    int model, data, sizes, names, metadata, fsync;
    uint64_t memory_limit;
    int64_t journal_every;
    char *seed_text;

    /* constant after init */
    struct cut_rules rules;
    uint64_t seed;
    struct client *client; /* for the worker's own requests; only the worker uses it */
    struct cut_disk *disk; /* with a reference */

    bool user;        /* counted in disk->users: disk->lock */
    unsigned pending; /* jobs of this translator that are not done: disk->lock */
} power_cut_private_t;

/* What is on the disk, and what would be after a cut. It goes on in the next graph
 * (xlator_api.take_over): one worker makes the changes of both graphs, so they have one order. */
struct cut_disk {
    struct shared shared;
    bool dead;             /* the power has failed: atomic */
    pthread_mutex_t lock;  /* a leaf */
    pthread_cond_t changed;
    GQueue jobs;           /* struct cut_job: lock */
    unsigned users;        /* translators in force: lock */
    xlator_t *last;        /* the last user, for which the worker cleans up: lock */
    bool stopping;         /* lock */
    pthread_t worker;
    bool has_worker;       /* the main thread's */

    unsigned aside_count;  /* atomic: number of asides */
    pthread_mutex_t asides_lock; /* a leaf */
    GHashTable *asides;    /* gfids of files that have a name in the hidden folder: asides_lock */

    struct cut_log log;      /* the worker's */
    struct cut_store *store; /* the worker's */
};

static inline power_cut_private_t *
cut_priv (const xlator_t *this)
{
    return this->private;
}

static inline struct cut_disk *
cut_disk (const xlator_t *this)
{
    return cut_priv (this)->disk;
}

static inline bool
cut_is_dead (const xlator_t *this)
{
    return __atomic_load_n (&cut_disk (this)->dead, __ATOMIC_ACQUIRE);
}

/* --- worker.c: makes one change after the other --- */

/* A job for the worker. run frees it. */
struct cut_job {
    void (*run) (xlator_t *this, struct cut_job *job);
    xlator_t *this; /* set by cut_worker_do */
};

int cut_worker_start (struct cut_disk *disk);
void cut_worker_end (struct cut_disk *disk); /* there is no user */

/* Count a user; finish its queued jobs. After the last user the worker ends, and drops the log. */
void cut_worker_use (xlator_t *this);
void cut_worker_leave (xlator_t *this);

/* Takes ownership of job. */
void cut_worker_do (xlator_t *this, struct cut_job *job);

/* --- disk.c --- */

/* Returns the predecessor's, or a new one with its worker; NULL after a gf_log. */
struct cut_disk *cut_disk_get (xlator_t *this, const xlator_t *predecessor);

/* Has the worker find in this graph what the log is about, before any change in it. */
void cut_disk_join (xlator_t *this, const xlator_t *predecessor);

/* --- store.c: old content, in memory or, beyond a limit, in a file without a name --- */

struct cut_store;
struct cut_block; /* CUT_BLOCK bytes of old content */

struct cut_store *cut_store_new (uint64_t memory_limit);
void cut_store_free (struct cut_store *store); /* takes NULL; the blocks were dropped before */

/* Keeps bytes; NULL stands for zeros, which take no room. If there is no room, returns NULL and a
 * negative errno in *ret_error. */
struct cut_block *cut_store_put (struct cut_store *store, const void *bytes, int *ret_error);
void cut_store_set_limit (struct cut_store *store, uint64_t memory_limit);
/* returns 0 or a negative errno */
int cut_store_get (struct cut_store *store, const struct cut_block *block, void *ret_bytes);
void cut_store_drop (struct cut_store *store, struct cut_block *block);

/* --- nodes.c: files, directories and names that are not durable --- */

struct cut_data_log {
    uint64_t size;      /* the durable size */
    GHashTable *blocks; /* number -> struct cut_block: durable content of changed blocks. Beyond
                           size: zeros */
};

enum {
    CUT_META_TIMES = 1 << 0,
    CUT_META_MODE = 1 << 1,
    CUT_META_OWNER = 1 << 2,
    CUT_META_XATTRS = 1 << 3,
};

struct cut_meta_log {
    unsigned changed; /* CUT_META_* */
    struct iatt old;
    GHashTable *xattrs; /* name -> GBytes, the durable value, or NULL if there was none; NULL: no
                           attribute changed */
};

struct cut_node {
    gfid_t gfid;
    unsigned refs;
    inode_t *inode;     /* with a reference */
    bool nameless;      /* made by tmpfile, without a name so far */
    bool gone;          /* a removed directory: old and xattrs are its former attributes */
    struct iatt old;
    dict_t *xattrs;
    uint64_t aside;     /* also linked as hidden/NUMBER; 0: not */
    unsigned durable_refs; /* number of slots whose durable is this node */
    struct cut_data_log *data; /* NULL: durable */
    struct cut_meta_log *meta; /* NULL: durable */
    GList *dirty_link;  /* in log.dirty, while it has data or meta */
    GHashTable *slots;  /* of a directory: name -> struct cut_slot; or NULL */
    GPtrArray *places;  /* slots whose current is this node; or NULL */
};

struct cut_group {
    GPtrArray *slots;
    bool decided, lost; /* at the cut */
};

struct cut_slot {
    char *name;
    struct cut_node *dir, *durable, *current; /* with references; durable and current may be NULL */
    struct cut_group *group;
    guint index; /* in group->slots */
    GList *link; /* in log.slots */
};

/* The node of an inode, with a reference. Made on demand. */
struct cut_node *cut_node_get (xlator_t *this, inode_t *inode);
/* Finds the node, without making one and without a reference. */
struct cut_node *cut_node_find (xlator_t *this, const gfid_t *gfid);
void cut_node_unref (xlator_t *this, struct cut_node *node); /* takes NULL */
/* The node has got data or meta; or may have lost the last of them. */
void cut_node_dirty (xlator_t *this, struct cut_node *node);
void cut_node_cleaned (xlator_t *this, struct cut_node *node);

/* The slot of a name. If it is not in the log, adds it with its present node occupant (may be
 * NULL). */
struct cut_slot *
cut_slot_get (xlator_t *this, struct cut_node *dir, const char *name, struct cut_node *occupant);
struct cut_slot *cut_slot_find (const struct cut_node *dir, const char *name);
void cut_slot_set (xlator_t *this, struct cut_slot *slot, struct cut_node *current);
void cut_slots_couple (struct cut_slot *one, struct cut_slot *other);

/* Removes a slot from the log: its current state is durable. cut_slot_tidy: only if current is
 * durable. */
void cut_slot_drop (xlator_t *this, struct cut_slot *slot);
void cut_slot_tidy (xlator_t *this, struct cut_slot *slot);

/* Makes the names of a directory, the names of a file, or all names durable, with the slots coupled
 * to them. */
void cut_names_durable_in (xlator_t *this, struct cut_node *dir);
void cut_names_durable_of (xlator_t *this, struct cut_node *node);
void cut_names_durable (xlator_t *this);

/* Drops the whole log without undoing anything. */
void cut_log_clear (xlator_t *this);

/* --- child.c: the worker's own requests; each returns 0 or a negative errno --- */

int cut_look (xlator_t *this, inode_t *dir, const char *name, inode_t **ret_inode,
              struct iatt *ret_buf);
int cut_stat (xlator_t *this, inode_t *inode, fd_t *fd, struct iatt *ret_buf); /* fd may be NULL */
int cut_open (xlator_t *this, inode_t *inode, uint32_t flags, fd_t **ret_fd);
int cut_link (xlator_t *this, inode_t *inode, inode_t *dir, const char *name);
int cut_rename (xlator_t *this, inode_t *inode, inode_t *dir, const char *name, inode_t *newdir,
                const char *newname);
int cut_mkdir (xlator_t *this, inode_t *dir, const char *name, mode_t mode, inode_t **ret_inode);
/* unlink or rmdir */
int cut_remove (xlator_t *this, inode_t *dir, const char *name, inode_t *inode);
int cut_remove_tree (xlator_t *this, inode_t *dir, const char *name); /* with its content */
int cut_set_meta (xlator_t *this, inode_t *inode, const struct iatt *to, uint32_t valid);
/* NULL: the attribute does not exist */
int cut_get_xattr (xlator_t *this, inode_t *inode, const char *name, GBytes **ret_value);
/* NULL: removes it */
int cut_set_xattr (xlator_t *this, inode_t *inode, const char *name, GBytes *value);
dict_t *cut_get_xattrs (xlator_t *this, inode_t *inode); /* all that can be read */
/* Reads size bytes; bytes beyond the end of file are zeros. */
int cut_read (xlator_t *this, fd_t *fd, void *buf, size_t size, off_t offset);
int cut_write (xlator_t *this, fd_t *fd, const void *buf, size_t size, off_t offset);
int cut_resize (xlator_t *this, fd_t *fd, uint64_t size);

/* --- hidden.c: removed files that must be able to come back --- */

/* Gives the node a name in the hidden folder, unless it has one; removes that name. */
int cut_aside_make (xlator_t *this, struct cut_node *node);
void cut_aside_drop (xlator_t *this, struct cut_node *node);
/* a directory */
int cut_aside_move (xlator_t *this, struct cut_node *node, inode_t *dir, const char *name);
char *cut_aside_name (uint64_t number); /* g_free it */
int cut_hidden_need (xlator_t *this);
void cut_hidden_sweep (xlator_t *this);

/* For xlator_api: the hidden folder, and the links in it. buf may be NULL. */
bool cut_hides (xlator_t *this, inode_t *directory, const char *name);
void cut_uncount (xlator_t *this, struct iatt *buf);

/* --- data.c, meta.c: old content and attributes --- */

/* [offset, end) of a file is about to change. fills: notes data written beyond the durable size
 * too. */
int cut_data_touch (xlator_t *this, struct cut_node *node, fd_t *fd, uint64_t offset, uint64_t end,
                    bool fills);
/* A new file: none of its content is durable. */
void cut_data_new (xlator_t *this, struct cut_node *node, const struct iatt *buf);
void cut_data_durable (xlator_t *this, struct cut_node *node);
/* Notes that these written bytes are durable. */
void cut_data_durable_range (xlator_t *this, struct cut_node *node, uint64_t offset,
                             const void *bytes, size_t size);
/* The approximate number of bytes that a cut may lose. */
uint64_t cut_data_amount (const struct cut_node *node);

int cut_meta_touch (xlator_t *this, struct cut_node *node, fd_t *fd, unsigned what);
int cut_meta_touch_xattr (xlator_t *this, struct cut_node *node, const char *name);
void cut_meta_durable (xlator_t *this, struct cut_node *node, unsigned what);

/* --- changes.c, change-data.c, change-names.c: each operation that makes a change --- */

/* A change on its way; the worker's, except the answer's fields. */
struct cut_change {
    struct cut_job job;
    struct call_stub *stub;
    inode_t *root; /* of the mount */
    const struct cut_op *op;
    bool refused;  /* it was not wound */
    struct cut_node *node; /* the node that changes, or NULL; with a reference, like the nodes
                              below */
    struct cut_node *dir, *newdir, *victim;
    char *name, *newname;
    struct iatt buf;     /* attributes of node before the change */
    struct iatt victim_buf;
    uint32_t flags;
    bool existed, sync;
    bool synced_all;     /* an fsync has synced the whole file system: storage/posix */
    uint64_t offset;
    void *bytes; /* the bytes of a synchronous write */
    size_t size;
    /* The answer: lock until answered */
    bool answered;
    int op_ret;
    inode_t *inode;
    struct iatt made;
    fd_t *fd;
    struct answer_stub *answer;
};

struct cut_op {
    /* returns 0, or a negative errno to refuse the change */
    int (*prepare) (xlator_t *this, const struct call *call, struct cut_change *change);
    /* called if op_ret is 0 or more */
    void (*commit) (xlator_t *this, struct cut_change *change);
    /* called after commit, or after a failure; or NULL */
    void (*settle) (xlator_t *this, struct cut_change *change);
};

extern const struct cut_op cut_data_ops[FOP_MAX], cut_name_ops[FOP_MAX];

/* Takes the call over if it makes a change. Returns false otherwise. */
bool cut_change_take (const struct call *call);
void cut_change_wind (const struct call *call);
void cut_change_answered (const struct answer *answer);

/* Makes all names and attributes durable, as a journal does. */
void cut_journal_commit (xlator_t *this);

/* Called when a tmpfile is released. */
void cut_release (xlator_t *this, fd_t *fd);

/* --- undo.c, undo-data.c, undo-names.c: the cut --- */

struct cut_losses {
    unsigned files, names, metadata, failures;
    uint64_t bytes;
    GString *lines; /* a line for each loss, up to a limit */
    unsigned told; /* number of lines, including those beyond the limit */
};

void cut_undo (xlator_t *this, GString *answer);
void cut_undo_data (xlator_t *this, struct cut_losses *losses);
void cut_undo_names (xlator_t *this, struct cut_losses *losses);
void cut_undo_meta (xlator_t *this, struct cut_losses *losses);
void cut_losses_say (struct cut_losses *losses, const char *format, ...) G_GNUC_PRINTF (2, 3);
void cut_losses_fail (xlator_t *this, struct cut_losses *losses, const char *what, int r);
void cut_losses_report (xlator_t *this, const struct cut_losses *losses, GString *answer);

/* --- commands.c --- */
extern const struct xlator_command cut_commands[];

#endif

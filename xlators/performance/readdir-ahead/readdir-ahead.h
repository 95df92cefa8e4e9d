/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/readdir-ahead.
 *
 *   readdir-ahead.c   options, init and fini, dumps
 *   read.c            opendir, readdir, readdirp: answered from entries read ahead, or passed on
 *   fill.c            reads ahead: one fill call after the other, until there is enough
 *   dir.c             the entries read ahead of an open directory
 *   changes.c         notes changes of names and of files' attributes
 *
 *   fd --ctx--> rda_dir --batches--> rda_batch, rda_batch    each the answer of one readdirp
 *                                    ^ at        ^ next
 *
 * at is the reader's position, next is where reading ahead goes on.
 *
 * A batch describes the directory at its clock or later. A change increments the clock and notes it
 * with the inode, so that a batch can be checked for names or files that changed since. If names
 * changed, everything is dropped. If a file changed, its entry loses its attributes, so that the
 * kernel looks the file up when it needs them.
 *
 * Locks: rda_dir.lock, then lru.lock; private.lock is a leaf. Under them, no wind, unwind or
 * freeing.
 *
 * Reasons:
 *
 * - Each change notes the clock with its inode when it begins and when it ends. So an answer from
 *   before a change is told from one that came after, also if both were under way at once. While
 *   there is no reading ahead, no change is counted, and a write costs two atomic counts.
 * - If names changed, all entries read ahead of the directory are dropped: an offset says nothing
 *   about a name, so reading ahead begins again at the reader's position. If a file changed, only
 *   its attributes are left out, when the entry is served and by gfid: storage may have answered an
 *   inode that the table does not know. If that file was forgotten since, all older entries lose
 *   their attributes.
 * - Storage reads names ahead too, 64 KiB of getdents at a time, but stats files only on demand. So
 *   a fill call continues where the last one ended, and never runs beside a reader's call elsewhere
 *   in the directory. Otherwise storage would seek back and forth.
 * - A reader that asks for entries on their way waits for them, as a stub. A reader that jumps is
 *   passed on until it has continued in order once; GlusterFS passes it on for ever.
 * - The kernel begins every listing with attributes, and continues without them if a caller wants
 *   only names. So the first piece is as large as a reader's first call, and no more is read before
 *   the second call. If the answer had room left, the end is asked for at once, which costs
 *   nothing.
 * - Reading ahead begins, or goes on, after the reader's answer went up, so that storage that
 *   answers within the call does not make opendir as slow as a listing. A server does not, so it is
 *   asked before: it reads while the translators above, the kernel and the program use the answer.
 *   The loop ends when there is enough, or
 *   when only this translator refers to the fd: no event tells of a close.
 * - md-cache asks for extended attributes along with the entries, by xdata. So entries are read
 *   ahead with the xdata of the directory's last reader, and serve only readers with the same. If
 *   readers come with xdata, nothing is read before the first call.
 * - md-cache's look-ahead lists directories itself, a piece with each fd: nothing is read ahead.
 * - Not noticed: changes of atime by reading, and blocks that the file system allocates later.
 */
#ifndef WINDLASS_READDIR_AHEAD_H
#define WINDLASS_READDIR_AHEAD_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

typedef struct {
    /* Options; atomic. */
    uint64_t request_size, low, high, limit;
    int64_t timeout;

    bool begun;          /* init has initialised the locks */
    bool ending;         /* atomic: reading ahead has stopped */
    bool remote;         /* over servers; constant once the graph is up */
    struct lru lru;      /* of rda_batch */
    unsigned watching;   /* atomic: open directories with entries read ahead or a fill loop; at 0,
                            changes are not stamped */
    struct change_clock clock;
    struct change_view any;        /* changes of a file that is not, or was not, known */
    struct change_view any_linked; /* the same for a file with several names */
    struct change_view any_names;
    unsigned waiting;    /* atomic: readers that wait for a fill call */
    struct {
        /* atomic: the first three count calls, the next two directories, the last one entries */
        uint64_t hits, passed, fills, dropped, expired, stripped;
    } count;

    pthread_mutex_t lock;
    pthread_cond_t idle; /* signalled when filling becomes 0 */
    unsigned filling;    /* lock: directories with a fill loop */
    size_t first_size;   /* lock: size of the last reader's first call in a directory */
    bool first_is_asked; /* lock: it had xdata */
} rda_private_t;

/* The entries that one fill call brought. It belongs to its directory, or, after lru has evicted
 * it, to the caller of lru. */
struct rda_batch {
    struct lru_entry entry;
    struct rda_dir *dir;   /* with a reference */
    gf_dirent_t *entries;  /* dir->lock */
    size_t bytes;          /* size of entries, as readdir or readdirp counts it; dir->lock */
    uint64_t clock;        /* private.clock before the call; constant, like the fields below */
    int64_t born;          /* clock_roughly before the call */
    bool plus;             /* entries have attributes */
    bool dropped;          /* dir->lock: removed from the directory */
};

struct rda_dir {
    int refs;              /* atomic */
    pthread_mutex_t lock;
    inode_t *inode;        /* of the fd, which owns this; only valid with a reference of the fd.
                              Constant */
    uid_t uid;             /* the opener, whose identity fill calls have. Constant */
    gid_t gid;
    GQueue batches;        /* lock: of struct rda_batch */
    size_t bytes, cost;    /* lock: sums over batches */
    size_t promised;       /* lock: bytes for readers that are about to be served */
    off_t at;              /* lock: the offset of the first entry */
    off_t next;            /* lock: where reading ahead goes on */
    off_t expected;        /* lock: where the last answer ended; a call for this offset reads in
                              order */
    unsigned generation;   /* lock: answers of calls from an earlier generation are discarded */
    bool active;           /* lock: at and next are valid */
    bool plus;             /* lock: the last reader wanted attributes */
    dict_t *xdata;         /* lock: of the last reader; fill calls have the same */
    bool goes_on;          /* lock: a reader has asked for more than the beginning, or for names
                              alone */
    bool nears_end;        /* lock: the last fill call's answer had room left */
    bool eof;              /* lock: the end of the directory comes after the last batch */
    int error;             /* lock: this error comes after the last batch; 0: none */
    int64_t ended;         /* lock: clock_roughly before the call that found eof or error */
    uint64_t ended_clock;  /* lock: private.clock before that call */
    unsigned backoff, skip; /* lock: grows each time entries had to be dropped; number of calls
                               until reading ahead resumes */
    bool watched;          /* lock: counted in private.watching */
    GQueue waiters;        /* lock: of call_stub_t */

    /* The fill loop; one thread at a time runs it. */
    bool looping;          /* lock: the loop exists */
    bool pending;          /* lock: its call is on the way or about to be made */
    unsigned pending_for;  /* lock: generation of that call */
    bool inside;           /* lock: a thread is inside the wind */
    bool returned;         /* lock: the answer came within the wind and has set handed */
    call_stack_t *handed;  /* lock */
};

/* What changed; flags. */
enum { RDA_FILE = 1 << 0, RDA_NAMES = 1 << 1 };

struct rda_local {
    /* Of a reader's call that went down, or of a fill call. */
    fd_t *fd;
    struct rda_dir *dir;
    off_t offset;
    size_t size;
    dict_t *xdata;
    uint64_t clock;
    int64_t born;
    unsigned generation;
    bool plus, follows;
};

static inline rda_private_t *
rda_priv (const xlator_t *this)
{
    return this->private;
}

#define RDA_GET(field_) __atomic_load_n (&(field_), __ATOMIC_SEQ_CST)
#define RDA_COUNT(this_, field_) \
    __atomic_add_fetch (&rda_priv (this_)->count.field_, 1, __ATOMIC_RELAXED)

/* --- dir.c --- */

struct rda_dir *rda_dir_new (const call_frame_t *frame, fd_t *fd);
struct rda_dir *rda_dir_get (xlator_t *this, fd_t *fd); /* NULL if there is none */
struct rda_dir *rda_dir_ref (struct rda_dir *dir);
void rda_dir_unref (struct rda_dir *dir); /* takes NULL */

/* Batches without an owner, to be freed without a lock. */
typedef GQueue rda_gone_t;
#define RDA_GONE_INIT G_QUEUE_INIT
void rda_gone_free (rda_gone_t *gone);

/* Drops all entries, and makes the answer of a call on the way discarded. */
void rda_dir_drop_locked (xlator_t *this, struct rda_dir *dir, rda_gone_t *gone);

/* Updates watched, and the count of directories for which changes are noted. Call after each change
 * of looping, batches, eof or error. */
void rda_dir_watch_locked (xlator_t *this, struct rda_dir *dir);

/* Takes off entries for about size bytes, at least one. *ret_clock is the oldest clock among their
 * batches. */
gf_dirent_t *rda_dir_take_locked (xlator_t *this, struct rda_dir *dir, size_t size, bool plus,
                                  int *ret_n, uint64_t *ret_clock, rda_gone_t *gone);

/* Advances to an offset, if it is that of an entry read ahead. */
bool rda_dir_skip_locked (xlator_t *this, struct rda_dir *dir, off_t offset, rda_gone_t *gone);

/* Appends a copy of entries. Frees batches that are evicted for it. Without a lock. Drops all of
 * the directory's batches if there is no room. */
void rda_dir_add (xlator_t *this, struct rda_dir *dir, const struct rda_local *asked,
                  const gf_dirent_t *entries);

/* Frees the batches that lru has evicted. Without a lock. */
void rda_evict (xlator_t *this, struct lru_entry *list);

/* Size of an entry as storage counts it, and its maximum. */
#define RDA_ENTRY_MOST (24 + 128 + 256)
size_t rda_entry_size (const gf_dirent_t *entry, bool plus);

void rda_releasedir (xlator_t *this, fd_t *fd);

/* --- fill.c --- */

/* Returns a request for a fill loop if reading ahead should start now, else NULL. Pass it to
 * rda_fill after the reader was answered. */
call_stack_t *
rda_fill_wanted (xlator_t *this, const call_frame_t *frame, struct rda_dir *dir, fd_t *fd);
void rda_fill (xlator_t *this, call_stack_t *root); /* takes NULL */

/* The same before the reader is answered, over servers; else returns root. */
call_stack_t *rda_fill_early (xlator_t *this, call_stack_t *root);

/* Lets a loop that was about to end go on, since a reader has asked for more. The reader may then
 * wait for it. */
void rda_fill_go_on_locked (xlator_t *this, struct rda_dir *dir);

/* Waits until no fill loop runs. */
void rda_fill_wait (xlator_t *this);

/* --- read.c --- */

opendir_fop rda_opendir;
readdir_fop rda_readdir;
readdirp_fop rda_readdirp;

/* --- changes.c --- */

/* Operations that change names, or attributes of listed files. */
#define RDA_MATTERS (CHANGES_DATA | CHANGES_ATTRIBUTES | CHANGES_XATTRS | CHANGES_NAMES)
any_fop_t rda_any_fop;
any_fop_cbk_t rda_any_fop_cbk;
void rda_forget (xlator_t *this, inode_t *inode);

/* A change that was not made through this translator; inode NULL: any. */
void rda_changed (xlator_t *this, inode_t *inode, unsigned what);

/* Returns true if names of the directory changed since that clock, or are being changed. */
bool rda_names_changed (xlator_t *this, inode_t *inode, uint64_t clock);

/* Returns true if the attributes in entry may be outdated since that clock. */
bool rda_entry_is_stale (xlator_t *this, const gf_dirent_t *entry, uint64_t clock);

#endif

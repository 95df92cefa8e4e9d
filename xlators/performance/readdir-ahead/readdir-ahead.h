/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/readdir-ahead.
 *
 *   readdir-ahead.c   options, beginning and end, dumps
 *   read.c            opendir, readdir, readdirp: answered from what was read ahead, or passed on
 *   fill.c            reads ahead: one call of ours after the other, until there is enough
 *   dir.c             what was read ahead of an open directory
 *   changes.c         what changes meanwhile: names, and attributes of files
 *
 *   fd --ctx--> rda_dir --batches--> rda_batch, rda_batch    each the answer of one readdirp
 *                                    ^ at        ^ next
 *
 * at is where the reader is, next is where reading ahead goes on.
 *
 * What a batch says was so at its clock, or later. A change counts the clock up, and notes it with
 * the inode; so whoever has a batch can tell whether a name or a file changed since. Where names
 * changed everything is dropped; of a file that changed the attributes are left out, so that
 * whoever wants them looks them up.
 *
 * Locks: rda_dir.lock, then lru.lock; private.lock is a leaf. Nothing is wound, answered or freed
 * under them.
 *
 * Reasons:
 *
 * - Each change notes the clock with its inode when it begins and when it ends. So an answer from
 *   before a change is told from one that came after, also if both were under way at once. While
 *   nothing is read ahead no change is counted, and a write costs two atomic counts.
 * - Where names changed, all that was read ahead of the directory is dropped: an offset says
 *   nothing about a name, so reading begins again where the reader is. Of a file that changed only
 *   the attributes are left out, when the entry is given away and by gfid: storage may have
 *   answered an inode that the table doesn't know. If that file was forgotten since, all older
 *   entries lose theirs.
 * - Storage reads names ahead too, 64 KiB of getdents at a time, but looks at files only on demand.
 *   So our calls go on where the last one ended, and never run beside a reader's call elsewhere in
 *   the directory, or storage would seek back and forth.
 * - A reader that asks for what is on its way waits for it, as a stub. A reader that jumps is
 *   passed on until it has gone straight on once; GlusterFS passes it on for ever.
 * - The kernel begins every listing with attributes and continues without them for those that want
 *   only names. So the first piece is as large as a reader's first call, and no more is read before
 *   the second call. If the answer had room left, the end is asked for at once, which costs
 *   nothing.
 * - Reading ahead begins after the answer of opendir went up, so that storage that answers within
 *   the call doesn't make opendir as slow as a listing. The loop ends when enough is there, or when
 *   only this translator refers to the file: no event tells of a close.
 * - Not noticed: atime that reading moves, and blocks that the file system allocates later.
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

    size_t first_size;   /* atomic: how much readers ask for when they begin a directory, as the
                            last one did */

    bool begun;          /* init got as far as the locks */
    bool ending;         /* atomic: nothing is read ahead any more */
    struct lru lru;      /* of rda_batch */
    unsigned watching;   /* atomic: open directories of which something was, or is being, read
                            ahead; while there are none nobody minds changes */
    struct change_clock clock;
    struct change_view any;        /* changes of files of which nobody knows, or knew then, which
                                      ones they are; */
    struct change_view any_linked; /* the same, but that they have several names; and of names in
                                      any directory */
    struct change_view any_names;
    unsigned waiting;    /* atomic: readers that wait for a call of ours */
    struct {
        /* atomic: calls, calls, calls, directories, directories, entries */
        uint64_t hits, passed, fills, dropped, expired, stripped;
    } count;

    pthread_mutex_t lock;
    pthread_cond_t idle; /* filling has become 0 */
    unsigned filling;    /* lock: directories that are being read ahead */
} rda_private_t;

/* What one call of ours answered. It is its directory's, or, when lru says so, whoever took it out
 * of that. */
struct rda_batch {
    struct lru_entry entry;
    struct rda_dir *dir;   /* with a reference */
    gf_dirent_t *entries;  /* dir->lock */
    size_t bytes;          /* of these, as readdir or readdirp counts them; dir->lock */
    uint64_t clock;        /* of private, before it was asked for; constant, as is the rest */
    int64_t born;          /* clock_roughly then */
    bool plus;             /* entries have attributes */
    bool dropped;          /* dir->lock: it isn't its directory's any more */
};

struct rda_dir {
    int refs;              /* atomic */
    pthread_mutex_t lock;
    inode_t *inode;        /* of the fd, which has us; not to be used without an fd. Constant */
    uid_t uid;             /* who opened it, and as whom it is read ahead. Constant */
    gid_t gid;
    GQueue batches;        /* lock: of struct rda_batch */
    size_t bytes, cost;    /* lock: of all of them */
    off_t at;              /* lock: the offset of the first entry, */
    off_t next;            /* and where we go on */
    off_t expected;        /* lock: where the last answer ended; who asks for that goes straight
                              on */
    unsigned generation;   /* lock: what was asked for in an earlier one isn't wanted any more */
    bool active;           /* lock: at and next are valid */
    bool plus;             /* lock: attributes are wanted, as by the last reader */
    bool goes_on;          /* lock: a reader has asked for more than the beginning, or for names
                              alone */
    bool nears_end;        /* lock: our last answer had room left */
    bool eof;              /* lock: nothing comes after the last batch, */
    int error;             /* or this error does, */
    int64_t ended;         /* as of clock_roughly then, */
    uint64_t ended_clock;  /* and private.clock */
    unsigned backoff, skip; /* lock: how often what was read ahead had to be dropped; so many calls
                               more nothing is */
    bool watched;          /* lock: it counts in private.watching */
    GQueue waiters;        /* lock: of call_stub_t */

    /* Reading ahead is one loop, of one thread at a time. */
    bool looping;          /* lock: there is one */
    bool pending;          /* lock: its call is on the way, or about to be made, */
    unsigned pending_for;  /* in this generation */
    bool inside;           /* lock: and whoever made it hasn't come back from that */
    bool returned;         /* lock: but the answer has, and left `handed` */
    call_stack_t *handed;  /* lock */
};

/* What changed together. */
enum { RDA_FILE = 1 << 0, RDA_NAMES = 1 << 1 };

struct rda_local {
    /* Of a reader that is passed on, or a call of ours. */
    fd_t *fd;
    struct rda_dir *dir;
    off_t offset;
    size_t size;
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
struct rda_dir *rda_dir_get (xlator_t *this, fd_t *fd); /* NULL: none */
struct rda_dir *rda_dir_ref (struct rda_dir *dir);
void rda_dir_unref (struct rda_dir *dir); /* takes NULL */

/* Batches that are nobody's, to be freed without a lock. */
typedef GQueue rda_gone_t;
#define RDA_GONE_INIT G_QUEUE_INIT
void rda_gone_free (rda_gone_t *gone);

/* Nothing is known any more, and what is on the way isn't wanted. */
void rda_dir_drop_locked (xlator_t *this, struct rda_dir *dir, rda_gone_t *gone);

/* Counts it among those for which changes are noted, or no more. After each change of looping,
 * batches or what comes after them. */
void rda_dir_watch_locked (xlator_t *this, struct rda_dir *dir);

/* Takes off entries for about size bytes, at least one. The oldest clock of these. */
gf_dirent_t *rda_dir_take_locked (xlator_t *this, struct rda_dir *dir, size_t size, bool plus,
                                  int *ret_n, uint64_t *ret_clock, rda_gone_t *gone);

/* Goes on to an offset, if it is one of those that were read ahead. */
bool rda_dir_skip_locked (xlator_t *this, struct rda_dir *dir, off_t offset, rda_gone_t *gone);

/* Puts a copy of entries behind the last. Without a lock: what had to go for it is freed. false:
 * there is no room. */
void rda_dir_add (xlator_t *this, struct rda_dir *dir, const struct rda_local *asked,
                  const gf_dirent_t *entries);

/* Frees what lru has no room for. Without a lock. */
void rda_evict (xlator_t *this, struct lru_entry *list);

/* What an entry takes, as storage counts it, and at most. */
#define RDA_ENTRY_MOST (24 + 128 + 256)
size_t rda_entry_size (const gf_dirent_t *entry, bool plus);

void rda_releasedir (xlator_t *this, fd_t *fd);

/* --- fill.c --- */

/* Shall it be read ahead now? Then a request for that; rda_fill, when the reader was answered. */
call_stack_t *
rda_fill_wanted (xlator_t *this, const call_frame_t *frame, struct rda_dir *dir, fd_t *fd);
void rda_fill (xlator_t *this, call_stack_t *root); /* takes NULL */

/* A loop that was to end after what it has may go on now that a reader has asked for more: then he
 * may wait for it. */
void rda_fill_go_on_locked (xlator_t *this, struct rda_dir *dir);

/* Waits until nothing is being read ahead. */
void rda_fill_wait (xlator_t *this);

/* --- read.c --- */

opendir_fop rda_opendir;
readdir_fop rda_readdir;
readdirp_fop rda_readdirp;

/* --- changes.c --- */

/* Attributes of listed files, and names. */
#define RDA_MATTERS (CHANGES_DATA | CHANGES_ATTRIBUTES | CHANGES_XATTRS | CHANGES_NAMES)
every_fop rda_every;
every_cbk rda_every_cbk;
void rda_forget (xlator_t *this, inode_t *inode);

/* Something isn't so any more: inode NULL is any. */
void rda_changed (xlator_t *this, inode_t *inode, unsigned what);

/* Have names of the directory changed since that clock, or are they about to? */
bool rda_names_changed (xlator_t *this, inode_t *inode, uint64_t clock);

/* The same of a file that an entry has attributes of. */
bool rda_entry_is_stale (xlator_t *this, const gf_dirent_t *entry, uint64_t clock);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/quick-read.
 *
 *   quick-read.c   options, beginning and end, dumps
 *   content.c      what is kept: the whole of a small file, the attributes by which it is valid,
 *                  and who may read it
 *   read.c         open and readv: served, or passed on and learnt from
 *   seen.c         answers that bring content or attributes: lookup, stat, fstat, readdirp
 *   change.c       whatever changes a file: its content goes before, and what was asked meanwhile
 *                  isn't kept
 *
 *   inode --ctx--> qr_inode --content--> qr_content <--> lru   at most cache-size of all files
 *                     |
 *                     +-- readers: callers that could open the file to read since its ctime, so
 *                         those that may be served
 *
 * Time is told in two ways. private.clock counts the beginnings and ends of changes: what was asked
 * for before a change had ended, or while one was under way, isn't kept, whenever its answer comes.
 * And seconds: what is kept is served for cache-timeout after storage was last asked about it, when
 * it answered the same size, mtime and ctime; for what is changed behind the mount.
 *
 * Locks: qr_inode.lock, then lru.lock; private.lock; nothing is wound or answered under them.
 *
 * Reasons:
 *
 * - Content comes with lookup (xdata glusterfs.content), read by storage as the caller, without
 *   changing atime. If a translator below has TOUCHES_DATA, storage's bytes aren't the file's;
 *   then, and where no lookup asked, a read that brings the whole file is kept.
 * - Which caller may be served is a question of its own: an answered open proves nothing above
 *   open-behind. The fd's slot keeps the opener until a read through it has come back; then the
 *   opener is one of the inode's readers, as long as its ctime stays. A lookup that brought content
 *   proves as much, unless a translator below may judge otherwise than storage: TOUCHES_METADATA,
 *   TOUCHES_NAMES or TOUCHES_ERRORS, as system/posix-acl has.
 * - Content whose ctime was younger than 0.1 s (iatt_is_settled) is served for a second at most,
 *   whatever attributes come: another change in the same tick has the same attributes.
 * - Content of 4 KiB and more is lent from where it is kept. Less is copied, since a buffer is 4
 *   KiB at least.
 * - Eviction goes by the content, since the inode may be gone: so qr_inode counts references.
 */
#ifndef WINDLASS_QUICK_READ_H
#define WINDLASS_QUICK_READ_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* In lookup's xdata: up to how many bytes are wanted; in its answer's: they */
#define QR_CONTENT_KEY "glusterfs.content"
#define QR_READERS 4
/* content below is kept without a buffer of its own, which would be larger, and copied for each
 * reader */
#define QR_COPIED 4096

typedef struct {
    /* options */
    uint64_t max_size;  /* constant */
    uint64_t cache_size;
    int64_t timeout;    /* seconds; atomic */
    char *priority;
    struct priorities *priorities; /* constant; NULL: none */

    dict_t *wanted;     /* xdata that asks for content; constant. NULL: it can't be asked for, as
                           what is below changes data */
    bool opens_lie;     /* an open that was answered may be refused yet: TOUCHES_OPENS below.
                           Constant after PARENT_UP */
    bool lookups_prove; /* who is given content by lookup could have opened the file: nobody in
                           between judges. Constant after PARENT_UP */

    struct lru lru;
    struct change_clock clock;
    struct change_view any;    /* changes of which it isn't known what they are about; written under
                                  lock */
    pthread_mutex_t lock;
    struct {
        uint64_t hits, misses, invalidations, stored, validated, lookups; /* atomic, for the dump */
    } count;
} qr_private_t;

/* What makes content valid, and when storage was asked for it. */
struct qr_stamp {
    uint64_t size;
    int64_t mtime, ctime;
    uint32_t mtime_nsec, ctime_nsec;
    uint64_t asked; /* private.clock, */
    int64_t at;     /* and clock_now */
    bool settled;   /* ctime was long past by then: a later change has another one */
};

/* Constant but for refs. One reference is its inode's, and one the lru's. */
struct qr_content {
    int refs; /* atomic */
    struct lru_entry entry;
    struct qr_inode *qri; /* with a reference */
    size_t size;
    struct iobuf *iobuf;  /* NULL: in bytes */
    char bytes[];
};

struct qr_inode {
    int refs; /* atomic: the inode's slot, and each content */
    pthread_mutex_t lock;
    struct qr_content *content; /* lock; NULL: none */
    bool has;                   /* atomic, written under lock: content isn't NULL */
    struct qr_stamp stamp;      /* lock; of content and of readers */
    int64_t checked;            /* lock; clock_now when storage was last asked about it, and it was
                                   as it is here */
    struct change_view view;    /* lock; operations that change it */
    struct stack_caller *readers[QR_READERS]; /* lock; the latest first; NULL: none */
};

/* Kept with a request until its answer; what isn't needed is NULL. */
struct qr_local {
    struct stack_caller *caller;
    inode_t *inode;
    fd_t *fd;
    struct qr_stamp stamp; /* when it was asked */
    int class;             /* of what the answer may bring, in lru; PRIORITY_UNCACHED: none */
    bool may_read;         /* open: who opens is known to be let in */
    bool asked;            /* lookup: content */
    bool given;            /* lookup: somebody above asked for content too */
    bool begun;            /* an open that cuts off */
};

/* --- quick-read.c --- */

static inline qr_private_t *
qr_priv (const xlator_t *this)
{
    return this->private;
}

#define QR_COUNT(this_, field_) \
    __atomic_add_fetch (&qr_priv (this_)->count.field_, 1, __ATOMIC_RELAXED)

struct qr_inode *qr_inode_get (xlator_t *this, inode_t *inode);  /* NULL: none, or inode is NULL */
struct qr_inode *qr_inode_make (xlator_t *this, inode_t *inode); /* never NULL */
void qr_inode_unref (struct qr_inode *qri);
void qr_local_drop (xlator_t *this, void *local);

/* The same for an inode that was answered, which the table may know by another. */
struct qr_inode *
qr_inode_of_answer (xlator_t *this, inode_t *inode, const struct iatt *buf, bool make);

/* --- content.c --- */

/* Now, as what is asked now will be stamped. */
struct qr_stamp qr_stamp_now (xlator_t *this);

/* The class in the lru of an inode's content; loc may be NULL. */
int qr_class (xlator_t *this, inode_t *inode, loc_t *loc);

/* Bytes that are the whole file: kept, unless the file changed since they were asked for. */
void qr_keep (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
              const struct iatt *buf, int class, const struct iovec *vector, int count);

/* Attributes were answered: what is kept is still valid, or goes. */
void qr_validate (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
                  const struct iatt *buf);

/* He could open the file when that was asked; it counts while the content is as it is. Takes caller
 * over. */
void qr_reader_add (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
                    struct stack_caller *caller);
bool qr_reader_known (xlator_t *this, struct qr_inode *qri, const struct stack_caller *caller);

/* Is there content that attributes will tell to be valid or not, so that it needn't be asked for?
 * Takes NULL. */
bool qr_content_is_good (struct qr_inode *qri);

/* The content with a reference, if it may be served now; else NULL. */
struct qr_content *qr_content_get (xlator_t *this, struct qr_inode *qri);
void qr_content_unref (struct qr_content *content);

/* Nanoseconds for which content needn't be asked about; not above 0: it has to be. Under
 * qri->lock. */
int64_t qr_valid_for_locked (xlator_t *this, const struct qr_inode *qri);

/* Drops what is kept of the file, all of it. */
void qr_drop (xlator_t *this, struct qr_inode *qri);
void qr_drop_all (xlator_t *this);

/* Those that had to go, out of the lru. */
void qr_evict (struct lru_entry *gone);

/* Changes begin and end; NULL: of which file isn't known. */
void qr_change_begin (xlator_t *this, struct qr_inode *qri);
void qr_change_end (xlator_t *this, struct qr_inode *qri);

static inline bool
qr_has_content (const struct qr_inode *qri) /* takes NULL */
{
    return qri && __atomic_load_n (&qri->has, __ATOMIC_ACQUIRE);
}

/* --- read.c --- */

open_fop qr_open;
readv_fop qr_readv;
void qr_release (xlator_t *this, fd_t *fd);

/* --- seen.c --- */

lookup_fop qr_lookup;
stat_fop qr_stat;
fstat_fop qr_fstat;
readdirp_fop qr_readdirp;

/* --- change.c --- */

/* What changes content, or by whom it may be read; and what may end it. */
#define QR_CHANGING (OPS_CHANGE_DATA | OPS_CHANGE_XATTRS | OPSET_OF (FOP_unlink))

create_fop qr_create;
every_fop qr_every;
every_cbk qr_every_cbk;

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/quick-read.
 *
 *   quick-read.c   options, init and fini, dumps
 *   content.c      a small file's whole content, the attributes by which it is valid, and the
 *                  callers that may read it
 *   read.c         open and readv: served, or passed on and learnt from
 *   seen.c         answers that bring content or attributes: lookup, stat, fstat, readdirp
 *   change.c       changes of a file: drop its content first, and keep no content read meanwhile
 *
 *   inode --ctx--> qr_inode --content--> qr_content <--> lru   at most cache-size of all files
 *                     |
 *                     +-- readers: callers that could open the file to read since its ctime, so
 *                         those that may be served
 *
 * Time is measured in two ways. private.clock counts the beginnings and ends of changes: content
 * requested before a change had ended, or while one was under way, is not kept, whenever its answer
 * comes. And in seconds: content is served for cache-timeout after storage last answered the same
 * size, mtime and ctime. This bounds the delay for changes made behind the mount.
 *
 * Locks: qr_inode.lock, then lru.lock; private.lock; no lock is held across a wind or an unwind.
 *
 * Reasons:
 *
 * - A read that brings the whole file is kept. With content-with-lookup, content also comes with
 *   lookup (xdata glusterfs.content), read by storage as the caller, without changing atime; not
 *   if a translator below has TOUCHES_DATA, since storage's bytes aren't the file's then. By
 *   default only a server is asked (GlusterFS always asks): over a local directory it makes a
 *   lookup twice as expensive, and keeps the content of all files that are only looked up.
 * - Which caller may be served is a question of its own: an answered open proves nothing above
 *   open-behind. The fd's slot keeps the opener until a read through it has come back; then the
 *   opener is one of the inode's readers, as long as its ctime stays. A lookup that brought content
 *   proves as much, unless a translator below may judge otherwise than storage: TOUCHES_METADATA,
 *   TOUCHES_NAMES or TOUCHES_ERRORS, as system/posix-acl has. A server reads the file with its own
 *   rights, so its content proves nothing, but the mode beside it may: if all may read the file,
 *   and it has no ACL, every caller may be served. A mode that refuses one class, even root's,
 *   doesn't count, since a server may take the caller for another user.
 * - Content whose ctime was younger than 0.1 s (iatt_is_settled) is served for a second at most,
 *   whatever attributes come: another change in the same tick has the same attributes.
 * - Content of more than 4 KiB is lent from where it is kept. Smaller content is copied, since a
 *   buffer takes up to 8 KiB.
 * - Eviction starts from the content, since the inode may be gone: so qr_inode counts references.
 */
#ifndef WINDLASS_QUICK_READ_H
#define WINDLASS_QUICK_READ_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* In lookup's xdata: the maximum number of bytes wanted; in its answer's xdata: the bytes. */
#define QR_CONTENT_KEY "glusterfs.content"
/* Requested with the content of a server: an answer without it is of a file without an ACL. */
#define QR_ACL_KEY "system.posix_acl_access"
/* Bytes of content in an answer to a readdirp with XDATA_LOOKS_AHEAD, whose entries are to bring
 * what lookups of them would bring: servers count only names. */
#define QR_AHEAD_CONTENT (4 << 20)
/* Contents don't come along after so many lookups of files whose content is there. */
#define QR_SATED 16
#define QR_READERS 4
/* smaller content is kept without a buffer of its own, which would be larger, and copied for each
 * reader */
#define QR_COPIED 4097

typedef struct {
    /* options */
    uint64_t max_size;  /* constant */
    uint64_t cache_size;
    int64_t timeout;    /* seconds; atomic */
    int asks_lookups;   /* enum option_switch; constant */
    char *priority;
    struct priorities *priorities; /* constant; NULL: none */

    dict_t *wanted;     /* xdata that requests content; constant. NULL: content isn't requested */
    bool opens_lie;     /* TOUCHES_OPENS below: an answered open may still be refused. Constant
                           after PARENT_UP */
    bool lookups_prove; /* a caller that lookup gave content could have opened the file: no
                           translator in between judges otherwise, and storage reads as the caller,
                           unlike a server. Constant after PARENT_UP */
    bool modes_prove;   /* content comes from a server. Constant after PARENT_UP */
    unsigned sated;     /* lookups of files with content, since one without; atomic */

    struct lru lru;
    struct change_clock clock;
    struct change_view any;    /* changes of an unknown file; written under lock */
    pthread_mutex_t lock;
    struct {
        uint64_t hits, misses, invalidations, stored, validated, lookups; /* atomic, for the dump */
    } count;
} qr_private_t;

/* The attributes that validate content, and when storage was asked for them. */
struct qr_stamp {
    uint64_t size;
    int64_t mtime, ctime;
    uint32_t mtime_nsec, ctime_nsec;
    uint64_t asked; /* private.clock at that time */
    int64_t at;     /* clock_now at that time */
    bool settled;   /* ctime was old enough by then: any later change gives another ctime */
};

/* Constant, except refs. The inode holds one reference, the lru another. */
struct qr_content {
    int refs; /* atomic */
    struct lru_entry entry;
    struct qr_inode *qri; /* with a reference */
    size_t size;
    struct iobuf *iobuf;  /* NULL: the data are in bytes */
    char bytes[];
};

struct qr_inode {
    int refs; /* atomic: held by the inode's slot and by each content */
    pthread_mutex_t lock;
    struct qr_content *content; /* lock; NULL: none */
    bool has;                   /* atomic, written under lock: content isn't NULL */
    struct qr_stamp stamp;      /* lock; belongs to content and readers */
    int64_t checked;            /* lock; clock_now when storage last confirmed stamp */
    struct change_view view;    /* lock; changes of the file */
    struct stack_caller *readers[QR_READERS]; /* lock; the most recent first; NULL: free */
    bool all_read;              /* lock; any caller may read it */
};

/* Kept with a request until its answer; unused fields are NULL. */
struct qr_local {
    struct stack_caller *caller;
    inode_t *inode;
    fd_t *fd;
    struct qr_stamp stamp; /* when the request went down */
    int class;             /* lru class of content that the answer may bring; PRIORITY_UNCACHED:
                              keep none */
    bool may_read;         /* open: the caller is known to be permitted */
    bool asked;            /* lookup, readdirp: this translator requested content */
    bool given;            /* lookup: a translator above requested content too */
    bool acl_given;        /* lookup: a translator above requested the ACL */
    bool begun;            /* an open with O_TRUNC */
};

/* --- quick-read.c --- */

static inline qr_private_t *
qr_priv (const xlator_t *this)
{
    return this->private;
}

#define QR_COUNT(this_, field_) \
    __atomic_add_fetch (&qr_priv (this_)->count.field_, 1, __ATOMIC_RELAXED)

struct qr_inode *qr_inode_get (xlator_t *this, inode_t *inode);  /* NULL if there is none, or if
                                                                    inode is NULL */
struct qr_inode *qr_inode_make (xlator_t *this, inode_t *inode); /* never NULL */
void qr_inode_unref (struct qr_inode *qri);
void qr_local_drop (xlator_t *this, void *local);

/* The same for an answered inode. The table may hold the file under another inode. */
struct qr_inode *
qr_inode_of_answer (xlator_t *this, inode_t *inode, const struct iatt *buf, bool make);

/* --- content.c --- */

/* Returns the stamp for a request that goes down now. */
struct qr_stamp qr_stamp_now (xlator_t *this);

/* Returns the lru class of an inode's content; loc may be NULL. */
int qr_class (xlator_t *this, inode_t *inode, loc_t *loc);

/* Keeps the bytes of a whole file, unless the file changed since they were requested. */
void qr_keep (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
              const struct iatt *buf, int class, const struct iovec *vector, int count);

/* Compares answered attributes with those of the content: confirms the content or drops it. */
void qr_validate (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
                  const struct iatt *buf);

/* Notes that caller could open the file at that time. Holds while the content stays the same. Takes
 * ownership of caller. */
void qr_reader_add (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
                    struct stack_caller *caller);
void qr_all_may_read (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked);
bool qr_reader_known (xlator_t *this, struct qr_inode *qri, const struct stack_caller *caller);

/* Returns true if there is content that attributes can validate, so that it need not be requested.
 * Takes NULL. */
bool qr_content_is_good (struct qr_inode *qri);

/* Returns the content with a reference, if it may be served now; else NULL. */
struct qr_content *qr_content_get (xlator_t *this, struct qr_inode *qri);
void qr_content_unref (struct qr_content *content);

/* Nanoseconds for which the content may be served without asking storage; 0 or less: storage must
 * be asked. Under qri->lock. */
int64_t qr_valid_for_locked (xlator_t *this, const struct qr_inode *qri);

/* Drops the content of a file; of all files. */
void qr_drop (xlator_t *this, struct qr_inode *qri);
void qr_drop_all (xlator_t *this);

/* Frees the contents that lru has evicted. */
void qr_evict (struct lru_entry *gone);

/* Begins and ends a change; NULL: the file is not known. */
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

/* Operations that change content, or the permission to read it; and unlink, which may end it. */
#define QR_CHANGING (OPS_CHANGE_DATA | OPS_CHANGE_XATTRS | OPSET_OF (FOP_unlink))

create_fop qr_create;
any_fop_t qr_any_fop;
any_fop_cbk_t qr_any_fop_cbk;

#endif

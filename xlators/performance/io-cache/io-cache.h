/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/io-cache.
 *
 *   io-cache.c   options, init and fini, dumps
 *   inode.c      the context of a file: attributes, how long they count, its class
 *   pages.c      its pages: fetched, kept, dropped
 *   read.c       readv: which pages are there, which it waits for
 *   change.c     changes of a file, which drop pages
 *
 *   inode --ctx--> ioc_inode --pages--> ioc_page (on its way, or there)
 *   private.lru -------------------------^ those that are there, by class and last use
 *
 * A page in its inode's table is valid. A change of the file drops, when it comes, all pages that
 * it may affect and all that are on their way; no page is added until it is done. So a page may be
 * served while another part of the file is written.
 *
 * Changes behind the mount are noticed by size, mtime and ctime. A page has the number of the state
 * in which it was read (ioc_page.version). A state counts for cache-timeout; then the attributes
 * are requested again. A page that was read shortly after a change may be older than the attributes
 * that came with it: it has version 0, and counts for cache-timeout alone.
 *
 * Locks: ioc_inode.lock, then lru.lock or reads.lock; no lock is held across a wind or an unwind.
 *
 * Reasons:
 *
 * - Storage reads the attributes after the bytes. A change in between would be kept under the later
 *   attributes, and file systems round times. So a page is trusted for longer than cache-timeout
 *   only if the file's change time was 0.1 s old when the page was requested.
 * - A short page is copied into a buffer of its size: otherwise each small file costs 128 KiB.
 * - Each page is read by a request of its own, also in a large read: one buffer for several pages
 *   could be freed only with the last of them.
 * - The longest matching pattern of priority decides. With the last one, as in GlusterFS,
 *   GlusterFS's own example gives all files the weight 1; with the first one, so do its lists that
 *   begin with "*".
 */
#ifndef WINDLASS_IO_CACHE_H
#define WINDLASS_IO_CACHE_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

#define IOC_PAGE ((size_t) 128 << 10)
#define IOC_PAGES 10 /* pages that one read may need; larger reads pass */
_Static_assert (IOC_PAGES <= PAGES_OF_READ, "a plan has room for them");

typedef struct {
    /* Options; atomic, except priority. */
    uint64_t cache_size;
    int64_t timeout; /* nanoseconds */
    uint64_t min_size, max_size;
    char *priority;

    struct priorities *priorities; /* constant */
    struct lru lru;
    struct change_clock clock;
    bool ending;      /* atomic: no page is added any more */
    unsigned blind;   /* atomic: number of calls on their way that may truncate a file not known
                         yet */
    uint64_t epoch;   /* atomic: incremented when any file may have changed */
    struct {
        uint64_t hits, waits, passed;             /* reads: answered from pages; waited for pages;
                                                     passed on */
        uint64_t fetched, failed, unkept;         /* pages */
        uint64_t looked, changed, invalidations;  /* requests of attributes; of these, changed;
                                                     changes that dropped pages */
    } count;          /* atomic */

    struct page_reads reads;
} ioc_private_t;

/* Attributes that identify a state of a file. */
struct ioc_state {
    uint64_t size;
    int64_t mtime, ctime;
    uint32_t mtime_nsec, ctime_nsec;
};

struct ioc_inode {
    int refs;             /* atomic: the inode's context, its pages, changes under way */
    xlator_t *this;       /* constant */
    pthread_mutex_t lock;
    GHashTable *pages;    /* lock: struct ioc_page by number; NULL until the first page */
    GQueue flying;        /* lock: the pages that are on their way */
    int64_t last;         /* lock: number of the page that contains the end of file, if it is there;
                             else -1 */
    struct change_view changes; /* lock */
    int class;            /* class by priority; atomic */
    bool known;           /* lock: state is valid */
    struct ioc_state state;
    uint32_t version;     /* lock: number of state; from 1 on */
    int64_t looked_at;    /* lock: when the file was last seen in state */
    int64_t old_until;    /* lock: until then, pages of the previous version may be served */
    int64_t doubted_at;   /* lock: pages without a version that were requested before this time do
                             not count */
};

struct ioc_page {
    struct page base;        /* must be first. Refs: the table, the lru, its request, reads */
    struct lru_entry entry;  /* in the lru while the page is there; holds a reference */
    struct ioc_inode *inode; /* with a reference. Constant, like number */
    int64_t number;
    bool listed;             /* inode->lock: in the inode's table */
    GList place;             /* in inode->flying; inode->lock */
    uint32_t version;        /* inode->lock */
};

static inline struct ioc_page *
ioc_page_of_entry (struct lru_entry *entry)
{
    return (struct ioc_page *) ((char *) entry - offsetof (struct ioc_page, entry));
}

/* A read that waits; the frame's local. */
struct ioc_read {
    struct page_read base;   /* must be first */
    struct ioc_inode *inode; /* of the fd */
    uint64_t asked, epoch;   /* private.clock and private.epoch when the read came */
    int64_t looking_at;      /* when fstat went down */
};

static inline ioc_private_t *
ioc_priv (const xlator_t *this)
{
    return this->private;
}

#define IOC_GET(this_, field_) __atomic_load_n (&ioc_priv (this_)->field_, __ATOMIC_ACQUIRE)
#define IOC_COUNT(this_, field_) \
    __atomic_add_fetch (&ioc_priv (this_)->count.field_, 1, __ATOMIC_RELAXED)

/* --- inode.c --- */

struct ioc_inode *ioc_inode_get (xlator_t *this, inode_t *inode);  /* NULL: none */
struct ioc_inode *ioc_inode_make (xlator_t *this, inode_t *inode); /* never NULL */
struct ioc_inode *ioc_inode_ref (struct ioc_inode *inode);
struct ioc_inode *ioc_inode_known (xlator_t *this, inode_t *inode); /* with a reference, or NULL */
void ioc_inode_unref (struct ioc_inode *inode); /* takes NULL */

/* Finds its class by its current path. */
void ioc_inode_classify (struct ioc_inode *ioc, inode_t *inode);

/* Notes that the file was in that state at that time. If it differs from the known state, existing
 * pages count no longer than before. Under inode->lock, like all functions _locked. */
void ioc_state_note_locked (struct ioc_inode *inode, const struct iatt *iatt, int64_t at);

/* Returns true if that is the known state. */
bool ioc_state_is_locked (const struct ioc_inode *inode, const struct iatt *iatt);

/* Returns true if the state was seen recently enough. */
bool ioc_state_is_fresh_locked (const struct ioc_inode *inode, int64_t now);

/* Returns true if the size of the file is known to be outside of the limits for caching. */
bool ioc_size_is_wrong_locked (const struct ioc_inode *inode);

/* --- pages.c --- */

/* NULL: none */
struct ioc_page *ioc_page_find_locked (const struct ioc_inode *inode, int64_t number);

/* Adds a page that is not there. Pass it to ioc_send without the lock. */
struct ioc_page *ioc_page_ask_locked (struct ioc_inode *inode, const call_frame_t *frame, fd_t *fd,
                                      int64_t number, GQueue *send);
void ioc_send (xlator_t *this, GQueue *send);

/* Unlists a page so that it is not served any more; the pages of a range, or all; the pages on
 * their way. An end of -1 is the end of the file. The latter two return whether there were any. */
void ioc_page_drop_locked (struct ioc_page *page);
bool ioc_pages_drop_locked (struct ioc_inode *inode, off_t offset, off_t end);

/* Frees pages that lru has evicted. Not under a lock. */
void ioc_pages_gone (struct lru_entry *gone);

/* --- read.c --- */

readv_fop ioc_readv;
void ioc_local_drop (xlator_t *this, void *local);

/* Called when all pages of read have arrived. */
void ioc_read_done (struct ioc_read *read);

/* --- change.c --- */

any_fop_t ioc_any_fop;
any_fop_cbk_t ioc_any_fop_cbk;

/* The file changed, not through this translator; NULL: any file. */
void ioc_invalidate (xlator_t *this, inode_t *inode);

#endif

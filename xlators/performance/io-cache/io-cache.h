/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/io-cache.
 *
 *   io-cache.c   options, beginning and end, dumps
 *   inode.c      what is known of a file: attributes, how long they count, its class
 *   pages.c      its pages: asked for, there, in the way
 *   read.c       a read: what there is of it, what it waits for
 *   change.c     what changes a file, and has pages go
 *
 *   inode --ctx--> ioc_inode --pages--> ioc_page (on its way, or there)
 *   private.lru -------------------------^ those that are there, by class and last use
 *
 * A page that is in its inode's table is right: what changes the file takes out, when it comes, all
 * that it may change and all that is on its way; and until it is done nothing is put in. So a page
 * may be served while another part of the file is written.
 *
 * What others change behind the mount is seen by size, time of change and of status change. A page
 * knows by which of these it was read (ioc_page.version); they count for cache-timeout, and then
 * the file is looked at again. A page that was read about when the file changed may be older than
 * the attributes that came with it: it has version 0, and counts for cache-timeout alone.
 *
 * Locks: ioc_inode.lock, then lru.lock or reads.lock; nothing is wound or answered under them.
 *
 * Reasons:
 *
 * - Storage reads the attributes after the bytes. A change in between would be kept under the later
 *   attributes, and file systems round times. So a page is trusted for longer than cache-timeout
 *   only if the file's change time was 0.1 s old when the page was asked for.
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
#define IOC_PAGES 10 /* that one read may need; larger ones pass */

typedef struct {
    /* Options; atomic, but for priority. */
    uint64_t cache_size;
    int64_t timeout; /* nanoseconds */
    uint64_t min_size, max_size;
    char *priority;

    struct priorities *priorities; /* constant */
    struct lru lru;
    struct change_clock clock;
    bool ending;      /* atomic: nothing is put in any more */
    unsigned blind;   /* atomic: how many calls are on their way that may cut off some file, and
                         nobody knows which */
    uint64_t epoch;   /* atomic: raised when any file may have changed */
    struct {
        uint64_t hits, waits, passed;             /* reads: answered from pages, waited for some,
                                                     not our business */
        uint64_t fetched, failed, unkept;         /* pages */
        uint64_t looked, changed, invalidations;  /* at a file again; it had changed; files that
                                                     lost pages by a change */
    } count;          /* atomic */

    struct page_reads reads;
} ioc_private_t;

/* What tells one state of a file from another. */
struct ioc_state {
    uint64_t size;
    int64_t mtime, ctime;
    uint32_t mtime_nsec, ctime_nsec;
};

struct ioc_inode {
    int refs;             /* atomic: the inode's context, its pages, changes on their way */
    xlator_t *this;       /* constant */
    pthread_mutex_t lock;
    GHashTable *pages;    /* lock: of number, struct ioc_page; NULL while there never was one */
    GQueue flying;        /* lock: those of them that are on their way */
    int64_t last;         /* lock: the number of the page that the file ends in, if that is there;
                             -1 */
    struct change_view changes; /* lock */
    int class;            /* of priority; atomic */
    bool known;           /* lock: state is */
    struct ioc_state state;
    uint32_t version;     /* lock: of state; from 1 on */
    int64_t looked_at;    /* lock: when state was so */
    int64_t old_until;    /* lock: so long pages of the version before this may be served */
    int64_t doubted_at;   /* lock: what was asked for until then and has no version counts no
                             more */
};

struct ioc_page {
    struct page base;        /* first. Refs: the table, the lru, its request, reads */
    struct lru_entry entry;  /* while it is there; holds a reference */
    struct ioc_inode *inode; /* with a reference. Constant, as number */
    int64_t number;
    bool listed;             /* inode->lock: it is in the table */
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
    struct page_read base;   /* first */
    struct ioc_inode *inode; /* of the fd */
    uint64_t asked, epoch;   /* when it came: of private.clock */
    int64_t looking_at;      /* when fstat was asked */
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

/* Finds its class by the path that it has now. */
void ioc_inode_classify (struct ioc_inode *ioc, inode_t *inode);

/* The file was in that state at that time. Pages of another one count no longer than they did.
 * Under inode->lock, as all _locked. */
void ioc_state_note_locked (struct ioc_inode *inode, const struct iatt *iatt, int64_t at);

/* Is that the state that is known? */
bool ioc_state_is_locked (const struct ioc_inode *inode, const struct iatt *iatt);

/* Is what is known of it recent enough to count? */
bool ioc_state_is_fresh_locked (const struct ioc_inode *inode, int64_t now);

/* Is the file, as far as that is known, too small or too large? */
bool ioc_size_is_wrong_locked (const struct ioc_inode *inode);

/* --- pages.c --- */

/* NULL: none */
struct ioc_page *ioc_page_find_locked (const struct ioc_inode *inode, int64_t number);

/* Asks for one that isn't there: it goes down with ioc_send, without a lock. */
struct ioc_page *ioc_page_ask_locked (struct ioc_inode *inode, const call_frame_t *frame, fd_t *fd,
                                      int64_t number, GQueue *send);
void ioc_send (xlator_t *this, GQueue *send);

/* It is served to nobody any more; those of a range, or all; those on their way. An end of -1 is
 * the file's. Whether there were any. */
void ioc_page_drop_locked (struct ioc_page *page);
bool ioc_pages_drop_locked (struct ioc_inode *inode, off_t offset, off_t end);

/* Those that had to make room. Not under a lock. */
void ioc_pages_gone (struct lru_entry *gone);

/* --- read.c --- */

readv_fop ioc_readv;
void ioc_local_drop (xlator_t *this, void *local);

/* All pages that it waited for came. */
void ioc_read_done (struct ioc_read *read);

/* --- change.c --- */

every_fop ioc_every;
every_cbk ioc_every_cbk;

/* Something not of ours changed it; NULL: any file. */
void ioc_invalidate (xlator_t *this, inode_t *inode);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/read-ahead.
 *
 *   read-ahead.c   options, init and fini, dumps
 *   read.c         readv: is it in order, which pages are there, which does it wait for
 *   fetch.c        fetches pages
 *   pages.c        the pages of a file: their memory, their age, dropping
 *   change.c       changes of a file, which drop its pages
 *
 *   inode --ctx--> ra_inode --files--> ra_file, ra_file        those that have pages
 *                                        ^  |
 *      fd --ctx--------------------------'  '--pages--> ra_page, ra_page, ...   in order
 *
 * A page is listed from when it is fetched until it was read, or the file changes, or it is too
 * old. A change drops the pages of its file when it comes, also for a reader that waits for one.
 * While the change is on its way, no page is fetched or served: some would show it and some not.
 *
 * Locks: ra_inode.lock, then reads.lock; no lock is held across a wind or an unwind.
 *
 * Reasons:
 *
 * - page-count is 16, 4 in GlusterFS. Throughput is the bytes on their way at once, divided by the
 *   time of a call: with calls of 1 ms, four pages read at most four times as fast as no
 *   read-ahead.
 * - Reading ahead starts when the first read comes back whole, not when it goes down: a small file
 *   costs one call.
 * - A page that could not be read is no error: readers that wait for it read again and get their
 *   own.
 * - While a change is under way no page is fetched or served: of two readers, one could see the
 *   change and the next not. A create with O_TRUNC names its file only when it is done; until then
 *   no page of any file is served.
 * - All pages are in one queue by age. Without room the new page is not made, and no page is
 *   evicted by use: two readers in order would each throw away what the other is about to read.
 * - An answer from pages has the attributes that came with them, unless any file may have changed
 *   since: io-cache above needs the change time that the bytes belong to.
 */
#ifndef WINDLASS_READ_AHEAD_H
#define WINDLASS_READ_AHEAD_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

#define RA_COUNT_MAX 16
_Static_assert (RA_COUNT_MAX + 2 <= PAGES_OF_READ, "a read needs at most two more");

typedef struct {
    /* Options; atomic. */
    int page_count;
    uint64_t page_size;
    uint64_t memory;    /* bytes in pages of all files */
    int64_t timeout;    /* maximum age of a page; nanoseconds */
    bool force_atime;

    struct change_clock clock;
    bool ending;         /* atomic: no page is fetched any more */
    unsigned blind;      /* atomic: number of calls on their way that may truncate a file not known
                            yet */
    uint64_t epoch;      /* atomic: incremented when any file may have changed */
    uint64_t attributes; /* atomic: incremented when attributes of any file may have changed */
    struct {
        uint64_t hits, waits, misses, passed; /* reads: answered from pages; waited for pages; in
                                                 order without pages; passed on */
        uint64_t fetched, failed, refused;    /* pages */
        uint64_t unread, changes;             /* bytes that were fetched and not read; changes of
                                                 files with pages */
    } count;                                  /* atomic */

    struct page_reads reads; /* unfinished: fetches, and the timer */
    uint64_t held;         /* atomic, written under reads.lock: bytes in pages */
    GQueue pages;          /* reads.lock: of struct ra_page, all that are listed, the oldest
                              first */
    core_timer_t *timer;   /* reads.lock: drops pages that are too old; NULL: not armed */
} ra_private_t;

struct ra_inode {
    int refs;              /* atomic: the inode's context, its files, changes under way */
    pthread_mutex_t lock;
    struct change_view changes; /* lock */
    GQueue files;          /* lock: of struct ra_file */
    off_t eof;             /* lock: the end of file that a page found; -1: not known */
    int64_t eof_at;        /* lock: when eof was found */
};

struct ra_file {
    int refs;              /* atomic: the fd's context, its pages */
    struct ra_inode *inode; /* with a reference. Constant, as xlator */
    xlator_t *this;
    GList place;           /* in inode->files, while it has pages. inode->lock, like the fields
                              below */
    GQueue pages;          /* of struct ra_page, ascending, without overlap */
    off_t expected;        /* where the next read in order begins */
    uint64_t run;          /* bytes that were read in order */
    unsigned reads;        /* number of reads in order */
};

struct ra_page {
    struct page base;      /* must be first. Refs: its file's list, its request, reads */
    struct ra_file *file;  /* with a reference. Constant, like attributes */
    uint64_t attributes;   /* private.attributes when it was fetched */
    GList place;           /* in file->pages, while listed; inode->lock */
    bool listed;           /* inode->lock */
    GList age;             /* in private.pages, while aged; reads.lock */
    bool aged;             /* reads.lock */
    struct iatt stbuf;     /* attributes that came with the page, if has_stbuf; constant once the
                              page is ready */
    bool has_stbuf;
    size_t used;           /* bytes that were read; inode->lock */
};

/* A read that waits for pages, or whose answer starts reading ahead; the frame's local. */
struct ra_wait {
    struct page_read base;  /* must be first */
    struct ra_file *file;   /* of the fd */
    uint64_t asked, epoch;  /* private.clock and private.epoch when the read came */
};

static inline ra_private_t *
ra_priv (const xlator_t *this)
{
    return this->private;
}

#define RA_GET(this_, field_) __atomic_load_n (&ra_priv (this_)->field_, __ATOMIC_ACQUIRE)
#define RA_COUNT(this_, field_, by_) \
    __atomic_add_fetch (&ra_priv (this_)->count.field_, by_, __ATOMIC_RELAXED)

/* --- pages.c --- */

struct ra_inode *ra_inode_get (xlator_t *this, inode_t *inode);  /* NULL: none */
struct ra_inode *ra_inode_make (xlator_t *this, inode_t *inode); /* never NULL */
struct ra_inode *ra_inode_ref (struct ra_inode *inode);
void ra_inode_unref (struct ra_inode *inode); /* takes NULL */

struct ra_file *ra_file_get (xlator_t *this, fd_t *fd);
struct ra_file *ra_file_make (xlator_t *this, fd_t *fd);
void ra_file_unref (struct ra_file *file);

/* Appends a page; NULL: no memory for it. The caller gets the second reference. Under inode->lock,
 * like all functions _locked. */
struct ra_page *ra_page_new_locked (struct ra_file *file, off_t offset, size_t size);

/* Unlists the page, so that it is not served any more. */
void ra_page_drop_locked (struct ra_page *page);
void ra_file_drop_locked (struct ra_file *file);   /* all pages of a file */
void ra_inode_drop_locked (struct ra_inode *inode); /* all pages of all its files */

/* Drops the pages of all files; drops those that are too old or beyond the memory limit. */
void ra_drop_all (xlator_t *this);
void ra_drop_old (xlator_t *this);

static inline off_t
ra_page_end (const struct ra_page *page)
{
    return page->base.offset + (off_t) page->base.size;
}

/* Returns true if pages may be fetched and served: no change is under way. */
bool ra_is_still_locked (const struct ra_file *file);

/* --- fetch.c --- */

/* Fetches pages behind end, as far as reading in order so far makes useful. Adds them to send; the
 * caller passes send to ra_send without a lock, after it has dealt with frame. */
void ra_extend_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, off_t end,
                       GQueue *send);
void ra_send (xlator_t *this, GQueue *send);

/* Reads one byte at offset and drops it, for the effect on the file's atime. */
void ra_touch (xlator_t *this, const call_frame_t *frame, fd_t *fd, off_t offset);

/* The largest distance to read ahead. */
size_t ra_window (const xlator_t *this);

/* --- read.c --- */

readv_fop ra_readv;
void ra_local_drop (xlator_t *this, void *local);

/* Called when all pages of wait have arrived. */
void ra_wait_done (struct ra_wait *wait);

/* --- change.c --- */

flush_fop ra_flush;
fsync_fop ra_fsync;
any_fop_t ra_any_fop;
any_fop_cbk_t ra_any_fop_cbk;

/* The file changed, not through this translator; NULL: any file. */
void ra_invalidate (xlator_t *this, inode_t *inode);

#endif

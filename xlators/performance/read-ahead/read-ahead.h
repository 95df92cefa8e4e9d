/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/read-ahead.
 *
 *   read-ahead.c   options, beginning and end, dumps
 *   read.c         a read: is it one in order, what is there for it, what does it wait for
 *   fetch.c        a page is asked for, and comes
 *   pages.c        the pages of a file: their memory, their age, how they go
 *   change.c       what changes a file, and has its pages go
 *
 *   inode --ctx--> ra_inode --files--> ra_file, ra_file        those that have pages
 *                                        ^  |
 *      fd --ctx--------------------------'  '--pages--> ra_page, ra_page, ...   in order
 *
 * A page is listed from when it is asked for until it was read, or the file changes, or it is too
 * old. What changes a file has its pages dropped when it comes, also for a reader who waits for
 * one, and while it is on its way no page is asked for or served: some would see it and some not.
 *
 * Locks: ra_inode.lock, then reads.lock; nothing is wound or answered under them.
 *
 * Reasons:
 *
 * - page-count is 16, 4 in GlusterFS. What is on its way at once, divided by the time of a call, is
 *   the speed: over a call of 1 ms, four pages read at most four times as fast as no read-ahead.
 * - The first read that comes back whole starts reading ahead, not the first read: a small file
 *   costs one call.
 * - A page that couldn't be read is no error: readers that wait for it ask again and get their own.
 * - While a change is under way no page is asked for or served: of two readers, one could see the
 *   change and the next not. A create with O_TRUNC names its file only when it is done; until then
 *   no page of any file is served.
 * - All pages are in one queue by age. Without room the new page isn't made, and no page is evicted
 *   by use: two readers in order would each throw away what the other is about to read.
 * - An answer from pages has the attributes that came with them, unless any file may have changed
 *   since: io-cache above needs the change time that the bytes belong to.
 */
#ifndef WINDLASS_READ_AHEAD_H
#define WINDLASS_READ_AHEAD_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

#define RA_COUNT_MAX 16
#define RA_PAGES (RA_COUNT_MAX + 2) /* that one read may need */

typedef struct {
    /* Options; atomic. */
    int page_count;
    uint64_t page_size;
    uint64_t memory;    /* of all pages together */
    int64_t timeout;    /* how old a page may be; nanoseconds */
    bool force_atime;

    struct change_clock clock;
    bool ending;         /* atomic: no page is asked for any more */
    unsigned blind;      /* atomic: how many calls are on their way that may cut off some file, and
                            nobody knows which */
    uint64_t epoch;      /* atomic: raised when any file may have changed */
    uint64_t attributes; /* atomic: raised when attributes of any file may have changed */
    struct {
        uint64_t hits, waits, misses, passed; /* reads: answered from pages, waited for some, in
                                                 order without any, not our business */
        uint64_t fetched, failed, refused;    /* pages */
        uint64_t unread, changes;             /* bytes that came for nothing; how often a file with
                                                 pages changed */
    } count;                                  /* atomic */

    struct page_reads reads; /* unfinished: requests of our own, and the timer */
    uint64_t held;         /* atomic, written under reads.lock: bytes of pages */
    GQueue pages;          /* reads.lock: of struct ra_page, all that are listed, the oldest
                              first */
    core_timer_t *timer;   /* reads.lock: pages that are too old go; NULL: there is none */
} ra_private_t;

struct ra_inode {
    int refs;              /* atomic: the inode's context, its files, changes on their way */
    pthread_mutex_t lock;
    struct change_view changes; /* lock */
    GQueue files;          /* lock: of struct ra_file */
    off_t eof;             /* lock: where a page found it to end; -1: not known */
    int64_t eof_at;        /* lock: when */
};

struct ra_file {
    int refs;              /* atomic: the fd's context, its pages */
    struct ra_inode *inode; /* with a reference. Constant, as xlator */
    xlator_t *this;
    GList place;           /* in inode->files, while it has pages. inode->lock, as all below */
    GQueue pages;          /* of struct ra_page, ascending, without overlap */
    off_t expected;        /* where the next read in order begins */
    uint64_t run;          /* bytes that were read in order */
    unsigned reads;        /* in how many reads */
};

struct ra_page {
    struct page base;      /* first. Refs: its file's list, its request, reads */
    struct ra_file *file;  /* with a reference. Constant, as attributes */
    uint64_t attributes;   /* those of private then */
    GList place;           /* in file->pages, while listed; inode->lock */
    bool listed;           /* inode->lock */
    GList age;             /* in private.pages, while aged; reads.lock */
    bool aged;             /* reads.lock */
    struct iatt stbuf;     /* that came with it, if has_stbuf; constant once it is ready */
    bool has_stbuf;
    size_t used;           /* how many bytes were read; inode->lock */
};

/* A read that waits for pages, or whose answer has more asked for; the frame's local. */
struct ra_wait {
    struct page_read base;  /* first */
    struct ra_file *file;   /* of the fd */
    uint64_t asked, epoch;  /* when it came: of private.clock */
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

/* A page behind the last one; NULL: there is no memory for it. Its second reference is the
 * caller's. Under inode->lock, as all _locked. */
struct ra_page *ra_page_new_locked (struct ra_file *file, off_t offset, size_t size);

/* It is served to nobody any more. */
void ra_page_drop_locked (struct ra_page *page);
void ra_file_drop_locked (struct ra_file *file);   /* all of a file's */
void ra_inode_drop_locked (struct ra_inode *inode); /* all of all its files' */

/* Those of all files; or those that are too old, or beyond what memory may be held. */
void ra_drop_all (xlator_t *this);
void ra_drop_old (xlator_t *this);

static inline off_t
ra_page_end (const struct ra_page *page)
{
    return page->base.offset + (off_t) page->base.size;
}

/* May pages be asked for, and served? */
bool ra_is_still_locked (const struct ra_file *file);

/* --- fetch.c --- */

/* Asks for what comes behind end, as far as reading in order so far makes likely; adds the pages to
 * send. They go down by ra_send, without a lock and when frame was taken care of. */
void ra_extend_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, off_t end,
                       GQueue *send);
void ra_send (xlator_t *this, GQueue *send);

/* Reads one byte there, of which nobody hears: so that the file was read just now. */
void ra_touch (xlator_t *this, const call_frame_t *frame, fd_t *fd, off_t offset);

/* How far it reads ahead at most. */
size_t ra_window (const xlator_t *this);

/* --- read.c --- */

readv_fop ra_readv;
void ra_local_drop (xlator_t *this, void *local);

/* All pages that it waited for are there. */
void ra_wait_done (struct ra_wait *wait);

/* --- change.c --- */

flush_fop ra_flush;
fsync_fop ra_fsync;
every_fop ra_every;
every_cbk ra_every_cbk;

/* Something not of ours changed it; NULL: any file. */
void ra_invalidate (xlator_t *this, inode_t *inode);

#endif

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
 *      fd --ctx--------------------------'  '--pages--> ra_page, ra_page, ...     one behind the other
 *
 * A page is listed from when it is asked for until it was read, or the file changes, or it is too old. What changes a file has its pages
 * dropped when it comes, also for a reader who waits for one, and while it is on its way no page is asked for or served: some would see it
 * and some not.
 *
 * Locks: ra_inode.lock, then private.lock; nothing is wound or answered under them.
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
    unsigned blind;      /* atomic: how many calls are on their way that may cut off some file, and nobody knows which */
    uint64_t epoch;      /* atomic: raised when any file may have changed */
    uint64_t attributes; /* atomic: raised when attributes of any file may have changed */
    struct {
        uint64_t hits, waits, misses, passed; /* reads: answered from pages, waited for some, in order without any, not our business */
        uint64_t fetched, failed, refused;    /* pages */
        uint64_t unread, changes;             /* bytes that came for nothing; how often a file with pages changed */
    } count;                                  /* atomic */

    pthread_mutex_t lock;
    pthread_cond_t idle;   /* unfinished has become 0 */
    unsigned unfinished;   /* lock: requests of our own, and the timer */
    uint64_t held;         /* atomic, written under lock: bytes of pages */
    GQueue pages;          /* lock: of struct ra_page, all that are listed, the oldest first */
    GQueue waiting;        /* lock: of struct ra_wait */
    core_timer_t *timer;   /* lock: pages that are too old go; NULL: there is none */
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
    int refs;              /* atomic: its file's list, its request, those who read or wait */
    struct ra_file *file;  /* with a reference. Constant, as offset, size, asked_at, epoch and attributes */
    off_t offset;
    size_t size;           /* that was asked for */
    int64_t asked_at;
    struct timespec today; /* the same, time of day */
    uint64_t epoch, attributes; /* those of private then */
    GList place;           /* in file->pages, while listed; inode->lock */
    bool listed;           /* inode->lock */
    GList age;             /* in private.pages, while aged; private.lock */
    bool aged;             /* private.lock */
    GSList *waiters;       /* of struct ra_wait; inode->lock */
    bool ready;            /* inode->lock. What follows is constant from then on, but for used */
    bool failed;
    size_t got;
    struct iovec *vector;
    int32_t count;
    struct iobref *iobref;
    struct iatt stbuf;
    bool has_stbuf;
    size_t used;           /* how many bytes were read; inode->lock */
    call_stack_t *root;    /* the request's, as is fd */
    fd_t *fd;              /* with a reference, until it was answered */
};

/* A read that waits for pages; the frame's local. */
struct ra_wait {
    call_frame_t *frame;
    struct ra_file *file;   /* of the fd */
    fd_t *fd;               /* with a reference, as are pages */
    size_t size;
    off_t offset;
    uint32_t flags;
    uint64_t asked, epoch;  /* when it came: of private.clock */
    unsigned pending;       /* pages that aren't ready; inode->lock */
    GList place;            /* in private.waiting; private.lock */
    bool waits;             /* private.lock: it is there */
    struct ra_page *pages[RA_PAGES];
    unsigned n_pages;
};

static inline ra_private_t *
ra_priv (const xlator_t *this)
{
    return this->private;
}

#define RA_GET(this_, field_) __atomic_load_n (&ra_priv (this_)->field_, __ATOMIC_ACQUIRE)
#define RA_COUNT(this_, field_, by_) __atomic_add_fetch (&ra_priv (this_)->count.field_, by_, __ATOMIC_RELAXED)

/* --- pages.c --- */

struct ra_inode *ra_inode_get (xlator_t *this, inode_t *inode);  /* NULL: none */
struct ra_inode *ra_inode_make (xlator_t *this, inode_t *inode); /* never NULL */
struct ra_inode *ra_inode_ref (struct ra_inode *inode);
void ra_inode_unref (struct ra_inode *inode); /* takes NULL */

struct ra_file *ra_file_get (xlator_t *this, fd_t *fd);
struct ra_file *ra_file_make (xlator_t *this, fd_t *fd);
void ra_file_unref (struct ra_file *file);

struct ra_page *ra_page_ref (struct ra_page *page);
void ra_page_unref (struct ra_page *page);

/* A page behind the last one; NULL: there is no memory for it. Its second reference is the caller's. Under inode->lock, as all _locked. */
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
    return page->offset + (off_t) page->size;
}

/* May pages be asked for, and served? */
bool ra_is_still_locked (const struct ra_file *file);

/* One more, or one less, that PARENT_DOWN waits for. Nothing of the translator may be used after the last one less. */
void ra_unfinished (xlator_t *this, int by);

/* --- fetch.c --- */

/* Asks for what comes behind end, as far as reading in order so far makes likely; adds the pages to send. They go down by ra_send, without a
 * lock and when frame was taken care of. */
void ra_extend_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, off_t end, GQueue *send);
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

writev_fop ra_writev;
open_fop ra_open;
create_fop ra_create;
flush_fop ra_flush;
fsync_fop ra_fsync;
every_fop ra_every;
every_cbk ra_every_cbk;

#define RA_DATA                                                                                    \
    (OPSET_OF (FOP_truncate) | OPSET_OF (FOP_ftruncate) | OPSET_OF (FOP_fallocate)                 \
     | OPSET_OF (FOP_discard) | OPSET_OF (FOP_zerofill) | OPSET_OF (FOP_copy_file_range))
#define RA_ATTRIBUTES                                                                              \
    (OPSET_OF (FOP_setattr) | OPSET_OF (FOP_fsetattr) | OPSET_OF (FOP_setxattr)                    \
     | OPSET_OF (FOP_fsetxattr) | OPSET_OF (FOP_removexattr) | OPSET_OF (FOP_fremovexattr)         \
     | OPSET_OF (FOP_link) | OPSET_OF (FOP_unlink) | OPSET_OF (FOP_rename) | OPSET_OF (FOP_ioctl))

#define RA_LOCKS (OPSET_OF (FOP_lk) | OPSET_OF (FOP_flock))

/* Something not of ours changed it; NULL: any file. */
void ra_invalidate (xlator_t *this, inode_t *inode);

#endif
